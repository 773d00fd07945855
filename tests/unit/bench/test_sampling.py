"""What the sampling suite rests on, without timing: how nodes are counted and converted, and the search for a level."""

import itertools
import json
import typing

import numpy as np
import pytest

from equipoise import cli
from equipoise.bench import SUITES, peers, sampling
from equipoise.bench.measure import (
    ITERATIONS_PER_SECOND,
    MILLION_NODES_PER_SECOND,
    OURS,
    WALL_SECONDS,
    Contender,
    Row,
    format_rows,
    looks,
    one_core,
    open_cores,
    repeating,
    take_turns,
)
from equipoise.errors import EquipoiseError


class FakeSolver:
    """Visits 100 nodes in each of the first ten iterations and 30 in each later one."""

    def __init__(self):
        self.iteration = 0
        self.nodes_touched = 0

    def run(self, iterations):
        for _ in range(iterations):
            self.nodes_touched += 100 if self.iteration < 10 else 30
            self.iteration += 1


def test_the_mean_leaves_the_warm_up_out():
    assert sampling.mean_nodes(FakeSolver(), warm_up=10, counted=7) == 30.0
    assert sampling.mean_nodes(FakeSolver(), warm_up=9, counted=2) == 65.0


def test_converted_rates_have_the_ratio_of_iterations():
    now = 0.0

    def working(seconds):
        def work():
            nonlocal now
            now += seconds

        return repeating(work)

    runs = {OURS: working(0.001), "peer": working(0.05)}
    contenders = [Contender(name=name, run=sampling.worth(44.5, run)) for name, run in runs.items()]
    samples = take_turns(
        contenders,
        MILLION_NODES_PER_SECOND,
        work="w",
        rounds=2,
        report=lambda _: None,
        seconds=1.0,
        clock=lambda: now,
    )
    assert samples[OURS] == pytest.approx((0.0445, 0.0445))
    row = Row(work="w", unit=MILLION_NODES_PER_SECOND, samples=samples, one_core=True)
    assert row.ratios["peer"] == pytest.approx(50.0)


def expected_histories(state, *, traverser, all_own):
    """Return how many histories a traversal visits in the mean when everyone plays uniformly, by OpenSpiel's rules."""
    if state.is_terminal():
        return 1.0
    each = [expected_histories(state.child(a), traverser=traverser, all_own=all_own) for a in state.legal_actions()]
    if state.is_chance_node():
        return 1.0 + sum(p * size for (_, p), size in zip(state.chance_outcomes(), each, strict=True))
    if state.current_player() == traverser and all_own:
        return 1.0 + sum(each)
    return 1.0 + sum(each) / len(each)


@pytest.mark.parametrize("algorithm", [sampling.EXTERNAL, sampling.OUTCOME])
def test_nodes_are_histories_with_chance_nodes(algorithm):
    pyspiel = pytest.importorskip("pyspiel")
    root = pyspiel.load_game(sampling.LEDUC).new_initial_state()
    all_own = algorithm == sampling.EXTERNAL
    expected = sum(expected_histories(root, traverser=player, all_own=all_own) for player in range(2))
    batch = 20_000  # of traversals in one iteration, so that all of them are at the uniform strategy
    solver = sampling._make(algorithm, sampling.LEDUC, engine="sequence", batch=batch, updates="simultaneous")
    assert sampling.mean_nodes(solver, warm_up=0, counted=1) / batch == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("epsilon", [None, sampling.EPSILON])
def test_open_spiel_visits_what_we_visit(tmp_path, epsilon):
    pytest.importorskip("pyspiel")
    suite = sampling._Suite(rounds=1, report=lambda _: None, one_core=True, folder=tmp_path)
    suite.same_visits(sampling.EXTERNAL if epsilon is None else sampling.OUTCOME)


def test_one_player_an_iteration_would_not_be_timed(tmp_path, monkeypatch):
    pytest.importorskip("pyspiel")
    monkeypatch.setattr(sampling, "histories_an_iteration", lambda *_, **__: 5.3)
    suite = sampling._Suite(rounds=1, report=lambda _: None, one_core=True, folder=tmp_path)
    with pytest.raises(EquipoiseError, match="different work"):
        suite.same_visits(sampling.OUTCOME)


def test_histories_are_counted_from_the_start_and_after_the_warm_up():
    pytest.importorskip("pyspiel")

    class ThreeMoves:
        """Deals both cards and passes once; much more in its first iteration."""

        def __init__(self, game):
            self.game, self.first = game, True

        def iterate(self):
            for _ in range(50 if self.first else 1):
                state = self.game.new_initial_state()
                for action in (0, 1, 0):
                    state.apply_action(action)
            self.first = False

    assert peers.histories_an_iteration(ThreeMoves, warm_up=1, iterations=4, starts=1) == 4.0


