"""CFR on a spot: every hand against every hand, on every board that can be told apart.

One turn of a player (updates alternate):

1. the spot's own board: both plans, by regret matching; the average; what folds pay;
2. board by board of the next round, on all threads: the same, and in a flop spot once more below each turn. On full
   boards showdowns pay, values go up, regrets are updated, and what the roots are worth is noted;
3. the notes are added up in the order of boards, and the spot's own board gets its values and regrets.

Strategies are not stored: they are matched where they are needed. In 16 bits, the last round's tables are decoded and
coded again board by board; the other rounds are small and stay as they are.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, uncounted
from equipoise.lanes import LANES, aligned_zeros, store, zeros
from equipoise.memory import require
from equipoise.regret.rules import NO_FLOOR, Rule, coefficient_table
from equipoise.solvers.solver import Solver
from equipoise.stores.board_tables import Storage, SumTable, load_rows, store_rows, table_bytes
from equipoise.stores.spot_tables import SpotTables, bind_boards, make_tables, tables_from
from equipoise.threads import Pace, do_parts
from equipoise.trees.leaf_values import LeafValues
from equipoise.trees.spot_evaluator import RoundArrays, evaluator_bytes, round_arrays
from equipoise.trees.spot_form import Round, SpotForm
from equipoise.trees.spot_leaves import Entering
from equipoise.trees.spot_values import (
    Scratch,
    add_closings,
    add_plan,
    bind,
    enter,
    leave,
    make_alike,
    make_scratch,
    pay,
    plan_rows,
    scratch_bytes,
    update_rows,
)
from equipoise.trees.treeplex import Float

Pair = tuple[Float, Float]
BOARDS_A_PIECE = 4  # rivers of a turn spot that are worked on together, whatever the number of threads


class Held(NamedTuple):
    """Room for one board's part of the tables, decoded."""

    regrets: Pair  # [entries x hands] by player
    sums: Pair


@inlined
def _open_board(
    at: RoundArrays,
    board: int,
    player: int,
    rule: Float,
    regrets: Pair,
    regret_starts: tuple[int, int],
    sums: Float,
    sums_start: int,
    before: Pair,
    steps: tuple[int, int],
    scratch: Scratch,
) -> None:
    """Go down a board: both plans, the player's average, and what the leaves pay it."""
    betting, boards, own = at.betting, at.boards, scratch.plans[player]
    for p in range(2):
        width = boards.width[board, p]
        enter(boards, board, p, at.closings, before[p], steps[p], scratch.plans[p])
        plan_rows(betting, p, width, regrets[p], regret_starts[p], scratch.plans[p])
    width = boards.width[board, player]
    add_plan(betting, player, width, rule[5], rule[6], own, sums_start, sums)
    pay(betting, at.ends, boards, board, player, at.cards, scratch)


@inlined
def _last_board(
    at: RoundArrays,
    board: int,
    player: int,
    rule: Float,
    regrets: Pair,
    regret_starts: tuple[int, int],
    sums: Float,
    sums_start: int,
    before: Pair,
    steps: tuple[int, int],
    scratch: Scratch,
    out: Float,
) -> None:
    """Do all that there is to do on a full board."""
    _open_board(at, board, player, rule, regrets, regret_starts, sums, sums_start, before, steps, scratch)
    width = at.boards.width[board, player]
    update_rows(at.betting, player, width, rule, scratch.gradient, regret_starts[player], regrets[player])
    bind(at.betting, at.locked, board, player, width, regret_starts[player], regrets[player])
    leave(at.boards, board, player, at.betting.roots, at.deal, scratch.gradient, steps[player], out)


