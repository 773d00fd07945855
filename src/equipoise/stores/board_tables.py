"""Tables of sums on boards, a row of classes per entry, in 64, 32 or 16 bits a number.

In 16 bits a row has a scale of its own, and a number is kept as its signed square root: 32,767 is the row's largest,
and a number a millionth as large is still known to one part in sixteen. It is rounded at random to one of the two
nearest steps, so that increments far smaller than a step are not lost but kept in expectation. The draws come from a
hash of place and iteration: a run is the same every time, on any number of threads.
"""

from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, uncounted
from equipoise.trees.betting_tree import Betting
from equipoise.trees.board_form import BoardForm, Pairs, entries_before
from equipoise.trees.board_places import BoardPlaces, board_places
from equipoise.trees.situations import Situations, has_weight, normalised_rows
from equipoise.trees.treeplex import Float, Int64

Storage = Literal["float64", "float32", "int16"]
STORAGES: tuple[Storage, ...] = ("float64", "float32", "int16")
LARGEST = 32767.0  # of 16 bits
SMALLEST = 1e-37  # scales below it have no inverse in single precision; their rows are zeros


class SumTable(NamedTuple):
    """Numbers by (board, player, entry, class); what a stored number is worth is its row's scale, in 16 bits.

    A table may have some neighbouring boards only. Places and rows are counted as in that of all boards.
    """

    stored: npt.NDArray[np.generic]
    scale: npt.NDArray[np.float32]  # [boards x entries], or empty
    first_place: int = 0
    first_row: int = 0


NO_TABLE = SumTable(np.zeros(0), np.zeros(0, np.float32))


def make_table(form: BoardForm, storage: Storage, boards: range) -> SumTable:
    """Return a table of zeros for some neighbouring boards."""
    places, rows = extent(form, boards)
    scales = rows.stop - rows.start if storage == "int16" else 0
    size = places.stop - places.start
    return SumTable(np.zeros(size, storage), np.zeros(scales, np.float32), places.start, rows.start)


def extent(form: BoardForm, boards: range) -> tuple[slice, slice]:
    """Return which places and rows of a table some neighbouring boards have."""
    entries, first_pair = int(form.first_entries[2]), form.pairs.first_pair
    places = slice(int(first_pair[boards.start]) * entries, int(first_pair[boards.stop]) * entries)
    return places, slice(boards.start * entries, boards.stop * entries)


def table_bytes(entries: int, storage: Storage) -> int:
    """Return the size of a table."""
    return entries * np.dtype(storage).itemsize


@inlined
def load_rows(table: SumTable, start: int, row: int, rows: int, width: int, out: Float) -> None:
    """Write some neighbouring rows of a table to ``out``; ``start`` is the place of the first, ``row`` its number."""
    place = start - table.first_place
    stored = table.stored[place : place + rows * width]
    if table.scale.size > 0:
        for r in range(rows):
            scale = out.dtype.type(table.scale[row - table.first_row + r])
            given, read = stored[r * width : (r + 1) * width], out[r * width : (r + 1) * width]
            for j in range(width):
                root = out.dtype.type(given[j])
                read[j] = scale * root * abs(root)
    else:
        for k in range(rows * width):
            out[k] = stored[k]


