"""The one sampling traversal: it follows any scheme, with or without probing, on either tree form. No recursion.

1. *Forward*: a list of visited nodes grows while it is walked. At a node of chance or the opponent one child is drawn
   on-policy; at a node of the traverser the scheme says which actions are walked, and left-out actions are probed or not.
2. *Backward*: values return from the end of the list to its start. At the traverser's nodes they become regrets.

The importance weights of all schemes are the two lines marked (*) and (**). With q the product of inclusion
probabilities p of the traverser's own walked actions, the estimate of an action's value is

    child / p if walked, else 0     (MCCFR; Lanctot et al. 2009, DN19 Eq. 6)
    child     if walked, else probe (probing; Gibson et al. 2012, Algorithm 1 lines 36-41)

and its regret (action - sum of strategy x action) / q. The opponent's and chance's probabilities cancel, because they are
drawn on-policy. What a traversal found stays in the list, for `absorb` to add to tables.

Kernels here take arrays one by one, not in tuples: taking an array out of a tuple costs an atomic operation each time.
"""

from typing import NamedTuple

import numpy as np

from equipoise.compiled import inlined, kernel
from equipoise.games import CHANCE, TERMINAL
from equipoise.regret.matching import match_infoset
from equipoise.regret.rules import updated
from equipoise.sampling.dice import choose_index, choose_weighted, draw, happens, note
from equipoise.sampling.schemes import EACH, ONE, SUBSET, SchemePlan
from equipoise.sampling.tree import (
    CHILDREN,
    FIRST,
    FIRST_CHILD,
    KIND,
    LABEL,
    MATRIX,
    STAGE,
    STRIDE,
    Int32Table,
    Int64Table,
    SampledTree,
)
from equipoise.trees.treeplex import Float, Int32, Int64, UInt64

# Columns of the list of visited nodes.
NODE, PARENT, DEAL, SLOT, ROLE, START, ENTRY, ENTRY_STRIDE, ACTIONS = range(9)
VALUE, WEIGHT, SAMPLE_REACH, OWN_REACH = range(4)
PASSES, OWN, OPPONENT = 0, 1, 2  # roles: hands its child's value on; the traverser acts; the opponent acts

STOCHASTIC, OWN_REACH_AVERAGING = 0, 1



class Visits(NamedTuple):
    """The list of visited nodes of one or more traversals, and the strategies and values met there."""

    ints: Int32Table  # [capacity, 9]
    floats: Float  # [capacity, 4]
    buffer: Float  # strategies; at the traverser's nodes followed by action values, later regrets
    dice: UInt64  # [2] the stream of random numbers
    tape: Float  # [draws, 3] empty, or what takes the stream's place in exact tests
    ends: Int64  # [3] used part of the list, used part of the buffer, nodes touched (probes included)


@kernel
def largest_traversal(tree: SampledTree, traverser: int) -> tuple[int, int]:
    """Return the most nodes that one traversal can visit, and the most buffer that it can need."""
    count = tree.nodes.shape[0]
    sizes, buffers = np.zeros(count, np.int64), np.zeros(count, np.int64)
    roots = tree.roots
    for order in range(roots.size):
        first = roots[order]
        last = roots[order + 1] if order + 1 < roots.size else count
        for node in range(last - 1, first - 1, -1):
            kind = tree.nodes[node, KIND]
            size, buffer = 0, 0
            if kind == TERMINAL:
                for outcome in range(2):
                    following = tree.continuation[order, outcome]
                    if following >= 0:
                        size = max(size, sizes[roots[following]])
                        buffer = max(buffer, buffers[roots[following]])
            else:
                begin = tree.nodes[node, FIRST_CHILD]
                for child in range(begin, begin + tree.nodes[node, CHILDREN]):
                    if kind == traverser:
                        size += sizes[child]
                        buffer += buffers[child]
                    else:
                        size = max(size, sizes[child])
                        buffer = max(buffer, buffers[child])
                buffer += (2 if kind == traverser else 1) * tree.nodes[node, CHILDREN]
            sizes[node], buffers[node] = size + 1, buffer
    return sizes[roots[roots.size - 1]], buffers[roots[roots.size - 1]] + 2 * tree.nodes[:, CHILDREN].max()


