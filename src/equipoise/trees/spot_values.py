"""One board of a spot: plans down the betting trees, payments at their leaves, values up again.

Everything works on whole vectors of sixteen numbers (lanes.py). Payments, sixteen leaves at a time:

1. sixteen rows of the opponent's plan, turned around: sixteen neighbouring numbers a hand;
2. from the weakest group of tied hands to the strongest, running sums of the opponent's reach: in all, and by card
   (after Johanson et al. 2011, who value a showdown in O(hands) by sorting). A hand wins against all weaker hands
   without its own two cards::

       won - lost = below(h) + through(h) - all(h),    each of them: total - first card - second card

   where ``below`` is the sum before the hand's group and ``through`` the sum after it. The hand itself is in the total
   once and in its cards twice, both in ``through`` and in ``all``, so it cancels. Folds pay ``all(h)`` + the hand;
3. turned back: one vector over hands a leaf.

All numbers are in the precision of the caller's scratch space: solving takes single precision, evaluation double.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, uncounted
from equipoise.lanes import (
    LANES,
    aligned_zeros,
    filled,
    largest,
    load,
    over,
    positive,
    store,
    transpose,
    transpose_back,
    where_none,
    where_positive,
    zeros,
)
from equipoise.trees.betting_tree import Betting
from equipoise.trees.spot_form import Boards, Ends, Locked, Round
from equipoise.trees.treeplex import Float, Int64


class Scratch(NamedTuple):
    """What work on one board of a round needs."""

    plans: tuple[Float, Float]  # [(rows + 1) x hands] by player; the last row is zero
    gradient: Float  # [rows x hands]
    closing: Float  # [closings x hands] what the round's closings are worth
    starts: Int64  # [columns] where the rows of columns begin
    reach: Float  # [(hands + 1) x 16]
    won: Float  # [hands x 16]
    beside: Float  # [hands x 16]
    sums: Float  # [(cards + 1) x 16]
    showdowns: Float  # [columns x hands] won - lost
    folds: Float  # [columns x hands]


def _sizes(spot_round: Round, closings: int, deck: int) -> dict[str, int]:
    """Return how many numbers each part of scratch space has, the two plans apart."""
    betting, ends, widths = spot_round.betting, spot_round.ends, spot_round.boards.width.max(axis=0)
    widest, columns = int(widths.max()), ends.tiles * LANES
    return {
        "first": (int(betting.rows[0]) + 1) * int(widths[0]),
        "second": (int(betting.rows[1]) + 1) * int(widths[1]),
        "gradient": int(betting.rows.max()) * widest,
        "closing": closings * widest,
        "reach": (widest + 1) * LANES,
        "won": widest * LANES,
        "beside": widest * LANES,
        "sums": (deck + 1) * LANES,
        "showdowns": ends.showdown_tiles * LANES * widest,
        "folds": columns * widest,
    }


def scratch_bytes(spot_round: Round, closings: int, deck: int, precision: npt.DTypeLike) -> int:
    """Return the size of scratch space."""
    return sum(_sizes(spot_round, closings, deck).values()) * np.dtype(precision).itemsize


def make_scratch(spot_round: Round, closings: int, deck: int, precision: npt.DTypeLike) -> Scratch:
    """Return scratch space for a round, in single or double precision."""
    made = {name: aligned_zeros(size, precision) for name, size in _sizes(spot_round, closings, deck).items()}
    plans = made.pop("first"), made.pop("second")
    return Scratch(plans=plans, starts=aligned_zeros(spot_round.ends.tiles * LANES, np.int64), **made)


@inlined
def enter(boards: Boards, board: int, player: int, closings: Int64, before: Float, step: int, plan: Float) -> None:
    """Write a player's reach of the roots on a board, from its plan on the board before, whose width is ``step``."""
    width, count = boards.width[board, player], boards.live[board, player]
    first = boards.image_start[board, player]
    places = boards.image_place[first : first + count]
    for root in range(closings.shape[1]):
        source = before[closings[player, root] * step : (closings[player, root] + 1) * step]
        target = plan[root * width : (root + 1) * width]
        for j in range(count):
            target[j] = source[places[j]]
        for j in range(count, width):
            target[j] = 0.0


