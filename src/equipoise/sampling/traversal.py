"""The one sampling traversal: it follows any scheme, with or without probing, on either tree form. No recursion.

1. *Forward*: a list of visited nodes grows while it is walked. At a node of chance or the opponent one child is drawn
   on-policy; at a node of the traverser the scheme says which actions are walked, and left-out actions are probed or
   not. Deals of hands and boards are drawn before, from a list or card by card (`deals`).
2. *Backward*: values return from the end of the list to its start. At the traverser's nodes they become regrets.

The importance weights of all schemes are the two lines marked (*) and (**). With q the product of inclusion
probabilities p of the traverser's own walked actions, the estimate of an action's value is

    child / p if walked, else 0     (MCCFR; Lanctot et al. 2009, DN19 Eq. 6)
    child     if walked, else probe (probing; Gibson et al. 2012, Algorithm 1 lines 36-41)

and its regret (action - sum of strategy x action) / q. The opponent's and chance's probabilities cancel, because they
are drawn on-policy. What a traversal found stays in the list, for `absorb` to add to tables.

In a game of several rounds that forget each other (Bluff), each round is traversed from its own start, as if it were
reached, and the value of what follows a round is one on-policy roll-out. Gibson et al. do not say how they go on;
walking the next round from every end of this one would visit its infosets thousands of times a traversal.
"""

from typing import NamedTuple

import numpy as np

from equipoise.abstraction.bucket_tables import BucketTables
from equipoise.compiled import inlined, kernel, uncounted
from equipoise.games import CHANCE, TERMINAL
from equipoise.regret.matching import match_infoset, normalise, positive_parts
from equipoise.regret.rules import updated
from equipoise.sampling import tree as columns
from equipoise.sampling.deals import SCRATCH, deal_into_buckets
from equipoise.sampling.dice import choose_index, choose_weighted, draw, happens, note
from equipoise.sampling.schemes import EACH, ONE, SUBSET, SchemePlan
from equipoise.sampling.tree import Int32Table, SampledTree
from equipoise.trees.treeplex import Float, Int32, Int64, UInt64

