"""AIVAT (see ``aivat``) in a game over boards: the same corrections, by vectors of hands on each board.

The notation is that of ``aivat``. Beside a board, for the observer's seat and each class of its hands:

1. the known seat's plan gives every row (an action at an infoset, see trees/board_form.py) what is paid at the leaves
   that it ends in, weighted by reach; passed up under the assumed strategy this becomes w(I) Q(I, a);
2. the same with 1 paid at each leaf becomes w(I), in every row of I alike: a choice of the observer's own changes no
   reach of the others. Both come from one pass over the hands by strength;
3. the correction of (I, a) is Q(I, a) - V(I), with V(I) the mean of Q(I, .) under the assumed strategy; where the
   observer's strategy is known too, Q(I, a) gives way to its mean under that.

Chance of the own cards and the board is left out of w on a board, because it is in both parts of every quotient; it
comes in where boards are added up to the worth of the first round's rows.

Corrections are needed for infosets that were met, but the first round's depend on all boards: hands are played first,
then boards are gone through once, and each gives its corrections to the hands that were dealt on it.
"""

from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, kernel, uncounted
from equipoise.games.suits import HOLE_CARDS
from equipoise.trees.betting_tree import Betting, BettingNodes
from equipoise.trees.board_evaluator import (
    BOARDS_AT_ONCE,
    BoardReader,
    Boards,
    BoardStrategy,
    Entered,
    OnBoards,
    enter,
    over_boards,
    silent,
    start_payments,
    written_start,
)
from equipoise.trees.board_form import BoardForm, Pairs, Payments, Showdowns, entries_before
from equipoise.trees.board_places import BoardPlaces
from equipoise.trees.board_values import (
    Scratch,
    board_payments,
    collect_closings,
    make_scratch,
    plan_board,
    turn_to_rows,
    value_rows,
)
from equipoise.trees.codes import Int8
from equipoise.trees.treeplex import Float, Int32, Int64
from equipoise.workers import Workers


class Dealt(NamedTuple):
    """Hands that were played, as kernels take them; the second axis of what each pair has is A's seat."""

    order: Int64  # [pairs] by board
    first: Int64  # [boards + 1] where a board's pairs begin in that order
    own: npt.NDArray[np.int64]  # [players, pairs] classes on the board
    start: npt.NDArray[np.int64]  # [players, pairs] starting classes
    ends: npt.NDArray[np.int32]  # [pairs, 2] nodes of the betting tree


class Luck(NamedTuple):
    """AIVAT's side of a match, in payoffs to the observer."""

    starts: tuple[float, float]  # Q(start), by the observer's seat
    corrections: Float  # [pairs, observer's seat]


def paying_reach(payments: Payments, opponent_hands: int) -> Payments:
    """Return payments of 1 to the player at each leaf, from the same numbers: what they add up to is reach."""
    # After the numbers of showdowns, a board's kernel writes for every column the reach of the hands that share no card
    # with the own.
    chance = 1.0 / opponent_hands
    return payments._replace(
        showdown_number=payments.showdown_number + np.uint64(payments.showdowns),
        showdown_amount=np.where(payments.showdown_amount != 0.0, chance, 0.0),
        fold_amount=np.where(payments.fold_amount != 0.0, chance, 0.0),
    )


@inlined
def _write_corrections(
    betting: Betting,
    observer: int,
    width: int,
    first_entry: int,
    assumed: Float,
    own: Float,
    gradient: Float,
    reach: Float,
    out: Float,
) -> None:
    """Step 3; ``own`` and ``out`` begin where the entries of both players do. An empty ``own`` is not known."""
    for node in range(betting.node_player.size):
        if betting.node_player[node] == observer:
            row, actions = betting.node_row[node], betting.node_actions[node]
            entry = first_entry + row - betting.roots
            for j in range(width):
                value = mean = 0.0
                for action in range(actions):
                    worth = gradient[(row + action) * width + j]
                    value += assumed[(row + action) * width + j] * worth
                    if own.size > 0:
                        mean += own[(entry + action) * width + j] * worth
                weight = reach[row * width + j]
                for action in range(actions):
                    worth = mean if own.size > 0 else gradient[(row + action) * width + j]
                    # Where the known seat never leads, nothing is added: no hand goes there.
                    out[(entry + action) * width + j] = (worth - value) / weight if weight > 0.0 else 0.0


@inlined
def _add_met(
    nodes: BettingNodes,
    parent: Int32,
    entry: Int64,
    betting_round: int,
    observer: int,
    end: int,
    own: int,
    width: int,
    corrections: Float,
) -> float:
    """Return the sum of a hand's corrections in one round."""
    total = 0.0
    node = end
    while parent[node] >= 0:
        above = parent[node]
        if nodes.player[above] == observer and nodes.round[above] == betting_round:
            total += corrections[entry[node] * width + own]
        node = above
    return total


