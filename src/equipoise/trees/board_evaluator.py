"""Exact value and best responses of any strategy on a board form, some boards at a time.

A strategy need not be a table: it writes the probabilities beside a few boards when it is asked to, so that networks
and abstractions are evaluated in the full game without a second table of its size. Sums are in double precision,
whatever the strategy is stored in.
"""

import threading
from contextlib import nullcontext
from typing import Protocol

import numpy as np

from equipoise.compiled import kernel, on_threads, uncounted
from equipoise.trees.best_response import BestResponses
from equipoise.trees.board_form import Betting, BoardForm, Pairs, Payments, Showdowns, StartingHands, entries_before
from equipoise.trees.board_values import (
    Scratch,
    board_payments,
    collect_closings,
    enter_board,
    fold_payments,
    make_scratch,
    value_rows,
    write_plan_rows,
)
from equipoise.trees.treeplex import Float, Int64

BOARDS_AT_ONCE = 32


class BoardStrategy(Protocol):
    """The strategies of both players, in the order of a form's tables."""

    concurrent: bool  # whether several threads may ask at once

    def write_start(self, out: Float) -> None:
        """Write the probabilities of the first round."""

    def write_boards(self, first: int, last: int, out: Float) -> None:
        """Write the probabilities beside the boards from ``first`` to ``last`` (exclusive), board after board."""


@uncounted
def _respond(
    betting: Betting,
    payments: Payments,
    showdowns: Showdowns,
    pairs: Pairs,
    chance: Float,
    first_entries: Int64,
    first: int,
    last: int,
    probabilities: Float,
    entering: Float,
    scratch: Scratch,
    closing: Float,
    played: Float,
) -> None:
    """Write what a best response wins beside some boards (``closing``), and what player 0 wins there as it plays."""
    value, totals, gradient = scratch.values, scratch.totals, scratch.gradient
    place = 0
    for board in range(first, last):
        first_pair = pairs.first_pair[board]
        width = pairs.first_pair[board + 1] - first_pair
        for player in range(2):
            strategy, plan = scratch.strategy[player], scratch.plan[player]
            enter_board(betting, pairs, first_pair, width, entering[player], plan)
            start, size = betting.roots * width, (betting.rows[player] - betting.roots) * width
            given, own = probabilities[place : place + size], strategy[start : start + size]
            for k in range(size):
                own[k] = given[k]
            place += size
            write_plan_rows(betting, player, width, strategy, plan)
        for player in range(2):
            board_payments(betting, payments, showdowns, board, first_pair, width, player, scratch)
            if player == 0:
                played[board] = 0.0
                for j in range(width):
                    totals[j] = 0.0
                for row in range(betting.rows[0]):
                    start, end = row * width, (row + 1) * width
                    reach, won = scratch.plan[0][start:end], gradient[start:end]
                    for j in range(width):
                        totals[j] += reach[j] * won[j]
                for j in range(width):
                    weight = chance[pairs.start_class[first_pair + j]] * pairs.start_weight[first_pair + j]
                    played[board] += totals[j] * weight
            value_rows(betting, player, width, True, scratch.strategy[player], gradient, value)
            collect_closings(betting, pairs, first_pair, width, gradient, closing[board, player])


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
    weights: Float,
    sums: Float,
    gradient: Float,
) -> None:
    """Write what a player's rows of the first round are worth: folds, and what boards have brought, board by board.

    A board's weight is one over the chance that it is among those in ``closing``.
    """
    width = hands.class_hand.size
    fold_payments(payments, hands, player, width, betting.rows[player], opponent_plan, sums, gradient)
    for board in range(closing.shape[0]):
        for root in range(closing.shape[1]):
            row = closings[player, root] * width
            for k in range(width):
                gradient[row + k] += weights[board] * closing[board, root, k]


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
        self._scratch = [make_scratch(form, np.float64) for _ in range(threads)]
        self._one_at_a_time = threading.Lock()

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
        closing = np.empty((form.num_boards, 2, roots, width))
        played = np.empty(form.num_boards)

        def work(lane: int, first: int) -> None:
            last = min(first + BOARDS_AT_ONCE, form.num_boards)
            self._respond(given, first, last, entering, self._scratch[lane], closing, played)

        on_threads(self.threads, work, range(0, form.num_boards, BOARDS_AT_ONCE))
        best = []
        value = float(played.sum())
        for player in range(2):
            gradient, every = np.empty_like(strategies[player]), np.ones(form.num_boards)
            sums = np.empty(form.cards.deck_size)
            payments, hands = form.payments[0], form.starting_hands
            shared = (betting, payments, hands, form.closings, player, plans[1 - player])
            if player == 0:
                start_payments(*shared, closing[:0, player], every, sums, gradient)
                value += float((plans[0] * gradient * np.tile(hands.chance, int(betting.rows[0]))).sum())
            start_payments(*shared, closing[:, player], every, sums, gradient)
            best.append(_best_value(betting, player, hands, strategies[player], gradient, np.empty(width)))
        return BestResponses(value, (best[0], best[1]))

    def _respond(
        self,
        given: BoardStrategy,
        first: int,
        last: int,
        entering: Float,
        scratch: Scratch,
        closing: Float,
        played: Float,
    ) -> None:
        form = self.form
        size = int((form.pairs.first_pair[last] - form.pairs.first_pair[first]) * form.first_entries[2])
        probabilities = np.empty(size)
        with nullcontext() if given.concurrent else self._one_at_a_time:
            given.write_boards(first, last, probabilities)
        _respond(
            form.betting[1],
            form.payments[1],
            form.showdowns,
            form.pairs,
            form.starting_hands.chance,
            form.first_entries,
            first,
            last,
            probabilities,
            entering,
            scratch,
            closing,
            played,
        )
