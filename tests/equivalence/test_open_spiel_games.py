"""Our rules beside OpenSpiel's, history by history; and the same value and nash_conv for the same policies."""

from functools import cache

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


@cache
def compare(text):
    """Walk both games, child for child; return OpenSpiel's text and legal actions of each of our infosets."""
    game = load_game(text)
    their_infoset, our_infoset = {}, {}
    stack = [(game.root(), pyspiel.load_game(game.open_spiel_name()).new_initial_state())]
    while stack:
        ours, theirs = stack.pop()
        if theirs.is_terminal():
            assert ours.player == TERMINAL
            assert ours.payoff() == theirs.returns()[0] == -theirs.returns()[1]
            continue
        their_actions = theirs.legal_actions()
        assert len(ours.actions()) == len(their_actions)
        if theirs.is_chance_node():
            assert ours.player == CHANCE
            chances = [probability for _, probability in theirs.chance_outcomes()]
            assert list(ours.chance_probabilities()) == pytest.approx(chances, abs=1e-12)
        else:
            player = theirs.current_player()
            assert ours.player == player
            our_key, their_key = (player, ours.infoset_key()), (player, theirs.information_state_string(player))
            assert their_infoset.setdefault(our_key, (their_key, their_actions)) == (their_key, their_actions)
            assert our_infoset.setdefault(their_key, our_key) == our_key
        stack.extend((ours.child(a), theirs.child(b)) for a, b in zip(ours.actions(), their_actions, strict=True))
    return {our_key[1]: (their_key[1], actions) for our_key, (their_key, actions) in their_infoset.items()}


@pytest.mark.parametrize("text", SHARED)
def test_same_histories_and_same_infosets(text, compiled):
    assert len(compare(text)) == compiled(text).num_infosets


@pytest.mark.parametrize("text", [text for text in SHARED if text != "nl_leduc(stack=7)"])
def test_same_value_and_nash_conv(text, compiled):
    form = compiled(text)
    theirs = pyspiel.load_game(load_game(text).open_spiel_name())
    for seed in range(3 if text in ("kuhn_poker", "leduc_poker", "goofspiel(cards=4)") else 1):
        policy = random_policy(form, seed)
        table = pyspiel.TabularPolicy(
            {
                their_key: list(zip(actions, policy[our_key], strict=True))
                for our_key, (their_key, actions) in compare(text).items()
            }
        )
        found = Evaluator(form).best_responses(to_strategies(form, policy))
        assert found.nash_conv == pytest.approx(pyspiel.nash_conv(theirs, table), abs=1e-9)
        value, _ = pyspiel.expected_returns(theirs.new_initial_state(), table, -1, True)
        assert found.value == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("text", ["kuhn_poker", "leduc_poker"])
def test_the_adapter_gives_the_same_game_as_the_built_in_rules(text, compiled):
    ours, adapted = compiled(text), compiled(f"open_spiel:{text}")
    assert adapted.num_infosets == ours.num_infosets
    for seed in range(3):
        policy = random_policy(ours, seed)
        translated = {compare(text)[key][0]: chances for key, chances in policy.items()}
        first = Evaluator(ours).best_responses(to_strategies(ours, policy))
        second = Evaluator(adapted).best_responses(to_strategies(adapted, translated))
        assert second.value == pytest.approx(first.value, abs=1e-12)
        assert second.best_response_values == pytest.approx(first.best_response_values, abs=1e-12)
