"""On random games: the solvers find the value that linear programming finds, and the kernels the naive numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.games import Game
from equipoise.trees.best_response import Evaluator
from equipoise.trees.compile import compile_game
from equipoise.trees.game_tree import tree_from_rules
from equipoise.trees.sequence_form import sequence_form
from tests.naive import values as naive
from tests.naive.cfr import NaiveCFR
from tests.naive.linear_program import game_value
from tests.naive.remembered import Remembered
from tests.random_games import RandomGame
from tests.solvers import ALGORITHMS, solved
from tests.strategies import largest_difference, random_policy, to_policy, to_strategies


def infosets_of(game: Game) -> set[tuple[int, str]]:
    return {(state.player, state.infoset_key()) for state in naive.histories(game) if state.player >= 0}


random_games = st.builds(
    lambda **drawn: Remembered(RandomGame(**drawn)),
    seed=st.integers(0, 2**32 - 1),
    depth=st.integers(1, 6),
    max_actions=st.integers(1, 3),
    secrecy=st.sampled_from([0.0, 0.3, 0.7, 1.0]),
).filter(lambda game: bool(infosets_of(game)))


@settings(max_examples=300)
@given(game=random_games, algorithm=st.sampled_from(["cfr+", "pcfr+", "dcfr"]))
def test_solvers_find_the_value_of_the_linear_program(game, algorithm):
    form = compile_game(game)
    found = Evaluator(form).best_responses(solved(form, algorithm, 1000).average_strategy())
    first, second = found.best_response_values
    value = game_value(game)
    assert found.nash_conv + 1e-12 >= 0.0
    # Of 1,256 games: median 2e-6, largest 0.018. Payoffs lie between -10 and 10; uniform play has more in half of them.
    assert found.nash_conv < 0.1
    assert -second - 1e-7 <= value <= first + 1e-7  # what each player is sure of: bounds on the value of the game
    assert found.value == pytest.approx(value, abs=found.nash_conv + 1e-7)


@pytest.mark.nojit
@settings(max_examples=300)
@given(game=random_games, seed=st.integers(0, 1000))
def test_values_and_best_responses_equal_the_naive_ones(game, seed):
    form = compile_game(game)
    assert form.num_infosets == len(infosets_of(game))
    policy = random_policy(form, seed)
    found = Evaluator(form).best_responses(to_strategies(form, policy))
    assert found.value == pytest.approx(naive.expected_value(game.root(), policy), abs=1e-10)
    expected = [naive.best_response_value(game, policy, player) for player in range(2)]
    assert list(found.best_response_values) == pytest.approx(expected, abs=1e-10)
    assert found.nash_conv >= -1e-10
    assert found.best_response_values[0] >= found.value - 1e-10 >= -found.best_response_values[1] - 2e-10


@pytest.mark.nojit
@settings(max_examples=150)
@given(
    game=random_games,
    algorithm=st.sampled_from(["cfr", "cfr+", "lcfr", "dcfr", "pcfr+"]),
    updates=st.sampled_from(["alternating", "simultaneous"]),
)
def test_one_iteration_equals_the_naive_one(game, algorithm, updates):
    form = compile_game(game)
    twin = NaiveCFR(game, algorithm, updates)
    twin.iterate()
    run = solved(form, algorithm, 1, updates=updates)
    assert largest_difference(to_policy(form, run.strategy_sum), twin.strategy_sum) < 1e-9
    if algorithm != "dcfr":
        assert largest_difference(to_policy(form, run.regret_sum), twin.regret_sum) < 1e-9


@settings(max_examples=150)
@given(game=random_games, algorithm=st.sampled_from(ALGORITHMS), iterations=st.integers(1, 200))
def test_strategies_are_distributions(game, algorithm, iterations):
    form = compile_game(game)
    solver = solved(form, algorithm, iterations)
    for policy in [to_policy(form, solver.average_strategy())] + (
        [to_policy(form, solver.strategy)] if algorithm != "xfp" else []
    ):
        for probabilities in policy.values():
            assert min(probabilities) >= 0.0
            assert sum(probabilities) == pytest.approx(1.0, abs=1e-12)


@settings(max_examples=150)
@given(game=random_games)
def test_every_history_and_infoset_of_the_rules_is_in_the_tree(game):
    tree = tree_from_rules(game)
    assert tree.num_nodes == sum(1 for _ in naive.histories(game))
    assert set(tree.labels.keys()) == {key for _, key in infosets_of(game)}
    form = sequence_form(tree)
    for player, plex in enumerate(form.treeplexes):
        own = {key for owner, key in infosets_of(game) if owner == player}
        assert set(form.keys(player)) == own
        sequences, first_action = plex.sequence_table()
        assert sorted(sequences) == list(range(1, plex.num_sequences))  # sequence 0 is the empty one
        assert np.array_equal(np.diff(first_action), plex.num_actions())
