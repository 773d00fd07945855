"""Sweeps: runs that differ in their settings and seeds, made side by side, interrupted and resumed at will.

A run is a run directory named after its setting and seed, so that claims that need the same run share it, and a sweep
that was interrupted goes on where it stopped.
"""

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from equipoise.runs.directory import RunDirectory
from equipoise.runs.drive import Interrupted
from equipoise.solving import resume, solve

History = list[dict[str, Any]]
Report = Callable[[str], None]

SECONDS_BETWEEN_REPORTS = 10.0


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One curve of a sweep: what is run, and until when."""

    label: str
    game: str
    algorithm: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    iterations: int | None = None
    seconds: float | None = None
    core_seconds: float | None = None
    until: float | None = None  # exploitability
    preset: str | None = None
    start: "Setting | None" = None  # a run of the same seed that this one starts from
    evaluation_growth: float = 1.1
    first_evaluation: int = 1
    measure: Literal["exploitability", "variance", "count"] = "exploitability"

    @property
    def slug(self) -> str:
        """Return a folder name that two settings share only if they are the same run."""
        values = [self.game, self.algorithm, *(f"{key}={value}" for key, value in sorted(self.parameters.items()))]
        limits = ((self.iterations, "it"), (self.seconds, "s"), (self.core_seconds, "cs"), (self.until, "e"))
        values += [f"{limit:g}{unit}" for limit, unit in limits if limit is not None]
        values += [self.measure] if self.measure != "exploitability" else []
        values += [self.preset] if self.preset is not None else []
        values += [f"from-{self.start.slug}"] if self.start is not None else []
        text = "-".join(values)
        return "".join(c if c.isalnum() or c in "+=.-_" else "_" for c in text)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The runs behind a claim: every setting with every seed."""

    settings: tuple[Setting, ...]
    seeds: int
    scale: str  # how this compares with the paper's own experiment
    side_by_side: int = 2  # runs at once; fewer where one run needs most of the memory

    def run(self, folder: Path, report: Report) -> dict[str, list[History]]:
        """Run what is missing and return, per label, one history a seed."""
        jobs = [(setting, seed) for seed in range(self.seeds) for setting in self.settings]
        started = time.monotonic()
        waiting = [(setting, seed) for setting, seed in jobs if not _finished(setting, seed, folder)]
        report(f"{len(jobs)} runs, {len(jobs) - len(waiting)} of them done before, {self.side_by_side} at a time")
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.side_by_side, mp_context=context) as pool:
            open_futures = {pool.submit(_run_one, setting, seed, folder) for setting, seed in waiting}
            try:
                while open_futures:
                    done, open_futures = wait(open_futures, SECONDS_BETWEEN_REPORTS, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
                    share = [_share_done(setting, seed, folder) for setting, seed in waiting]
                    elapsed, finished = time.monotonic() - started, sum(share)
                    to_go = elapsed * (len(waiting) / finished - 1) / 60 if finished > 0.02 else None
                    left = "" if to_go is None else f", about {to_go:.0f} min left"
                    report(f"{len(jobs) - len(open_futures)}/{len(jobs)} runs done, {elapsed / 60:.1f} min{left}")
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in multiprocessing.active_children():  # runs save a checkpoint before they end
                    os.kill(process.pid or 0, signal.SIGINT)
                report("interrupted; go on by the same command")
                raise
        return {
            setting.label: [_read(setting, seed, folder) for seed in range(self.seeds)] for setting in self.settings
        }


def _path(setting: Setting, seed: int, folder: Path) -> Path:
    return folder / "runs" / f"{setting.slug}-seed{seed}"


def _finished(setting: Setting, seed: int, folder: Path) -> bool:
    return (_path(setting, seed, folder) / "result.json").exists()


def _read(setting: Setting, seed: int, folder: Path) -> History:
    return RunDirectory.open(_path(setting, seed, folder)).read_log()


def _share_done(setting: Setting, seed: int, folder: Path) -> float:
    """Return how much of a run is done, from 0 to 1, by its log."""
    path = _path(setting, seed, folder)
    if _finished(setting, seed, folder):
        return 1.0
    log = path / "log.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    if not lines:
        return 0.0
    try:
        last = json.loads(lines[-1])
    except json.JSONDecodeError:
        return 0.0
    if setting.iterations is not None:
        return float(last["iteration"] / setting.iterations)
    if setting.core_seconds is not None:
        return float(min(1.0, last["core_seconds"] / setting.core_seconds))
    return float(min(1.0, last["seconds"] / (setting.seconds or 1.0)))


def _run_one(setting: Setting, seed: int, folder: Path) -> None:
    path = _path(setting, seed, folder)
    if setting.measure == "variance":
        from equipoise.experiments.variance import measure_variance

        return measure_variance(setting, seed, path)
    if setting.measure == "count":
        from equipoise.experiments.counts import count_infosets

        return count_infosets(setting, seed, path)
    try:
        if (path / "config.json").exists():
            resume(path, restart=True)
        else:
            if setting.start is not None and not _finished(setting.start, seed, folder):
                _run_one(setting.start, seed, folder)
            solve(
                setting.game,
                setting.algorithm,
                iterations=setting.iterations,
                seconds=setting.seconds,
                core_seconds=setting.core_seconds,
                until=setting.until,
                seed=seed,
                out=path,
                parameters=setting.parameters,
                preset=setting.preset,
                init_from=None if setting.start is None else _path(setting.start, seed, folder),
                evaluation_growth=setting.evaluation_growth,
                first_evaluation=setting.first_evaluation,
                checkpoint_seconds=120.0,
            )
    except Interrupted:
        pass
    return None


def at_end(histories: Sequence[History], name: str = "exploitability") -> list[float]:
    """Return the last number of each history."""
    return [float(history[-1][name]) for history in histories]
