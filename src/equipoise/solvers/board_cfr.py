"""CFR over canonical boards: the loop of full_width.py for games whose tables are all that fits in memory.

One turn of a player (or of both, simultaneous):

1. the strategies of the first round, by regret matching on its regrets, and both players' reach of the second round;
2. board by board, on all threads: regret matching beside the board, both plans, the payments of all leaves
   (trees/board_values.py), values and *regrets* upwards, *averaging*; what the roots are worth to each starting hand is
   noted for this board;
3. the notes are added up in the order of boards, and the first round gets its regrets and its average.

Strategies are not stored: they are matched where they are needed. Values are chips given the player's own hand and the
board, so regrets beside boards are free of chance's tiny probabilities: a positive factor per infoset that regret
matching does not see. Public chance sampling (Johanson et al. 2012) works on some boards a turn instead of all.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel, kernel_pair, prange, set_threads
from equipoise.memory import require
from equipoise.regret.blocks import add_regrets, add_to_average
from equipoise.regret.matching import UNIFORM, match_block
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.solvers.board_tables import (
    Storage,
    Table,
    TableStrategy,
    load_rows,
    make_table,
    store_rows,
    table_bytes,
)
from equipoise.trees.board_evaluator import BOARDS_AT_ONCE, collect_closings, enter_boards, start_payments
from equipoise.trees.board_form import Betting, BoardForm, Pairs, Payments, Showdowns, entries_before
from equipoise.trees.board_values import Scratch, board_payments, make_scratch, pass_on, write_plan_rows
from equipoise.trees.treeplex import Float, Int64


def _board_pass(
    betting: Betting,
    payments: tuple[Payments, Payments],
    showdowns: Showdowns,
    pairs: Pairs,
    first_entries: Int64,
    boards: Int64,
    lanes: int,
    first_player: int,
    end_player: int,
    rule: Float,
    salt: np.uint32,
    regret_sum: Table,
    strategy_sum: Table,
    entering: Float,
    scratch: Scratch,
    held: Float,
    closing: Float,
) -> None:
    """Do step 2 for the players from ``first_player`` to ``end_player`` (exclusive)."""
    roots = betting.roots
    for lane in prange(lanes):
        value, totals, rows_held = scratch.values[lane], scratch.totals[lane], held[lane]
        for number in range(lane, boards.size, lanes):
            board = boards[number]
            first_pair = pairs.first_pair[board]
            width = pairs.first_pair[board + 1] - first_pair
            for player in range(2):
                strategy, plan = scratch.strategy[player][lane], scratch.plan[player][lane]
                for root in range(roots):
                    for j in range(width):
                        plan[root * width + j] = entering[player, root, pairs.start_class[first_pair + j]]
                entry = first_entries[player]
                start, row = (first_pair * first_entries[2] + entry * width), board * first_entries[2] + entry
                rows = betting.rows[player] - roots
                load_rows(regret_sum, start, row, rows, width, strategy[roots * width : (roots + rows) * width])
                for node in range(betting.node_player.size):
                    if betting.node_player[node] == player:
                        offset, actions = betting.node_row[node] * width, betting.node_actions[node]
                        match_block(strategy, offset, actions, width, totals[:width], UNIFORM)
                write_plan_rows(betting, player, width, strategy, plan)
            for player in range(first_player, end_player):
                strategy, gradient = scratch.strategy[player][lane], scratch.gradient[player][lane]
                plan = scratch.plan[player][lane]
                board_payments(
                    betting,
                    payments[player],
                    showdowns,
                    board,
                    first_pair,
                    width,
                    player,
                    scratch.plan[1 - player][lane],
                    scratch.reach[lane],
                    scratch.sums[lane],
                    scratch.numbers[lane],
                    gradient,
                )
                for node in range(betting.node_player.size - 1, -1, -1):
                    if betting.node_player[node] == player:
                        actions, first = betting.node_actions[node], betting.node_row[node] * width
                        end, size = first + actions * width, actions * width
                        entry = first_entries[player] + betting.node_row[node] - roots
                        start, row = first_pair * first_entries[2] + entry * width, board * first_entries[2] + entry
                        block = rows_held[:size]
                        load_rows(regret_sum, start, row, actions, width, block)
                        add_regrets(actions, width, rule, gradient[first:end], strategy[first:end], block, value)
                        store_rows(regret_sum, start, row, actions, width, block, salt)
                        load_rows(strategy_sum, start, row, actions, width, block)
                        add_to_average(rule, plan[first:end], block)
                        store_rows(strategy_sum, start, row, actions, width, block, ~salt)
                        pass_on(betting, node, width, value, gradient)
                collect_closings(betting, pairs, first_pair, width, gradient, closing[player, number])


_BOARD_PASS = kernel_pair(_board_pass)


@kernel
def _match_start(betting: Betting, player: int, width: int, regret_sum: Float, strategy: Float, totals: Float) -> None:
    """Write a player's strategy of the first round."""
    first = betting.roots * width
    strategy[first:] = regret_sum
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


