// Compare: a match of two policies, with its interval as it shrinks.

import {h, put, renew, field, choice, table, number} from "../dom.js";
import {get, post, listen, send} from "../api.js";
import {chart} from "../chart.js";

export const title = "Compare";

const WORDS = {running: "playing", finished: "over", stopped: "stopped", failed: "failed"};

export async function open(place, query, page) {
  const form = h("section", {class: "card", "aria-label": "New match"});
  const shown = h("section", {"aria-label": "Match"});
  const list = h("section", {"aria-label": "All matches"});
  place.append(form, shown, list);
  let end = null;
  let drawing = null;

  async function showForm() {
    const [{policies}, {baselines}, {games, given}] = await Promise.all([get("/api/policies"), get("/api/page"), get("/api/games")]);
    const names = [...policies.map((each) => [each.policy, each.game ? `${each.policy} (${each.game.slice(0, 40)}, ${each.algorithm})` : each.policy]), ...baselines.map((each) => [each, `${each} (baseline)`])];
    const first = query.get("a") ?? names[0]?.[0];
    const own = h("form", {onsubmit: (event) => {
      event.preventDefault();
      const said = Object.fromEntries([...new FormData(own)].filter(([, value]) => value !== ""));
      said.exact = "exact" in said;
      if (said.exact) { delete said.hands; delete said.aivat; }
      post("/api/match/start", said).then(({match}) => { page.replace({match}); follow(match); }).catch(page.fail);
    }},
      h("div", {class: "fields"},
        field("Player A", choice(names, first, {name: "a"}), "a run, a policy file or a baseline"),
        field("Player B", choice(names, query.get("b") ?? baselines[0], {name: "b"})),
        field("Hands", h("input", {name: "hands", value: "1000000", inputmode: "numeric"}), "each deal is played from both seats")),
      h("p", {}, h("label", {}, h("input", {type: "checkbox", name: "exact"}), " Compute the expected result exactly, without playing hands")),
      h("details", {}, h("summary", {}, "Luck, seed, game"), h("div", {class: "fields"},
        field("Luck", choice([["auto", "taken out where that is quick"], ["both", "AIVAT, both strategies known"], ["a", "AIVAT, A's strategy known"], ["b", "AIVAT, B's strategy known"], ["none", "left in"]], "auto", {name: "aivat"})),
        field("Seed", h("input", {name: "seed", value: "0", inputmode: "numeric"})),
        field("Game", h("input", {name: "game", list: "compare-games", autocomplete: "off"}), "only if neither player is a saved policy"),
        h("datalist", {id: "compare-games"}, [...given, ...games.map((each) => each.usage)].map((each) => h("option", {value: each}))))),
      h("div", {class: "buttons"}, h("button", {type: "submit"}, "Play"), upload(showForm, page)));
    put(form, h("h2", {}, "New match"), own);
  }

  function follow(match) {
    end?.();
    drawing?.close();
    drawing = null;
    let standings = [];
    const about = h("div", {});
    const picture = h("div", {});
    put(shown, h("h2", {}, "Match"), about, picture);
    end = listen("/api/match/events", {match}, (news) => {
      standings = [...standings.slice(0, news.from), ...news.standings];
      renew(about, summary(news, standings, page));
      if (news.exact) return;
      const inMbb = standings.some((each) => each.interval_95_mbb);
      const unit = inMbb ? "A wins (mbb/g)" : "A wins a hand";
      drawing ??= chart(picture, {xLabel: "hands", yLabel: unit, logY: false, label: "A's winnings with their 95 % interval, over the hands played"});
      const points = [...standings, ...(news.result ? [news.result] : [])];
      const interval = (each) => (inMbb ? each.interval_95_mbb : each.interval_95);
      drawing.update([{name: "A's mean", points: points.map((each) => [each.hands, inMbb ? each.mean_mbb : each.mean]), band: points.map((each) => [each.hands, ...interval(each)])}], [{y: 0, text: "even"}], {yLabel: unit});
      if (news.status !== "running") showList().catch(page.fail);
    });
  }

  async function showList() {
    const {matches} = await get("/api/matches");
    if (!matches.length) return put(list);
    const columns = [
      {title: "Match", head: true, of: (each) => page.link("compare", {match: each.match}, `${each.a} against ${each.b}`)},
      {title: "Status", of: (each) => WORDS[each.status] ?? each.status},
      {title: "A wins", numeric: true, of: (each) => (each.result ? outcome(each.result) : "–")},
      {title: "Hands", numeric: true, of: (each) => (each.exact ? "exact" : number(each.hands))},
      {title: "Started", of: (each) => new Date(each.started).toLocaleString()},
    ];
    put(list, h("h2", {}, "All matches"), table(columns, matches, {caption: "All matches"}));
  }

  await Promise.all([showForm(), showList()]);
  if (query.get("match")) follow(query.get("match"));
  return () => {
    end?.();
    drawing?.close();
  };
}

