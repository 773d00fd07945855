"""The room Runs: what runs there are, how each converges, starting, stopping and going on with them."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from equipoise.errors import EquipoiseError, NotFound, NotSupported
from equipoise.experiments.claims import levels_of
from equipoise.files import write_text
from equipoise.policies.export import write_csv, write_json
from equipoise.policies.policy import Policy
from equipoise.runs.directory import RunDirectory
from equipoise.runs.listing import list_runs, result_of, stop_run, summary_of
from equipoise.solving import run_file_of
from equipoise.web import processes
from equipoise.web.answers import Answer, Answers, Asked, Download, Events
from equipoise.web.processes import Process
from equipoise.web.site import Site

MOST_WATCHED = 20  # runs at a time
LIMITS = ("iterations", "until", "until_mbb", "until_pot", "seconds", "core_seconds")


def runs(site: Site, asked: Asked) -> Answer:
    """Return all runs that the page may show, those that are being started too."""
    found = list_runs(site.home)
    for root in site.given:
        found += list_runs(root) if root.is_dir() else []
    there = {each["run"] for each in found}
    starting = [each for process in _starting(site) if (each := _about(process))["run"] not in there]
    return {"runs": [*starting, *found], "folder": str(site.home)}


def _starting(site: Site) -> Iterator[Process]:
    """Return what was started here as a run."""
    for process in processes.started_in(site.kept("processes")):
        if process.told.get("kind") == "run":
            yield process


def _process_of(site: Site, run: Path) -> Process | None:
    """Return the process that was last started for a run, if it was started here."""
    return next((process for process in _starting(site) if process.told.get("run") == str(run)), None)


def _about(process: Process) -> Answer:
    """Return what is known of a run that has not written anything yet."""
    told = {name: process.told.get(name) for name in ("run", "game", "algorithm", "seed")}
    status = "starting" if process.is_running else "failed"
    return {**told, "status": status, "created": process.told.get("started"), "progress": process.last_line()}


def run(site: Site, asked: Asked) -> Answer:
    """Return everything about a run: its settings, its log, its outcome, the machine."""
    address = asked.text("run")
    return _everything(site, site.run(address))


def _everything(site: Site, opened: RunDirectory) -> Answer:
    records = opened.read_log()
    return {
        **_standing(site, opened, records),
        "settings": {name: value for name, value in opened.config.items() if name not in ("versions", "machine")},
        "versions": opened.config.get("versions", {}),
        "machine": opened.config.get("machine", {}),
        "result": result_of(opened),
        "log": records,
        "levels": [asdict(level) for level in levels_of(str(opened.config["game"]))],
    }


def _standing(site: Site, opened: RunDirectory, records: list[dict[str, Any]]) -> Answer:
    """Return a run's summary, with what it said last if it was started here."""
    standing = summary_of(opened, records)
    process = _process_of(site, opened.path)
    if process is not None and (standing["status"] == "running" or not records):
        standing["progress"] = process.last_line()
    return standing


def watch(site: Site, asked: Asked) -> Callable[[], Answer | None]:
    """Return what tells news of runs: their lines of the log, and their summaries when these have changed."""
    addresses = asked.texts("run", most=MOST_WATCHED)
    told: dict[str, tuple[int, Answer]] = {}

    def news() -> Answer | None:
        changed = []
        for address in addresses:
            try:
                opened = site.run(address)
                records = opened.read_log()
                standing = _standing(site, opened, records)
            except EquipoiseError as error:
                process = _process_of(site, Path(address))  # which may not have written anything yet
                records = []
                standing = {"run": address, "error": str(error)} if process is None else _about(process)
            known, before = told.get(address, (0, {}))
            if known > len(records):  # it has started again, or gone back to a checkpoint
                known = 0
            if standing != before:
                told[address] = (len(records), standing)
                changed.append({**standing, "from": known, "log": records[known:]})
        return {"runs": changed} if changed else None

    return news


def watch_list(site: Site, asked: Asked) -> Callable[[], Answer | None]:
    """Return what tells the list of runs whenever it has changed."""
    before: Answer = {}

    def news() -> Answer | None:
        nonlocal before
        now = runs(site, asked)
        if now == before:
            return None
        before = now
        return now

    return news


def start(site: Site, asked: Asked) -> Answer:
    """Start a run: ``equipoise solve`` as a process of its own."""
    game = asked.text("game")
    site.game(game)  # says what is wrong with it, before anything is started
    algorithm = asked.text("algorithm", "")
    arguments = [game, *limits(asked)]
    if algorithm:
        arguments.append(f"--algorithm={algorithm}")
    if "preset" in asked:
        arguments.append(f"--preset={asked.text('preset')}")
    seed = asked.whole("seed", 0)
    for name, value in asked.mapping("parameters").items():
        arguments.append(f"--set={name}={value}")
    return start_run(site, asked, arguments, game=game, algorithm=algorithm, seed=seed)