class BoardCFR:
    """Tabular CFR on a board form; the rule makes it CFR, CFR+, Linear or Discounted CFR."""

    def __init__(
        self,
        form: BoardForm,
        rule: Rule,
        *,
        updates: Literal["alternating", "simultaneous"] = "alternating",
        storage: Storage = "float32",
        threads: int = 1,
    ) -> None:
        self.form = form
        self.rule = rule
        self.updates = updates
        self.threads = threads
        self.iteration = 0
        require(needed_bytes(form, storage, threads), what=f"solving {form.game.name} in {storage}")
        self.regret_sum, self.strategy_sum = make_table(form, storage), make_table(form, storage)
        entries = entries_before(form.betting[0]) * form.num_starting_classes
        self._parts = tuple(slice(int(entries[player]), int(entries[player + 1])) for player in range(2))
        self.start_regret_sum, self.start_strategy_sum = np.zeros(entries[2]), np.zeros(entries[2])
        precision: npt.DTypeLike = np.float64 if storage == "float64" else np.float32
        self._scratch = make_scratch(form, threads, precision)
        most = int(form.betting[1].node_actions.max(initial=1))
        self._held = np.zeros((threads, most * form.widest), precision)
        width, roots = form.num_starting_classes, form.betting[1].roots
        self._entering = np.empty((2, roots, width))
        self._closing = np.empty((2, form.num_boards, roots, width))
        self._start = [np.ones((3, int(rows) * width)) for rows in form.betting[0].rows]  # strategy, plan, gradient
        self._boards = np.arange(form.num_boards)

    def run(self, iterations: int) -> None:
        """Run some iterations."""
        for rule in coefficient_table(self.rule, self.iteration + 1, iterations):
            self.iteration += 1
            for players in ((0, 1), (1, 2)) if self.updates == "alternating" else ((0, 2),):
                self._turn(rule, *players, self._boards)

    def _turn(self, rule: Float, first_player: int, end_player: int, boards: Int64) -> None:
        form, (betting, after) = self.form, self.form.betting
        width = form.num_starting_classes
        value, sums = np.empty(width), np.empty(form.cards.deck_size)
        for player in range(2):
            strategy, plan, _ = self._start[player]
            _match_start(betting, player, width, self.start_regret_sum[self._parts[player]], strategy, value)
            enter_boards(betting, form.closings, width, strategy, plan, player, self._entering)
        if self.threads > 1:
            set_threads(self.threads)
        _BOARD_PASS[self.threads > 1](
            after,
            form.payments[1],
            form.showdowns,
            form.pairs,
            form.first_entries,
            boards,
            self.threads,
            first_player,
            end_player,
            rule.astype(self._held.dtype),
            np.uint32(((2 * self.iteration + first_player) * 0x9E3779B9) & 0xFFFFFFFF),
            self.regret_sum,
            self.strategy_sum,
            self._entering,
            self._scratch,
            self._held,
            self._closing,
        )
        for player in range(first_player, end_player):
            strategy, plan, gradient = self._start[player]
            closing = self._closing[player, : len(boards)]
            start_payments(
                betting,
                form.payments[0][player],
                form.starting_hands,
                form.closings,
                player,
                self._start[1 - player][1],
                closing,
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

    def average_strategy(self) -> TableStrategy:
        """Return the average strategy: the one that converges to equilibrium."""
        return TableStrategy(self.form, self.start_strategy_sum, self.strategy_sum, threads=self.threads)

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
        """Continue from a saved state, bit for bit."""
        for name, array in self.state().items():
            array[:] = state[name]
        self.iteration = iteration


def needed_bytes(form: BoardForm, storage: Storage, threads: int) -> int:
    """Return the memory that solving and evaluating a form takes."""
    tables = 2 * table_bytes(form.num_entries, storage)
    rows = int(form.betting[1].rows.sum())
    scratch = threads * 8 * form.widest * 6 * rows
    evaluated = 8 * BOARDS_AT_ONCE * form.widest * int(form.first_entries[2])
    notes = 4 * 8 * form.num_boards * form.betting[1].roots * form.num_starting_classes
    return tables + scratch + evaluated + notes
