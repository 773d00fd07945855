"""NFSP: it learns, goes on after a pause as if there had been none, and refuses what it cannot play."""

import numpy as np
import pytest

from equipoise import EquipoiseError, load_game
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.setup import Setup
from equipoise.trees.best_response import Evaluator

SMALL = {"episodes": 256, "capacity": 5000, "q_capacity": 5000, "minibatch": 256, "width": 16}


def make(game="kuhn_poker", seed=0, **changes):
    recipe = find_recipe("nfsp")
    return recipe.make(Setup(game=load_game(game), seed=seed), recipe.resolve({**SMALL, **changes}))


@pytest.mark.parametrize("seed", [0, 1])
def test_it_learns_kuhn_poker(seed):
    solver = make(seed=seed)
    evaluator = Evaluator(solver.form)
    before = evaluator.best_responses(solver.average_strategy()).exploitability
    solver.run(300)
    after = evaluator.best_responses(solver.average_strategy()).exploitability
    assert before > 0.3 and after < 0.08


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "goofspiel(cards=4)"])
def test_a_restored_solver_goes_on_as_if_nothing_had_happened(game):
    whole, first, second = make(game), make(game), make(game)
    whole.run(30)
    first.run(17)
    second.restore(17, {name: np.array(array) for name, array in first.state().items()})
    second.run(13)
    assert second.nodes_touched == whole.nodes_touched
    for name, array in whole.state().items():
        np.testing.assert_array_equal(second.state()[name], array, err_msg=name)


def test_what_is_kept_is_legal_and_paid_once_an_episode():
    solver = make("leduc_poker", q_capacity=100_000)
    solver.run(3)
    legal, kept = solver._infosets.legal, solver._kept
    for player in range(2):
        seen = int(kept.seen[player])
        row, column, following, _ = kept.transitions[player, :seen].T
        rewards = kept.rewards[player, :seen, 3]
        assert legal[row, column].all()
        own = range(legal.shape[0])[solver._infosets.rows_of(player)]
        assert set(row) <= set(own)
        assert (rewards[following >= 0] == 0.0).all()
        assert (np.abs(rewards[following < 0]) <= 1.0).all() and rewards.any()


def test_rounds_that_forget_each_other_are_refused():
    with pytest.raises(EquipoiseError, match="nfsp cannot play bluff"):
        make("bluff(dice=2x1)")