@uncounted
def _last_boards(
    at: RoundArrays,
    first: int,
    end: int,
    player: int,
    rule: Float,
    regret_sum: Float,
    strategy_sum: Float,
    before: Pair,
    steps: tuple[int, int],
    scratch: Scratch,
    out: Float,
) -> None:
    """Work on some full boards."""
    starts, tables = at.boards.table_start, (regret_sum, regret_sum)
    for board in range(first, end):
        places = (starts[board, 0], starts[board, 1])
        own = starts[board, player]
        _last_board(at, board, player, rule, tables, places, strategy_sum, own, before, steps, scratch, out)


@uncounted
def _last_boards_coded(
    at: RoundArrays,
    first: int,
    end: int,
    player: int,
    rule: Float,
    salt: np.uint32,
    regret_sum: SumTable,
    strategy_sum: SumTable,
    before: Pair,
    steps: tuple[int, int],
    scratch: Scratch,
    held: Held,
    out: Float,
) -> None:
    """Work on some full boards whose tables are in 16 bits."""
    rows, starts = at.entries[0] + at.entries[1], at.boards.table_start
    for board in range(first, end):
        for p in range(2):
            row, width = board * rows + p * at.entries[0], at.boards.width[board, p]
            load_rows(regret_sum, starts[board, p], row, at.entries[p], width, held.regrets[p])
            bind(at.betting, at.locked, board, p, width, 0, held.regrets[p])
        own, width = board * rows + player * at.entries[0], at.boards.width[board, player]
        place, entries, sums = starts[board, player], at.entries[player], held.sums[player]
        load_rows(strategy_sum, place, own, entries, width, sums)
        _last_board(at, board, player, rule, held.regrets, (0, 0), sums, 0, before, steps, scratch, out)
        store_rows(regret_sum, place, own, entries, width, held.regrets[player], salt)
        store_rows(strategy_sum, place, own, entries, width, sums, ~salt)


@uncounted
def _clear(numbers: Float, count: int) -> None:
    for j in range(0, count, LANES):
        store(numbers, j, zeros(numbers))


@uncounted
def _go_down(
    at: RoundArrays,
    board: int,
    player: int,
    rule: Float,
    regret_sum: Float,
    strategy_sum: Float,
    before: Pair,
    steps: tuple[int, int],
    scratch: Scratch,
) -> None:
    """Do the first part of the work on a board that others follow."""
    starts = at.boards.table_start
    places = (starts[board, 0], starts[board, 1])
    tables = (regret_sum, regret_sum)
    own = starts[board, player]
    _open_board(at, board, player, rule, tables, places, strategy_sum, own, before, steps, scratch)


@uncounted
def _go_up(
    at: RoundArrays,
    board: int,
    player: int,
    rule: Float,
    regret_sum: Float,
    steps: tuple[int, int],
    scratch: Scratch,
    out: Float,
) -> None:
    """Do the second part, once ``scratch.closing`` has what the boards after this one are worth."""
    width, start, gradient = at.boards.width[board, player], at.boards.table_start[board, player], scratch.gradient
    add_closings(at.onward, player, width, scratch.closing, gradient)
    make_alike(at.boards, board, player, at.betting.rows[player], gradient)
    update_rows(at.betting, player, width, rule, gradient, start, regret_sum)
    bind(at.betting, at.locked, board, player, width, start, regret_sum)
    leave(at.boards, board, player, at.betting.roots, at.deal, gradient, steps[player], out)


@uncounted
def _river_iterations(
    at: RoundArrays,
    rules: Float,
    regret_sum: Float,
    strategy_sum: Float,
    before: Pair,
    steps: tuple[int, int],
    scratch: Scratch,
    outs: Pair,
) -> None:
    """Run one iteration of a river spot for each row of ``rules``: an iteration is too short for a call of its own."""
    for iteration in range(rules.shape[0]):
        for player in range(2):
            out = outs[player]
            _clear(out, out.size)
            _last_boards(at, 0, 1, player, rules[iteration], regret_sum, strategy_sum, before, steps, scratch, out)


