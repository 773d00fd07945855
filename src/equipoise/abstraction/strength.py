"""Hand strength: how often a hand beats a random one; on a full board, and on average over the boards to come.

1. On a full board, HS = (hands beaten + hands tied / 2) / all hands of the opponent: for all hands at once from one
   sort, with running counts by card for the hands that share one (Johanson et al. 2011 do so for best responses).
2. Before, the mean of a power of HS over all cards to come: E[HS], the equity, or E[HS^2], which prefers hands that
   may become strong (Zinkevich et al. 2007). Boards up to suits suffice: each hands its values down to every part of it
   that may have been there a round before, weighed by its number of raw boards.
"""

from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from equipoise.abstraction.bucket_tables import BucketTables, RoundBoards, UInt16, bucket_codes
from equipoise.abstraction.cache import Parts
from equipoise.compiled import inlined, kernel
from equipoise.games.hand_ranks import hand_rank
from equipoise.games.suits import HOLE_CARDS, Cards, Int64, place_of_set, sets_of_cards, suit_permutations

Float = npt.NDArray[np.float64]


@inlined
def live_hands(board: Cards, hands: Cards, live: Int64) -> int:
    """Write the hands that share no card with a board; return their number."""
    count = 0
    for hand in range(hands.shape[0]):
        free = True
        for k in range(board.size):
            free &= board[k] != hands[hand, 0] and board[k] != hands[hand, 1]
        live[count] = hand
        count += free
    return count


@kernel
def sort_by_rank(
    board: Cards, hands: Cards, bits: npt.NDArray[np.uint64], live: Int64, count: int, keys: Int64
) -> None:
    """Write rank x hands + hand for the live hands, from the weakest hand to the strongest."""
    open_bits = np.uint64(0)
    for k in range(board.size):
        open_bits |= bits[board[k]]
    for place in range(count):
        first, second = hands[live[place], 0], hands[live[place], 1]
        rank = hand_rank(open_bits | bits[first] | bits[second], board.size + HOLE_CARDS)
        keys[place] = np.int64(rank) * hands.shape[0] + live[place]
    keys[:count].sort()


@kernel
def _showdowns(boards: Cards, first: int, last: int, hands: Cards, bits: npt.NDArray[np.uint64], twice: UInt16) -> None:
    """Write 2 x hands beaten + hands tied for every hand on some boards."""
    total = hands.shape[0]
    live, keys = np.empty(total, np.int64), np.empty(total, np.int64)
    below, tied = np.empty(bits.size, np.int64), np.empty(bits.size, np.int64)
    for board in range(first, last):
        count = live_hands(boards[board], hands, live)
        sort_by_rank(boards[board], hands, bits, live, count, keys)
        below[:] = 0
        start = 0
        while start < count:
            end = start
            tied[:] = 0
            while end < count and keys[end] // total == keys[start] // total:
                for k in range(HOLE_CARDS):
                    tied[hands[keys[end] % total, k]] += 1
                end += 1
            for place in range(start, end):
                hand = keys[place] % total
                a, b = hands[hand, 0], hands[hand, 1]
                beaten = start - below[a] - below[b]
                even = end - start - tied[a] - tied[b] + 1  # the hand itself was taken off twice
                twice[board, hand] = 2 * beaten + even
            for card in range(bits.size):
                below[card] += tied[card]
            start = end


@inlined
def part_of_board(
    board: Cards, places: Int64, part: Cards, tables: BucketTables, earlier: int, first_board: int
) -> tuple[int, int]:
    """Return the canonical twin of a part of a board, by its place in the round, and where images of hands begin."""
    for k in range(places.size):
        part[k] = board[places[k]]
    raw = tables.first_raw[earlier] + place_of_set(part, tables.choose)
    hands = tables.choose[tables.bits.size, HOLE_CARDS]
    return tables.board_of[raw] - first_board, np.int64(tables.renaming_of[raw]) * hands


