"""Sweeps: runs that differ in their settings and seeds, made side by side, interrupted and resumed at will.

A run is a run directory named after its setting and seed, so that claims that need the same run share it, and a sweep
that was interrupted goes on where it stopped. What is found in its place is taken for the run only if it is the same:
the same settings in full, the same rules of the game, the same revision of the algorithm.
"""

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from equipoise.distribute.cluster import workers_wanted
from equipoise.errors import EquipoiseError, InvalidParameter
from equipoise.experiments.workers import Workers, on_cluster
from equipoise.files import make_folder
from equipoise.games import Game, load_game
from equipoise.runs.directory import RunDirectory
from equipoise.runs.drive import Interrupted
from equipoise.solving import configured, difference_from, resume, solve
from equipoise.trees.compile import Engine

History = list[dict[str, Any]]
Report = Callable[[str], None]
Measure = Literal["exploitability", "variance", "count", "sizes", "kept", "regret", "schemes"]  # see `measurements`

SECONDS_BETWEEN_REPORTS = 10.0
LONGEST_NAME = 150  # of a folder


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One curve of a sweep: what is run, and until when."""

    label: str
    game: str
    algorithm: str | None = None  # the game's usual one
    parameters: Mapping[str, object] = field(default_factory=dict)
    iterations: int | None = None
    seconds: float | None = None
    core_seconds: float | None = None
    until: float | None = None  # exploitability
    until_mbb: float | None = None
    until_pot: float | None = None
    preset: str | None = None
    engine: Engine = "auto"
    start: "Setting | None" = None  # a run of the same seed that this one starts from
    threads: int = 1
    device: str = "auto"  # of networks; like threads, it does not make another run
    evaluation_growth: float | None = 1.1
    first_evaluation: int | None = 1
    measure: Measure = "exploitability"

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Setting":
        """Return the setting that ``asdict`` wrote."""
        start = content["start"]
        return cls(**{**content, "start": None if start is None else cls.from_json(start)})

    @property
    def slug(self) -> str:
        """Return a folder name that says what is run."""
        values = [self.game, self.algorithm or "usual"]
        values += [f"{key}={value}" for key, value in sorted(self.parameters.items())]
        limits = (
            (self.iterations, "it"),
            (self.seconds, "s"),
            (self.core_seconds, "cs"),
            (self.until, "e"),
            (self.until_mbb, "mbb"),
            (self.until_pot, "pot"),
        )
        values += [f"{limit:g}{unit}" for limit, unit in limits if limit is not None]
        values += [self.measure] if self.measure != "exploitability" else []
        values += [self.preset] if self.preset is not None else []
        values += [self.engine] if self.engine != "auto" else []
        values += [f"from-{self.start.slug}"] if self.start is not None else []
        text = "-".join(values)
        plain = "".join(c if c.isalnum() or c in "+=.-_" else "_" for c in text)
        if len(plain) > LONGEST_NAME:
            plain = f"{plain[:LONGEST_NAME]}-{zlib.crc32(text.encode()):08x}"
        return plain

    def options(self) -> dict[str, Any]:
        """Return what :func:`equipoise.solve` takes, but for game, seed and folder."""
        apart = ("label", "game", "start", "measure")
        return {name: value for name, value in vars(self).items() if name not in apart}

    def differs_from(self, run: Path, seed: int) -> str | None:
        """Return in words why a folder holds another run than this one; None: it is the same run, as far as it is."""
        if self.measure != "exploitability":
            found = RunDirectory.open(run).config
            return None if (found["algorithm"], found.get("seed")) == (self.algorithm, seed) else "it is another one"
        game = _loaded(self.game)
        return difference_from(run, configured(game, seed=seed, **self.options()), game)


@cache
def _loaded(text: str) -> Game:
    return load_game(text)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The runs behind a claim or a comparison: every setting with every seed."""

    settings: tuple[Setting, ...]
    seeds: int
    scale: str = ""  # how this compares with the paper's own experiment
    side_by_side: int = 2  # runs at once; fewer where one run needs most of the memory

    def run(self, folder: Path, report: Report, cluster: str | None = None) -> dict[str, list[History]]:
        """Run what is missing and return, per label, one history per seed."""
        places = self.places(folder, report, cluster)
        return {label: [RunDirectory.open(path).read_log() for path in paths] for label, paths in places.items()}

    def places(self, folder: Path, report: Report, cluster: str | None = None) -> dict[str, list[Path]]:
        """Run what is missing and return, per label, one run directory per seed.

        On a cluster, as many runs are made at once as it has cores, or one a node if one needs most of the memory.
        """
        if cluster is not None:
            workers_wanted(cluster)
        make_folder(folder / "runs")
        for setting in self.settings:  # what is wrong with one is told before anything runs
            if setting.measure == "exploitability":
                configured(_loaded(setting.game), **setting.options())
        jobs = [(setting, seed) for seed in range(self.seeds) for setting in self.settings]
        paths = {(setting.label, seed): place(setting, seed, folder, report) for setting, seed in jobs}
        waiting = [(setting, seed) for setting, seed in jobs if not finished(paths[setting.label, seed])]
        count, started = max(1, min(self.side_by_side, len(waiting))), monotonic()
        at_a_time = f"{count} at a time" if cluster is None else f"on the cluster {cluster}"
        report(f"{len(jobs)} runs, {len(jobs) - len(waiting)} of them done before, {at_a_time}")

        def tell(done: int) -> None:
            shares = [_share_done(setting, paths[setting.label, seed]) for setting, seed in waiting]
            elapsed, so_far = monotonic() - started, sum(shares)
            to_go = elapsed * (len(waiting) / so_far - 1) / 60 if so_far > 0.02 else None
            left = "" if to_go is None else f", about {to_go:.0f} min left"
            ready = len(jobs) - len(waiting) + done
            report(f"{ready}/{len(jobs)} runs done, {elapsed / 60:.1f} min{left}")

        given = [{"setting": asdict(setting), "seed": seed, "folder": str(folder)} for setting, seed in waiting]
        failed: dict[int, str] = {}
        try:
            if waiting and cluster is None:
                failed = Workers(count, folder / "workers.log").run(given, tell, SECONDS_BETWEEN_REPORTS)
            elif waiting and cluster is not None:
                one_a_node = self.side_by_side == 1
                failed = on_cluster(cluster, given, tell, SECONDS_BETWEEN_REPORTS, folder, one_a_node=one_a_node)
        except KeyboardInterrupt:
            report("interrupted; go on by the same command")
            raise
        if failed:
            number, error = min(failed.items())
            setting, seed = waiting[number]
            others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            raise EquipoiseError(f"{setting.label}, seed {seed}{others}: {error}; the same command tries again")
        return {setting.label: [paths[setting.label, seed] for seed in range(self.seeds)] for setting in self.settings}


