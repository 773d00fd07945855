"""The room Compare: matches of two policies, each a process of its own, followed while they are played."""

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from equipoise.errors import InvalidParameter, NotFound
from equipoise.evaluation.players import BASELINES
from equipoise.web import processes
from equipoise.web.answers import Answer, Answers, Asked, Events
from equipoise.web.processes import Process
from equipoise.web.site import Site

MOST_HANDS = 10**10
MOST_STANDINGS = 20_000  # lines of a file that are read
STANDINGS = "standings.jsonl"


def start(site: Site, asked: Asked) -> Answer:
    """Start a match: ``equipoise match`` as a process of its own."""
    players = asked.text("a"), asked.text("b")
    owned = {own for player in players if (own := _checked(site, player)) is not None}
    arguments = [
        *players,
        f"--seed={asked.whole('seed', 0)}",
        f"--threads={asked.whole('threads', 1, low=1, high=1024)}",
    ]
    exact = asked.flag("exact")
    hands = asked.whole("hands", 1_000_000, low=4, high=MOST_HANDS)
    aivat = asked.one_of("aivat", ("both", "a", "b", "none", "auto"), "auto")
    game = asked.text("game", "")
    asked.require_all_read()
    if game:
        site.check_game(game)
    if len(owned) > 1:
        raise InvalidParameter(f"the two players are of different games: {' and '.join(sorted(owned))}")
    if owned or game:
        arguments.append(f"--game={next(iter(owned)) if owned else game}")
    folder = processes.free_folder(site.kept("processes"), f"match-{datetime.datetime.now():%Y%m%d-%H%M%S}")
    if exact:
        arguments.append("--exact")
    else:
        arguments += [f"--hands={hands}", f"--standings={folder / STANDINGS}"]
        arguments += [] if aivat == "auto" else [f"--aivat={aivat}"]
    told = {"a": players[0], "b": players[1], "exact": exact, "hands": None if exact else hands}
    return _about(processes.start(folder, ["match", *arguments, "--json"], kind="match", **told))


def _checked(site: Site, player: str) -> str | None:
    """Refuse what is no player that the page may use; return the given game that it is of, if any."""
    if player in BASELINES:
        return None
    if player.startswith("-"):
        raise NotFound(f"{player!r} is not a run, a policy file or one of {', '.join(BASELINES)}")
    return site.checked(site.path(player))[1]


def matches(site: Site, asked: Asked) -> Answer:
    """Return all matches that were started here, the latest first."""
    return {"matches": [_about(process) for process in _all(site)]}


def _all(site: Site) -> list[Process]:
    return [each for each in processes.started_in(site.kept("processes")) if each.told.get("kind") == "match"]


def _find(site: Site, name: str) -> Process:
    for process in _all(site):
        if process.folder.name == name:
            return process
    raise NotFound(f"there is no match {name!r}")


def match(site: Site, asked: Asked) -> Answer:
    """Return a match: who plays, how it stands, how it stood, and the result once it is over."""
    process = _find(site, asked.text("match"))
    return {**_about(process), "standings": _standings(process)}


def _about(process: Process) -> Answer:
    result = _result(process)
    running = process.is_running
    about: dict[str, Any] = {"match": process.folder.name}
    about |= {name: process.told.get(name) for name in ("a", "b", "hands", "exact", "started")}
    if running:
        return {**about, "status": "running", "progress": process.last_line()}
    if "error" in result:
        return {**about, "status": "failed", "progress": result["error"]}
    if result:
        return {**about, "status": "finished", "result": result}
    return {**about, "status": "stopped", "progress": process.last_line()}


def _result(process: Process) -> dict[str, Any]:
    """Return the last line that the match has printed, which is its result or what was wrong."""
    try:
        found = json.loads(process.output().strip().rpartition("\n")[2])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _standings(process: Process) -> list[dict[str, Any]]:
    """Return how the match stood, line by line."""
    found: list[dict[str, Any]] = []
    try:
        lines = _lines(process.folder / STANDINGS)
    except OSError:
        return found
    for line in lines[:MOST_STANDINGS]:
        try:
            found.append(json.loads(line))
        except ValueError:  # being written
            break
    return found


def _lines(file: Path) -> list[str]:
    with open(file, encoding="utf-8", errors="replace") as opened:
        return opened.read(MOST_STANDINGS * 400).splitlines()


def watch(site: Site, asked: Asked) -> Callable[[], Answer | None]:
    """Return what tells news of a match."""
    name = asked.text("match")
    known = 0
    before: Answer = {}

    def news() -> Answer | None:
        nonlocal known, before
        process = _find(site, name)
        about, standings = _about(process), _standings(process)
        if about == before and len(standings) == known:
            return None
        told = {**about, "from": known, "standings": standings[known:]}
        known, before = len(standings), about
        return told

    return news


def stop(site: Site, asked: Asked) -> Answer:
    """End a match; how it stood is kept."""
    process = _find(site, asked.text("match"))
    asked.require_all_read()
    process.stop()
    return {"match": process.folder.name, "asked_to_stop": True}


ANSWERS: Answers = {
    "GET /api/matches": matches,
    "GET /api/match": match,
    "POST /api/match/start": start,
    "POST /api/match/stop": stop,
    "EVENTS /api/match/events": Events(watch),
}
