// A drawing of the tree around a node: who acts by shape (circle: player 0, square: player 1, diamond: chance, bar: an end),
// how likely by the width of a branch and in words. Everything in it can be clicked and reached by the keyboard.

import {h, s} from "./dom.js";
import {percent} from "./actions.js";

const [ACROSS, DOWN, LEFT, TOP] = [150, 26, 16, 20];

export function drawing(nodes, {href, onGo}) {
  const children = new Map(nodes.map(({id}) => [id, []]));
  const roots = [];
  for (const node of nodes) (node.parent !== null && children.has(node.parent) ? children.get(node.parent) : roots).push(node);
  const at = new Map();
  let row = 0;
  let deepest = 0;
  function place(node, depth) {
    deepest = Math.max(deepest, depth);
    const own = children.get(node.id).map((child) => place(child, depth + 1));
    const y = own.length ? (own[0] + own.at(-1)) / 2 : row++;
    at.set(node.id, [LEFT + depth * ACROSS, TOP + y * DOWN]);
    return y;
  }
  roots.forEach((root) => place(root, 0));
  const [width, height] = [LEFT + (deepest + 1) * ACROSS, TOP + row * DOWN];
  const edges = nodes.filter(({parent}) => at.has(parent)).map((node) => {
    const [[x0, y0], [x1, y1]] = [at.get(node.parent), at.get(node.id)];
    const middle = x0 + 44;
    return s("path", {d: `M${x0},${y0} C${middle},${y0} ${middle},${y1} ${x1},${y1}`, class: "branch", "stroke-width": node.probability === null ? 1.5 : 1 + 5 * node.probability, opacity: node.probability === null ? 0.6 : 0.35 + 0.65 * node.probability});
  });
  const marks = nodes.map((node) => {
    const [x, y] = at.get(node.id);
    const share = node.probability === null ? "" : ` ${percent(node.probability, 0)}`;
    const worth = node.payoff === null ? "" : ` → ${node.payoff > 0 ? "+" : ""}${node.payoff}`;
    const who = node.state === "end" ? "the end" : node.state === "chance" ? "chance acts" : `player ${node.player} acts`;
    const label = `${node.name}${share}${worth}`;
    return s("a", {href: href(node.to), "aria-label": `${label}, ${who}${node.here ? ", here" : ""}`, class: node.here ? "here" : undefined, onclick: (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      onGo(node.to);
    }}, shape(node, x, y), s("text", {x: x + 11, y: y - 4}, short(label)));
  });
  return h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Tree around this node"},
    s("svg", {viewBox: `0 0 ${width} ${height}`, width, height, class: "tree", role: "group", "aria-label": "Tree around this node"}, edges, marks));
}

function short(text) {
  return text.length > 22 ? `${text.slice(0, 21)}…` : text;
}

function shape(node, x, y) {
  const r = node.here ? 8 : 6;
  if (node.state === "end") return s("rect", {x: x - 2, y: y - 7, width: 4, height: 14, class: "mark end"});
  if (node.state === "chance") return s("path", {d: `M${x - r},${y} L${x},${y - r} L${x + r},${y} L${x},${y + r} Z`, class: "mark chance"});
  if (node.player === 1) return s("rect", {x: x - r, y: y - r, width: 2 * r, height: 2 * r, class: "mark second"});
  return s("circle", {cx: x, cy: y, r, class: "mark first"});
}