def start_run(site: Site, asked: Asked, arguments: list[str], *, game: str, algorithm: str, seed: int) -> Answer:
    """Start ``equipoise solve`` with some arguments; where the run is kept, and on how many threads, is asked for."""
    arguments += [f"--seed={seed}", f"--threads={asked.whole('threads', 1, low=1, high=1024)}"]
    plain = "".join(c if c.isalnum() or c in "_+=" else "-" for c in game[:60]).strip("-")
    name = asked.text("name", "") or _free_name(site, f"{plain}-{algorithm or 'default'}-seed{seed}")
    out = site.new(name)
    asked.require_all_read()
    process = processes.start(
        processes.free_folder(site.kept("processes"), name),
        ["solve", *arguments, f"--out={out}", "--json"],
        kind="run",
        run=str(out),
        game=game,
        algorithm=algorithm,
        seed=seed,
    )
    return _about(process)


def limits(asked: Asked, *, but: tuple[str, ...] = ()) -> list[str]:
    """Return when to stop, as options of the command line."""
    options = []
    for name in LIMITS:
        if name not in but and name in asked:
            number = asked.whole(name, low=1) if name == "iterations" else asked.number(name, low=0.0)
            options.append(f"--{name.replace('_', '-')}={number!r}")
    return options


def _free_name(site: Site, name: str) -> str:
    """Return a name that nothing in the page's folder has yet."""
    number, free = 1, name[:90]
    taken = {process.told.get("run") for process in _starting(site)}
    while (site.home / free).exists() or str(site.home / free) in taken:
        number += 1
        free = f"{name[:90]}-{number}"
    return free


def forget(site: Site, asked: Asked) -> Answer:
    """Forget a run that could not be started; nothing of it is there but what it said."""
    address = asked.text("run")
    asked.require_all_read()
    process = _process_of(site, Path(address))
    if process is None or process.is_running or Path(address).exists():
        raise NotFound(f"{address!r} is not a run that could not be started")
    process.forget()
    return {"run": address, "forgotten": True}


def stop(site: Site, asked: Asked) -> Answer:
    """Ask a run to stop; it writes a checkpoint first."""
    address = asked.text("run")
    asked.require_all_read()
    process = _process_of(site, Path(address))
    if process is not None and process.is_running:
        process.stop()
    else:
        stop_run(site.run(address).path)
    return {"run": address, "asked_to_stop": True}


def resume(site: Site, asked: Asked) -> Answer:
    """Go on with a run, to the limits it had or to new ones: ``equipoise resume`` as a process of its own."""
    address = asked.text("run")
    opened = site.run(address)
    game = str(opened.config["game"])
    site.check_game(game)
    arguments = [str(opened.path), *limits(asked)]
    if game in site.games:
        arguments.append(f"--game={game}")
    asked.require_all_read()
    process = processes.start(
        processes.free_folder(site.kept("processes"), opened.path.name),
        ["resume", *arguments, "--json"],
        kind="run",
        run=str(opened.path),
        game=game,
        algorithm=opened.config["algorithm"],
        seed=opened.config.get("seed"),
    )
    return _about(process)


def export(site: Site, asked: Asked) -> Download:
    """Return a run's policy, or its settings or its log, as a file."""
    address = asked.text("run")
    to = asked.one_of("to", ("json", "csv", "npz", "toml", "log"))
    asked.require_all_read()
    path = site.path(address)
    stem = path.stem if path.is_file() else path.name
    if to == "log":
        return Download(site.run(address).path / "log.jsonl", f"{stem}.jsonl", "application/jsonl")
    handle, name = tempfile.mkstemp(prefix="export.", dir=site.kept("exports"))
    with open(handle, "wb"):
        pass
    try:
        _write_export(site, address, to, name)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    kinds = {"json": "application/json", "csv": "text/csv", "toml": "application/toml"}
    return Download(Path(name), f"{stem}.{to}", kinds.get(to, "application/octet-stream"), passing=True)


def _write_export(site: Site, address: str, to: str, name: str) -> None:
    if to == "toml":
        return write_text(name, run_file_of(site.run(address)))
    policy = site.policy(address)
    if to == "npz":
        if not hasattr(policy, "save"):
            raise NotSupported(f"{policy.game} is too large for a policy file; its run directory holds it")
        return policy.save(name)
    if not isinstance(policy, Policy):
        raise NotSupported(
            f"{policy.game} is too large to be exported whole; `equipoise export {address}` exports parts of it"
        )
    return write_json(policy, name) if to == "json" else write_csv(policy, name)


ANSWERS: Answers = {
    "GET /api/runs": runs,
    "GET /api/run": run,
    "GET /api/run/export": export,
    "POST /api/run/start": start,
    "POST /api/run/stop": stop,
    "POST /api/run/forget": forget,
    "POST /api/run/resume": resume,
    "EVENTS /api/run/events": Events(watch),
    "EVENTS /api/runs/events": Events(watch_list),
}
