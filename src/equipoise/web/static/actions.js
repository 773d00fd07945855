// Actions as both rooms show them: each has a colour, a letter and its name; shares as bars. Colours only help.

import {h} from "./dom.js";

const RAISES = 5;

/** Colours by what actions are: folds, checks and calls, then bets and raises from smallest to largest; other games in order. */
export function colours(actions) {
  const names = actions.map((each) => each.name ?? each);
  const kinds = actions.map((each) => each.kind);
  if (kinds.some((kind) => kind)) {
    let raise = 0;
    return Object.fromEntries(actions.map(({name, kind}) => [name, kind === "fold" ? "var(--act-fold)" : kind === "call" ? "var(--act-call)" : `var(--act-raise-${Math.min(raise++, RAISES - 1)})`]));
  }
  const poker = names.some((name) => /^(fold|call|check|pass)$/.test(name));
  if (poker) return colours(names.map((name) => ({name, kind: name === "fold" ? "fold" : /^(call|check|pass)$/.test(name) ? "call" : "raise"})));
  return Object.fromEntries(names.map((name, index) => [name, `var(--act-${["raise-0", "call", "fold", "raise-2", "raise-3", "raise-1", "raise-4"][index % 7]})`]));
}

/** A probability as people read it. */
export function percent(share, digits = 1) {
  if (share === null || share === undefined) return "–";
  const value = 100 * share;
  if (value > 0 && value < 0.05) return "<0.1 %";
  return `${value.toFixed(value > 99.95 || value === 0 ? 0 : digits)} %`;
}

/** A bar of shares, with all of them in words for those who do not see it. */
export function bar(strategy, colour) {
  const said = Object.entries(strategy).map(([name, share]) => `${name} ${percent(share)}`).join(", ");
  return h("div", {class: "bar", role: "img", "aria-label": said, title: said}, Object.entries(strategy).filter(([, share]) => share > 0.004).map(([name, share]) =>
    h("span", {class: "share", style: {"flex-grow": String(share), background: colour[name]}, "aria-hidden": "true"}, share > 0.14 ? `${short(name)} ${Math.round(100 * share)}` : "")));
}

/** A short sign of an action: f, c, x (check), b, r and the amount, or how its name begins. */
export function short(name) {
  const found = /^(fold|check|call|pass|bet|raise)(?: to)? ?(\d+)?/.exec(name);
  if (!found) return name.length > 8 ? `${name.slice(0, 7)}…` : name;
  return {fold: "F", check: "X", call: "C", pass: "P", bet: "B", raise: "R"}[found[1]] + (found[2] ? ` ${found[2]}` : "");
}

/** What the colours stand for. */
export function legend(actions, colour, shares) {
  return h("ul", {class: "legend", "aria-label": "Actions"}, actions.map((each) => {
    const name = each.name ?? each;
    return h("li", {}, h("span", {class: "swatch", style: {background: colour[name]}, "aria-hidden": "true"}), `${short(name)} = ${name}`, shares ? ` ${percent(shares[name])}` : null);
  }));
}
