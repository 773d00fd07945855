"""Tables: numbers by (infoset, action), player 0's infosets, then player 1's, each infoset's actions together.

Sampling and stores work on tables; full-width solvers and evaluation on a form's own order, blocks of a treeplex.
"""

import numpy as np
import numpy.typing as npt

from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.treeplex import Float, normalised, write_plan

Pair = tuple[Float, Float]


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
