"""Spots that end where a card is dealt: values at their leaves, against textbook CFR and full solves."""

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.games.spots import spot
from equipoise.regret.rules import DiscountedCFR
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.trees.spot_evaluator import SpotEvaluator
from equipoise.trees.spot_form import spot_form
from tests.equivalence.test_spot_engine import compare, from_random_regrets, policy_of, solved
from tests.naive.cfr import NaiveCFR
from tests.naive.linear_program import game_value
from tests.naive.values import best_response_value, expected_value
from tests.spots import small_spot

ENDING = [("turn", "river"), ("flop", "river"), ("flop", "turn")]


@pytest.mark.parametrize("values", ["check-down", "zero"])
@pytest.mark.parametrize(("name", "until"), ENDING)
def test_iterations_are_those_of_textbook_cfr(name, until, values):
    compare(*from_random_regrets(small_spot(name, until=until, values=values), "dcfr", DiscountedCFR()))


@pytest.mark.parametrize("values", ["check-down", "zero"])
@pytest.mark.parametrize(("name", "until"), ENDING)
def test_values_and_best_responses_by_the_definition(name, until, values):
    game = small_spot(name, until=until, values=values)
    solver = solved(game, 3)
    expected = policy_of(solver, NaiveCFR(game, "dcfr").strategy)
    found = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
    assert found.value == pytest.approx(expected_value(game.root(), expected), abs=1e-9)
    for player in range(2):
        assert found.best_response_values[player] == pytest.approx(
            best_response_value(game, expected, player), abs=1e-9
        )


def test_a_turn_that_ends_before_the_river_is_worth_what_its_linear_program_says():
    game = small_spot("turn", until="river")
    solver = solved(game, 3000)
    found = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
    assert found.value == pytest.approx(game_value(game), abs=1e-4)
    assert found.exploitability < 1e-3


def test_exact_leaves_are_the_full_solve():
    ranges = {"first": "66+,A8s+,JTs", "second": "QQ-22,KQ:0.5,T9s"}
    full = spot("Td9d6hQc", 200, 900, **ranges)
    ending = spot("Td9d6hQc", 200, 900, **ranges, until="river", values="exact")
    solvers = [SpotCFR(spot_form(game), DiscountedCFR()) for game in (full, ending)]
    for solver in solvers:
        solver.run(20)
    for one, other in zip(*(solver.state().values() for solver in solvers), strict=True):
        assert (one == other).all()


def test_values_at_leaves_change_what_is_played():
    ranges = {"first": "66+,A8s+,JTs", "second": "QQ-22,KQ:0.5,T9s"}
    values = {}
    for name in ("exact", "check-down", "zero"):
        solver = solved(spot("Td9d6hQc", 200, 900, **ranges, until="river", values=name), 300, "float32")
        values[name] = SpotEvaluator(solver.form).best_responses(solver.average_strategy()).value
    assert np.ptp(list(values.values())) > 1.0
    assert abs(values["check-down"] - values["exact"]) < abs(values["zero"] - values["exact"])


@pytest.mark.parametrize(
    ("board", "more", "words"),
    [
        ("Td9d6hQc", {"until": "turn"}, "the turn is already on the board; give river"),
        ("Td9d6hQc", {"until": "flop"}, "the flop is already on the board; give river"),
        ("Td9d6h", {"until": "flop"}, "give turn or river"),
        ("Td9d6hQc2c", {"until": "river"}, "has no round to end before"),
        ("Td9d6hQc", {"until": "tuesday"}, "is not a round; give turn or river"),
        ("Td9d6hQc", {"values": "zero"}, "give until=river, too"),
        ("Td9d6hQc", {"until": "river", "values": "zero", "rake": 0.05}, "ignores rake"),
    ],
)
def test_what_makes_no_sense_is_refused(board, more, words):
    with pytest.raises(EquipoiseError, match=words):
        spot(board, 200, 900, **more)


def test_texts_and_spots_say_the_same():
    game = spot("Td9d6hQc", 200, 900, "AA", "KK", until="river", values="zero")
    assert game.name.endswith("bets=1-allin,until=river,values=zero)")
    from equipoise.games import load_game

    assert load_game(game.name) == game
    assert spot("Td9d6hQc", 200, 900, "AA", "KK", until="river").name.endswith("until=river,values=check-down)")
