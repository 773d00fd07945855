"""The tables of a board form, by boards: all of them here, or a share of them with each of some keepers elsewhere.

A share works on its own boards: it is handed both players' reach of the second round, and answers with what the roots
are worth on each board. That is all that has to travel, and the answers are put together in the order of boards, so how
boards are shared out makes no difference to a single bit.
"""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.compiled import uncounted
from equipoise.errors import CannotWrite
from equipoise.files import ScratchFolder
from equipoise.games.poker import PokerGame
from equipoise.memory import require
from equipoise.regret.blocks import add_regrets, add_to_average
from equipoise.regret.matching import UNIFORM, match_block
from equipoise.stores.board_tables import (
    BoardTableStrategy,
    Storage,
    SumTable,
    extent,
    load_rows,
    make_table,
    store_rows,
    strategy_from,
    table_bytes,
)
from equipoise.threads import do_parts
from equipoise.trees.betting_tree import Betting
from equipoise.trees.board_evaluator import BOARDS_AT_ONCE, BoardEvaluator, Entered
from equipoise.trees.board_form import BoardForm, Pairs, Payments, Showdowns, board_form
from equipoise.trees.board_values import (
    Scratch,
    board_payments,
    collect_closings,
    enter_board,
    make_scratch,
    pass_on,
    write_plan_rows,
)
from equipoise.trees.treeplex import Float, Int64
from equipoise.workers import Workers

State = dict[str, npt.NDArray[np.generic]]


@uncounted
def _board_pass(
    betting: Betting,
    payments: Payments,
    showdowns: Showdowns,
    pairs: Pairs,
    first_entries: Int64,
    boards: Int64,
    first_player: int,
    end_player: int,
    rule: Float,
    salt: np.uint32,
    regret_sum: SumTable,
    strategy_sum: SumTable,
    entering: Float,
    scratch: Scratch,
    closing: Float,
) -> None:
    """Do step 2 (see board_cfr.py) on some boards, for the players from ``first_player`` up to ``end_player``."""
    roots, value, totals, held, gradient = betting.roots, scratch.values, scratch.totals, scratch.held, scratch.gradient
    for number in range(boards.size):
        board = boards[number]
        first_pair = pairs.first_pair[board]
        width = pairs.first_pair[board + 1] - first_pair
        first_place, first_row = first_pair * first_entries[2], board * first_entries[2]
        for player in range(2):
            strategy, plan = scratch.strategy[player], scratch.plan[player]
            enter_board(betting, pairs, first_pair, width, entering[player], plan)
            entry, rows = first_entries[player], betting.rows[player] - roots
            own = strategy[roots * width : (roots + rows) * width]
            load_rows(regret_sum, first_place + entry * width, first_row + entry, rows, width, own)
            for node in range(betting.node_player.size):
                if betting.node_player[node] == player:
                    first, actions = betting.node_row[node] * width, betting.node_actions[node]
                    match_block(strategy, first, actions, width, totals[:width], UNIFORM)
            write_plan_rows(betting, player, width, strategy, plan)
        for player in range(first_player, end_player):
            strategy, plan = scratch.strategy[player], scratch.plan[player]
            board_payments(betting, payments, showdowns, board, first_pair, width, player, scratch)
            for node in range(betting.node_player.size - 1, -1, -1):
                if betting.node_player[node] == player:
                    actions, first = betting.node_actions[node], betting.node_row[node] * width
                    end = first + actions * width
                    entry = first_entries[player] + betting.node_row[node] - roots
                    place, row = first_place + entry * width, first_row + entry
                    block = held[: actions * width]
                    load_rows(regret_sum, place, row, actions, width, block)
                    add_regrets(actions, width, rule, gradient[first:end], strategy[first:end], block, value)
                    store_rows(regret_sum, place, row, actions, width, block, salt)
                    load_rows(strategy_sum, place, row, actions, width, block)
                    add_to_average(rule, plan[first:end], block)
                    store_rows(strategy_sum, place, row, actions, width, block, ~salt)
                    pass_on(betting, node, width, value, gradient)
            collect_closings(betting, pairs, first_pair, width, gradient, closing[number, player])


class Turn(NamedTuple):
    """What a share has to know of a turn."""

    boards: Int64  # that the turn works on, in ascending order
    first_player: int
    end_player: int
    coefficients: Float  # of the rule
    salt: np.uint32
    entering: Float  # [player, root, starting class] reach of the second round


