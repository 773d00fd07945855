"""Suit isomorphism: the counts of the literature, and the definition tried out on decks that can be listed."""

import itertools

import numpy as np
import pytest

from equipoise.games.suits import NO_CLASS, orbit_count, suit_isomorphism
from tests.naive import suits as naive
from tests.suits import locate, pair, pair_index, start_index


@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        ((2,), 169),
        ((3,), 1_755),
        ((2, 3), 1_286_792),
        ((2, 3, 1), 55_190_538),
        ((2, 3, 1, 1), 2_428_287_420),
        ((2, 4), 13_960_050),
        ((2, 5), 123_156_254),
    ],
)
def test_counts_of_the_literature(sizes, count):
    assert orbit_count(13, 4, sizes) == count


@pytest.mark.parametrize(("ranks", "suits", "sizes"), [(3, 3, (2, 2)), (4, 2, (2, 1, 1)), (2, 4, (2, 3))])
def test_counts_equal_those_of_listed_deals(ranks, suits, sizes):
    listed = {naive.canonical(suits, *deal) for deal in naive.deals(ranks * suits, sizes)}
    assert orbit_count(ranks, suits, sizes) == len(listed)


def test_flop_holdem_has_the_published_sizes():
    deck = suit_isomorphism(13, 4, 3)
    assert len(deck.start_size) == 169 and deck.start_size.sum() == 1326
    assert len(deck.boards) == 1755 and deck.board_weight.sum() == 22_100
    assert deck.num_pairs == deck.first_pair[-1] == 1_286_792
    per_board = np.add.reduceat(deck.pair_size.astype(int), deck.first_pair[:-1])
    np.testing.assert_array_equal(per_board, 1176)


@pytest.mark.nojit
@pytest.mark.parametrize(("ranks", "suits", "board_cards"), [(3, 3, 2), (4, 2, 3), (2, 4, 1)])
def test_classes_are_orbits(ranks, suits, board_cards):
    deck = suit_isomorphism(ranks, suits, board_cards)
    orbits = {}
    for hole, board in naive.deals(ranks * suits, (2, board_cards)):
        orbits.setdefault(naive.canonical(suits, hole, board), []).append((hole, board))
    assert len(orbits) == deck.num_pairs == orbit_count(ranks, suits, (2, board_cards))
    for orbit in orbits.values():
        indices = {pair_index(deck, *each) for each in orbit}
        assert len(indices) == 1
        index = indices.pop()
        assert pair(deck, index) in orbit
        board = locate(deck, *orbit[0])[0]
        assert deck.pair_size[index] * deck.board_weight[board] == len(orbit)


def test_random_pairs_of_the_full_deck_have_one_index_under_all_renamings():
    deck = suit_isomorphism(13, 4, 3)
    random = np.random.default_rng(11)
    seen = {}
    for _ in range(300):
        dealt = random.choice(52, 5, replace=False)
        hole, board = dealt[:2].tolist(), dealt[2:].tolist()
        images = [(naive.renamed(hole, p), naive.renamed(board, p)) for p in itertools.permutations(range(4))]
        indices = {pair_index(deck, *image) for image in images}
        assert len(indices) == 1
        index = indices.pop()
        assert pair(deck, index) in images
        assert seen.setdefault(index, naive.canonical(4, hole, board)) == naive.canonical(4, hole, board)
        assert start_index(deck, hole) == deck.start_class[deck.pair_hand[index]]


def test_hands_that_share_a_card_with_the_board_have_no_class():
    deck = suit_isomorphism(13, 4, 3)
    assert (deck.hand_class == NO_CLASS).sum() == 1755 * (1326 - 1176)