def place(setting: Setting, seed: int, folder: Path, report: Report = lambda text: None) -> Path:
    """Return where a run is, or will be: the first of its folders that is free or holds this very run."""
    name, number = f"{setting.slug}-seed{seed}", 1
    while True:
        path = folder / "runs" / (name if number == 1 else f"{name}-{number}")
        if not (path / "config.json").exists():
            return path
        try:
            different = setting.differs_from(path, seed)
        except EquipoiseError as error:
            different = str(error)
        if different is None:
            return path
        report(f"{path} is another run and is left alone: {different}")
        number += 1


def finished(path: Path) -> bool:
    """Return whether a run has ended."""
    return (path / "result.json").exists()


def _share_done(setting: Setting, path: Path) -> float:
    """Return how much of a run is done, from 0 to 1, by its log."""
    if finished(path):
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
    return float(min(1.0, last["seconds"] / setting.seconds)) if setting.seconds is not None else 0.0


def run_one(setting: Setting, seed: int, folder: Path) -> None:
    """Make a run, or go on with it."""
    path = place(setting, seed, folder)
    if setting.measure != "exploitability":
        from equipoise.experiments.measurements import measure

        return measure(setting, seed, path)
    try:
        if (path / "config.json").exists():
            if not finished(path):
                resume(path, restart=True, game=setting.game if setting.game.startswith("python:") else None)
            return None
        start = None
        if setting.start is not None:
            run_one(setting.start, seed, folder)
            start = place(setting.start, seed, folder)
        solve(setting.game, seed=seed, out=path, init_from=start, checkpoint_seconds=120.0, **setting.options())
    except Interrupted:
        pass
    return None


def require_labels(settings: Sequence[Setting]) -> None:
    """Refuse settings of which two have one name."""
    names = [setting.label for setting in settings]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidParameter(f"two runs are called '{twice[0]}'; give each a label of its own")


def at_end(histories: Sequence[History], name: str = "exploitability") -> list[float]:
    """Return the last number of each history."""
    return [float(history[-1][name]) for history in histories]
