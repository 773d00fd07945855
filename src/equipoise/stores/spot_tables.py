"""Tables of sums on a spot, round by round: what its solver adds to, and what its average strategy is read from."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from equipoise.compiled import uncounted
from equipoise.lanes import aligned_zeros
from equipoise.stores.board_tables import STORAGES, Storage, SumTable, load_rows
from equipoise.trees.spot_evaluator import RoundArrays, round_arrays
from equipoise.trees.spot_form import SpotForm
from equipoise.trees.spot_values import bind
from equipoise.trees.treeplex import Float


@uncounted
def _copy_rows(table: SumTable, start: int, row: int, rows: int, width: int, out: Float) -> None:
    load_rows(table, start, row, rows, width, out)


@uncounted
def bind_boards(at: RoundArrays, first: int, end: int, out: Float) -> None:
    """Write what locked hands play over a table of some boards."""
    starts = at.boards.table_start
    for board in range(first, end):
        for player in range(2):
            place, width = starts[board, player] - starts[first, 0], at.boards.width[board, player]
            bind(at.betting, at.locked, board, player, width, place, out)


@dataclass(frozen=True, kw_only=True)
class SpotTables:
    """Sums by round: the last may be in 16 bits. As a strategy, actions are played in proportion to their sums.

    Locked hands play what they are bound to, also where they never come.
    """

    form: SpotForm
    early: tuple[Float, ...]
    last: SumTable

    @property
    def uncoded(self) -> Float:
        """Return the last round's sums, which are not in 16 bits."""
        return cast(Float, self.last.stored)

    def arrays(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays, named."""
        found: dict[str, npt.NDArray[Any]] = {f"{name}_{number}": table for number, table in enumerate(self.early)}
        return {**found, f"{name}_last": self.last.stored, f"{name}_scale": self.last.scale}

    def write(self, number: int, first: int, end: int, out: Float) -> None:
        """Write the sums of some boards of a round."""
        given = self.form.rounds[number]
        starts = given.boards.table_start
        start = int(starts[first, 0])
        stop = int(starts[end, 0]) if end < given.num_boards else given.size
        if number < len(self.early) or self.last.scale.size == 0:
            table = self.early[number] if number < len(self.early) else self.last.stored
            out[: stop - start] = table[start:stop]
        else:
            for board in range(first, end):
                row = board * sum(given.entries)
                for player, entries in enumerate(given.entries):
                    place, width = int(starts[board, player]), int(given.boards.width[board, player])
                    _copy_rows(self.last, place, row, entries, width, out[place - start :])
                    row += entries
        if given.locked.node.size > 0:
            bind_boards(round_arrays(self.form, number), first, end, out)


def make_tables(form: SpotForm, storage: Storage) -> SpotTables:
    """Return tables of zeros."""
    precision = "float64" if storage == "float64" else "float32"
    last = form.rounds[-1]
    rows = last.num_boards * sum(last.entries) if storage == "int16" else 0
    return SpotTables(
        form=form,
        early=tuple(aligned_zeros(each.size, precision) for each in form.rounds[:-1]),
        last=SumTable(aligned_zeros(last.size, storage), np.zeros(rows, np.float32)),
    )


def tables_from(form: SpotForm, name: str, state: dict[str, npt.NDArray[Any]]) -> SpotTables:
    """Return saved tables, if they have the size that they should have."""
    early = tuple(_aligned(state[f"{name}_{number}"]) for number in range(len(form.rounds) - 1))
    last = SumTable(_aligned(state[f"{name}_last"]), state[f"{name}_scale"].astype(np.float32, copy=False))
    rows = form.rounds[-1].num_boards * sum(form.rounds[-1].entries) if last.stored.dtype == np.int16 else 0
    for table in (*early, last.stored):
        if table.dtype.name not in STORAGES:
            raise ValueError(f"tables of {table.dtype}")
    sizes = [*(table.shape for table in early), last.stored.shape, last.scale.shape]
    if sizes != [*((each.size,) for each in form.rounds), (rows,)]:
        raise ValueError(f"tables of {sizes} numbers")
    return SpotTables(form=form, early=early, last=last)


def _aligned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.ctypes.data % 64 == 0:
        return array
    out = aligned_zeros(array.size, array.dtype)
    out[:] = array
    return out
