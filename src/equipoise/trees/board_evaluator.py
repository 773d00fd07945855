"""Exact value and best responses of any strategy on a board form, some boards at a time; and of one against another.

A strategy need not be a table: it writes the probabilities on a few boards when it is asked to, so that networks
and abstractions are evaluated in the full game without a second table of its size. Sums are in double precision,
whatever the strategy is stored in.
"""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from equipoise.compiled import kernel, uncounted
from equipoise.threads import do_parts
from equipoise.trees.best_response import BestResponses
from equipoise.trees.betting_tree import Betting
from equipoise.trees.board_form import BoardForm, Pairs, Payments, Showdowns, StartingHands, entries_before
from equipoise.trees.board_values import (
    Scratch,
    board_payments,
    collect_closings,
    fold_payments,
    make_scratch,
    plan_board,
    value_rows,
    write_plan_rows,
)
from equipoise.trees.treeplex import Float, Int64
from equipoise.workers import Workers

BOARDS_AT_ONCE = 32


class BoardStrategy(Protocol):
    """The strategies of both players, in the order of a form's tables."""

    concurrent: bool  # whether several threads may ask at once

    def write_start(self, out: Float) -> None:
        """Write the probabilities of the first round."""

    def write_boards(self, first: int, last: int, out: Float) -> None:
        """Write the probabilities on the boards from ``first`` to ``last`` (exclusive), board after board."""


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
    first_given: Float,
    second_given: Float,
    entering: Float,
    respond: bool,
    scratch: Scratch,
    closing: Float,
    played: Float,
) -> None:
    """Write what player 0 wins on some boards as it plays and, if asked, what best responses win (``closing``).

    Player 0 plays by the first of the two given strategies and player 1 by the second.
    """
    value, totals, gradient = scratch.values, scratch.totals, scratch.gradient
    for board in range(first, last):
        first_pair = pairs.first_pair[board]
        width = pairs.first_pair[board + 1] - first_pair
        place = (first_pair - pairs.first_pair[first]) * first_entries[2]
        plan_board(betting, pairs, first_entries, first_pair, width, 0, place, first_given, entering, scratch)
        plan_board(betting, pairs, first_entries, first_pair, width, 1, place, second_given, entering, scratch)
        for player in range(2 if respond else 1):
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
            if respond:
                value_rows(betting, player, width, True, scratch.strategy[player], gradient, value)
                collect_closings(betting, pairs, first_pair, width, gradient, closing[board, player])


@uncounted
def _value_boards(
    betting: Betting,
    payments: Payments,
    showdowns: Showdowns,
    pairs: Pairs,
    first_entries: Int64,
    first: int,
    last: int,
    player: int,
    first_given: Float,
    second_given: Float,
    entering: Float,
    scratch: Scratch,
    response: Float,
    closing: Float,
    best_closing: Float,
) -> None:
    """Write what roots are worth to a player on some boards, as it plays and by a best response.

    What its rows are worth on the last board stays in ``scratch.gradient`` and in ``response``.
    """
    gradient = scratch.gradient
    for board in range(first, last):
        first_pair = pairs.first_pair[board]
        width = pairs.first_pair[board + 1] - first_pair
        place = (first_pair - pairs.first_pair[first]) * first_entries[2]
        plan_board(betting, pairs, first_entries, first_pair, width, 0, place, first_given, entering, scratch)
        plan_board(betting, pairs, first_entries, first_pair, width, 1, place, second_given, entering, scratch)
        board_payments(betting, payments, showdowns, board, first_pair, width, player, scratch)
        for k in range(betting.rows[player] * width):
            response[k] = gradient[k]
        value_rows(betting, player, width, False, scratch.strategy[player], gradient, scratch.values)
        value_rows(betting, player, width, True, scratch.strategy[player], response, scratch.values)
        collect_closings(betting, pairs, first_pair, width, gradient, closing[board - first])
        collect_closings(betting, pairs, first_pair, width, response, best_closing[board - first])


