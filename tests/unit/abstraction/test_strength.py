"""Hand strength: by playing every showdown on small decks, and beside published equities of hold'em."""

import itertools

import numpy as np
import pytest

from equipoise.abstraction.bucket_tables import bucket_codes, empty_tables, round_boards
from equipoise.abstraction.cache import Parts
from equipoise.abstraction.strength import _showdowns, grade_strength
from equipoise.games.hand_ranks import deck_bits
from equipoise.games.suits import choose_table, place_of_set, sets_of_cards
from tests.naive import abstraction as naive


def hands_on(deck_size, board):
    for number, hole in enumerate(itertools.combinations(range(deck_size), 2)):
        if not set(hole) & set(board):
            yield number, hole


@pytest.mark.nojit
@pytest.mark.parametrize(("ranks", "suits", "sizes"), [(3, 3, (0, 3, 4)), (4, 2, (0, 3))])
@pytest.mark.parametrize("power", [1, 2])
def test_strength_equals_that_of_showdowns_played_one_by_one(ranks, suits, sizes, power):
    boards = round_boards(ranks, suits, sizes)
    tables = empty_tables(boards)
    means = grade_strength(boards, tables, power, Parts())
    codes = bucket_codes(tables, boards, len(sizes) - 1)
    for row, board in enumerate(boards.rounds[-1].boards.tolist()):
        for number, hole in hands_on(ranks * suits, board):
            beaten, tied, _ = naive.beaten_and_tied(ranks, suits, hole, tuple(board))
            assert codes[row, number] == 2 * beaten + tied
    for betting_round, found in enumerate(means):
        for row, board in enumerate(boards.rounds[betting_round].boards.tolist()):
            for number, hole in hands_on(ranks * suits, board):
                expected = naive.expected_power(ranks, suits, sizes, hole, tuple(board), power)
                assert found[row, number] == pytest.approx(expected, abs=1e-12)


# Exact equities against a random hand, ties counted half: http://jazbo.com/poker/huholdem.html
PUBLISHED = {
    "AsAh": 0.8520371,
    "KsKh": 0.8239568,
    "TsTh": 0.7501178,
    "AsKs": 0.6704463,
    "7s7h": 0.6623602,
    "As4s": 0.5903364,
    "JhTh": 0.5753,
    "Ks5h": 0.5331397,
    "9h6h": 0.4742829,
    "7h5c": 0.4051197,
}


def test_equities_of_starting_hands_are_the_published_ones(seed, level):
    """On a sample of boards: all of them take half a minute, and give the published digits (AA 0.8520371)."""
    hands, deck = sets_of_cards(52, 2), deck_bits(13, 4)
    random = np.random.default_rng(seed)
    boards = np.sort(np.argpartition(random.random((2500, 52)), 5, axis=1)[:, :5], axis=1).astype(np.uint8)
    twice = np.zeros((len(boards), len(hands)), np.uint16)
    _showdowns(boards, 0, len(boards), hands, deck, twice)
    blocked = np.array([[(boards == card).any(axis=1) for card in hand] for hand in hands.tolist()]).any(axis=1).T
    equity = np.where(blocked, np.nan, twice / 1980)
    off = []
    for text, published in PUBLISHED.items():
        first, second = ("23456789TJQKA".index(text[k]) for k in (0, 2))
        suited = text[1] == text[3]
        alike = [
            number
            for number, (a, b) in enumerate(hands.tolist())
            if sorted((a // 4, b // 4)) == sorted((first, second)) and (a % 4 == b % 4) == suited
        ]
        off.append(abs(np.nanmean(equity[:, alike]) - published))
    assert level(max(off)) < 0.025  # 16 samples: 0.005, median 0.007, 0.015; equities differ by up to 0.45


def test_the_nuts_win_and_the_board_ties():
    hands, choose = sets_of_cards(52, 2), choose_table(52)
    royal = [4 * rank for rank in (8, 9, 10, 11, 12)]  # clubs, ten to ace
    low_straight_flush = [0, 4, 8, 12, 16]  # clubs, two to six: the seven of clubs makes a better one
    boards = np.array([royal, low_straight_flush], np.uint8)
    twice = np.zeros((2, len(hands)), np.uint16)
    _showdowns(boards, 0, 2, hands, deck_bits(13, 4), twice)
    live = [number for number, hand in enumerate(hands.tolist()) if not set(hand) & set(royal)]
    assert set(twice[0, live].tolist()) == {990}  # everybody plays the board: 990 ties
    best = place_of_set(np.array([20, 24], np.uint8), choose)
    assert twice[1, best] == 2 * 990
