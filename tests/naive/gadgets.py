"""A part of a poker game as a game of its own, by rules: ranges at a public state, and a gadget for one player.

For the linear program: slow, and written without the look-aheads that it is compared with.
"""

from dataclasses import dataclass

import numpy as np

from equipoise.games import CHANCE, TERMINAL, Game, State
from equipoise.games.poker import PokerState


@dataclass(frozen=True)
class PartOfPoker(Game):
    """The game from some betting and board on. ``weights`` is chance x both reaches, by hands of both players."""

    poker: Game
    betting: object
    board: tuple
    weights: object  # [hands, hands]
    opponent: int = -1
    gadget: str = "none"
    values: object = None  # counterfactual, of the opponent's hands

    name = "part of a poker game"

    def root(self):
        return PartState(self, "dealing", ())

    def mass(self, hand):
        return self.weights.sum(axis=1 - self.opponent)[hand]


@dataclass(frozen=True)
class PartState(State):
    part: PartOfPoker
    step: str  # dealing, choosing (maxmargin), deciding (cfrd), taken, playing
    hands: tuple
    inner: object = None

    @property
    def player(self):
        if self.step == "dealing":
            return self.part.opponent if self.part.gadget == "maxmargin" and not self.hands else CHANCE
        if self.step == "deciding":
            return self.part.opponent
        return TERMINAL if self.step == "taken" else self.inner.player

    def _pairs(self):
        weights = self.part.weights
        if self.part.gadget == "maxmargin":
            own = weights[:, self.hands[0]] if self.part.opponent == 1 else weights[self.hands[0]]
            other = np.flatnonzero(own)
            pairs = [(int(h), self.hands[0]) if self.part.opponent == 1 else (self.hands[0], int(h)) for h in other]
            return pairs, own[other] / own.sum()
        pairs = [tuple(map(int, pair)) for pair in np.argwhere(weights > 0.0)]
        return pairs, np.array([weights[pair] for pair in pairs]) / weights.sum()

    def actions(self):
        if self.step == "dealing":
            if self.player == CHANCE:
                return list(range(len(self._pairs()[0])))
            return [int(h) for h in np.flatnonzero(self.part.weights.sum(axis=1 - self.part.opponent))]
        if self.step == "deciding":
            return [0, 1]
        return self.inner.actions()

    def chance_probabilities(self):
        return list(self._pairs()[1]) if self.step == "dealing" else self.inner.chance_probabilities()

    def child(self, action):
        part = self.part
        if self.step == "dealing" and self.player != CHANCE:
            return PartState(part, "dealing", (action,))
        if self.step == "dealing":
            hands = self._pairs()[0][action]
            inner = PokerState(part.poker, hands, part.board, part.betting)
            return PartState(part, "deciding" if part.gadget == "cfrd" else "playing", hands, inner)
        if self.step == "deciding":
            return PartState(part, "playing" if action else "taken", self.hands, self.inner)
        return PartState(part, "playing", self.hands, self.inner.child(action))

    def infoset_key(self):
        if self.step == "dealing":
            return "choosing"
        return f"take {self.hands[self.part.opponent]}" if self.step == "deciding" else self.inner.infoset_key()

    def action_name(self, action):
        return str(action)

    def _given(self):
        hand = self.hands[self.part.opponent]
        sign = 1.0 if self.part.opponent == 0 else -1.0
        return sign * self.part.values[hand] / self.part.mass(hand)

    def payoff(self):
        if self.step == "taken":
            return self._given()
        return self.inner.payoff() - (self._given() if self.part.gadget == "maxmargin" else 0.0)