function outcome(found) {
  if (found.exact) return `${number(found.mean_mbb ?? found.mean)} ${"mean_mbb" in found ? "mbb/g" : "a hand"}`;
  const [mean, interval, unit] = "mean_mbb" in found ? [found.mean_mbb, found.interval_95_mbb, "mbb/g"] : [found.mean, found.interval_95, "a hand"];
  return `${number(mean)} ${unit} (95 %: ${number(interval[0])} to ${number(interval[1])})`;
}

function summary(news, standings, page) {
  const last = news.result ?? standings.at(-1);
  const stop = () => post("/api/match/stop", {match: news.match}).catch(page.fail);
  return [
    h("p", {}, h("strong", {}, news.a), " (A) against ", h("strong", {}, news.b), ` (B): ${WORDS[news.status] ?? news.status}`, news.status === "failed" ? h("span", {class: "mistake"}, ` ${news.progress}`) : null),
    last ? h("p", {class: "large", role: news.status === "running" ? undefined : "status"}, "A wins ", h("strong", {}, outcome(last)), last.exact ? ", exactly" : null) : news.status === "running" ? h("p", {class: "note"}, news.progress || "starting …") : null,
    last?.hands ? h("p", {class: "note"}, `${number(last.hands)} of ${number(news.hands)} hands`, news.status === "running" ? h("progress", {value: last.hands, max: news.hands, "aria-label": "hands played"}) : null) : null,
    news.result?.estimates ? table([
      {title: "Estimate", head: true, of: ([name]) => ({plain: "plain", duplicate: "duplicate: each deal from both seats", aivat: `AIVAT: luck taken out (${news.result.known} known)`})[name] ?? name},
      {title: "A wins a hand", numeric: true, of: ([, each]) => number(each.mean)},
      {title: "95 % interval", numeric: true, of: ([, each]) => `${number(each.interval_95[0])} to ${number(each.interval_95[1])}`},
      {title: "Standard deviation of a hand", numeric: true, of: ([, each]) => number(each.standard_deviation)},
    ], Object.entries(news.result.estimates), {caption: "Estimates"}) : null,
    news.status === "running" ? h("div", {class: "buttons"}, h("button", {type: "button", onclick: stop}, "Stop")) : null,
  ];
}

/** A button that adds a policy file from elsewhere to the page's folder. */
export function upload(done, page) {
  const input = h("input", {type: "file", accept: ".npz", class: "unseen", tabindex: "-1", "aria-hidden": "true", onchange: () => {
    const [file] = input.files;
    if (!file) return;
    send("/api/policy/upload", {name: file.name.replace(/\.npz$/, "")}, file).then(({policy}) => { page.say(`${policy} can be chosen now`); return done(); }).catch(page.fail);
    input.value = "";
  }});
  return [input, h("button", {type: "button", class: "quiet", onclick: () => input.click()}, "Add a policy file …")];
}
