"""Clusters of hands on the last board by what they win against: k-means on opponent cluster hand strength.

In flop hold'em no cards come after the flop, so there is no distribution of future strength to compare; what sets hands
of equal strength apart is whom they beat. So the features are those of Johanson et al. 2013 ("Evaluating state-space
abstractions", OCHS): the probability of winning against each of eight groups of starting hands, and the strength
against all hands. Groups are percentiles of E[HS^2], not clusters, so that no group can be blocked by four cards.

The clusters forget the starting hand (imperfect recall), as those that Deep CFR is compared with seem to do: before the
flop hands are kept apart losslessly, and 8 x 169 + 70 x 552 makes the 40,000 decisions of its Figure 2 (Brown et al.
2019).
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from equipoise.abstraction.percentiles import cuts_of
from equipoise.abstraction.strength import Float, OnProgress, grade_strength, live_hands, sort_by_rank, steps
from equipoise.abstraction.tables import HIGHEST_CODE, BucketTables, RoundBoards, codes_of, empty_tables
from equipoise.compiled import kernel
from equipoise.errors import EquipoiseError
from equipoise.games.suits import HOLE_CARDS, NO_CLASS, Cards, Int64, SuitIsomorphism, sets_of_cards, suit_isomorphism

OPPONENT_GROUPS = 8  # as Johanson et al. have it
MOST_PASSES = 30
ENOUGH = 0.002  # passes end when one lowers the squared error by less than this share


@kernel
def _strength_by_group(
    boards: Cards,
    first: int,
    last: int,
    hands: Cards,
    bits: npt.NDArray[np.uint64],
    group_of: Int64,
    pair_hand: npt.NDArray[np.int16],
    first_pair: Int64,
    features: Float,
) -> None:
    """Write, pair by pair, the strength against each group of the opponent's hands, then against all of them."""
    total, groups = hands.shape[0], features.shape[1]  # the last group is everybody
    live, keys = np.empty(total, np.int64), np.empty(total, np.int64)
    below, tied = np.empty((groups, bits.size + 1), np.int64), np.empty((groups, bits.size + 1), np.int64)
    there = np.empty((groups, bits.size + 1), np.int64)  # hands by group and card; the last column counts all
    won = np.empty((total, groups))
    for board in range(first, last):
        count = live_hands(boards[board], hands, live)
        sort_by_rank(boards[board], hands, bits, live, count, keys)
        there[:] = 0
        for place in range(count):
            _count(there, group_of, hands, live[place])
        below[:] = 0
        start = 0
        while start < count:
            end = start
            tied[:] = 0
            while end < count and keys[end] // total == keys[start] // total:
                _count(tied, group_of, hands, keys[end] % total)
                end += 1
            for place in range(start, end):
                hand = keys[place] % total
                a, b = hands[hand, 0], hands[hand, 1]
                for group in range(groups):
                    itself = 1 if group in (group_of[hand], groups - 1) else 0
                    beaten = below[group, bits.size] - below[group, a] - below[group, b]
                    even = tied[group, bits.size] - tied[group, a] - tied[group, b] + itself
                    others = there[group, bits.size] - there[group, a] - there[group, b] + itself
                    # In small decks all of a group may be blocked.
                    won[hand, group] = (beaten + 0.5 * even) / others if others > 0 else 0.5
            below += tied
            start = end
        for pair in range(first_pair[board], first_pair[board + 1]):
            features[pair] = won[pair_hand[pair]]


@kernel
def _count(table: npt.NDArray[np.int64], group_of: Int64, hands: Cards, hand: int) -> None:
    """Count a hand in its group and in the last one, by each of its cards and once in all."""
    for group in (group_of[hand], table.shape[0] - 1):
        table[group, hands[hand, 0]] += 1
        table[group, hands[hand, 1]] += 1
        table[group, table.shape[1] - 1] += 1


def opponent_features(boards: RoundBoards, cards: SuitIsomorphism, on_progress: OnProgress) -> Float:
    """Return the features of every (hand, board) pair of the last round, up to suits."""
    tables = empty_tables(boards)
    start = np.rint(grade_strength(boards, tables, 2, on_progress)[0][0] * HIGHEST_CODE).astype(np.int64)
    weight = np.bincount(start, minlength=HIGHEST_CODE + 1)
    cuts = cuts_of(weight[None, :], OPPONENT_GROUPS)[0]
    group_of = np.searchsorted(cuts, start, side="right").astype(np.int64)
    features = np.empty((cards.num_pairs, OPPONENT_GROUPS + 1))
    hands = sets_of_cards(boards.deck_size, HOLE_CARDS)
    for begin, end in pairwise(steps(len(cards.boards))):
        _strength_by_group(
            cards.boards, begin, end, hands, tables.bits, group_of, cards.pair_hand, cards.first_pair, features
        )
        on_progress("strength against groups of hands", end / len(cards.boards))
    return features


