"""Buckets by the definitions: every deal is listed, every showdown is played."""

import itertools
from functools import cache

from equipoise.games.hand_ranks import best_five


def rank_of(suits, cards):
    """Return the rank of a hand of a small deck, whose card is ``rank * suits + suit``."""
    return best_five([card // suits * 4 + card % suits for card in cards])


@cache
def beaten_and_tied(ranks, suits, hole, board):
    """Return how many of the opponent's hands a hand beats on a full board, how many tie, and how many there are."""
    own = rank_of(suits, (*hole, *board))
    left = [card for card in range(ranks * suits) if card not in hole and card not in board]
    others = [rank_of(suits, (*other, *board)) for other in itertools.combinations(left, 2)]
    return sum(other < own for other in others), sum(other == own for other in others), len(others)


@cache
def expected_power(ranks, suits, sizes, hole, board, power):
    """Return the mean over all cards to come of a power of hand strength."""
    if len(board) == sizes[-1]:
        beaten, tied, others = beaten_and_tied(ranks, suits, hole, board)
        return ((beaten + tied / 2) / others) ** power
    size = min(size for size in sizes if size > len(board))
    left = [card for card in range(ranks * suits) if card not in hole and card not in board]
    values = [
        expected_power(ranks, suits, sizes, hole, tuple(sorted((*board, *more))), power)
        for more in itertools.combinations(left, size - len(board))
    ]
    return sum(values) / len(values)


def strength_to_come(ranks, suits, hole, board, last_size, bins):
    """Return how often strength on the last board falls into each of some bins of equal width."""
    left = [card for card in range(ranks * suits) if card not in hole and card not in board]
    futures = list(itertools.combinations(left, last_size - len(board)))
    shares = [0.0] * bins
    for more in futures:
        beaten, tied, others = beaten_and_tied(ranks, suits, hole, tuple(sorted((*board, *more))))
        shares[(2 * beaten + tied) * bins // (2 * others + 1)] += 1 / len(futures)
    return shares


def paths(ranks, suits, sizes, rounds):
    """Yield every hand with every way to deal the boards of the first rounds: (hole, (board, board, ...))."""
    for hole in itertools.combinations(range(ranks * suits), 2):
        deals = [()]
        for before, size in zip((0, *sizes), sizes[:rounds], strict=False):
            deals = [
                (*boards, tuple(sorted((*last, *more))))
                for boards in deals
                for last in [boards[-1] if boards else ()]
                for more in itertools.combinations(
                    [card for card in range(ranks * suits) if card not in hole and card not in last], size - before
                )
            ]
        for boards in deals:
            yield hole, boards


def nested_percentiles(ranks, suits, sizes, count, grade):
    """Return the bucket of each path of every round, by sorting the paths that were together in the round before.

    ``grade(round, hole, board)`` is what paths are sorted by; those with equal grades go where their middle belongs.
    """
    found = {}
    for rounds in range(1, len(sizes) + 1):
        together = {}
        for hole, boards in paths(ranks, suits, sizes, rounds):
            before = found[hole, boards[:-1]] if rounds > 1 else 0
            together.setdefault(before, {}).setdefault(grade(rounds - 1, hole, boards[-1]), []).append((hole, boards))
        for before, by_grade in together.items():
            total, so_far = sum(map(len, by_grade.values())), 0
            for _, members in sorted(by_grade.items()):
                bucket = (2 * so_far + len(members)) * count // (2 * total)
                so_far += len(members)
                for path in members:
                    found[path] = before * count + bucket
    return found


def strength_against(ranks, suits, hole, board, others):
    """Return how often a hand beats some hands of the opponent that are possible beside it; ties count half."""
    own = rank_of(suits, (*hole, *board))
    possible = [other for other in others if not set(other) & {*hole, *board}]
    theirs = [rank_of(suits, (*other, *board)) for other in possible]
    return sum((own > rank) + (own == rank) / 2 for rank in theirs) / len(theirs)
