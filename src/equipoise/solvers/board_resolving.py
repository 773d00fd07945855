"""Safe subgame solving over boards: play before the deal stays as it is, and every board is solved anew.

Flop hold'em, of a strategy of any kind: tables, buckets, networks. On a board each seat is solved for by itself. Its
own range comes from the strategy; before each root a gadget (gadgets.py) bounds the opponent by what its hands could
win there at most against the strategy as it was. So what comes out is no more exploitable than before, up to what the
solves leave. A board is solved from nothing, so no tables of regrets are kept.
"""

import numpy as np

from equipoise.compiled import inlined, uncounted
from equipoise.errors import InvalidParameter, require_whole
from equipoise.memory import require
from equipoise.regret.blocks import add_regrets, add_to_average
from equipoise.regret.matching import UNIFORM, match_block
from equipoise.regret.rules import DiscountedCFR, coefficient_table
from equipoise.solvers.gadgets import GADGETS, MODES, Entrance, Gadget, begin, enter_by_gadget, make_entrance
from equipoise.stores.board_tables import BoardTableStrategy, make_table
from equipoise.threads import do_parts
from equipoise.trees.betting_tree import Betting
from equipoise.trees.board_evaluator import BoardEvaluator, BoardStrategy, written_start
from equipoise.trees.board_form import BoardForm, Pairs, Payments, Showdowns
from equipoise.trees.board_values import (
    Scratch,
    board_payments,
    enter_board,
    make_scratch,
    pass_on,
    write_plan_rows,
)
from equipoise.trees.treeplex import Float
from equipoise.work import Report, silent

_UNSAFE = MODES["unsafe"]
ROUNDING = 1e-9  # of a range: what is left of it next to a hand that blocks all of it


@inlined
def _plan(
    betting: Betting, player: int, width: int, regret: Float, totals: Float, strategy: Float, plan: Float
) -> None:
    """Match a player's strategy to its regrets, and write its plan below its reach of the roots."""
    start = betting.roots * width
    own = strategy[start : start + regret.size]
    for k in range(regret.size):
        own[k] = regret[k]
    for node in range(betting.node_player.size):
        if betting.node_player[node] == player:
            actions = betting.node_actions[node]
            match_block(strategy, betting.node_row[node] * width, actions, width, totals[:width], UNIFORM)
    write_plan_rows(betting, player, width, strategy, plan)


@inlined
def _update(
    betting: Betting, player: int, width: int, rule: Float, regret: Float, sums: Float, scratch: Scratch
) -> None:
    """Pass values up to the roots, with regrets and the average on the way."""
    strategy, plan, gradient, value = scratch.strategy[player], scratch.plan[player], scratch.gradient, scratch.values
    for node in range(betting.node_player.size - 1, -1, -1):
        if betting.node_player[node] == player:
            first, actions = betting.node_row[node] * width, betting.node_actions[node]
            end, own = first + actions * width, first - betting.roots * width
            block = regret[own : own + actions * width]
            add_regrets(actions, width, rule, gradient[first:end], strategy[first:end], block, value)
            add_to_average(rule, plan[first:end], sums[own : own + actions * width])
            pass_on(betting, node, width, value, gradient)


@uncounted
def _solve_board(
    betting: Betting,
    payments: Payments,
    showdowns: Showdowns,
    pairs: Pairs,
    board: int,
    mode: int,
    opponent: int,
    entering: Float,
    exact: Float,
    rules: Float,
    gadgets: Entrance,
    sizes: Float,
    reach: Float,
    values: Float,
    regrets: tuple[Float, Float],
    sums: tuple[Float, Float],
    scratch: Scratch,
) -> None:
    """Run iterations on a board, one for each row of ``rules``; without a gadget both enter by ``entering``.

    ``gadgets`` has those of all roots, one after the other, and ``reach`` what the opponent enters with. Their values
    are those of classes, which are ``sizes`` hands each: maxmargin chooses among classes, and then one of the hands.
    """
    first_pair, roots = pairs.first_pair[board], betting.roots
    width = pairs.first_pair[board + 1] - first_pair
    for player in range(2):
        enter_board(betting, pairs, first_pair, width, entering[player], scratch.plan[player])
    for iteration in range(rules.shape[0]):
        for player in range(2):
            if mode != _UNSAFE:
                for k in range(roots * width):
                    scratch.plan[opponent][k] = reach[k]
            for p in range(2):
                own = regrets[p][: (betting.rows[p] - roots) * width]
                _plan(betting, p, width, own, scratch.totals, scratch.strategy[p], scratch.plan[p])
            board_payments(betting, payments, showdowns, board, first_pair, width, player, scratch)
            _update(betting, player, width, rules[iteration], regrets[player], sums[player], scratch)
            if mode != _UNSAFE and player == opponent:
                for root in range(roots):
                    first, end = root * width, (root + 1) * width
                    for j in range(width):
                        values[j] = sizes[j] * scratch.gradient[first + j]
                    at = Entrance(
                        gadgets.strategy[2 * first : 2 * end],
                        gadgets.regret[2 * first : 2 * end],
                        gadgets.worth[2 * first : 2 * end],
                        gadgets.value[first:end],
                        gadgets.totals[first:end],
                        gadgets.given[first:end],
                        gadgets.mass[first:end],
                    )
                    enter_by_gadget(mode, width, exact[iteration], values, at, reach[first:end])