@inlined
def leave(
    boards: Boards, board: int, player: int, roots: int, weight: float, gradient: Float, step: int, out: Float
) -> None:
    """Add what the roots are worth on a board, and on its images, to the values of the closings before it."""
    width, count = boards.width[board, player], boards.live[board, player]
    for image in range(boards.images[board]):
        first = boards.image_start[board, player] + image * width
        places = boards.image_place[first : first + count]
        for root in range(roots):
            source, target = gradient[root * width : (root + 1) * width], out[root * step : (root + 1) * step]
            for j in range(count):
                target[places[j]] += weight * source[j]


@inlined
def plan_rows(betting: Betting, player: int, width: int, table: Float, start: int, plan: Float) -> None:
    """Write a player's plan below its reach of the roots: actions in proportion to the positive part of a table."""
    one = filled(plan, 1.0)
    for node in range(betting.node_player.size):
        if betting.node_player[node] == player:
            actions, row = betting.node_actions[node], betting.node_row[node]
            scores, out, before = start + (row - betting.roots) * width, row * width, betting.node_before[node] * width
            even = filled(plan, 1.0 / actions)
            for j in range(0, width, LANES):
                total = zeros(plan)
                for action in range(actions):
                    total = total + positive(load(table, scores + action * width + j))
                reach = load(plan, before + j)
                share, rest = over(one, total) * reach, where_none(total, even * reach)
                for action in range(actions):
                    played = positive(load(table, scores + action * width + j)) * share + rest
                    store(plan, out + action * width + j, played)
    for j in range(0, width, LANES):  # what columns without a leaf read
        store(plan, betting.rows[player] * width + j, zeros(plan))


@inlined
def bind(betting: Betting, locked: Locked, board: int, player: int, width: int, start: int, table: Float) -> None:
    """Write what locked hands play over what a table says of them."""
    for k in range(locked.start[2 * board + player], locked.start[2 * board + player + 1]):
        node = locked.node[k]
        place = start + (betting.node_row[node] - betting.roots) * width + locked.hand[k]
        for action in range(betting.node_actions[node]):
            table[place + action * width] = locked.shares[locked.mix[k], action]


@inlined
def add_plan(
    betting: Betting, player: int, width: int, keep: float, weight: float, plan: Float, start: int, sums: Float
) -> None:
    """Add a plan to the sums that make the average strategy."""
    first = betting.roots * width
    kept, added = filled(plan, keep), filled(plan, weight)
    for j in range(0, (betting.rows[player] - betting.roots) * width, LANES):
        store(sums, start + j, kept * load(sums, start + j) + added * load(plan, first + j))