def make_visits(tree: SampledTree, traversals: int, threads: int = 1, tape_length: int = 0) -> Visits:
    """Return empty lists, one a thread, each with room for some traversals of either player."""
    bounds = np.array([largest_traversal(tree, player) for player in range(2)]).max(axis=0)
    size, buffer = (int(bound) * traversals + 64 for bound in bounds)
    return Visits(
        ints=np.zeros((threads, size, 9), np.int32),
        floats=np.zeros((threads, size, 4)),
        buffer=np.zeros((threads, buffer)),
        dice=np.zeros((threads, 2), np.uint64),
        tape=np.zeros((threads, tape_length, 3)),
        ends=np.zeros((threads, 3), np.int64),
    )


@inlined
def _draw_deal(deal_range: Int64Table, deal_cumulative: Float, subgame: int, dice: UInt64, tape: Float) -> int:
    start, end = deal_range[subgame, 0], deal_range[subgame, 1]
    if deal_range[subgame, 2]:
        return start + choose_index(dice, tape, end - start)
    u = draw(dice, tape)
    low, high = start, end - 1
    while low < high:  # the first deal whose cumulative probability exceeds u
        middle = (low + high) // 2
        if deal_cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    note(dice, tape, deal_cumulative[low - 1] if low > start else 0.0, deal_cumulative[low])
    return low


@inlined
def _following(continuation: Int32Table, stage: int, payoff: float) -> int:
    """Return the subgame that comes after a round with this payoff to player 0, or -1 when the game is over."""
    return -1 if continuation.shape[0] == 1 else continuation[stage, 0 if payoff > 0.0 else 1]


@inlined
def _payoff(nodes: Int32Table, amount: Float, matrices: Float, deals: Int32Table, node: int, deal: int) -> float:
    """Return the payoff to player 0 at a terminal node."""
    return amount[node] * matrices[nodes[node, MATRIX] + deals[deal, 3 * nodes[node, STAGE] + 2]]


@kernel
def _probe(
    nodes: Int32Table,
    amount: Float,
    probability: Float,
    matrices: Float,
    roots: Int32,
    continuation: Int32Table,
    deal_range: Int64Table,
    deal_cumulative: Float,
    deals: Int32Table,
    scores: Float,
    fallback: int,
    child: int,
    deal: int,
    dice: UInt64,
    tape: Float,
    ends: Int64,
    scratch: Float,
    at: int,
) -> float:
    """Return the payoff to player 0 of one on-policy roll-out (Gibson et al. 2012, Algorithm 1, lines 5-15)."""
    node = child
    while True:
        ends[2] += 1
        kind, stage = nodes[node, KIND], nodes[node, STAGE]
        first, count = nodes[node, FIRST_CHILD], nodes[node, CHILDREN]
        if kind == TERMINAL:
            payoff = _payoff(nodes, amount, matrices, deals, node, deal)
            following = _following(continuation, stage, payoff)
            if following < 0:
                return payoff
            node = roots[following]
            deal = _draw_deal(deal_range, deal_cumulative, following, dice, tape)
        elif kind == CHANCE:
            node = first + (choose_weighted(dice, tape, probability, first, count) if probability.size else 0)
        else:
            entry = nodes[node, FIRST] + deals[deal, 3 * stage + kind]
            match_infoset(scores, entry, nodes[node, STRIDE], count, fallback, scratch, at)
            node = first + choose_weighted(dice, tape, scratch, at, count)


@inlined
def _append(
    ints: Int32Table,
    floats: Float,
    end: int,
    node: int,
    parent: int,
    deal: int,
    slot: int,
    weight: float,
    sample_reach: float,
    own_reach: float,
) -> int:
    ints[end, NODE], ints[end, PARENT], ints[end, DEAL] = node, parent, deal
    ints[end, SLOT], ints[end, ROLE] = slot, PASSES
    floats[end, WEIGHT], floats[end, SAMPLE_REACH], floats[end, OWN_REACH] = weight, sample_reach, own_reach
    return end + 1


