"""Percentile buckets of expected hand strength squared, nested round by round (Zinkevich et al. 2007, section 4).

Starting hands are divided by E[HS^2] into buckets of equal weight; then, in each round, the hands (with their boards)
that were in one bucket so far are divided anew by their E[HS^2] in that round. A hand's bucket is the sequence of its
buckets, so a player forgets nothing that its buckets told (perfect recall), and ten a round make 10, 100, 1,000 and
10,000. Gibson et al. 2012 solve limit hold'em with these.

Equal weight is meant in raw deals, each way in which flop, turn and river may have come counted. Hands of equal
strength stay together, so buckets are as equal as ties allow: a tie goes where its middle belongs.
"""

from itertools import combinations

import numpy as np

from equipoise.abstraction.bucket_tables import (
    HIGHEST_CODE,
    BucketTables,
    RoundBoards,
    bucket_codes,
    bucket_of,
    empty_tables,
)
from equipoise.abstraction.cache import Parts
from equipoise.abstraction.strength import grade_strength, live_hands
from equipoise.compiled import kernel
from equipoise.games.suits import HOLE_CARDS, Cards, Int64, place_of_set, sets_of_cards


@kernel
def _weigh_codes(
    boards: Cards,
    weight: Int64,
    first: int,
    last: int,
    hands: Cards,
    paths: Int64,
    first_board: int,
    tables: BucketTables,
    histogram: Int64,
) -> None:
    """Add the raw deals behind every (hand, board) to ``histogram[bucket of the round before, code]``.

    ``paths[number, round]`` are the cards of the board, as bits of their places, that were open in an earlier round.
    """
    rounds, total = paths.shape[1], hands.shape[0]
    live, part = np.empty(total, np.int64), np.empty(boards.shape[1], np.uint8)
    bucket = np.zeros((rounds + 1, total), np.int64)  # [rounds so far, live hand]
    for board in range(first, last):
        count = live_hands(boards[board], hands, live)
        same = 0  # rounds in which a path is the one before it
        for number in range(paths.shape[0]):
            for earlier in range(same, rounds):
                size = 0
                for k in range(boards.shape[1]):
                    if paths[number, earlier] >> k & 1:
                        part[size] = boards[board, k]
                        size += 1
                raw = tables.first_raw[earlier] + place_of_set(part[:size], tables.choose)
                canonical, image = tables.board_of[raw], np.int64(tables.renaming_of[raw]) * total
                for place in range(count):
                    renamed = tables.image[image + live[place]]
                    bucket[earlier + 1, place] = bucket_of(tables, earlier, bucket[earlier, place], canonical, renamed)
            for place in range(count):
                code = tables.code[(first_board + board) * total + live[place]]
                histogram[bucket[rounds, place], code] += weight[board]
            same = 0
            if number + 1 < paths.shape[0]:
                while same < rounds and paths[number + 1, same] == paths[number, same]:
                    same += 1


def _paths(sizes: list[int]) -> Int64:
    """Return the ways in which the last of some boards may have been dealt: the parts open in the rounds before."""
    *earlier, size = sizes
    paths: list[list[int]] = [[(1 << size) - 1]]
    for smaller in reversed(earlier):
        paths = [
            [sum(1 << k for k in kept), *path]
            for path in paths
            for kept in combinations([k for k in range(size) if path[0] >> k & 1], smaller)
        ]
    listed = sorted(path[:-1] for path in paths)  # so that neighbours share what they can
    return np.array(listed, np.int64).reshape(len(paths), len(earlier))


def cuts_of(histogram: Int64, buckets: int) -> Int64:
    """Return, for each row of weights by code, the lowest code of the second, third, ... bucket."""
    middle = np.cumsum(histogram, axis=1) - histogram / 2
    share = middle / np.maximum(histogram.sum(axis=1, keepdims=True), 1)
    bounds = np.arange(1, buckets) / buckets
    return np.array([np.searchsorted(row, bounds) for row in share])


def percentile_tables(boards: RoundBoards, buckets: int, parts: Parts) -> BucketTables:
    """Return the tables of nested percentile buckets, ``buckets`` a round."""
    rounds = len(boards.rounds)
    tables = empty_tables(boards, [buckets - 1] * rounds)
    means = grade_strength(boards, tables, 2, parts)
    for betting_round, values in enumerate(means):
        bucket_codes(tables, boards, betting_round)[:] = np.rint(values * HIGHEST_CODE)
    hands = sets_of_cards(boards.deck_size, HOLE_CARDS)
    first_board = 0
    for betting_round, current in enumerate(boards.rounds):
        codes = bucket_codes(tables, boards, betting_round)
        histogram = np.zeros((buckets**betting_round, int(codes.max()) + 1), np.int64)
        paths = _paths(boards.sizes[: betting_round + 1])
        for begin, end in parts.loop(f"buckets of round {betting_round + 1}", len(current.boards), histogram):
            _weigh_codes(current.boards, current.weight, begin, end, hands, paths, first_board, tables, histogram)
        cuts = cuts_of(histogram, buckets)
        first = tables.first_cut[betting_round]
        tables.cut[first : first + cuts.size] = cuts.ravel()
        first_board += len(current.boards)
    return tables
