"""Exact values of strategies on a spot, in double precision: what both players win, and their best responses would.

The pass is that of a solver (solvers/spot_cfr.py) without its sums: the opponent's plan goes down, values come up, once
by the player's own strategy and once by the best action of each hand.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from equipoise.compiled import uncounted
from equipoise.lanes import LANES, aligned_zeros, load, store, zeros
from equipoise.threads import do_parts
from equipoise.trees.betting_tree import Betting
from equipoise.trees.spot_form import Boards, Ends, Locked, SpotForm
from equipoise.trees.spot_leaves import Entering
from equipoise.trees.spot_values import (
    Scratch,
    add_closings,
    enter,
    leave,
    make_alike,
    make_scratch,
    pay,
    plan_rows,
    scratch_bytes,
    sweep,
    value_rows,
)
from equipoise.trees.treeplex import Float, Int64

Pair = tuple[Float, Float]
MOST_BOARDS_AT_ONCE = 4  # full boards whose strategies are read, and valued, in one go,
BYTES_AT_ONCE = 1 << 20  # if they take no more room than this
OnBoards = Callable[[int, int], None]


class RoundArrays(NamedTuple):
    """A round as kernels take it."""

    betting: Betting
    ends: Ends
    boards: Boards
    closings: Int64  # [2, roots] rows of the round before
    onward: Int64  # [2, closings] rows that lead to the next round's roots
    entries: Int64  # [2]
    deal: float
    cards: int  # of the deck
    locked: Locked


def round_arrays(form: SpotForm, number: int) -> RoundArrays:
    """Return a round as kernels take it."""
    given = form.rounds[number]
    onward = form.rounds[number + 1].closings if number + 1 < len(form.rounds) else np.zeros((2, 0), np.int64)
    return RoundArrays(
        betting=given.betting,
        ends=given.ends,
        boards=given.boards,
        closings=given.closings,
        onward=onward,
        entries=np.array(given.entries),
        deal=given.deal,
        cards=form.game.deck.size,
        locked=given.locked,
    )


class SpotStrategy(Protocol):
    """Both players' strategies on a spot."""

    def write(self, number: int, first: int, end: int, out: Float) -> None:
        """Write weights of all actions on some boards of a round, as they lie in a table, from the first board on.

        Probabilities are proportional to weights; where a hand has none, all its actions are equally likely.
        """


class SpotValues(NamedTuple):
    """What the players win, relative to half the pot, and what their best responses would. Mean over all deals."""

    values: tuple[float, float]
    best_response_values: tuple[float, float]

    @property
    def value(self) -> float:
        """Return what player 0 wins."""
        return self.values[0]

    @property
    def nash_conv(self) -> float:
        """Return the sum of what the two players could gain by a best response."""
        return sum(self.best_response_values) - sum(self.values)

    @property
    def exploitability(self) -> float:
        """Return nash_conv / 2, the mean of the two gains."""
        return self.nash_conv / 2


@uncounted
def _clear(numbers: Float, count: int) -> None:
    for j in range(0, count, LANES):
        store(numbers, j, zeros(numbers))


@uncounted
def _go_down(
    at: RoundArrays,
    board: int,
    player: int,
    both: bool,
    weights: Float,
    starts: tuple[int, int],
    before: Pair,
    steps: tuple[int, int],
    scratch: Scratch,
) -> None:
    """Write the opponent's plan on a board, or both, and what the leaves pay the player."""
    for p in range(2):
        if both or p != player:
            enter(at.boards, board, p, at.closings, before[p], steps[p], scratch.plans[p])
            plan_rows(at.betting, p, at.boards.width[board, p], weights, starts[p], scratch.plans[p])
    pay(at.betting, at.ends, at.boards, board, player, at.cards, scratch)


