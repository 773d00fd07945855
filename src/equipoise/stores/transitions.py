"""A memory of transitions for Q-learning: the latest ones of a player, from which a share of the latest is drawn.

A transition is a row (what a network sees of an infoset), the column of what was done there, the row where the player
acts next in the episode, and the reward. As in `memories`, rows are numbers of listed rows, or codes.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from equipoise.compiled import kernel
from equipoise.sampling.dice import NO_TAPE, draw, start_stream
from equipoise.sampling.episodes import OVER, Moves
from equipoise.stores.memories import HALF, LOWER
from equipoise.stores.sums import FloatTable, State
from equipoise.trees.distinct import distinct
from equipoise.trees.treeplex import Float, Int32, Int64, UInt64

ROW, COLUMN, FOLLOWING, REWARD = range(4)  # of a transition; upper halves of codes come after these
UPPER_ROW, UPPER_FOLLOWING = 4, 5
LISTED_WIDTH, CODED_WIDTH = 4, 6


def transition_bytes() -> int:
    """Return the bytes of a transition whose rows are codes."""
    return 4 * CODED_WIDTH


@kernel
def _start(dice: UInt64, seed: int, iteration: int, player: int) -> None:
    start_stream(dice, seed, iteration, player, 0)


@kernel
def _choose(dice: UInt64, tape: Float, seen: int, recent: int, capacity: int, chosen: Int64) -> None:
    """Draw places of transitions among the latest."""
    for number in range(chosen.size):
        back = min(int(draw(dice, tape) * recent), recent - 1)
        chosen[number] = (seen - 1 - back) % capacity


class ActionValues(NamedTuple):
    """Mean targets of Q-learning, by row and column; the squared loss of means differs from that of the single
    transitions by a constant."""

    row: Int64
    target: FloatTable  # [rows, columns] 0 where there is none
    weight: FloatTable  # [rows, columns] how many transitions were drawn


class Transitions:
    """The latest transitions of one player, in a circle."""

    def __init__(self, capacity: int, columns: int, *, coded: bool) -> None:
        self._kept = np.zeros((capacity, CODED_WIDTH if coded else LISTED_WIDTH), np.int32)
        self._rewards = self._kept.view(np.float32)[:, REWARD]
        self._columns = columns
        self._coded = coded
        self._dice = np.zeros(2, np.uint64)
        self.seen = 0

    @property
    def kept(self) -> int:
        """Return how many transitions there are."""
        return min(self.seen, len(self._kept))

    def add(self, moves: Moves) -> None:
        """Take in what a player did; the oldest transitions make room."""
        capacity, count = len(self._kept), len(moves.row)
        latest = slice(max(0, count - capacity), count)
        places = np.arange(self.seen + latest.start, self.seen + count) % capacity
        self.seen += count
        for column, numbers in ((ROW, moves.row), (COLUMN, moves.column), (FOLLOWING, moves.following)):
            self._kept[places, column] = numbers[latest].astype(np.int32)
        self._rewards[places] = moves.reward[latest]
        if self._coded:
            for column, codes in ((UPPER_ROW, moves.row), (UPPER_FOLLOWING, moves.following)):
                self._kept[places, column] = (codes[latest] >> HALF).astype(np.int32)

    def moves(self, places: Int64) -> tuple[Int64, Int32, Int64, Float]:
        """Return rows, columns, following rows and rewards of some transitions by their places."""
        some = self._kept[places]
        row, following = (self._whole(some, *halves) for halves in ((ROW, UPPER_ROW), (FOLLOWING, UPPER_FOLLOWING)))
        return row, some[:, COLUMN], following, self._rewards[places].astype(np.float64)

    def _whole(self, some: np.ndarray, lower: int, upper: int) -> Int64:
        whole: Int64 = some[:, lower].astype(np.int64)
        return (whole & LOWER) | (some[:, upper].astype(np.int64) << HALF) if self._coded else whole

    def start_drawing(self, seed: int, iteration: int, player: int) -> None:
        """Begin the random stream of a fit."""
        _start(self._dice, seed, iteration, player)

    def draw(self, batch: int, recent: int, best_at: Callable[[Int64], Float]) -> ActionValues:
        """Draw from the latest transitions; ``best_at`` gives the values of rows at which a player acts next."""
        chosen = np.empty(batch, np.int64)
        _choose(self._dice, NO_TAPE, self.seen, recent, len(self._kept), chosen)
        row, column, following, worth = self.moves(chosen)
        goes_on = np.flatnonzero(following != OVER)
        worth[goes_on] += best_at(following[goes_on])
        rows, which = distinct(row)
        cell, shape = which * self._columns + column, (len(rows), self._columns)
        size = shape[0] * shape[1]
        count = np.bincount(cell, minlength=size).reshape(shape).astype(np.float64)
        total = np.bincount(cell, weights=worth, minlength=size).reshape(shape)
        return ActionValues(rows, total / np.maximum(count, 1.0), count)

    def state(self) -> State:
        """Return what is kept."""
        return {"kept": self._kept[: self.kept]}

    def restore(self, state: State, seen: int) -> None:
        """Continue from what was kept, after so many transitions."""
        self._kept[: len(state["kept"])] = state["kept"]
        self.seen = seen
