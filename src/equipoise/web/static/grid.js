// A 13 x 13 grid of starting hands: pairs on the diagonal, suited hands above it, offsuit hands below. One cell has the focus:
// arrow keys move it, Enter or the space bar presses it, and a pointer may be dragged over cells.
//
// handGrid(classes, {label, of, onPress, onMove}) returns an element with draw() and focusOn(name).
//   classes   rows of names, from GET /api/deck
//   of(name)  {parts: [[colour, share], ...] from left to right, tall: 0 to 1 of the height, text, label, blocked}
//   onPress(name, first)   first is false for cells that a pointer is dragged over
//   onMove(name)           the focus or the pointer is over another cell (null: over none)

import {h} from "./dom.js";

export function handGrid(classes, {label, of, onPress, onMove, onRelease}) {
  const cells = new Map();
  let at = [0, 0];
  let pressed = false;
  const grid = h("div", {class: "hand-grid", role: "grid", "aria-label": label});

  function focus(row, column) {
    const last = classes.length - 1;
    cells.get(classes[at[0]][at[1]]).tabIndex = -1;
    at = [Math.max(0, Math.min(last, row)), Math.max(0, Math.min(last, column))];
    const cell = cells.get(classes[at[0]][at[1]]);
    cell.tabIndex = 0;
    cell.focus();
  }

  classes.forEach((names, row) => {
    const line = h("div", {role: "row", class: "hand-row"});
    names.forEach((name, column) => {
      const cell = h("div", {role: "gridcell", class: "hand-cell", tabindex: row + column ? "-1" : "0", "data-hand": name});
      cell.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        event.preventDefault();
        focus(row, column);
        pressed = true;
        cell.releasePointerCapture?.(event.pointerId);
        onPress?.(name, true);
      });
      cell.addEventListener("focus", () => onMove?.(name));
      cell.addEventListener("pointerenter", () => {
        onMove?.(name);
        if (pressed) onPress?.(name, false);
      });
      cells.set(name, cell);
      line.append(cell);
    });
    grid.append(line);
  });
  const release = () => {
    if (pressed) onRelease?.();
    pressed = false;
  };
  window.addEventListener("pointerup", release);
  window.addEventListener("pointercancel", release);
  grid.addEventListener("pointerleave", () => onMove?.(null));
  grid.addEventListener("keydown", (event) => {
    const [row, column] = at;
    const moves = {ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], Home: [row, 0], End: [row, 99], PageUp: [0, column], PageDown: [99, column]};
    if (event.key in moves) {
      event.preventDefault();
      focus(...moves[event.key]);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onPress?.(classes[row][column], true);
      onRelease?.();
    }
  });
  grid.draw = () => {
    for (const [name, cell] of cells) {
      const {parts = [], tall = 1, text, label: said, blocked} = of(name);
      let from = 0;
      const stops = parts.filter(([, share]) => share > 0).map(([colour, share]) => {
        const [start, end] = [from, (from += 100 * share)];
        return `${colour} ${start.toFixed(2)}% ${end.toFixed(2)}%`;
      });
      if (stops.length && from < 99.9) stops.push(`transparent ${from.toFixed(2)}% 100%`);
      cell.style.setProperty("--fill", stops.length ? `linear-gradient(to right, ${stops.join(", ")})` : "none");
      cell.style.setProperty("--tall", `${(100 * Math.max(0, Math.min(1, tall))).toFixed(1)}%`);
      cell.classList.toggle("blocked", Boolean(blocked));
      cell.setAttribute("aria-label", said ?? name);
      if (cell.firstChild?.textContent !== name || cell.lastChild?.textContent !== (text ?? "")) cell.replaceChildren(h("span", {}, name), h("small", {}, text ?? ""));
    }
  };
  grid.focusOn = (name) => classes.forEach((names, row) => names.includes(name) && focus(row, names.indexOf(name)));
  grid.close = () => {
    window.removeEventListener("pointerup", release);
    window.removeEventListener("pointercancel", release);
  };
  grid.draw();
  return grid;
}
