"""AIVAT hand by hand, as Burch et al. (2018) write it: a base value over all that could be held, and corrections.

A policy is a dictionary from infoset key to probabilities; values are a number per infoset key of the observer.
"""

from collections import defaultdict

from equipoise.games import CHANCE, TERMINAL, Game, State
from tests.naive.values import Policy, children

Sequence = tuple[str, int] | None  # the observer's last infoset and which action it took; None before its first


class NaiveAivat:
    """Estimates of the observer's payoff; ``own`` is the observer's strategy where it is known too."""

    def __init__(
        self, game: Game, observer: int, known: Policy, values: dict[str, float], own: Policy | None = None
    ) -> None:
        self.observer, self.values, self.own = observer, values, own
        self.reach: dict[str, float] = defaultdict(float)  # of an infoset, by chance and the known player
        self.before: dict[str, Sequence] = {}  # the sequence that leads to an infoset
        self.ends: dict[Sequence, list[tuple[float, float]]] = defaultdict(list)  # (reach, payoff) of hands that end
        self._walk(game.root(), 1.0, None, known)

    def _walk(self, state: State, reach: float, last: Sequence, known: Policy) -> None:
        if state.player == TERMINAL:
            self.ends[last].append((reach, state.payoff() * (1 if self.observer == 0 else -1)))
        elif state.player == self.observer:
            key = state.infoset_key()
            self.reach[key] += reach
            self.before[key] = last
            for place, action in enumerate(state.actions()):
                self._walk(state.child(action), reach, (key, place), known)
        else:
            for child, probability in children(state, known):
                self._walk(child, reach * probability, last, known)

    def base_value(self, last: Sequence) -> float:
        """Return the mean payoff of all hands that look like this one to the observer at its end."""
        total = sum(reach for reach, _ in self.ends[last])
        return sum(reach * payoff for reach, payoff in self.ends[last]) / total if total > 0 else 0.0

    def expectation(self, last: Sequence) -> float:
        """Return what is expected where the observer has just acted: the end, or one of its next infosets."""
        ending = sum(reach for reach, _ in self.ends[last])
        following = [key for key, sequence in self.before.items() if sequence == last]
        total = ending + sum(self.reach[key] for key in following)
        worth = ending * self.base_value(last) + sum(self.reach[key] * self.values[key] for key in following)
        return worth / total if total > 0 else 0.0

    def estimate(self, decisions: list[tuple[str, int]]) -> float:
        """Return the estimate of a hand in which the observer took these actions at these infosets."""
        last: Sequence = None
        corrections = 0.0
        for key, place in decisions:
            corrections += self.expectation(last) - self.values[key]  # what chance and the known player did
            if self.own is not None:  # what the observer itself did
                mean = sum(p * self.expectation((key, a)) for a, p in enumerate(self.own[key]) if p > 0)
                corrections += mean - self.expectation((key, place))
            last = (key, place)
        corrections += self.expectation(last) - self.base_value(last)
        return self.base_value(last) + corrections


def all_hands(game: Game, seats: tuple[Policy, Policy]) -> list[tuple[State, float, list[tuple[int, str, int]]]]:
    """Return every hand that can happen: its end, its probability, and each decision as (player, key, place)."""
    found = []

    def walk(state: State, probability: float, decisions: list[tuple[int, str, int]]) -> None:
        if state.player == TERMINAL:
            found.append((state, probability, decisions))
            return
        policy = {} if state.player == CHANCE else seats[state.player]
        for place, (child, p) in enumerate(children(state, policy)):
            if p > 0:
                step = [] if state.player == CHANCE else [(state.player, state.infoset_key(), place)]
                walk(child, probability * p, decisions + step)

    walk(game.root(), 1.0, [])
    return found
