"""Several algorithms or settings, several seeds each, side by side: one result with means, spreads and curves.

comparison = equipoise.compare(["cfr+", "dcfr", {"algorithm": "es-mccfr", "iterations": 100_000}], game="leduc_poker")
"""

import itertools
import json
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from equipoise import html
from equipoise.errors import DamagedFile, InvalidParameter, nearest, require_whole
from equipoise.experiments.sweep import History, Setting, Sweep, require_labels
from equipoise.files import read_text, write_text
from equipoise.games import Game, load_game
from equipoise.runs import provenance
from equipoise.runs.directory import RunDirectory
from equipoise.runs.identity import labels
from equipoise.runs.run_file import check_value
from equipoise.solving import configured, frame
from equipoise.views.plot import By, convergence, save_picture

Entry = str | Mapping[str, Any]
OPTIONS = tuple(name for name in Setting.__dataclass_fields__ if name not in ("label", "start", "measure"))
MEASURES = ("nash_conv_mbb", "exploitability_pot", "exploitability")  # what runs end with, the first that there is
FOLDER = Path("sweeps")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The runs of a comparison: for each label one run directory per seed."""

    settings: tuple[Setting, ...]
    runs: dict[str, list[Path]]
    folder: Path

    @cached_property
    def histories(self) -> dict[str, list[History]]:
        """Return, for each label, one history per seed."""
        return {label: [RunDirectory.open(path).read_log() for path in paths] for label, paths in self.runs.items()}

    @property
    def measure(self) -> str | None:
        """Return what the last evaluations are compared by; None where nothing is measured."""
        last = [history[-1] for histories in self.histories.values() for history in histories]
        return next((name for name in MEASURES if all(name in record for record in last)), None)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each label: the mean of the last evaluations, how far seeds are apart, and the cost."""
        found, measure = [], self.measure
        for label, histories in self.histories.items():
            last = [history[-1] for history in histories]
            row: dict[str, Any] = {"run": label, "seeds": len(last)}
            row["iterations"] = mean(record["iteration"] for record in last)
            if measure is not None:
                values = [float(record[measure]) for record in last]
                row |= {measure: mean(values), "sd": stdev(values) if len(values) > 1 else None}
                row |= {"min": min(values), "max": max(values)}
            row["seconds"] = mean(record["seconds"] for record in last)
            row["core_seconds"] = mean(record["core_seconds"] for record in last)
            found.append(row)
        return found

    def __repr__(self) -> str:
        measure = self.measure or "iterations"
        told = [
            f"{row['run']} {row[measure]:.4g}" + (f" ± {row['sd']:.2g}" if row.get("sd") else "") for row in self.rows()
        ]
        return f"<Comparison by {measure}: {'; '.join(told)}; in {self.folder}>"

    def _repr_html_(self) -> str:
        rows = self.rows()
        cells = [["" if value is None else value for value in row.values()] for row in rows]
        return html.table(cells, list(rows[0]), f"runs in {self.folder}")

    def to_frame(self) -> Any:
        """Return all evaluations of all runs as a DataFrame of pandas, with the label and the seed of each."""
        return frame(
            [
                {"run": label, "seed": seed, **record}
                for label, histories in self.histories.items()
                for seed, history in enumerate(histories)
                for record in history
            ]
        )

    def plot(self, path: str | Path | None = None, *, by: By = "iteration", measure: str = "exploitability") -> Any:
        """Return the curves, means with the range of seeds, as a figure of Matplotlib's; with ``path``, write it."""
        games = sorted({setting.game for setting in self.settings})
        figure = convergence(self.histories, by=by, measure=measure, title=games[0] if len(games) == 1 else "")
        if path is not None:
            save_picture(figure, path)
        return figure

    def to_json(self) -> dict[str, Any]:
        """Return rows, settings and where all of it comes from."""
        runs = {label: [str(path) for path in paths] for label, paths in self.runs.items()}
        settings = [asdict(setting) for setting in self.settings]
        return {"rows": self.rows(), "settings": settings, "runs": runs, **provenance.of_data()}

    def save(self) -> None:
        """Write the numbers as ``result.json`` and the curves as ``curves.png`` into the folder."""
        write_text(self.folder / "result.json", json.dumps(self.to_json(), indent=1) + "\n")
        if self.measure is not None:
            self.plot(self.folder / "curves.png")


