"""The machinery of measuring, with a clock that only moves when work is done: nothing here is timed."""

import inspect
import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.bench import SUITES, peers, tabular
from equipoise.bench.goal import peak_bytes
from equipoise.bench.measure import (
    ITERATIONS_PER_SECOND,
    MILLISECONDS,
    OURS,
    WALL_SECONDS,
    Contender,
    Row,
    calibrated,
    format_rows,
    one_core,
    readable,
    repeating,
    run_program,
    take_turns,
)
from equipoise.errors import EquipoiseError

needs_affinity = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")


class Machine:
    """A clock, and workers that move it; ``log`` keeps who worked and how often."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[tuple[str, int]] = []

    def clock(self) -> float:
        return self.now

    def worker(self, name: str, seconds: Callable[[int], float]) -> Contender:
        """Return a contender whose n-th call takes ``seconds(n)`` a repeat."""
        calls = 0

        def run(repeats: int) -> float:
            nonlocal calls
            self.log.append((name, repeats))
            self.now += repeats * seconds(calls)
            calls += 1
            return repeats

        return Contender(name=name, run=run)


def row(unit=ITERATIONS_PER_SECOND, *, one_core=True, required=None, limit=None, notes=(), **samples):
    return Row(
        work="work", unit=unit, samples=samples, one_core=one_core, required=required or {}, limit=limit, notes=notes
    )


def test_contenders_take_turns_within_each_round():
    machine = Machine()
    workers = [machine.worker(name, lambda _: 1.0) for name in (OURS, "A", "B")]
    lines: list[str] = []
    take_turns(
        workers, ITERATIONS_PER_SECOND, work="w", rounds=3, report=lines.append, seconds=1.0, clock=machine.clock
    )
    measured = [name for name, _ in machine.log[-9:]]
    assert measured == [OURS, "A", "B"] * 3
    assert len(lines) == 9
    assert lines[4] == "w, round 2 of 3: A 1.00 iterations/s"


def test_every_round_repeats_as_often_as_calibrated():
    machine = Machine()
    workers = [machine.worker(OURS, lambda _: 0.01), machine.worker("slow", lambda _: 7.0)]
    samples = take_turns(
        workers, MILLISECONDS, work="w", rounds=2, report=lambda _: None, seconds=1.0, clock=machine.clock
    )
    assert len({repeats for _, repeats in machine.log[-4::2]}) == 1
    assert machine.log[-4][1] * 0.01 >= 1.0
    assert machine.log[-3:] == [("slow", 1), machine.log[-4], ("slow", 1)]
    assert samples[OURS] == pytest.approx((10.0, 10.0))
    assert samples["slow"] == pytest.approx((7000.0, 7000.0))


def test_calibration_leaves_the_first_call_out():
    machine = Machine()
    worker = machine.worker(OURS, lambda call: 100.0 if call == 0 else 0.001)  # the first call compiles
    repeats = calibrated(worker.run, seconds=0.3, clock=machine.clock)
    assert machine.log[0] == (OURS, 1)
    assert 0.3 <= repeats * 0.001 <= 0.5


def test_calibration_survives_a_clock_that_stands_still_for_small_work():
    machine = Machine()
    worker = machine.worker(OURS, lambda _: 1e-7)
    coarse = calibrated(worker.run, seconds=0.3, clock=lambda: round(machine.now, 2))
    assert 0.29 <= coarse * 1e-7 <= 3.0


def test_amounts_that_the_worker_counts_make_the_rate():
    machine = Machine()

    def run(repeats: int) -> float:
        machine.now += repeats * 1.0
        return repeats * 250.0  # nodes, say

    samples = take_turns(
        [Contender(name=OURS, run=run)],
        ITERATIONS_PER_SECOND,
        work="w",
        rounds=1,
        report=lambda _: None,
        seconds=0.5,
        clock=machine.clock,
    )
    assert samples == {OURS: (250.0,)}


def test_repeating_calls_once_for_each_piece_of_work():
    calls = []
    assert repeating(lambda: calls.append(None))(5) == 5
    assert len(calls) == 5


def test_medians_and_not_means():
    result = row(equipoise=(1.0, 100.0, 3.0, 2.0, 4.0), peer=(9.0, 1.0, 2.0))
    assert result.ours == 3.0
    assert result.peers == {"peer": 2.0}


def test_a_ratio_is_the_ratio_of_medians():
    # The median of the rounds' ratios would be 1, the ratio of means 111 / 12.
    result = row(equipoise=(1.0, 10.0, 100.0), peer=(1.0, 1.0, 10.0))
    assert result.ratios == {"peer": 10.0}


def test_a_ratio_above_one_is_good_in_every_unit():
    assert row(ITERATIONS_PER_SECOND, equipoise=(8.0,), peer=(2.0,)).ratios == {"peer": 4.0}
    assert row(MILLISECONDS, equipoise=(2.0,), peer=(8.0,)).ratios == {"peer": 4.0}


def test_best_rounds_are_the_fastest_in_every_unit():
    samples = {"equipoise": (8.0, 6.0, 10.0), "peer": (1.0, 2.0, 5.0)}
    assert row(ITERATIONS_PER_SECOND, **samples).best_ratios == {"peer": 10.0 / 5.0}
    assert row(MILLISECONDS, **samples).best_ratios == {"peer": 1.0 / 6.0}


def test_the_table_doubts_what_only_the_medians_show():
    samples = {"equipoise": (8.0, 6.0, 10.0), "peer": (1.0, 2.0, 5.0)}  # 4 by medians, 2 by best rounds
    doubt = "only 2.00 x peer by everyone's best round"
    assert doubt in format_rows([row(required={"peer": 3.0}, **samples)])
    assert doubt not in format_rows([row(required={"peer": 2.0}, **samples)])
    assert doubt not in format_rows([row(required={"peer": 5.0}, **samples)])  # this one fails anyway


@pytest.mark.parametrize(("least", "passed"), [(3.9, True), (4.0, True), (4.1, False)])
def test_required_ratios(least, passed):
    assert row(equipoise=(8.0,), peer=(2.0,), required={"peer": least}).passed is passed


def test_every_requirement_must_hold():
    assert row(equipoise=(8.0,), a=(2.0,), b=(4.0,), required={"a": 3.0, "b": 3.0}).passed is False


@pytest.mark.parametrize(("seconds", "passed"), [(0.4, True), (0.5, False), (0.6, False)])
def test_limits(seconds, passed):
    assert row(WALL_SECONDS, equipoise=(seconds,), limit=0.5).passed is passed


def test_nothing_required_is_neither_passed_nor_failed():
    assert row(equipoise=(8.0,), peer=(2.0,)).passed is None


@pytest.mark.parametrize("samples", [{"equipoise": (1.0,)}, {"equipoise": (1.0,), "peer": ()}, {"peer": (1.0,)}])
def test_what_was_not_measured_cannot_pass(samples):
    with pytest.raises(ValueError, match="nothing was measured"):
        row(required={"peer": 1.0}, **samples)


def test_json_has_every_number():
    data = json.loads(json.dumps(row(equipoise=(1.0, 3.0, 2.0), peer=(0.5,), required={"peer": 2.0}).to_json()))
    assert data["ours"] == 2.0
    assert data["ratios"] == {"peer": 4.0}
    assert data["best_ratios"] == {"peer": 6.0}
    assert data["required_ratios"] == {"peer": 2.0}
    assert data["passed"] is True
    assert data["samples"] == {"equipoise": [1.0, 3.0, 2.0], "peer": [0.5]}


def test_the_table_shows_failures_notes_and_missing_pinning():
    table = format_rows(
        [
            row(equipoise=(8000.0,), peer=(2000.0,), required={"peer": 5.0}),
            row(WALL_SECONDS, equipoise=(0.25,), limit=0.5, notes=("a note",), one_core=False),
        ]
    )
    header, rule, first, second, note, warning = table.splitlines()
    assert first.split() == ["work", "iterations/s", "8,000", "2,000", "4.00", "(>=", "5.00)", "NO"]
    assert second.split() == ["work", "s", "0.250", "<", "0.500", "yes"]
    assert len(rule) == max(len(header), len(first), len(second))
    assert note == "work: a note"
    assert "one core" in warning
    assert "one core" not in format_rows([row(equipoise=(1.0,))])


@pytest.mark.parametrize(
    ("value", "text"), [(48_712.3, "48,712"), (339.4, "339"), (0.061234, "0.0612"), (5.0, "5.00"), (0.0, "0.0")]
)
def test_readable_numbers(value, text):
    assert readable(value) == text


@needs_affinity
def test_one_core_within_and_all_cores_after():
    before = os.sched_getaffinity(0)
    with one_core() as pinned:
        assert pinned is True
        assert len(os.sched_getaffinity(0)) == 1
        assert os.sched_getaffinity(0) <= before
        _, cores = run_program([sys.executable, "-Sc", "import os; print(len(os.sched_getaffinity(0)))"])
        assert cores.strip() == "1"
    assert os.sched_getaffinity(0) == before


@needs_affinity
def test_affinity_is_restored_after_an_error():
    before = os.sched_getaffinity(0)

    def fail() -> None:
        with one_core():
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert os.sched_getaffinity(0) == before


def test_a_system_without_affinity_says_so(monkeypatch):
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    with one_core() as pinned:
        assert pinned is False


def test_a_program_that_fails_is_not_measured():
    with pytest.raises(EquipoiseError, match="code 3 and said: no such thing"):
        run_program([sys.executable, "-Sc", "import sys; sys.stderr.write('x\\nno such thing\\n'); sys.exit(3)"])


@pytest.mark.parametrize("suite", ["tabular", "sampling", "neural"])  # those with peers that pip can install
def test_a_missing_peer_is_one_line_with_the_remedy(monkeypatch, suite):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    before = list(os.environ.items())
    with pytest.raises(EquipoiseError, match=r"pip install 'equipoise\[bench\]'.*make bench") as caught:
        SUITES[suite](rounds=1, report=lambda _: None)
    assert "\n" not in str(caught.value)
    assert list(os.environ.items()) == before


@pytest.mark.parametrize("home", ["/home/of/somebody", None])
def test_a_lent_home_is_given_back(monkeypatch, tmp_path, home):
    if home is None:
        monkeypatch.delenv("HOME", raising=False)
    else:
        monkeypatch.setenv("HOME", home)
    with peers._home(tmp_path):
        assert Path("~").expanduser() == tmp_path
    assert os.environ.get("HOME") == home


@pytest.mark.parametrize(("theirs", "same"), [(0.5, True), (0.5 + 1e-10, True), (0.5 + 1e-8, False), (math.nan, False)])
def test_different_answers_are_not_timed(tmp_path, theirs, same):
    lines: list[str] = []
    suite = tabular._Suite(rounds=1, report=lines.append, one_core=True, folder=tmp_path)
    if same:
        suite.compare("nash_conv", 0.5, "peer", theirs, tabular.EXACT)
    else:
        with pytest.raises(EquipoiseError, match="different work"):
            suite.compare("nash_conv", 0.5, "peer", theirs, tabular.EXACT)
    assert "difference" in lines[0]  # shown either way


@pytest.mark.parametrize("suite", SUITES)
def test_rounds_must_be_positive(suite):
    with pytest.raises(EquipoiseError, match="rounds=0"):
        SUITES[suite](rounds=0, report=lambda _: None)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_peak_memory_is_this_process_own():
    # A child of a process that holds much must not be charged with its parent's memory.
    ballast = bytearray(b"x") * (100 << 20)
    program = f"import resource, sys\nfrom pathlib import Path\n{inspect.getsource(peak_bytes)}\nprint(peak_bytes())"
    _, printed = run_program([sys.executable, "-Sc", program])
    assert len(ballast) <= peak_bytes()
    assert 0 < int(printed) < len(ballast)
