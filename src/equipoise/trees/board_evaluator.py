"""Exact value and best responses of any strategy on a board form, some boards at a time.

A strategy need not be a table: it writes the probabilities beside a few boards when it is asked to, so that networks and
abstractions are evaluated in the full game without a second table of its size. Sums are in double precision, whatever the
strategy is stored in.
"""

from typing import Protocol

import numpy as np

from equipoise.compiled import inlined, kernel, kernel_pair, prange, set_threads
from equipoise.trees.best_response import BestResponses
from equipoise.trees.board_form import Betting, BoardForm, Pairs, Payments, Showdowns, StartingHands, entries_before
from equipoise.trees.board_values import (
    Scratch,
    board_payments,
    fold_payments,
    make_scratch,
    value_rows,
    write_plan_rows,
)
from equipoise.trees.treeplex import Float, Int64

BOARDS_AT_ONCE = 64


class BoardStrategy(Protocol):
    """The strategies of both players, in the order of a form's tables."""

    def write_start(self, out: Float) -> None:
        """Write the probabilities of the first round."""

    def write_boards(self, first: int, last: int, out: Float) -> None:
        """Write the probabilities beside the boards from ``first`` to ``last`` (exclusive), board after board."""


def _respond(
    betting: Betting,
    payments: tuple[Payments, Payments],
    showdowns: Showdowns,
    pairs: Pairs,
    chance: Float,
    first_entries: Int64,
    first: int,
    last: int,
    lanes: int,
    probabilities: Float,
    entering: Float,
    scratch: Scratch,
    closing: Float,
    played: Float,
) -> None:
    """Write what a best response wins beside each board (``closing``), and what player 0 wins there as it plays."""
    for lane in prange(lanes):
        reach, sums, numbers = scratch.reach[lane], scratch.sums[lane], scratch.numbers[lane]
        value = scratch.values[lane]
        for board in range(first + lane, last, lanes):
            first_pair = pairs.first_pair[board]
            width = pairs.first_pair[board + 1] - first_pair
            place = (first_pair - pairs.first_pair[first]) * first_entries[2]
            for player in range(2):
                strategy, plan = scratch.strategy[player][lane], scratch.plan[player][lane]
                for root in range(betting.roots):
                    for j in range(width):
                        plan[root * width + j] = entering[player, root, pairs.start_class[first_pair + j]]
                start, size = betting.roots * width, (betting.rows[player] - betting.roots) * width
                given = probabilities[place + first_entries[player] * width :]
                for k in range(size):
                    strategy[start + k] = given[k]
                write_plan_rows(betting, player, width, strategy, plan)
            for player in range(2):
                gradient = scratch.gradient[player][lane]
                board_payments(
                    betting,
                    payments[player],
                    showdowns,
                    board,
                    first_pair,
                    width,
                    player,
                    scratch.plan[1 - player][lane],
                    reach,
                    sums,
                    numbers,
                    gradient,
                )
                if player == 0:
                    plan, total = scratch.plan[0][lane], 0.0
                    for j in range(width):
                        won = 0.0
                        for row in range(betting.rows[0]):
                            won += plan[row * width + j] * gradient[row * width + j]
                        total += won * chance[pairs.start_class[first_pair + j]] * pairs.start_weight[first_pair + j]
                    played[board] = total
                value_rows(betting, player, width, True, scratch.strategy[player][lane], gradient, value)
                collect_closings(betting, pairs, first_pair, width, gradient, closing[player, board])


@inlined
def collect_closings(
    betting: Betting, pairs: Pairs, first_pair: int, width: int, gradient: Float, closing: Float
) -> None:
    """Write a board's part of the value of each root to each starting class, given that class."""
    for root in range(betting.roots):
        out = closing[root]
        for k in range(out.size):
            out[k] = 0.0
        for j in range(width):
            weight = pairs.start_weight[first_pair + j]
            out[pairs.start_class[first_pair + j]] += weight * gradient[root * width + j]


_RESPOND = kernel_pair(_respond)


