"""Runs as people look for them: all those below a folder, what each is, how far it is, and who is writing to it."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from equipoise.errors import EquipoiseError, NotFound, RunBusy
from equipoise.runs.directory import RunDirectory
from equipoise.runs.lock import NAME as LOCK
from equipoise.runs.lock import has_open, holder, is_held

MOST_RUNS = 2000
DEEPEST = 5  # folders below the one that is searched
_TOLD_LAST = (
    "iteration",
    "seconds",
    "core_seconds",
    "exploitability",
    "nash_conv",
    "nash_conv_mbb",
    "exploitability_pot",
)

Status = Literal["running", "finished", "stopped"]


def find_runs(folder: Path) -> Iterator[Path]:
    """Return the run directories below a folder, links not followed; at most ``MOST_RUNS``."""
    found = 0
    for path, folders, files in os.walk(folder):
        if "config.json" in files:
            folders.clear()
            yield Path(path)
            found += 1
            if found >= MOST_RUNS:
                return
            continue
        depth = len(Path(path).relative_to(folder).parts)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if depth < DEEPEST else []


def status_of(run: RunDirectory) -> Status:
    """Return whether a run is being written, has reached its end, or was left before."""
    if is_held(run.path / LOCK):
        return "running"
    result = result_of(run)
    done = result.get("iterations")
    return "finished" if isinstance(done, int) and done >= run.newest_checkpoint() else "stopped"


def result_of(run: RunDirectory) -> dict[str, Any]:
    """Return the outcome of a run that has ended; empty if it has not, or if its file is damaged."""
    try:
        result = json.loads((run.path / "result.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return result if isinstance(result, dict) else {}


def summary_of(run: RunDirectory, records: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """Return a run in a few words and numbers: those of its last evaluation."""
    records = run.read_log() if records is None else records
    last = records[-1] if records else {}
    return {
        "run": str(run.path),
        "game": str(run.config["game"]),
        "algorithm": run.config["algorithm"],
        "seed": run.config.get("seed"),
        "status": status_of(run),
        "created": run.config.get("created"),
        "unit": run.config.get("unit", "chips"),
        **{name: last[name] for name in _TOLD_LAST if name in last},
        **speed_of(records),
        "checkpoint": run.newest_checkpoint(),
    }


def speed_of(records: list[dict[str, Any]]) -> dict[str, float]:
    """Return how fast a run went between its last two evaluations, and how many workers of a cluster it had."""
    if not records:
        return {}
    before, last = records[-2] if len(records) > 1 else {}, records[-1]
    found = {"workers": last["workers"]} if "workers" in last else {}
    for name, amount, clocks in (
        ("iterations_per_second", "iteration", ("solving_seconds",)),
        ("nodes_per_second", "nodes_touched", ("traversal_seconds", "solving_seconds")),
    ):
        clock = next((clock for clock in clocks if clock in last), None)
        if clock is not None and amount in last:
            seconds = last[clock] - before.get(clock, 0.0)
            if seconds > 0.0:
                found[name] = (last[amount] - before.get(amount, 0.0)) / seconds
    return found


_SUMMARIES: dict[Path, tuple[object, dict[str, Any]]] = {}  # by run: of which files, and what they say


def list_runs(folder: Path) -> list[dict[str, Any]]:
    """Return all runs below a folder, the latest first; those that cannot be read say why.

    Whoever watches a folder asks often: files that have not changed are not read again.
    """
    found = []
    for path in find_runs(folder):
        stamp = _stamp(path)
        kept = _SUMMARIES.get(path.absolute())
        if kept is None or kept[0] != stamp:
            try:
                summary = summary_of(RunDirectory.open(path))
            except EquipoiseError as error:
                summary = {"error": str(error)}
            if len(_SUMMARIES) > 2 * MOST_RUNS:
                _SUMMARIES.clear()
            kept = _SUMMARIES[path.absolute()] = stamp, summary
        found.append({**kept[1], "run": str(path)})
    return sorted(found, key=lambda each: str(each.get("created", "")), reverse=True)


def _stamp(path: Path) -> object:
    """Return what changes whenever a run's summary may."""
    files: list[tuple[int, int, int] | None] = []
    for name in ("config.json", "log.jsonl", "result.json", "checkpoints"):
        try:
            told = os.stat(path / name)
            files.append((told.st_ino, told.st_size, told.st_mtime_ns))
        except OSError:
            files.append(None)
    return is_held(path / LOCK), *files


def stop_run(path: Path) -> None:
    """Ask the process that writes a run to stop; it writes a checkpoint first."""
    run = RunDirectory.open(path)
    if not is_held(run.path / LOCK):
        raise NotFound(f"{path} is not running")
    who = holder(run.path)
    if who is None or not has_open(who.pid, run.path / LOCK):
        told = "another process" if who is None else f"process {who.pid} on {who.host}"
        raise RunBusy(
            f"{path} is being written by {told}, which is not a process of this machine or user: stop it there"
        )
    with contextlib.suppress(ProcessLookupError):
        os.kill(who.pid, signal.SIGTERM)
