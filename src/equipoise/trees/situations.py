"""What acting players know in many hands of poker at once, and who can say what is played there.

In games too large to list, a strategy is asked for thousands of infosets at a time: tables look them up, buckets are
worked out, networks read them in one batch.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.trees.betting_tree import BettingTree
from equipoise.trees.board_evaluator import BoardStrategy
from equipoise.trees.board_form import BoardForm, entries_before, first_entries_by_node
from equipoise.trees.codes import Int8
from equipoise.trees.treeplex import Float, Int64

Bool = npt.NDArray[np.bool_]


class Situations(NamedTuple):
    """Infosets: a betting node each, and the cards."""

    node: Int64  # [situations] decisions of the betting tree, of either player
    cards: Int8  # [situations, private and board cards] what the node's round does not show is not to be read
    # A mixture of strategies plays one of them throughout a hand: this number in [0, 1), the same all through a hand,
    # says which. Without it, a mixture says what it plays on average.
    lot: Float | None = None

    def some(self, which: Int64) -> "Situations":
        """Return some of the situations."""
        return Situations(self.node[which], self.cards[which], None if self.lot is None else self.lot[which])


def normalised_rows(weights: Float, legal: Bool) -> Float:
    """Return weights by row as probabilities; where there is no weight, all legal actions are alike."""
    totals = weights.sum(axis=1, keepdims=True)
    alike = legal / legal.sum(axis=1, keepdims=True)
    normalised: Float = np.where(totals > 0.0, weights / np.maximum(totals, 1e-300), alike)
    return normalised


def has_weight(weights: Float) -> Bool:
    """Return which rows :func:`normalised_rows` finds any weight in."""
    weighted: Bool = weights.sum(axis=1) > 0.0
    return weighted


class SituationStrategy(Protocol):
    """A strategy that can be asked for any infosets of a game."""

    def probabilities_at(self, asked: Situations) -> Float:
        """Return the probabilities of actions, [situations, columns of the betting tree]; 0 where one is illegal."""

    def reached_at(self, asked: Situations) -> Bool:
        """Return where the strategy has anything to go by; elsewhere it is uniform for want of it."""


class KeptStrategy(SituationStrategy, Protocol):
    """A strategy that can be saved, opened and, in a game over boards, evaluated: all that a policy needs."""

    def over(self, form: BoardForm) -> BoardStrategy:
        """Return the same strategy as the evaluator of a game over boards takes it."""

    def parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what the strategy can be opened from: its ``kind`` and more, as JSON has it, and arrays."""


class BettingStrategy:
    """A strategy that looks at the betting alone: the same with all cards."""

    concurrent = True

    def __init__(self, tree: BettingTree, table: Float, form: BoardForm | None = None) -> None:
        self._tree = tree
        self._table = table  # [nodes, columns]
        self._form = form

    def probabilities_at(self, asked: Situations) -> Float:
        return self._table[asked.node]

    def reached_at(self, asked: Situations) -> Bool:
        return np.ones(len(asked.node), np.bool_)

    def write_start(self, out: Float) -> None:
        """Write the probabilities of the first round."""
        assert self._form is not None
        out[:] = np.repeat(self._entries(0), self._form.num_starting_classes)

    def write_boards(self, first: int, last: int, out: Float) -> None:
        """Write the probabilities on some boards."""
        assert self._form is not None
        entries, first_pair = self._entries(1), self._form.pairs.first_pair
        for board in range(first, last):
            begin, end = (int(pair - first_pair[first]) * len(entries) for pair in first_pair[board : board + 2])
            out[begin:end] = np.repeat(entries, int(np.diff(first_pair[board : board + 2])[0]))

    def _entries(self, betting_round: int) -> Float:
        """Return the probabilities of a round's entries."""
        assert self._form is not None
        betting, nodes = self._form.betting[betting_round], self._form.nodes[betting_round]
        out = np.empty(int(entries_before(betting)[2]))
        for node, entry in zip(nodes, first_entries_by_node(betting).tolist(), strict=True):
            legal = self._table[node, self._tree.legal[node]]
            out[entry : entry + len(legal)] = legal
        return out
