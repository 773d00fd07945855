"""Values beside one board: plans down the betting trees, payments at their leaves, values up again.

Payments, for all leaves of a board at once (after Johanson et al. 2011, who sort hands to value a terminal in O(hands)):

1. the opponent's plan, turned around: one line of columns (leaves) a class of hands;
2. from the weakest group of tied hands to the strongest, running sums of the opponent's reach by column: in all, and by
   card. A hand wins against all weaker hands without its own two cards::

       won - lost = below(h) + through(h) - all(h),    each of them: total - first card - second card

   where ``below`` is the sum before the hand's group and ``through`` the sum after it. The hand itself is in the total
   once and in its cards twice, both in ``through`` and in ``all``, so it cancels. Folds pay ``all(h)`` + the hand itself.
3. the lines, turned back: one vector of classes a row of the player's plan.

Columns are the innermost loop, so every step is vector code whatever the number of hands that tie. All arrays of numbers
are of one precision, that of the caller's scratch space: sums of up to 1,176 reaches have a relative error of 1e-6 in
single precision, which is below a thousandth of a milli-big-blind.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined
from equipoise.trees.board_form import Betting, BoardForm, Payments, Showdowns, StartingHands
from equipoise.trees.treeplex import Float

TURNED_TOGETHER = 16  # classes: one cache line of single-precision numbers


class Scratch(NamedTuple):
    """What a lane of work needs for one board. Flat arrays, one line a lane."""

    strategy: tuple[Float, Float]  # per player: [rows x classes]
    plan: tuple[Float, Float]
    gradient: tuple[Float, Float]
    values: Float  # [classes]
    totals: Float  # [classes]
    reach: Float  # [classes x columns]
    numbers: Float  # [classes x (showdowns + columns)]
    sums: Float  # [(cards + 1) x columns]


def make_scratch(form: BoardForm, lanes: int, precision: npt.DTypeLike) -> Scratch:
    """Return scratch space for some lanes, in single or double precision."""
    width, betting = form.widest, form.betting[1]
    columns = max(payments.columns for payments in form.payments[1])
    numbers = max(payments.columns + payments.showdowns for payments in form.payments[1])

    def zeros(size: int) -> Float:
        return np.zeros((lanes, size), precision)

    def rows() -> tuple[Float, Float]:
        return zeros(int(betting.rows[0]) * width), zeros(int(betting.rows[1]) * width)

    return Scratch(
        strategy=rows(),
        plan=rows(),
        gradient=rows(),
        values=zeros(width),
        totals=zeros(width),
        reach=zeros(width * columns),
        numbers=zeros(width * numbers),
        sums=zeros((form.cards.deck_size + 1) * columns),
    )


@inlined
def write_plan_rows(betting: Betting, player: int, width: int, strategy: Float, plan: Float) -> None:
    """Write a player's plan below its reach of the roots, which is there already."""
    for node in range(betting.node_player.size):
        if betting.node_player[node] == player:
            before = plan[betting.node_before[node] * width : (betting.node_before[node] + 1) * width]
            for action in range(betting.node_actions[node]):
                start = (betting.node_row[node] + action) * width
                probability, reach = strategy[start : start + width], plan[start : start + width]
                for j in range(width):
                    reach[j] = before[j] * probability[j]


@inlined
def pass_on(betting: Betting, node: int, width: int, value: Float, gradient: Float) -> None:
    """Add a node's value to that of the row which leads to it."""
    before = gradient[betting.node_before[node] * width : (betting.node_before[node] + 1) * width]
    for j in range(width):
        before[j] += value[j]


@inlined
def value_rows(
    betting: Betting, player: int, width: int, respond: bool, strategy: Float, gradient: Float, value: Float
) -> None:
    """Pass values up to the roots: of the best action at each infoset, or of the strategy."""
    for node in range(betting.node_player.size - 1, -1, -1):
        if betting.node_player[node] == player:
            for action in range(betting.node_actions[node]):
                start = (betting.node_row[node] + action) * width
                worth, probability = gradient[start : start + width], strategy[start : start + width]
                if respond:
                    for j in range(width):
                        value[j] = worth[j] if action == 0 else max(value[j], worth[j])
                else:
                    for j in range(width):
                        gained = probability[j] * worth[j]
                        value[j] = gained if action == 0 else value[j] + gained
            pass_on(betting, node, width, value, gradient)


@inlined
def _turn_to_columns(payments: Payments, width: int, plan: Float, reach: Float) -> None:
    """Step 1."""
    columns = payments.columns
    for first in range(0, width, TURNED_TOGETHER):
        last = min(first + TURNED_TOGETHER, width)
        for column in range(columns):
            row = payments.column_row[column]
            if row >= 0:
                source = plan[row * width : (row + 1) * width]
                for j in range(first, last):
                    reach[j * columns + column] = source[j]
            else:
                for j in range(first, last):
                    reach[j * columns + column] = 0.0


@inlined
def _beside(total: Float, first: Float, second: Float, k: int) -> float:
    """Return a sum over the hands that have neither of two cards."""
    return total[k] - first[k] - second[k]  # type: ignore[no-any-return]


