// Explore: walk through a game, node by node, with what a policy does there and what that is worth.

import {h, put, field, choice, table, number} from "../dom.js";
import {get, query as asText} from "../api.js";
import {card, cards, cardPicker} from "../cards.js";
import {handGrid} from "../grid.js";
import {bar, colours, legend, percent, short} from "../actions.js";
import {drawing} from "../tree.js";

export const title = "Explore";
export const dense = true; // grids should be seen whole: the heading is for screen readers

const PLACES = ["line", "board", "path", "infoset"];
const MODES = [["strategy", "what is played"], ["value", "value"], ["best", "best response"], ["reach", "how often it comes here"]];

export async function open(place, query, page) {
  const [{policies}, {baselines, games}] = await Promise.all([get("/api/policies"), get("/api/page")]);
  const named = policies.map((each) => each.policy);
  const state = Object.fromEntries([...PLACES, "policy", "against", "other", "hands", "game"].map((name) => [name, query.get(name) ?? undefined]));
  state.policy ??= named[0] ?? (games[0] ? "uniform" : undefined);
  if (baselines.includes(state.policy)) state.game ??= games[0];
  let mode = "strategy";
  let node = null;
  let asked = 0;
  const ends = [];

  const controls = h("div", {class: "fields policies"});
  const shown = h("div", {"aria-live": "off"});
  const more = h("div", {});
  place.append(controls, shown, more);
  if (!state.policy) {
    put(shown, h("p", {}, "There is nothing to look at yet. Solve a game first: ", page.link("runs", {}, "start a run"), ", or in a terminal: ", h("code", {}, "equipoise solve leduc_poker")));
    return undefined;
  }

  const here = (to) => ({policy: state.policy, against: state.against, other: state.other, game: state.game, hands: state.hands, ...to});
  const href = (to) => `/explore${asText(here(to))}`;

  function go(to) {
    for (const name of PLACES) state[name] = to[name] || undefined;
    history.pushState(null, "", href(to));
    return load(true);
  }

  function link(to, attributes, ...children) {
    return h("a", {...attributes, href: href(to), onclick: (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      go(to).catch(page.fail);
    }}, ...children);
  }

  function choosePolicies() {
    const texts = policies.map((each) => [each.policy, each.game ? `${each.policy} (${each.game.length > 40 ? `${each.game.slice(0, 37)}…` : each.game})` : each.policy]);
    if (!named.includes(state.policy)) texts.unshift([state.policy, state.game ? `${state.policy}: ${state.game}` : state.policy]);
    const set = (name) => (event) => {
      state[name] = event.target.value || undefined;
      if (name === "policy") for (const each of [...PLACES, "hands", "other", "against", "game"]) state[each] = undefined;
      page.replace(here(at()));
      load(false).catch(page.fail);
      choosePolicies();
    };
    const others = [...named.filter((each) => each !== state.policy), ...baselines];
    put(controls,
      field("Policy", choice(texts, state.policy, {onchange: set("policy")})),
      field("Values against", choice([["", "itself"], ...others], state.against ?? "", {onchange: set("against")})),
      field("Compare with", choice([["", "nothing"], ...others], state.other ?? "", {onchange: set("other")})));
  }

  const seat = (player) => node.seats?.[player] ?? `player ${player}`;
  const capital = (text) => text[0].toUpperCase() + text.slice(1);
  const at = () => Object.fromEntries(PLACES.map((name) => [name, state[name]]));
  const said = (policy) => ({policy, against: policy === state.policy ? state.against : undefined, game: baselines.includes(policy) ? node?.game ?? state.game : undefined});

  async function load(moved) {
    const mine = ++asked;
    shown.setAttribute("aria-busy", "true");
    const slow = setTimeout(() => page.say("opening … exact values of a large game take a few seconds the first time"), 600);
    try {
      let found = await get("/api/explore/node", {...said(state.policy), game: state.game, ...at(), hands: state.hands});
      const focus = found.kind === "poker" ? found.infoset : null; // one hand was asked for: show it among all
      if (focus) found = await get("/api/explore/node", {...said(state.policy), game: state.game, ...found.here, hands: state.hands});
      if (mine !== asked) return;
      node = found;
      for (const name of PLACES) state[name] = found.here[name] || undefined;
      const second = state.other ? await get("/api/explore/node", {...said(state.other), ...found.here}).catch((error) => ({error: error.message})) : null;
      if (mine !== asked) return;
      page.say("");
      show(second);
      if (focus) {
        const detail = shown.querySelector(".detail");
        detail.dataset.pinned = "yes";
        showHand(focus, state.policy, detail);
      }
      if (moved) shown.querySelector("h2")?.focus({preventScroll: false});
    } finally {
      clearTimeout(slow);
      if (mine === asked) shown.removeAttribute("aria-busy");
    }
  }

  function show(second) {
    ends.splice(0).forEach((end) => end());
    const detail = h("section", {class: "card detail", "aria-label": "Details", "aria-live": "polite"});
    const parts = [way(), h("h2", {tabindex: "-1"}, node.title), facts()];
    if (node.state === "deal") parts.push(deal());
    else if (node.state === "end") parts.push(end());
    else {
      parts.push(actionLinks());
      if (node.kind === "poker") parts.push(node.grid ? grids(second, detail) : [handTables(second, detail), detail]);
      else parts.push(infosetTable(node.infoset, second));
    }
    put(shown, parts);
    put(more, tree(), node.state === "decision" && node.ranges?.[0]?.text !== undefined ? ranges() : null, differences(), listing());
  }

  // ---- the way here, and where to go

  function way() {
    return h("nav", {"aria-label": "Way here", class: "way"}, h("ol", {}, node.crumbs.map((crumb, index) => {
      const text = crumb.player === null || crumb.player === undefined ? crumb.name : `${node.seats ? seat(crumb.player).replace(" player", "") : `P${crumb.player}`}: ${crumb.name}`;
      const last = index === node.crumbs.length - 1;
      return h("li", {}, last ? h("span", {"aria-current": "location"}, text) : link(crumb.to, {}, text));
    })));
  }

  function facts() {
    const told = [];
    if (node.kind === "poker") {
      told.push(h("span", {}, h("strong", {}, node.round)), h("span", {}, "pot ", h("strong", {}, number(node.pot))));
      if (node.stacks) told.push(h("span", {}, `stacks ${number(node.stacks[0])} and ${number(node.stacks[1])}`));
      if (node.to_call) told.push(h("span", {}, `${number(node.to_call)} to call`));
      if (node.board.length) told.push(h("span", {class: "board-shown"}, node.board.map(shownCard)));
    }
    if (node.reach !== undefined) told.push(h("span", {}, `comes up in ${percent(node.reach_on_board ?? node.reach)} of hands${node.board?.length && node.reach_on_board !== null ? " on this board" : ""}`));
    if (node.state === "decision" && !node.grid) told.push(h("span", {class: "note"}, `values: ${node.values_are}; ${node.method}`));
    return h("p", {class: "told"}, told);
  }

  function shownCard(text) {
    return text.length === 2 && "shdc".includes(text[1]) ? card(text) : h("span", {class: "playing-card"}, text);
  }

  function actionLinks() {
    const colour = colours(node.actions);
    const practice = node.kind === "poker" ? {line: node.here.line, board: node.here.board} : node.here;
    return h("div", {class: "buttons", role: "group", "aria-label": "Actions"}, node.actions.map((action, index) => {
      const inside = [h("span", {class: "swatch", style: {background: colour[action.name]}, "aria-hidden": "true"}), h("kbd", {"aria-hidden": "true"}, index < 9 ? `${index + 1}` : ""), h("span", {}, action.name), " ", h("span", {class: "share-of"}, percent(action.probability)), action.over ? " (ends the hand)" : ""];
      return action.to ? link(action.to, {class: "button act", "data-action": action.name}, inside) : h("span", {class: "button act"}, inside);
    }), baselines.includes(state.policy) ? null : h("a", {class: "button quiet", href: `/play${asText({solution: state.policy, ...practice})}`}, "Practise from here"));
  }

  function deal() {
    const count = node.deal.cards;
    const chosen = h("p", {class: "note", role: "status"}, `Choose ${count} card${count > 1 ? "s" : ""}.`);
    if (node.deck.suits.length !== 4) {
      return h("div", {}, chosen, h("div", {class: "buttons"}, node.deal.left.map((text) => link({...node.here, board: node.board.join("") + text}, {class: "button quiet"}, text))));
    }
    const picker = cardPicker(node.deck, "", {most: count, label: "Cards that are dealt", onChange: (text) => {
      const own = text.match(/../g) ?? [];
      put(chosen, own.length < count ? `Choose ${count - own.length} more.` : "");
      if (own.length === count) go({...node.here, board: node.board.join("") + text}).catch(page.fail);
    }});
    for (const button of picker.querySelectorAll("button")) if (node.board.includes(button.dataset.card)) button.disabled = true;
    return h("div", {}, chosen, picker);
  }

  function end() {
    const {end: over} = node;
    if (over.payoffs) return h("p", {class: "large"}, `Player 0 gets ${number(over.payoffs[0])}, player 1 gets ${number(over.payoffs[1])} ${node.unit}.`);
    return h("p", {class: "large"}, over.wins !== undefined ? `${capital(seat(over.wins))} takes the pot of ${number(over.pot)}.` : `The better hand takes the pot of ${number(over.pot)}.`);
  }

  // ---- hold'em: grids

  function grids(second, detail) {
    const colour = colours(node.actions);
    const select = choice(MODES, mode, {onchange: (event) => { mode = event.target.value; drawn.forEach((grid) => grid.draw()); }});
    const drawn = [];
    const one = (found, name) => {
      const cells = new Map(found.grid.cells.map((cell) => [cell.name, cell]));
      const values = found.grid.cells.map((cell) => cell.value).filter((value) => value !== null);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const most = Math.max(...found.grid.cells.map((cell) => cell.reach / cell.combos), 1e-300);
      const ownMost = Math.max(...found.grid.cells.map((cell) => cell.own_reach), 1e-300);
      const grid = handGrid(found.grid.classes, {
        label: `${name}: hands of the ${seat(found.player)}`,
        of: (hand) => cellOf(cells.get(hand), hand, {colour, low, high, most, ownMost}),
        onMove: (hand) => { if (hand && cells.has(hand) && !detail.dataset.pinned) put(detail, summary(cells.get(hand), found)); },
        onPress: (hand, first) => { if (first && cells.has(hand)) pin(hand, found === node ? state.policy : state.other, detail); },
      });
      grid.classList.add("looking");
      ends.push(grid.close);
      drawn.push(grid);
      return h("div", {}, h("h3", {}, name), grid);
    };
    const left = one(node, state.other ? state.policy : `${capital(seat(node.player))} acts`);
    let right;
    if (second) right = second.error || !second.grid ? h("p", {class: "mistake"}, second.error ?? "the other policy has no such node") : one(second, state.other);
    else right = rangeGrid(node.ranges[1 - node.player]);
    put(detail, summaryOf("all hands", node.all, node));
    return h("div", {}, h("div", {class: "grids"}, left, right, detail), h("div", {class: "buttons"}, legend(node.actions, colour), field("Cells show", select)),
      h("p", {class: "note wide-note"}, "A cell is filled as high as the hand comes here, next to the one that comes most; from left to right by what it plays. Suited hands are above the diagonal. Point at a hand for its means; click it, or press Enter on it, for its combinations. Keys: 1 to 9 take an action, Backspace goes back, arrows move in the grid. ", `Values: ${node.values_are}; ${node.method}.`));
  }

  function cellOf(cell, hand, {colour, low, high, most, ownMost}) {
    if (!cell) return {blocked: true, label: `${hand}, not possible on this board`};
    const said = `${hand}: ${Object.entries(cell.strategy).map(([name, share]) => `${name} ${percent(share)}`).join(", ")}; value ${number(cell.value)}; own reach ${percent(cell.own_reach)}`;
    if (!cell.reached) return {text: "?", label: `${hand}: never reached in the average`};
    if (mode === "value") return {parts: [["var(--range)", 1]], tall: cell.value === null || high === low ? 0 : (cell.value - low) / (high - low), text: cell.value === null ? "" : number(cell.value, 3), label: said};
    if (mode === "reach") return {parts: [["var(--range)", 1]], tall: cell.reach / cell.combos / most, text: percent(cell.own_reach, 0).replace(" %", ""), label: said};
    if (mode === "best") {
      const total = Object.values(cell.best_actions).reduce((a, b) => a + b, 0);
      const parts = Object.entries(cell.best_actions).map(([name, count]) => [colour[name], count / total]);
      return {parts, tall: 1, text: Object.keys(cell.best_actions).map(short).join(" "), label: `${hand}: a best response plays ${Object.keys(cell.best_actions).join(" or ") || "nothing known"}`};
    }
    const [name, share] = Object.entries(cell.strategy).reduce((a, b) => (b[1] > a[1] ? b : a));
    return {parts: Object.entries(cell.strategy).map(([action, own]) => [colour[action], own]), tall: Math.max(cell.own_reach / ownMost, 0.04), text: `${short(name).slice(0, 1)}${Math.round(100 * share)}`, label: said};
  }

  function rangeGrid(range) {
    const cells = new Map(range.cells.map((cell) => [cell.name, cell]));
    const most = Math.max(...range.cells.map((cell) => cell.weight), 1e-300);
    const grid = handGrid(node.grid.classes, {
      label: `range of the ${seat(range.player)}`,
      of: (hand) => {
        const cell = cells.get(hand);
        if (cell && !(cell.weight > 0)) return {blocked: true, label: `${hand}, not held`};
        return cell ? {parts: [["var(--range)", 1]], tall: cell.weight / most, text: cell.weight > 0.005 ? `${Math.round(100 * cell.weight)}` : "", label: `${hand}, ${percent(cell.weight)}`} : {blocked: true, label: `${hand}, not possible on this board`};
      },
    });
    grid.classList.add("looking");
    ends.push(grid.close);
    return h("div", {}, h("h3", {}, `What the ${seat(range.player)} may hold`), grid);
  }

  function summary(cell, found) {
    return summaryOf(`${cell.name} (${cell.combos} combination${cell.combos > 1 ? "s" : ""})`, cell, found);
  }

  function summaryOf(name, means, found) {
    const colour = colours(found.actions);
    const best = means.best_actions ? Object.keys(means.best_actions).join(" or ") : "";
    return [h("h3", {}, name), bar(means.strategy, colour), h("dl", {class: "facts wide-facts"},
      Object.entries(means.strategy).map(([action, share]) => [h("dt", {}, h("span", {class: "swatch", style: {background: colour[action]}, "aria-hidden": "true"}), action), h("dd", {}, `${percent(share)}, worth ${number(means.values[action])}`)]),
      h("dt", {}, "value"), h("dd", {}, `${number(means.value)} ${found.unit}${best ? `; a best response plays ${best} and gets ${number(means.best_value)}` : ""}`),
      h("dt", {}, "comes here"), h("dd", {}, `by its own choices ${percent(means.own_reach)}; in all ${percent(means.reach)} of hands`))];
  }

  async function pin(hand, policy, detail) {
    detail.dataset.pinned = "yes";
    const found = await get("/api/explore/node", {...said(policy), ...node.here, hands: hand}).catch((error) => { page.fail(error); return null; });
    if (!found) return;
    const release = h("button", {type: "button", class: "quiet", onclick: () => { delete detail.dataset.pinned; put(detail, summaryOf("all hands", node.all, node)); }}, "Close");
    const own = h("div", {});
    put(detail, h("div", {class: "buttons"}, h("h3", {}, `${hand}, by combination`), release), handTable(found, true, (one) => showHand(one, policy, own)), own);
    detail.scrollIntoView({block: "nearest"});
  }

  async function showHand(hand, policy, own) {
    put(own, h("p", {class: "note"}, "…"));
    try {
      const found = await get("/api/explore/hand", {...said(policy), ...node.here, hand: hand.hand});
      put(own, h("h3", {}, `${hand.hand}: what it may be up against`), values(found), belief(found));
    } catch (error) {
      put(own);
      page.fail(error);
    }
  }

  function values(found) {
    const errors = found.standard_errors ?? {};
    return h("p", {}, Object.entries(found.values).map(([action, value]) => `${action} ${number(value)}${errors[action] ? ` ± ${number(2 * errors[action], 2)}` : ""}`).join(", "), `; ${found.method}. `,
      found.best_response.action ? `A best response plays ${found.best_response.action} and gets ${number(found.best_response.value)}.` : "");
  }

  function belief(found) {
    const listed = (found.belief_by_class?.slice(0, 24) ?? found.belief).map(({what, probability}) => [what, probability]);
    const most = listed[0]?.[1] ?? 1;
    if (!listed.length) return h("p", {class: "note"}, "The opponent never comes here.");
    if (listed.length === 1 && listed[0][0] === "") return null;
    return h("ul", {class: "belief", "aria-label": "Belief"}, listed.map(([what, probability]) =>
      h("li", {}, h("span", {}, what || "(nothing has happened)"), h("meter", {min: "0", max: String(most), value: String(probability), "aria-label": `${what}: ${percent(probability)}`}), h("span", {class: "number"}, percent(probability)))));
  }

  // ---- other poker: a table of hands

  function handTables(second, detail) {
    put(detail, summaryOf("all hands", node.all, node));
    const colour = colours(node.actions);
    const own = (found, policy) => handTable(found, !second, (hand) => { detail.dataset.pinned = "yes"; put(detail); showHand(hand, policy, detail); });
    const left = own(node, state.policy);
    return h("div", {}, legend(node.actions, colour, node.all.strategy), second
      ? h("div", {class: "columns"}, h("div", {}, h("h3", {}, state.policy), left), h("div", {}, h("h3", {}, state.other), second.error ? h("p", {class: "mistake"}, second.error) : own(second, state.other)))
      : left);
  }

  function handTable(found, whole, onHand) {
    const colour = colours(found.actions);
    const columns = [
      {title: "Hand", head: true, of: (hand) => h("button", {type: "button", class: "quiet", onclick: () => onHand(hand)}, hand.hand)},
      {title: "Plays", class: "plays", of: (hand) => (hand.reached ? bar(hand.strategy, colour) : h("span", {class: "note"}, "never reached; uniform"))},
      {title: "Comes here", numeric: true, of: (hand) => percent(hand.own_reach)},
      {title: "Value", numeric: true, of: (hand) => number(hand.value)},
      ...(whole ? found.actions : []).map(({name}) => ({title: `${name}: worth`, numeric: true, of: (hand) => number(hand.values[name])})),
      {title: "Best response", of: (hand) => (hand.best_action ? `${hand.best_action} (${number(hand.best_value)})` : "–")},
    ];
    if (found.hands.some((hand) => hand.equity !== undefined)) columns.splice(3, 0, {title: "Equity", numeric: true, of: (hand) => percent(hand.equity)});
    return table(columns, found.hands, {caption: "Hands at this node"});
  }

  // ---- games without betting lines: one infoset

  function infosetTable(infoset, second) {
    if (!infoset) return h("p", {class: "note"}, "Nothing is known of this infoset.");
    const colour = colours(node.actions);
    const theirs = second && !second.error ? second.infoset : null;
    const columns = [
      {title: "Action", head: true, of: (action) => (action.to ? link(action.to, {}, action.name) : action.name)},
      {title: state.other && theirs ? state.policy : "Probability", numeric: true, of: (action) => percent(infoset.strategy[action.name])},
      ...(theirs ? [{title: state.other, numeric: true, of: (action) => percent(theirs.strategy[action.name])}] : []),
      {title: "Worth", numeric: true, of: (action) => number(infoset.values[action.name])},
      {title: "Worth, then best", numeric: true, of: (action) => number(infoset.best_response.values[action.name])},
      {title: "", class: "whole", of: (action) => (infoset.best_response.action === action.name ? "best response" : "")},
    ];
    return h("section", {"aria-label": "Infoset"},
      h("p", {}, `Player ${infoset.player} knows `, h("code", {}, infoset.infoset || "nothing yet"), `. It comes up in ${percent(infoset.reach)} of games, and is worth ${number(infoset.value)} ${node.unit}.`, infoset.reached ? "" : " The average never reaches it: it plays uniformly for want of anything else."),
      bar(infoset.strategy, colour), table(columns, node.actions, {caption: "Actions at this infoset"}),
      infoset.believed_possible > 1 ? [h("h3", {}, "What may have happened, given what this player knows"), belief(infoset)] : null);
  }

  // ---- below: tree, ranges, differences, all infosets

  function tree() {
    if (!node.tree || node.tree.length < 2) return null;
    return h("details", {class: "card", open: node.kind !== "poker"}, h("summary", {}, "The tree around this node"),
      h("p", {class: "note"}, "Circles: player 0 acts; squares: player 1; diamonds: chance; bars: the end."), drawing(node.tree, {href, onGo: (to) => go(to).catch(page.fail)}));
  }

  function ranges() {
    const filter = h("input", {value: state.hands ?? "", placeholder: "66+,A8s+,AJo:0.5", spellcheck: "false", autocomplete: "off", onchange: () => { state.hands = filter.value.trim() || undefined; page.replace(here(at())); load(false).catch(page.fail); }});
    const chosen = node.chosen;
    return h("details", {class: "card", open: Boolean(state.hands)}, h("summary", {}, "Ranges as text"),
      h("div", {class: "fields"}, field("Hands", filter, "means over these hands only: any range"), chosen ? h("div", {}, h("h3", {}, `${state.hands}: ${number(node.hands_of)} combinations`), bar(chosen.strategy, colours(node.actions)), h("p", {class: "note"}, `value ${number(chosen.value)} ${node.unit}`)) : null),
      node.ranges.map((range) => {
        const text = h("textarea", {readonly: true, rows: "3", spellcheck: "false"});
        text.value = range.text;
        return h("div", {}, field(`Range of the ${seat(range.player)} here`, text, `${number(range.combos)} combinations, weights rounded to hundredths`),
          h("button", {type: "button", class: "quiet", onclick: () => navigator.clipboard.writeText(range.text).then(() => page.say("copied")).catch(() => { text.select(); page.say("press Ctrl-C to copy"); })}, "Copy"));
      }));
  }

  function differences() {
    if (!state.other) return null;
    const box = h("details", {class: "card"}, h("summary", {}, `Where ${state.policy} and ${state.other} differ most`));
    box.addEventListener("toggle", async () => {
      if (!box.open || box.childElementCount > 1) return;
      const wait = h("p", {class: "note"}, "…");
      box.append(wait);
      try {
        const found = await get("/api/explore/compare", {...said(state.policy), game: state.game, other: state.other, line: node.here.line, board: node.here.board});
        const columns = [
          {title: "Infoset", head: true, of: (row) => link(row.to, {}, row.infoset || "(start)")},
          {title: "Comes up", numeric: true, of: (row) => percent(row.weight)},
          {title: "Differ", numeric: true, of: (row) => number(row.difference, 3)},
          ...[state.policy, state.other].map((name, index) => ({title: name, class: "plays", of: (row) => bar(row.strategies[index], colours(Object.keys(row.strategies[index])))})),
        ];
        wait.replaceWith(h("p", {class: "note"}, `${found.compared}; ${number(found.infosets)} infosets differ. 1: nothing in common; 0: alike. Sorted by difference times how often play comes there.`), table(columns, found.rows, {caption: "Differences"}));
      } catch (error) {
        wait.remove();
        box.open = false;
        page.fail(error);
      }
    });
    return box;
  }

  function listing() {
    const asking = {sort: "reach", ascending: false, contains: "", player: "", offset: 0, limit: 25};
    const box = h("details", {class: "card"}, h("summary", {}, "All infosets"));
    const rows = h("div", {});
    async function list() {
      const found = await get("/api/explore/infosets", {...said(state.policy), game: state.game, ...asking, ascending: asking.ascending || undefined});
      const columns = [
        {title: "Infoset", name: "infoset", head: true, of: (row) => link(row.to, {}, row.infoset || "(start)")},
        {title: "Player", of: (row) => String(row.player)},
        {title: "Plays", class: "plays", of: (row) => (row.reached ? bar(row.strategy, colours(Object.keys(row.strategy))) : h("span", {class: "note"}, "never reached"))},
        {title: "Comes up", name: "reach", numeric: true, of: (row) => percent(row.reach)},
        {title: "Value", name: "value", numeric: true, of: (row) => number(row.value)},
        {title: "Gain", name: "gain", numeric: true, of: (row) => number(row.gain, 3)},
        {title: "Best response", of: (row) => row.best_action ?? "–"},
      ];
      const sorted = columns.map((column) => ({...column, sort: column.name ? () => 0 : undefined}));
      put(rows, table(sorted, found.rows, {caption: "All infosets", sort: {column: columns.findIndex((column) => column.name === asking.sort), down: !asking.ascending}, onSort: (index) => {
        const {name} = columns[index];
        asking.ascending = asking.sort === name ? !asking.ascending : name === "infoset";
        Object.assign(asking, {sort: name, offset: 0});
        list().catch(page.fail);
      }}), h("div", {class: "buttons"},
        h("button", {type: "button", class: "quiet", disabled: asking.offset === 0, onclick: () => { asking.offset = Math.max(0, asking.offset - asking.limit); list().catch(page.fail); }}, "Before"),
        h("span", {}, `${number(Math.min(found.found, asking.offset + 1))} to ${number(Math.min(found.found, asking.offset + asking.limit))} of ${number(found.found)}`),
        h("button", {type: "button", class: "quiet", disabled: asking.offset + asking.limit >= found.found, onclick: () => { asking.offset += asking.limit; list().catch(page.fail); }}, "After")),
        h("p", {class: "note"}, "Value: payoff of the whole game to the acting player. Gain: what the best action there would win more, times how often it comes up."));
    }
    const text = h("input", {autocomplete: "off", oninput: () => { Object.assign(asking, {contains: text.value, offset: 0}); list().catch(page.fail); }});
    const who = choice([["", "both"], ["0", seat(0)], ["1", seat(1)]], "", {onchange: () => { Object.assign(asking, {player: who.value, offset: 0}); list().catch(page.fail); }});
    box.append(h("div", {class: "fields"}, field("Contains", text), field("Player", who)), rows);
    box.addEventListener("toggle", () => { if (box.open && !rows.childElementCount) list().catch((error) => { put(rows, h("p", {class: "note"}, error.message)); }); });
    return box;
  }

  function keys(event) {
    if (event.target.closest?.("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey || !node) return;
    const digit = Number.parseInt(event.key, 10);
    if (digit >= 1 && digit <= node.actions.length && node.actions[digit - 1].to) {
      event.preventDefault();
      go(node.actions[digit - 1].to).catch(page.fail);
    } else if (event.key === "Backspace" && node.crumbs.length > 1) {
      event.preventDefault();
      go(node.crumbs.at(-2).to).catch(page.fail);
    }
  }
  document.addEventListener("keydown", keys);
  choosePolicies();
  await load(false);
  return () => {
    document.removeEventListener("keydown", keys);
    ends.forEach((each) => each());
  };
}
