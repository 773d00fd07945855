"""Threads change how long a run takes, and not one bit of its result."""

import numpy as np
import pytest

from equipoise.solvers.fictitious_play import FictitiousPlay
from equipoise.trees.best_response import Evaluator
from tests.solvers import make_solver
from tests.strategies import random_policy, to_strategies

FORMS = [("goofspiel(cards=5)", "sequence"), ("nl_leduc(stack=7)", "vector"), ("bluff(dice=1x1)", "vector")]


@pytest.mark.parametrize("algorithm", ["cfr+", "dcfr", "pcfr+"])
@pytest.mark.parametrize(("text", "engine"), FORMS)
def test_two_threads_give_the_bits_of_one(text, engine, algorithm, compiled):
    one, two = (make_solver(compiled(text, engine), algorithm, threads=threads) for threads in (1, 2))
    for solver in (one, two):
        solver.run(30)
    assert np.any(one.regret_sum[0] != 0.0)
    for name, array in one.state().items():
        np.testing.assert_array_equal(array, two.state()[name], err_msg=name)


@pytest.mark.parametrize(("text", "engine"), FORMS)
def test_two_threads_evaluate_to_the_bits_of_one(text, engine, compiled):
    form = compiled(text, engine)
    strategies = to_strategies(form, random_policy(form, 0))
    one, two = (Evaluator(form, threads=threads).best_responses(strategies) for threads in (1, 2))
    assert one == two


def test_two_threads_of_fictitious_play(compiled):
    one, two = (FictitiousPlay(compiled("goofspiel(cards=5)"), threads=threads) for threads in (1, 2))
    for solver in (one, two):
        solver.run(10)
    for name, array in one.state().items():
        np.testing.assert_array_equal(array, two.state()[name], err_msg=name)
