"""A mini-batch of traversals at a frozen strategy, and what they found, summed by infoset (DN19 Eq. 12).

Each traversal has its own stream of random numbers, and additions keep the order of traversals, so the sums depend on
the seed and not on the number of threads.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from equipoise.compiled import kernel_pair, prange
from equipoise.regret.matching import match_table
from equipoise.regret.rules import CFR, coefficient_table
from equipoise.sampling.dice import start_stream
from equipoise.sampling.rows import REGRET, STRATEGY, Rows, ScoresAt
from equipoise.sampling.schemes import Scheme, SchemePlan
from equipoise.sampling.traversal import (
    INT_WIDTH,
    OWN_REACH_AVERAGING,
    ROLE,
    STOCHASTIC,
    Visits,
    absorb,
    make_visits,
    sort_by_part,
    walk,
)
from equipoise.sampling.tree import Int64Table, SampledGame, SampledTree, planned
from equipoise.threads import Pace
from equipoise.trees.tables import Listing, TableMap
from equipoise.trees.treeplex import Float, Int64

Averaging = Literal["stochastic", "own_reach", "exact"]

TRAVERSALS_AT_ONCE = 96  # a thread's share of a batch between two merges


def gather(
    tree: SampledTree,
    deal_width: int,
    scheme: SchemePlan,
    rule: Float,
    iteration: int,
    seed: int,
    batch: int,
    player: int,
    averaging: int,
    scores: Float,
    fallback: int,
    increment: Float,
    strategy_sum: Float,
    marks: Int64,
    touched: Int64Table,
    visits: Visits,
    at_a_time: int,
) -> None:
    """Add the regrets that ``batch`` traversals of a player find to ``increment``, and strategies to their sum."""
    ints, floats, buffer, dice, tape, ends, order, counts = visits
    parts = ends.shape[0]
    for group in range(0, batch, at_a_time * parts):
        for part in prange(parts):
            ends[part, 0], ends[part, 1] = 0, 0
            begin = group + part * at_a_time
            my_ints, my_floats, my_buffer = ints[part], floats[part], buffer[part]
            my_dice, my_tape, my_ends = dice[part], tape[part], ends[part]
            for traversal in range(begin, min(begin + at_a_time, batch)):
                for subgame in range(tree.roots.size):
                    stream = traversal * tree.roots.size + subgame
                    start_stream(my_dice, seed, iteration, player, stream)
                    walk(
                        tree,
                        np.uint64(deal_width),
                        scheme,
                        scores,
                        fallback,
                        player,
                        subgame,
                        my_ints,
                        my_floats,
                        my_buffer,
                        my_dice,
                        my_tape,
                        my_ends,
                    )
            sort_by_part(my_ints, my_ends[0], parts, order[part], counts[part])
        for part in prange(parts):
            for source in range(parts):
                my_ints, my_floats, my_buffer = ints[source], floats[source], buffer[source]
                my_order = order[source, part]
                for number in range(np.uint64(counts[source, part])):
                    position = np.uint64(my_order[number])
                    absorb(
                        my_ints,
                        my_floats,
                        my_buffer,
                        position,
                        my_ints[position * INT_WIDTH + ROLE],
                        False,
                        1.0 / batch,
                        rule,
                        averaging,
                        iteration,
                        scores,
                        increment,
                        strategy_sum,
                        marks,
                        touched[part],
                    )


GATHER = kernel_pair(gather)


class Lists:
    """Where the traversals of a batch leave what they met, for any number of threads up to the one given."""

    def __init__(self, tree: SampledTree, batch: int, threads: int) -> None:
        self._batch = batch
        self.pace = Pace(threads if batch >= 2 * threads else 1)
        most = max(self.at_a_time(count) for count in self.pace.counts)
        self._visits = make_visits(tree, most, self.pace.threads)
        self.visits_a_traversal = self._visits.ints.shape[1] // (int(INT_WIDTH) * most)  # at most

    def at_a_time(self, threads: int) -> int:
        """Return how many traversals a thread makes between two merges."""
        return 1 if threads == 1 else max(1, min(TRAVERSALS_AT_ONCE, self._batch // threads))

    def of(self, threads: int) -> Visits:
        """Return the lists of some threads."""
        return Visits._make(array[:threads] for array in self._visits)

    @property
    def nodes_touched(self) -> int:
        """Return how many nodes all traversals have visited."""
        return int(self._visits.ends[:, 2].sum())

    @nodes_touched.setter
    def nodes_touched(self, count: int) -> None:
        self._visits.ends[:, 2] = 0
        self._visits.ends[0, 2] = count


class Sums(NamedTuple):
    """What traversals found, by table entry."""

    regret: Float
    observed: Int64  # the first entry of each of the traversers' infosets that were met
    visits: Float  # what the average strategy grows by


class Gatherer:
    """Traversals of a game by a scheme, whose findings come back as tables. The strategy is given by its scores."""

    def __init__(
        self,
        game: SampledGame,
        scheme: Scheme,
        *,
        batch: int,
        averaging: Averaging,
        fallback: int,
        seed: int,
        threads: int,
    ) -> None:
        self._tree, self._plan = planned(game, scheme)
        self._deal_width = game.deal_width
        self._seed = seed
        self._batch = batch
        self._fallback = fallback
        self._averaging = OWN_REACH_AVERAGING if averaging == "own_reach" else STOCHASTIC
        size = sum(game.table_sizes)
        self._marks = np.zeros(size, np.int64)
        self._lists = Lists(self._tree, batch, threads)
        self.threads = self._lists.pace.threads
        self._touched = np.zeros((self.threads, 1 + 2 * size), np.int64)
        self._rule = coefficient_table(CFR(), 1, 1)[0]  # sums only: rules come later
        self._increment = np.zeros(size)
        self._strategy_increment = np.zeros(size)

    @property
    def nodes_touched(self) -> int:
        """Return how many nodes all traversals have visited."""
        return self._lists.nodes_touched

    @nodes_touched.setter
    def nodes_touched(self, count: int) -> None:
        self._lists.nodes_touched = count

    def sample(self, scores: Float, players: tuple[int, ...], iteration: int) -> Sums:
        """Run a batch of traversals for each of some players. The sums are valid until the next call."""
        self._increment[:] = 0.0
        self._strategy_increment[:] = 0.0
        self._touched[:, 0] = 0
        for player in players:
            self._gather(scores, player, iteration)
        observed = np.concatenate([part[1 : 1 + 2 * part[0] : 2] for part in self._touched])
        return Sums(self._increment, observed, self._strategy_increment)

    def _gather(self, scores: Float, player: int, iteration: int) -> None:
        for _, _, threads in self._lists.pace.slices(1):
            GATHER[threads > 1](
                self._tree,
                self._deal_width,
                self._plan,
                self._rule,
                iteration,
                self._seed,
                self._batch,
                player,
                self._averaging,
                scores,
                self._fallback,
                self._increment,
                self._strategy_increment,
                self._marks,
                self._touched[:threads],
                self._lists.of(threads),
                self._lists.at_a_time(threads),
            )


class MiniBatches(Gatherer):
    """The rows of a listed game that mini-batches find, each infoset once."""

    def __init__(
        self,
        game: SampledGame,
        scheme: Scheme,
        listing: Listing,
        tables: TableMap,
        *,
        batch: int,
        averaging: Averaging,
        fallback: int,
        seed: int,
        threads: int,
    ) -> None:
        super().__init__(game, scheme, batch=batch, averaging=averaging, fallback=fallback, seed=seed, threads=threads)
        self._listing = listing
        self._tables = tables
        self._exact = averaging == "exact"

    def rows(self, scores_at: ScoresAt, players: tuple[int, ...], iteration: int) -> Iterator[Rows]:
        """Run a batch of traversals for each of some players; yield what they found."""
        listing = self._listing
        scores = listing.table(lambda player: scores_at(player, None))
        sums = self.sample(scores, players, iteration)
        met = np.unique(listing.infoset[sums.observed])
        for player in players:
            own = listing.infosets_of(player)
            yield self._found(player, REGRET, iteration, sums.regret, met[(own.start <= met) & (met < own.stop)])
        # The opponent's strategy, as the traverser met it; or the traverser's own, as it walked there.
        averaged = players if self._averaging == OWN_REACH_AVERAGING else tuple(1 - player for player in players)
        visits = sums.visits
        if self._exact:  # own reach x strategy, at all infosets
            strategy = match_table(scores, listing.first, self._fallback)
            visits = self._tables.own_reach(strategy) * strategy
        for player in averaged:
            yield self._found(player, STRATEGY, iteration, visits, listing.positive(visits, player))

    def _found(
        self, player: int, kind: Literal["regret", "strategy"], iteration: int, table: Float, infosets: Int64
    ) -> Rows:
        values = self._listing.at(table, infosets)
        return Rows(player, kind, iteration, infosets, values, np.ones(len(infosets)))
