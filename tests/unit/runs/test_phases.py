"""Every phase is announced, its time is counted under its name, and the time left is a steady guess."""

import json
import math
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import equipoise
from equipoise import kernel_cache
from equipoise.runs.drive import Forecast, Stop
from equipoise.runs.phases import COMPILING, EVALUATION, KINDS, PREPARING, SOLVING, Phase, Phases, Spent
from equipoise.views.progress import describe, show_progress
from equipoise.work import Stopped, compiling, spending


def test_time_is_counted_once_and_under_the_innermost_name(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("equipoise.runs.phases._now", lambda: Spent(now[0], 2.0 * now[0]))
    phases = Phases()
    with phases.noticing_compilation(), phases.doing(PREPARING):
        now[0] += 5.0
        with phases.doing(SOLVING):
            now[0] += 10.0
            for listener in kernel_cache.on_compile:
                listener("outer")
                listener("inner")
            now[0] += 15.0
            for listener in kernel_cache.on_compiled:
                listener("inner")
                listener("outer")
            now[0] += 2.0
        with phases.doing(EVALUATION):
            now[0] += 3.0
    now[0] += 100.0  # of nothing
    expected = {PREPARING: 5.0, SOLVING: 12.0, COMPILING: 15.0, EVALUATION: 3.0}
    assert {kind: seconds for kind, seconds in phases.seconds().items() if seconds} == expected
    assert phases.spent(SOLVING) == (12.0, 24.0)
    phases.go_on_from({SOLVING: 10.0})
    assert phases.seconds()[SOLVING] == 22.0


def test_work_is_told_to_stop_only_where_it_may_be_left():
    phases = Phases(asked_to_stop=lambda: True)
    with phases.doing(SOLVING, left=False):
        phases.report("solving", 0.5)
    with phases.doing(EVALUATION), pytest.raises(Stopped):
        phases.report("exact evaluation", 0.5)


def test_all_times_of_a_solution_add_up(tmp_path):
    equipoise.solve("kuhn_poker", iterations=1)  # imports, which nobody waits for again
    news = []
    began = time.perf_counter()
    solution = equipoise.solve("leduc_poker", iterations=300, out=tmp_path / "run", on_progress=news.append)
    took = time.perf_counter() - began
    assert 0.8 * took - 0.1 < solution.seconds <= took
    summary = solution.summary()
    assert summary["seconds"] == pytest.approx(sum(summary[f"{kind}_seconds"] for kind in KINDS))
    assert json.loads((tmp_path / "run" / "result.json").read_text())["seconds"] == pytest.approx(summary["seconds"])
    said = [each.what for each in news if isinstance(each, Phase)]
    assert said[0] == "building the tree" and said[-1] == "writing the policy"
    assert {"solving", "writing a checkpoint", "exact evaluation"} <= set(said)
    again = equipoise.resume(tmp_path / "run", iterations=400)
    assert again.seconds > solution.seconds and again.spent[SOLVING] > solution.spent[SOLVING]


def test_the_policy_fit_and_the_evaluation_are_part_of_the_time():
    quick = {"traversals": 50, "steps": 2, "fresh_steps": 2, "policy_steps": 500}
    solution = equipoise.solve("kuhn_poker", "deep-cfr", iterations=1, parameters=quick)
    assert solution.spent["fitting"] > 0.1
    assert solution.history[-1]["fitting_seconds"] == pytest.approx(solution.spent["fitting"], abs=0.01)


def test_compiling_is_no_part_of_what_traversals_and_fits_took(monkeypatch):
    """Else a first run would show more seconds of traversals than of solving, and too few nodes a second."""
    now = [0.0]
    monkeypatch.setattr("equipoise.work.time.perf_counter", lambda: now[0])
    spent = {"traversal_seconds": 0.0}
    with spending(spent, "traversal_seconds"):
        now[0] += 2.0
        compiling.begin()
        now[0] += 3.0
        compiling.begin()  # a kernel that it calls
        now[0] += 10.0
        compiling.end()
        compiling.end()
        now[0] += 1.0
    assert spent == {"traversal_seconds": pytest.approx(3.0)}


def test_kernels_are_said_to_be_kept_only_where_they_are(monkeypatch):
    for folder in (None, Path("kernels")):
        said = []
        monkeypatch.setattr(kernel_cache, "_folder", lambda folder=folder: folder)
        phases = Phases(said.append)
        with phases.noticing_compilation():
            kernel_cache.on_compile[-1]("kernel")
            kernel_cache.on_compiled[-1]("kernel")
        kept = ", which are kept for later runs" if folder else ""
        assert [phase.what for phase in said] == ["compiling kernels" + kept]


def test_seconds_are_seconds_of_solving_with_a_cold_cache(tmp_path):
    code = (
        "import json, equipoise\n"
        "found = equipoise.solve('kuhn_poker', seconds=1.0)\n"
        "print(json.dumps({**found.spent, 'iterations': found.iterations, 'seconds': found.seconds}))"
    )
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["compiling"] > 1.0, "the cache was not cold"
    assert found["solving"] + found["evaluation"] + found["writing"] >= 0.7 and found["iterations"] > 1000
    assert found["solving"] < 10.0  # a little more than one, on an idle machine
    assert found["seconds"] > found["compiling"] + found["solving"]


def test_time_left_does_not_jump_when_an_evaluation_falls_into_a_window():
    """Ten iterations a second, and every eleventh second goes into an evaluation: the guess falls steadily."""
    forecast, clock, iteration, told = Forecast(Stop(iterations=1000), evaluation_growth=1.1), 0.0, 0, []
    evaluate_at, records = 1, []
    while iteration < 1000:
        iteration, clock = iteration + 1, clock + 0.1
        forecast.ran(1, 0.1 * (1.0 + 0.3 * math.sin(iteration)))
        if iteration >= evaluate_at:
            clock += 1.0
            forecast.evaluation_seconds = 1.0
            evaluate_at = max(iteration + 1, int(iteration * 1.1))
            records.append({"iteration": iteration, "exploitability": 1.0})
        told.append((clock, forecast.progress(iteration, clock, clock, records).seconds_left))
    whole = told[-1][0]
    for clock, left in told[100:]:
        assert left == pytest.approx(whole + 1.0 - clock, rel=0.35, abs=3.0)


def test_nothing_is_said_to_be_done_while_work_remains():
    forecast = Forecast(Stop(seconds=10.0), evaluation_growth=1.1)
    forecast.ran(5, 10.0)
    forecast.evaluation_seconds = 60.0
    records = [{"iteration": 3, "exploitability": 1.0}]
    progress = forecast.progress(5, 10.5, 10.5, records)
    assert progress.seconds_left >= 60.0
    forecast = Forecast(Stop(iterations=5), evaluation_growth=1.1)
    forecast.ran(5, 10.0)
    said = describe(forecast.progress(5, 10.0, 10.0, []))  # nothing is known of the evaluation that follows
    assert "under 1 s of solving left" in said and "done" not in said
    done = forecast.progress(5, 10.0, 10.0, [{"iteration": 5, "exploitability": 1.0}])
    assert "done" in describe(done)


@pytest.fixture
def clock(monkeypatch):
    """Return the time that lines of progress go by, in seconds."""
    now = [100.0]
    monkeypatch.setattr("equipoise.views.progress.time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_lines_come_when_a_phase_takes_a_while_and_then_every_few_seconds(capsys, clock):
    lines = []

    def come(count):
        deadline = time.monotonic() + 60
        while len(lines) < count:
            assert time.monotonic() < deadline, lines
            time.sleep(0.05)
            lines.extend(capsys.readouterr().err.splitlines())

    with show_progress("a game") as on_progress:
        on_progress(Phase(what="too short to mention"))
        clock[0] += 0.1
        on_progress(Phase(what="building the tree"))
        clock[0] += 0.6
        come(2)
        clock[0] += 5.0
        come(3)
        on_progress(Phase(what="exact evaluation", share=0.25, seconds=10.0))
        clock[0] += 0.6
        come(4)
    lines.extend(capsys.readouterr().err.splitlines())
    assert lines == ["a game", "  building the tree", "  building the tree, 6 s", "  exact evaluation, 25 %, 30 s left"]


def test_a_quick_run_prints_no_progress(capsys, clock):
    """By a clock that stands still, nothing takes long enough for a line."""
    with show_progress("a game") as on_progress:
        equipoise.solve("kuhn_poker", iterations=3, on_progress=on_progress)
    assert capsys.readouterr().err == ""


def test_a_piece_of_work_that_is_done_does_not_stop_the_clock_of_the_bar():
    from equipoise.views import progress as view

    with view._live_bar("a game", kept=False) as set_bar:
        set_bar(1.0, "2 GiB of memory")
        bar = set_bar.__closure__
        task = next(cell.cell_contents for cell in bar if hasattr(cell.cell_contents, "tasks")).tasks[0]
        assert not task.finished