def test_looks_grow_geometrically():
    counts = list(itertools.islice(looks(1000, 1.2), 40))
    assert counts[:4] == [1000, 1200, 1440, 1728]
    assert all(after / before == pytest.approx(1.2, abs=1e-3) for before, after in itertools.pairwise(counts))


class Converging:
    """A solver whose exploitability is 1000 / iterations; an iteration takes 1 ms and a look at it 100 s."""

    def __init__(self, *, floor=0.0):
        self.now = 0.0
        self.iterations = 0
        self.floor = floor
        self.looked_after = []

    def clock(self):
        return self.now

    def run(self, iterations):
        self.iterations += iterations
        self.now += 0.001 * iterations

    def exploitability(self):
        self.now += 100.0
        self.looked_after.append(self.iterations)
        return max(self.floor, 1000.0 / self.iterations)


def test_the_first_look_at_or_below_the_level_ends_the_search_and_looks_take_no_time():
    solver = Converging()
    reached = sampling.search(solver.run, solver.exploitability, give_up=1e9, clock=solver.clock)
    expected = list(
        itertools.takewhile(lambda count: 1000.0 / count > sampling.LEVEL, looks(sampling.FIRST_LOOK, sampling.GROWTH))
    )
    assert solver.looked_after[:-1] == expected
    assert reached.exploitability <= sampling.LEVEL
    assert reached.exploitability == 1000.0 / solver.iterations <= sampling.LEVEL
    assert reached.iterations == solver.iterations == solver.looked_after[-1]
    assert reached.seconds == pytest.approx(0.001 * solver.iterations)


def test_the_level_itself_is_enough():
    reached = sampling.search(lambda _: None, lambda: sampling.LEVEL, give_up=1e9)
    assert reached.exploitability <= sampling.LEVEL
    assert reached.iterations == sampling.FIRST_LOOK


def test_a_solver_that_stalls_is_given_up_by_its_solving_time():
    solver = Converging(floor=0.5)
    reached = sampling.search(solver.run, solver.exploitability, give_up=3.0, clock=solver.clock)
    assert reached.exploitability > sampling.LEVEL
    assert 3.0 <= reached.seconds < 1.2 * 3.0  # a look is never more than a fifth of the way too late
    assert reached.exploitability == 0.5


def test_notes_say_the_iterations_and_what_was_given_up():
    found = [sampling.Reached(1.0, 1200, 0.019), sampling.Reached(9.0, 9000, 0.031), sampling.Reached(1.0, 1000, 0.02)]
    note = sampling.level_note("peer", found)
    assert "peer: 1,200 iterations (1,200, 9,000, 1,000)" in note
    assert "given up at exploitability 0.0310" in note
    assert "given up" not in sampling.level_note("peer", found[::2])


def test_threads_on_one_core_are_called_meaningless():
    required, note = sampling.thread_requirement({sampling.ONE_THREAD: 1.6}, cores=1)
    assert required == {}
    assert "meaningless" in note
    required, note = sampling.thread_requirement({sampling.ONE_THREAD: 1.6}, cores=2)
    assert required == {sampling.ONE_THREAD: 1.6}
    assert "meaningless" not in note


def test_tables_are_compared_by_their_bits():
    ours, other = (sampling._make(sampling.EXTERNAL, "kuhn_poker", threads=threads, batch=200) for threads in (2, 1))
    for solver in (ours, other):
        solver.run(3)
    sampling.must_be_identical("w", ours, other)
    assert np.any(ours.strategy_sum)
    ours.strategy_sum[0] = np.nextafter(ours.strategy_sum[0], np.inf)
    with pytest.raises(EquipoiseError, match="strategy_sum is not that of one thread"):
        sampling.must_be_identical("w", ours, other)


def test_a_row_of_threads_is_not_blamed_on_the_system():
    samples = {OURS: (8.0,), sampling.ONE_THREAD: (5.0,)}
    row = Row(
        work="w", unit=ITERATIONS_PER_SECOND, samples=samples, required={sampling.ONE_THREAD: 1.6}, one_core=False
    )
    assert "one core" in format_rows([row])
    both = Row(work="w", unit=ITERATIONS_PER_SECOND, samples=samples, one_core=False, threads=2)
    assert "one core" not in format_rows([both])
    assert both.to_json()["threads"] == 2
    assert both.to_json()["one_core"] is False
    assert row.passed is True


def test_cores_open_to_this_thread():
    assert open_cores() >= 1
    with one_core() as pinned:
        assert open_cores() == 1 or not pinned


def test_the_command_knows_every_suite(monkeypatch, capsys):
    assert set(typing.get_args(typing.get_type_hints(cli.bench)["suite"])) == set(SUITES)
    row = Row(work="w", unit=WALL_SECONDS, samples={OURS: (1.0,)}, one_core=True)
    monkeypatch.setitem(SUITES, "sampling", lambda *, rounds, report: [row] * rounds)
    cli.bench("sampling", rounds=2, json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed["suite"] == "sampling"
    assert printed["rows"] == [row.to_json()] * 2
