"""The engine over boards beside OpenSpiel: value and best responses of a policy on decks that OpenSpiel can list."""

import pyspiel
import pytest

from equipoise.games import CHANCE, TERMINAL
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.trees.board_evaluator import BoardEvaluator
from equipoise.trees.board_form import board_form
from tests.board_strategies import RandomStrategy
from tests.equivalence.test_holdem_open_spiel import deal, dealt_by
from tests.holdem import small_holdem


def their_game(ranks, suits, board, caps):
    return pyspiel.load_game(
        "universal_poker(betting=limit,bettingAbstraction=fcpa,numPlayers=2,numRounds=2,blind=1 2,raiseSize=2 2,"
        f"maxRaises={caps[0]} {caps[1]},stack=1000 1000,firstPlayer=1 2,numHoleCards=2,numBoardCards=0 {board},"
        f"numSuits={suits},numRanks={ranks})"
    )


def copy_policy(theirs, state, policy, rows):
    """Fill ``rows`` with a policy by OpenSpiel's infosets: one way to deal each set of cards is enough."""
    if state.player == TERMINAL:
        assert theirs.is_terminal() and theirs.returns()[0] == state.payoff()
        return
    if state.player == CHANCE:
        for action in state.actions():
            after = theirs.clone()
            deal(after, state.game.deck, dealt_by(state, action))
            copy_policy(after, state.child(action), policy, rows)
        return
    key, actions = theirs.information_state_string(), theirs.legal_actions()
    if key not in rows:
        numbers = policy.action_probabilities(state.infoset_key()).values()
        rows[key] = list(zip(actions, numbers, strict=True))
    for theirs_next, ours_next in zip(actions, state.actions(), strict=True):
        copy_policy(theirs.child(theirs_next), state.child(ours_next), policy, rows)


def test_value_and_nash_conv_are_open_spiels():
    shape = 3, 2, 1, (2, 2)
    game, theirs = small_holdem(*shape), their_game(*shape)
    form = board_form(game)
    strategy, rows = RandomStrategy(form), {}
    copy_policy(theirs.new_initial_state(), game.root(), HoldemPolicy(rules=form.game, strategy=strategy), rows)
    policy = pyspiel.TabularPolicy(rows)
    found = BoardEvaluator(form).best_responses(strategy)
    value = pyspiel.expected_returns(theirs.new_initial_state(), policy, -1, False)[0]
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.nash_conv == pytest.approx(pyspiel.nash_conv(theirs, policy), abs=1e-9)
    assert found.nash_conv > 1.0 and len(rows) > 100