def spread_out(points: Float, weight: Float, count: int) -> Float:
    """Return ``count`` well-spread centres: means of cells of equal weight, cut in two along their widest side."""
    centres: list[Float] = []
    cells = [(np.arange(len(points)), count)]
    while cells:
        members, share = cells.pop()
        own, own_weight = points[members], weight[members]
        mean = own_weight @ own / own_weight.sum()
        if share == 1 or len(members) == 1:
            centres.append(mean)
            continue
        axis = int(np.argmax(own_weight @ (own - mean) ** 2))
        order = np.argsort(own[:, axis], kind="stable")
        filled = np.cumsum(own_weight[order])
        low = share // 2
        cut = int(np.searchsorted(filled, filled[-1] * low / share))
        cut = min(max(cut, 1), len(members) - 1)
        cells += [(members[order[:cut]], low), (members[order[cut:]], share - low)]
    return np.array(centres)


def cluster(points: Float, weight: Float, count: int, on_progress: OnProgress) -> tuple[npt.NDArray[np.int64], Float]:
    """Return the cluster of each point by weighted k-means, and the squared error after each of Lloyd's passes.

    Nothing is random: passes start from :func:`spread_out`, and a cluster that has lost its points starts anew at one
    of those that are farthest from their centres.
    """
    centres = spread_out(points, weight, count)
    centres = np.concatenate([centres, np.full((count - len(centres), points.shape[1]), np.inf)])
    errors: list[float] = []
    total = weight.sum()
    while True:
        used = np.flatnonzero(np.isfinite(centres[:, 0]))
        distance, nearest = cKDTree(centres[used]).query(points)
        label = used[nearest]
        errors.append(float(weight @ distance**2 / total))
        on_progress(f"k-means with {count:,} clusters", len(errors) / MOST_PASSES)
        empty = np.setdiff1d(np.arange(count), label)
        settled = len(errors) > 1 and errors[-1] > (1.0 - ENOUGH) * errors[-2]
        if len(errors) == MOST_PASSES or (settled and len(empty) == 0):
            return label, np.array(errors)
        mass = np.bincount(label, weights=weight, minlength=count)
        for axis in range(points.shape[1]):
            moment = np.bincount(label, weights=weight * points[:, axis], minlength=count)
            centres[:, axis] = moment / np.where(mass > 0.0, mass, np.inf)
        farthest = np.argsort(-distance, kind="stable")[: len(empty)]
        centres[empty] = points[farthest]


def cluster_tables(boards: RoundBoards, count: int, on_progress: OnProgress) -> tuple[BucketTables, float]:
    """Return the tables of clusters on the last board, lossless before, and the clusters' root mean square error."""
    cards = suit_isomorphism(boards.ranks, boards.suits, boards.sizes[1])
    if not 1 <= count <= HIGHEST_CODE + 1:
        raise EquipoiseError(f"buckets=kmeans:{count} is not valid; give 1 to {HIGHEST_CODE + 1:,} clusters")
    features = opponent_features(boards, cards, on_progress)
    weight = (np.repeat(cards.board_weight, np.diff(cards.first_pair)) * cards.pair_size).astype(np.float64)
    # Most hands share their features with others, on this board or on another one: each vector is one point.
    distinct, point_of = np.unique(features, axis=0, return_inverse=True)
    if count > len(distinct):
        raise EquipoiseError(f"buckets=kmeans:{count} is not valid: only {len(distinct):,} hands differ in strength")
    point_weight: Float = np.bincount(point_of.ravel(), weights=weight).astype(np.float64)
    on_points, errors = cluster(distinct, point_weight, count, on_progress)
    label = on_points[point_of.ravel()]
    tables = empty_tables(boards)
    codes_of(tables, boards, 0)[0] = cards.start_class
    own = cards.first_pair[:-1, None] + np.maximum(cards.hand_class, 0)
    codes_of(tables, boards, 1)[:] = np.where(cards.hand_class == NO_CLASS, 0, label[own])
    return tables, float(np.sqrt(errors[-1]))


def lossless_tables(boards: RoundBoards) -> BucketTables:
    """Return the tables in which every (hand, board) up to suits is a bucket of its own."""
    tables = empty_tables(boards)
    cards = suit_isomorphism(boards.ranks, boards.suits, boards.sizes[1])
    codes_of(tables, boards, 0)[0] = cards.start_class
    codes_of(tables, boards, 1)[:] = np.maximum(cards.hand_class, 0)
    tables.base[1:] = cards.first_pair[:-1]
    return tables