@kernel
def _hand_down(
    boards: Cards,
    weight: Int64,
    first: int,
    last: int,
    hands: Cards,
    codes: UInt16,
    worth: Float,
    values: Float,
    parts: Int64,
    tables: BucketTables,
    earlier: int,
    first_board: int,
    sums: Float,
) -> None:
    """Add every board's values times its weight to the sums of its parts, the boards of an earlier round.

    Values are those of codes (``worth``) or, where that is empty, ``values``.
    """
    live, part = np.empty(hands.shape[0], np.int64), np.empty(parts.shape[1], np.uint8)
    for board in range(first, last):
        count = live_hands(boards[board], hands, live)
        for number in range(parts.shape[0]):
            row, image = part_of_board(boards[board], parts[number], part, tables, earlier, first_board)
            for place in range(count):
                hand = live[place]
                value = worth[codes[board, hand]] if worth.size > 0 else values[board, hand]
                sums[row, tables.image[image + hand]] += weight[board] * value


@kernel
def _settle(
    boards: Cards, weight: Int64, hands: Cards, tables: BucketTables, renamings: Cards, ways: int, sums: Float
) -> None:
    """Turn sums into means, equal for hands that differ by a renaming which leaves the board as it is."""
    row, seen = np.empty(hands.shape[0]), np.empty(renamings.shape[0], np.int64)
    suits = renamings.shape[1]
    for board in range(boards.shape[0]):
        keeping = 0
        for renaming in range(renamings.shape[0]):
            kept = 0
            for k in range(boards.shape[1]):
                card = boards[board, k] // suits * suits + renamings[renaming, boards[board, k] % suits]
                for j in range(boards.shape[1]):
                    kept += boards[board, j] == card
            seen[keeping] = renaming
            keeping += kept == boards.shape[1]
        row[:] = sums[board]
        for hand in range(hands.shape[0]):
            total = 0.0
            for number in range(keeping):
                total += row[tables.image[seen[number] * hands.shape[0] + hand]]
            sums[board, hand] = total / (float(keeping) * float(weight[board]) * ways)


def grade_strength(boards: RoundBoards, tables: BucketTables, power: int, parts: Parts) -> list[Float]:
    """Write the strengths of all hands in the last round as codes; return the mean powers in the rounds before it.

    A code is twice the number of hands beaten plus the number tied. The means are ``[canonical boards, raw hands]``
    each; hands that share a card with the board have the value 0.
    """
    rounds, deck = boards.rounds, boards.deck_size
    hands = sets_of_cards(deck, HOLE_CARDS)
    last = len(rounds) - 1
    codes = bucket_codes(tables, boards, last)
    count = len(rounds[last].boards)
    for begin, end in parts.loop("strength of all hands on full boards", count, codes):
        _showdowns(rounds[last].boards, begin, end, hands, tables.bits, codes)
    opponents = comb(deck - HOLE_CARDS - boards.sizes[last], HOLE_CARDS)
    worth = (np.arange(2 * opponents + 1) / (2 * opponents)) ** power
    values: Float = np.zeros((1, 1))
    means: list[Float] = []
    for later in range(last, 0, -1):
        earlier, size = later - 1, boards.sizes[later]
        chosen = np.array(list(combinations(range(size), boards.sizes[earlier])), np.int64)
        sums = np.zeros((len(rounds[earlier].boards), len(hands)))
        first_board = sum(len(each.boards) for each in rounds[:earlier])
        count = len(rounds[later].boards)
        for begin, end in parts.loop(f"means over boards of {size} cards", count, sums):
            _hand_down(
                rounds[later].boards,
                rounds[later].weight,
                begin,
                end,
                hands,
                codes,
                worth if later == last else np.zeros(0),
                values,
                chosen,
                tables,
                earlier,
                first_board,
                sums,
            )
        ways = comb(deck - HOLE_CARDS - boards.sizes[earlier], size - boards.sizes[earlier])
        renamings = suit_permutations(boards.suits)
        _settle(rounds[earlier].boards, rounds[earlier].weight, hands, tables, renamings, ways, sums)
        values = sums
        means.insert(0, values)
    return means