@kernel
def _value_start(
    betting: Betting, player: int, width: int, respond: bool, strategy: Float, gradient: Float, value: Float
) -> None:
    """Pass the worth of the first round's rows up."""
    value_rows(betting, player, width, respond, strategy, gradient, value)


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


class Entered(NamedTuple):
    """Two players' strategies of the first round, and what follows from them."""

    strategies: tuple[Float, Float]  # a player's reach of the start, then its entries
    plans: tuple[Float, Float]
    entering: Float  # [player, root of the second round, starting class] reach


def enter(form: BoardForm, starts: tuple[Float, Float]) -> Entered:
    """Return both players' plans of the first round; each plays by its part of a written strategy."""
    betting, width = form.betting[0], form.num_starting_classes
    entries = entries_before(betting) * width
    strategies, plans = [], []
    entering = np.empty((2, form.betting[1].roots, width))
    for player in range(2):
        strategy = np.concatenate([np.ones(width), starts[player][entries[player] : entries[player + 1]]])
        plan = np.empty_like(strategy)
        enter_boards(betting, form.closings, width, strategy, plan, player, entering)
        strategies.append(strategy)
        plans.append(plan)
    return Entered((strategies[0], strategies[1]), (plans[0], plans[1]), entering)


def written_start(form: BoardForm, given: BoardStrategy) -> Float:
    """Return a strategy of the first round."""
    start = np.empty(form.num_start_entries)
    given.write_start(start)
    return start


class BoardReader:
    """Writes strategies on some boards for whoever works on these, on any thread."""

    def __init__(self, form: BoardForm) -> None:
        self._form = form
        self._one_at_a_time = threading.Lock()

    def __call__(self, given: BoardStrategy, first: int, last: int) -> Float:
        """Return a strategy on the boards from ``first`` to ``last`` (exclusive), board after board."""
        first_pair = self._form.pairs.first_pair
        probabilities = np.empty(int((first_pair[last] - first_pair[first]) * self._form.first_entries[2]))
        with nullcontext() if given.concurrent else self._one_at_a_time:
            given.write_boards(first, last, probabilities)
        return probabilities


OnBoards = Callable[[int, int], None]  # how many boards are done, of how many


def silent(done: int, boards: int) -> None:
    """Show nothing."""


Boards = tuple[int, int]  # the first, and the one after the last
Shared = TypeVar("Shared")


def over_boards(
    function: Callable[[Shared, int, Boards], None],
    boards: range,
    shared: Shared,
    threads: int,
    on_boards: OnBoards = silent,
) -> None:
    """Call ``function(shared, lane, boards)`` for neighbouring boards, a few at a time, on threads of their own."""
    firsts = range(boards.start, boards.stop, BOARDS_AT_ONCE)
    some = [(first, min(first + BOARDS_AT_ONCE, boards.stop)) for first in firsts]

    def tell(done: int) -> None:
        on_boards(some[done - 1][1] - boards.start, len(boards))

    do_parts(function, some, shared, threads=threads, on_parts=tell)


class RowValues(NamedTuple):
    """What a player's rows are worth, [rows x classes]: means over the opponent's hands of payoff x reach."""

    played: Float  # what follows is the player's own strategy
    best: Float  # what follows is a best response