class Room:
    """What one thread needs to solve a board."""

    def __init__(self, form: BoardForm, gadget: Gadget) -> None:
        # Of maxmargin, reach is one over masses of any size: too much for single precision.
        self.precision = np.dtype("float64" if gadget == "maxmargin" else "float32")
        roots, widest = form.betting[1].roots, form.widest
        self.scratch = make_scratch(form, self.precision)
        self.gadgets = make_entrance(roots * widest)
        self.reach, self.values = np.zeros(roots * widest, self.precision), np.zeros(widest)
        sizes = [(int(rows) - roots) * widest for rows in form.betting[1].rows]
        self.regrets, self.sums = (
            (np.zeros(sizes[0], self.precision), np.zeros(sizes[1], self.precision)) for _ in "rs"
        )


class BoardResolving:
    """Every board of a form, solved anew."""

    def __init__(self, form: BoardForm, given: BoardStrategy, gadget: Gadget, iterations: int, threads: int) -> None:
        self.form, self.given, self.gadget = form, given, gadget
        self.evaluator = BoardEvaluator(form, threads=threads)
        self.entered = self.evaluator.enter(given, given)
        self.rules = coefficient_table(DiscountedCFR(), 1, iterations)
        self.rooms = [Room(form, gadget) for _ in range(threads)]
        self.table = make_table(form, "float32", range(form.num_boards))

    @staticmethod
    def solve(work: "BoardResolving", lane: int, board: int) -> None:
        """Solve a board for each seat, and keep what it plays."""
        for seat in range(1 if work.gadget == "unsafe" else 2):
            work._solve(lane, board, seat)
            for player in (0, 1) if work.gadget == "unsafe" else (seat,):
                work._keep(work.rooms[lane], board, player)

    def _solve(self, lane: int, board: int, seat: int) -> None:
        room = self.rooms[lane]
        for array in (*room.regrets, *room.sums, *room.gadgets):
            array[:] = 0.0
        if self.gadget != "unsafe":
            self.bound(lane, board, 1 - seat)
        self.iterate(lane, board, 1 - seat)

    def iterate(self, lane: int, board: int, opponent: int) -> None:
        """Run all iterations on a board, from the regrets that are in a room."""
        form, room = self.form, self.rooms[lane]
        _solve_board(
            form.betting[1],
            form.payments[1],
            form.showdowns,
            form.pairs,
            board,
            MODES[self.gadget],
            opponent,
            self.entered.entering,
            self.rules,
            self.rules.astype(room.precision),
            room.gadgets,
            form.cards.pair_size[_pairs_of(form, board)].astype(np.float64),
            room.reach,
            room.values,
            room.regrets,
            room.sums,
            room.scratch,
        )

    def bound(self, lane: int, board: int, opponent: int) -> None:
        """Write the opponent's values, and how it enters at first."""
        form, room = self.form, self.rooms[lane]
        bounds = self.evaluator.board_values(opponent, (self.given, self.given), self.entered, board, lane=lane).best
        sizes = form.cards.pair_size[_pairs_of(form, board)]
        width = len(sizes)
        for root in range(form.betting[1].roots):
            hands = slice(root * width, (root + 1) * width)
            both = slice(2 * hands.start, 2 * hands.stop)
            at = Entrance(*(array[both] for array in room.gadgets[:3]), *(array[hands] for array in room.gadgets[3:]))
            at.given[:] = sizes * bounds[hands]
            if self.gadget == "maxmargin":
                at.mass[:] = sizes * beside(form, board, self.entered.entering[1 - opponent, root])
            begin(self.gadget, width, at, room.reach[hands])

    def _keep(self, room: Room, board: int, player: int) -> None:
        form, pairs = self.form, _pairs_of(self.form, board)
        width = pairs.stop - pairs.start
        first, end = (form.block(board).start + int(entry) * width for entry in form.first_entries[player : player + 2])
        self.table.stored[first:end] = room.sums[player][: end - first]


def _pairs_of(form: BoardForm, board: int) -> slice:
    """Return where a board's classes of hands are."""
    first, end = form.pairs.first_pair[board : board + 2]
    return slice(int(first), int(end))


def beside(form: BoardForm, board: int, entering: Float) -> Float:
    """Return, by classes of hands on a board, how much of a range shares no card with them; 0 where it is rounding."""
    hands = slice(board * form.showdowns.hands, (board + 1) * form.showdowns.hands)
    pairs = _pairs_of(form, board)
    own = entering[form.pairs.start_class[pairs]]
    reach = own[form.showdowns.hand_class[hands]]
    by_card = np.bincount(form.showdowns.hand_first[hands], reach, form.cards.deck_size)
    by_card += np.bincount(form.showdowns.hand_second[hands], reach, form.cards.deck_size)
    first, second = form.showdowns.class_first[pairs], form.showdowns.class_second[pairs]
    left: Float = reach.sum() - by_card[first] - by_card[second] + own
    return np.where(left > ROUNDING * reach.sum(), left, 0.0)


def resolve_flops(
    form: BoardForm,
    given: BoardStrategy,
    *,
    gadget: Gadget = "cfrd",
    iterations: int,
    threads: int = 1,
    report: Report = silent,
) -> BoardTableStrategy:
    """Return a strategy that is the given one before the deal, and solved anew on each board."""
    require_whole("iterations", iterations, low=1)
    if gadget not in GADGETS:
        raise InvalidParameter(f"gadget={gadget} is not one of {', '.join(GADGETS)}")
    require(4 * form.num_entries, what="a strategy that is solved anew on all boards")
    work = BoardResolving(form, given, gadget, iterations, threads)
    do_parts(
        BoardResolving.solve,
        range(form.num_boards),
        work,
        threads=threads,
        on_parts=lambda done: report("re-solving", done / form.num_boards),
    )
    return BoardTableStrategy(form, written_start(form, given), work.table)
