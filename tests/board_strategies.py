"""Strategies over boards without pattern."""

from functools import cached_property

import numpy as np

from equipoise.stores.board_tables import BoardTableStrategy, SumTable
from equipoise.trees.board_form import entries_before


class RandomStrategy:
    """A strategy that is no table: it is drawn when it is asked for, and some actions are never played."""

    concurrent = False

    def __init__(self, form, seed=5):
        self.form, self.seed = form, seed

    def _draw(self, trees, board, width):
        random = np.random.default_rng([self.seed, board])
        out = np.empty((int(entries_before(trees)[2]), width))
        for player, row, actions in zip(trees.node_player, trees.node_row, trees.node_actions, strict=True):
            first = entries_before(trees)[player] + row - trees.roots
            weights = random.random((actions, width)) * (random.random((actions, width)) < 0.8) + 1e-9
            out[first : first + actions] = weights / weights.sum(axis=0)
        return out.ravel()

    def over(self, form):
        return self

    def write_start(self, out):
        out[:] = self._draw(self.form.betting[0], 10_000, self.form.num_starting_classes)

    def write_boards(self, first, last, out):
        widths = np.diff(self.form.pairs.first_pair)
        out[:] = np.concatenate([self._draw(self.form.betting[1], b, widths[b]) for b in range(first, last)])

    def probabilities_at(self, asked):
        return self._table.probabilities_at(asked)

    def reached_at(self, asked):
        return self._table.reached_at(asked)

    @cached_property
    def _table(self):
        """Return the strategy as a table, which can be asked for any infoset."""
        start, boards = np.empty(self.form.num_start_entries), np.empty(self.form.num_entries)
        self.write_start(start)
        self.write_boards(0, self.form.num_boards, boards)
        return BoardTableStrategy(self.form, start, SumTable(boards, np.zeros(0, np.float32)))
