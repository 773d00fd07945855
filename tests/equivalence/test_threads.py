"""Threads change how long a run takes, and not one bit of its result."""

import numpy as np
import pytest

from equipoise.games import load_game
from equipoise.solvers.fictitious_play import FictitiousPlay
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.setup import Setup
from equipoise.threads import set_threads
from equipoise.trees.best_response import Evaluator
from tests.solvers import make_solver
from tests.strategies import random_policy, to_strategies

FORMS = [("goofspiel(cards=5)", "sequence"), ("nl_leduc(stack=7)", "vector"), ("bluff(dice=1x1)", "vector")]


class Fixed:
    """A pace that uses some numbers of threads in turn, an iteration each, whatever the clock says."""

    def __init__(self, *counts):
        self.threads, self.counts = max(counts), counts
        self._turn = 0

    def slices(self, steps):
        for step in range(steps):
            self._turn += 1
            threads = self.counts[self._turn % len(self.counts)]
            set_threads(threads)
            yield step, step + 1, threads


@pytest.mark.parametrize("algorithm", ["cfr+", "dcfr", "pcfr+"])
@pytest.mark.parametrize(("text", "engine"), FORMS)
def test_two_threads_give_the_bits_of_one(text, engine, algorithm, compiled):
    one, two = (make_solver(compiled(text, engine), algorithm, threads=threads) for threads in (1, 2))
    two._pace = Fixed(2)
    for solver in (one, two):
        solver.run(30)
    assert np.any(one.regret_sum[0] != 0.0)
    for name, array in one.state().items():
        np.testing.assert_array_equal(array, two.state()[name], err_msg=name)


@pytest.mark.parametrize(("text", "engine"), FORMS)
def test_two_threads_evaluate_to_the_bits_of_one(text, engine, compiled):
    form = compiled(text, engine)
    strategies = to_strategies(form, random_policy(form, 0))
    one, two = (Evaluator(form, threads=threads) for threads in (1, 2))
    two._pace = Fixed(2)
    assert one.best_responses(strategies) == two.best_responses(strategies)


def test_two_threads_of_fictitious_play(compiled):
    one, two = (FictitiousPlay(compiled("goofspiel(cards=5)"), threads=threads) for threads in (1, 2))
    two._evaluator._pace = Fixed(2)
    for solver in (one, two):
        solver.run(10)
    for name, array in one.state().items():
        np.testing.assert_array_equal(array, two.state()[name], err_msg=name)


@pytest.mark.parametrize("text", ["goofspiel(cards=4)", "nl_leduc(stack=5)"])
def test_changing_threads_on_the_way_changes_no_bit_of_a_full_width_run(text, compiled):
    one, restless = (make_solver(compiled(text), "dcfr", threads=threads) for threads in (1, 2))
    restless._pace = Fixed(1, 2)
    for solver in (one, restless):
        solver.run(9)
        solver.run(8)
    for name, array in one.state().items():
        np.testing.assert_array_equal(array, restless.state()[name], err_msg=name)


@pytest.mark.parametrize("algorithm", ["es-mccfr", "rs-mccfr+"])
@pytest.mark.parametrize("rule", ["cfr", "discounted"])
def test_changing_threads_on_the_way_changes_no_bit_of_a_sampled_run(algorithm, rule):
    recipe = find_recipe(algorithm)
    one, restless = (
        recipe.make(
            Setup(game=load_game("nl_leduc(stack=5)"), seed=3, threads=threads),
            recipe.resolve({"batch": 600, "rule": rule}),
        )
        for threads in (1, 2)
    )
    restless._batches.pace = Fixed(1, 2, 2)
    for solver in (one, restless):
        solver.run(9)
        solver.run(8)
    assert np.any(one.regret_sum != 0.0)
    for name, array in one.state().items():
        np.testing.assert_array_equal(array, restless.state()[name], err_msg=name)
