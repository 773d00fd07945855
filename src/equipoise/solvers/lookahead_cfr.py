"""CFR on a look-ahead: both players' ranges at a public state, or one player's range and a gadget for the other's.

One turn of a player (updates alternate): both plans go down by regret matching; ends of the game pay; what closings are
worth, by hand after the deal, is asked of leaf values (trees/leaf_values.py); values go up, and regrets and averages
are updated by a rule.

A gadget (gadgets.py) may stand before the root.
"""

from typing import NamedTuple

import numpy as np

from equipoise.compiled import inlined, uncounted
from equipoise.regret.blocks import add_regrets, add_to_average
from equipoise.regret.matching import UNIFORM, match_block
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.solvers.gadgets import MODES, Entrance, Gadget, begin, enter_by_gadget, make_entrance
from equipoise.trees.leaf_values import LeafValues
from equipoise.trees.lookahead import Lookahead, LookaheadArrays
from equipoise.trees.treeplex import Float

Pair = tuple[Float, Float]


class _Work(NamedTuple):
    """What the iterations change. Rows by player; the opponent's gadget."""

    strategy: Pair  # [(rows - roots) x hands]
    regret: Pair
    average: Pair
    plan: Pair  # [rows x hands]
    gradient: Pair
    value: Float  # [hands] scratch
    totals: Float  # [hands] scratch
    noted: Float  # [decisions x hands] sums of what decisions are worth to the acting player
    root_noted: Pair  # [roots x hands] sums of what the roots are worth
    entrance: Entrance


@inlined
def _write_plan(look: LookaheadArrays, player: int, strategy: Float, plan: Float) -> None:
    betting, hands = look.betting, look.hands[player]
    for node in range(betting.node_player.size):
        if betting.node_player[node] == player:
            row, before = betting.node_row[node], betting.node_before[node] * hands
            for action in range(betting.node_actions[node]):
                out, source = (row + action) * hands, (row - betting.roots + action) * hands
                for j in range(hands):
                    plan[out + j] = strategy[source + j] * plan[before + j]


@inlined
def _pay(look: LookaheadArrays, player: int, plan: Float, gradient: Float) -> None:
    """Write what each of a player's rows is worth by the ends of the game, from the opponent's plan."""
    gradient[:] = 0.0
    first, second = look.hands
    for leaf in range(look.leaf_amount.size):
        amount, matrix = look.leaf_amount[leaf], look.matrices[look.leaf_matrix[leaf]]
        if player == 0:
            own, theirs = look.leaf_row[0, leaf] * first, look.leaf_row[1, leaf] * second
            for i in range(first):
                total = 0.0
                for j in range(second):
                    total += matrix[i, j] * plan[theirs + j]
                gradient[own + i] += amount * total
        else:
            own, theirs = look.leaf_row[1, leaf] * second, look.leaf_row[0, leaf] * first
            for i in range(first):
                reach = amount * plan[theirs + i]
                for j in range(second):
                    gradient[own + j] -= matrix[i, j] * reach


@inlined
def _go_down(look: LookaheadArrays, player: int, work: _Work) -> None:
    for p in range(2):
        _write_plan(look, p, work.strategy[p], work.plan[p])
    _pay(look, player, work.plan[1 - player], work.gradient[player])


@inlined
def _go_up(look: LookaheadArrays, player: int, rule: Float, work: _Work) -> None:
    betting, hands = look.betting, look.hands[player]
    strategy, regret, gradient, value = work.strategy[player], work.regret[player], work.gradient[player], work.value
    for node in range(betting.node_player.size - 1, -1, -1):
        if betting.node_player[node] == player:
            actions, row, before = betting.node_actions[node], betting.node_row[node], betting.node_before[node] * hands
            first, end = (row - betting.roots) * hands, (row - betting.roots + actions) * hands
            worth = gradient[row * hands : (row + actions) * hands]
            add_regrets(actions, hands, rule, worth, strategy[first:end], regret[first:end], value)
            match_block(strategy, first, actions, hands, work.totals, UNIFORM)
            for j in range(hands):
                gradient[before + j] += value[j]
                place = node * work.value.size + j
                work.noted[place] = rule[5] * work.noted[place] + rule[6] * value[j]
    start = betting.roots * hands
    add_to_average(rule, work.plan[player][start:], work.average[player])
    add_to_average(rule, gradient[:start], work.root_noted[player])


@inlined
def _enter_next(look: LookaheadArrays, mode: int, opponent: int, rule: Float, work: _Work) -> None:
    """Update the gadget after the opponent's turn, and write with what reach it enters next."""
    enter_by_gadget(mode, look.hands[opponent], rule, work.gradient[opponent], work.entrance, work.plan[opponent])


@uncounted
def _down(look: LookaheadArrays, player: int, work: _Work) -> None:
    _go_down(look, player, work)


@uncounted
def _up(look: LookaheadArrays, mode: int, opponent: int, player: int, rule: Float, work: _Work) -> None:
    _go_up(look, player, rule, work)
    if player == opponent:
        _enter_next(look, mode, opponent, rule, work)


@uncounted
def _iterations(look: LookaheadArrays, mode: int, opponent: int, rules: Float, work: _Work) -> None:
    """Run iterations of a look-ahead without closings: they are too short for calls of their own."""
    for iteration in range(rules.shape[0]):
        for player in range(2):
            _go_down(look, player, work)
            _go_up(look, player, rules[iteration], work)
            if player == opponent:
                _enter_next(look, mode, opponent, rules[iteration], work)