# Indices are unsigned in these kernels, and tables are flat with a constant width: an index that may be negative, or a
# width that must be looked up, costs more than the access itself.
U = np.uint64
KIND, CHILDREN, STAGE, LABEL = (U(c) for c in (columns.KIND, columns.CHILDREN, columns.STAGE, columns.LABEL))
FIRST_CHILD, FIRST, MATRIX = (U(c) for c in (columns.FIRST_CHILD, columns.FIRST, columns.MATRIX))
DEALS = U(columns.DEALS)
NODE_WIDTH, AMOUNT_WIDTH, AMOUNT = U(columns.WIDTH), U(columns.WIDTH // 2), U(columns.AMOUNT)

# The list of visited nodes: whole numbers and others.
NODE, PARENT, DEAL, SLOT, ROLE, START, ENTRY, ACTIONS = (U(c) for c in range(8))
INT_WIDTH = U(8)
VALUE, WEIGHT, SAMPLE_REACH, OWN_REACH = (U(c) for c in range(4))
FLOAT_WIDTH = U(4)
PASSES, OWN, OPPONENT = 0, 1, 2  # roles: hands its child's value on; the traverser acts; the opponent acts

STOCHASTIC, OWN_REACH_AVERAGING = 0, 1
APART = (
    16  # numbers from what one thread writes to what the next does: on one cache line they would wait for each other
)
ROOM_BEHIND = 64  # places of the list that are never used: a deal that is not in a list of deals stands there


class Visits(NamedTuple):
    """Lists of visited nodes, one for each part of a batch, and the strategies and values met there."""

    ints: np.ndarray[tuple[int, int], np.dtype[np.int32]]  # [parts, capacity x 8]
    floats: np.ndarray[tuple[int, int], np.dtype[np.float64]]  # [parts, capacity x 4]
    buffer: np.ndarray[tuple[int, int], np.dtype[np.float64]]  # strategies; the traverser's followed by values, regrets
    dice: np.ndarray[tuple[int, int], np.dtype[np.uint64]]  # [parts, 2 and room] streams of random numbers
    tape: np.ndarray[tuple[int, int, int], np.dtype[np.float64]]  # [parts, draws, 3] empty but in exact tests
    ends: np.ndarray[tuple[int, int], np.dtype[np.int64]]  # [parts, 3 and room] used list, used buffer, nodes touched


@kernel
def largest_traversal(tree: SampledTree, traverser: int) -> tuple[int, int]:
    """Return the most nodes that one traversal of every subgame can visit, and the most buffer that it can need."""
    width = int(NODE_WIDTH)
    count = tree.nodes.size // width
    sizes, buffers = np.zeros(count, np.int64), np.zeros(count, np.int64)
    roots, most_actions = tree.roots, 0
    for order in range(roots.size):
        first = roots[order]
        last = roots[order + 1] if order + 1 < roots.size else count
        for node in range(last - 1, first - 1, -1):
            row = tree.nodes[node * width : (node + 1) * width]
            kind, children = row[KIND], row[CHILDREN]
            size, buffer = 0, 0
            if kind != TERMINAL:
                most_actions = max(most_actions, children)
                for child in range(row[FIRST_CHILD], row[FIRST_CHILD] + children):
                    if kind == traverser:
                        size += sizes[child]
                        buffer += buffers[child]
                    else:
                        size = max(size, sizes[child])
                        buffer = max(buffer, buffers[child])
                buffer += (2 if kind == traverser else 1) * children
            sizes[node], buffers[node] = size + 1, buffer
    return sizes[roots].sum(), buffers[roots].sum() + 2 * most_actions


def make_visits(tree: SampledTree, parts: int = 1, tape_length: int = 0) -> Visits:
    """Return empty lists, one for each part of a batch, with room for a traversal of either player."""
    bounds = np.array([largest_traversal(tree, player) for player in range(2)]).max(axis=0)
    size, buffer = (int(bound) + ROOM_BEHIND for bound in bounds)
    return Visits(
        ints=np.zeros((parts, size * int(INT_WIDTH)), np.int32),
        floats=np.zeros((parts, size * int(FLOAT_WIDTH))),
        buffer=np.zeros((parts, buffer)),
        dice=np.zeros((parts, APART), np.uint64),
        tape=np.zeros((parts, tape_length, 3)),
        ends=np.zeros((parts, APART), np.int64),
    )


@inlined
def draw_deal(deal_range: Int64, deal_cumulative: Float, subgame: int, dice: UInt64, tape: Float) -> int:
    """Return a deal of a subgame, by the deals' probabilities."""
    start, end = deal_range[subgame, 0], deal_range[subgame, 1]
    if deal_range[subgame, 2]:
        return int(start + choose_index(dice, tape, end - start))
    u = draw(dice, tape)
    low, high = start, end - 1
    while low < high:  # the first deal whose cumulative probability exceeds u
        middle = (low + high) // 2
        if deal_cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    note(dice, tape, deal_cumulative[low - 1] if low > start else 0.0, deal_cumulative[low])
    return int(low)


@inlined
def following_subgame(continuation: Int32, stage: int, payoff: float) -> int:
    """Return the subgame that comes after a round with this payoff to player 0, or -1 when the game is over."""
    return -1 if continuation.shape[0] == 1 else int(continuation[stage, 0 if payoff > 0.0 else 1])


@inlined
def payoff_at(
    nodes: Int32, amounts: Float, matrices: Float, deals: Int32, deal_width: np.uint64, node: np.uint64, deal: np.uint64
) -> float:
    """Return the payoff to player 0 at a terminal node."""
    row = node * NODE_WIDTH
    cell = deals[deal * deal_width + U(3) * U(nodes[row + STAGE]) + U(2)]
    return float(amounts[node * AMOUNT_WIDTH + AMOUNT] * matrices[U(nodes[row + MATRIX]) + U(cell)])


@uncounted
def _probe(
    nodes: Int32,
    amounts: Float,
    probability: Float,
    matrices: Float,
    roots: Int32,
    continuation: Int32Table,
    deal_range: Int64,
    deal_cumulative: Float,
    deals: Int32,
    deal_width: np.uint64,
    scores: Float,
    fallback: int,
    child: np.uint64,
    deal: np.uint64,
    dice: UInt64,
    tape: Float,
    ends: Int64,
    scratch: Float,
    at: np.uint64,
) -> float:
    """Return the payoff to player 0 of one on-policy roll-out (Gibson et al. 2012, Algorithm 1, lines 5-15)."""
    node = child
    payoff = 0.0
    rolling = True
    while rolling:
        row = node * NODE_WIDTH
        ends[2] += 1 + nodes[row + DEALS]
        kind, stage, first, count = (
            nodes[row + KIND],
            nodes[row + STAGE],
            U(nodes[row + FIRST_CHILD]),
            nodes[row + CHILDREN],
        )
        if kind == TERMINAL:
            payoff = payoff_at(nodes, amounts, matrices, deals, deal_width, node, deal)
            following = following_subgame(continuation, stage, payoff)
            if following >= 0:
                node = U(roots[following])
                deal = U(draw_deal(deal_range, deal_cumulative, following, dice, tape))
            else:
                rolling = False
        elif kind == CHANCE:
            node = first
            if probability.size > 0:
                node = first + U(choose_weighted(dice, tape, probability, first, U(count), 1.0))
        else:
            hand = U(deals[deal * deal_width + U(3) * U(stage) + U(kind)])
            entry = U(nodes[row + FIRST]) + hand * U(count)
            total = positive_parts(scores, entry, U(count), fallback, scratch, at)
            node = first + U(choose_weighted(dice, tape, scratch, at, U(count), total))
    return payoff


@inlined
def _append(
    ints: Int32,
    floats: Float,
    end: np.uint64,
    node: np.uint64,
    parent: int | np.uint64,
    deal: np.uint64,
    slot: int | np.uint64,
    weight: float,
    sample_reach: float,
    own_reach: float,
) -> np.uint64:
    row = end * INT_WIDTH
    ints[row + NODE], ints[row + PARENT], ints[row + DEAL] = node, parent, deal
    ints[row + SLOT], ints[row + ROLE] = slot, PASSES
    numbers = end * FLOAT_WIDTH
    floats[numbers + WEIGHT] = weight
    floats[numbers + SAMPLE_REACH], floats[numbers + OWN_REACH] = sample_reach, own_reach
    return end + U(1)


@inlined
def subset_inclusion(size: int, count: int | np.uint64) -> float:
    """Return how likely an action is among ``size`` different ones of ``count``."""
    return min(1.0, size / count)


@inlined
def in_subset(dice: UInt64, tape: Float, missing: int, left: int) -> bool:
    """Return whether the next of ``left`` actions is walked, if ``missing`` more are to be: selection sampling.

    All subsets are equally likely.
    """
    return missing > 0 and happens(dice, tape, missing / left)


@inlined
def child_weight(inclusion: float, probe: bool) -> float:
    """Return what a walked action's value counts."""
    return 1.0 if probe else 1.0 / inclusion  # (*)


@inlined
def descend(
    tree: SampledTree,
    deal_width: np.uint64,
    scheme: SchemePlan,
    scores: Float,
    fallback: int,
    traverser: int,
    subgame: int,
    ints: Int32,
    floats: Float,
    buffer: Float,
    dice: UInt64,
    tape: Float,
    ends: Int64,
) -> None:
    """Walk forward once and append what is met to the list. Scores are regrets, or a network's idea of them."""
    nodes, amounts, probability, matrices, roots, continuation, deal_range, deal_cumulative, deals = tree[:9]
    cards = BucketTables(*tree[9:])
    kind_of_scheme, epsilon, subset_size, probe, table = scheme
    sign = 1.0 if traverser == 0 else -1.0
    begin, buffered, unlisted = U(ends[0]), U(ends[1]), 0
    dealt = probability.size == 0  # then a node of chance has one child, and needs no place in the list
    chained = continuation.shape[0] > 1
    if cards.bits.size == 0:
        deal = U(draw_deal(deal_range, deal_cumulative, subgame, dice, tape))
    else:  # drawn card by card, into the room behind the list
        deals, deal = ints, U(ints.size) // deal_width - U(1)
        place = int(deal * deal_width)
        deal_into_buckets(cards, ints, place - SCRATCH, place, dice, tape)
    end = _append(ints, floats, begin, U(roots[subgame]), -1, deal, -1, 1.0, 1.0, 1.0)
    at = begin
    while at < end:
        here, numbers = at * INT_WIDTH, at * FLOAT_WIDTH
        node, deal = U(ints[here + NODE]), U(ints[here + DEAL])
        row = node * NODE_WIDTH
        kind, stage, count, first = (
            nodes[row + KIND],
            nodes[row + STAGE],
            U(nodes[row + CHILDREN]),
            U(nodes[row + FIRST_CHILD]),
        )
        reach, own_reach = floats[numbers + SAMPLE_REACH], floats[numbers + OWN_REACH]
        unlisted += nodes[row + DEALS]
        following, goes_on = first, True  # the one child that is walked, where the traverser has no say
        if kind == CHANCE:
            if not dealt:
                following = first + U(choose_weighted(dice, tape, probability, first, count, 1.0))
        else:
            start = buffered
            hand = U(deals[deal * deal_width + U(3) * U(stage) + U(kind)])
            entry = U(nodes[row + FIRST]) + hand * count
            ints[here + START], ints[here + ENTRY], ints[here + ACTIONS] = start, entry, count
            if kind != traverser:
                ints[here + ROLE] = OPPONENT
                buffered = start + count
                total = positive_parts(scores, entry, count, fallback, buffer, start)
                following = first + U(choose_weighted(dice, tape, buffer, start, count, total))
                normalise(buffer, start, count, total)
            else:
                goes_on = False
                match_infoset(scores, entry, count, fallback, buffer, start)
                ints[here + ROLE] = OWN
                values = start + count
                buffered = values + count
                chosen, chosen_probability = U(0), 1.0
                if kind_of_scheme == ONE:
                    for action in range(count):
                        buffer[values + action] = epsilon / count + (1.0 - epsilon) * buffer[start + action]
                    chosen = U(choose_weighted(dice, tape, buffer, values, count, 1.0))
                    chosen_probability = buffer[values + chosen]
                size, left = min(subset_size, int(count)), int(count)
                for action in range(count):
                    child, slot = first + action, values + action
                    inclusion, walked = 1.0, True
                    if kind_of_scheme == ONE:
                        inclusion, walked = chosen_probability, action == chosen
                    elif kind_of_scheme == SUBSET:
                        inclusion = subset_inclusion(subset_size, count)
                        walked = in_subset(dice, tape, size, left)
                        size -= walked
                        left -= 1
                    elif kind_of_scheme == EACH:
                        inclusion = table[2 * stage + kind, hand, nodes[child * NODE_WIDTH + LABEL]]
                        walked = happens(dice, tape, inclusion)
                    weight = child_weight(inclusion, probe)
                    if dealt and nodes[child * NODE_WIDTH + KIND] == CHANCE:
                        child = U(nodes[child * NODE_WIDTH + FIRST_CHILD])
                        unlisted += int(walked or probe)
                    leaf = nodes[child * NODE_WIDTH + KIND] == TERMINAL
                    if walked and not leaf:
                        own = own_reach * buffer[start + action]
                        end = _append(ints, floats, end, child, at, deal, slot, weight, reach * inclusion, own)
                    elif walked and not chained:  # a leaf needs no place in the list
                        payoff = payoff_at(nodes, amounts, matrices, deals, deal_width, child, deal)
                        buffer[slot] = weight * sign * payoff
                        unlisted += 1 + nodes[child * NODE_WIDTH + DEALS]
                    elif walked or probe:  # what follows the end of a round, or an action that was left out
                        payoff = _probe(
                            nodes,
                            amounts,
                            probability,
                            matrices,
                            roots,
                            continuation,
                            deal_range,
                            deal_cumulative,
                            deals,
                            deal_width,
                            scores,
                            fallback,
                            child,
                            deal,
                            dice,
                            tape,
                            ends,
                            buffer,
                            buffered,
                        )
                        buffer[slot] = weight * sign * payoff
                    else:
                        buffer[slot] = 0.0
        if goes_on:
            if dealt and nodes[following * NODE_WIDTH + KIND] == CHANCE:
                following = U(nodes[following * NODE_WIDTH + FIRST_CHILD])
                unlisted += 1
            if nodes[following * NODE_WIDTH + KIND] != TERMINAL:
                end = _append(ints, floats, end, following, at, deal, -1, 1.0, reach, own_reach)
            elif chained:
                payoff = _probe(
                    nodes,
                    amounts,
                    probability,
                    matrices,
                    roots,
                    continuation,
                    deal_range,
                    deal_cumulative,
                    deals,
                    deal_width,
                    scores,
                    fallback,
                    following,
                    deal,
                    dice,
                    tape,
                    ends,
                    buffer,
                    buffered,
                )
                floats[numbers + VALUE] = sign * payoff
            else:
                floats[numbers + VALUE] = sign * payoff_at(nodes, amounts, matrices, deals, deal_width, following, deal)
                unlisted += 1 + nodes[following * NODE_WIDTH + DEALS]
        at += U(1)
    ends[0], ends[1] = end, buffered
    ends[2] += end - begin
    ends[2] += unlisted


@inlined
def take_regrets(buffer: Float, start: np.uint64, count: np.uint64, sample_reach: float) -> float:
    """Turn the values that follow a strategy in the buffer into sampled regrets; return the value of the decision."""
    values = start + count
    value = 0.0
    for action in range(count):
        value += buffer[start + action] * buffer[values + action]
    over_reach = 1.0 / sample_reach  # (**)
    for action in range(count):
        buffer[values + action] = (buffer[values + action] - value) * over_reach
    return value


@inlined
def back_up(ints: Int32, floats: Float, buffer: Float, position: np.uint64, role: int) -> None:
    """Hand the value of a visited node, whose descendants have had their turn, to where it came from."""
    here, numbers = position * INT_WIDTH, position * FLOAT_WIDTH
    value = floats[numbers + VALUE]
    if role == OWN:
        start, count = U(ints[here + START]), U(ints[here + ACTIONS])
        value = take_regrets(buffer, start, count, floats[numbers + SAMPLE_REACH])
        floats[numbers + VALUE] = value
    slot, parent = ints[here + SLOT], ints[here + PARENT]
    if slot >= 0:
        buffer[U(slot)] = floats[numbers + WEIGHT] * value
    elif parent >= 0:
        floats[U(parent) * FLOAT_WIDTH + VALUE] = value


@inlined
def walk(
    tree: SampledTree,
    deal_width: np.uint64,
    scheme: SchemePlan,
    scores: Float,
    fallback: int,
    traverser: int,
    subgame: int,
    ints: Int32,
    floats: Float,
    buffer: Float,
    dice: UInt64,
    tape: Float,
    ends: Int64,
) -> None:
    """Run one traversal, forward and backward, and leave what it met in the list."""
    begin = U(ends[0])
    descend(tree, deal_width, scheme, scores, fallback, traverser, subgame, ints, floats, buffer, dice, tape, ends)
    position = U(ends[0])
    while position > begin:
        position -= U(1)
        back_up(ints, floats, buffer, position, ints[position * INT_WIDTH + ROLE])


@inlined
def list_once(entry: np.uint64, count: np.uint64, increment: Float, touched: Int64) -> bool:
    """List an infoset whose increments are not numbers yet, and make them 0; return whether they were none.

    The list has its length, then entry and actions of each infoset. A mark of its own would be one more miss of the
    cache at each visit.
    """
    if not np.isnan(increment[entry]):
        return False
    for action in range(count):
        increment[entry + action] = 0.0
    touched[1 + 2 * touched[0]], touched[2 + 2 * touched[0]] = entry, count
    touched[0] += 1
    return True


@inlined
def absorb(
    ints: Int32,
    floats: Float,
    buffer: Float,
    position: np.uint64,
    role: int,
    at_once: bool,
    share: float,
    rule: Float,
    averaging: int,
    regret_sum: Float,
    regret_increment: Float,
    strategy_sum: Float,
    touched: Int64,
) -> None:
    """Add what a traversal met at one place of the list to the tables.

    ``at_once`` updates regrets under the rule now (one traversal an iteration); otherwise regrets are summed in
    ``regret_increment`` until the batch is complete. Averaging (G12 line 27, or DN19 Algorithm 3): the opponent's
    infosets get their strategy over the traverser's sample reach; or the traverser's get own reach x strategy, once per
    infoset and iteration. ``touched`` lists the traverser's infosets met (`list_once`).
    """
    here = position * INT_WIDTH
    start, entry, count = U(ints[here + START]), U(ints[here + ENTRY]), U(ints[here + ACTIONS])
    if role == OWN:
        first_visit = True
        regrets = start + count
        if at_once:
            for action in range(count):
                k = entry + action
                regret_sum[k] = updated(regret_sum[k], buffer[regrets + action], rule[0], rule[1], rule[2], rule[3])
        else:
            first_visit = list_once(entry, count, regret_increment, touched)
            for action in range(count):
                regret_increment[entry + action] += share * buffer[regrets + action]
        if averaging == OWN_REACH_AVERAGING and first_visit:
            weight = rule[6] * floats[position * FLOAT_WIDTH + OWN_REACH]
            for action in range(count):
                strategy_sum[entry + action] += weight * buffer[start + action]
    elif role == OPPONENT and averaging == STOCHASTIC:
        weight = rule[6] * share / floats[position * FLOAT_WIDTH + SAMPLE_REACH]
        for action in range(count):
            strategy_sum[entry + action] += weight * buffer[start + action]
