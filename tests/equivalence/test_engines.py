"""Both engines give the same numbers, and both give the numbers of the naive twins."""

from functools import cache

import numpy as np
import pytest

from equipoise.games import load_game
from equipoise.solvers.fictitious_play import FictitiousPlay
from equipoise.trees.best_response import Evaluator
from equipoise.trees.treeplex import write_plan
from tests.naive import values as naive
from tests.naive.cfr import VARIANTS, NaiveCFR
from tests.naive.remembered import Remembered
from tests.solvers import make_solver
from tests.strategies import largest_difference, random_policy, to_policy, to_strategies

nojit = pytest.mark.nojit
TINY = ["kuhn_poker", "one_card_poker(cards=4)", "nl_leduc(stack=2)"]
BOTH_ENGINES = [pytest.param(text, marks=nojit) for text in TINY] + [
    "leduc_poker",
    "nl_leduc(stack=3)",
    "nl_leduc(stack=6)",
    "bluff(dice=1x1)",
]
# every (game, engine) that a naive twin can follow
NAIVE = [pytest.param(text, engine, marks=nojit) for text in TINY for engine in ("sequence", "vector")] + [
    pytest.param("goofspiel(cards=3)", "sequence", marks=nojit),
    ("goofspiel(cards=4,last_round=played)", "sequence"),
    ("leduc_poker", "sequence"),
    ("leduc_poker", "vector"),
    ("nl_leduc(stack=4)", "vector"),
]


@cache
def remembered(text):
    return Remembered(load_game(text))


def plan_of(form, strategies, player):
    plan = np.empty_like(strategies[player])
    write_plan(form.treeplexes[player], strategies[player], plan)
    return plan


@pytest.mark.parametrize("text", BOTH_ENGINES)
def test_engines_agree_on_values_and_best_responses(text, compiled):
    sequence, vector = compiled(text, "sequence"), compiled(text, "vector")
    assert (sequence.engine, vector.engine) == ("sequence", "vector")
    for seed in range(1 if text == "bluff(dice=1x1)" else 3):
        policy = random_policy(sequence, seed)
        first = Evaluator(sequence).best_responses(to_strategies(sequence, policy))
        second = Evaluator(vector).best_responses(to_strategies(vector, policy))
        assert second.value == pytest.approx(first.value, abs=1e-9)
        assert second.best_response_values == pytest.approx(first.best_response_values, abs=1e-9)


# Additions come in another order, which shows once two actions of an infoset are equally good: from then on regret
# matching may choose the one or the other. In this game that is so after a few iterations, in the others it is not.
@pytest.mark.parametrize(
    ("text", "iterations"),
    [pytest.param(text, 50, marks=nojit) for text in TINY]
    + [("leduc_poker", 50), ("nl_leduc(stack=6)", 3), ("bluff(dice=1x1)", 50)],
)
def test_engines_run_the_same_cfr_plus(text, iterations, compiled):
    averages = []
    for engine in ("sequence", "vector"):
        run = make_solver(compiled(text, engine), "cfr+")
        run.run(iterations)
        averages.append(to_policy(run.form, run.average_strategy()))
    assert largest_difference(*averages) < 1e-9


@pytest.mark.parametrize(("text", "engine"), NAIVE)
def test_values_and_best_responses_equal_the_naive_ones(text, engine, compiled):
    game, form = remembered(text), compiled(text, engine)
    for seed in range(2):
        policy = random_policy(form, seed)
        found = Evaluator(form).best_responses(to_strategies(form, policy))
        assert found.value == pytest.approx(naive.expected_value(game.root(), policy), abs=1e-12)
        for player in range(2):
            expected = naive.best_response_value(game, policy, player)
            assert found.best_response_values[player] == pytest.approx(expected, abs=1e-12)
        assert found.nash_conv == pytest.approx(naive.nash_conv(game, policy), abs=1e-12)
        assert found.exploitability == found.nash_conv / 2


@pytest.mark.parametrize(("text", "engine"), NAIVE)
def test_a_written_best_response_is_pure_and_wins_what_it_says(text, engine, compiled):
    game, form = remembered(text), compiled(text, engine)
    policy = random_policy(form, 0)
    strategies = to_strategies(form, policy)
    for player, sign in ((0, 1.0), (1, -1.0)):
        best = [strategies[0].copy(), strategies[1].copy()]
        value = Evaluator(form).respond(player, plan_of(form, strategies, 1 - player), best[player])
        response = to_policy(form, (best[0], best[1]))
        assert {p for key in form.keys(player) for p in response[key]} <= {0.0, 1.0}
        assert {sum(response[key]) for key in form.keys(player)} == {1.0}
        assert sign * naive.expected_value(game.root(), response) == pytest.approx(value, abs=1e-12)
        assert value == pytest.approx(naive.best_response_value(game, policy, player), abs=1e-12)


@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("text", "engine", "iterations"),
    [
        pytest.param("kuhn_poker", "sequence", 20, marks=nojit),
        pytest.param("kuhn_poker", "vector", 20, marks=nojit),
        pytest.param("goofspiel(cards=3)", "sequence", 20, marks=nojit),
        ("leduc_poker", "sequence", 3),
        ("leduc_poker", "vector", 3),
    ],
)
def test_every_update_rule_equals_the_naive_one(text, engine, iterations, variant, updates, compiled):
    twin = NaiveCFR(remembered(text), variant, updates)
    run = make_solver(compiled(text, engine), variant, updates=updates)
    for _ in range(iterations):
        twin.iterate()
        run.run(1)
        assert largest_difference(to_policy(run.form, run.strategy), twin.strategy) < 1e-9
        assert largest_difference(to_policy(run.form, run.average_strategy()), twin.average_policy()) < 1e-9
        if variant != "dcfr":  # the naive one discounts its sums after the iteration, as printed; ours before the next
            assert largest_difference(to_policy(run.form, run.regret_sum), twin.regret_sum) < 1e-9
            assert largest_difference(to_policy(run.form, run.strategy_sum), twin.strategy_sum) < 1e-9


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("engine", ["sequence", "vector"])
def test_where_a_run_is_cut_into_calls_makes_no_difference(variant, engine, compiled):
    whole, parts = (make_solver(compiled("leduc_poker", engine), variant) for _ in range(2))
    whole.run(40)
    for count in (1, 2, 30, 7):
        parts.run(count)
    for name, array in whole.state().items():
        np.testing.assert_array_equal(array, parts.state()[name], err_msg=name)


@nojit
@pytest.mark.parametrize("text", ["kuhn_poker", "goofspiel(cards=3)"])
def test_fictitious_play_averages_best_responses_by_their_plans(text, compiled):
    form, game = compiled(text), remembered(text)
    run = FictitiousPlay(form)
    other = random_policy(form, 1)
    played = [to_policy(form, run.average_strategy())]
    for _ in range(5):
        average = run.average_strategy()
        best = (average[0].copy(), average[1].copy())
        for player in range(2):
            Evaluator(form).respond(player, plan_of(form, average, 1 - player), best[player])
        played.append(to_policy(form, best))
        run.run(1)
    average = to_policy(form, run.average_strategy())
    for player in range(2):
        mine = set(form.keys(player))

        def value(policy, mine=mine):
            """Return the value when one player follows ``policy`` and the other plays at random."""
            return naive.expected_value(game.root(), {k: policy[k] if k in mine else other[k] for k in policy})

        assert value(average) == pytest.approx(sum(map(value, played)) / len(played), abs=1e-12)
