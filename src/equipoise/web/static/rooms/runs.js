// Runs: all of them, the curves of those that are chosen, and what can be done with each.

import {h, put, renew, field, choice, table, number, duration} from "../dom.js";
import {get, post, listen, query as asText} from "../api.js";
import {chart, sample} from "../chart.js";

export const title = "Runs";

const AXES = [["iteration", "iterations"], ["seconds", "seconds"], ["core_seconds", "core-seconds"], ["nodes_touched", "nodes touched"]];
const MEASURES = [["exploitability", "exploitability (nash_conv / 2)"], ["nash_conv_mbb", "nash_conv in mbb/g"], ["exploitability_pot", "exploitability in % of the pot"]];
const SIGNS = {running: "▶", starting: "…", finished: "✓", stopped: "❚❚", failed: "✕", damaged: "✕"};
const MOST_CHOSEN = 8;

export async function open(place, query, page) {
  const state = {runs: [], chosen: query.getAll("run"), axis: query.get("axis") ?? "iteration", measure: query.get("measure"), logs: new Map(), sort: null};  // the latest first
  const list = h("section", {"aria-label": "All runs"});
  const picture = h("section", {"aria-label": "Curves", hidden: true});
  const details = h("section", {"aria-label": "Details"});
  const starting = h("details", {class: "card"}, h("summary", {}, "Start a run"));
  place.append(starting, picture, list, details);
  starting.addEventListener("toggle", () => { if (starting.open && starting.childElementCount === 1) startForm(starting, page).catch(page.fail); });

  let drawing = null;
  let endOfRuns = null;
  let endOfChosen = null;
  let watched = "";

  function remember() {
    page.replace({run: state.chosen, axis: state.axis === "iteration" ? undefined : state.axis, measure: state.measure});
  }

  function showList() {
    if (!state.runs.length) {
      put(list, h("h2", {}, "All runs"), h("p", {}, "There are no runs here yet. Start one above, or in a terminal: ", h("code", {}, "equipoise solve leduc_poker")));
      return;
    }
    const columns = [
      {title: "Show", of: (run) => h("input", {type: "checkbox", "aria-label": `show ${run.run}`, "data-key": `show ${run.run}`, checked: state.chosen.includes(run.run),
        disabled: "error" in run || run.status === "failed" || run.status === "starting", onchange: (event) => choose(run.run, event.target.checked)})},
      {title: "Run", head: true, sort: (run) => run.run, of: (run) => run.run},
      {title: "Status", sort: (run) => run.status, of: (run) => [status(run), run.status === "failed" ? [h("br", {}), h("small", {class: "help"}, `${run.progress} `,
        h("button", {type: "button", class: "quiet", "data-key": `forget ${run.run}`, onclick: () => post("/api/run/forget", {run: run.run}).catch(page.fail)}, "Forget"))] : null]},
      {title: "Exploitability", numeric: true, sort: (run) => run.exploitability, of: (run) => worth(run)},
      {title: "Iterations", numeric: true, sort: (run) => run.iteration, of: (run) => number(run.iteration)},
      {title: "Time", numeric: true, sort: (run) => run.seconds, of: (run) => duration(run.seconds)},
      {title: "Game", sort: (run) => run.game, class: "game", of: (run) => short(run.game)},
      {title: "Algorithm", sort: (run) => run.algorithm, class: "whole", of: (run) => run.algorithm || "default"},
    ];
    renew(list, h("h2", {}, "All runs"), table(columns, state.runs, {
      caption: "All runs",
      sort: state.sort,
      onSort: (column) => {
        state.sort = {column, down: state.sort?.column === column && !state.sort.down};
        showList();
      },
      row: (run) => ({class: state.chosen.includes(run.run) ? "chosen" : undefined}),
    }));
  }

  function choose(run, on) {
    state.chosen = on ? [...state.chosen.filter((each) => each !== run), run].slice(-MOST_CHOSEN) : state.chosen.filter((each) => each !== run);
    remember();
    showList();
    follow();
  }

  function follow() {
    const wanted = JSON.stringify(state.chosen);
    if (wanted === watched) return;
    watched = wanted;
    endOfChosen?.();
    endOfChosen = null;
    for (const run of [...state.logs.keys()]) if (!state.chosen.includes(run)) state.logs.delete(run);
    picture.hidden = state.chosen.length === 0;
    showDetails().catch(page.fail);
    if (!state.chosen.length) return;
    endOfChosen = listen("/api/run/events", {run: state.chosen}, ({runs}) => {
      for (const news of runs) {
        if (news.error) {
          page.fail(new Error(news.error));
          continue;
        }
        const before = state.logs.get(news.run)?.log.slice(0, news.from) ?? [];
        const {log, from, ...standing} = news;
        state.logs.set(news.run, {levels: state.logs.get(news.run)?.levels, ...standing, log: [...before, ...log]});
      }
      draw();
      updateStandings();
    });
  }

  function draw() {
    const runs = state.chosen.filter((run) => state.logs.has(run)).map((run) => [run, state.logs.get(run)]);
    const has = (name) => runs.some(([, {log}]) => log.some((record) => record[name] > 0));
    const axes = AXES.filter(([name]) => has(name) || name === "iteration");
    const measures = MEASURES.filter(([name]) => has(name));
    const axis = axes.find(([name]) => name === state.axis) ?? axes[0];
    const measure = measures.find(([name]) => name === state.measure) ?? measures[0] ?? MEASURES[0];
    const units = [...new Set(runs.map(([, {unit}]) => unit))].join(" or ");
    if (!drawing) {
      const drawn = h("div", {});
      const controls = h("div", {class: "buttons"});
      const legend = h("ul", {class: "legend", "aria-label": "Curves"});
      put(picture, h("h2", {}, "Convergence"), controls, drawn, legend);
      drawing = {...chart(drawn, {xLabel: "", yLabel: "", label: "Convergence of the chosen runs"}), controls, legend, key: ""};
    }
    const key = JSON.stringify([axes, measures, axis, measure]);
    if (drawing.key !== key) {
      drawing.key = key;
      const picked = (name, options, value, set) => field(name, choice(options, value, {onchange: (event) => { set(event.target.value); remember(); draw(); }}));
      put(drawing.controls, picked("Across", axes, axis[0], (value) => { state.axis = value; }),
        measures.length > 1 ? picked("Up", measures, measure[0], (value) => { state.measure = value; }) : null);
    }
    const series = runs.map(([run, {log}]) => ({name: run, points: log.map((record) => [record[axis[0]], record[measure[0]]])}));
    const levels = [...new Map(runs.flatMap(([, each]) => (each.levels ?? []).filter((level) => level.measure === measure[0]).map((level) => [level.text, {y: level.value, text: level.text}]))).values()];
    const yLabel = measure[0] === "exploitability" ? `exploitability (${units})` : measure[1];
    drawing.update(series, levels, {xLabel: axis[1], yLabel});
    put(drawing.legend, runs.map(([run, {log}], index) => {
      const last = log.findLast((record) => record[measure[0]] !== undefined);
      return h("li", {}, sample(index), `${run}: `, last ? h("strong", {}, number(last[measure[0]])) : "not evaluated");
    }));
  }

  async function showDetails() {
    const found = await Promise.all(state.chosen.map((run) => get("/api/run", {run}).catch((error) => ({run, error: error.message}))));
    put(details, found.map((run) => about(run, page, found.length === 1)));
    for (const run of found) if (!run.error) state.logs.set(run.run, {...run, ...state.logs.get(run.run), levels: run.levels});
    if (state.chosen.length) draw();
  }

  function updateStandings() {
    for (const [run, standing] of state.logs) {
      const box = details.querySelector(`[data-run="${CSS.escape(run)}"]`);
      if (box) renew(box.querySelector(".standing"), standingOf(standing, page));
    }
  }

  endOfRuns = listen("/api/runs/events", {}, ({runs}) => {
    state.runs = runs;
    showList();
  });
  ({runs: state.runs} = await get("/api/runs"));
  if (!state.chosen.length) state.chosen = state.runs.filter((run) => !("error" in run) && run.iteration).slice(0, 1).map((run) => run.run);
  showList();
  follow();
  return () => {
    endOfRuns?.();
    endOfChosen?.();
    drawing?.close();
  };
}

