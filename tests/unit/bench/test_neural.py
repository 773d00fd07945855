"""What the neural suite rests on, without timing or training: how nodes are counted, and the search for a level."""

import itertools
import sys

import numpy as np
import pytest

from equipoise.bench import neural
from equipoise.bench.measure import OURS
from equipoise.errors import EquipoiseError


@pytest.fixture
def kuhn():
    return pytest.importorskip("pyspiel").load_game("kuhn_poker").new_initial_state()


def uniform(state):
    actions = state.legal_actions()
    return dict.fromkeys(actions, 1.0 / len(actions))


def always(action):
    return lambda state: {legal: float(legal == action) for legal in state.legal_actions()}


PASS, BET = 0, 1


@pytest.mark.parametrize(
    ("traverser", "strategy", "visits"),
    [
        # Two deals, then the first decision; p, pb, pp, pbp, pbb, b, bp, bb are what can come after it.
        (0, always(PASS), 3 + 4),  # p, pp, b, bp
        (0, always(BET), 3 + 6),  # p, pb, pbp, pbb, b, bb
        (0, uniform, 3 + 5),
        (1, always(PASS), 3 + 4),  # p, pp, pb, pbp
        (1, always(BET), 3 + 3),  # b, bp, bb
        (1, uniform, 3 + 3.5),
    ],
)
def test_a_traversal_follows_all_own_actions_and_one_of_all_else(kuhn, traverser, strategy, visits):
    assert neural.expected_visits(kuhn, traverser, strategy) == pytest.approx(visits)


def test_expected_visits_are_the_mean_of_sampled_ones(kuhn):
    dice = np.random.default_rng(0)

    def lopsided(state):
        return {PASS: 0.2, BET: 0.8} if "0" in state.information_state_string() else {PASS: 0.9, BET: 0.1}

    def sampled(state):
        if state.is_terminal():
            return 1
        if not state.is_chance_node() and state.current_player() == 0:
            return 1 + sum(sampled(state.child(action)) for action in state.legal_actions())
        weights = dict(state.chance_outcomes()) if state.is_chance_node() else lopsided(state)
        return 1 + sampled(state.child(int(dice.choice(list(weights), p=list(weights.values())))))

    mean = sum(sampled(kuhn) for _ in range(2000)) / 2000
    assert mean == pytest.approx(neural.expected_visits(kuhn, 0, lopsided), rel=0.02)


def test_a_strategy_is_asked_once_at_each_infoset(kuhn):
    asked = []

    def strategy(state):
        asked.append(state.information_state_string())
        return uniform(state)

    once = neural.by_infoset(strategy)
    visits = neural.expected_visits(kuhn, 0, once)
    assert visits == neural.expected_visits(kuhn, 0, uniform)
    assert len(asked) == len(set(asked)) == 6  # two infosets for each of the opponent's three cards


def test_probabilities_of_legal_actions_add_up_to_one():
    assert neural.rescaled({0: 0.2, 2: 0.6}) == {0: pytest.approx(0.25), 2: pytest.approx(0.75)}


class Recursive:
    """Stands in for OpenSpiel's solver: a traversal of player p makes 3 + p calls."""

    def __init__(self):
        self.players = []

    def _traverse_game_tree(self, state, player):
        if state == 0:
            self.players.append(player)
        if state < 2 + player:
            self._traverse_game_tree(state + 1, player)


def test_the_peers_visits_are_counted_by_its_own_recursion():
    peer = object.__new__(neural.OpenSpielDeepCFR)
    peer.solver, peer._root = Recursive(), 0
    assert peer.counted_visits(5) == 3 + 4
    assert peer.solver.players == [0] * 5 + [1] * 5
    assert "_traverse_game_tree" not in vars(peer.solver)  # it is not slowed down where it is timed


@pytest.mark.parametrize(("counted", "same"), [(40.0, True), (41.9, True), (37.0, False), (float("nan"), False)])
def test_visits_that_are_not_expected_are_not_timed(tmp_path, counted, same):
    lines: list[str] = []
    suite = neural._Suite(rounds=1, report=lines.append, one_core=True, folder=tmp_path)
    if same:
        suite._same_visits("w", "peer", 40.0, counted)
    else:
        with pytest.raises(EquipoiseError, match="different work"):
            suite._same_visits("w", "peer", 40.0, counted)
    assert "peer visits" in lines[0]  # shown either way


