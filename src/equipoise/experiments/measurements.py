"""What is measured for a claim without being a run of an algorithm: short, so each is made again from the start."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from equipoise.experiments.counts import count_infosets, count_sizes
from equipoise.experiments.kept import measure_kept
from equipoise.experiments.regret import measure_regret
from equipoise.experiments.schemes_variance import measure_schemes
from equipoise.experiments.sweep import Setting
from equipoise.experiments.variance import measure_variance
from equipoise.runs.directory import RunDirectory

# From a setting and a seed to records, each with an iteration.
MEASUREMENTS: dict[str, Callable[[Setting, int], Iterator[dict[str, Any]]]] = {
    "variance": measure_variance,
    "count": count_infosets,
    "sizes": count_sizes,
    "kept": measure_kept,
    "regret": measure_regret,
    "schemes": measure_schemes,
}


def measure(setting: Setting, seed: int, path: Path) -> None:
    """Make a measurement, and write its records as those of a run."""
    if (path / "config.json").exists():
        directory = RunDirectory.open_to_write(path)
        directory.cut_log(0)
    else:
        directory = RunDirectory.create(path, {"game": setting.game, "algorithm": setting.algorithm, "seed": seed})
    started, record = time.process_time(), dict[str, Any]()
    for found in MEASUREMENTS[setting.measure](setting, seed):
        record = {**found, "core_seconds": round(time.process_time() - started, 3)}
        directory.append_log(record)
    directory.save_result(record)
