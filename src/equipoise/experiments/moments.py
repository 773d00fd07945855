"""The exact variance of what a traversal finds, by a walk over all histories, scheme by scheme.

A traversal draws chance's and the opponent's action wherever it comes to one of their nodes, so what it finds below
different actions of the traverser's is independent, given which of them it walks. So means and mean squares of all
estimates follow from those of their children, and no sample has to be listed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from equipoise.games import CHANCE, TERMINAL, Game, State

Policy = Mapping[str, Sequence[float]]


class Inclusion(NamedTuple):
    """Which own actions of an infoset are walked: the probability of each, and of each pair."""

    each: Sequence[float]
    both: Callable[[int, int], float]


# From the names of an infoset's actions and the strategy there.
Walked = Callable[[Sequence[str], Sequence[float]], Inclusion]


def every_action(names: Sequence[str], strategy: Sequence[float]) -> Inclusion:
    """Walk all actions: external sampling."""
    return Inclusion([1.0] * len(names), lambda a, b: 1.0)


def one_action(epsilon: float) -> Walked:
    """Walk one action: outcome sampling, with ``epsilon`` of uniform play."""

    def walked(names: Sequence[str], strategy: Sequence[float]) -> Inclusion:
        each = [(1.0 - epsilon) * share + epsilon / len(names) for share in strategy]
        return Inclusion(each, lambda a, b: 0.0)

    return walked


def some_actions(k: int) -> Walked:
    """Walk ``k`` different actions: robust sampling (DN19 Eq. 11)."""

    def walked(names: Sequence[str], strategy: Sequence[float]) -> Inclusion:
        count = len(names)
        if k >= count:
            return every_action(names, strategy)
        return Inclusion([k / count] * count, lambda a, b: k * (k - 1) / (count * (count - 1)))

    return walked


def each_by_itself(always: Sequence[str], p: float = 0.5) -> Walked:
    """Walk named actions always, each other one with probability ``p`` (Gibson et al. 2012)."""

    def walked(names: Sequence[str], strategy: Sequence[float]) -> Inclusion:
        certain = [name.split(" ")[0] in always for name in names]
        each = [1.0 if sure or not any(certain) else p for sure in certain]
        return Inclusion(each, lambda a, b: each[a] * each[b])

    return walked


@dataclass
class Variances:
    """What one traversal's findings vary by."""

    root: float = 0.0  # of the value of the game to the traverser
    regrets: dict[tuple[str, int], float] = field(default_factory=dict)  # by infoset and action
    least: float = 1.0  # the smallest probability of the own actions' being walked, but for actions that never are

    @property
    def of_all_regrets(self) -> float:
        """Return the sum over all infosets and actions."""
        return sum(self.regrets.values())

    @property
    def largest(self) -> float:
        """Return the largest of an infoset and action: ``Var`` of Gibson et al. 2012, Theorem 2."""
        return max(self.regrets.values())


class _Found(NamedTuple):
    mean: float  # of the estimate below a node: the value of the node, where no action is left out for ever
    square: float  # its mean square
    rolled: float  # the mean square of a probe's payoff: one on-policy roll-out


def variances(game: Game, policy: Policy, traverser: int, walked: Walked, *, probe: bool = False) -> Variances:
    """Return the variance of a traverser's estimates at a fixed policy. ``probe`` is that of Gibson et al. 2012."""
    mean: dict[tuple[str, int], float] = {}
    square: dict[tuple[str, int], float] = {}
    least = 1.0

    def drawn(state: State, shares: Sequence[float], reach: float, sampled: float) -> _Found:
        found = [0.0, 0.0, 0.0]
        for action, share in zip(state.actions(), shares, strict=True):
            if share > 0.0:
                for place, number in enumerate(walk(state.child(action), reach * share, sampled)):
                    found[place] += share * number
        return _Found(*found)

    def own(state: State, reach: float, sampled: float) -> _Found:
        nonlocal least
        key, actions = state.infoset_key(), list(state.actions())
        strategy = policy[key]
        included = walked([state.action_name(action) for action in actions], strategy)
        children = [
            walk(state.child(action), reach, sampled * p) for action, p in zip(actions, included.each, strict=True)
        ]
        least = min([least, *(sampled * p for p in included.each if sampled * p > 0.0)])
        size = range(len(actions))
        # Estimates of the actions' values: their means, and the means of their products.
        means, products = [0.0 for _ in size], [[0.0 for _ in size] for _ in size]
        for a in size:
            p, child = included.each[a], children[a]
            if probe:
                means[a], products[a][a] = child.mean, p * child.square + (1.0 - p) * child.rolled
            elif p > 0.0:
                means[a], products[a][a] = child.mean, child.square / p
        for a in size:
            for b in size:
                if a == b:
                    continue
                apart = included.each[a] * included.each[b]
                together = 1.0 if probe else included.both(a, b) / apart if apart > 0.0 else 0.0
                products[a][b] = together * children[a].mean * children[b].mean
        value = sum(share * each for share, each in zip(strategy, means, strict=True))
        square_of_value = sum(strategy[a] * strategy[b] * products[a][b] for a in size for b in size)
        for a in size:
            across = sum(strategy[b] * products[a][b] for b in size)
            place = key, a
            mean[place] = mean.get(place, 0.0) + reach * (means[a] - value) * (sampled > 0.0)
            if sampled > 0.0:
                found = reach / sampled * (products[a][a] - 2.0 * across + square_of_value)
                square[place] = square.get(place, 0.0) + found
        rolled = sum(share * child.rolled for share, child in zip(strategy, children, strict=True))
        return _Found(value, square_of_value, rolled)

    def walk(state: State, reach: float, sampled: float) -> _Found:
        """``reach`` is chance's and the opponent's, ``sampled`` the probability of the own actions' being walked."""
        if state.player == TERMINAL:
            paid = state.payoff() if traverser == 0 else -state.payoff()
            return _Found(paid, paid * paid, paid * paid)
        if state.player == CHANCE:
            return drawn(state, state.chance_probabilities(), reach, sampled)
        if state.player != traverser:
            return drawn(state, policy[state.infoset_key()], reach, sampled)
        return own(state, reach, sampled)

    whole = walk(game.root(), 1.0, 1.0)
    regrets = {place: square.get(place, 0.0) - mean[place] ** 2 for place in mean}
    return Variances(whole.square - whole.mean**2, regrets, least)
