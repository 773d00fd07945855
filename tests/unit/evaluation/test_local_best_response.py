"""Local best response: null tests, never above an exact best response, play and exact value agree."""

import numpy as np
import pytest

import equipoise
from equipoise.errors import NotSupported
from equipoise.evaluation.local_best_response import Responder, local_best_response
from equipoise.evaluation.players import BASELINES, player_of
from equipoise.games import load_game
from equipoise.trees.board_evaluator import BoardEvaluator
from equipoise.trees.board_form import board_form
from tests.unit.test_cli import last_json, run  # noqa: F401 - a fixture


@pytest.mark.parametrize("menu", ["fcpa", "all"])
def test_whoever_always_folds_loses_the_blinds_and_nothing_else(menu):
    game = load_game("nolimit_holdem(stack=2000)")
    found = local_best_response(BASELINES["always-fold"], game, hands=20, menu=menu)
    told = found.to_json()
    assert told["mbb_per_game"] == 750.0 and told["mbb_interval"] == [750.0, 750.0]  # 1000 and 500, in turn
    assert sorted(found.seats) == [50.0, 100.0]


@pytest.mark.parametrize("iterations", [1, 5, 100])
@pytest.mark.parametrize("game", ["nl_leduc(stack=5)", "leduc_poker", "kuhn_poker"])
def test_it_never_wins_more_than_a_best_response(game, iterations):
    solution = equipoise.solve(game, iterations=iterations)
    for menu in ("fc", "all"):
        responder = Responder(player_of("policy", solution.policy), load_game(game), menu)
        won = (responder.value(0) + responder.value(1)) / 2
        assert won <= solution.exploitability + 1e-9
        if iterations == 1 and menu == "all" and game != "kuhn_poker":
            assert won > 0.3 * solution.exploitability  # it finds much of what there is to find


def test_a_larger_menu_finds_more_against_a_player_who_folds_too_much():
    game = load_game("nl_leduc(stack=5)")
    few, all_ = (Responder(BASELINES["always-fold"], game, menu) for menu in ("fc", "all"))
    assert all_.value(0) > few.value(0)


def test_hands_that_are_played_agree_with_the_exact_value():
    game = load_game("nl_leduc(stack=5)")
    player = player_of("policy", equipoise.solve(game, iterations=3).policy)
    responder = Responder(player, game)
    exact = (responder.value(0) + responder.value(1)) / 2
    found = local_best_response(player, game, hands=1200, seed=1)
    assert abs(found.estimate.mean - exact) < 4 * found.estimate.standard_error
    assert found.estimate.standard_error < 0.1 * abs(exact) + 0.1


def test_equities_are_those_of_all_boards():
    game = load_game("flop_holdem")
    responder = Responder(BASELINES["always-call"], game)
    aces = (48, 49)
    board = (0, 5, 10)
    equity = responder._equity(aces, board, np.random.default_rng(0))
    for hand in ((50, 51), (1, 2), (20, 33)):
        mine, other = (game.strength_of(cards, board) for cards in (aces, hand))
        assert equity[game.hands.index(hand)] == float(mine > other) + 0.5 * (mine == other)


@pytest.mark.parametrize("name", ["always-call", "uniform"])
def test_on_flop_holdem_it_stays_below_the_exact_best_response(name):
    game = load_game("flop_holdem")
    form = board_form(game)
    exact = BoardEvaluator(form, threads=2).best_responses(BASELINES[name].strategy_over(form)).exploitability
    found = local_best_response(BASELINES[name], game, hands=3000, seed=4).estimate
    assert found.mean - 3 * found.standard_error <= exact  # of the luck of these hands
    assert found.mean > 0.5 * exact


def test_it_is_played_on_the_command_line(run):  # noqa: F811
    told = last_json(run("evaluate", "always-call", "--lbr", "--game", "flop_holdem", "--hands", "40", "--json")[1])
    assert told["menu"] == "all" and told["hands"] == 40 and told["mbb_interval"][0] < told["mbb_per_game"]
    code, out, _ = run("evaluate", "uniform", "--lbr", "--game", "flop_holdem", "--hands", "20", "--menu", "fc")
    assert code == 0 and "exploitability (nash_conv / 2) is at least as much" in out


def test_other_games_are_refused():
    with pytest.raises(NotSupported, match="local best response is for poker; goofspiel"):
        local_best_response(BASELINES["uniform"], load_game("goofspiel(cards=4)"))
