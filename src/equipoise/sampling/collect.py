"""Traversals of a listed game whose findings come one by one, as Deep CFR's memories want them (B19 Algorithm 2)."""

from collections.abc import Iterator

import numpy as np

from equipoise.compiled import uncounted
from equipoise.sampling.dice import start_stream
from equipoise.sampling.rows import REGRET, STRATEGY, FloatTable, Rows, ScoresAt
from equipoise.sampling.schemes import Scheme, SchemePlan
from equipoise.sampling.traversal import (
    ACTIONS,
    ENTRY,
    FLOAT_WIDTH,
    INT_WIDTH,
    OWN,
    PASSES,
    ROLE,
    SAMPLE_REACH,
    START,
    Visits,
    make_visits,
    walk,
)
from equipoise.sampling.tree import SampledGame, SampledTree, planned
from equipoise.trees.tables import Listing
from equipoise.trees.treeplex import Float, Int64

ROWS_AT_ONCE = 1 << 16


@uncounted
def _collect(
    tree: SampledTree,
    deal_width: int,
    scheme: SchemePlan,
    scores: Float,
    fallback: int,
    player: int,
    iteration: int,
    seed: int,
    first: int,
    batch: int,
    most: int,
    visits: Visits,
    entry_infoset: Int64,
    entry_column: Int64,
    own: Int64,
    own_values: FloatTable,
    opponent: Int64,
    opponent_values: FloatTable,
    opponent_weight: Float,
    counts: Int64,
) -> int:
    """Run traversals from ``first`` on until the batch or the room is used up; return the next one's number."""
    ints, floats, buffer, dice, tape, ends = (
        visits.ints[0],
        visits.floats[0],
        visits.buffer[0],
        visits.dice[0],
        visits.tape[0],
        visits.ends[0],
    )
    counts[0] = counts[1] = 0
    traversal = first
    while traversal < batch and max(counts[0], counts[1]) + most <= own.size:
        for subgame in range(tree.roots.size):
            ends[0], ends[1] = 0, 0
            start_stream(dice, seed, iteration, player, traversal * tree.roots.size + subgame)
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
            for position in range(np.uint64(ends[0])):
                here = position * INT_WIDTH
                role = ints[here + ROLE]
                if role != PASSES:
                    entry, count, start = ints[here + ENTRY], ints[here + ACTIONS], ints[here + START]
                    if role == OWN:
                        start += count  # regrets come after the strategy
                        rows, values, place = own, own_values, counts[0]
                        counts[0] += 1
                    else:
                        rows, values, place = opponent, opponent_values, counts[1]
                        opponent_weight[place] = 1.0 / floats[position * FLOAT_WIDTH + SAMPLE_REACH]
                        counts[1] += 1
                    rows[place] = entry_infoset[entry]
                    for column in range(values.shape[1]):
                        values[place, column] = 0.0
                    for action in range(count):
                        values[place, entry_column[entry + action]] = buffer[start + action]
        traversal += 1
    return int(traversal)


class Collector:
    """Traversals of a game by a scheme; the findings come in parts, so that memory stays bounded."""

    threads = 1

    def __init__(
        self,
        game: SampledGame,
        scheme: Scheme,
        listing: Listing,
        *,
        batch: int,
        fallback: int,
        seed: int,
    ) -> None:
        self._tree, self._plan = planned(game, scheme)
        self._deal_width = game.deal_width
        self._batch = batch
        self._fallback = fallback
        self._seed = seed
        self._visits = make_visits(self._tree)
        self._listing = listing
        self._most = self._visits.ints.shape[1] // int(INT_WIDTH)  # of one traversal
        room = max(ROWS_AT_ONCE, self._most)
        self._rows = [np.zeros(room, np.int64) for _ in range(2)]
        self._values = [np.zeros((room, listing.num_columns)) for _ in range(2)]
        self._weights = [np.ones(room) for _ in range(2)]
        self._counts = np.zeros(2, np.int64)

    @property
    def nodes_touched(self) -> int:
        """Return how many nodes all traversals have visited."""
        return int(self._visits.ends[:, 2].sum())

    @nodes_touched.setter
    def nodes_touched(self, count: int) -> None:
        self._visits.ends[0, 2] = count

    def rows(self, scores_at: ScoresAt, players: tuple[int, ...], iteration: int) -> Iterator[Rows]:
        """Run traversals of some players; yield the traverser's regrets and the opponent's strategies, in parts.

        Strategies count one over the traverser's sample reach: in expectation, the opponent's own reach x chance's.
        """
        scores = self._listing.table(lambda player: scores_at(player, None))
        for player in players:
            for counts in self._parts(scores, player, iteration):
                yield Rows(player, REGRET, iteration, *self._found(0, int(counts[0])))
                yield Rows(1 - player, STRATEGY, iteration, *self._found(1, int(counts[1])))

    def _found(self, side: int, count: int) -> tuple[Int64, FloatTable, Float]:
        return self._rows[side][:count], self._values[side][:count], self._weights[side][:count]

    def _parts(self, scores: Float, player: int, iteration: int) -> Iterator[Int64]:
        """Run a player's traversals, as many at a time as there is room for; yield how many rows each side has."""
        traversal = 0
        while traversal < self._batch:
            traversal = _collect(
                self._tree,
                self._deal_width,
                self._plan,
                scores,
                self._fallback,
                player,
                iteration,
                self._seed,
                traversal,
                self._batch,
                self._most,
                self._visits,
                self._listing.infoset,
                self._listing.column,
                self._rows[0],
                self._values[0],
                self._rows[1],
                self._values[1],
                self._weights[1],
                self._counts,
            )
            yield self._counts