@uncounted
def sweep(boards: Boards, board: int, player: int, cards: int, with_showdowns: bool, scratch: Scratch) -> None:
    """Do step 2 for one tile: from ``scratch.reach`` to ``scratch.won`` and ``scratch.beside``."""
    reach, won, beside, sums = scratch.reach, scratch.won, scratch.beside, scratch.sums
    opponent = 1 - player
    own, count = boards.start[board, player], boards.live[board, player]
    other, others = boards.start[board, opponent], boards.live[board, opponent]
    own_first, own_second = boards.first_card[own : own + count], boards.second_card[own : own + count]
    first_card, second_card = boards.first_card[other : other + others], boards.second_card[other : other + others]
    same = boards.same[own : own + count]
    nothing = zeros(reach)
    for card in range(cards):
        store(sums, card * LANES, nothing)
    total = nothing
    if with_showdowns:
        done = met = 0
        for group in range(boards.group_start[board], boards.group_start[board + 1]):
            own_end, other_end = boards.group_ends[2 * group + player], boards.group_ends[2 * group + opponent]
            for j in range(done, own_end):
                taken = load(sums, own_first[j]) + load(sums, own_second[j])
                store(won, j * LANES, total - taken)
            for j in range(met, other_end):
                added = load(reach, j * LANES)
                total = total + added
                first, second = first_card[j], second_card[j]
                store(sums, first, load(sums, first) + added)
                store(sums, second, load(sums, second) + added)
            for j in range(done, own_end):
                taken = load(sums, own_first[j]) + load(sums, own_second[j])
                store(won, j * LANES, load(won, j * LANES) + (total - taken))
            done, met = own_end, other_end
    else:
        for j in range(others):
            added = load(reach, j * LANES)
            total = total + added
            first, second = first_card[j], second_card[j]
            store(sums, first, load(sums, first) + added)
            store(sums, second, load(sums, second) + added)
    for j in range(count):
        rest = total - (load(sums, own_first[j]) + load(sums, own_second[j]))
        if with_showdowns:
            store(won, j * LANES, load(won, j * LANES) - rest)
        store(beside, j * LANES, rest + load(reach, same[j] * LANES))
    for j in range(count, boards.width[board, player]):  # padding: what the last board left there must not stay
        store(won, j * LANES, nothing)
        store(beside, j * LANES, nothing)


@inlined
def pay(betting: Betting, ends: Ends, boards: Boards, board: int, player: int, cards: int, scratch: Scratch) -> None:
    """Write to ``scratch.gradient`` what each of a player's rows is worth by the leaves that it ends in."""
    opponent = 1 - player
    width, other_width = boards.width[board, player], boards.width[board, opponent]
    plan, gradient, starts = scratch.plans[opponent], scratch.gradient, scratch.starts
    nothing = zeros(gradient)
    for column in range(ends.tiles * LANES):
        starts[column] = ends.column_row[player, column] * other_width
    store(scratch.reach, other_width * LANES, nothing)
    for tile in range(ends.tiles):
        for j in range(0, other_width, LANES):
            transpose(plan, starts, tile * LANES, j, scratch.reach, j * LANES)
        sweep(boards, board, player, cards, tile < ends.showdown_tiles, scratch)
        for j in range(0, width, LANES):
            out = tile * LANES * width + j
            transpose_back(scratch.beside, j * LANES, scratch.folds, out, width)
            if tile < ends.showdown_tiles:
                transpose_back(scratch.won, j * LANES, scratch.showdowns, out, width)
    for row in range(betting.rows[player]):
        at_showdown, by_fold = ends.showdown_amount[player, row], ends.fold_amount[player, row]
        won, folded = ends.showdown_column[player, row] * width, ends.fold_column[player, row] * width
        taken = ends.drawn_amount[player, row]
        amount, price, lost = filled(gradient, at_showdown), filled(gradient, by_fold), filled(gradient, taken)
        out = row * width
        if at_showdown == 0.0:
            for j in range(0, width, LANES):
                store(gradient, out + j, price * load(scratch.folds, folded + j))
        elif by_fold == 0.0:
            for j in range(0, width, LANES):
                store(gradient, out + j, amount * load(scratch.showdowns, won + j))
        else:
            for j in range(0, width, LANES):
                paid = amount * load(scratch.showdowns, won + j) + price * load(scratch.folds, folded + j)
                store(gradient, out + j, paid)
        if taken != 0.0:
            for j in range(0, width, LANES):
                store(gradient, out + j, load(gradient, out + j) + lost * load(scratch.folds, won + j))


@inlined
def add_closings(closings: Int64, player: int, width: int, closing: Float, gradient: Float) -> None:
    """Add what closings are worth to the rows that lead to them."""
    for k in range(closings.shape[1]):
        out = closings[player, k] * width
        for j in range(0, width, LANES):
            store(gradient, out + j, load(gradient, out + j) + load(closing, k * width + j))


