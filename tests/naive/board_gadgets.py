"""One board of two-round hold'em behind a gadget, by CFR hand by hand: every hand against every other, in plain Python.

The players' hands are classes of hands up to suits, as the gadget chooses among them, written out hand by hand.
"""

from math import comb

import numpy as np

from equipoise.games.betting import apply_action, legal_actions


class NaiveBoard:
    """CFR on a board for one opponent behind a gadget; ``classes`` is [hands], the number of each hand's class, and
    ``regret`` what regrets begin with, [actions, hands] by betting."""

    def __init__(self, game, board, roots, reach, opponent, gadget, given, rules, classes, regret):
        self.game, self.board, self.roots, self.rules = game, board, roots, rules
        self.hands = [hand for hand in game.hands if set(hand).isdisjoint(board)]
        strengths = [game.strength_of(hand, board) for hand in self.hands]
        self.beside = np.array([[float(set(a).isdisjoint(b)) for b in self.hands] for a in self.hands])
        order = np.sign(np.subtract.outer(strengths, strengths))
        self.won = order * self.beside
        self.others = comb(game.deck.size - 2 - len(board), 2)
        self.opponent, self.gadget, self.given, self.classes = opponent, gadget, given, classes
        self.entering = [[np.array(each, float) for each in reach[player]] for player in range(2)]
        self.mass = [self.beside @ own for own in self.entering[1 - opponent]]
        self.regret, self.sums, self.entry_regret = regret, {}, {}
        for root in range(len(roots)):
            self.entering[opponent][root] = self._entry(root)

    def _entry(self, root):
        """Return with what reach the opponent's hands enter."""
        count = self.classes.max() + 1
        regret = self.entry_regret.setdefault(root, np.zeros((2 if self.gadget == "cfrd" else 1, count)))
        if self.gadget == "cfrd":
            return self._matched(regret)[1][self.classes]
        chosen, sizes = self._matched(regret.T)[:, 0], np.bincount(self.classes)
        return np.where(self.mass[root] > 1e-9, (chosen / sizes)[self.classes] / np.maximum(self.mass[root], 1e-9), 0.0)

    @staticmethod
    def _matched(regret):
        positive = np.maximum(regret, 0.0)
        total = positive.sum(axis=0)
        return np.where(total > 0, positive / np.where(total > 0, total, 1), 1 / len(regret))

    def run(self):
        for rule in self.rules:
            for player in range(2):
                values = [
                    self._walk(state, player, self.entering[0][k], self.entering[1][k], rule)
                    for k, state in enumerate(self.roots)
                ]
                if player == self.opponent:
                    for root, worth in enumerate(values):
                        self._choose(root, worth, rule)

    def _choose(self, root, values, rule):
        first = [int(np.flatnonzero(self.classes == c)[0]) for c in range(self.classes.max() + 1)]
        sizes, given, worth = np.bincount(self.classes), self.given[root], values[first]
        if self.gadget == "cfrd":
            actions = np.array([sizes * given, sizes * worth])
            played = self._matched(self.entry_regret[root])
            increment = actions - (played * actions).sum(axis=0)
        else:
            mass = self.mass[root][first]
            gain = np.where(mass > 1e-9, (worth - given) / np.maximum(mass, 1e-9), np.inf)
            gain = np.where(np.isinf(gain), min(0.0, gain.min()), gain)
            played = self._matched(self.entry_regret[root].T)[:, 0]
            increment = (gain - played @ gain)[None]
        self._add(self.entry_regret[root], increment, rule)
        self.entering[self.opponent][root] = self._entry(root)

    @staticmethod
    def _add(regret, increment, rule):
        regret *= np.where(regret > 0, rule[0], rule[1])
        regret += rule[2] * increment
        np.maximum(regret, rule[3], out=regret)

    def _walk(self, state, player, first, second, rule):
        """Return what a state is worth to a player's hands, for the reach with which both come there."""
        theirs = (second, first)[player]
        if state.finished:
            amount = state.pot_share_at_risk() / self.others
            if state.folded >= 0:
                return (1 if state.folded != player else -1) * amount * (self.beside @ theirs)
            return amount * (self.won @ theirs)
        rules, actor = self.game.betting, state.player
        actions = legal_actions(rules, state)
        regret = self.regret[state.text]
        strategy = self._matched(regret)
        values = []
        for action, played in zip(actions, strategy, strict=True):
            reach = (first * played, second) if actor == 0 else (first, second * played)
            values.append(self._walk(apply_action(rules, state, action), player, *reach, rule))
        if actor != player:
            return sum(values)
        value = (strategy * values).sum(axis=0)
        sums = self.sums.setdefault(state.text, np.zeros_like(regret))
        sums *= rule[5]
        sums += rule[6] * strategy * (first, second)[player]
        self._add(regret, np.array(values) - value, rule)
        return value
