"""Clusters of hands in each round by k-means: before the last board on what they may become, on it on whom they beat.

1. Before the last board, two hands are alike if their strength at the end is distributed alike over the cards to come:
   the features are the cumulative histogram of that strength (Gilpin, Sandholm and Sorensen 2007 cluster histograms;
   between cumulative ones the sum of differences is the earth mover's distance, and k-means takes their squares).
2. On the last board nothing is to come, and what sets hands of equal strength apart is whom they beat. So the features
   are those of Johanson et al. 2013 ("Evaluating state-space abstractions", OCHS): the probability of winning against
   each of eight groups of starting hands, and against all. Groups are percentiles of E[HS^2], not clusters, so that no
   group can be blocked by four cards.

The clusters forget those of the rounds before (imperfect recall), as those that Deep CFR is compared with seem to do:
before the flop hands are kept apart losslessly, and 8 x 169 + 70 x 552 makes the 40,000 decisions of its Figure 2
(Brown et al. 2019).
"""

import time
from itertools import combinations
from math import comb
from typing import Protocol

import numpy as np
import numpy.typing as npt

from equipoise.abstraction.bucket_tables import (
    HIGHEST_CODE,
    BucketTables,
    RoundBoards,
    UInt16,
    bucket_codes,
    empty_tables,
)
from equipoise.abstraction.cache import WORTH_KEEPING, Parts
from equipoise.abstraction.percentiles import cuts_of
from equipoise.abstraction.strength import (
    Float,
    grade_strength,
    live_hands,
    part_of_board,
    sort_by_rank,
)
from equipoise.compiled import kernel
from equipoise.errors import InvalidParameter
from equipoise.games.suits import (
    HOLE_CARDS,
    NO_CLASS,
    CanonicalBoards,
    Cards,
    Int16,
    Int64,
    sets_of_cards,
    suit_isomorphism,
)

OPPONENT_GROUPS = 8  # as Johanson et al. have it
STRENGTHS = 16  # bins of a histogram of strength at the end
MOST_POINTS = 1 << 21  # that centres are fitted to; all flops have fewer
MOST_PASSES = 30
ENOUGH = 0.002  # passes end when one lowers the squared error by less than this share


class Features(Protocol):
    """What hands are compared by in one round."""

    def on(self, boards: Int64) -> Float:
        """Return the features of the hands that are possible on some boards, board after board."""


@kernel
def _list_live(boards: Cards, hands: Cards, listed: Int64) -> None:
    """Write, by board, the hands that are possible on it."""
    live = np.empty(hands.shape[0], np.int64)
    for board in range(boards.shape[0]):
        count = live_hands(boards[board], hands, live)
        listed[board] = live[:count]


def hands_on(boards: Cards, deck_size: int) -> Int64:
    """Return the hands that are possible on each of some boards, ``[boards, live hands]``."""
    hands = sets_of_cards(deck_size, HOLE_CARDS)
    listed = np.empty((len(boards), comb(deck_size - boards.shape[1], HOLE_CARDS)), np.int64)
    _list_live(boards, hands, listed)
    return listed


@kernel
def _strength_by_group(
    boards: Cards, hands: Cards, bits: npt.NDArray[np.uint64], group_of: Int64, features: Float
) -> None:
    """Write, for each possible hand, the strength against each group of the opponent's hands, then against all."""
    total, groups = hands.shape[0], features.shape[1]  # the last group is everybody
    live, keys = np.empty(total, np.int64), np.empty(total, np.int64)
    below, tied = np.empty((groups, bits.size + 1), np.int64), np.empty((groups, bits.size + 1), np.int64)
    there = np.empty((groups, bits.size + 1), np.int64)  # hands by group and card; the last column counts all
    row_of = np.empty(total, np.int64)
    for board in range(boards.shape[0]):
        count = live_hands(boards[board], hands, live)
        sort_by_rank(boards[board], hands, bits, live, count, keys)
        there[:] = 0
        for place in range(count):
            row_of[live[place]] = board * count + place
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
                    features[row_of[hand], group] = (beaten + 0.5 * even) / others if others > 0 else 0.5
            below += tied
            start = end


@kernel
def _count(table: npt.NDArray[np.int64], group_of: Int64, hands: Cards, hand: int) -> None:
    """Count a hand in its group and in the last one, by each of its cards and once in all."""
    for group in (group_of[hand], table.shape[0] - 1):
        table[group, hands[hand, 0]] += 1
        table[group, hands[hand, 1]] += 1
        table[group, table.shape[1] - 1] += 1