@uncounted
def _go_up(
    at: RoundArrays,
    board: int,
    player: int,
    weights: Float,
    start: int,
    steps: tuple[int, int],
    scratch: Scratch,
    closing: Float,
    response: Float,
    out: Float,
    best: Float,
) -> None:
    """Write values by the strategy (``scratch.gradient``) and of the best response; add them to the board before."""
    betting, boards, gradient = at.betting, at.boards, scratch.gradient
    width, rows, step = boards.width[board, player], betting.rows[player], steps[player]
    for j in range(0, rows * width, LANES):
        store(response, j, load(gradient, j))
    add_closings(at.onward, player, width, scratch.closing, gradient)
    add_closings(at.onward, player, width, closing, response)
    make_alike(boards, board, player, rows, gradient)
    make_alike(boards, board, player, rows, response)
    value_rows(betting, at.locked, board, player, width, False, weights, start, gradient)
    value_rows(betting, at.locked, board, player, width, True, weights, start, response)
    leave(boards, board, player, betting.roots, at.deal, gradient, step, out)
    leave(boards, board, player, betting.roots, at.deal, response, step, best)


@uncounted
def _last_boards(
    at: RoundArrays,
    first: int,
    end: int,
    player: int,
    weights: Float,
    before: Pair,
    steps: tuple[int, int],
    scratch: Scratch,
    response: Float,
    out: Float,
    best: Float,
) -> None:
    """Value some full boards."""
    table_start = at.boards.table_start
    for board in range(first, end):
        starts = (table_start[board, 0] - table_start[first, 0], table_start[board, 1] - table_start[first, 0])
        _go_down(at, board, player, False, weights, starts, before, steps, scratch)
        _go_up(at, board, player, weights, starts[player], steps, scratch, scratch.closing, response, out, best)


