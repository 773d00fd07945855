"""Random games with chance, hidden information and perfect recall, from a seed."""

from dataclasses import dataclass
from random import Random

from equipoise.games import CHANCE, TERMINAL, Game, State

Record = tuple[str, str]  # what each player has seen and done so far


@dataclass(frozen=True)
class RandomGame(Game):
    """A game of up to ``depth`` moves.

    Who moves, what is paid and what each player gets to see of a move are drawn per history. What a player has seen,
    and its own actions in between, is its infoset: so it never forgets. How many actions there are is drawn per
    infoset.
    """

    seed: int
    depth: int
    max_actions: int = 3
    secrecy: float = 0.5  # how often a move is hidden from a player

    @property
    def name(self) -> str:
        return f"random({self.seed},{self.depth},{self.max_actions},{self.secrecy})"

    def root(self) -> "RandomState":
        return RandomState(self, (), ("0", "1"))

    def draw(self, *of: object) -> Random:
        return Random(f"{self.seed} {of}")


@dataclass(frozen=True)
class RandomState(State):
    game: RandomGame
    history: tuple[int, ...]
    seen: Record

    @property
    def player(self) -> int:
        if len(self.history) == self.game.depth:
            return TERMINAL
        return self.game.draw("player", self.history).choice([0, 0, 0, 1, 1, 1, CHANCE, CHANCE, TERMINAL])

    def actions(self) -> range:
        if self.player == TERMINAL:
            return range(0)
        chosen_by = self.infoset_key() if self.player >= 0 else self.history
        return range(self.game.draw("actions", chosen_by).randint(1, self.game.max_actions))

    def chance_probabilities(self) -> list[float]:
        random = self.game.draw("chance", self.history)
        weights = [random.randint(1, 9) for _ in self.actions()]
        return [weight / sum(weights) for weight in weights]

    def child(self, action: int) -> "RandomState":
        random = self.game.draw("seen", self.history, action)
        first, second = (
            seen
            + (f"!{action}" if player == self.player else "")
            + ("" if random.random() < self.game.secrecy else random.choice("abc"))
            for player, seen in enumerate(self.seen)
        )
        return RandomState(self.game, (*self.history, action), (first, second))

    def infoset_key(self) -> str:
        return self.seen[self.player]

    def payoff(self) -> float:
        return float(self.game.draw("payoff", self.history).randint(-10, 10))