class BoardEvaluator:
    """Best responses on a board form, and what strategies win from each other."""

    def __init__(self, form: BoardForm, *, threads: int = 1, on_boards: OnBoards = silent) -> None:
        self.form = form
        self.threads = threads
        self._on_boards = on_boards
        self._scratch = [make_scratch(form, np.float64) for _ in range(threads)]
        self._read = BoardReader(form)

    def best_responses(self, given: BoardStrategy, workers: Workers | None = None) -> BestResponses:
        """Return the exact value and best-response values of a strategy; ``workers`` may do the boards."""
        entered, boards = self.enter(given, given), range(self.form.num_boards)
        if workers is None:
            return self.concluded(entered, *self.responses_on(boards, given, entered))
        workers.once(self.form)
        firsts = boards[::BOARDS_AT_ONCE]
        some = [range(first, min(first + BOARDS_AT_ONCE, boards.stop)) for first in firsts]
        brought = []
        for done, part in enumerate(workers.map(_responses_elsewhere, some, (self.form, given, entered)), start=1):
            brought.append(part)
            self._on_boards(some[done - 1].stop, len(boards))
        closing, played = zip(*brought, strict=True)
        return self.concluded(entered, np.concatenate(closing), np.concatenate(played))

    def responses_on(self, boards: range, given: BoardStrategy, entered: Entered) -> tuple[Float, Float]:
        """Return what best responses win on some neighbouring boards, by root, and what player 0 wins as it plays."""
        form = self.form
        closing = np.empty((form.num_boards, *entered.entering.shape))
        played = np.empty(form.num_boards)
        shared = (self, given, entered, closing, played)
        over_boards(BoardEvaluator._respond_some, boards, shared, self.threads, self._on_boards)
        return closing[boards.start : boards.stop], played[boards.start : boards.stop]

    def concluded(self, entered: Entered, closing: Float, played: Float) -> BestResponses:
        """Return the value and best-response values, from what all boards have brought."""
        form, betting = self.form, self.form.betting[0]
        best = []
        for player in range(2):
            gradient = self._start_gradient(player, entered, closing[:, player])
            strategy, hands = entered.strategies[player], form.starting_hands
            best.append(_best_value(betting, player, hands, strategy, gradient, np.empty(hands.class_hand.size)))
        return BestResponses(self._value(entered, played), (best[0], best[1]))

    @staticmethod
    def _respond_some(
        shared: "tuple[BoardEvaluator, BoardStrategy, Entered, Float, Float]", lane: int, boards: Boards
    ) -> None:
        evaluator, given, entered, closing, played = shared
        probabilities = evaluator._read(given, *boards)
        evaluator._respond(*boards, (probabilities, probabilities), entered, lane, closing, played)

    def match_values(self, a: BoardStrategy, b: BoardStrategy) -> tuple[float, float]:
        """Return what player 0 wins when it is ``a`` against ``b``, and when it is ``b`` against ``a``."""
        form = self.form
        starts = written_start(form, a), written_start(form, b)
        seatings = enter(form, starts), enter(form, starts[::-1])
        played = np.empty((2, form.num_boards))
        shared = (self, (a, b), seatings, played)
        over_boards(BoardEvaluator._match_some, range(form.num_boards), shared, self.threads, self._on_boards)
        return self._value(seatings[0], played[0]), self._value(seatings[1], played[1])

    @staticmethod
    def _match_some(
        shared: "tuple[BoardEvaluator, tuple[BoardStrategy, BoardStrategy], tuple[Entered, Entered], Float]",
        lane: int,
        boards: Boards,
    ) -> None:
        evaluator, (a, b), seatings, played = shared
        given = evaluator._read(a, *boards), evaluator._read(b, *boards)
        nowhere = np.empty((evaluator.form.num_boards, 2, 0, 0))
        evaluator._respond(*boards, given, seatings[0], lane, nowhere, played[0], respond=False)
        evaluator._respond(*boards, given[::-1], seatings[1], lane, nowhere, played[1], respond=False)

    def enter(self, first: BoardStrategy, second: BoardStrategy) -> Entered:
        """Return the first round when player 0 plays by the first of two strategies, and player 1 by the second."""
        return enter(self.form, (written_start(self.form, first), written_start(self.form, second)))

    def board_values(
        self,
        player: int,
        strategies: tuple[BoardStrategy, BoardStrategy],
        entered: Entered,
        board: int,
        *,
        lane: int = 0,
    ) -> RowValues:
        """Return what a player's rows are worth on a board, as the two seats play; threads have a lane each."""
        gradient, roots = self._scratch[lane].gradient, np.empty((2, 1, *entered.entering.shape[1:]))
        response = np.empty_like(gradient)
        self._value_some(lane, board, board + 1, player, strategies, entered, response, *roots)
        size = int(self.form.betting[1].rows[player] * np.diff(self.form.pairs.first_pair[board : board + 2])[0])
        return RowValues(gradient[:size].copy(), response[:size].copy())

    def start_values(self, player: int, strategies: tuple[BoardStrategy, BoardStrategy], entered: Entered) -> RowValues:
        """Return what a player's rows of the first round are worth; this goes through all boards."""
        form, width = self.form, self.form.num_starting_classes
        closing, best = (np.empty((form.num_boards, *entered.entering.shape[1:])) for _ in range(2))
        responses = [np.empty_like(scratch.gradient) for scratch in self._scratch]
        shared = (self, player, strategies, entered, responses, closing, best)
        over_boards(BoardEvaluator._value_part, range(form.num_boards), shared, self.threads, self._on_boards)
        strategy, rows = entered.strategies[player], []
        for respond, brought in ((False, closing), (True, best)):
            gradient = self._start_gradient(player, entered, brought)
            _value_start(form.betting[0], player, width, respond, strategy, gradient, np.empty(width))
            rows.append(gradient)
        return RowValues(*rows)

    @staticmethod
    def _value_part(
        shared: "tuple[BoardEvaluator, int, tuple[BoardStrategy, BoardStrategy], Entered, list[Float], Float, Float]",
        lane: int,
        boards: Boards,
    ) -> None:
        evaluator, player, strategies, entered, responses, closing, best = shared
        first, last = boards
        into = responses[lane], closing[first:last], best[first:last]
        evaluator._value_some(lane, first, last, player, strategies, entered, *into)

    def _value_some(
        self,
        lane: int,
        first: int,
        last: int,
        player: int,
        strategies: tuple[BoardStrategy, BoardStrategy],
        entered: Entered,
        response: Float,
        closing: Float,
        best_closing: Float,
    ) -> None:
        form = self.form
        mine = self._read(strategies[0], first, last)
        theirs = mine if strategies[1] is strategies[0] else self._read(strategies[1], first, last)
        _value_boards(
            form.betting[1],
            form.payments[1],
            form.showdowns,
            form.pairs,
            form.first_entries,
            first,
            last,
            player,
            mine,
            theirs,
            entered.entering,
            self._scratch[lane],
            response,
            closing,
            best_closing,
        )

    def _value(self, entered: Entered, played: Float) -> float:
        """Return what player 0 wins, from what it wins on each board and by folds before there is one."""
        gradient = self._start_gradient(0, entered, np.empty((0, *entered.entering.shape[1:])))
        chance = np.tile(self.form.starting_hands.chance, int(self.form.betting[0].rows[0]))
        return float(played.sum()) + float((entered.plans[0] * gradient * chance).sum())

    def _start_gradient(self, player: int, entered: Entered, closing: Float) -> Float:
        """Return what a player's rows of the first round are worth."""
        form = self.form
        gradient, sums = np.empty_like(entered.strategies[player]), np.empty(form.cards.deck_size)
        shared = (form.betting[0], form.payments[0], form.starting_hands, form.closings)
        weights = np.ones(form.num_boards)
        start_payments(*shared, player, entered.plans[1 - player], closing, weights, sums, gradient)
        return gradient

    def _respond(
        self,
        first: int,
        last: int,
        given: tuple[Float, Float],
        entered: Entered,
        lane: int,
        closing: Float,
        played: Float,
        *,
        respond: bool = True,
    ) -> None:
        form = self.form
        _respond(
            form.betting[1],
            form.payments[1],
            form.showdowns,
            form.pairs,
            form.starting_hands.chance,
            form.first_entries,
            first,
            last,
            *given,
            entered.entering,
            respond,
            self._scratch[lane],
            closing,
            played,
        )


def _responses_elsewhere(
    shared: tuple[BoardForm, BoardStrategy, Entered], lane: int, boards: range
) -> tuple[Float, Float]:
    """Do :meth:`BoardEvaluator.responses_on` in a process that has no evaluator."""
    del lane
    form, given, entered = shared
    return BoardEvaluator(form).responses_on(boards, given, entered)