function short(game) {
  return game && game.length > 34 ? h("span", {title: game}, `${game.slice(0, 32)}…`) : game;
}

function status(run) {
  const name = "error" in run ? "damaged" : run.status;
  return h("span", {class: `status status-${name}`, title: run.error ?? run.progress ?? undefined}, h("span", {"aria-hidden": "true"}, SIGNS[name] ?? ""), h("span", {class: "word"}, name));
}

function worth(run) {
  if (run.nash_conv_mbb !== undefined) return `${number(run.nash_conv_mbb)} mbb/g (nash_conv)`;
  if (run.exploitability_pot !== undefined) return `${number(run.exploitability_pot)} % of pot`;
  return number(run.exploitability);
}

function standingOf(run, page) {
  const act = (path, said, more) => () => post(path, {run: run.run, ...more}).then(() => page.say(said)).catch(page.fail);
  const exports = [["npz", "policy (.npz)"], ["csv", "CSV"], ["json", "JSON"], ["toml", "settings (.toml)"], ["log", "log"]];
  const further = h("input", {inputmode: "numeric", size: "9", value: String(2 * (run.iteration || 1000)), "aria-label": `iterations of ${run.run} in all`});
  return [
    h("p", {}, status(run), run.progress ? h("span", {class: "note"}, ` ${run.progress}`) : null),
    speed(run),
    h("div", {class: "buttons"},
      run.status === "running" || run.status === "starting"
        ? h("button", {type: "button", onclick: act("/api/run/stop", `${run.run} stops after this step and writes a checkpoint`)}, "Stop")
        : run.status === "finished"
          ? h("form", {class: "inline", onsubmit: (event) => { event.preventDefault(); act("/api/run/resume", `${run.run} goes on`, {iterations: further.value})(); }}, h("button", {type: "submit"}, "Go on to"), further, "iterations")
          : h("button", {type: "button", onclick: act("/api/run/resume", `${run.run} goes on`)}, "Resume"),
      h("details", {class: "menu"}, h("summary", {class: "button quiet"}, "Export"),
        h("div", {}, exports.map(([to, text]) => h("a", {href: `/api/run/export${asText({run: run.run, to})}`, download: ""}, text))))),
  ];
}

