"""Sampling as in a textbook: what the estimators must amount to on average, and Monte Carlo CFR by recursion."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from equipoise.games import CHANCE, TERMINAL, Game, State
from tests.naive.cfr import NaiveCFR, normalised, regret_matching
from tests.naive.values import Policy, uniform_policy

# From the names of an infoset's actions and the strategy there to the probability that each action is walked.
Inclusion = Callable[[list[str], list[float]], list[float]]


@dataclass
class Expectations:
    """What one traversal of a player must find on average, by infoset key."""

    regret: Policy = field(default_factory=dict)  # the traverser's counterfactual regrets
    own_reach: dict[str, float] = field(
        default_factory=dict
    )  # the traverser's own probability of playing to its infosets
    visits: dict[str, float] = field(default_factory=dict)  # how likely a traversal meets the traverser's infosets
    # The opponent's infosets: the probability of all histories there, with the traverser's actions counted as certain.
    # By perfect recall this is a number that no strategy changes (chance alone) x the opponent's own reach.
    reach: dict[str, float] = field(default_factory=dict)
    chance: dict[str, float] = field(default_factory=dict)
    opponents_reach: dict[str, float] = field(default_factory=dict)


def exact_expectations(game: Game, policy: Policy, traverser: int, inclusion: Inclusion) -> Expectations:
    found = Expectations()
    twin = NaiveCFR(game, "cfr")
    twin.strategy = policy
    twin._walk(game.root(), traverser, 1.0, 1.0, found.regret, found.own_reach)

    def walk(state: State, chance: float, theirs: float, sample_reach: float) -> None:
        if state.player == TERMINAL:
            return
        if state.player == CHANCE:
            for action, p in zip(state.actions(), state.chance_probabilities(), strict=True):
                walk(state.child(action), chance * p, theirs, sample_reach)
            return
        key, probabilities = state.infoset_key(), policy[state.infoset_key()]
        if state.player == traverser:
            found.visits[key] = found.visits.get(key, 0.0) + chance * theirs * sample_reach
            walked = inclusion([state.action_name(action) for action in state.actions()], probabilities)
            for action, q in zip(state.actions(), walked, strict=True):
                walk(state.child(action), chance, theirs, sample_reach * q)
        else:
            found.reach[key] = found.reach.get(key, 0.0) + chance * theirs
            found.chance[key] = found.chance.get(key, 0.0) + chance
            found.opponents_reach[key] = theirs
            for action, p in zip(state.actions(), probabilities, strict=True):
                walk(state.child(action), chance, theirs * p, sample_reach)

    walk(game.root(), 1.0, 1.0, 1.0)
    return found


class NaiveRobustMCCFR:
    """Robust sampling (DN19 Algorithm 3), one traversal of each player in turn, stochastic averaging (G12 line 27).

    ``left_out="zero value"`` is the unbiased estimator: an action that is left out has the value 0, and so the regret
    -v. ``left_out="zero regret"`` is Algorithm 3 read literally: such an action gets no regret at all.
    """

    def __init__(self, game: Game, k: int, left_out: str, seed: int) -> None:
        self.game, self.k, self.left_out, self.random = game, k, left_out, Random(seed)
        self.regret_sum = {key: [0.0] * len(row) for key, row in uniform_policy(game).items()}
        self.strategy_sum = {key: [0.0] * len(row) for key, row in self.regret_sum.items()}

    def iterate(self) -> None:
        for player in range(2):
            self._walk(self.game.root(), player, 1.0)

    def average_policy(self) -> Policy:
        return normalised(self.strategy_sum)

    def _walk(self, state: State, player: int, sample_reach: float) -> float:
        """Return an estimate of the value to ``player``, unbiased given that the sample came here."""
        if state.player == TERMINAL:
            return state.payoff() if player == 0 else -state.payoff()
        actions = state.actions()
        if state.player == CHANCE:
            return self._walk(state.child(self._chosen(actions, state.chance_probabilities())), player, sample_reach)
        key = state.infoset_key()
        strategy = regret_matching(self.regret_sum[key])
        if state.player != player:
            sums = zip(self.strategy_sum[key], strategy, strict=True)
            self.strategy_sum[key] = [total + p / sample_reach for total, p in sums]
            return self._walk(state.child(self._chosen(actions, strategy)), player, sample_reach)
        size = min(self.k, len(actions))
        inclusion = size / len(actions)
        walked = self.random.sample(range(len(actions)), size)
        values = [
            self._walk(state.child(action), player, sample_reach * inclusion) / inclusion if number in walked else 0.0
            for number, action in enumerate(actions)
        ]
        value = sum(p * v for p, v in zip(strategy, values, strict=True))
        for number in range(len(actions)) if self.left_out == "zero value" else walked:
            self.regret_sum[key][number] += (values[number] - value) / sample_reach
        return value

    def _chosen(self, actions, probabilities) -> int:
        return self.random.choices(actions, probabilities)[0]