@inlined
def walk(
    nodes: Int32Table,
    amount: Float,
    probability: Float,
    matrices: Float,
    roots: Int32,
    continuation: Int32Table,
    deal_range: Int64Table,
    deal_cumulative: Float,
    deals: Int32Table,
    kind_of_scheme: int,
    epsilon: float,
    subset_size: int,
    probe: bool,
    table: Float,
    scores: Float,
    fallback: int,
    traverser: int,
    ints: Int32Table,
    floats: Float,
    buffer: Float,
    dice: UInt64,
    tape: Float,
    ends: Int64,
) -> None:
    """Run one traversal and append what it met to the list. Scores are regrets, or a network's idea of them."""
    sign = 1.0 if traverser == 0 else -1.0
    begin, buffered, leaves = ends[0], ends[1], 0
    chained = continuation.shape[0] > 1
    top = roots.size - 1
    deal = _draw_deal(deal_range, deal_cumulative, top, dice, tape)
    end = _append(ints, floats, begin, roots[top], -1, deal, -1, 1.0, 1.0, 1.0)
    at = begin
    while at < end:
        node, deal = ints[at, NODE], ints[at, DEAL]
        kind, count, first, stage = nodes[node, KIND], nodes[node, CHILDREN], nodes[node, FIRST_CHILD], nodes[node, STAGE]
        reach, own_reach = floats[at, SAMPLE_REACH], floats[at, OWN_REACH]
        following = -1  # the one child that is walked, where the traverser has no say
        if kind == TERMINAL:  # the root of a game without decisions, or the end of a round
            payoff = _payoff(nodes, amount, matrices, deals, node, deal)
            floats[at, VALUE] = sign * payoff
            subgame = _following(continuation, stage, payoff)
            if subgame >= 0:
                following = roots[subgame]
                deal = _draw_deal(deal_range, deal_cumulative, subgame, dice, tape)
        elif kind == CHANCE:
            following = first + (choose_weighted(dice, tape, probability, first, count) if probability.size else 0)
        else:
            start = buffered
            entry, stride = nodes[node, FIRST] + deals[deal, 3 * stage + kind], nodes[node, STRIDE]
            ints[at, START], ints[at, ENTRY], ints[at, ENTRY_STRIDE], ints[at, ACTIONS] = start, entry, stride, count
            match_infoset(scores, entry, stride, count, fallback, buffer, start)
            if kind != traverser:
                ints[at, ROLE] = OPPONENT
                buffered = start + count
                following = first + choose_weighted(dice, tape, buffer, start, count)
            else:
                ints[at, ROLE] = OWN
                values = start + count
                buffered = values + count
                chosen, chosen_probability = -1, 1.0
                if kind_of_scheme == ONE:
                    for action in range(count):
                        buffer[values + action] = epsilon / count + (1.0 - epsilon) * buffer[start + action]
                    chosen = choose_weighted(dice, tape, buffer, values, count)
                    chosen_probability = buffer[values + chosen]
                size, taken = min(subset_size, count), 0
                for action in range(count):
                    child, slot = first + action, values + action
                    inclusion, walked = 1.0, True
                    if kind_of_scheme == ONE:
                        inclusion, walked = chosen_probability, action == chosen
                    elif kind_of_scheme == SUBSET:
                        # Selection sampling: all subsets are equally likely, so each action has inclusion size / count.
                        inclusion = size / count
                        walked = taken < size and happens(dice, tape, (size - taken) / (count - action))
                        taken += walked
                    elif kind_of_scheme == EACH:
                        hand = deals[deal, 3 * stage + kind]
                        inclusion = table[2 * stage + kind, hand, nodes[child, LABEL]]
                        walked = happens(dice, tape, inclusion)
                    if walked:
                        weight = 1.0 if probe else 1.0 / inclusion  # (*)
                        if nodes[child, KIND] == TERMINAL and not chained:  # a leaf needs no place in the list
                            buffer[slot] = weight * sign * _payoff(nodes, amount, matrices, deals, child, deal)
                            leaves += 1
                        else:
                            own = own_reach * buffer[start + action]
                            end = _append(ints, floats, end, child, at, deal, slot, weight, reach * inclusion, own)
                    elif probe:
                        buffer[slot] = sign * _probe(
                            nodes,
                            amount,
                            probability,
                            matrices,
                            roots,
                            continuation,
                            deal_range,
                            deal_cumulative,
                            deals,
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
                    else:
                        buffer[slot] = 0.0
        if following >= 0:
            if nodes[following, KIND] == TERMINAL and not chained:
                floats[at, VALUE] = sign * _payoff(nodes, amount, matrices, deals, following, deal)
                leaves += 1
            else:
                end = _append(ints, floats, end, following, at, deal, -1, 1.0, reach, own_reach)
        at += 1
    ends[2] += end - begin + leaves
    ends[0], ends[1] = end, buffered
    for position in range(end - 1, begin - 1, -1):
        if ints[position, ROLE] == OWN:
            start, count = ints[position, START], ints[position, ACTIONS]
            values = start + count
            value = 0.0
            for action in range(count):
                value += buffer[start + action] * buffer[values + action]
            floats[position, VALUE] = value
            over_reach = 1.0 / floats[position, SAMPLE_REACH]  # (**)
            for action in range(count):
                buffer[values + action] = (buffer[values + action] - value) * over_reach
        slot, parent = ints[position, SLOT], ints[position, PARENT]
        if slot >= 0:
            buffer[slot] = floats[position, WEIGHT] * floats[position, VALUE]
        elif parent >= 0:
            floats[parent, VALUE] = floats[position, VALUE]


@inlined
def absorb(
    ints: Int32Table,
    floats: Float,
    buffer: Float,
    visited: int,
    part: int,
    parts: int,
    at_once: bool,
    share: float,
    rule: Float,
    averaging: int,
    iteration: int,
    regret_sum: Float,
    regret_increment: Float,
    strategy_sum: Float,
    marks: Int64,
    touched: Int64,
) -> None:
    """Add what traversals met to the tables; of the tables, only the entries of one part (for threads).

    ``at_once`` updates regrets under the rule now (one traversal an iteration); otherwise regrets are summed in
    ``regret_increment`` until the batch is complete. Averaging (G12 line 27, or DN19 Algorithm 3): the
    opponent's infosets get their strategy over the traverser's sample reach; or the traverser's get own reach x strategy,
    once per infoset and iteration. ``touched`` lists the traverser's infosets met: its length, then entry,
    stride and actions of each.
    """
    for position in range(visited):
        role, entry = ints[position, ROLE], ints[position, ENTRY]
        if role == PASSES or (parts > 1 and (entry >> 6) % parts != part):
            continue
        start, count, stride = ints[position, START], ints[position, ACTIONS], ints[position, ENTRY_STRIDE]
        if role == OWN:
            first_visit = True
            if at_once:
                for action in range(count):
                    k = entry + action * stride
                    increment = buffer[start + count + action]
                    regret_sum[k] = updated(regret_sum[k], increment, rule[0], rule[1], rule[2], rule[3])
            else:
                first_visit = marks[entry] != iteration
                if first_visit:
                    marks[entry] = iteration
                    place = 1 + 3 * touched[0]
                    touched[place], touched[place + 1], touched[place + 2] = entry, stride, count
                    touched[0] += 1
                for action in range(count):
                    regret_increment[entry + action * stride] += share * buffer[start + count + action]
            if averaging == OWN_REACH_AVERAGING and first_visit:
                weight = rule[6] * floats[position, OWN_REACH]
                for action in range(count):
                    strategy_sum[entry + action * stride] += weight * buffer[start + action]
        elif averaging == STOCHASTIC:
            weight = rule[6] * share / floats[position, SAMPLE_REACH]
            for action in range(count):
                strategy_sum[entry + action * stride] += weight * buffer[start + action]