class OpponentStrength:
    """Features on the last board: the strength against groups of starting hands, and against all."""

    def __init__(self, boards: RoundBoards, tables: BucketTables, start: Float) -> None:
        """``start`` is E[HS^2] of the starting hands."""
        grades = np.rint(start * HIGHEST_CODE).astype(np.int64)
        weight = np.bincount(grades, minlength=HIGHEST_CODE + 1)
        self.group_of = np.searchsorted(cuts_of(weight[None, :], OPPONENT_GROUPS)[0], grades, side="right")
        self.boards, self.bits = boards.rounds[-1].boards, tables.bits
        self.hands = sets_of_cards(boards.deck_size, HOLE_CARDS)

    def on(self, boards: Int64) -> Float:
        """Return the features of the hands that are possible on some boards, board after board."""
        live = comb(self.bits.size - self.boards.shape[1], HOLE_CARDS)
        features = np.empty((len(boards) * live, OPPONENT_GROUPS + 1))
        _strength_by_group(self.boards[boards], self.hands, self.bits, self.group_of, features)
        return features


@kernel
def _count_futures(
    boards: Cards,
    weight: Int64,
    first: int,
    last: int,
    hands: Cards,
    strength: UInt16,
    strongest: int,
    parts: Int64,
    tables: BucketTables,
    earlier: int,
    first_board: int,
    hand_class: Int16,
    first_pair: Int64,
    histogram: npt.NDArray[np.unsignedinteger],
) -> None:
    """Count every last board, and each hand's strength on it, for the boards that it may have come from."""
    live, part = np.empty(hands.shape[0], np.int64), np.empty(parts.shape[1], np.uint8)
    bins = histogram.shape[1]
    for board in range(first, last):
        count = live_hands(boards[board], hands, live)
        for number in range(parts.shape[0]):
            row, image = part_of_board(boards[board], parts[number], part, tables, earlier, first_board)
            for place in range(count):
                pair = first_pair[row] + hand_class[row, tables.image[image + live[place]]]
                reached = np.int64(strength[board, live[place]]) * bins // (strongest + 1)
                histogram[pair, reached] += weight[board]


class FutureStrength:
    """Features before the last board: how the strength on it is distributed, over all cards to come."""

    def __init__(
        self, boards: RoundBoards, tables: BucketTables, strength: UInt16, betting_round: int, parts: Parts
    ) -> None:
        """``strength`` is that of all hands on the last boards, as :func:`grade_strength` has it."""
        last, size = boards.rounds[-1], boards.sizes[betting_round]
        self.cards = suit_isomorphism(boards.ranks, boards.suits, size)
        chosen = np.array(list(combinations(range(boards.sizes[-1]), size)), np.int64)
        # A pair stands for at most as many deals as there are renamings of suits: 24 x 1,081 fits into two bytes.
        most = len(self.cards.permutations) * comb(boards.deck_size - HOLE_CARDS - size, boards.sizes[-1] - size)
        self.histogram = np.zeros((self.cards.num_pairs, STRENGTHS), np.min_scalar_type(most))
        first_board = sum(len(each.boards) for each in boards.rounds[:betting_round])
        strongest = 2 * comb(boards.deck_size - HOLE_CARDS - boards.sizes[-1], HOLE_CARDS)
        what = f"strength to come on boards of {size} cards"
        for begin, end in parts.loop(what, len(last.boards), self.histogram):
            _count_futures(
                last.boards,
                last.weight,
                begin,
                end,
                self.cards.hands,
                strength,
                strongest,
                chosen,
                tables,
                betting_round,
                first_board,
                self.cards.hand_class,
                self.cards.first_pair,
                self.histogram,
            )

    def on(self, boards: Int64) -> Float:
        """Return the features of the hands that are possible on some boards, board after board."""
        own = self.cards.hand_class[boards]
        pairs = (self.cards.first_pair[boards][:, None] + own)[own != NO_CLASS]
        below = np.cumsum(self.histogram[pairs], axis=1, dtype=np.float64)
        return below[:, :-1] / below[:, -1:]


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


def nearest(centres: Float, points: Float) -> tuple[Float, Int64]:
    """Return how far each point is from its nearest centre, and which that is."""
    used = np.flatnonzero(np.isfinite(centres[:, 0]))
    from scipy.spatial import cKDTree  # slow to load

    distance, place = cKDTree(centres[used]).query(points)
    return distance, used[place]


