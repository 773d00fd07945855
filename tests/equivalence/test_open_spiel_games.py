"""Our rules beside OpenSpiel's, history by history; and the same exploitability for the same policies."""

import pyspiel
import pytest

from equipoise.games import CHANCE, TERMINAL, load_game
from equipoise.trees.best_response import Evaluator
from tests.strategies import random_policy, to_strategies

SHARED = [
    "kuhn_poker",
    "leduc_poker",
    "nl_leduc(stack=2)",
    "nl_leduc(stack=3)",
    "nl_leduc(stack=5)",
    "nl_leduc(stack=7)",
    "goofspiel(cards=3)",
    "goofspiel(cards=4)",
    "goofspiel(cards=5)",
    "bluff(dice=1x1)",
]


def side_by_side(game):
    """Yield every history of our game with OpenSpiel's state after the same actions, in the order of each."""
    stack = [(game.root(), pyspiel.load_game(game.open_spiel_name()).new_initial_state())]
    while stack:
        ours, theirs = stack.pop()
        yield ours, theirs
        if theirs.is_terminal():
            continue
        their_actions = theirs.legal_actions()
        assert len(ours.actions()) == len(their_actions)
        stack.extend((ours.child(a), theirs.child(b)) for a, b in zip(ours.actions(), their_actions, strict=True))


@pytest.mark.parametrize("text", SHARED)
def test_same_histories_and_same_infosets(text):
    ours_to_theirs, theirs_to_ours = {}, {}
    for ours, theirs in side_by_side(load_game(text)):
        if theirs.is_terminal():
            assert ours.player == TERMINAL
            assert ours.payoff() == theirs.returns()[0] == -theirs.returns()[1]
        elif theirs.is_chance_node():
            assert ours.player == CHANCE
            chances = [probability for _, probability in theirs.chance_outcomes()]
            assert list(ours.chance_probabilities()) == pytest.approx(chances, abs=1e-12)
        else:
            player = theirs.current_player()
            assert ours.player == player
            our_key, their_key = (player, ours.infoset_key()), (player, theirs.information_state_string(player))
            assert ours_to_theirs.setdefault(our_key, their_key) == their_key
            assert theirs_to_ours.setdefault(their_key, our_key) == our_key


def open_spiel_policy(game, policy):
    """Return OpenSpiel's own table for a policy of ours: its information states to (action, probability) pairs."""
    table = {}
    for ours, theirs in side_by_side(game):
        if ours.player >= 0 and theirs.information_state_string() not in table:
            chances = policy[ours.infoset_key()]
            table[theirs.information_state_string()] = list(zip(theirs.legal_actions(), chances, strict=True))
    return table


@pytest.mark.parametrize("text", [text for text in SHARED if text != "nl_leduc(stack=7)"])
def test_same_value_and_nash_conv(text, compiled):
    game, form = load_game(text), compiled(text)
    theirs = pyspiel.load_game(game.open_spiel_name())
    for seed in range(3 if text in ("kuhn_poker", "leduc_poker", "goofspiel(cards=4)") else 1):
        policy = random_policy(form, seed)
        table = pyspiel.TabularPolicy(open_spiel_policy(game, policy))
        found = Evaluator(form).best_responses(to_strategies(form, policy))
        assert found.nash_conv == pytest.approx(pyspiel.nash_conv(theirs, table), abs=1e-9)
        assert found.exploitability == pytest.approx(pyspiel.exploitability(theirs, table), abs=1e-9)
        returns = pyspiel.expected_returns(theirs.new_initial_state(), table, -1, True)
        assert found.value == pytest.approx(returns[0], abs=1e-9)


@pytest.mark.parametrize("text", ["kuhn_poker", "leduc_poker"])
def test_the_adapter_gives_the_same_game_as_the_built_in_rules(text, compiled):
    ours, adapted = compiled(text), compiled(f"open_spiel:{text}")
    assert adapted.num_infosets == ours.num_infosets
    key_of = {}
    for built_in, theirs in side_by_side(load_game(text)):
        if built_in.player >= 0:
            key_of[built_in.infoset_key()] = theirs.information_state_string()
    for seed in range(3):
        policy = random_policy(ours, seed)
        translated = {key_of[key]: chances for key, chances in policy.items()}
        first = Evaluator(ours).best_responses(to_strategies(ours, policy))
        second = Evaluator(adapted).best_responses(to_strategies(adapted, translated))
        assert second.value == pytest.approx(first.value, abs=1e-12)
        assert second.best_response_values == pytest.approx(first.best_response_values, abs=1e-12)
