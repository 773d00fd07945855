"""Betting trees, and codes of infosets: one a situation up to suits, and nothing but that."""

import itertools

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.games import load_game
from equipoise.games.betting import BettingRound, BettingRules
from equipoise.games.poker import Deck, PokerGame, best_five_cards
from equipoise.games.sizes import betting_size
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.build_poker import poker_public_tree
from equipoise.trees.codes import card_layout, cards_of, codes_of, nodes_of, require_codes
from equipoise.trees.distinct import distinct
from tests.codes import code_of


def small_deck(ranks, suits, board_cards):
    rules = BettingRules(blinds=(1, 2), rounds=tuple(BettingRound(max_raises=1, bet_size=2) for _ in board_cards))
    deck = Deck(ranks=tuple("23456789TJQKA"[:ranks]), suits=tuple("cdhs"[:suits]))
    return PokerGame("small", deck, rules, board_cards, hole_cards=2, strength=best_five_cards)


@pytest.mark.parametrize("text", ["kuhn_poker", "leduc_poker", "nl_leduc(stack=5)"])
def test_the_betting_tree_is_the_public_tree_without_deals(text):
    game = load_game(text)
    tree, public = betting_tree(game), poker_public_tree(game)
    assert tree.num_nodes + tree.nodes.deals.sum() == public.num_nodes
    ends = tree.nodes.num_children == 0
    assert sorted(tree.nodes.amount[ends]) == sorted(public.terminal_amount[public.num_children == 0])


@pytest.mark.parametrize("text", ["flop_holdem", "limit_holdem", "nolimit_holdem(stack=1000)"])
def test_betting_trees_have_the_counted_sizes(text):
    game = load_game(text)
    tree, counted = betting_tree(game), betting_size(game.betting)
    acting = tree.nodes.num_children > 0
    rounds = np.bincount(tree.nodes.round[acting], minlength=len(counted.decisions))
    assert rounds.tolist() == list(counted.decisions)
    assert tree.legal.sum() == sum(counted.actions)
    if text == "flop_holdem":
        assert rounds.tolist() == [8, 70]


@pytest.mark.nojit
@pytest.mark.parametrize("shape", [(3, 3, (0, 2)), (3, 4, (0, 2)), (3, 3, (0, 1, 1)), (2, 4, (0, 2, 1))], ids=str)
def test_codes_are_equal_exactly_where_a_renaming_of_suits_makes_cards_equal(shape):
    game = small_deck(*shape)
    suits, deals = shape[1], (2, *(count for count in shape[2] if count))
    layout = card_layout(game, renamed=True)
    generator = np.random.default_rng(0)
    count = sum(deals)
    cards = np.array([generator.permutation(game.deck.size)[:count] for _ in range(400)])
    last = len(shape[2]) - 1
    codes = codes_of(layout, cards, np.full(len(cards), last), np.zeros(len(cards), np.int64))

    def lowest(row):
        """Return the first of all renamings: sets of cards that are dealt together have no order."""
        forms = []
        for names in itertools.permutations(range(suits)):
            renamed = [card // suits * suits + names[card % suits] for card in row]
            bounds = np.cumsum([0, *deals])
            forms.append(tuple(tuple(sorted(renamed[a:b])) for a, b in itertools.pairwise(bounds)))
        return min(forms)

    forms = [lowest(row) for row in cards.tolist()]
    assert len(set(zip(forms, codes.tolist(), strict=True))) == len(set(forms)) == len(set(codes.tolist()))
    for row, code in zip(cards.tolist(), codes, strict=True):
        assert lowest(cards_of(np.array([code]), count)[0].tolist()) == lowest(row)  # the code is one of its own kind


def test_there_are_169_starting_hands_and_1755_flops():
    game = load_game("flop_holdem")
    layout = card_layout(game, renamed=True)
    hands = np.zeros((1326, 5), np.int8)
    hands[:, :2] = list(itertools.combinations(range(52), 2))
    assert len(np.unique(codes_of(layout, hands, np.zeros(1326, np.int64), np.zeros(1326, np.int64)))) == 169
    boards = np.array(list(itertools.combinations(range(52), 3)), np.int8)
    alone = layout._replace(deal_start=np.array([0, 3]), visible=np.array([1]))  # a board in place of a hand
    nothing = np.zeros(len(boards), np.int64)
    assert len(np.unique(codes_of(alone, boards, nothing, nothing))) == 1755


@pytest.mark.nojit
def test_without_renaming_codes_are_the_cards():
    game = load_game("limit_holdem")
    layout = card_layout(game, renamed=False)
    code = code_of(layout, (51, 3), (40, 2, 17, 30, 5), 3, 1234)
    assert cards_of(np.array([code]), 7)[0].tolist() == [3, 51, 2, 17, 40, 30, 5]
    assert nodes_of(np.array([code]))[0] == 1234
    turn = code_of(layout, (51, 3), (40, 2, 17, 30, 5), 2, 77)
    assert cards_of(np.array([turn]), 7)[0].tolist() == [3, 51, 2, 17, 40, 30, -1]
    start = code_of(layout, (3, 51), (), 0, 0)
    assert cards_of(np.array([start]), 7)[0].tolist() == [3, 51, -1, -1, -1, -1, -1]


def test_betting_that_does_not_fit_is_refused():
    require_codes(load_game("nolimit_holdem"))
    with pytest.raises(EquipoiseError, match=r"1,\d{3},\d{3} decisions.*fewer bet sizes"):
        require_codes(load_game("nolimit_holdem(stack=50000,actions=0.5-1-allin)"))


def test_decks_that_do_not_fit_are_refused():
    with pytest.raises(EquipoiseError, match="more cards than this method can handle"):
        card_layout(small_deck(13, 4, (0, 5, 1)), renamed=True)


@pytest.mark.nojit
def test_distinct_numbers_keep_the_order_of_their_first_appearance():
    generator = np.random.default_rng(1)
    for size in (0, 1, 7, 500):
        numbers = generator.integers(-20, 20, size) * (1 << 50) + generator.integers(0, 3, size)
        found, which = distinct(numbers)
        assert found.tolist() == list(dict.fromkeys(numbers.tolist()))
        np.testing.assert_array_equal(found[which], numbers)
