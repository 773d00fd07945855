"""Suit isomorphism: cards that differ only by a renaming of suits are the same situation (lossless).

1. A set of cards is numbered by its place in lexicographic order; the canonical one of an orbit is the lowest.
2. Boards: each raw board leads to its canonical board and to a permutation of suits that takes it there.
3. Private hands on a canonical board: orbits under the permutations that leave the board as it is, its *classes*;
   a *pair* is a (hand, board) up to suits, numbered board after board.

Waugh 2013 ("A fast and optimal hand isomorphism algorithm") gives the counts for all rounds of hold'em, and an indexing
that needs no tables; up to the flop tables are small, and :func:`orbit_count` counts the later rounds.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, kernel

HOLE_CARDS = 2
NO_CLASS = -1  # of a hand that shares a card with the board

Cards = npt.NDArray[np.uint8]
Int16 = npt.NDArray[np.int16]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


def orbit_count(ranks: int, suits: int, sizes: Sequence[int]) -> int:
    """Return the number of ways to deal disjoint sets of the given sizes, one after the other, up to suits.

    Burnside's lemma: the mean over all permutations of suits of the deals that each leaves as they are. Such a deal
    takes whole cycles of cards, so the deals are counted by a polynomial with one factor a cycle.
    """
    fixed = 0
    for permutation in itertools.permutations(range(suits)):
        ways = {tuple(sizes): 1}  # deals, by the sizes that are still to be filled
        for length in _cycle_lengths(permutation) * ranks:
            longer = dict(ways)
            for left, count in ways.items():
                for place, size in enumerate(left):
                    if size >= length:
                        after = (*left[:place], size - length, *left[place + 1 :])
                        longer[after] = longer.get(after, 0) + count
            ways = longer
        fixed += ways.get((0,) * len(sizes), 0)
    return fixed // math.factorial(suits)


def _cycle_lengths(permutation: Sequence[int]) -> list[int]:
    lengths, seen = [], set()
    for start in range(len(permutation)):
        length, place = 0, start
        while place not in seen:
            seen.add(place)
            place, length = permutation[place], length + 1
        if length:
            lengths.append(length)
    return lengths


@inlined
def place_of_set(cards: Cards | Int32, choose: Int64) -> int:
    """Return the place of a sorted set in lexicographic order."""
    size, deck = cards.size, choose.shape[0] - 1
    place: int = choose[deck, size] - 1
    for k in range(size):
        place -= choose[deck - 1 - np.int64(cards[k]), size - k]
    return place


@inlined
def _renamed(cards: Cards, permutation: Cards, out: Cards) -> None:
    """Write the cards with their suits renamed, sorted."""
    suits = permutation.size
    for k in range(cards.size):
        card = np.uint8(cards[k] // suits * suits + permutation[cards[k] % suits])
        place = k
        while place > 0 and out[place - 1] > card:
            out[place] = out[place - 1]
            place -= 1
        out[place] = card


@kernel
def _list_sets(sets: Cards, deck_size: int) -> None:
    """Write all sets of cards in lexicographic order, each sorted."""
    count, size = sets.shape
    for k in range(size):
        sets[0, k] = k
    for number in range(1, count):
        last = size - 1
        while sets[number - 1, last] == deck_size - size + last:
            last -= 1
        for k in range(size):
            sets[number, k] = sets[number - 1, k] if k < last else sets[number - 1, last] + 1 + k - last


@kernel
def _lowest_places(sets: Cards, permutations: Cards, choose: Int64, lowest: Int32, through: Int32) -> None:
    """Write, for each set, the lowest place that a renaming of suits takes it to, and which renaming does."""
    out = np.empty(sets.shape[1], np.uint8)
    for number in range(sets.shape[0]):
        lowest[number] = sets.shape[0]
        for permutation in range(permutations.shape[0]):
            _renamed(sets[number], permutations[permutation], out)
            place = place_of_set(out, choose)
            if place < lowest[number]:
                lowest[number], through[number] = place, permutation


@kernel
def _classify_hands(
    boards: Cards, hands: Cards, permutations: Cards, choose: Int64, classes: Int16, lowest: Int16, size: Cards
) -> int:
    """Write the classes of hands on each board, numbered from 0 by their lowest hands; return their total.

    ``classes[board, hand]`` is the class; ``lowest`` and ``size`` hold, pair by pair, the lowest hand and the number
    of hands.
    """
    board_out = np.empty(boards.shape[1], np.uint8)
    hand_out = np.empty(hands.shape[1], np.uint8)
    keeps = np.empty(permutations.shape[0], np.bool_)
    pairs = 0
    for board in range(boards.shape[0]):
        for permutation in range(permutations.shape[0]):
            _renamed(boards[board], permutations[permutation], board_out)
            keeps[permutation] = True
            for k in range(board_out.size):
                keeps[permutation] &= board_out[k] == boards[board, k]
        first = pairs
        for hand in range(hands.shape[0]):
            disjoint = True
            for k in range(boards.shape[1]):
                disjoint &= boards[board, k] != hands[hand, 0] and boards[board, k] != hands[hand, 1]
            if not disjoint:
                classes[board, hand] = NO_CLASS
                continue
            canonical = hand
            for permutation in range(permutations.shape[0]):
                if keeps[permutation]:
                    _renamed(hands[hand], permutations[permutation], hand_out)
                    canonical = min(canonical, place_of_set(hand_out, choose))
            if canonical == hand:
                classes[board, hand] = pairs - first
                lowest[pairs], size[pairs] = hand, 0
                pairs += 1
            else:
                classes[board, hand] = classes[board, canonical]
            size[first + classes[board, hand]] += 1
    return pairs


@dataclass(frozen=True, kw_only=True)
class CanonicalBoards:
    """All boards of some cards up to suits. Raw boards are in lexicographic order."""

    boards: Cards  # [canonical boards, cards], each sorted
    weight: Int64  # [canonical boards] raw boards
    board_of: Int32  # [raw boards] the canonical board
    renaming_of: Int32  # [raw boards] the permutation that leads there


@dataclass(frozen=True, kw_only=True)
class SuitIsomorphism:
    """All (private hand, board) pairs of a deck up to suits. Raw hands and boards are in lexicographic order."""

    ranks: int
    suits: int
    permutations: Cards  # [suits!, suits] the new name of each suit
    hands: Cards  # [raw hands, 2], each sorted, as in PokerGame.hands
    start_class: Int16  # [raw hands] the class before any board: 169 of them in hold'em
    start_hand: Int16  # [starting classes] the lowest raw hand
    start_size: Int64  # [starting classes] raw hands
    boards: Cards  # [canonical boards, cards], each sorted
    board_weight: Int64  # [canonical boards] raw boards
    board_of: Int32  # [raw boards] the canonical board
    renaming_of: Int32  # [raw boards] the permutation that leads there
    hand_class: Int16  # [canonical boards, raw hands] the class within the board; NO_CLASS where they share a card
    first_pair: Int64  # [canonical boards + 1]
    pair_hand: Int16  # [pairs] the lowest raw hand
    pair_size: Cards  # [pairs] raw hands

    @property
    def deck_size(self) -> int:
        """Return the number of cards."""
        return self.ranks * self.suits

    @property
    def num_pairs(self) -> int:
        """Return the number of (hand, board) pairs up to suits."""
        return len(self.pair_hand)


@cache
def choose_table(deck_size: int) -> Int64:
    """Return the number of sets: ``[cards to choose from, size]``."""
    return np.array([[math.comb(n, k) for k in range(8)] for n in range(deck_size + 1)], np.int64)


def sets_of_cards(deck_size: int, size: int) -> Cards:
    """Return all sets of some cards in lexicographic order, each sorted."""
    sets = np.empty((math.comb(deck_size, size), size), np.uint8)
    _list_sets(sets, deck_size)
    return sets


def suit_permutations(suits: int) -> Cards:
    """Return all renamings of suits: the new name of each."""
    return np.array(list(itertools.permutations(range(suits))), np.uint8)


def _lowest_of(sets: Cards, ranks: int, suits: int) -> tuple[Int32, Int32]:
    lowest, through = np.empty(len(sets), np.int32), np.empty(len(sets), np.int32)
    _lowest_places(sets, suit_permutations(suits), choose_table(ranks * suits), lowest, through)
    return lowest, through


def canonical_boards(ranks: int, suits: int, board_cards: int) -> CanonicalBoards:
    """Return the boards of a deck up to suits, all cards dealt at once."""
    raw_boards = sets_of_cards(ranks * suits, board_cards)
    lowest, through = _lowest_of(raw_boards, ranks, suits)
    canonical, board_of, weight = np.unique(lowest, return_inverse=True, return_counts=True)
    return CanonicalBoards(
        boards=raw_boards[canonical],
        weight=weight.astype(np.int64),
        board_of=board_of.astype(np.int32),
        renaming_of=through,
    )


@kernel
def _write_images(hands: Cards, permutations: Cards, choose: Int64, images: Int16) -> None:
    renamed = np.empty(hands.shape[1], np.uint8)
    for permutation in range(permutations.shape[0]):
        for hand in range(hands.shape[0]):
            _renamed(hands[hand], permutations[permutation], renamed)
            images[permutation, hand] = place_of_set(renamed, choose)


@cache
def hand_images(ranks: int, suits: int) -> Int16:
    """Return, by renaming and raw hand, the raw hand that it becomes."""
    hands, permutations = sets_of_cards(ranks * suits, HOLE_CARDS), suit_permutations(suits)
    images = np.empty((len(permutations), len(hands)), np.int16)
    _write_images(hands, permutations, choose_table(ranks * suits), images)
    return images


@cache
def suit_isomorphism(ranks: int, suits: int, board_cards: int) -> SuitIsomorphism:
    """Return the isomorphism of a deck with hands of two cards and boards of some cards, all dealt at once."""
    deck_size = ranks * suits
    hands = sets_of_cards(deck_size, HOLE_CARDS)
    start_hand, start_class, start_size = np.unique(
        _lowest_of(hands, ranks, suits)[0], return_inverse=True, return_counts=True
    )
    canonical = canonical_boards(ranks, suits, board_cards)
    boards, permutations = canonical.boards, suit_permutations(suits)
    classes = np.empty((len(boards), len(hands)), np.int16)
    most = len(boards) * math.comb(deck_size - board_cards, HOLE_CARDS)
    pair_hand, pair_size = np.empty(most, np.int16), np.empty(most, np.uint8)
    pairs = _classify_hands(boards, hands, permutations, choose_table(deck_size), classes, pair_hand, pair_size)
    return SuitIsomorphism(
        ranks=ranks,
        suits=suits,
        permutations=permutations,
        hands=hands,
        start_class=start_class.astype(np.int16),
        start_hand=start_hand.astype(np.int16),
        start_size=start_size.astype(np.int64),
        boards=boards,
        board_weight=canonical.weight,
        board_of=canonical.board_of,
        renaming_of=canonical.renaming_of,
        hand_class=classes,
        first_pair=np.concatenate([[0], np.cumsum(classes.max(axis=1).astype(np.int64) + 1)]),
        pair_hand=pair_hand[:pairs].copy(),
        pair_size=pair_size[:pairs].copy(),
    )
