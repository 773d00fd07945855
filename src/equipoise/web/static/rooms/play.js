// Play: hands against a policy, with cards and chips for poker and a plain board for other games. The server deals and judges.

import {h, put, field, choice, number} from "../dom.js";
import {get, post, query as asText} from "../api.js";
import {card} from "../cards.js";
import {bar, colours, percent} from "../actions.js";

export const title = "Play";

const PLACES = ["line", "board", "path", "infoset"];
const SEATS = [["turns", "both in turn"], ["0", "player 0"], ["1", "player 1"]];

export async function open(place, query, page) {
  const [{policies}, {baselines, games}, {games: listed}] = await Promise.all([get("/api/policies"), get("/api/page"), get("/api/games")]);
  const named = policies.map((each) => each.policy);
  const shown = h("div", {});
  place.append(shown);
  let view = null;
  let busy = false;

  const practice = Object.fromEntries(PLACES.filter((name) => query.get(name)).map((name) => [name, query.get(name)]));

  async function ask(path, said) {
    if (busy) return;
    busy = true;
    shown.setAttribute("aria-busy", "true");
    const slow = setTimeout(() => page.say("one moment … exact values of a large game take a few seconds the first time"), 800);
    try {
      view = await post(path, said);
      page.say("");
      if (query.get("session") !== view.session) page.replace({session: view.session});
      show();
    } catch (error) {
      page.fail(error);
    } finally {
      clearTimeout(slow);
      busy = false;
      shown.removeAttribute("aria-busy");
    }
  }

  // ---- before: who plays whom

  async function setUp() {
    const solution = choice([["", "none: a game without a solution"], ...policies.map((each) => [each.policy, each.game ? `${each.policy} (${each.game.slice(0, 40)})` : each.policy])], query.get("solution") ?? named[0] ?? "", {onchange: refill});
    const opponent = h("select", {});
    const game = h("input", {list: "all-games", value: games[0] ?? "leduc_poker", autocomplete: "off"});
    const gameField = field("Game", game);
    const seat = choice(SEATS, "turns");
    const hints = h("input", {type: "checkbox"});
    const costs = h("input", {type: "checkbox"});
    function refill() {
      put(opponent, (solution.value ? [["", "the solution itself"]] : []).concat(baselines.map((name) => [name, name]), solution.value ? named.filter((each) => each !== solution.value).map((name) => [name, name]) : []).map(([value, text]) => h("option", {value}, text)));
      gameField.hidden = Boolean(solution.value);
      for (const box of [hints, costs]) box.disabled = !solution.value;
    }
    refill();
    const tick = (box, text) => h("label", {class: "tick"}, box, ` ${text}`);
    const form = h("form", {onsubmit: (event) => {
      event.preventDefault();
      const said = {solution: solution.value, opponent: opponent.value, seat: seat.value, hints: hints.checked && !hints.disabled, costs: costs.checked && !costs.disabled};
      if (!solution.value) said.game = game.value;
      if (solution.value && Object.keys(practice).length) said.practice = practice;
      ask("/api/play/start", said);
    }},
      h("datalist", {id: "all-games"}, [...games, ...listed.map((each) => each.usage)].map((each) => h("option", {value: each}))),
      h("div", {class: "fields"}, field("Solution", solution, "whose policy judges your choices"), field("Opponent", opponent), gameField, field("Your seat", seat)),
      h("div", {class: "buttons"}, tick(hints, "show what the solution does before each choice"), tick(costs, "say what each choice cost")),
      Object.keys(practice).length ? h("p", {class: "note"}, "Every hand begins at ", h("code", {}, Object.values(practice).join(" on ") || "the start"), ".") : null,
      h("div", {class: "buttons"}, h("button", {type: "submit"}, "Deal")));
    const unfinished = h("div", {}); // a part of the form: an answer that comes after the first deal shows nowhere
    put(shown, form, unfinished);
    const {sessions} = await get("/api/play/sessions");
    if (sessions.length) {
      put(unfinished, h("h2", {}, "Games in progress"), h("ul", {}, sessions.slice(0, 12).map((each) => h("li", {},
        page.link("play", {session: each.session}, `${each.game.slice(0, 50)} against ${each.opponent}`), ` ${each.hands} hand${each.hands === 1 ? "" : "s"}${each.practice ? ", practice" : ""}`))));
    }
  }

  // ---- the game

  function show() {
    const over = view.state === "over";
    put(shown,
      h("p", {class: "told"}, h("span", {}, h("strong", {}, view.game.length > 60 ? `${view.game.slice(0, 57)}…` : view.game), ` against ${view.opponent}`), h("span", {}, `hand ${view.hand}`), h("span", {}, `you are ${view.table ? `the ${view.table.seats[view.seat]}` : `player ${view.seat}`}`), view.practice ? h("span", {class: "note"}, `practice from ${Object.values(view.practice).filter(Boolean).join(" on ") || "the start"}`) : null),
      view.table ? felt() : board(),
      over ? result() : choices(),
      view.hint ? hint(view.hint) : null,
      judged(),
      score(),
      settings());
    const first = shown.querySelector(".acts button");
    first?.focus({preventScroll: true});
  }

  function shownCard(text) {
    return text.length === 2 && "shdc".includes(text[1]) ? card(text) : h("span", {class: "playing-card", role: "img", "aria-label": `card ${text}`}, text);
  }

  function felt() {
    const {table, seat} = view;
    const side = (player) => {
      const own = player === seat;
      const cards = table.hands[player];
      return h("div", {class: "seat", "aria-label": own ? "you" : "the opponent", role: "group"}, h("strong", {}, own ? "You" : "Opponent"),
        h("span", {}, cards ? cards.map(shownCard) : Array.from({length: table.hole_cards}, (_, k) => h("span", {class: "card-back", role: k ? undefined : "img", "aria-label": k ? undefined : "hidden cards"}))),
        h("span", {class: "chips"}, `in the pot ${number(table.spent[player])}`, table.stacks ? `, behind ${number(table.stacks[player])}` : ""), table.folded === player ? h("em", {}, "folded") : null);
    };
    const said = table.history.map((step) => (step.player === null ? `[${step.name}]` : `${step.player === seat ? "you" : "opponent"}: ${step.name}`)).join(", ");
    return h("section", {"aria-label": "Table"}, h("div", {class: "felt"}, side(1 - seat),
      h("div", {class: "middle"}, h("span", {}, table.board.length ? table.board.map(shownCard) : h("span", {class: "note"}, table.round)), h("span", {class: "chips"}, "pot ", h("strong", {}, number(table.pot))), table.to_call ? h("span", {class: "chips"}, `${number(table.to_call)} to call`) : null),
      side(seat)), h("p", {class: "history", role: "status"}, said || "nothing has happened yet"));
  }

  function board() {
    return h("section", {"aria-label": "Board", class: "card"}, view.state === "decision" ? h("p", {role: "status"}, "You know: ", h("code", {class: "large"}, view.knows || "nothing yet")) : null,
      view.choices.length ? h("ol", {}, view.choices.map((each) => h("li", {}, h("code", {}, each.knows || "start"), `: you chose ${each.did}`))) : null);
  }

  function choices() {
    return h("div", {class: "buttons acts", role: "group", "aria-label": "Your choices"}, view.actions.map((action, index) =>
      h("button", {type: "button", onclick: () => ask("/api/play/act", {session: view.session, place: action.place, step: view.step})}, index < 9 ? h("kbd", {"aria-hidden": "true"}, `${index + 1}`) : null, ` ${action.name}`)));
  }

  function result() {
    const {payoff, without_luck: fair, events} = view.result;
    return h("div", {}, h("p", {class: `large ${payoff > 0 ? "won" : payoff < 0 ? "lost" : ""}`, role: "status"}, payoff > 0 ? `You win: +${number(payoff)} ${view.unit}` : payoff < 0 ? `You lose: ${number(payoff)} ${view.unit}` : "Nobody wins.",
      fair !== null && fair !== undefined ? h("small", {}, ` with luck taken out ${number(fair)}`) : null),
      view.table ? null : h("p", {}, "What happened: ", events.map((event) => `${event.who}: ${event.did}`).join(", ")),
      h("div", {class: "buttons acts"}, h("button", {type: "button", onclick: () => ask("/api/play/deal", {session: view.session})}, h("kbd", {"aria-hidden": "true"}, "Enter"), " Next hand"),
        view.choices.length && view.solution ? h("a", {class: "button quiet", href: `/explore${asText({policy: view.solution, infoset: view.choices.at(-1).solution?.infoset ?? view.choices.at(-1).knows})}`}, "Look at the last choice in Explore") : null));
  }

  function hint(known) {
    return h("section", {class: "card", "aria-label": "Hint"}, h("h2", {}, "The solution here"), plays(known));
  }

  function plays(known) {
    const colour = colours(Object.keys(known.strategy));
    return [bar(known.strategy, colour), h("p", {class: "note"}, Object.entries(known.values).map(([name, value]) => `${name} ${percent(known.strategy[name])}${value === null ? "" : `, worth ${number(value)}`}`).join("; "), ` (${known.method})`)];
  }

  function judged() {
    const found = view.choices.filter((each) => each.solution);
    if (!view.costs || !found.length) return null;
    return h("section", {class: "card", "aria-label": "What your choices cost"}, h("h2", {}, "What your choices cost"), found.map((each) => h("div", {class: "choice"},
      h("p", {}, h("code", {}, each.knows || "start"), ": you chose ", h("strong", {}, each.did), ", which ", each.cost === null ? "nobody can value" : each.cost > 0.00005 ? [h("span", {class: "lost"}, `cost ${number(each.cost)} ${view.unit}`), view.mbb_per_chip ? ` (${number(each.cost * view.mbb_per_chip)} mbb)` : ""] : h("span", {class: "won"}, "cost nothing"), " against the solution."), plays(each.solution))));
  }

  function score() {
    const {score: told} = view;
    const per = (name) => (told[`${name}_mbb`] === undefined ? null : h("small", {}, `${number(told[`${name}_mbb`])} mbb a hand`));
    const items = [["Hands", number(told.hands)], ["Score", [`${number(told.plain)} ${told.unit}`, per("plain")]]];
    if (told.without_luck !== undefined) items.push(["With luck taken out", [`${number(told.without_luck)} ${told.unit}`, per("without_luck"), h("small", {class: "help"}, told.luck_method)]]);
    if (told.cost !== undefined) items.push([`Cost of ${number(told.decisions)} choice${told.decisions === 1 ? "" : "s"}`, [`${number(told.cost)} ${told.unit}`, per("cost")]]);
    return h("section", {class: "card", "aria-label": "Score"}, h("dl", {class: "score"}, items.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))));
  }

  function settings() {
    const change = (said) => ask("/api/play/change", {session: view.session, hints: view.hints, costs: view.costs, practice: view.practice ?? {}, ...said});
    const tick = (name, text) => h("label", {class: "tick"}, h("input", {type: "checkbox", checked: view[name], disabled: !view.solution, onchange: (event) => change({[name]: event.target.checked})}), ` ${text}`);
    const losses = h("div", {});
    const worst = h("details", {class: "card"}, h("summary", {}, "Practise where you lost most"), losses);
    worst.addEventListener("toggle", async () => {
      if (!worst.open || losses.childElementCount) return;
      try {
        const {worst: found} = await get("/api/play/worst", {session: view.session});
        put(losses, found.length ? h("ol", {}, found.map((each) => h("li", {}, h("code", {}, each.knows || "start"), `: ${each.did} cost ${number(each.cost)} `, h("button", {type: "button", class: "quiet", disabled: view.state !== "over", onclick: () => change({practice: each.practice, costs: true}).then(() => ask("/api/play/deal", {session: view.session}))}, "Practise this")))) : h("p", {class: "note"}, "Nothing has cost you anything yet."),
          view.state !== "over" && found.length ? h("p", {class: "note"}, "Finish this hand first.") : null);
      } catch (error) {
        page.fail(error);
      }
    });
    const phh = view.mbb_per_chip !== null && view.table;
    return h("div", {}, h("div", {class: "buttons"}, tick("hints", "hints before a choice"), tick("costs", "costs after it"),
      view.practice ? h("button", {type: "button", class: "quiet", onclick: () => change({practice: {}})}, "Stop practising") : null,
      view.score.hands ? [h("a", {class: "button quiet", href: `/api/play/history${asText({session: view.session, form: "acpc"})}`, download: ""}, view.table ? "Hands (ACPC)" : "Hands"), phh ? h("a", {class: "button quiet", href: `/api/play/history${asText({session: view.session, form: "phh"})}`, download: ""}, "Hands (PHH)") : null] : null,
      h("a", {class: "button quiet", href: "/play"}, "Another game")), view.solution ? worst : null);
  }

  function keys(event) {
    if (!view || event.target.closest?.("input, textarea, select, a, summary") || event.ctrlKey || event.metaKey || event.altKey) return;
    const digit = Number.parseInt(event.key, 10);
    if (view.state === "decision" && digit >= 1 && digit <= view.actions.length) {
      event.preventDefault();
      ask("/api/play/act", {session: view.session, place: view.actions[digit - 1].place, step: view.step});
    }
  }
  document.addEventListener("keydown", keys);
  if (query.get("session")) {
    view = await get("/api/play/look", {session: query.get("session")});
    show();
  } else await setUp();
  return () => document.removeEventListener("keydown", keys);
}
