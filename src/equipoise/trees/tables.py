"""Tables: numbers by (infoset, action), player 0's infosets, then player 1's, each infoset's actions together.

Sampling and stores work on tables; full-width solvers and evaluation on a form's own order, blocks of a treeplex.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.treeplex import Float, Int64, normalised, write_plan

Pair = tuple[Float, Float]
FloatTable = npt.NDArray[np.float64]


class TableMap:
    """The way between tables (player 0's infosets, then player 1's) and a form's own order, and reach in tables."""

    def __init__(self, form: SequenceForm) -> None:
        self.form = form
        tables = [plex.sequence_table() for plex in form.treeplexes]
        self.sequences = [sequences for sequences, _ in tables]
        self.split = len(self.sequences[0])
        self.first = np.concatenate([tables[0][1], self.split + tables[1][1][1:]])

    @property
    def size(self) -> int:
        """Return the number of entries."""
        return int(self.first[-1])

    def parts(self, table: Float) -> Pair:
        """Return the two players' parts of a table."""
        return table[: self.split], table[self.split :]

    def to_form(self, table: Float) -> Pair:
        """Return weights by entry in the form's order, normalised to strategies."""
        made = []
        for plex, sequences, own in zip(self.form.treeplexes, self.sequences, self.parts(table), strict=True):
            weights = np.ones(plex.num_sequences)
            weights[sequences] = own
            made.append(normalised(plex, weights))
        return made[0], made[1]

    def has_weight(self, table: Float) -> npt.NDArray[np.bool_]:
        """Return, by infoset, whether a table of weights has any there: elsewhere :meth:`to_form` plays uniformly."""
        weighted: npt.NDArray[np.bool_] = np.add.reduceat(table, self.first[:-1]) > 0.0
        return weighted

    def from_form(self, arrays: Pair) -> Float:
        """Return arrays in the form's order as a table."""
        return np.concatenate([own[order] for own, order in zip(arrays, self.sequences, strict=True)])

    def own_reach(self, strategy: Float) -> Float:
        """Return, by entry, the acting player's own reach of the entry's infoset under a strategy."""
        reaches = []
        for plex, sequences, own in zip(self.form.treeplexes, self.sequences, self.parts(strategy), strict=True):
            in_order, plan = np.ones(plex.num_sequences), np.empty(plex.num_sequences)
            in_order[sequences] = own
            write_plan(plex, in_order, plan)
            reaches.append(np.repeat(plan[plex.parent_sequence], plex.num_actions()))
        return np.concatenate(reaches)


@dataclass(frozen=True, kw_only=True, eq=False)
class Listing:
    """The infosets of a listed game: where each has its entries in a table, and in which column each action is."""

    first: Int64  # [infosets + 1] infoset i has entries first[i] to first[i + 1]
    split: int  # infosets of player 0
    column: Int64  # [entries]
    num_columns: int

    @cached_property
    def infoset(self) -> Int64:
        """Return the infoset of each entry."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def infosets_of(self, player: int) -> slice:
        """Return a player's infosets."""
        return slice(0, self.split) if player == 0 else slice(self.split, len(self.first) - 1)

    def entries_of(self, player: int) -> slice:
        """Return a player's entries."""
        own = self.infosets_of(player)
        return slice(int(self.first[own.start]), int(self.first[own.stop]))

    def spread(self, table: Float, player: int) -> FloatTable:
        """Return a player's part of a table, [infosets, columns]."""
        own, entries = self.infosets_of(player), self.entries_of(player)
        out = np.zeros((own.stop - own.start, self.num_columns))
        out[self.infoset[entries] - own.start, self.column[entries]] = table[entries]
        return out

    def at(self, table: Float, infosets: Int64) -> FloatTable:
        """Return some infosets' part of a table, [infosets, columns]."""
        out = np.zeros((len(infosets), self.num_columns))
        _read_rows(table, self.first, self.column, infosets, out)
        return out

    def positive(self, table: Float, player: int) -> Int64:
        """Return those of a player's infosets where a table has something positive."""
        own = self.infosets_of(player)
        if own.start == own.stop:
            return np.zeros(0, np.int64)
        entries, starts = self.entries_of(player), self.first[own]
        found: Int64 = own.start + np.flatnonzero(np.maximum.reduceat(table[entries], starts - starts[0]) > 0.0)
        return found

    def write(self, values: FloatTable, infosets: Int64, table: Float) -> None:
        """Add the values of some infosets to a table."""
        _add_rows(values, self.first, self.column, infosets, table)

    def table(self, rows_of: Callable[[int], FloatTable]) -> Float:
        """Return both players' rows, of all infosets, as a table."""
        made = np.empty(int(self.first[-1]))
        for player in range(2):
            own, entries = self.infosets_of(player), self.entries_of(player)
            made[entries] = rows_of(player)[self.infoset[entries] - own.start, self.column[entries]]
        return made


@kernel
def _read_rows(table: Float, first: Int64, column: Int64, infosets: Int64, out: FloatTable) -> None:
    for row in range(infosets.size):
        for entry in range(first[infosets[row]], first[infosets[row] + 1]):
            out[row, column[entry]] = table[entry]


@kernel
def _add_rows(values: FloatTable, first: Int64, column: Int64, infosets: Int64, table: Float) -> None:
    for row in range(infosets.size):
        for entry in range(first[infosets[row]], first[infosets[row] + 1]):
            table[entry] += values[row, column[entry]]