class LookaheadCFR:
    """CFR on a look-ahead. ``enter`` says with what reach the players enter; then come iterations."""

    def __init__(self, look: Lookahead, rule: Rule, values: LeafValues[Pair] | None = None) -> None:
        assert values is not None or not look.closings
        self.look = look
        self.rule = rule
        self.values = values
        self.iteration = 0
        self._mode, self._opponent = MODES["unsafe"], -1
        arrays, betting = look.arrays, look.arrays.betting
        widest = max(arrays.hands)
        sizes = [(int(betting.rows[p]) - betting.roots) * arrays.hands[p] for p in range(2)]

        def rows(full: bool) -> Pair:
            first, second = (np.zeros(sizes[p] + full * betting.roots * arrays.hands[p]) for p in range(2))
            return first, second

        self.work = _Work(
            strategy=rows(full=False),
            regret=rows(full=False),
            average=rows(full=False),
            plan=rows(full=True),
            gradient=rows(full=True),
            value=np.zeros(widest),
            totals=np.zeros(widest),
            noted=np.zeros(len(look.nodes) * widest),
            root_noted=(np.zeros(betting.roots * arrays.hands[0]), np.zeros(betting.roots * arrays.hands[1])),
            entrance=make_entrance(widest),
        )
        for place in range(len(look.nodes)):
            player, actions = int(betting.node_player[place]), int(betting.node_actions[place])
            self._block(self.work.strategy[player], place)[:] = 1.0 / actions
        self._weight = 0.0
        self._dealt: list[Float | None] = [None, None]  # sums of what closings are worth, by hands after the deal

    def enter(self, reach: Pair) -> None:
        """Let both players enter the roots with some reach, [roots x hands] each."""
        for player in range(2):
            self.work.plan[player][: reach[player].size] = reach[player].ravel()

    def enter_by(self, gadget: Gadget, own: int, reach: Pair, values: Float) -> None:
        """Enter the only root: the own player by its reach, the opponent by a gadget with some values."""
        self.enter(reach)
        self._mode, self._opponent = MODES[gadget], 1 - own
        hands, entrance = self.look.arrays.hands[1 - own], self.work.entrance
        probability = self.look.tree.stages[self.look.stage].probability[self.look.roots[0].group]
        entrance.given[:hands] = values
        entrance.mass[:hands] = reach[own] @ (probability if own == 0 else probability.T)
        begin(gadget, hands, entrance, self.work.plan[1 - own])

    def run(self, iterations: int) -> None:
        """Run some iterations."""
        rules = coefficient_table(self.rule, self.iteration + 1, iterations)
        if not self.look.closings:
            _iterations(self.look.arrays, self._mode, self._opponent, rules, self.work)
            self.iteration += iterations
            for rule in rules:
                self._weight = rule[5] * self._weight + rule[6]
            return
        for rule in rules:
            self.iteration += 1
            for player in range(2):
                self.turn(player, rule)
            self._weight = rule[5] * self._weight + rule[6]

    def turn(self, player: int, rule: Float) -> None:
        """Let a player take its turn of an iteration."""
        look, work = self.look, self.work
        _down(look.arrays, player, work)
        if self.values is not None:
            dealt = self.values.closings(self.entering(), player, self.iteration)
            total = self._dealt[player]
            self._dealt[player] = rule[6] * dealt if total is None else rule[5] * total + rule[6] * dealt
            self._add_closings(player, dealt)
        _up(look.arrays, self._mode, self._opponent, player, rule, work)

    def entering(self) -> Pair:
        """Return both players' reach of the closings."""
        first, second = (
            self.work.plan[p].reshape(-1, self.look.arrays.hands[p])[self.look.arrays.closing_row[p]] for p in range(2)
        )
        return first, second

    def _add_closings(self, player: int, dealt: Float) -> None:
        """Add what closings are worth to the rows that lead to them: a hand is worth what it is on all boards."""
        look = self.look
        hands, gradient = look.arrays.hands[player], self.work.gradient[player].reshape(-1, look.arrays.hands[player])
        source = look.tree.stages[look.stage + 1].previous[player] % hands
        for row, worth in zip(look.arrays.closing_row[player], dealt, strict=True):
            gradient[row] += np.bincount(source, worth, hands)

    def _block(self, rows: Float, decision: int) -> Float:
        """Return the part of an array of rows that belongs to a decision's actions, [actions, hands]."""
        betting = self.look.arrays.betting
        hands = self.look.arrays.hands[int(betting.node_player[decision])]
        first, actions = int(betting.node_row[decision]) - betting.roots, int(betting.node_actions[decision])
        return rows[first * hands : (first + actions) * hands].reshape(actions, hands)

    def average_at(self, decision: int) -> Float:
        """Return the average strategy of a decision, [actions, hands]; uniform where it has no weight."""
        sums = self._block(self.work.average[int(self.look.arrays.betting.node_player[decision])], decision)
        totals = sums.sum(axis=0)
        played: Float = np.where(totals > 0.0, sums / np.where(totals > 0.0, totals, 1.0), 1.0 / len(sums))
        return played

    def values_at(self, decision: int) -> Float:
        """Return what a decision was worth to the acting player's hands, in the mean over iterations."""
        widest = self.work.value.size
        hands = self.look.arrays.hands[int(self.look.arrays.betting.node_player[decision])]
        return self.work.noted[decision * widest : decision * widest + hands] / self._weight

    def root_values(self, player: int) -> Float:
        """Return what the roots were worth to a player's hands, in the mean over iterations, [roots, hands]."""
        return self.work.root_noted[player].reshape(-1, self.look.arrays.hands[player]) / self._weight

    def dealt_values(self, player: int) -> Float:
        """Return what closings were worth after the deal, in the mean over iterations, [closings, hands]."""
        total = self._dealt[player]
        assert total is not None
        return total / self._weight
