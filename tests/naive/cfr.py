"""CFR as in a textbook: recursion, dictionaries, one update function with a branch for each variant."""

from equipoise.games import CHANCE, TERMINAL, Game, State
from tests.naive.values import Policy, uniform_policy

VARIANTS = ("cfr", "cfr+", "lcfr", "dcfr", "pcfr+")


def update(variant: str, t: int, regrets: list[float], increments: list[float]) -> tuple[list[float], list[float]]:
    """Return the regrets after iteration t = 1, 2, ..., and the scores that the next strategy is proportional to."""
    if variant == "lcfr":
        increments = [t * i for i in increments]
    new = [r + i for r, i in zip(regrets, increments, strict=True)]
    if variant in ("cfr+", "pcfr+"):
        new = [max(r, 0.0) for r in new]
    if variant == "dcfr":  # as printed: the sum is discounted after the increment went in
        new = [r * (t**1.5 / (t**1.5 + 1) if r > 0 else 0.5) for r in new]
    predicted = increments if variant == "pcfr+" else [0.0] * len(new)
    return new, [r + i for r, i in zip(new, predicted, strict=True)]


def average_weight(variant: str, t: int) -> float:
    return {"cfr": 1, "cfr+": t, "lcfr": t, "dcfr": t**2, "pcfr+": t**2}[variant]


def regret_matching(scores: list[float]) -> list[float]:
    positive = [max(score, 0.0) for score in scores]
    total = sum(positive)
    return [p / total for p in positive] if total > 0 else [1 / len(scores)] * len(scores)


def normalised(sums: Policy) -> Policy:
    return {key: regret_matching(weights) for key, weights in sums.items()}


class NaiveCFR:
    """Full-width CFR on a game's states; ``iterate`` updates player 0, then 1, or both at once."""

    def __init__(self, game: Game, variant: str, updates: str = "alternating") -> None:
        self.game, self.variant, self.updates, self.t = game, variant, updates, 0
        self.strategy = uniform_policy(game)
        self.regret_sum = {key: [0.0] * len(probabilities) for key, probabilities in self.strategy.items()}
        self.strategy_sum = {key: [0.0] * len(probabilities) for key, probabilities in self.strategy.items()}

    def iterate(self) -> None:
        self.t += 1
        for players in ((0,), (1,)) if self.updates == "alternating" else ((0, 1),):
            increments: Policy = {}
            own_reach: dict[str, float] = {}
            for player in players:
                self._walk(self.game.root(), player, 1.0, 1.0, increments, own_reach)
            for key, reach in own_reach.items():
                weight = average_weight(self.variant, self.t) * reach
                played = zip(self.strategy_sum[key], self.strategy[key], strict=True)
                self.strategy_sum[key] = [total + weight * p for total, p in played]
                self.regret_sum[key], scores = update(self.variant, self.t, self.regret_sum[key], increments[key])
                self.strategy[key] = regret_matching(scores)

    def average_policy(self) -> Policy:
        return normalised(self.strategy_sum)

    def _walk(
        self, state: State, player: int, own: float, others: float, increments: Policy, own_reach: dict[str, float]
    ) -> float:
        """Return the value to ``player`` from here on; add counterfactual regrets on the way."""
        if state.player == TERMINAL:
            return state.payoff() if player == 0 else -state.payoff()
        mine = state.player == player
        chances = state.chance_probabilities() if state.player == CHANCE else self.strategy[state.infoset_key()]
        values = [
            self._walk(
                state.child(action),
                player,
                own * p if mine else own,
                others if mine else others * p,
                increments,
                own_reach,
            )
            for action, p in zip(state.actions(), chances, strict=True)
        ]
        value = sum(p * v for p, v in zip(chances, values, strict=True))
        if mine:
            key = state.infoset_key()
            regrets = increments.setdefault(key, [0.0] * len(values))
            increments[key] = [r + others * (v - value) for r, v in zip(regrets, values, strict=True)]
            own_reach[key] = own
        return value
