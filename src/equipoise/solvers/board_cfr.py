"""CFR over canonical boards: the loop of full_width.py for games whose tables are all that fits in memory.

One turn of a player (or of both, simultaneous):

1. the strategies of the first round, by regret matching on its regrets, and both players' reach of the second round;
2. board by board, on all threads: regret matching on the board, both plans, the payments of all leaves
   (trees/board_values.py), values and *regrets* upwards, *averaging*; what the roots are worth to each starting hand is
   noted for this board;
3. the notes are added up in the order of boards, and the first round gets its regrets and its average.

Strategies are not stored: they are matched where they are needed. Values are chips given the player's own hand and the
board, so regrets on boards are free of chance's tiny probabilities: a positive factor per infoset that regret
matching does not see. Public chance sampling (Johanson et al. 2012) works on some boards a turn instead of all.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel, uncounted
from equipoise.errors import InvalidParameter
from equipoise.memory import require
from equipoise.regret.blocks import add_regrets, add_to_average
from equipoise.regret.matching import UNIFORM, match_block
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.solvers.solver import Solver
from equipoise.stores.board_tables import (
    BoardTableStrategy,
    Storage,
    SumTable,
    load_rows,
    make_table,
    store_rows,
    table_bytes,
)
from equipoise.threads import Pace, do_parts
from equipoise.trees.betting_tree import Betting
from equipoise.trees.board_evaluator import BOARDS_AT_ONCE, enter_boards, start_payments
from equipoise.trees.board_form import BoardForm, Pairs, Payments, Showdowns, entries_before
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
    """Do step 2 on some boards, for the players from ``first_player`` to ``end_player`` (exclusive)."""
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


@kernel
def _match_start(betting: Betting, player: int, width: int, regret_sum: Float, strategy: Float, totals: Float) -> None:
    """Write a player's strategy of the first round."""
    first = betting.roots * width
    for k in range(regret_sum.size):
        strategy[first + k] = regret_sum[k]
    for node in range(betting.node_player.size):
        if betting.node_player[node] == player:
            match_block(strategy, betting.node_row[node] * width, betting.node_actions[node], width, totals, UNIFORM)


@kernel
def _start_regrets(
    betting: Betting,
    player: int,
    width: int,
    rule: Float,
    strategy: Float,
    plan: Float,
    gradient: Float,
    regret_sum: Float,
    strategy_sum: Float,
    value: Float,
) -> None:
    """Do step 3: the first round's regrets and average."""
    for node in range(betting.node_player.size - 1, -1, -1):
        if betting.node_player[node] == player:
            first, actions = betting.node_row[node] * width, betting.node_actions[node]
            end, own = first + actions * width, first - betting.roots * width
            regrets = regret_sum[own : own + actions * width]
            add_regrets(actions, width, rule, gradient[first:end], strategy[first:end], regrets, value)
            add_to_average(rule, plan[first:end], strategy_sum[own : own + actions * width])
            pass_on(betting, node, width, value, gradient)


