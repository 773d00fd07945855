"""Hand ranks, beside two libraries that share no code with eval7."""

import numpy as np
import phevaluator
import pokerkit
import pytest

from equipoise.games.hand_ranks import best_five

RANKS, SUITS = "23456789TJQKA", "cdhs"


def text(card: int) -> str:
    return RANKS[card // 4] + SUITS[card % 4]


def cards(words: str) -> list[int]:
    return [4 * RANKS.index(word[0]) + SUITS.index(word[1]) for word in words.split()]


@pytest.mark.nojit
@pytest.mark.parametrize("count", [5, 6, 7])
def test_the_order_of_hands_is_that_of_another_library(count):
    generator = np.random.default_rng(count)
    hands = [[int(card) for card in generator.choice(52, count, replace=False)] for _ in range(1500)]
    ours = np.array([best_five(hand) for hand in hands])
    theirs = -np.array([phevaluator.evaluate_cards(*[text(card) for card in hand]) for hand in hands])  # 1 is best
    order = np.argsort(theirs, kind="stable")
    np.testing.assert_array_equal(np.sign(np.diff(ours[order])), np.sign(np.diff(theirs[order])))


def test_pokerkit_agrees_on_who_wins():
    generator = np.random.default_rng(7)
    for _ in range(150):
        dealt = [int(card) for card in generator.choice(52, 9, replace=False)]
        board, hands = dealt[:5], (dealt[5:7], dealt[7:])
        first, second = (best_five(hand + board) for hand in hands)
        one, other = (
            pokerkit.StandardHighHand.from_game("".join(map(text, hand)), "".join(map(text, board))) for hand in hands
        )
        assert (first > second, first == second) == (one > other, one == other)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("5c 4c 3c 2c Ac", "Ah Ad As Ac Kc"),  # a straight flush beats four aces
        ("As Ks Qs Js Ts", "Kh Qh Jh Th 9h"),
        ("2c 2d 2h 3c 3d", "Ah Kh Qh Jh 9h"),
        ("6h 5d 4c 3c 2c", "As 2d 3h 4h 5c"),  # the ace is low in a wheel
        ("Ah Ad 3c 4c 6d", "Kh Kd Qc Jc Td"),
    ],
)
def test_hands_that_every_player_knows(better, worse):
    assert best_five(cards(better)) > best_five(cards(worse))


def test_suits_do_not_break_ties():
    assert best_five(cards("Ah Kd Qc Jc 9c")) == best_five(cards("As Kc Qd Jd 9d"))
