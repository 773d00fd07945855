"""Best responses in public trees that are too large for plans and gradients: node by node, with vectors on a stack.

Bluff(2,2) has 704 million (infoset, action) pairs; its tables of regrets and strategies fit in memory, but nothing
else of that size does. A depth-first walk needs only the vectors of hands along one path: the opponent's reach on the
way down, the player's values on the way up. Strategies are read from the table of sums, and normalised where they are
read.
"""

import numpy as np

from equipoise.compiled import kernel
from equipoise.games import TERMINAL
from equipoise.sampling.tree import AMOUNT, CHILDREN, FIRST, FIRST_CHILD, KIND, MATRIX, WIDTH, LargeForm, SampledTree
from equipoise.trees.best_response import BestResponses
from equipoise.trees.treeplex import Float, Int64

Pair = tuple[Float, Float]


@kernel
def _normalised_rows(sums: Float, first: int, hands: int, actions: int, out: Float) -> None:
    """Write the strategies of all hands at a node to ``out[hand, action]``; uniform where there is no weight."""
    for hand in range(hands):
        total = 0.0
        for action in range(actions):
            total += sums[first + hand * actions + action]
        for action in range(actions):
            out[hand, action] = sums[first + hand * actions + action] / total if total > 0.0 else 1.0 / actions


@kernel
def _subgame_value(
    tree: SampledTree,
    subgame: int,
    player: int,
    respond: bool,
    deal: Float,
    scale: float,
    shift: float,
    sums: Float,
    depth_limit: int,
) -> float:
    """Return the player's value of one subgame: of a best response, or of its own strategy, to the opponent's strategy.

    ``deal[own hand, opponent's hand]`` are the deal probabilities; a terminal pays scale x payoff + shift.
    """
    own_hands, their_hands = deal.shape
    most = tree.nodes[tree.roots[subgame] * WIDTH + CHILDREN] + 1  # bids only rise, so no node has more actions
    stack = np.zeros(depth_limit, np.int64)
    next_child = np.zeros(depth_limit, np.int64)
    reach = np.ones((depth_limit, their_hands))
    value = np.zeros((depth_limit, own_hands))
    strategy = np.zeros((depth_limit, max(own_hands, their_hands), most))
    stack[0] = tree.roots[subgame]
    depth = 0
    entering = True
    while depth >= 0:
        node = stack[depth]
        row = node * WIDTH
        kind, count = tree.nodes[row + KIND], tree.nodes[row + CHILDREN]
        if entering:
            next_child[depth] = 0
            if kind == TERMINAL:
                amount = tree.amounts[node * (WIDTH // 2) + AMOUNT] * (1.0 if player == 0 else -1.0) * scale
                cell = tree.nodes[row + MATRIX]
                for own in range(own_hands):
                    total = 0.0
                    for their in range(their_hands):
                        place = own * their_hands + their if player == 0 else their * own_hands + own
                        payoff = amount * tree.matrices[cell + place] + shift
                        total += payoff * deal[own, their] * reach[depth, their]
                    value[depth, own] = total
            else:
                if kind != player or not respond:
                    hands = own_hands if kind == player else their_hands
                    _normalised_rows(sums, tree.nodes[row + FIRST], hands, count, strategy[depth])
                for own in range(own_hands):
                    value[depth, own] = -np.inf if kind == player and respond else 0.0
        if kind == TERMINAL or next_child[depth] == count:
            if depth > 0:  # give the value to the node above
                above = depth - 1
                acting, action = tree.nodes[stack[above] * WIDTH + KIND], next_child[above] - 1
                for own in range(own_hands):
                    if acting != player:
                        value[above, own] += value[depth, own]
                    elif respond:
                        value[above, own] = max(value[above, own], value[depth, own])
                    else:
                        value[above, own] += strategy[above, own, action] * value[depth, own]
            depth -= 1
            entering = False
            continue
        action = next_child[depth]
        next_child[depth] += 1
        for their in range(their_hands):
            probability = strategy[depth, their, action] if kind != player else 1.0
            reach[depth + 1, their] = reach[depth, their] * probability
        stack[depth + 1] = tree.nodes[row + FIRST_CHILD] + action
        depth += 1
        entering = True
    return float(value[0].sum())


class LargeEvaluator:
    """Best responses by depth-first walks: no memory, some seconds for 34 million public nodes."""

    def __init__(self, form: LargeForm) -> None:
        self._tree, self._public = form.sampled.tree, form.public

    def best_responses(self, sums: Pair) -> BestResponses:
        """Return the exact value and best-response values of the strategies that are proportional to ``sums``."""
        table = sums[0].base if sums[0].base is not None else np.concatenate(sums)
        first, second = (self._value(player, respond=True, table=table) for player in range(2))
        return BestResponses(self._value(0, respond=False, table=table), (first, second))

    def _value(self, player: int, *, respond: bool, table: Float) -> float:
        continuation: Int64 = self._public.continuation.astype(np.int64)
        values: list[float] = []
        for subgame in range(len(continuation)):
            won, lost = continuation[subgame] if player == 0 else continuation[subgame][::-1]
            after_win, after_loss = (values[won] if won >= 0 else 1.0), (values[lost] if lost >= 0 else -1.0)
            stage = self._public.stages[subgame if len(continuation) > 1 else -1]
            deal = stage.probability[0] if player == 0 else stage.probability[0].T
            scale, shift = (after_win - after_loss) / 2, (after_win + after_loss) / 2
            depth_limit = int(self._tree.nodes[self._tree.roots[subgame] * WIDTH + CHILDREN]) + 3
            values.append(
                _subgame_value(
                    self._tree, subgame, player, respond, np.ascontiguousarray(deal), scale, shift, table, depth_limit
                )
            )
        return values[-1]