def test_the_peer_finishes_the_iteration_in_which_its_time_ends():
    now = 0.0

    def iterate():
        nonlocal now
        now += 30.0

    assert neural.run_for(iterate, 200.0, clock=lambda: now) == (210.0, 7)


class Converging:
    """A solver whose exploitability is 10 / iterations: an iteration takes 1 s, a policy 5 s, an evaluation 1000 s."""

    def __init__(self, *, floor=0.0):
        self.now = 0.0
        self.iterations = 0
        self.floor = floor

    def run(self, iterations):
        self.iterations += iterations
        self.now += iterations

    def average(self):
        self.now += 5.0
        return max(self.floor, 10.0 / self.iterations)

    def exploitability(self, average):
        self.now += 1000.0
        return average

    def search(self, **limits):
        looked_at = neural.looks(neural.FIRST_LOOK, neural.GROWTH)
        clock = {"clock": lambda: self.now}
        return neural.time_to_level(self.run, self.average, self.exploitability, looked_at=looked_at, **clock, **limits)


def test_all_iterations_and_the_last_policy_are_timed():
    reached = Converging().search(level=0.6, give_up=1e9)  # 8 and 12 iterations are not enough
    assert reached == neural.Reached(18.0 + 5.0, 18, 10.0 / 18, 5.0)


def test_the_level_itself_is_enough():
    assert Converging().search(level=10.0 / 12, give_up=1e9).iterations == 12


def test_a_solver_that_stalls_is_given_up():
    reached = Converging(floor=0.7).search(level=0.6, give_up=25.0)
    assert reached.exploitability == 0.7
    assert reached.iterations == 27  # after 18 iterations it was 23 s


def test_each_call_is_timed():
    now, steps = 0.0, iter([1.0, 4.0, 2.0])

    def call():
        nonlocal now
        now += next(steps)

    assert neural.each_seconds(call, 3, clock=lambda: now) == (1.0, 4.0, 2.0)


FOUND = [neural.Reached(9.0, 12, 0.40, 5.0), neural.Reached(12.0, 18, 0.39, 6.0), neural.Reached(9.0, 12, 0.42, 5.5)]


def test_notes_say_what_was_counted():
    theirs, ours = neural.level_notes(neural.Learnt(210.0, 11, 45.0, 0.42), 2.37, FOUND)
    assert "exploitability 0.4200 after 11 iterations" in theirs
    assert "policy fit of 45.0 s is not counted" in theirs
    assert "uniform" not in theirs
    assert ours.startswith(f"{OURS}: 12, 18, 12 iterations")
    assert "policy fit of 5.50 s, which is counted" in ours
    assert "given up" not in ours


@pytest.mark.parametrize("level", [2.37, 3.0])
def test_a_level_that_uniform_play_has_is_called_meaningless(level):
    theirs, _ = neural.level_notes(neural.Learnt(210.0, 1, 45.0, level), 2.37, FOUND)
    assert "no better than playing uniformly (2.3700)" in theirs


def test_a_level_that_was_not_reached_is_not_hidden():
    _, ours = neural.level_notes(neural.Learnt(210.0, 11, 45.0, 0.395), 2.37, FOUND)
    assert "given up at exploitability 0.4000, 0.4200: it would take longer" in ours


@pytest.mark.parametrize("module", neural.PEER_MODULES)
def test_whatever_is_missing_is_one_line_with_the_remedy(monkeypatch, module):
    pytest.importorskip("open_spiel")
    for before in itertools.takewhile(lambda name: name != module, neural.PEER_MODULES):
        monkeypatch.setitem(sys.modules, before, sys)  # stands in, where it is not installed
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(EquipoiseError, match=rf"{module}; .*pip install 'equipoise\[bench\]'") as caught:
        neural.neural(rounds=1, report=lambda _: None)
    assert "\n" not in str(caught.value)


def test_rounds_must_be_positive():
    with pytest.raises(EquipoiseError, match="rounds=0"):
        neural.neural(rounds=0, report=lambda _: None)