@inlined
def _draw(place: np.uint32, salt: np.uint32) -> np.float32:
    """Return a number from 0 to 1: the finaliser of MurmurHash3 (Appleby, public domain) on place and salt."""
    mixed = np.uint32(place ^ salt)
    mixed = np.uint32((mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    mixed = np.uint32((mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    mixed = np.uint32(mixed ^ (mixed >> np.uint32(16)))
    return np.float32(mixed >> np.uint32(8)) * np.float32(2.0**-24)


@inlined
def store_rows(table: SumTable, start: int, row: int, rows: int, width: int, given: Float, salt: np.uint32) -> None:
    """Keep rows in a table. ``salt`` makes the draws of one iteration and table different from another's."""
    place = start - table.first_place
    stored = table.stored[place : place + rows * width]
    zero, one = given.dtype.type(0.0), given.dtype.type(1.0)
    if table.scale.size > 0:
        for r in range(rows):
            kept, numbers = stored[r * width : (r + 1) * width], given[r * width : (r + 1) * width]
            largest = zero
            for j in range(width):
                largest = max(largest, abs(numbers[j]))
            scale = largest / given.dtype.type(LARGEST * LARGEST)
            table.scale[row - table.first_row + r] = scale
            over = one / scale if scale > SMALLEST else zero
            first = np.uint32(start + r * width)
            for j in range(width):
                square = abs(numbers[j]) * over
                root = np.floor(np.sqrt(square))
                # Up with the probability that makes the expected square the true one.
                upwards = (square - root * root) / (root + root + one)
                root = root + one if _draw(np.uint32(first + np.uint32(j)), salt) < upwards else root
                root = min(root, given.dtype.type(LARGEST))
                kept[j] = root if numbers[j] > 0.0 else -root
    else:
        for k in range(rows * width):
            stored[k] = given[k]


@uncounted
def _write_normalised(
    betting: Betting, pairs: Pairs, first_entries: Int64, table: SumTable, first: int, last: int, out: Float
) -> None:
    for board in range(first, last):
        first_pair = pairs.first_pair[board]
        width = pairs.first_pair[board + 1] - first_pair
        place = (first_pair - pairs.first_pair[first]) * first_entries[2]
        for node in range(betting.node_player.size):
            player = betting.node_player[node]
            entry = first_entries[player] + betting.node_row[node] - betting.roots
            actions = betting.node_actions[node]
            start = place + entry * width
            weights = out[start : start + actions * width]
            row = board * first_entries[2] + entry
            load_rows(table, first_pair * first_entries[2] + entry * width, row, actions, width, weights)
            for j in range(width):
                total = 0.0
                for action in range(actions):
                    total += weights[action * width + j]
                for action in range(actions):
                    k = action * width + j
                    weights[k] = weights[k] / total if total > 0.0 else 1.0 / actions


def strategy_from(
    form: BoardForm, start: npt.NDArray[Any], stored: npt.NDArray[Any], scale: npt.NDArray[Any]
) -> "BoardTableStrategy":
    """Return the strategy of saved sums; raise ValueError if they have not the sizes and kinds that they should."""
    rows = form.num_boards * int(form.first_entries[2]) if stored.dtype == np.int16 else 0
    shapes = [start.shape, stored.shape, scale.shape]
    kinds = [start.dtype == np.float64, stored.dtype.name in STORAGES, scale.dtype == np.float32]
    if shapes != [(form.num_start_entries,), (form.num_entries,), (rows,)] or not all(kinds):
        raise ValueError(f"tables of {shapes} numbers, which are not those of its game")
    return BoardTableStrategy(form, start, SumTable(stored, scale))


class BoardTableStrategy:
    """The strategies that are proportional to tables of sums; uniform where an infoset has no weight."""

    concurrent = True

    def __init__(self, form: BoardForm, start_sums: Float, sums: SumTable) -> None:
        self.form = form
        self.start_sums = start_sums
        self.sums = sums

    def over(self, form: BoardForm) -> "BoardTableStrategy":
        """Return itself: its tables are in the order of its game's form."""
        assert form.num_entries == self.form.num_entries
        return self

    def parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what the strategy can be opened from: the sums that it is proportional to."""
        arrays: dict[str, npt.NDArray[Any]] = {"start": self.start_sums, "sums": self.sums.stored}
        return {"kind": "boards", "layout": self.form.layout}, {**arrays, "scale": self.sums.scale}

    def write_start(self, out: Float) -> None:
        """Write the probabilities of the first round, in which no board is treated as one."""
        betting = self.form.betting[0]
        pairs = self.form.pairs._replace(first_pair=np.array([0, self.form.num_starting_classes]))
        _write_normalised(betting, pairs, entries_before(betting), self._start_table, 0, 1, out)

    def write_boards(self, first: int, last: int, out: Float) -> None:
        """Write the probabilities on some boards."""
        _write_normalised(self.form.betting[1], self.form.pairs, self.form.first_entries, self.sums, first, last, out)

    @property
    def _start_table(self) -> SumTable:
        return SumTable(self.start_sums, np.zeros(0, np.float32))

    @cached_property
    def _places(self) -> BoardPlaces:
        return board_places(self.form)

    def probabilities_at(self, asked: Situations) -> Float:
        """Return the probabilities of actions at some infosets, by column."""
        return normalised_rows(self._sums_at(asked), self._places.tree.legal[asked.node])

    def reached_at(self, asked: Situations) -> npt.NDArray[np.bool_]:
        """Return where the sums have any weight."""
        return has_weight(self._sums_at(asked))

    def _sums_at(self, asked: Situations) -> Float:
        places, form = self._places, self.form
        nodes, out = places.tree.nodes, np.zeros((len(asked.node), places.tree.num_columns))
        for betting_round in range(2):
            some = np.flatnonzero(nodes.round[asked.node] == betting_round)
            board, own = places.classes(asked.cards[some], second_round=betting_round == 1)
            first_pair = form.pairs.first_pair if betting_round == 1 else np.array([0, form.num_starting_classes])
            entries = form.first_entries[2] if betting_round == 1 else entries_before(form.betting[0])[2]
            table = self.sums if betting_round == 1 else self._start_table
            node, width = asked.node[some], first_pair[board + 1] - first_pair[board]
            first_child, actions = nodes.first_child[node].astype(np.int64), nodes.num_children[node]
            for action in range(int(actions.max(initial=0))):
                has = np.flatnonzero(actions > action)
                child = first_child[has] + action
                entry = places.entry[child]
                place = first_pair[board[has]] * entries + entry * width[has] + own[has]
                numbers = table.stored[place].astype(np.float64)
                if table.scale.size > 0:
                    numbers *= np.abs(numbers) * table.scale[board[has] * entries + entry]
                out[some[has], nodes.column[child]] = numbers
        return out