class BoardSample:
    """Which boards a turn works on: all of them, or some, each as often as its weight asks for.

    Systematic sampling from a shuffled list: a fixed number of different boards, where board b is among them with
    probability count x weight(b) / all raw boards, so that a sum over boards is estimated without bias.
    """

    def __init__(self, form: BoardForm, count: int | None, seed: int) -> None:
        self._seed, self._count = seed, count
        self._all = np.arange(form.num_boards)
        if count is not None:
            weight = form.cards.board_weight
            self._inclusion = count * weight / weight.sum()
            if count < 1 or self._inclusion.max() > 1.0:
                most = int(weight.sum() // weight.max())
                raise InvalidParameter(
                    f"boards={count} is not valid; give 1 to {most}, or use cfr+, which takes all boards"
                )

    def draw(self, iteration: int, turn: int) -> tuple[Int64, Float]:
        """Return the boards of a turn, and one over the chance that each had to be among them."""
        if self._count is None:
            return self._all, np.ones(len(self._all))
        random = np.random.default_rng([self._seed, iteration, turn])
        shuffled = random.permutation(self._all)
        ends = np.cumsum(self._inclusion[shuffled])
        marks = np.arange(self._count) + random.random()
        places = np.minimum(np.searchsorted(ends, marks, side="right"), len(ends) - 1)
        boards = np.sort(shuffled[places])
        return boards, 1.0 / self._inclusion[boards]


class BoardCFR(Solver):
    """Tabular CFR on a board form; the rule makes it CFR, CFR+, Linear or Discounted CFR."""

    form: BoardForm

    def __init__(
        self,
        form: BoardForm,
        rule: Rule,
        *,
        updates: Literal["alternating", "simultaneous"] = "alternating",
        storage: Storage = "float32",
        boards: int | None = None,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        """Make a solver; ``boards`` is how many to draw a turn (None: all of them)."""
        self.form = form
        self.rule = rule
        self.updates = updates
        self.threads = threads
        self._pace = Pace(threads)
        self.iteration = 0
        require(needed_bytes(form, storage, threads), what=f"solving {form.game.name} in {storage}")
        self.regret_sum, self.strategy_sum = make_table(form, storage), make_table(form, storage)
        entries = entries_before(form.betting[0]) * form.num_starting_classes
        self._parts = tuple(slice(int(entries[player]), int(entries[player + 1])) for player in range(2))
        self.start_regret_sum, self.start_strategy_sum = np.zeros(entries[2]), np.zeros(entries[2])
        precision: npt.DTypeLike = np.float64 if storage == "float64" else np.float32
        self._scratch = [make_scratch(form, precision) for _ in range(threads)]
        width, roots = form.num_starting_classes, form.betting[1].roots
        self._entering = np.empty((2, roots, width))
        self._closing = np.empty((form.num_boards, 2, roots, width))
        self._start = [np.ones((3, int(rows) * width)) for rows in form.betting[0].rows]  # strategy, plan, gradient
        self._sample = BoardSample(form, boards, seed)

    def run(self, iterations: int) -> None:
        """Run some iterations."""
        rules = coefficient_table(self.rule, self.iteration + 1, iterations)
        for first, last, threads in self._pace.slices(iterations):
            for rule in rules[first:last]:
                self.iteration += 1
                for players in ((0, 1), (1, 2)) if self.updates == "alternating" else ((0, 2),):
                    self._turn(rule, *players, threads)

    def _turn(self, rule: Float, first_player: int, end_player: int, threads: int) -> None:
        boards, weights = self._sample.draw(self.iteration, first_player)
        form, betting = self.form, self.form.betting[0]
        width = form.num_starting_classes
        value, sums = np.empty(width), np.empty(form.cards.deck_size)
        for player in range(2):
            strategy, plan, _ = self._start[player]
            _match_start(betting, player, width, self.start_regret_sum[self._parts[player]], strategy, value)
            enter_boards(betting, form.closings, width, strategy, plan, player, self._entering)
        coefficients = rule.astype(self._scratch[0].values.dtype)
        salt = np.uint32(((2 * self.iteration + first_player) * 0x9E3779B9) & 0xFFFFFFFF)

        # A few shares for each thread, so that none waits long for the last one.
        at_once = max(1, min(BOARDS_AT_ONCE, len(boards) // (8 * threads)))
        turn = (first_player, end_player, coefficients, salt)
        do_parts(BoardCFR._some_boards, range(0, len(boards), at_once), (self, boards, at_once, turn), threads=threads)
        for player in range(first_player, end_player):
            strategy, plan, gradient = self._start[player]
            closing = self._closing[: len(boards), player]
            start_payments(
                betting,
                form.payments[0],
                form.starting_hands,
                form.closings,
                player,
                self._start[1 - player][1],
                closing,
                weights,
                sums,
                gradient,
            )
            own = self._parts[player]
            _start_regrets(
                betting,
                player,
                width,
                rule,
                strategy,
                plan,
                gradient,
                self.start_regret_sum[own],
                self.start_strategy_sum[own],
                value,
            )

    @staticmethod
    def _some_boards(
        shared: "tuple[BoardCFR, Int64, int, tuple[int, int, Float, np.uint32]]", lane: int, first: int
    ) -> None:
        """Work on the boards from one on, as many as go together."""
        solver, boards, at_once, turn = shared
        form = solver.form
        _board_pass(
            form.betting[1],
            form.payments[1],
            form.showdowns,
            form.pairs,
            form.first_entries,
            boards[first : first + at_once],
            *turn,
            solver.regret_sum,
            solver.strategy_sum,
            solver._entering,
            solver._scratch[lane],
            solver._closing[first:],
        )

    def average_strategy(self) -> BoardTableStrategy:
        """Return the average strategy: the one that converges to equilibrium."""
        return BoardTableStrategy(self.form, self.start_strategy_sum, self.strategy_sum)

    AVERAGE = ("start_strategy_sum", "strategy_sum", "strategy_scale")  # the arrays of a state that make a policy

    @property
    def layout(self) -> str:
        """Return a hash of which infoset and action each number of the state belongs to."""
        return self.form.layout

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return all that the next iterations depend on."""
        return {
            "start_regret_sum": self.start_regret_sum,
            "start_strategy_sum": self.start_strategy_sum,
            "regret_sum": self.regret_sum.stored,
            "regret_scale": self.regret_sum.scale,
            "strategy_sum": self.strategy_sum.stored,
            "strategy_scale": self.strategy_sum.scale,
        }

    def restore(self, iteration: int, state: dict[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a saved state, bit for bit; its arrays are taken over, for copies would take as much again."""
        self.start_regret_sum, self.start_strategy_sum = (
            state[name].astype(np.float64, copy=False) for name in ("start_regret_sum", "start_strategy_sum")
        )
        self.regret_sum, self.strategy_sum = (
            SumTable(state[f"{name}_sum"], state[f"{name}_scale"].astype(np.float32, copy=False))
            for name in ("regret", "strategy")
        )
        self.iteration = iteration


def needed_bytes(form: BoardForm, storage: Storage, threads: int) -> int:
    """Return the memory that solving and evaluating a form takes."""
    tables = 2 * table_bytes(form.num_entries, storage)
    rows = int(form.betting[1].rows.sum())
    scratch = threads * 8 * form.widest * 6 * rows
    evaluated = 8 * BOARDS_AT_ONCE * form.widest * int(form.first_entries[2])
    notes = 4 * 8 * form.num_boards * form.betting[1].roots * form.num_starting_classes
    return tables + scratch + evaluated + notes
