"""Sampled methods reach the levels that they should; uniform play and a biased estimator do not. Levels are
exploitability in chips."""

from functools import cache

import pytest

from equipoise.games import load_game
from equipoise.regret.rules import CFR, CFRPlus
from equipoise.sampling.schemes import External, Inclusion, Outcome, Robust
from equipoise.solvers.sampled import SampledCFR
from equipoise.trees.best_response import Evaluator
from tests.naive.remembered import Remembered
from tests.naive.sampling import NaiveRobustMCCFR
from tests.naive.values import nash_conv
from tests.samples import prepared


def exploitability(solver):
    return Evaluator(solver.form).best_responses(solver.average_strategy()).exploitability


@cache
def of_uniform_play(text):
    game = prepared(text, "public")
    strategies = tuple(plex.uniform_strategy() for plex in game.form.treeplexes)
    return Evaluator(game.form).best_responses(strategies).exploitability


@pytest.mark.parametrize("tree", ["public", "histories"])
@pytest.mark.parametrize(
    ("scheme", "level"),
    [
        (External(), 0.05),
        (Inclusion(probe=True), 0.07),
        (Inclusion(), 0.12),
        (Robust(k=1, probe=True), 0.1),
        (Robust(k=1), 0.35),
        (Outcome(), 0.35),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_leduc_after_300_000_traversals_of_each_player(scheme, level, tree, seed):
    game = prepared("leduc_poker", tree)
    solver = SampledCFR(game.form, game.sampled, scheme, CFR(), seed=seed)
    solver.run(300_000)
    assert of_uniform_play("leduc_poker") > 6 * level
    assert exploitability(solver) < level


# Levels of independent prototypes: mini-batch MCCFR+ with b = 500, simultaneous updates and linear averaging. They drew
# board cards where they came to them, as the tree of histories does. On a public tree one board is dealt for all that a
# traversal walks: the same on average, and the less noisy the more actions are walked.
@pytest.mark.parametrize("averaging", ["stochastic", "own_reach"])
@pytest.mark.parametrize("tree", ["histories", "public"])
@pytest.mark.parametrize(("k", "at_200", "at_1000"), [(3, 0.159, 0.065), (0, 0.089, 0.035)])
def test_no_limit_leduc_by_mini_batches(tree, k, at_200, at_1000, averaging):
    game = prepared("nl_leduc(stack=5)", tree)
    options = {"batch": 500, "updates": "simultaneous", "averaging": averaging}
    solver = SampledCFR(game.form, game.sampled, Robust(k=k), CFRPlus(), **options)
    for iterations, level in ((200, at_200), (800, at_1000)):
        solver.run(iterations)
        found = exploitability(solver)
        assert 0.7 * level < found < 1.15 * level
        if tree == "histories":
            assert found == pytest.approx(level, rel=0.15)
    assert of_uniform_play("nl_leduc(stack=5)") > 1.0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_naive_twin_and_the_kernel_learn_kuhn_poker_and_a_biased_one_does_not(seed):
    """DN19 Algorithm 3 read literally (an action that is left out gets no regret) stalls."""
    rules = Remembered(load_game("kuhn_poker"))
    right, biased = (NaiveRobustMCCFR(rules, 1, left_out, seed) for left_out in ("zero value", "zero regret"))
    for twin in (right, biased):
        for _ in range(10_000):
            twin.iterate()
    game = prepared("kuhn_poker", "public")
    solver = SampledCFR(game.form, game.sampled, Robust(k=1), CFR(), seed=seed)
    solver.run(10_000)
    level = 0.05
    assert exploitability(solver) < level
    assert nash_conv(rules, right.average_policy()) / 2 < level
    assert nash_conv(rules, biased.average_policy()) / 2 > 4 * level
    assert of_uniform_play("kuhn_poker") > 4 * level