function speed(run) {
  const told = [
    run.workers !== undefined ? `${run.workers} ${run.workers === 1 ? "worker" : "workers"} of a cluster` : null,
    run.iterations_per_second !== undefined ? `${number(run.iterations_per_second, 3)} iterations/s` : null,
    run.nodes_per_second !== undefined ? `${number(run.nodes_per_second, 3)} nodes/s` : null,
  ].filter((each) => each !== null);
  return told.length ? h("p", {class: "note speed"}, `At the last evaluation: ${told.join(", ")}`) : null;
}

function about(run, page, alone) {
  if (run.error) return h("div", {class: "card"}, h("h2", {}, run.run), h("p", {class: "mistake"}, run.error));
  const {settings, machine, versions, result} = run;
  const stop = Object.entries(settings.stop ?? {}).filter(([, value]) => value !== null).map(([name, value]) => `${name} ${number(value)}`).join(", ");
  const plain = Object.fromEntries(["game", "algorithm", "preset", "seed", "threads", "engine", "device", "init_from", "created", "commit"].filter((name) => settings[name] !== null && settings[name] !== undefined).map((name) => [name, settings[name]]));
  return h("div", {class: "card", "data-run": run.run},
    h("h2", {}, run.run),
    h("div", {class: "standing"}, standingOf(run, page)),
    h("details", {open: alone}, h("summary", {}, "Settings, result and machine"), h("div", {class: "columns"},
      h("div", {}, h("h3", {}, "Settings"), facts({...plain, "stops at": stop, ...Object.fromEntries(Object.entries(settings.parameters ?? {}).flatMap(flat))})),
      h("div", {}, result && Object.keys(result).length ? [h("h3", {}, "Result"), facts(Object.fromEntries(Object.entries(result).filter(([name]) => !(name in plain))))] : null,
        h("h3", {}, "Machine"), facts({...machine, memory_bytes: machine.memory_bytes ? `${number(machine.memory_bytes / 2 ** 30, 3)} GiB` : undefined, ...versions})))));
}

