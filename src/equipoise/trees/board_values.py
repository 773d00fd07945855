"""Values on one board: plans down the betting trees, payments at their leaves, values up again.

Payments, for all leaves of a board at once (after Johanson et al. 2011, who value a terminal in O(hands) by sorting):

1. the opponent's plan, turned around: one line of columns (leaves) a class of hands;
2. from the weakest group of tied hands to the strongest, running sums of the opponent's reach by column: in all, and by
   card. A hand wins against all weaker hands without its own two cards::

       won - lost = below(h) + through(h) - all(h),    each of them: total - first card - second card

   where ``below`` is the sum before the hand's group and ``through`` the sum after it. The hand itself is in the total
   once and in its cards twice, both in ``through`` and in ``all``, so it cancels. Folds pay ``all(h)`` + the hand.
3. the lines, turned back: one vector of classes a row of the player's plan.

Columns are the innermost loop, so every step is vector code whatever the number of hands that tie. All numbers are in
the precision of the caller's scratch space: solving takes single precision (sums of up to 1,176 reaches have a relative
error of about 1e-6 there), evaluation double.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined
from equipoise.trees.betting_tree import Betting
from equipoise.trees.board_form import BoardForm, Pairs, Payments, Showdowns, StartingHands
from equipoise.trees.treeplex import Float, Int64


class Scratch(NamedTuple):
    """What work on one board needs."""

    strategy: Float  # [player, rows x classes]
    plan: Float  # [player, rows x classes]
    gradient: Float  # [rows x classes]
    values: Float  # [classes]
    totals: Float  # [classes]
    held: Float  # [actions x classes] the rows of one node
    reach: Float  # [classes x columns]
    numbers: Float  # [classes x (showdowns + columns)]
    sums: Float  # [(cards + 1) x columns]


def make_scratch(form: BoardForm, precision: npt.DTypeLike) -> Scratch:
    """Return scratch space in single or double precision."""
    width, payments = form.widest, form.payments[1]
    rows = int(form.betting[1].rows.max()) * width

    def zeros(*size: int) -> Float:
        return np.zeros(size, precision)

    return Scratch(
        strategy=zeros(2, rows),
        plan=zeros(2, rows),
        gradient=zeros(rows),
        values=zeros(width),
        totals=zeros(width),
        held=zeros(width * int(form.betting[1].node_actions.max(initial=1))),
        reach=zeros(width * payments.columns),
        numbers=zeros(width * (payments.columns + payments.showdowns)),
        sums=zeros((form.cards.deck_size + 1) * payments.columns),
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
def _turn_to_columns(payments: Payments, player: int, width: int, plan: Float, reach: Float) -> None:
    """Step 1. Eight classes at a time, with unsigned indices: nothing is asked about them, so loads follow stores."""
    columns = np.uint64(payments.columns)
    whole = width // 8 * 8
    for first in range(0, whole, 8):
        out = np.uint64(first) * columns
        for column in range(payments.columns):
            row = payments.column_row[player, column]
            place = out + np.uint64(column)
            if row >= 0:
                source = np.uint64(row * width + first)
                for k in range(8):
                    reach[place + np.uint64(k) * columns] = plan[source + np.uint64(k)]
            else:
                for k in range(8):
                    reach[place + np.uint64(k) * columns] = 0.0
    for j in range(whole, width):
        for column in range(payments.columns):
            row = payments.column_row[player, column]
            reach[np.uint64(j) * columns + np.uint64(column)] = plan[row * width + j] if row >= 0 else 0.0


@inlined
def _beside(total: Float, first: Float, second: Float, k: int) -> float:
    """Return a sum over the hands that have neither of two cards."""
    return total[k] - first[k] - second[k]  # type: ignore[no-any-return]


@inlined
def showdown_numbers(
    payments: Payments,
    showdowns: Showdowns,
    board: int,
    first_pair: int,
    width: int,
    reach: Float,
    sums: Float,
    numbers: Float,
) -> None:
    """Step 2: write each class's numbers, a line a class."""
    columns, ends = payments.columns, payments.showdowns
    line = columns + ends
    for k in range(sums.size):
        sums[k] = 0.0
    total = sums[sums.size - columns : sums.size]
    hands = board * showdowns.hands
    hand = class_place = np.int64(0)
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
    for each in range(width):
        a = np.int64(showdowns.class_first[first_pair + each]) * columns
        b = np.int64(showdowns.class_second[first_pair + each]) * columns
        one, other, itself = sums[a : a + columns], sums[b : b + columns], reach[each * columns : (each + 1) * columns]
        won, beside = numbers[each * line : each * line + ends], numbers[each * line + ends : (each + 1) * line]
        for k in range(ends):
            won[k] -= _beside(total, one, other, k)
        for k in range(columns):
            beside[k] = _beside(total, one, other, k) + itself[k]


