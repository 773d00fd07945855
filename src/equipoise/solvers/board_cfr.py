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

from equipoise.compiled import kernel
from equipoise.memory import require
from equipoise.regret.blocks import add_regrets, add_to_average
from equipoise.regret.matching import UNIFORM, match_block
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.sampling.board_sample import BoardSample
from equipoise.solvers.board_shares import Boards, BoardShare, SharedBoards, Turn, share_bytes
from equipoise.solvers.solver import Solver
from equipoise.stores.board_tables import NO_TABLE, BoardTableStrategy, Storage
from equipoise.threads import Pace
from equipoise.trees.best_response import BestResponses
from equipoise.trees.betting_tree import Betting
from equipoise.trees.board_evaluator import BoardEvaluator, enter_boards, start_payments
from equipoise.trees.board_form import BoardForm, entries_before
from equipoise.trees.board_values import pass_on
from equipoise.trees.treeplex import Float
from equipoise.workers import Workers


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
        workers: Workers | None = None,
    ) -> None:
        """Make a solver; ``boards`` is how many to draw a turn (None: all of them); ``workers`` may keep the tables."""
        self.form = form
        self.rule = rule
        self.updates = updates
        self.threads = threads if workers is None else 1
        self._pace = Pace(self.threads)
        self.iteration = 0
        self.boards: Boards
        if workers is None:
            require(needed_bytes(form, storage, threads), what=f"solving {form.game.name} in {storage}")
            self.boards = BoardShare(form, storage, range(form.num_boards), threads)
        else:
            self.boards = SharedBoards(form, storage, workers)
        entries = entries_before(form.betting[0]) * form.num_starting_classes
        self._parts = tuple(slice(int(entries[player]), int(entries[player + 1])) for player in range(2))
        self.start_regret_sum, self.start_strategy_sum = np.zeros(entries[2]), np.zeros(entries[2])
        self._precision: npt.DTypeLike = np.float64 if storage == "float64" else np.float32
        width, roots = form.num_starting_classes, form.betting[1].roots
        self._entering = np.empty((2, roots, width))
        self._start = [np.ones((3, int(rows) * width)) for rows in form.betting[0].rows]  # strategy, plan, gradient
        self._sample = BoardSample(form, boards, seed, otherwise=", or use cfr+, which takes all boards")

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
        coefficients = rule.astype(self._precision)
        salt = np.uint32(((2 * self.iteration + first_player) * 0x9E3779B9) & 0xFFFFFFFF)
        turn = Turn(boards, first_player, end_player, coefficients, salt, self._entering)
        brought = self.boards.turn(turn, threads)
        for player in range(first_player, end_player):
            strategy, plan, gradient = self._start[player]
            closing = brought[:, player - first_player]
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

    def average_strategy(self) -> BoardTableStrategy:
        """Return the average strategy: the one that converges to equilibrium."""
        return self.boards.strategy(self.start_strategy_sum)

    def best_responses(self, evaluator: BoardEvaluator) -> BestResponses:
        """Return the value of the average strategy and of best responses, worked out where its tables are."""
        start = BoardTableStrategy(self.form, self.start_strategy_sum, NO_TABLE)
        entered = evaluator.enter(start, start)
        return evaluator.concluded(entered, *self.boards.best_responses(evaluator, entered))

    def leave_workers(self) -> None:
        """Bring here what is asked for when the workers are gone: the tables, in files."""
        self.boards.state()

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
            **self.boards.state(),
        }

    def restore(self, iteration: int, state: dict[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a saved state, bit for bit; its arrays are taken over, for copies would take as much again."""
        self.start_regret_sum, self.start_strategy_sum = (
            state[name].astype(np.float64, copy=False) for name in ("start_regret_sum", "start_strategy_sum")
        )
        self.boards.restore({name: array for name, array in state.items() if not name.startswith("start_")})
        self.iteration = iteration


def needed_bytes(form: BoardForm, storage: Storage, threads: int) -> int:
    """Return the memory that solving and evaluating a form takes."""
    return share_bytes(form, storage, form.num_entries, form.num_boards, threads)
