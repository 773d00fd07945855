"""A game of one's own in one file: matching pennies in which player 1 may see player 0's coin (a fair chance).
Use it as `equipoise solve python:examples/own_game.py`, from any folder, or as below."""

from dataclasses import dataclass

import equipoise


@dataclass(frozen=True, slots=True)
class PeekState(equipoise.State):
    moves: tuple[int, ...] = ()  # player 0's coin, whether player 1 peeks, player 1's coin

    @property
    def player(self):
        return (0, equipoise.CHANCE, 1, equipoise.TERMINAL)[len(self.moves)]

    def actions(self):
        return () if self.player == equipoise.TERMINAL else (0, 1)

    def child(self, action):
        return PeekState((*self.moves, action))

    def infoset_key(self):
        return "first" if self.player == 0 else f"saw {self.moves[0]}" if self.moves[1] else "blind"

    def payoff(self):
        return 1.0 if self.moves[0] != self.moves[2] else -1.0


class Peek(equipoise.Game):
    name = "peek"

    def root(self):
        return PeekState()


if __name__ == "__main__":
    print(equipoise.solve(Peek(), iterations=1000).value, "is close to -1/2")