@kernel
def enter_boards(
    betting: Betting, closings: Int64, width: int, strategy: Float, plan: Float, player: int, entering: Float
) -> None:
    """Write a player's plan of the first round, and its reach of the second round's roots."""
    for k in range(width):
        plan[k] = 1.0
    write_plan_rows(betting, player, width, strategy, plan)
    for root in range(closings.shape[1]):
        for k in range(width):
            entering[player, root, k] = plan[closings[player, root] * width + k]


@kernel
def start_payments(
    betting: Betting,
    payments: Payments,
    hands: StartingHands,
    closings: Int64,
    player: int,
    opponent_plan: Float,
    closing: Float,
    sums: Float,
    gradient: Float,
) -> None:
    """Write what a player's rows of the first round are worth: folds, and what boards have brought, board by board."""
    width = hands.class_hand.size
    fold_payments(payments, hands, width, betting.rows[player], opponent_plan, sums, gradient)
    for board in range(closing.shape[0]):
        for root in range(closing.shape[1]):
            row = closings[player, root] * width
            for k in range(width):
                gradient[row + k] += closing[board, root, k]


@kernel
def _best_value(
    betting: Betting, player: int, hands: StartingHands, strategy: Float, gradient: Float, value: Float
) -> float:
    """Return the value of a best response, given the worth of the first round's rows."""
    width = hands.class_hand.size
    value_rows(betting, player, width, True, strategy, gradient, value)
    best = 0.0
    for k in range(width):
        best += hands.chance[k] * gradient[k]
    return best


class BoardEvaluator:
    """Best responses on a board form."""

    def __init__(self, form: BoardForm, *, threads: int = 1) -> None:
        self.form = form
        self.threads = threads
        self._scratch = make_scratch(form, threads, np.float64)

    def best_responses(self, given: BoardStrategy) -> BestResponses:
        """Return the exact value and best-response values of a strategy."""
        form, (betting, after) = self.form, self.form.betting
        width, roots = form.num_starting_classes, after.roots
        start = np.empty(form.num_start_entries)
        given.write_start(start)
        strategies, plans = [], []
        entering = np.empty((2, roots, width))
        entries = entries_before(betting) * width
        for player in range(2):
            strategy = np.concatenate([np.ones(width), start[entries[player] : entries[player + 1]]])
            plan = np.empty_like(strategy)
            enter_boards(betting, form.closings, width, strategy, plan, player, entering)
            strategies.append(strategy)
            plans.append(plan)
        closing = np.empty((2, form.num_boards, roots, width))
        played = np.empty(form.num_boards)
        for first in range(0, form.num_boards, BOARDS_AT_ONCE):
            last = min(first + BOARDS_AT_ONCE, form.num_boards)
            self._respond(given, first, last, entering, closing, played)
        best = []
        value = float(played.sum())
        for player in range(2):
            gradient, nothing = np.empty_like(strategies[player]), np.zeros((0, roots, width))
            sums = np.empty(form.cards.deck_size)
            payments, hands = form.payments[0][player], form.starting_hands
            shared = (betting, payments, hands, form.closings, player, plans[1 - player])
            if player == 0:
                start_payments(*shared, nothing, sums, gradient)
                value += float((plans[0] * gradient * np.tile(hands.chance, int(betting.rows[0]))).sum())
            start_payments(*shared, closing[player], sums, gradient)
            best.append(_best_value(betting, player, hands, strategies[player], gradient, np.empty(width)))
        return BestResponses(value, (best[0], best[1]))

    def _respond(
        self, given: BoardStrategy, first: int, last: int, entering: Float, closing: Float, played: Float
    ) -> None:
        form = self.form
        size = int((form.pairs.first_pair[last] - form.pairs.first_pair[first]) * form.first_entries[2])
        probabilities = np.empty(size)
        given.write_boards(first, last, probabilities)
        if self.threads > 1:
            set_threads(self.threads)
        _RESPOND[self.threads > 1](
            form.betting[1],
            form.payments[1],
            form.showdowns,
            form.pairs,
            form.starting_hands.chance,
            form.first_entries,
            first,
            last,
            self.threads,
            probabilities,
            entering,
            self._scratch,
            closing,
            played,
        )
