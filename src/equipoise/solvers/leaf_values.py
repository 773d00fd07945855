"""What closings of a public tree are worth, by name: solved on, checked down, nothing. (Networks: public_values.py.)

Values are counterfactual, by (board, hand) after the deal, from both players' reach before it.
"""

from collections.abc import Callable

import numpy as np

from equipoise.games import TERMINAL
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.solvers.lookahead_cfr import LookaheadCFR, Pair
from equipoise.trees.leaf_values import LeafValues
from equipoise.trees.lookahead import Lookahead, PublicState, deal_after, lookahead, pulled_back
from equipoise.trees.treeplex import Float

ValuesOf = Callable[
    [Lookahead, Rule], LeafValues[Pair]
]  # made anew for each re-solve: they may keep what they have learnt


class ExactValues:
    """Solves on: CFR on all that follows, one iteration each time it is asked, from where it stopped the last time.

    So solving with it is solving the whole game, bit for bit, and its values are those of that iteration.
    """

    def __init__(self, look: Lookahead, rule: Rule) -> None:
        tree, deal = look.tree, deal_after(look.tree, look.stage)
        self._rule, self._deal = rule, deal
        self._places = [(k, group) for k, state in enumerate(look.closings) for group in deal.groups[state.group]]
        roots = [PublicState(int(tree.first_child[look.closings[k].node]), group) for k, group in self._places]
        after = lookahead(tree, roots)
        self._cfr = LookaheadCFR(after, rule, ExactValues(after, rule) if after.closings else None)
        self._shape = (len(look.closings), tree.stages[look.stage + 1].groups)

    def closings(self, entering: Pair, player: int, iteration: int) -> Float:
        closing, group = (np.array(each) for each in zip(*self._places, strict=True))
        first, second = (entering[p][closing[:, None], self._deal.source[p][group]] for p in range(2))
        self._cfr.enter((first, second))
        self._cfr.iteration = iteration
        self._cfr.turn(player, coefficient_table(self._rule, iteration, 1)[0])
        hands = self._cfr.look.arrays.hands[player]
        found = np.zeros((*self._shape, hands))
        found[closing, group] = self._cfr.work.gradient[player].reshape(-1, hands)[: len(closing)]
        return found.reshape(len(found), -1)


class CheckDownValues:
    """As if nobody bet any more: what a hand is worth in all showdowns."""

    def __init__(self, look: Lookahead, rule: Rule) -> None:
        tree = look.tree
        self._deal = deal_after(tree, look.stage)
        matrices, amounts = [], []
        for state in look.closings:
            end = state.node
            while tree.player[end] != TERMINAL:
                end = int(tree.first_child[end])  # a check, where nobody has bet, is the first action
            matrices.append(pulled_back(tree, end, look.stage + 1))
            amounts.append(float(tree.terminal_amount[end]))
        self._matrix, self._amount = matrices[0], np.array(amounts)
        assert all((matrix == self._matrix).all() for matrix in matrices)

    def closings(self, entering: Pair, player: int, iteration: int) -> Float:
        theirs = entering[1 - player][:, self._deal.source[1 - player]]
        found: Float = np.einsum("gij,kgj->kgi" if player == 0 else "gji,kgj->kgi", self._matrix, theirs)
        found *= (1.0 if player == 0 else -1.0) * self._amount[:, None, None]
        return found.reshape(len(found), -1)


class ZeroValues:
    """Nothing: as if the pot were shared out."""

    def __init__(self, look: Lookahead, rule: Rule) -> None:
        self._shape = (len(look.closings), tuple(look.tree.stages[look.stage + 1].width(p) for p in range(2)))

    def closings(self, entering: Pair, player: int, iteration: int) -> Float:
        closings, widths = self._shape
        return np.zeros((closings, widths[player]))


LEAF_VALUES: dict[str, ValuesOf] = {"exact": ExactValues, "check-down": CheckDownValues, "zero": ZeroValues}
