// Cards as players know them: rank and suit sign, in four colours; the sign says the suit, the colour only helps.

import {h, put} from "./dom.js";

const SIGNS = {s: "♠", h: "♥", d: "♦", c: "♣"};
const NAMES = {s: "spades", h: "hearts", d: "diamonds", c: "clubs"};
const ORDER = "shdc";
const RANKS = {A: "ace", K: "king", Q: "queen", J: "jack", T: "ten"};

/** "Td" as words: "ten of diamonds". */
export function cardName(card) {
  return `${RANKS[card[0]] ?? card[0]} of ${NAMES[card[1]] ?? card.slice(1)}`;
}

/** A card such as "Td". */
export function card(text) {
  return h("span", {class: `playing-card suit-${text[1]}`, role: "img", "aria-label": cardName(text)}, text[0], h("span", {}, SIGNS[text[1]] ?? text.slice(1)));
}

/** Cards such as "Td9d6h". */
export function cards(text) {
  return (text.match(/../g) ?? []).map(card);
}

/** All cards, to be chosen by clicking: at most `most`; onChange gets them as a text. */
export function cardPicker({ranks, suits}, chosen, {most, label, onChange}) {
  let own = chosen.match(/../g) ?? [];
  const ordered = [...suits].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)); // as players know them, wherever they come from
  const place = h("div", {class: "card-picker", role: "group", "aria-label": label});
  function draw(focus) {
    put(place, ordered.map((suit) => h("div", {class: "card-row"}, ranks.map((rank) => {
      const name = rank + suit;
      const on = own.includes(name);
      return h("button", {type: "button", class: `pick suit-${suit}`, "aria-pressed": String(on), "aria-label": cardName(name), "data-card": name, onclick: () => {
        own = on ? own.filter((each) => each !== name) : own.length < most ? [...own, name] : [...own.slice(0, most - 1), name];
        draw(name);
        onChange(own.join(""));
      }}, rank, SIGNS[suit]);
    }))));
    if (focus) place.querySelector(`[data-card="${focus}"]`)?.focus();
  }
  draw();
  place.set = (text) => {
    own = text.match(/../g) ?? [];
    draw();
  };
  return place;
}
