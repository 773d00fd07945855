"""Deals drawn card by card: every deal equally likely, buckets and showdowns those of the rules."""

import itertools
from collections import Counter

import numpy as np
import pytest

from equipoise.abstraction.buckets import make_buckets
from equipoise.sampling.deals import LOST, SCRATCH, TIED, WON, deal_into_buckets
from equipoise.sampling.dice import start_stream
from tests.holdem import flop_holdem_of, three_rounds


def cards_of(draws, deck_size):
    """Return the cards that a tape of draws deals: each draw is a share of the cards that are left."""
    left = list(range(deck_size))
    return [left.pop(min(int(draw * len(left)), len(left) - 1)) for draw in draws]


def expected_row(game, buckets, cards):
    """Return what a deal is by the rules: buckets of both players and the showdown, round by round."""
    hands, board = (tuple(sorted(cards[:2])), tuple(sorted(cards[2:4]))), cards[4:]
    paths = [buckets.path(hand, board) for hand in hands]
    mine, theirs = (game.strength(game.deck, hand, board) for hand in hands)
    showdown = WON if mine > theirs else LOST if mine < theirs else TIED
    return [number for first, second in zip(*paths, strict=True) for number in (first, second, showdown)]


@pytest.mark.nojit
@pytest.mark.parametrize(("game", "text"), [(flop_holdem_of(4, 3), "none"), (three_rounds(3, 3), "ehs2:2")])
def test_a_deal_is_what_the_rules_make_of_its_cards(game, text):
    buckets = make_buckets(game, text)
    deck, count = buckets.deck.size, 4 + buckets.deck.board_sizes[-1]
    random = np.random.default_rng(2)
    seen = Counter()
    for _ in range(40):
        tape = np.zeros((count, 3))
        tape[:, 0] = random.random(count)
        numbers, dice = np.zeros(64, np.int32), np.zeros(2, np.uint64)
        deal_into_buckets(buckets.tables, numbers, 0, SCRATCH, dice, tape)
        cards = cards_of(tape[:, 0], deck)
        row = numbers[SCRATCH : SCRATCH + 3 * len(buckets.deck.board_sizes)].tolist()
        assert row == expected_row(game, buckets, cards)
        seen[row[2]] += 1
        shares = tape[:, 2] - tape[:, 1]
        assert np.prod(shares) == pytest.approx(np.prod([1 / (deck - k) for k in range(count)]))
    assert seen[WON] and seen[LOST]


def test_every_deal_is_equally_likely():
    """Player 0's hand in 20,000 deals of nine cards: 36 hands, each about as often."""
    buckets = make_buckets(flop_holdem_of(3, 3), "none")
    numbers, dice, tape = np.zeros(64, np.int32), np.zeros(2, np.uint64), np.zeros((0, 3))
    found = Counter()
    for number in range(20_000):
        with np.errstate(over="ignore"):
            start_stream(dice, 7, 1, 0, number)
        deal_into_buckets(buckets.tables, numbers, 0, SCRATCH, dice, tape)
        cards = numbers[:7].tolist()
        assert len(set(cards)) == 7 and set(cards) <= set(range(9))
        found[tuple(sorted(cards[:2]))] += 1
    expected = 20_000 / 36
    squared = sum((found[hand] - expected) ** 2 / expected for hand in itertools.combinations(range(9), 2))
    assert squared < 66.6  # chi-squared with 35 degrees of freedom: one in a thousand is above