function flat([name, value]) {
  return value !== null && typeof value === "object" ? Object.entries(value).flatMap(([inner, own]) => flat([`${name}.${inner}`, own])) : [[name, value]];
}

function facts(values) {
  return h("dl", {class: "facts"}, Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "").map(([name, value]) =>
    [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, typeof value === "number" ? number(value, 6) : Array.isArray(value) ? value.join(", ") : String(value))]));
}

async function startForm(box, page) {
  const [{games, given, adapters}, {algorithms}] = await Promise.all([get("/api/games"), get("/api/algorithms")]);
  const game = h("input", {name: "game", list: "games", value: given[0] ?? "leduc_poker", required: true, autocomplete: "off"});
  const algorithm = choice([["", "the usual one"], ...algorithms.map((each) => [each.algorithm, `${each.algorithm}: ${each.about}`])], "", {name: "algorithm", onchange: () => settings()});
  const preset = h("select", {name: "preset"});
  const box2 = h("div", {class: "fields wide"});
  function settings() {
    const chosen = algorithms.find((each) => each.algorithm === algorithm.value);
    put(preset, h("option", {value: ""}, "none"), Object.keys(chosen?.presets ?? {}).map((name) => h("option", {value: name}, name)));
    put(box2, Object.entries(chosen?.parameters ?? {}).map(([name, value]) => {
      const words = chosen.choices[name];
      const help = [chosen.meanings[name], chosen.only_with[name] ? `only ${chosen.only_with[name]}` : null].filter(Boolean).join("; ");
      const control = words ? choice([["", `${value} (default)`], ...words], "", {"data-parameter": name}) : h("input", {"data-parameter": name, placeholder: `${value}`});
      return field(name, control, help);
    }));
  }
  settings();
  const input = (name, attributes) => h("input", {name, inputmode: "decimal", autocomplete: "off", ...attributes});
  const form = h("form", {onsubmit: (event) => {
    event.preventDefault();
    const said = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
    const parameters = Object.fromEntries([...form.querySelectorAll("[data-parameter]")].filter((each) => each.value !== "").map((each) => [each.dataset.parameter, each.value]));
    if (Object.keys(parameters).length) said.parameters = parameters;
    post("/api/run/start", said).then(({run}) => { page.say(`${run} is starting`); box.open = false; }).catch(page.fail);
  }},
    h("datalist", {id: "games"}, [...given, ...games.map((each) => each.usage)].map((each) => h("option", {value: each}))),
    h("div", {class: "fields"},
      field("Game", game, `or ${Object.keys(adapters).filter((each) => !each.startsWith("python")).map((each) => each.split("(")[0]).join(", ")}`),
      field("Algorithm", algorithm), field("Preset", preset),
      field("Iterations", input("iterations", {inputmode: "numeric"}), "stop after so many; 1,000 if nothing is given"),
      field("Until", input("until"), "stop at this exploitability"),
      field("Until, mbb/g", input("until_mbb"), "hold'em: stop at this nash_conv"),
      field("Until, % of the pot", input("until_pot"), "spots: stop at this exploitability"),
      field("Seconds", input("seconds"), "stop after so many"),
      field("Core-seconds", input("core_seconds"), "stop after so many, all threads together"),
      field("Seed", input("seed", {inputmode: "numeric"}), "by default 0"),
      field("Threads", input("threads", {inputmode: "numeric"}), "by default 1"),
      field("Name", h("input", {name: "name", autocomplete: "off"}), "of the new folder; made up if empty")),
    h("details", {class: "card"}, h("summary", {}, "Parameters of the algorithm"), box2),
    h("div", {class: "buttons"}, h("button", {type: "submit"}, "Start")));
  box.append(form);
}
