// A chart of curves in SVG, on log or linear axes: hover, or focus it and use the arrow keys, to read points off.

import {h, s, put, number} from "./dom.js";

export const DASHES = ["", "7 4", "2 3", "9 3 2 3", "12 4", "4 2 1 2", "1 2", "6 2 2 2 2 2"];
const MARGIN = {left: 64, right: 16, top: 14, bottom: 44};

export function colourOf(index) {
  return `var(--series-${index % 8})`;
}

/** A short piece of a curve's line, for a legend. */
export function sample(index) {
  return s("svg", {width: 30, height: 10, "aria-hidden": "true"},
    s("line", {x1: 0, y1: 5, x2: 30, y2: 5, stroke: colourOf(index), "stroke-width": 2.5, "stroke-dasharray": DASHES[index % 8] || undefined}));
}

function decades(low, high) {
  const ticks = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; power++) ticks.push(10 ** power);
  if (ticks.length >= 2) {
    const every = Math.ceil(ticks.length / 8);
    return ticks.filter((_, index) => index % every === 0);
  }
  const within = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    for (const step of [1, 2, 5]) if (step * 10 ** power >= low * 0.999 && step * 10 ** power <= high * 1.001) within.push(step * 10 ** power);
  return within.length >= 2 ? within : [low, high];
}

function steps(low, high) {
  const raw = (high - low) / 5 || 1;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = size * ([1, 2, 5, 10].find((each) => each * size >= raw) ?? 10);
  const ticks = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) ticks.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return ticks;
}

function tickText(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e4 || size < 1e-3) {
    const power = Math.floor(Math.log10(size) + 1e-9);
    const first = value / 10 ** power;
    const raised = String(power).replace(/[-\d]/g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
    return `${Math.abs(first - 1) < 1e-9 ? "" : `${number(first, 2)}·`}10${raised}`;
  }
  return number(value, 3);
}

/**
 * Draw curves into an element, again whenever its width changes.
 * series: [{name, points: [[x, y], ...], band: [[x, low, high], ...]}], levels: [{y, text}].
 * Returns {update(series, levels, labels), close()}.
 */
