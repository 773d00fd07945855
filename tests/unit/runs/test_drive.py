"""The loop around a solver stops where it is told, and its times go on after a resume."""

import time
from dataclasses import replace

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.runs.directory import RunDirectory
from equipoise.runs.drive import Forecast, Stop, drive
from equipoise.views.progress import describe


class Sleeper:
    """A solver that waits much and computes little."""

    iteration = 0

    def run(self, iterations: int) -> None:
        time.sleep(0.005 * iterations)
        self.iteration += iterations

    def conclude(self, report) -> bool:
        return False

    def state(self) -> dict[str, np.ndarray]:
        return {"iteration": np.array(self.iteration)}

    def restore(self, iteration: int, state: dict[str, np.ndarray]) -> None:
        self.iteration = iteration


class Worker(Sleeper):
    """A solver that computes all the time."""

    def run(self, iterations: int) -> None:
        end = time.process_time() + 0.005 * iterations
        while time.process_time() < end:
            pass
        self.iteration += iterations


def evaluate() -> dict[str, float]:
    return {"value": 0.0, "nash_conv": 2.0, "exploitability": 1.0}


def test_waiting_costs_no_core_seconds() -> None:
    history = drive(Sleeper(), evaluate, Stop(seconds=0.3))
    assert history[-1]["core_seconds"] < 0.5 * history[-1]["seconds"]


def test_core_seconds_stop_a_run() -> None:
    history = drive(Worker(), evaluate, Stop(core_seconds=0.3))
    assert 0.3 <= history[-1]["core_seconds"] < 0.6


def test_core_seconds_go_on_after_a_resume(tmp_path) -> None:
    directory = RunDirectory.create(tmp_path / "run", {"game": "none"})
    first = drive(Worker(), evaluate, Stop(core_seconds=0.2), directory=directory)
    checkpoint, _ = directory.load_checkpoint()
    assert checkpoint is not None and checkpoint.core_seconds >= first[-1]["core_seconds"] >= 0.2
    again = Worker()
    again.restore(checkpoint.iteration, checkpoint.state)
    second = drive(
        again,
        evaluate,
        Stop(core_seconds=0.4),
        history=first,
        seconds_before=checkpoint.seconds,
        core_seconds_before=checkpoint.core_seconds,
    )
    assert second[: len(first)] == first
    assert 0.4 <= second[-1]["core_seconds"] < 0.7


def test_time_to_a_level_is_foretold_in_the_units_of_the_game() -> None:
    """Exploitability 8 / t to 0.05 takes 160 iterations, at two a second. Hold'em is told in mbb/g."""
    records = [
        {"iteration": t, "exploitability": 8 / t, "nash_conv_mbb": 1600 / t} for t in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15)
    ]
    forecast = Forecast(Stop(until=0.05), evaluation_growth=1.1)
    forecast.ran(20, 10.0)
    assert forecast.progress(20, 10.0, 10.0, records[:4]).seconds_left is None
    progress = forecast.progress(20, 10.0, 10.0, records)
    assert progress.seconds_left == pytest.approx((160 - 20) / 2.0)
    assert describe(progress) == "iteration 20, 1 min 10 s left, nash_conv 107 mbb/g, 2 it/s, 10 s run"
    assert "exploitability 0.533" in describe(replace(progress, nash_conv_mbb=None))


def test_a_run_without_an_end_is_refused() -> None:
    with pytest.raises(EquipoiseError, match="say when to stop"):
        Stop()
    with pytest.raises(EquipoiseError, match="core_seconds=0 is not valid"):
        Stop(core_seconds=0)
