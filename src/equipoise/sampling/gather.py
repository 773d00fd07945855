"""A mini-batch of traversals at a frozen strategy, and what they found, summed by infoset (DN19 Eq. 12).

Each traversal has its own stream of random numbers. Large batches are made in parts, and what a part found is added up
in the order of parts. How many there are does not depend on threads, so neither do the sums.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, kernel_pair, prange, uncounted
from equipoise.errors import NotSupported
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
from equipoise.workers import Workers

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
    first_part: int,
    parts: int,
) -> None:
    """Add the regrets that ``batch`` traversals of a player find to ``increment``, and strategies to their sum.

    Where nothing was found yet ``increment`` is not a number; ``touched`` lists where it is, a list a thread. Of
    ``parts`` in all, those from ``first_part`` on are made here for which there are lists of visits. If the first is
    among them, they are added up; else what they found is left in ``apart``.
    """
    all_ints, all_floats, all_buffers, all_dice, tapes, all_ends = visits
    where, regrets, strategies, unused, met = apart
    here, threads = all_ints.shape[0], touched.shape[0]
    others = here - int(first_part == 0)
    stamp = 2 * iteration + player
    a_part = (batch + parts - 1) // parts
    for number in prange(here):
        ints, floats, buffer = all_ints[number], all_floats[number], all_buffers[number]
        dice, tape, ends = all_dice[number], tapes[number], all_ends[number]
        part = first_part + number
        alone = number - int(first_part == 0)
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
    if first_part == 0 and others > 0:
        own_first, own_last = (0, first_of_player_1) if player == 0 else (first_of_player_1, increment.size)
        for thread in prange(threads):
            for alone in range(others):
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


@uncounted
def add_up_part(
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
    """Add what a part found elsewhere."""
    _add_up(0, 1, own_first, own_last, averages_own, increment, strategy_sum, touched, regrets, strategies, met)


def parts_of_batch(batch: int) -> int:
    """Return in how many parts a batch is made, if there is room for them."""
    return 1 if batch < SMALL_BATCH else max(2, min(MOST_PARTS, batch // LARGE_PART))


class Walks(NamedTuple):
    """What batches of traversals are made of, from the first to the last."""

    tree: SampledTree
    deal_width: int
    scheme: SchemePlan
    seed: int
    batch: int
    averaging: int
    first_of_player_1: int
    fallback: int


class PartOfBatch(NamedTuple):
    """A part that a worker makes."""

    iteration: int
    player: int
    part: int


class FoundApart(NamedTuple):
    """What such a part found (see :class:`Apart`)."""

    regrets: Float
    strategies: Float | None  # None: together with the regrets, for their infosets are of different players
    met: Int64
    nodes_touched: int


class PartMaker:
    """Makes parts of batches in another process, with room of its own."""

    def __init__(self, walks: Walks, parts: int, size: int, precision: npt.DTypeLike) -> None:
        self._walks, self._parts, self._size, self._precision = walks, parts, size, precision

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_room"}

    @cached_property
    def _room(self) -> tuple[Visits, Apart]:
        visits = make_visits(self._walks.tree, 1)
        return visits, make_apart(1, self._size, self._precision, self._walks.averaging, visits)

    @staticmethod
    def make(shared: "tuple[PartMaker, Float, Float]", lane: int, spec: PartOfBatch) -> FoundApart:
        """Make a part; what is shared besides are the scores and the rule of a turn."""
        del lane
        maker, scores, rule = shared
        walks, (visits, apart) = maker._walks, maker._room
        visits.ends[:] = 0
        nothing = scores[:0]
        GATHER[0](
            walks.tree,
            walks.deal_width,
            walks.scheme,
            rule,
            spec.iteration,
            walks.seed,
            walks.batch,
            spec.player,
            walks.averaging,
            walks.first_of_player_1,
            scores,
            walks.fallback,
            nothing,
            nothing,
            apart.touched,
            visits,
            apart,
            spec.part,
            maker._parts,
        )
        met = apart.met[0]
        places, infosets = int(met[0]), int(met[1])
        found = met[: 2 + 2 * infosets].copy()
        apart.where[0, found[2::2]] = 0  # another part of the turn has the same stamp
        met[:2] = 0
        together = walks.averaging != OWN_REACH_AVERAGING
        strategies = None if together else apart.strategies[0, :places].copy()
        return FoundApart(apart.regrets[0, :places].copy(), strategies, found, int(visits.ends[:, 2].sum()))


def make_apart(rows: int, size: int, precision: npt.DTypeLike, averaging: int, visits: Visits) -> Apart:
    """Return room for what some parts keep to themselves."""
    visited = visits.ints.shape[1] // int(INT_WIDTH)
    regrets = np.zeros((rows, size), precision)
    return Apart(
        where=np.zeros((rows, size), np.int64),
        regrets=regrets,
        strategies=np.zeros_like(regrets) if averaging == OWN_REACH_AVERAGING else regrets,  # of different players
        touched=np.zeros((rows, 1 + 2 * visited), np.int64),
        met=np.zeros((rows, 2 + 2 * size), np.int64),
    )


class Batches:
    """What batches of traversals work with: lists of what a traversal met, marks, and what parts keep to themselves."""

    def __init__(self, walks: Walks, threads: int, table: Float, workers: Workers | None = None) -> None:
        """``table`` is one like those that the batches go to; ``workers`` make all parts but the first."""
        self._walks, self._workers, averaging = walks, workers, walks.averaging
        size, tables = table.size, 1 + (averaging == OWN_REACH_AVERAGING)
        bytes_a_part = size * (8 + tables * table.itemsize + 16)
        self.parts = min(parts_of_batch(walks.batch), 1 + MOST_BYTES_APART // max(bytes_a_part, 1))
        here = self.parts if workers is None else 1
        self.visits = make_visits(walks.tree, here)
        self.pace = Pace(min(threads, here))
        visited = self.visits.ints.shape[1] // int(INT_WIDTH)
        self._touched = np.zeros((self.pace.threads, 1 + 2 * min(size, 2 * walks.batch * visited)), np.int64)
        self.apart = make_apart(here - 1, size, table.dtype, averaging, self.visits)
        if workers is not None:
            if self.parts == 1:
                raise NotSupported(
                    "the tables are so large that a batch has one part, and nothing can be shared out: leave out the "
                    "cluster"
                )
            self._maker = PartMaker(walks, self.parts, size, table.dtype)
            workers.once(self._maker)

    def gather(
        self,
        threads: int,
        rule: Float,
        iteration: int,
        player: int,
        scores: Float,
        increment: Float,
        strategy_sum: Float,
    ) -> None:
        """Make a batch of a player's traversals, and add up what they find."""
        walks, touched = self._walks, self.touched(threads)
        found: Iterator[FoundApart] = iter(())
        if self._workers is not None:  # these begin, and the first part is made here
            parts = [PartOfBatch(iteration, player, part) for part in range(1, self.parts)]
            found = self._workers.map(PartMaker.make, parts, (self._maker, scores, rule))
        GATHER[threads > 1](
            walks.tree,
            walks.deal_width,
            walks.scheme,
            rule,
            iteration,
            walks.seed,
            walks.batch,
            player,
            walks.averaging,
            walks.first_of_player_1,
            scores,
            walks.fallback,
            increment,
            strategy_sum,
            touched,
            self.visits,
            self.apart,
            0,
            self.parts,
        )
        split = walks.first_of_player_1
        own = (0, split) if player == 0 else (split, increment.size)
        for part in found:
            self.visits.ends[0, 2] += part.nodes_touched
            strategies = part.regrets if part.strategies is None else part.strategies
            averages_own = walks.averaging == OWN_REACH_AVERAGING
            add_up_part(*own, averages_own, increment, strategy_sum, touched[0], part.regrets, strategies, part.met)

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
        workers: Workers | None = None,
    ) -> None:
        tree, plan = planned(game, scheme)
        self._averaging = OWN_REACH_AVERAGING if averaging == "own_reach" else STOCHASTIC
        self._increment = np.full(sum(game.table_sizes), np.nan)
        self._strategy_increment = np.zeros_like(self._increment)
        walks = Walks(tree, game.deal_width, plan, seed, batch, self._averaging, game.table_sizes[0], fallback)
        self._batches = Batches(walks, threads, self._increment, workers)
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
            common = (threads, self._rule, iteration, player, scores)
            self._batches.gather(*common, self._increment, self._strategy_increment)


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
        workers: Workers | None = None,
    ) -> None:
        common = {"batch": batch, "fallback": fallback, "seed": seed, "threads": threads}
        super().__init__(game, scheme, averaging=averaging, workers=workers, **common)
        self._listing = listing
        self._tables = tables
        self._fallback = fallback
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
