// Elements from values. Texts are always set as text, never as HTML: what a file says cannot become part of the page.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else if (name === "value" && "value" in element) element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

/** h("p", {class: "note"}, "text", h("b", {}, "more")): an HTML element. Attributes that start with "on" are listeners. */
export function h(name, attributes, ...children) {
  const element = document.createElement(name);
  // The value of a <select> can be set only once its options are there.
  if (attributes && "value" in attributes && name === "select") {
    const {value, ...rest} = attributes;
    fill(element, rest, children);
    if (value !== undefined && value !== null) element.value = value;
    return element;
  }
  return fill(element, attributes, children);
}

/** The same for SVG. */
export function s(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Put children in the place of an element's old ones. */
export function put(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

const TOUCHED = new Set(["A", "BUTTON", "INPUT", "SELECT", "TEXTAREA", "FORM", "DETAILS"]);

function alike(old, fresh) {
  if (old.nodeName !== fresh.nodeName) return false;
  if (old.nodeType !== 1) return true;
  if (!TOUCHED.has(old.nodeName)) return true;
  const told = (each) => [each.nodeName === "FORM" || each.nodeName === "DETAILS" ? "" : each.textContent, each.getAttribute("aria-label"), each.getAttribute("href"), each.dataset.key].join("\n");
  return told(old) === told(fresh);
}

function renewed(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const {name} of [...old.attributes]) if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  for (const {name, value} of fresh.attributes) if (old.getAttribute(name) !== value && !(name === "id" && old.nodeName !== "svg")) old.setAttribute(name, value);
  if (old.nodeName === "INPUT" && old.type === "checkbox") old.checked = fresh.checked;
  renewAll(old, [...fresh.childNodes]);
}

function renewAll(place, fresh) {
  const old = [...place.childNodes];
  if (old.length !== fresh.length || !old.every((each, index) => alike(each, fresh[index]))) place.replaceChildren(...fresh);
  else old.forEach((each, index) => renewed(each, fresh[index]));
}

/**
 * As put, for what is shown again and again: elements that are still the same stay, and so do the focus, what is open, and what is
 * being typed. What can be pressed is the same if it says the same; its listeners are those of the first time.
 */
export function renew(place, ...children) {
  const fresh = children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false);
  renewAll(place, fresh.map((each) => (typeof each === "string" ? document.createTextNode(each) : each)));
  return place;
}

let fields = 0;

/** A labelled field: a label, the control, and a line of help below it. */
export function field(label, control, help) {
  const id = control.id || `field-${++fields}`;
  control.id = id;
  const parts = [h("label", {for: id}, label), control];
  if (help) {
    control.setAttribute("aria-describedby", `${id}-help`);
    parts.push(h("small", {id: `${id}-help`, class: "help"}, help));
  }
  return h("div", {class: "field"}, parts);
}

/** A select of [value, text] pairs or of texts. */
export function choice(options, value, attributes) {
  const listed = options.map((each) => {
    const [own, text] = Array.isArray(each) ? each : [each, each];
    return h("option", {value: own}, text);
  });
  return h("select", {...attributes, value}, listed);
}

/** A table with headings; columns are {title, of(row) -> text or node, sort(row) -> number or text, numeric}. */
export function table(columns, rows, {caption, sort, onSort, row: rowAttributes} = {}) {
  const heads = columns.map((column, index) => {
    const direction = sort && sort.column === index ? (sort.down ? "descending" : "ascending") : undefined;
    const kind = column.numeric ? "number" : undefined;
    if (!column.sort || !onSort) return h("th", {scope: "col", class: kind}, column.title);
    const arrow = direction === "descending" ? " ▼" : direction === "ascending" ? " ▲" : "";
    const button = h("button", {type: "button", class: "sort", onclick: () => onSort(index)}, column.title,
      h("span", {"aria-hidden": "true"}, arrow));
    return h("th", {scope: "col", class: kind, "aria-sort": direction ?? "none"}, button);
  });
  const sorted = [...rows];
  if (sort && columns[sort.column]?.sort) {
    const key = columns[sort.column].sort;
    sorted.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      const order = x === y ? 0 : x === null || x === undefined ? 1 : y === null || y === undefined ? -1 : x < y ? -1 : 1;
      return sort.down && x !== null && y !== null && x !== undefined && y !== undefined ? -order : order;
    });
  }
  const body = sorted.map((row) => h("tr", rowAttributes ? rowAttributes(row) : {}, columns.map((column, index) => {
    const cell = column.head ? "th" : "td";
    return h(cell, {class: column.numeric ? "number" : column.class, scope: column.head ? "row" : undefined}, column.of(row, index));
  })));
  return h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption ?? "table"},
    h("table", {}, caption ? h("caption", {class: "unseen"}, caption) : null, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, body)));
}

/** A number as people read it: at most so many digits, thousands apart. */
export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(Math.max(0, digits - 1));
  return value.toLocaleString("en", {maximumSignificantDigits: digits});
}

/** A time as people read it. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${number(seconds, 2)} s`;
  if (seconds < 60) return `${number(seconds, 3)} s`;
  const [minutes, rest] = [Math.floor(seconds / 60), Math.round(seconds % 60)];
  if (minutes < 60) return `${minutes} min ${rest} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
