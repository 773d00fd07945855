// The shell: which room is open, links between rooms, and what is said below. A room is a module in rooms/ that exports
//   title   what the tab and the heading say
//   open(place, query, page)   fills an element; may return a function that is called when the room is left
// `page` has go(room, query), replace(query), say(text) and fail(error).

import {h, put} from "./dom.js";
import {query as asText} from "./api.js";

const ROOMS = [
  ["runs", "Runs"],
  ["explore", "Explore"],
  ["play", "Play"],
  ["compare", "Compare"],
  ["spot", "Solve a spot"],
];

const place = document.getElementById("room");
const said = document.getElementById("said");
let close = null;
let opening = 0;

const page = {
  /** The names of all rooms. */
  rooms: ROOMS.map(([name]) => name),
  /** Open a room: page.go("explore", {policy: "demo/leduc"}). */
  go(room, query = {}) {
    history.pushState(null, "", `/${room}${asText(query)}`);
    return show();
  },
  /** Change the query of the room that is open, so that the address is a link to what is shown. */
  replace(query) {
    history.replaceState(null, "", location.pathname + asText(query));
  },
  /** Say something that screen readers read out, too. */
  say(text) {
    put(said, text ? h("p", {}, text) : null);
  },
  /** Say what went wrong. */
  fail(error) {
    if (error?.name === "AbortError") return;
    put(said, h("p", {class: "mistake"}, h("strong", {}, "Sorry: "), error.message ?? String(error),
      h("button", {type: "button", class: "quiet", onclick: () => page.say("")}, "Close")));
  },
  /** A link to a room. */
  link(room, query, ...children) {
    return h("a", {href: `/${room}${asText(query)}`}, ...children);
  },
};

async function show() {
  const name = location.pathname.slice(1) || "runs";
  const mine = ++opening;
  page.say("");
  try {
    if (close) close();
  } finally {
    close = null;
  }
  navigation(name);
  try {
    const room = await import(`./rooms/${name}.js`);
    if (mine !== opening) return;
    document.title = `${room.title} · equipoise`;
    put(place, h("h1", {class: room.dense ? "unseen" : null}, room.title));
    place.dataset.room = name;
    const query = new URLSearchParams(location.search);
    const left = await room.open(place, query, page);
    if (mine !== opening) left?.();
    else close = left ?? null;
  } catch (error) {
    if (mine === opening) page.fail(error);
  }
}

function navigation(current) {
  put(document.getElementById("rooms"), ROOMS.map(([name, title]) =>
    h("li", {}, h("a", {href: `/${name}`, "aria-current": name === current ? "page" : undefined}, title))));
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || link.hasAttribute("download") || link.target || url.pathname.startsWith("/api/")) return;
  if (link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  history.pushState(null, "", url);
  show().then(() => place.focus({preventScroll: true}));
  window.scrollTo(0, 0);
});
window.addEventListener("popstate", show);
show();