@inlined
def showdown_numbers(
    payments: Payments, showdowns: Showdowns, board: int, first_pair: int, width: int, reach: Float, sums: Float, numbers: Float
) -> None:
    """Step 2: write each class's numbers, a line a class."""
    columns, ends = payments.columns, payments.showdowns
    line = columns + ends
    for k in range(sums.size):
        sums[k] = 0.0
    total = sums[sums.size - columns : sums.size]
    hands = board * showdowns.hands
    hand = class_place = 0
    for group in range(showdowns.group_start[board], showdowns.group_start[board + 1]):
        first_place = class_place
        class_place = np.int64(showdowns.group_classes[group])
        for place in range(first_place, class_place):
            own = np.int64(showdowns.class_order[first_pair + place])
            a = np.int64(showdowns.class_first[first_pair + own]) * columns
            b = np.int64(showdowns.class_second[first_pair + own]) * columns
            one, other, out = sums[a : a + ends], sums[b : b + ends], numbers[own * line : own * line + ends]
            for k in range(ends):
                out[k] = _beside(total, one, other, k)
        for place in range(hand, np.int64(showdowns.group_hands[group])):
            a = np.int64(showdowns.hand_first[hands + place]) * columns
            b = np.int64(showdowns.hand_second[hands + place]) * columns
            start = np.int64(showdowns.hand_class[hands + place]) * columns
            one, other, added = sums[a : a + columns], sums[b : b + columns], reach[start : start + columns]
            for k in range(columns):
                total[k] += added[k]
                one[k] += added[k]
                other[k] += added[k]
        hand = np.int64(showdowns.group_hands[group])
        for place in range(first_place, class_place):
            own = np.int64(showdowns.class_order[first_pair + place])
            a = np.int64(showdowns.class_first[first_pair + own]) * columns
            b = np.int64(showdowns.class_second[first_pair + own]) * columns
            one, other, out = sums[a : a + ends], sums[b : b + ends], numbers[own * line : own * line + ends]
            for k in range(ends):
                out[k] += _beside(total, one, other, k)
    for own in range(width):
        a = np.int64(showdowns.class_first[first_pair + own]) * columns
        b = np.int64(showdowns.class_second[first_pair + own]) * columns
        one, other, itself = sums[a : a + columns], sums[b : b + columns], reach[own * columns : (own + 1) * columns]
        won, beside = numbers[own * line : own * line + ends], numbers[own * line + ends : (own + 1) * line]
        for k in range(ends):
            won[k] -= _beside(total, one, other, k)
        for k in range(columns):
            beside[k] = _beside(total, one, other, k) + itself[k]


@inlined
def _turn_to_rows(payments: Payments, width: int, rows: int, numbers: Float, gradient: Float) -> None:
    """Step 3."""
    line = payments.columns + payments.showdowns
    for first in range(0, width, TURNED_TOGETHER):
        last = min(first + TURNED_TOGETHER, width)
        for row in range(rows):
            out = gradient[row * width : (row + 1) * width]
            for j in range(first, last):
                out[j] = 0.0
            for term in range(payments.term_start[row], payments.term_start[row + 1]):
                number, amount = payments.term_number[term], gradient.dtype.type(payments.term_amount[term])
                for j in range(first, last):
                    out[j] += amount * numbers[j * line + number]


@inlined
def board_payments(
    betting: Betting,
    payments: Payments,
    showdowns: Showdowns,
    board: int,
    first_pair: int,
    width: int,
    player: int,
    opponent_plan: Float,
    reach: Float,
    sums: Float,
    numbers: Float,
    gradient: Float,
) -> None:
    """Write what each of a player's rows is worth by the leaves that it ends in."""
    _turn_to_columns(payments, width, opponent_plan, reach)
    showdown_numbers(payments, showdowns, board, first_pair, width, reach, sums, numbers)
    _turn_to_rows(payments, width, betting.rows[player], numbers, gradient)


@inlined
def fold_payments(
    payments: Payments, hands: StartingHands, width: int, rows: int, opponent_plan: Float, sums: Float, gradient: Float
) -> None:
    """Write what each row is worth by the folds that it ends in before there is a board."""
    for k in range(rows * width):
        gradient[k] = 0.0
    for row in range(rows):
        for term in range(payments.term_start[row], payments.term_start[row + 1]):
            source = payments.column_row[np.int64(payments.term_number[term]) - payments.showdowns] * width
            reach = opponent_plan[source : source + width]
            for card in range(sums.size):
                sums[card] = 0.0
            total = 0.0
            for hand in range(hands.hand_class.size):
                added = reach[hands.hand_class[hand]]
                total += added
                sums[hands.hand_first[hand]] += added
                sums[hands.hand_second[hand]] += added
            for own in range(width):
                hand = hands.class_hand[own]
                beside = total - sums[hands.hand_first[hand]] - sums[hands.hand_second[hand]] + reach[own]
                gradient[row * width + own] += payments.term_amount[term] * beside