def compare(
    entries: Sequence[Entry],
    *,
    game: Game | str | None = None,
    seeds: int = 5,
    jobs: int = 1,
    out: str | Path = FOLDER,
    progress: bool = False,
    **common: Any,
) -> Comparison:
    """Run algorithms or settings, each with seeds 0, 1, ..., and compare them.

    An entry is the name of an algorithm, or a dictionary of what :func:`equipoise.solve` takes (``algorithm``,
    ``parameters``, ``iterations``, ``game``, ...), with a ``label`` if it should have a name of its own. Keywords hold
    for all entries that do not say otherwise. ``jobs`` runs are made at a time, each in a process of its own. All is
    kept in ``out``: a comparison that was interrupted goes on by the same call, and what is there already is not run
    again if it is the same run.
    """
    shared = {**common, **({} if game is None else {"game": game})}
    given = [{**shared, **({"algorithm": entry} if isinstance(entry, str) else entry)} for entry in entries]
    report: Callable[[str], None] = _tell if progress else lambda text: None
    return run_comparison(settings_of(given), seeds=seeds, jobs=jobs, folder=Path(out), report=report)


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def run_comparison(
    settings: tuple[Setting, ...],
    *,
    seeds: int,
    jobs: int | None = None,
    folder: Path,
    report: Callable[[str], None],
    cluster: str | None = None,
) -> Comparison:
    """Run what is missing of a comparison, and write down what it comes to."""
    require_whole("seeds", seeds)
    if jobs is not None and cluster is not None:
        raise InvalidParameter("give jobs (processes here) or a cluster, which has as many as it has cores, not both")
    if jobs is not None:
        require_whole("jobs", jobs)
    side_by_side = jobs or (1 if cluster is None else Sweep.side_by_side)
    runs = Sweep(settings=settings, seeds=seeds, side_by_side=side_by_side).places(folder, report, cluster)
    found = Comparison(settings=settings, runs=runs, folder=folder)
    found.save()
    return found


def settings_of(given: Sequence[Mapping[str, Any]]) -> tuple[Setting, ...]:
    """Return settings from dictionaries of options; those without a label are named by what sets them apart."""
    if not given:
        raise InvalidParameter("there is nothing to compare; name at least one algorithm")
    made: list[Setting] = []
    for options in given:
        for name in options:
            if name not in (*OPTIONS, "label"):
                raise InvalidParameter(f"'{name}' is not an option of a run in a comparison{nearest(name, OPTIONS)}")
        if options.get("game") is None:
            raise InvalidParameter("the game is missing; give game=..., such as game='leduc_poker'")
        game = options["game"] if isinstance(options["game"], str) else options["game"].address
        usual = {"evaluation_growth": None, "first_evaluation": None, "label": ""}
        made.append(Setting(**{**usual, **options, "game": game}))
    configs = [configured(load_game(setting.game), **setting.options()) for setting in made]
    named = [
        Setting(**{**vars(setting), "label": setting.label or label})
        for setting, label in zip(made, labels(configs), strict=True)
    ]
    require_labels(named)
    return tuple(named)


def each_of(parameters: Mapping[str, object]) -> list[dict[str, object]]:
    """Return all combinations of parameters of which some have a list of values."""
    lists = [value if isinstance(value, list) else [value] for value in parameters.values()]
    return [dict(zip(parameters, chosen, strict=True)) for chosen in itertools.product(*lists)]


def read_sweep_file(path: Path) -> dict[str, Any]:
    """Return what a TOML file says of a sweep: ``seeds``, ``jobs``, and ``runs``, one dictionary of options each.

    What is outside of ``[[runs]]`` holds for all of them; a list in ``parameters`` stands for one run for each value.
    """
    try:
        found = tomllib.loads(read_text(path, expected="TOML"))
    except tomllib.TOMLDecodeError as error:
        raise DamagedFile(f"{path} is not TOML: {error}") from None
    read: dict[str, Any] = {name: found.pop(name) for name in ("seeds", "jobs") if name in found}
    for name, value in read.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InvalidParameter(f"{path}: {name} = {value} is not valid; give a whole number of 1 or more")
    listed = found.pop("runs", [{}])
    if not isinstance(listed, list) or not all(isinstance(run, dict) for run in listed):
        raise InvalidParameter(f"{path}: runs are written as [[runs]], one table for each")
    runs: list[dict[str, Any]] = []
    for run in listed:
        merged = {**found, **run, "parameters": {**found.get("parameters", {}), **run.get("parameters", {})}}
        for name, value in merged.items():
            if name not in (*OPTIONS, "label"):
                raise InvalidParameter(f"{path}: '{name}' is not known{nearest(name, (*OPTIONS, 'label', 'seeds'))}")
            if name not in ("label", "parameters"):
                check_value(path, name, value)
        runs += [{**merged, "parameters": chosen} for chosen in each_of(merged["parameters"])]
    return {**read, "runs": runs}
