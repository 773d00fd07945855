// Solve a spot: board, ranges, pot, stacks and bet sizes; solve it, look at it, save and load it.

import {h, put, renew, field, choice, number} from "../dom.js";
import {get, post, listen} from "../api.js";
import {cardPicker, cards} from "../cards.js";
import {handGrid} from "../grid.js";
import {chart} from "../chart.js";

export const title = "Solve a spot";

const START = {board: "Td9d6hQc", pot: "200", stack: "900", first: "66+,A8s+,KQo", second: "QQ-22,AJo:0.5,T9s", bets: "0.5-1-allin", raises: ""};
const TEXTS = {
  pot: ["Pot", "chips in the middle"],
  stack: ["Stack", "chips that each player can still bet"],
  bets: ["Bets", "fractions of the pot: 0.5-1-allin; by round: 0.33/0.75/1-allin"],
  raises: ["Raises", "as bets if empty"],
  rake: ["Rake", "share that the house takes, such as 0.05"],
  cap: ["Cap", "most chips of rake"],
  locks: ["Locks", "hands bound to a strategy: c:QQ=check:0.3|bet 200:0.7; …"],
};

export async function open(place, query, page) {
  const deck = await get("/api/deck");
  const spot = {...START};
  const inputs = {};
  const ends = [];
  let weight = 1;

  const board = h("input", {autocomplete: "off", spellcheck: "false", value: spot.board});
  const picker = cardPicker(deck, spot.board, {most: 5, label: "Cards of the board", onChange: (text) => { board.value = text; changed(); }});
  board.addEventListener("change", () => { picker.set(board.value); changed(); });
  const boardShown = h("div", {class: "board-shown"});
  inputs.board = board;
  for (const name of Object.keys(TEXTS)) {
    inputs[name] = h("input", {autocomplete: "off", spellcheck: "false", value: spot[name] ?? "", onchange: changed, inputmode: ["pot", "stack"].includes(name) ? "numeric" : undefined});
  }
  const ranges = [range("first", "First player's range (acts first)"), range("second", "Second player's range (in position)")];
  const brush = h("input", {type: "range", min: "0", max: "100", step: "5", value: "100", oninput: () => { weight = brush.value / 100; put(brushText, `${brush.value} %`); }});
  const brushText = h("output", {}, "100 %");
  const size = h("p", {class: "note", role: "status"});
  const until = h("input", {value: "0.5", inputmode: "decimal"});
  const threads = h("input", {value: "1", inputmode: "numeric"});
  const storage = choice([["float32", "single precision"], ["int16", "16 bits: half the memory"]], "float32");
  const name = h("input", {autocomplete: "off"});
  const saved = h("select", {});
  const progress = h("section", {"aria-label": "Progress"});

  function range(side, label) {
    const text = h("textarea", {spellcheck: "false", rows: "2"});
    text.value = spot[side];
    const combos = h("small", {class: "help"});
    let hands = {};
    let changes = {};
    let painting = 1;
    const grid = handGrid(deck.classes, {
      label: `${label}, hand by hand`,
      of: (hand) => ({parts: [["var(--range)", 1]], tall: hands[hand] ?? 0, text: hands[hand] > 0 && hands[hand] < 1 ? `${Math.round(100 * hands[hand])}` : "", label: `${hand}, ${Math.round(100 * (hands[hand] ?? 0))} %`}),
      onPress: (hand, first) => {
        if (first) painting = (hands[hand] ?? 0) === weight ? 0 : weight;
        hands = {...hands, [hand]: painting};
        changes[hand] = painting;
        grid.draw();
      },
      onRelease: () => {
        const now = changes;
        changes = {};
        if (Object.keys(now).length) read(now);
      },
    });
    ends.push(grid.close);
    let asked = 0;
    async function read(set) {
      const mine = ++asked;
      try {
        const found = await post("/api/range", {text: text.value, ...(set ? {set} : {})});
        if (mine !== asked) return;
        text.value = found.text;
        hands = found.hands;
        put(combos, `${number(found.combos)} combinations`);
        grid.draw();
        text.removeAttribute("aria-invalid");
        changed();
      } catch (error) {
        text.setAttribute("aria-invalid", "true");
        page.fail(error);
      }
    }
    text.addEventListener("change", () => read());
    const all = (value) => () => { text.value = value; read(); };
    const box = h("section", {class: "range", "aria-label": label}, h("h2", {}, label), field("Hands", text, "such as 66+,A8s+,A5s-A4s,AJo:0.5,KhQh"),
      h("div", {class: "buttons"}, h("button", {type: "button", class: "quiet", onclick: all("all")}, "All hands"), h("button", {type: "button", class: "quiet", onclick: all("")}, "No hands"), combos), grid);
    return {side, text, read, box};
  }

  function said() {
    const found = Object.fromEntries(Object.entries(inputs).map(([key, input]) => [key, input.value.trim()]).filter(([, value]) => value !== ""));
    for (const {side, text} of ranges) found[side] = text.value.trim();
    return found;
  }

  let checking = 0;
  async function changed() {
    const mine = ++checking;
    put(boardShown, cards(board.value));
    try {
      const found = await post("/api/spot/check", said());
      if (mine !== checking) return;
      put(size, `${number(found.betting_nodes)} betting nodes; ${number(found.hands[0])} against ${number(found.hands[1])} hands`);
      size.classList.remove("mistake");
    } catch (error) {
      if (mine !== checking) return;
      put(size, error.message);
      size.classList.add("mistake");
    }
  }

  async function fill(found) {
    for (const [key, input] of Object.entries(inputs)) input.value = found[key] ?? "";
    picker.set(board.value);
    for (const each of ranges) {
      each.text.value = found[each.side] ?? "all";
      await each.read();
    }
    await changed();
  }

  async function listSaved() {
    const {spots} = await get("/api/spots");
    put(saved, h("option", {value: ""}, spots.length ? "choose one" : "none yet"), spots.map((each) => h("option", {value: each.file}, each.name)));
  }

  async function solve(event) {
    event.preventDefault();
    try {
      const {run} = await post("/api/spot/solve", {...said(), until_pot: until.value, threads: threads.value, storage: storage.value, name: name.value.trim()});
      page.replace({run});
      follow(run);
    } catch (error) {
      page.fail(error);
    }
  }

  let end = null;
  let drawing = null;
  function follow(run) {
    end?.();
    drawing?.close();
    drawing = null;
    const words = h("div", {role: "status"});
    const picture = h("div", {});
    put(progress, h("h2", {}, "Progress"), words, picture);
    progress.scrollIntoView({block: "nearest"});
    let log = [];
    end = listen("/api/run/events", {run}, ({runs: [news]}) => {
      if (news.error) return page.fail(new Error(news.error));
      log = [...log.slice(0, news.from), ...news.log];
      const last = log.at(-1);
      renew(words, h("p", {}, h("strong", {}, run), `: ${news.status}`, news.progress ? h("span", {class: news.status === "failed" ? "mistake" : "note"}, ` ${news.progress}`) : null),
        last ? h("p", {class: "large"}, `${number(last.exploitability_pot, 3)} % of the pot`, h("small", {class: "help"}, ` exploitability after ${number(last.iteration)} iterations; the first player takes home ${number(last.ev_first)} chips`)) : null,
        h("div", {class: "buttons"},
          news.status === "running" ? h("button", {type: "button", onclick: () => post("/api/run/stop", {run}).catch(page.fail)}, "Stop") : null,
          news.status === "finished" || news.status === "stopped" ? [page.rooms.includes("explore") ? h("a", {class: "button", href: `/explore?policy=${encodeURIComponent(run)}`}, "Look at it in Explore") : null, h("a", {class: "button quiet", href: `/runs?run=${encodeURIComponent(run)}`}, "See the run")] : null));
      drawing ??= chart(picture, {xLabel: "iterations", yLabel: "exploitability, % of the pot"});
      drawing.update([{name: run, points: log.map((record) => [record.iteration, record.exploitability_pot])}]);
    });
  }

  const more = h("details", {class: "card"}, h("summary", {}, "Rake and locks"), h("div", {class: "fields"}, ["rake", "cap", "locks"].map((key) => field(TEXTS[key][0], inputs[key], TEXTS[key][1]))));
  place.append(
    h("div", {class: "fields"}, field("Load a saved spot", saved)),
    h("form", {onsubmit: solve},
      h("div", {class: "columns"},
        h("section", {"aria-label": "Board"}, h("h2", {}, "Board"), boardShown, field("Cards", board, "three to five: the flop, and the turn and the river if they are there"), picker),
        h("section", {"aria-label": "Money"}, h("h2", {}, "Pot, stacks and bets"), h("div", {class: "fields"}, ["pot", "stack", "bets", "raises"].map((key) => field(TEXTS[key][0], inputs[key], TEXTS[key][1]))), more)),
      h("div", {class: "field brush"}, h("label", {for: "brush"}, "Weight that a click on a hand sets ", brushText), Object.assign(brush, {id: "brush"})),
      h("div", {class: "columns"}, ranges.map((each) => each.box)),
      size,
      h("div", {class: "fields"},
        field("Until", until, "exploitability in per cent of the pot"), field("Threads", threads), field("Memory", storage), field("Name", name, "of the run, or to save the spot; made up if empty")),
      h("div", {class: "buttons"}, h("button", {type: "submit"}, "Solve"),
        h("button", {type: "button", class: "quiet", onclick: () => post("/api/spot/save", {...said(), name: name.value.trim() || "spot"}).then(({file}) => { page.say(`saved as ${file}`); return listSaved(); }).catch(page.fail)}, "Save the spot")),
    ),
    progress);
  saved.addEventListener("change", () => { if (saved.value) get("/api/spot", {file: saved.value}).then(({spot: found}) => fill(found)).catch(page.fail); });

  await Promise.all([...ranges.map((each) => each.read()), listSaved()]);
  if (query.get("run")) {
    await get("/api/spot", {run: query.get("run")}).then(({spot: found}) => fill(found)).catch(() => {});
    follow(query.get("run"));
  }
  return () => {
    end?.();
    drawing?.close();
    ends.forEach((each) => each());
  };
}