@uncounted
def _correct_boards(
    betting: Betting,
    payments: Payments,
    reach_payments: Payments,
    showdowns: Showdowns,
    pairs: Pairs,
    first_entries: Int64,
    first: int,
    last: int,
    known: Float,
    own: Float,
    entering: Float,
    nodes: BettingNodes,
    parent: Int32,
    entry: Int64,
    dealt: Dealt,
    scratch: Scratch,
    reach: Float,
    corrections: Float,
    closing: Float,
    reach_closing: Float,
    out: Float,
) -> None:
    """Go through some boards: add their corrections to the hands dealt there, and note what roots are worth."""
    gradient, value = scratch.gradient, scratch.values
    for board in range(first, last):
        first_pair = pairs.first_pair[board]
        width = pairs.first_pair[board + 1] - first_pair
        place, size = (first_pair - pairs.first_pair[first]) * first_entries[2], first_entries[2] * width
        plan_board(betting, pairs, first_entries, first_pair, width, 0, place, known, entering, scratch)
        plan_board(betting, pairs, first_entries, first_pair, width, 1, place, known, entering, scratch)
        own_here = own[place : place + size] if own.size > 0 else own
        for observer in range(2):
            assumed = scratch.strategy[observer]
            board_payments(betting, payments, showdowns, board, first_pair, width, observer, scratch)
            turn_to_rows(reach_payments, observer, width, betting.rows[observer], scratch.numbers, reach)
            value_rows(betting, observer, width, False, assumed, gradient, value)
            value_rows(betting, observer, width, False, assumed, reach, value)
            collect_closings(betting, pairs, first_pair, width, gradient, closing[board, observer])
            collect_closings(betting, pairs, first_pair, width, reach, reach_closing[board, observer])
            _write_corrections(
                betting,
                observer,
                width,
                first_entries[observer],
                assumed,
                own_here,
                gradient,
                reach,
                corrections,
            )
        for number in range(dealt.first[board], dealt.first[board + 1]):
            pair = dealt.order[number]
            for observer in range(2):
                end, mine = dealt.ends[pair, observer], dealt.own[observer, pair]
                out[pair, observer] = _add_met(nodes, parent, entry, 1, observer, end, mine, width, corrections)


@kernel
def _correct_start(
    betting: Betting,
    observer: int,
    first_entries: Int64,
    assumed: Float,
    own: Float,
    gradient: Float,
    reach: Float,
    nodes: BettingNodes,
    parent: Int32,
    entry: Int64,
    dealt: Dealt,
    corrections: Float,
    out: Float,
) -> None:
    """Pass the first round's values up, and add its corrections to all hands."""
    width = gradient.size // betting.rows[observer]
    value = np.empty(width)
    value_rows(betting, observer, width, False, assumed, gradient, value)
    value_rows(betting, observer, width, False, assumed, reach, value)
    first_entry = first_entries[observer]
    _write_corrections(betting, observer, width, first_entry, assumed, own, gradient, reach, corrections)
    for pair in range(dealt.order.size):
        end, mine = dealt.ends[pair, observer], dealt.start[observer, pair]
        out[pair, observer] += _add_met(nodes, parent, entry, 0, observer, end, mine, width, corrections)