@inlined
def turn_to_rows(payments: Payments, player: int, width: int, rows: int, numbers: Float, gradient: Float) -> None:
    """Step 3."""
    line = np.uint64(payments.columns + payments.showdowns)
    whole = width // 8 * 8
    for first in range(0, width, 8):
        start = np.uint64(first) * line
        count = 8 if first < whole else width - first
        for row in range(rows):
            won, beside = start + payments.showdown_number[player, row], start + payments.fold_number[player, row]
            at_showdown = gradient.dtype.type(payments.showdown_amount[player, row])
            by_fold = gradient.dtype.type(payments.fold_amount[player, row])
            out = np.uint64(row * width + first)
            if count == 8:
                for k in range(8):
                    step = np.uint64(k) * line
                    gradient[out + np.uint64(k)] = at_showdown * numbers[won + step] + by_fold * numbers[beside + step]
            else:
                for k in range(count):
                    step = np.uint64(k) * line
                    gradient[out + np.uint64(k)] = at_showdown * numbers[won + step] + by_fold * numbers[beside + step]


@inlined
def board_payments(
    betting: Betting,
    payments: Payments,
    showdowns: Showdowns,
    board: int,
    first_pair: int,
    width: int,
    player: int,
    scratch: Scratch,
) -> None:
    """Write to ``scratch.gradient`` what each of a player's rows is worth by the leaves that it ends in."""
    _turn_to_columns(payments, player, width, scratch.plan[1 - player], scratch.reach)
    showdown_numbers(payments, showdowns, board, first_pair, width, scratch.reach, scratch.sums, scratch.numbers)
    turn_to_rows(payments, player, width, betting.rows[player], scratch.numbers, scratch.gradient)


@inlined
def enter_board(betting: Betting, pairs: Pairs, first_pair: int, width: int, entering: Float, plan: Float) -> None:
    """Write a player's reach of the roots on a board, from its reach by starting class."""
    for root in range(betting.roots):
        for j in range(width):
            plan[root * width + j] = entering[root, pairs.start_class[first_pair + j]]


@inlined
def plan_board(
    betting: Betting,
    pairs: Pairs,
    first_entries: Int64,
    first_pair: int,
    width: int,
    player: int,
    place: int,
    given: Float,
    entering: Float,
    scratch: Scratch,
) -> None:
    """Take over a player's part of a strategy on a board, which begins at ``place``, and write the plan by it."""
    strategy, plan = scratch.strategy[player], scratch.plan[player]
    enter_board(betting, pairs, first_pair, width, entering[player], plan)
    start, size = betting.roots * width, (betting.rows[player] - betting.roots) * width
    first = place + first_entries[player] * width
    theirs, own = given[first : first + size], strategy[start : start + size]
    for k in range(size):
        own[k] = theirs[k]
    write_plan_rows(betting, player, width, strategy, plan)


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


@inlined
def fold_payments(
    payments: Payments,
    hands: StartingHands,
    player: int,
    width: int,
    rows: int,
    opponent_plan: Float,
    sums: Float,
    gradient: Float,
) -> None:
    """Write what each row is worth by the folds that it ends in before there is a board."""
    for row in range(rows):
        out = gradient[row * width : (row + 1) * width]
        for own in range(width):
            out[own] = 0.0
        if payments.fold_amount[player, row] != 0.0:
            source = payments.column_row[player, payments.fold_number[player, row]] * width
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
                out[own] = payments.fold_amount[player, row] * beside