export function chart(place, {xLabel, yLabel, logX = true, logY = true, label}) {
  let series = [];
  let levels = [];
  let cursor = null; // [series, point]
  let labels = {xLabel, yLabel};
  const readout = h("output", {class: "readout note"}, "");
  const frame = h("div", {});
  put(place, frame, readout);

  function drawn() {
    const width = Math.max(280, frame.clientWidth || 700);
    const height = Math.max(240, Math.min(380, Math.round(width * 0.55)));
    const usable = series.map((each) => ({...each, points: each.points.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y) && (!logX || x > 0) && (!logY || y > 0))}));
    const all = usable.flatMap((each) => [...each.points, ...(each.band ?? []).flatMap(([x, low, high]) => [[x, low], [x, high]])]);
    const summary = label ?? `${labels.yLabel} over ${labels.xLabel}`;
    const svg = s("svg", {class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", tabindex: "0", "aria-label": `${summary}. Arrow keys read points.`});
    if (!all.length) {
      svg.append(s("text", {x: width / 2, y: height / 2, "text-anchor": "middle"}, "nothing to draw yet"));
      return put(frame, svg);
    }
    const [xs, ys] = [all.map(([x]) => x), [...all.map(([, y]) => y), ...levels.map(({y}) => y).filter((y) => !logY || y > 0)]];
    let [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    if (logX && x0 === x1) [x0, x1] = [x0 / 2, x1 * 2];
    if (!logX && x0 === x1) [x0, x1] = [0, x1 || 1];
    const pad = (y1 - y0) * 0.08 || Math.abs(y1) || 1;
    [y0, y1] = logY ? [y0 / 1.25, y1 * 1.25] : [y0 - pad, y1 + pad];
    const scaleX = logX ? Math.log : (value) => value;
    const scaleY = logY ? Math.log : (value) => value;
    const right = width - MARGIN.right;
    const bottom = height - MARGIN.bottom;
    const px = (x) => MARGIN.left + ((scaleX(x) - scaleX(x0)) / (scaleX(x1) - scaleX(x0))) * (right - MARGIN.left);
    const py = (y) => bottom - ((scaleY(y) - scaleY(y0)) / (scaleY(y1) - scaleY(y0))) * (bottom - MARGIN.top);
    const few = (ticks, most) => ticks.filter((_, index) => index % Math.ceil(ticks.length / most) === 0);
    for (const tick of few(logX ? decades(x0, x1) : steps(x0, x1), Math.floor(width / 80))) {
      svg.append(s("line", {class: "grid", x1: px(tick), x2: px(tick), y1: MARGIN.top, y2: bottom}),
        s("text", {x: px(tick), y: bottom + 16, "text-anchor": "middle"}, tickText(tick)));
    }
    for (const tick of logY ? decades(y0, y1) : steps(y0, y1)) {
      svg.append(s("line", {class: "grid", x1: MARGIN.left, x2: right, y1: py(tick), y2: py(tick)}),
        s("text", {x: MARGIN.left - 6, y: py(tick) + 4, "text-anchor": "end"}, tickText(tick)));
    }
    svg.append(s("text", {x: (MARGIN.left + right) / 2, y: height - 8, "text-anchor": "middle"}, labels.xLabel),
      s("text", {x: 14, y: (MARGIN.top + bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(MARGIN.top + bottom) / 2})`}, labels.yLabel));
    for (const {y, text} of levels) {
      if (logY && !(y > 0)) continue;
      svg.append(s("line", {class: "level", x1: MARGIN.left, x2: right, y1: py(y), y2: py(y)}),
        s("text", {class: "level-text", x: right - 4, y: py(y) - 4, "text-anchor": "end"}, text));
    }
    usable.forEach((each, index) => {
      const colour = colourOf(each.colour ?? index);
      if (each.band?.length) {
        const up = each.band.map(([x, , high]) => `${px(x)},${py(high)}`);
        const down = [...each.band].reverse().map(([x, low]) => `${px(x)},${py(low)}`);
        svg.append(s("polygon", {points: [...up, ...down].join(" "), fill: colour, opacity: 0.2}));
      }
      const path = each.points.map(([x, y], at) => `${at ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("");
      svg.append(s("path", {class: "curve", d: path, stroke: colour, "stroke-dasharray": DASHES[(each.colour ?? index) % 8] || undefined}));
      if (each.points.length) {
        const [x, y] = each.points.at(-1);
        svg.append(s("circle", {cx: px(x), cy: py(y), r: 3.5, fill: colour}));
      }
    });
    const mark = s("circle", {r: 5, fill: "none", stroke: "var(--ink)", "stroke-width": 2, visibility: "hidden"});
    svg.append(mark);

    function point(to) {
      cursor = to;
      const own = to && usable[to[0]]?.points[to[1]];
      if (!own) {
        mark.setAttribute("visibility", "hidden");
        return;
      }
      mark.setAttribute("cx", px(own[0]));
      mark.setAttribute("cy", py(own[1]));
      mark.setAttribute("visibility", "visible");
      put(readout, `${usable[to[0]].name}: ${labels.xLabel} ${number(own[0], 5)}, ${labels.yLabel} ${number(own[1], 5)}`);
    }
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const [mx, my] = [((event.clientX - box.left) * width) / box.width, ((event.clientY - box.top) * height) / box.height];
      let best = null;
      let least = Infinity;
      usable.forEach((each, index) => each.points.forEach(([x, y], at) => {
        const far = Math.hypot(px(x) - mx, py(y) - my);
        if (far < least) [least, best] = [far, [index, at]];
      }));
      if (best) point(best);
    });
    svg.addEventListener("keydown", (event) => {
      const [which, at] = cursor ?? [0, (usable[0]?.points.length ?? 1)];
      const moves = {ArrowLeft: [which, at - 1], ArrowRight: [which, at + 1], ArrowUp: [which - 1, at], ArrowDown: [which + 1, at], Home: [which, 0], End: [which, Infinity]};
      if (!(event.key in moves)) return;
      event.preventDefault();
      const next = (moves[event.key][0] + usable.length) % usable.length;
      point([next, Math.max(0, Math.min(usable[next].points.length - 1, moves[event.key][1]))]);
    });
    const focused = frame.contains(document.activeElement);
    put(frame, svg);
    if (focused) svg.focus();
    if (cursor) point(cursor);
    return svg;
  }

  let last = 0;
  const watcher = new ResizeObserver(() => {
    if (Math.abs(frame.clientWidth - last) > 1) {
      last = frame.clientWidth;
      drawn();
    }
  });
  watcher.observe(frame);
  return {
    update(newSeries, newLevels = [], newLabels = {}) {
      [series, levels, labels] = [newSeries, newLevels, {...labels, ...newLabels}];
      drawn();
    },
    close() {
      watcher.disconnect();
    },
  };
}
