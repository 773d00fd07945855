"""A mini-batch of traversals at a frozen strategy, and what they found, summed by infoset (DN19 Eq. 12).

Each traversal has its own stream of random numbers. Large batches are made in parts, and what a part found is added up
in the order of parts. How many there are does not depend on threads, so neither do the sums.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from equipoise.compiled import inlined, kernel_pair, prange
from equipoise.regret.matching import match_table
from equipoise.regret.rules import CFR, coefficient_table
from equipoise.sampling.dice import start_stream
from equipoise.sampling.rows import REGRET, STRATEGY, Rows, ScoresAt
from equipoise.sampling.schemes import Scheme, SchemePlan
from equipoise.sampling.traversal import (
    ACTIONS,
    ENTRY,
    INT_WIDTH,
    OWN,
    OWN_REACH_AVERAGING,
    PASSES,
    ROLE,
    STOCHASTIC,
    Visits,
    absorb,
    list_once,
    make_visits,
    walk,
)
from equipoise.sampling.tree import FloatTable, Int64Table, SampledGame, SampledTree, planned
from equipoise.threads import Pace
from equipoise.trees.tables import Listing, TableMap
from equipoise.trees.treeplex import Float, Int32, Int64

Averaging = Literal["stochastic", "own_reach", "exact"]

# In how many parts a batch is made depends on batch and tables alone, never on threads. Adding parts up takes time, and
# room for what they keep to themselves: small batches have one part, the others two or as many as are large.
SMALL_BATCH = 500
LARGE_PART = 2500
MOST_PARTS = 8
MOST_BYTES_APART = 2**29

PLACE_BITS = 32


class Apart(NamedTuple):
    """What the parts of a batch, all but the first, found: by infosets in the order in which they were met."""

    where: Int64Table  # [parts, entries] the stamp of a batch, and the place of an infoset in the next tables
    regrets: FloatTable  # [parts, places]
    strategies: FloatTable  # [parts, places]
    touched: Int64Table  # [parts, what one traversal touches]
    met: Int64Table  # [parts, 2 + 2 x infosets] how many places and infosets there are; entry and actions of each


@inlined
def _find_places(
    ints: Int32, visited: int, stamp: int, where: Int64, regrets: Float, strategies: Float, met: Int64
) -> None:
    """Put places of a part's own tables where a list of visits has entries of the game's tables."""
    for position in range(np.uint64(visited)):
        here = position * INT_WIDTH
        if ints[here + ROLE] != PASSES:
            entry, count = np.uint64(ints[here + ENTRY]), ints[here + ACTIONS]
            found = where[entry]
            if found >> PLACE_BITS != stamp:
                found = (stamp << PLACE_BITS) + met[0]
                where[entry] = found
                for place in range(met[0], met[0] + count):
                    strategies[place] = 0.0
                if ints[here + ROLE] == OWN:
                    regrets[met[0]] = np.nan
                met[2 + 2 * met[1]], met[3 + 2 * met[1]] = entry, count
                met[0] += count
                met[1] += 1
            ints[here + ENTRY] = found & ((1 << PLACE_BITS) - 1)


@inlined
def _add_up(
    thread: int,
    threads: int,
    own_first: int,
    own_last: int,
    averages_own: bool,
    increment: Float,
    strategy_sum: Float,
    touched: Int64,
    regrets: Float,
    strategies: Float,
    met: Int64,
) -> None:
    """Add what a part found at those infosets that belong to a thread."""
    place = 0
    for number in range(met[1]):
        entry, count = met[2 + 2 * number], met[3 + 2 * number]
        if (entry >> 6) % threads == thread:
            own = own_first <= entry < own_last
            averaged = not averages_own
            if own:
                averaged = list_once(entry, count, increment, touched) and averages_own
                for action in range(count):
                    increment[entry + action] += regrets[place + action]
            if averaged:
                for action in range(count):
                    strategy_sum[entry + action] += strategies[place + action]
        place += count


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
    first_of_player_1: int,
    scores: Float,
    fallback: int,
    increment: Float,
    strategy_sum: Float,
    touched: Int64Table,
    visits: Visits,
    apart: Apart,
) -> None:
    """Add the regrets that ``batch`` traversals of a player find to ``increment``, and strategies to their sum.

    Where nothing was found yet ``increment`` is not a number; ``touched`` lists where it is, a list a thread.
    """
    all_ints, all_floats, all_buffers, all_dice, tapes, all_ends = visits
    where, regrets, strategies, unused, met = apart
    parts, threads = all_ints.shape[0], touched.shape[0]
    stamp = 2 * iteration + player
    a_part = (batch + parts - 1) // parts
    for part in prange(parts):
        ints, floats, buffer = all_ints[part], all_floats[part], all_buffers[part]
        dice, tape, ends = all_dice[part], tapes[part], all_ends[part]
        alone = part - 1
        for traversal in range(part * a_part, min((part + 1) * a_part, batch)):
            ends[0], ends[1] = 0, 0
            for subgame in range(tree.roots.size):
                stream = traversal * tree.roots.size + subgame
                start_stream(dice, seed, iteration, player, stream)
                walk(
                    tree,
                    np.uint64(deal_width),
                    scheme,
                    scores,
                    fallback,
                    player,
                    subgame,
                    ints,
                    floats,
                    buffer,
                    dice,
                    tape,
                    ends,
                )
            if part > 0:
                _find_places(ints, ends[0], stamp, where[alone], regrets[alone], strategies[alone], met[alone])
                unused[alone, 0] = 0
            for position in range(np.uint64(ends[0])):
                absorb(
                    ints,
                    floats,
                    buffer,
                    np.uint64(position),
                    ints[position * INT_WIDTH + ROLE],
                    False,
                    1.0 / batch,
                    rule,
                    averaging,
                    scores,
                    increment if part == 0 else regrets[alone],
                    strategy_sum if part == 0 else strategies[alone],
                    touched[0] if part == 0 else unused[alone],
                )
    if parts > 1:
        own_first, own_last = (0, first_of_player_1) if player == 0 else (first_of_player_1, increment.size)
        for thread in prange(threads):
            for alone in range(parts - 1):
                _add_up(
                    thread,
                    threads,
                    own_first,
                    own_last,
                    averaging == OWN_REACH_AVERAGING,
                    increment,
                    strategy_sum,
                    touched[thread],
                    regrets[alone],
                    strategies[alone],
                    met[alone],
                )
        met[:, :2] = 0


GATHER = kernel_pair(gather)


class Batches:
    """What batches of traversals work with: lists of what a traversal met, marks, and what parts keep to themselves."""

    def __init__(self, game: SampledGame, averaging: int, batch: int, threads: int, table: Float) -> None:
        """``table`` is one like those that the batches go to."""
        size, tables = table.size, 1 + (averaging == OWN_REACH_AVERAGING)
        bytes_a_part = size * (8 + tables * table.itemsize + 16)
        parts = 1 if batch < SMALL_BATCH else max(2, min(MOST_PARTS, batch // LARGE_PART))
        parts = min(parts, 1 + MOST_BYTES_APART // max(bytes_a_part, 1))
        self.visits = make_visits(game.tree, parts)
        self.pace = Pace(min(threads, parts))
        visited = self.visits.ints.shape[1] // int(INT_WIDTH)
        self._touched = np.zeros((self.pace.threads, 1 + 2 * min(size, 2 * batch * visited)), np.int64)
        alone = parts - 1
        regrets = np.zeros((alone, size), table.dtype)
        self.apart = Apart(
            where=np.zeros((alone, size), np.int64),
            regrets=regrets,
            strategies=np.zeros_like(regrets) if tables == 2 else regrets,  # infosets of different players
            touched=np.zeros((alone, 1 + 2 * visited), np.int64),
            met=np.zeros((alone, 2 + 2 * size), np.int64),
        )

    def touched(self, threads: int) -> Int64Table:
        """Return lists of the traversers' infosets that were met, one for each of some threads."""
        return self._touched[:threads]

    def forget(self) -> None:
        """Forget which infosets were met in which iteration."""
        self.apart.where[:] = 0

    @property
    def nodes_touched(self) -> int:
        """Return how many nodes all traversals have visited."""
        return int(self.visits.ends[:, 2].sum())

    @nodes_touched.setter
    def nodes_touched(self, count: int) -> None:
        self.visits.ends[:, 2] = 0
        self.visits.ends[0, 2] = count


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
        self._increment = np.full(sum(game.table_sizes), np.nan)
        self._strategy_increment = np.zeros_like(self._increment)
        self._split = game.table_sizes[0]
        self._batches = Batches(game, self._averaging, batch, threads, self._increment)
        self.threads = self._batches.pace.threads
        self._rule = coefficient_table(CFR(), 1, 1)[0]  # sums only: rules come later

    @property
    def nodes_touched(self) -> int:
        """Return how many nodes all traversals have visited."""
        return self._batches.nodes_touched

    @nodes_touched.setter
    def nodes_touched(self, count: int) -> None:
        self._batches.nodes_touched = count

    def sample(self, scores: Float, players: tuple[int, ...], iteration: int) -> Sums:
        """Run a batch of traversals for each of some players. The sums are valid until the next call."""
        self._increment[:] = np.nan
        self._strategy_increment[:] = 0.0
        touched = self._batches.touched(self.threads)
        touched[:, 0] = 0
        for player in players:
            self._gather(scores, player, iteration)
        self._increment[np.isnan(self._increment)] = 0.0
        observed = np.concatenate([part[1 : 1 + 2 * part[0] : 2] for part in touched])
        return Sums(self._increment, observed, self._strategy_increment)

    def _gather(self, scores: Float, player: int, iteration: int) -> None:
        for _, _, threads in self._batches.pace.slices(1):
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
                self._split,
                scores,
                self._fallback,
                self._increment,
                self._strategy_increment,
                self._batches.touched(threads),
                self._batches.visits,
                self._batches.apart,
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