def cluster(points: Float, weight: Float, count: int, parts: Parts, what: str = "k-means") -> tuple[Float, Float]:
    """Return the centres of weighted k-means, and the squared error after each of Lloyd's passes.

    Nothing is random: passes start from :func:`spread_out`, and a cluster that has lost its points starts anew at one
    of those that are farthest from their centres.
    """
    began, kept = time.perf_counter(), parts.kept(what)
    if kept is None:
        centres = spread_out(points, weight, count)
        centres = np.concatenate([centres, np.full((count - len(centres), points.shape[1]), np.inf)])
        errors: list[float] = []
    else:
        centres, errors = kept["centres"], kept["errors"].tolist()
    total = weight.sum()
    while True:
        parts.tell(what, len(errors) / MOST_PASSES, {"centres": centres, "errors": np.array(errors)})
        distance, label = nearest(centres, points)
        errors.append(float(weight @ distance**2 / total))
        empty = np.setdiff1d(np.arange(count), label)
        settled = len(errors) > 1 and errors[-1] > (1.0 - ENOUGH) * errors[-2]
        if len(errors) == MOST_PASSES or (settled and len(empty) == 0):
            if time.perf_counter() - began > WORTH_KEEPING:
                parts.keep(what, {"centres": centres, "errors": np.array(errors[:-1])})  # as before the last pass
            return centres, np.array(errors)
        mass = np.bincount(label, weights=weight, minlength=count)
        for axis in range(points.shape[1]):
            moment = np.bincount(label, weights=weight * points[:, axis], minlength=count)
            centres[:, axis] = moment / np.where(mass > 0.0, mass, np.inf)
        farthest = np.argsort(-distance, kind="stable")[: len(empty)]
        centres[empty] = points[farthest]


def fit_centres(boards: CanonicalBoards, features: Features, deck_size: int, count: int, parts: Parts) -> Float:
    """Return the centres of a round's clusters, fitted to all its boards or to every second, third, ... one."""
    live = comb(deck_size - boards.boards.shape[1], HOLE_CARDS)
    chosen = np.arange(0, len(boards.boards), -(-len(boards.boards) * live // MOST_POINTS))
    # Most hands share their features with others, on this board or on another one: each vector is one point.
    distinct, point_of = np.unique(features.on(chosen), axis=0, return_inverse=True)
    if count > len(distinct):
        raise InvalidParameter(
            f"buckets=kmeans:{count} is too many: on boards of {boards.boards.shape[1]} cards only {len(distinct):,} "
            "hands differ in strength"
        )
    weight = np.repeat(boards.weight[chosen], live).astype(np.float64)
    point_weight: Float = np.bincount(point_of.ravel(), weights=weight).astype(np.float64)
    what = f"k-means with {count:,} clusters on boards of {boards.boards.shape[1]} cards"
    return cluster(distinct, point_weight, count, parts, what)[0]


def cluster_tables(boards: RoundBoards, count: int, parts: Parts) -> BucketTables:
    """Return the tables of clusters in every round with a board, lossless before."""
    tables = empty_tables(boards)
    start = grade_strength(boards, tables, 2, parts)[0][0]
    last = len(boards.rounds) - 1
    strength = bucket_codes(tables, boards, last).copy() if last > 1 else np.zeros((0, 0), np.uint16)
    bucket_codes(tables, boards, 0)[0] = suit_isomorphism(boards.ranks, boards.suits, boards.sizes[1]).start_class
    for betting_round in range(1, last + 1):
        current = boards.rounds[betting_round]
        features: Features
        if betting_round == last:
            features = OpponentStrength(boards, tables, start)
        else:
            features = FutureStrength(boards, tables, strength, betting_round, parts)
        centres = fit_centres(current, features, boards.deck_size, count, parts)
        codes = bucket_codes(tables, boards, betting_round)
        codes[:] = 0
        what = f"clusters on boards of {boards.sizes[betting_round]} cards"
        for begin, end in parts.loop(what, len(current.boards), codes):
            chosen = np.arange(begin, end)
            live = hands_on(current.boards[chosen], boards.deck_size)
            codes[chosen[:, None], live] = nearest(centres, features.on(chosen))[1].reshape(live.shape)
    return tables