class Boards(Protocol):
    """Who keeps the tables of all boards."""

    def turn(self, turn: Turn, threads: int) -> Float:
        """Work on boards; return what roots are worth there, [board of the turn, player whose turn it is, ...]."""

    def strategy(self, start: Float) -> BoardTableStrategy:
        """Return the average strategy, given the sums of the first round."""

    def best_responses(self, evaluator: BoardEvaluator, entered: Entered) -> tuple[Float, Float]:
        """Return what best responses to the average win on each board, and what it wins itself."""

    def state(self) -> State:
        """Return both tables."""

    def restore(self, state: State) -> None:
        """Take over tables that were saved."""


class BoardShare:
    """The tables of some neighbouring boards, here."""

    def __init__(self, form: BoardForm, storage: Storage, boards: range, threads: int) -> None:
        self.form, self.boards = form, boards
        self.regret_sum, self.strategy_sum = make_table(form, storage, boards), make_table(form, storage, boards)
        precision: npt.DTypeLike = np.float64 if storage == "float64" else np.float32
        self._scratch = [make_scratch(form, precision) for _ in range(threads)]
        self._closing = np.empty((len(boards), 2, form.betting[1].roots, form.num_starting_classes))

    def turn(self, turn: Turn, threads: int) -> Float:
        form, boards = self.form, turn.boards
        if len(self.boards) < form.num_boards:
            boards = boards[(self.boards.start <= boards) & (boards < self.boards.stop)]
        # A few shares for each thread, so that none waits long for the last one.
        at_once = max(1, min(BOARDS_AT_ONCE, len(boards) // (8 * threads)))
        parts = range(0, len(boards), at_once)
        do_parts(BoardShare._some_boards, parts, (self, boards, at_once, turn), threads=threads)
        return self._closing[: len(boards), turn.first_player : turn.end_player]

    @staticmethod
    def _some_boards(shared: "tuple[BoardShare, Int64, int, Turn]", lane: int, first: int) -> None:
        """Work on the boards from one on, as many as go together."""
        share, boards, at_once, turn = shared
        form = share.form
        _board_pass(
            form.betting[1],
            form.payments[1],
            form.showdowns,
            form.pairs,
            form.first_entries,
            boards[first : first + at_once],
            turn.first_player,
            turn.end_player,
            turn.coefficients,
            turn.salt,
            share.regret_sum,
            share.strategy_sum,
            turn.entering,
            share._scratch[lane],
            share._closing[first:],
        )

    def strategy(self, start: Float) -> BoardTableStrategy:
        return BoardTableStrategy(self.form, start, self.strategy_sum)

    def best_responses(self, evaluator: BoardEvaluator, entered: Entered) -> tuple[Float, Float]:
        return evaluator.responses_on(self.boards, self.strategy(np.empty(0)), entered)

    def state(self) -> State:
        return {
            "regret_sum": self.regret_sum.stored,
            "regret_scale": self.regret_sum.scale,
            "strategy_sum": self.strategy_sum.stored,
            "strategy_scale": self.strategy_sum.scale,
        }

    def restore(self, state: State) -> None:
        """Take over arrays, for copies would take as much again."""
        self.regret_sum, self.strategy_sum = (
            SumTable(
                state[f"{name}_sum"],
                state[f"{name}_scale"].astype(np.float32, copy=False),
                self.regret_sum.first_place,
                self.regret_sum.first_row,
            )
            for name in ("regret", "strategy")
        )


class KeptShare:
    """A share as a keeper has it: its arrays come and go as messages, which are not to be written to."""

    def __init__(self, form: BoardForm, storage: Storage, boards: range) -> None:
        self._share = BoardShare(form, storage, boards, threads=1)
        self._evaluator = BoardEvaluator(form)

    def turn(self, turn: Turn) -> Float:
        return self._share.turn(turn, 1).copy()

    def best_responses(self, entered: Entered) -> tuple[Float, Float]:
        closing, played = self._share.best_responses(self._evaluator, entered)
        return closing.copy(), played.copy()

    def state(self) -> State:
        return self._share.state()

    def restore(self, state: State) -> None:
        self._share.restore({name: array.copy() for name, array in state.items()})


class ShareSpec(NamedTuple):
    """What a share is made from."""

    game: PokerGame
    storage: Storage
    boards: range


def make_share(spec: ShareSpec, neighbours: int) -> KeptShare:
    """Make a keeper's share, if there is memory for it and its neighbours on the same machine."""
    form = board_form(spec.game)
    places, _ = extent(form, spec.boards)
    needed = share_bytes(form, spec.storage, places.stop - places.start, len(spec.boards), threads=1)
    require(needed * neighbours, what=f"{neighbours} of the shares of {spec.game.name} in {spec.storage}")
    return KeptShare(form, spec.storage, spec.boards)


def share_bytes(form: BoardForm, storage: Storage, entries: int, boards: int, threads: int) -> int:
    """Return the memory that solving and evaluating some boards takes."""
    tables = 2 * table_bytes(entries, storage)
    rows = int(form.betting[1].rows.sum())
    scratch = threads * 8 * form.widest * 6 * rows
    evaluated = 8 * BOARDS_AT_ONCE * form.widest * int(form.first_entries[2])
    notes = 4 * 8 * boards * form.betting[1].roots * form.num_starting_classes
    return tables + scratch + evaluated + notes


def shared_out(form: BoardForm, count: int) -> list[range]:
    """Return neighbouring boards for each of some keepers, about the same number of hands each."""
    pairs = np.asarray(form.pairs.first_pair)
    wanted = np.linspace(0, int(pairs[-1]), min(count, form.num_boards) + 1)
    ends = np.unique(np.searchsorted(pairs, wanted))
    return [range(int(first), int(last)) for first, last in pairwise(ends)]


REPLAYED_SECONDS = 120.0  # of turns, at most, that a keeper which is lost has to do again


class SharedBoards:
    """The tables of all boards, shared out to keepers.

    Whole tables are only ever put together in a file, share by share: neither the memory of this machine nor that of
    any other has to hold them. What is in the file is what a lost keeper goes on from.
    """

    def __init__(self, form: BoardForm, storage: Storage, workers: Workers) -> None:
        self._form, self._storage = form, storage
        self._shares = shared_out(form, workers.workers)
        self._keepers = workers.keep(make_share, [ShareSpec(form.game, storage, boards) for boards in self._shares])
        self._scratch = ScratchFolder("equipoise-tables-")
        self._folder = self._scratch.path
        self._files = 0
        self._saved: State | None  # as of now
        self._since_saved: float
        self._keep(self._new_file())  # zeros, as the tables are

    def turn(self, turn: Turn, threads: int) -> Float:
        if self._since_saved > REPLAYED_SECONDS:
            self.state()
        started = time.monotonic()
        self._saved = None
        kept = turn._replace(entering=turn.entering.copy())  # for the caller writes over it, and keepers may ask again
        closing = np.concatenate(self._keepers.change("turn", kept))
        self._since_saved += time.monotonic() - started
        return closing

    def strategy(self, start: Float) -> BoardTableStrategy:
        state = self.state()
        return strategy_from(self._form, start, state["strategy_sum"], state["strategy_scale"])

    def best_responses(self, evaluator: BoardEvaluator, entered: Entered) -> tuple[Float, Float]:
        closing, played = zip(*self._keepers.each("best_responses", entered), strict=True)
        return np.concatenate(closing), np.concatenate(played)

    def state(self) -> State:
        if self._saved is None:
            state = self._new_file()
            for number, boards in enumerate(self._shares):
                self._write(state, boards, self._keepers.one(number, "state"))
            self._keep(state)
        assert self._saved is not None
        return self._saved

    def restore(self, state: State) -> None:
        saved = self._new_file()
        for name, array in saved.items():
            if (array.dtype, array.shape) != (state[name].dtype, state[name].shape):
                raise ValueError(f"{name} has other numbers than the tables")
        for boards in self._shares:
            self._write(saved, boards, self._part(state, boards))
        self._keepers.restore(self._parts_of(saved))
        self._keep(saved)

    def _keep(self, state: State) -> None:
        self._keepers.saved(self._parts_of(state))
        self._saved, self._since_saved = state, 0.0
        for old in self._folder.glob("*.npy"):  # what is still open elsewhere stays readable
            if not old.name.startswith(f"{self._files}-"):
                old.unlink()

    def _new_file(self) -> State:
        """Return arrays of the size of the tables, in files."""
        form, in_rows = self._form, self._storage == "int16"
        rows = form.num_boards * int(form.first_entries[2]) if in_rows else 0
        self._files += 1
        kinds = {"sum": (self._storage, form.num_entries), "scale": ("float32", rows)}
        state: State = {}
        try:
            for table in ("regret", "strategy"):
                for part, (kind, size) in kinds.items():
                    path, name = self._folder / f"{self._files}-{table}_{part}.npy", f"{table}_{part}"
                    state[name] = np.lib.format.open_memmap(path, "w+", kind, (size,)) if size else np.zeros(0, kind)
        except OSError as error:
            raise CannotWrite(f"{self._folder} has no room for the tables ({error.strerror})") from None
        return state

    def _write(self, state: State, boards: range, share: State) -> None:
        for name, part in self._part(state, boards).items():
            part[...] = share[name]

    def _part(self, state: State, boards: range) -> State:
        places, rows = extent(self._form, boards)
        return {name: array[rows if name.endswith("scale") else places] for name, array in state.items()}

    def _parts_of(self, state: State) -> Callable[[int], State]:
        return lambda number: self._part(state, self._shares[number])