class SpotCFR(Solver):
    """Tabular CFR on a spot; the rule makes it CFR, CFR+, Linear or Discounted CFR."""

    form: SpotForm
    memory: int
    updates = "alternating"

    def __init__(
        self, form: SpotForm, rule: Rule, *, storage: Storage = "float32", threads: int = 1, frozen: int = 0
    ) -> None:
        """Prepare to solve; in the first ``frozen`` rounds regrets, and so strategies, stay what they are."""
        self.form = form
        self.rule = rule
        self.frozen = frozen
        self.storage = storage
        self.threads = threads if len(form.rounds) > 1 else 1
        self._pace = Pace(self.threads)
        self.iteration = 0
        self.memory = needed_bytes(form, storage, threads)
        smaller = "" if storage == "int16" else "--set storage=int16 takes about half; or "
        require(self.memory, what=f"solving this spot in {storage}", instead=f"{smaller}give fewer bet sizes")
        self.regret_sum, self.strategy_sum = make_tables(form, storage), make_tables(form, storage)
        self._precision = np.dtype("float64" if storage == "float64" else "float32")
        self._rounds = [round_arrays(form, number) for number in range(len(form.rounds))]
        for number, at in enumerate(self._rounds):
            if number < len(self.regret_sum.early):
                bind_boards(at, 0, at.boards.images.size, self.regret_sum.early[number])
            elif storage != "int16":  # which is bound each time it is decoded
                bind_boards(at, 0, at.boards.images.size, self.regret_sum.uncoded)
        first, second = (each.astype(self._precision) for each in form.weights)
        self._weights = (first, second)
        roots = form.rounds[0].betting.roots
        self._steps = [(len(first) // roots, len(second) // roots)]
        self._scratch = [_lane_scratch(form, storage, self._precision) for _ in range(threads)]
        self._held = [_held(form.rounds[-1], self._precision) for _ in range(threads)] if storage == "int16" else []
        self._notes = _notes(form, self._precision)
        self._turn_of = (np.zeros(0), 1)  # the rule's numbers and the threads of this turn
        first, second = (aligned_zeros(_padded(len(each)), self._precision) for each in form.weights)
        self.root_values = (first, second)

    def run(self, iterations: int) -> None:
        """Run some iterations; where a long run is cut into calls makes no difference to its result."""
        rules = coefficient_table(self.rule, self.iteration + 1, iterations).astype(self._precision)
        if len(self._rounds) == 1 and self.storage != "int16":
            _river_iterations(
                self._rounds[0],
                rules,
                self.regret_sum.uncoded,
                self.strategy_sum.uncoded,
                self._weights,
                self._steps[0],
                self._scratch[0][0],
                self.root_values,
            )
            self.iteration += iterations
            return
        for first, last, threads in self._pace.slices(iterations):
            for rule in rules[first:last]:
                self.iteration += 1
                for player in range(2):
                    self._turn(rule, player, threads)

    def _turn(self, rule: Float, player: int, threads: int) -> None:
        root, out = self._scratch[0][0], self.root_values[player]
        out[:] = 0.0
        if len(self._rounds) == 1:
            self._last(0, 0, 1, player, rule, self._salt(player), self._weights, self._steps[0], 0, out)
            return
        before, steps = self._weights, self._steps[0]
        tables = self.regret_sum.early[0], self.strategy_sum.early[0]
        _go_down(self._rounds[0], 0, player, rule, *tables, before, steps, root)
        self._turn_of = (rule, threads)
        children = range(self._rounds[1].boards.images.size)
        entering = Entering(0, root.plans, _widths(self._rounds[0], 0), children)
        following = self.closings(entering, player, self.iteration)
        root.closing[: following.size] = following
        self._add_leaves(0, entering, player, root.closing)
        rule = _unmoving(rule) if self.frozen > 0 else rule
        _go_up(self._rounds[0], 0, player, rule, self.regret_sum.early[0], steps, root, out)

    def _salt(self, player: int) -> np.uint32:
        return np.uint32(((2 * self.iteration + player) * 0x9E3779B9) & 0xFFFFFFFF)

    def closings(self, entering: Entering, player: int, iteration: int) -> Float:
        """Return what the closings of the spot's own board are worth exactly: all boards that follow take their turn.

        These are leaf values (trees/leaf_values.py) that are solved on, from the tables of the last iteration.
        """
        rule, threads = self._turn_of
        salt, plans, widths, boards = self._salt(player), entering.plans, entering.widths, len(entering.children)
        notes, size = self._notes, self._rounds[1].betting.roots * widths[player]

        pieces = -(-boards // BOARDS_A_PIECE) if len(self._rounds) == 2 else boards
        turn = (player, rule, salt, plans, widths)
        do_parts(SpotCFR._some_boards, range(pieces), (self, size, turn), threads=threads)
        _add_notes(notes, pieces, size, notes[0])
        found: Float = notes[0][:size]
        return found

    @staticmethod
    def _some_boards(
        shared: "tuple[SpotCFR, int, tuple[int, Float, np.uint32, Pair, tuple[int, int]]]", lane: int, piece: int
    ) -> None:
        """Work on a piece of the boards that follow the first: one where others follow these, else several."""
        solver, size, turn = shared
        note = solver._notes[piece]
        _clear(note, size)
        if len(solver._rounds) > 2:
            solver._turn_board(piece, *turn, lane, note)
            return
        first = piece * BOARDS_A_PIECE
        end = min(first + BOARDS_A_PIECE, solver._rounds[1].boards.images.size)
        solver._last(1, first, end, *turn, lane, note)

    def _add_leaves(self, number: int, entering: Entering, player: int, out: Float) -> None:
        """Add what a value network says of the closings of a board, if the spot ends there."""
        leaves: LeafValues[Entering] | None = self.form.leaves
        if leaves is not None and number + 1 == self.form.game.betting_rounds:
            found = leaves.closings(entering, player, self.iteration).ravel()
            out[: found.size] += found

    def _turn_board(
        self,
        board: int,
        player: int,
        rule: Float,
        salt: np.uint32,
        before: Pair,
        steps: tuple[int, int],
        lane: int,
        out: Float,
    ) -> None:
        """Work on one turn of a flop spot and on all its rivers."""
        at, scratch = self._rounds[1], self._scratch[lane][1]
        tables = self.regret_sum.early[1], self.strategy_sum.early[1]
        _go_down(at, board, player, rule, *tables, before, steps, scratch)
        widths = _widths(at, board)
        _clear(scratch.closing, self._rounds[2].betting.roots * widths[player])
        first, end = self.form.rounds[1].first_child[board : board + 2]
        self._last(2, int(first), int(end), player, rule, salt, scratch.plans, widths, lane, scratch.closing)
        entering = Entering(board, scratch.plans, widths, range(int(first), int(end)))
        self._add_leaves(1, entering, player, scratch.closing)
        rule = _unmoving(rule) if self.frozen > 1 else rule
        _go_up(at, board, player, rule, self.regret_sum.early[1], steps, scratch, out)

    def _last(
        self,
        number: int,
        first: int,
        end: int,
        player: int,
        rule: Float,
        salt: np.uint32,
        before: Pair,
        steps: tuple[int, int],
        lane: int,
        out: Float,
    ) -> None:
        """Work on some full boards."""
        at, scratch = self._rounds[number], self._scratch[lane][number]
        if self.storage == "int16":
            held, regrets, sums = self._held[lane], self.regret_sum.last, self.strategy_sum.last
            _last_boards_coded(at, first, end, player, rule, salt, regrets, sums, before, steps, scratch, held, out)
        else:
            tables = self.regret_sum.uncoded, self.strategy_sum.uncoded
            _last_boards(at, first, end, player, rule, *tables, before, steps, scratch, out)

    def average_strategy(self) -> SpotTables:
        """Return the sums that the average strategy is proportional to."""
        return self.strategy_sum

    @property
    def layout(self) -> str:
        """Return a hash of which infoset and action each number of the state belongs to."""
        return self.form.layout

    @staticmethod
    def average_names(rounds: int) -> list[str]:
        """Return the arrays of a state that make a policy."""
        return [*(f"strategy_{number}" for number in range(rounds - 1)), "strategy_last", "strategy_scale"]

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that the next iterations depend on."""
        return {**self.regret_sum.arrays("regret"), **self.strategy_sum.arrays("strategy")}

    def restore(self, iteration: int, state: dict[str, npt.NDArray[Any]]) -> None:
        """Continue from a saved state, bit for bit."""
        self.regret_sum, self.strategy_sum = (tables_from(self.form, name, state) for name in ("regret", "strategy"))
        self.iteration = iteration


@uncounted
def _add_notes(notes: Float, pieces: int, size: int, out: Float) -> None:
    """Add up what the boards noted, in their order."""
    for k in range(size):
        total = notes[0, k]
        for piece in range(1, pieces):
            total += notes[piece, k]
        out[k] = total


def _unmoving(rule: Float) -> Float:
    """Return a rule's coefficients, but such that regrets stay what they are."""
    unmoving = rule.copy()
    unmoving[:4] = 1.0, 1.0, 0.0, NO_FLOOR
    return unmoving


def _widths(at: RoundArrays, board: int) -> tuple[int, int]:
    first, second = at.boards.width[board]
    return int(first), int(second)


def _padded(count: int) -> int:
    return -(-count // LANES) * LANES


def _closings(form: SpotForm, number: int) -> int:
    return form.rounds[number + 1].betting.roots if number + 1 < len(form.rounds) else 0


def _lane_scratch(form: SpotForm, storage: Storage, precision: npt.DTypeLike) -> list[Scratch]:
    deck = form.game.deck.size
    return [make_scratch(each, _closings(form, number), deck, precision) for number, each in enumerate(form.rounds)]


def _held(last: Round, precision: npt.DTypeLike) -> Held:
    sizes = [int(entries * width) for entries, width in zip(last.entries, last.boards.width.max(axis=0), strict=True)]

    def both() -> Pair:
        first, second = (aligned_zeros(size, precision) for size in sizes)
        return first, second

    return Held(both(), both())


def _notes(form: SpotForm, precision: npt.DTypeLike) -> Float:
    """Return room for what each board, or piece of boards, after the spot's own says of its closings."""
    pieces, size = _notes_shape(form)
    return aligned_zeros(pieces * size, precision).reshape(pieces, size)


def _notes_shape(form: SpotForm) -> tuple[int, int]:
    if len(form.rounds) == 1:
        return 0, 0
    boards = form.rounds[1].num_boards
    pieces = -(-boards // BOARDS_A_PIECE) if len(form.rounds) == 2 else boards
    return pieces, form.rounds[1].betting.roots * int(form.rounds[0].boards.width.max())


def needed_bytes(form: SpotForm, storage: Storage, threads: int) -> int:
    """Return the memory that solving and evaluating a spot takes."""
    precision = np.dtype("float64" if storage == "float64" else "float32")
    last, deck = form.rounds[-1], form.game.deck.size
    tables = table_bytes(last.size, storage) + sum(each.size * precision.itemsize for each in form.rounds[:-1])
    scratch = sum(
        scratch_bytes(each, _closings(form, number), deck, precision) for number, each in enumerate(form.rounds)
    )
    if storage == "int16":
        tables += 4 * last.num_boards * sum(last.entries)
        scratch += 2 * precision.itemsize * int(last.boards.width.max(axis=0) @ np.array(last.entries))
    notes = int(np.prod(_notes_shape(form))) * precision.itemsize
    arrays = sum(array.nbytes for each in form.rounds for array in (*each.boards, *each.locked))
    return 2 * tables + threads * (scratch + evaluator_bytes(form)) + notes + arrays