class BoardLuck:
    """Finds what luck did to hands of a game over boards.

    ``known`` is the strategy of the seat that is known, for both seats: as it plays, and as the observer is assumed to.
    ``own`` is the observer's, where it is known too.
    """

    def __init__(
        self,
        form: BoardForm,
        known: BoardStrategy,
        own: BoardStrategy | None = None,
        *,
        threads: int = 1,
        workers: Workers | None = None,
    ) -> None:
        self._form, self._known, self._own, self._threads, self._workers = form, known, own, threads, workers
        others = [comb(form.cards.deck_size - HOLE_CARDS - count, HOLE_CARDS) for count in form.game.board_cards]
        self._reach_payments = [paying_reach(form.payments[r], others[r]) for r in range(2)]

    @staticmethod
    def _some_boards(shared: tuple[Any, ...], lane: int, boards: Boards) -> None:
        """Correct for the luck on some boards."""
        luck, read, read_from, lanes, written_to = shared
        form = luck._form
        _correct_boards(
            form.betting[1],
            form.payments[1],
            luck._reach_payments[1],
            form.showdowns,
            form.pairs,
            form.first_entries,
            *boards,
            read(luck._known, *boards),
            np.empty(0) if luck._own is None else read(luck._own, *boards),
            *read_from,
            *lanes[lane],
            *written_to,
        )

    def correct(self, places: BoardPlaces, cards: Int8, ends: Int32, on_boards: OnBoards = silent) -> Luck:
        """Return what takes luck out of pairs of hands: ``cards`` of each deal, ``ends`` by the observer's seat."""
        form, tree = self._form, places.tree
        dealt = _dealt(places, cards, ends)
        start = written_start(form, self._known)
        entered = enter(form, (start, start))
        betting_nodes = tree.nodes, tree.parent, places.entry, dealt
        read_from = (entered.entering, *betting_nodes)
        if self._workers is None:
            closing, reach_closing, out = self._on_boards(range(form.num_boards), read_from, on_boards)
        else:
            closing, reach_closing, out = self._elsewhere(self._workers, read_from, on_boards)
        own = np.empty(0) if self._own is None else written_start(form, self._own)
        starts = []
        for observer in range(2):
            gradient = self._start_rows(form.payments[0], observer, entered, closing)
            reach = self._start_rows(self._reach_payments[0], observer, entered, reach_closing)
            corrections = np.empty(form.num_start_entries)
            first_entries, assumed = entries_before(form.betting[0]), entered.strategies[observer]
            shared = (form.betting[0], observer, first_entries, assumed, own, gradient, reach)
            _correct_start(*shared, *betting_nodes, corrections, out)
            chance = form.starting_hands.chance
            starts.append(float((chance * gradient[: len(chance)]).sum()))
        return Luck((starts[0], starts[1]), out)

    def _on_boards(
        self, boards: range, read_from: tuple[Any, ...], on_boards: OnBoards = silent
    ) -> tuple[Float, Float, Float]:
        """Return what some boards bring to the first round, in payoffs and in reach, and corrections of hands there."""
        form, dealt = self._form, read_from[-1]
        widest, entries = form.widest, int(form.first_entries[2])
        lanes = [
            (
                make_scratch(form, np.float64),
                np.empty(int(form.betting[1].rows.max()) * widest),
                np.empty(entries * widest),
            )
            for _ in range(self._threads)
        ]
        shape = form.num_boards, *read_from[0].shape
        closing, reach_closing, out = np.empty(shape), np.empty(shape), np.zeros(dealt.ends.shape)
        correcting = (self, BoardReader(form), read_from, lanes, (closing, reach_closing, out))
        over_boards(BoardLuck._some_boards, boards, correcting, self._threads, on_boards)
        own = slice(boards.start, boards.stop)
        return closing[own], reach_closing[own], out

    def _elsewhere(
        self, workers: Workers, read_from: tuple[Any, ...], on_boards: OnBoards
    ) -> tuple[Float, Float, Float]:
        """Return the same for all boards, from workers."""
        boards, dealt = range(self._form.num_boards), read_from[-1]
        some = [range(first, min(first + BOARDS_AT_ONCE, boards.stop)) for first in boards[::BOARDS_AT_ONCE]]
        alone = BoardLuck(self._form, self._known, self._own)
        out, brought = np.zeros(dealt.ends.shape), []
        found = workers.map(BoardLuck._part, some, (alone, read_from))
        for done, (closing, reach_closing, corrections) in zip(some, found, strict=True):
            brought.append((closing, reach_closing))
            out[_pairs_on(dealt, done)] = corrections
            on_boards(done.stop, len(boards))
        first, second = (np.concatenate(parts) for parts in zip(*brought, strict=True))
        return first, second, out

    @staticmethod
    def _part(shared: "tuple[BoardLuck, tuple[Any, ...]]", lane: int, boards: range) -> tuple[Float, Float, Float]:
        del lane
        luck, read_from = shared
        closing, reach_closing, out = luck._on_boards(boards, read_from)
        return closing, reach_closing, out[_pairs_on(read_from[-1], boards)]

    def _start_rows(self, payments: Payments, observer: int, entered: Entered, closing: Float) -> Float:
        """Return what the observer's rows of the first round are worth by where they end, or what reach they have."""
        form = self._form
        gradient = np.empty_like(entered.strategies[observer])
        start_payments(
            form.betting[0],
            payments,
            form.starting_hands,
            form.closings,
            observer,
            entered.plans[1 - observer],
            closing[:, observer],
            np.ones(form.num_boards),
            np.empty(form.cards.deck_size),
            gradient,
        )
        return gradient


def _pairs_on(dealt: Dealt, boards: range) -> Int64:
    """Return the pairs that were dealt on some neighbouring boards."""
    return dealt.order[dealt.first[boards.start] : dealt.first[boards.stop]]


def _dealt(places: BoardPlaces, cards: Int8, ends: Int32) -> Dealt:
    own, start = np.empty((2, len(cards)), np.int64), np.empty((2, len(cards)), np.int64)
    board = np.zeros(len(cards), np.int64)
    for player in range(2):
        held = cards[:, HOLE_CARDS * player : HOLE_CARDS * (player + 1)]
        seen = np.concatenate([held, cards[:, 2 * HOLE_CARDS :]], axis=1)
        _, start[player] = places.classes(seen, second_round=False)
        board, own[player] = places.classes(seen, second_round=True)
    order = np.argsort(board, kind="stable")
    first = np.searchsorted(board[order], np.arange(places.form.num_boards + 1))
    return Dealt(order, first.astype(np.int64), own, start, np.ascontiguousarray(ends))