def boards_at_once(form: SpotForm) -> int:
    """Return how many full boards are valued in one go."""
    last = form.rounds[-1]
    one = 8 * int(last.boards.width.max(axis=0) @ np.array(last.entries))
    return max(1, min(MOST_BOARDS_AT_ONCE, BYTES_AT_ONCE // max(one, 1)))


def evaluator_bytes(form: SpotForm) -> int:
    """Return the memory that an evaluator takes for each thread."""
    total = 0
    for number, each in enumerate(form.rounds):
        closings = form.rounds[number + 1].betting.roots if number + 1 < len(form.rounds) else 0
        together = boards_at_once(form) if number + 1 == len(form.rounds) else 1
        widths, entries = each.boards.width.max(axis=0), np.array(each.entries)
        numbers = together * int(widths @ entries) + (int(each.betting.rows.max()) + closings) * int(widths.max())
        total += 8 * numbers + scratch_bytes(each, closings, form.game.deck.size, np.float64)
    return total


class _Lane(NamedTuple):
    """What one thread needs: for each round scratch space, strategies, values of best responses and of closings."""

    scratch: list[Scratch]
    weights: list[Float]
    response: list[Float]
    closing: list[Float]


class SpotEvaluator:
    """Values strategies on one spot."""

    def __init__(self, form: SpotForm, threads: int = 1, on_boards: OnBoards = lambda done, boards: None) -> None:
        self.form = form
        self.threads = threads
        self._on_boards = on_boards
        self._at_once = boards_at_once(form)
        self._rounds = [round_arrays(form, number) for number in range(len(form.rounds))]
        self._weights = form.weights
        self._steps = (len(form.weights[0]), len(form.weights[1]))
        self._lanes = [self._make_lane() for _ in range(threads)]

    def _make_lane(self) -> _Lane:
        scratch, weights, response, closing = [], [], [], []
        for number, each in enumerate(self.form.rounds):
            at, widest = self._rounds[number], int(each.boards.width.max())
            scratch.append(make_scratch(each, at.onward.shape[1], at.cards, np.float64))
            together = self._at_once if number + 1 == len(self.form.rounds) else 1
            weights.append(aligned_zeros(together * int(each.boards.width.max(axis=0) @ at.entries), np.float64))
            response.append(aligned_zeros(int(at.betting.rows.max()) * widest, np.float64))
            closing.append(aligned_zeros(at.onward.shape[1] * widest, np.float64))
        return _Lane(scratch, weights, response, closing)

    def best_responses(self, strategy: SpotStrategy) -> SpotValues:
        """Return what the players win with some strategies, and what they could win against each other's."""
        values, best = [], []
        for player in range(2):
            out, response = (np.zeros(self._steps[player]) for _ in range(2))
            self._value_root(strategy, player, out, response)
            share = self.form.weights[player] / self.form.game.pairs
            values.append(float(share @ out))
            best.append(float(share @ response))
        return SpotValues((values[0], values[1]), (best[0], best[1]))

    def board_values(self, strategy: SpotStrategy, path: Sequence[int], player: int) -> tuple[Pair, Float, Float]:
        """Return both plans, and what a player's rows are worth, on the last of some boards that follow each other.

        Rows are valued twice: by the player's own strategy, and by a best response.
        """
        lane, before, steps = self._lanes[0], self._weights, self._steps
        for number, board in enumerate(path[:-1]):
            steps = self._down(lane, strategy, number, board, player, before, steps, both=True)
            before = lane.scratch[number].plans
        number = len(path) - 1
        nowhere = np.zeros((2, self._rounds[number].betting.roots * steps[player]))
        self._board(lane, strategy, number, path[-1], player, before, steps, *nowhere, both=True)
        scratch = lane.scratch[number]
        plans = scratch.plans[0].copy(), scratch.plans[1].copy()
        return plans, scratch.gradient.copy(), lane.response[number].copy()

    def check_down(self, number: int, board: int, player: int, reach: Float) -> tuple[Float, Float]:
        """Return, for each of a player's hands, won less lost if nobody bets, and the weight of the opponent's hands.

        ``reach`` is the opponent's on the board.
        """
        boards = self._rounds[number].boards
        live = int(boards.live[board, player])
        if number + 1 == len(self._rounds):
            scratch = self._lanes[0].scratch[number]
            width = int(boards.width[board, 1 - player])
            scratch.reach[: (width + 1) * LANES] = 0.0
            scratch.reach[: width * LANES : LANES] = reach[:width]
            sweep(boards, board, player, self._rounds[number].cards, True, scratch)
            return scratch.won[: live * LANES : LANES].copy(), scratch.beside[: live * LANES : LANES].copy()
        after = self._rounds[number + 1].boards
        won, beside = np.zeros(live), np.zeros(live)
        for child in range(*map(int, self.form.rounds[number].first_child[board : board + 2])):
            places = self._places(number + 1, child)
            entering = np.zeros(int(after.width[child, 1 - player]))
            theirs = places[1 - player][0]
            entering[: len(theirs)] = reach[theirs]
            found = self.check_down(number + 1, child, player, entering)
            for image in places[player]:
                won[image] += found[0] * self._rounds[number + 1].deal
                beside[image] += found[1] * self._rounds[number + 1].deal
        return won, beside

    def _places(self, number: int, board: int) -> tuple[list[Int64], list[Int64]]:
        """Return, for both players and each image of a board, the places of its hands on the board before."""
        boards = self._rounds[number].boards
        both: tuple[list[Int64], list[Int64]] = ([], [])
        for player in range(2):
            for image in range(int(boards.images[board])):
                first = int(boards.image_start[board, player]) + image * int(boards.width[board, player])
                live = int(boards.live[board, player])
                both[player].append(boards.image_place[first : first + live].astype(np.int64))
        return both

    def _value_root(self, strategy: SpotStrategy, player: int, out: Float, best: Float) -> None:
        """Add the values of a player's hands to ``out`` and ``best``; boards after the first are shared out."""
        lane = self._lanes[0]
        if len(self._rounds) == 1:
            self._last(lane, strategy, 0, 0, 1, player, self._weights, self._steps, out, best)
            return
        steps = self._down(lane, strategy, 0, 0, player, self._weights, self._steps, both=self._ends_after(0))
        before, boards = lane.scratch[0].plans, self.form.rounds[1].num_boards
        together = self._at_once if len(self._rounds) == 2 else 1
        size = self._rounds[0].onward.shape[1] * steps[player]
        notes = np.zeros((-(-boards // together), 2, size))
        shared = (self, strategy, notes, together, (player, before, steps))
        do_parts(
            SpotEvaluator._some_boards,
            range(len(notes)),
            shared,
            threads=self.threads,
            on_parts=lambda done: self._on_boards(player * boards + min(done * together, boards), 2 * boards),
        )
        lane.scratch[0].closing[:size], lane.closing[0][:size] = notes.sum(axis=0)
        self._add_leaves(lane, 0, 0, player, steps)
        self._up(lane, 0, 0, player, self._steps, out, best)

    @staticmethod
    def _some_boards(
        shared: "tuple[SpotEvaluator, SpotStrategy, Float, int, tuple[int, tuple[Float, Float], tuple[int, int]]]",
        lane: int,
        piece: int,
    ) -> None:
        """Write what a piece of the boards that follow the first is worth."""
        evaluator, strategy, notes, together, turn = shared
        mine, first = evaluator._lanes[lane], piece * together
        if len(evaluator._rounds) > 2:
            evaluator._board(mine, strategy, 1, first, *turn, *notes[piece])
            return
        end = min(first + together, evaluator.form.rounds[1].num_boards)
        evaluator._last(mine, strategy, 1, first, end, *turn, *notes[piece])

    def _ends_after(self, number: int) -> bool:
        """Return whether a network values the closings of a round: from both players' reach of them."""
        return self.form.leaves is not None and number + 1 == self.form.game.betting_rounds

    def _add_leaves(self, lane: _Lane, number: int, board: int, player: int, widths: tuple[int, int]) -> None:
        """Add what a value network says of the closings, at the ranges of the strategies that are valued.

        Best responses get the same values: what they could gain after the deal is not known.
        """
        if self._ends_after(number):
            assert self.form.leaves is not None
            first, end = self.form.rounds[number].first_child[board : board + 2]
            entering = Entering(board, lane.scratch[number].plans, widths, range(int(first), int(end)))
            found = self.form.leaves.closings(entering, player, 0).ravel()
            lane.scratch[number].closing[: found.size] += found
            lane.closing[number][: found.size] += found

    def _down(
        self,
        lane: _Lane,
        strategy: SpotStrategy,
        number: int,
        board: int,
        player: int,
        before: Pair,
        steps: tuple[int, int],
        *,
        both: bool,
    ) -> tuple[int, int]:
        """Read the strategies on a board and go down; return the board's widths."""
        at = self._rounds[number]
        strategy.write(number, board, board + 1, lane.weights[number])
        _go_down(
            at,
            board,
            player,
            both,
            lane.weights[number],
            self._starts(number, board),
            before,
            steps,
            lane.scratch[number],
        )
        first, second = at.boards.width[board]
        return int(first), int(second)

    def _starts(self, number: int, board: int) -> tuple[int, int]:
        first, second = self._rounds[number].boards.table_start[board]
        return 0, int(second - first)

    def _up(
        self, lane: _Lane, number: int, board: int, player: int, steps: tuple[int, int], out: Float, best: Float
    ) -> None:
        _go_up(
            self._rounds[number],
            board,
            player,
            lane.weights[number],
            self._starts(number, board)[player],
            steps,
            lane.scratch[number],
            lane.closing[number],
            lane.response[number],
            out,
            best,
        )

    def _board(
        self,
        lane: _Lane,
        strategy: SpotStrategy,
        number: int,
        board: int,
        player: int,
        before: Pair,
        steps: tuple[int, int],
        out: Float,
        best: Float,
        *,
        both: bool = False,
    ) -> None:
        """Value one board with all that follows it, on one thread."""
        both = both or self._ends_after(number)
        widths = self._down(lane, strategy, number, board, player, before, steps, both=both)
        if number + 1 < len(self._rounds):
            closing, response = lane.scratch[number].closing, lane.closing[number]
            size = self._rounds[number].onward.shape[1] * widths[player]
            _clear(closing, size)
            _clear(response, size)
            children = range(*map(int, self.form.rounds[number].first_child[board : board + 2]))
            plans = lane.scratch[number].plans
            if number + 2 == len(self._rounds):
                for first in children[:: self._at_once]:
                    end = min(first + self._at_once, children.stop)
                    self._last(lane, strategy, number + 1, first, end, player, plans, widths, closing, response)
            else:
                for child in children:
                    self._board(lane, strategy, number + 1, child, player, plans, widths, closing, response)
            self._add_leaves(lane, number, board, player, widths)
        self._up(lane, number, board, player, steps, out, best)

    def _last(
        self,
        lane: _Lane,
        strategy: SpotStrategy,
        number: int,
        first: int,
        end: int,
        player: int,
        before: Pair,
        steps: tuple[int, int],
        out: Float,
        best: Float,
    ) -> None:
        """Value some full boards."""
        strategy.write(number, first, end, lane.weights[number])
        weights, scratch, response = lane.weights[number], lane.scratch[number], lane.response[number]
        _last_boards(self._rounds[number], first, end, player, weights, before, steps, scratch, response, out, best)
