"""One stream from samplers to stores: rows of what traversals found, an infoset each.

A sampler is asked for rows, and asks back for the scores of the infosets that it meets; a store takes rows in. Neither
knows the other, so that a new way to sample needs no new store, and a new store no new way to sample.

In a *listed* game infosets are numbered, player 0's first, and a sampler asks for the scores of all at once: its
kernels work on tables (`trees.tables.Listing`). In a game too large to list, an infoset is a code of 64 bits
(`trees.codes`), and many of them may be meant by a grid of holdings and betting nodes.
"""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel
from equipoise.trees.codes import Grid, codes_in
from equipoise.trees.treeplex import Float, Int64

FloatTable = npt.NDArray[np.float64]
Kind = Literal["regret", "strategy"]
REGRET: Literal["regret"] = "regret"  # sampled regrets, at the traverser's infosets
STRATEGY: Literal["strategy"] = "strategy"  # what is played, at infosets of the player whose average grows by it

# Player and infosets (None: all of the player's, in a listed game) -> [infosets, columns] regrets, or numbers
# proportional to them in each infoset.
Asked = Int64 | Grid | None
ScoresAt = Callable[[int, Asked], FloatTable]


class Rows(NamedTuple):
    """Findings of one kind at infosets of one player. Arrays are valid until the next rows are asked for."""

    player: int
    kind: Kind
    iteration: int
    infoset: Int64 | Grid  # numbers in a listed game, else codes or a grid of them; may come more than once
    values: FloatTable  # [rows, columns]
    weight: Float  # [rows] what each counts: a store sums weight x values
    own_reach: Float | None = None  # [rows] the player's own reach, where a sampler knows it

    @property
    def codes(self) -> Int64:
        """Return infosets one by one."""
        return codes_in(self.infoset)


class Sampler(Protocol):
    """Traversals, and whatever else finds rows."""

    threads: int
    nodes_touched: int

    def rows(self, scores_at: ScoresAt, players: tuple[int, ...], iteration: int) -> Iterator[Rows]:
        """Run an iteration's turn of some players; yield what is found.

        Of each player whose average grows in the turn there are rows of strategies, if only none of them.
        """


@kernel
def add_by_row(values: FloatTable, row: Int64, out: FloatTable) -> None:
    """Add values to the rows of a table, in their order."""
    for place in range(row.size):
        for column in range(values.shape[1]):
            out[row[place], column] += values[place, column]
