"""The compiled tree builders give the tree that the rules give, node for node."""

import numpy as np
import pytest

from equipoise.games import load_game
from equipoise.games.betting import BettingRound, BettingRules
from equipoise.games.poker import Deck, PokerGame
from equipoise.trees.compile import build_game_tree
from equipoise.trees.game_tree import tree_from_rules

SMALL = [
    "kuhn_poker",
    "one_card_poker(cards=2)",
    "one_card_poker(cards=4)",
    "one_card_poker(cards=14)",
    "nl_leduc(stack=1)",
    "nl_leduc(stack=2)",
    "nl_leduc(stack=3)",
    "goofspiel(cards=1)",
    "goofspiel(cards=1,last_round=played)",
    "goofspiel(cards=2)",
    "goofspiel(cards=3)",
    "goofspiel(cards=3,last_round=played)",
]
LARGER = [
    "leduc_poker",
    "nl_leduc(stack=4)",
    "goofspiel(cards=4)",
    "goofspiel(cards=4,last_round=played)",
    "bluff(dice=1x1)",
]


@pytest.mark.parametrize("text", [pytest.param(text, marks=pytest.mark.nojit) for text in SMALL] + LARGER)
def test_compiled_tree_equals_the_rules(text):
    check_built(load_game(text))


def test_compiled_tree_with_two_board_cards_dealt_at_once_equals_the_rules():
    rounds = (BettingRound(max_raises=1, bet_size=2, first_player=0), BettingRound(max_raises=1, bet_size=2))
    rules = BettingRules(blinds=(1, 2), rounds=rounds)
    check_built(PokerGame("two_cards", Deck(ranks=("T", "J", "Q", "K", "A")), rules, (0, 2)))


def check_built(game):
    built, walked = build_game_tree(game), tree_from_rules(game)
    for name in ("player", "parent", "first_child", "num_children"):
        np.testing.assert_array_equal(getattr(built, name), getattr(walked, name), err_msg=name)
    np.testing.assert_array_equal(built.payoff, walked.payoff)
    np.testing.assert_allclose(built.probability, walked.probability, rtol=0, atol=1e-15)

    assert built.num_infosets == walked.num_infosets
    pairs = {(int(a), int(b)) for a, b in zip(built.infoset, walked.infoset, strict=True) if a >= 0 or b >= 0}
    assert len(pairs) == built.num_infosets  # each infoset of one tree is one infoset of the other
    built_keys, walked_keys = built.labels.keys(), walked.labels.keys()
    for ours, theirs in pairs:
        assert built_keys[ours] == walked_keys[theirs]
        assert tuple(built.labels.action_names(ours)) == tuple(walked.labels.action_names(theirs))
        assert built.infoset_player[ours] == walked.infoset_player[theirs]
        assert built.infoset_actions[ours] == walked.infoset_actions[theirs]