@inlined
def make_alike(boards: Boards, board: int, player: int, rows: int, gradient: Float) -> None:
    """Give hands that only a renaming of suits tells apart the same values: rounding must not tell them apart."""
    if boards.has_alike[board, player]:
        width, count, first = boards.width[board, player], boards.live[board, player], boards.start[board, player]
        places = boards.alike[first : first + count]
        for row in range(rows):
            values = gradient[row * width : (row + 1) * width]
            for j in range(count):
                values[j] = values[places[j]]


@inlined
def update_rows(
    betting: Betting, player: int, width: int, rule: Float, gradient: Float, start: int, regrets: Float
) -> None:
    """Pass values up to the roots by regret matching, and update the regrets by a rule's coefficients."""
    keep_positive, keep_negative = filled(gradient, rule[0]), filled(gradient, rule[1])
    weight, floor, one = filled(gradient, rule[2]), filled(gradient, rule[3]), filled(gradient, 1.0)
    for node in range(betting.node_player.size - 1, -1, -1):
        if betting.node_player[node] == player:
            actions, row = betting.node_actions[node], betting.node_row[node]
            scores, worth, before = (
                start + (row - betting.roots) * width,
                row * width,
                betting.node_before[node] * width,
            )
            even = filled(gradient, 1.0 / actions)
            for j in range(0, width, LANES):
                total = zeros(gradient)
                for action in range(actions):
                    total = total + positive(load(regrets, scores + action * width + j))
                share, rest = over(one, total), where_none(total, even)
                value = zeros(gradient)
                for action in range(actions):
                    place = action * width + j
                    played = positive(load(regrets, scores + place)) * share + rest
                    value = value + played * load(gradient, worth + place)
                for action in range(actions):
                    place = action * width + j
                    old, increment = load(regrets, scores + place), load(gradient, worth + place) - value
                    kept = where_positive(old, keep_positive, keep_negative) * old
                    store(regrets, scores + place, largest(kept + weight * increment, floor))
                store(gradient, before + j, load(gradient, before + j) + value)


@inlined
def value_rows(
    betting: Betting,
    locked: Locked,
    board: int,
    player: int,
    width: int,
    respond: bool,
    table: Float,
    start: int,
    gradient: Float,
) -> None:
    """Pass values up to the roots: of the best action of each hand, or of strategies proportional to a table.

    The best that a locked hand can do is what it is bound to.
    """
    one = filled(gradient, 1.0)
    bound, end = locked.start[2 * board + player], locked.start[2 * board + player + 1]
    for node in range(betting.node_player.size - 1, -1, -1):
        if betting.node_player[node] == player:
            actions, row = betting.node_actions[node], betting.node_row[node]
            scores, worth, before = (
                start + (row - betting.roots) * width,
                row * width,
                betting.node_before[node] * width,
            )
            even = filled(gradient, 1.0 / actions)
            while respond and bound < end and locked.node[bound] == node:
                first, mixed = worth + locked.hand[bound], 0.0
                for action in range(actions):
                    mixed += locked.shares[locked.mix[bound], action] * gradient[first + action * width]
                for action in range(actions):
                    gradient[first + action * width] = mixed
                bound += 1
            for j in range(0, width, LANES):
                if respond:
                    value = load(gradient, worth + j)
                    for action in range(1, actions):
                        value = largest(value, load(gradient, worth + action * width + j))
                else:
                    total = zeros(gradient)
                    for action in range(actions):
                        total = total + positive(load(table, scores + action * width + j))
                    share, rest = over(one, total), where_none(total, even)
                    value = zeros(gradient)
                    for action in range(actions):
                        place = action * width + j
                        played = positive(load(table, scores + place)) * share + rest
                        value = value + played * load(gradient, worth + place)
                store(gradient, before + j, load(gradient, before + j) + value)
