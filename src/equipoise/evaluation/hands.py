"""Hands as they were played: every event by the game's rules.

The compiled simulation records a hand as the deal and the end of each of its rounds; the way there is found by
following the tree's parents, and played again through the rules, which know what everything is called.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.games import CHANCE, TERMINAL, Game, State
from equipoise.games.poker import PokerGame
from equipoise.sampling.tree import SampledGame
from equipoise.trees.game_tree import GameTree
from equipoise.trees.public_tree import PublicTree


@dataclass(frozen=True, kw_only=True)
class Hand:
    """One hand: all actions in order, those of chance included, and the terminal state that they lead to."""

    game: Game
    number: int
    seat_of_a: int
    actions: tuple[int, ...]
    end: State

    def events(self) -> Iterator[tuple[State, int]]:
        """Yield every event: the state before it, and the action taken."""
        state = self.game.root()
        for action in self.actions:
            yield state, action
            state = state.child(action)

    def decisions(self) -> Iterator[tuple[State, int]]:
        """Yield the events that were players' choices."""
        return ((state, action) for state, action in self.events() if state.player != CHANCE)

    def payoff_to_a(self) -> float:
        """Return what A won."""
        return self.end.payoff() * (1.0 if self.seat_of_a == 0 else -1.0)

    def seats(self, players: tuple[str, str]) -> tuple[str, str]:
        """Return the names of A and B in the order of their seats."""
        return players if self.seat_of_a == 0 else (players[1], players[0])


def recorded_hands(game: SampledGame, records: npt.NDArray[np.int32], first_number: int) -> Iterator[Hand]:
    """Yield the hands of a simulation's records."""
    for pair, seats in enumerate(records):
        for seat, record in enumerate(seats):
            numbers = [int(number) for number in record if number >= 0]
            yield _played_again(game, numbers, number=first_number + 2 * pair + seat, seat_of_a=seat)


def _played_again(game: SampledGame, record: list[int], *, number: int, seat_of_a: int) -> Hand:
    source, public = game.public or game.histories, game.public
    assert source is not None, "games in buckets are played through the rules"
    chance: list[int] = []
    choices: list[int] = []  # places among a node's children
    for deal, end in zip(record[::2], record[1::2], strict=True):
        choices += _way_to(source, end, with_chance=public is None)
        if public is not None:
            chance += _dealt(game, public, deal, int(public.subgame[end]))
    state, taken = source.game.root(), []
    drawn, chosen = iter(chance), iter(choices)
    while state.player != TERMINAL:
        dealt = state.player == CHANCE and public is not None
        action = next(drawn) if dealt else state.actions()[next(chosen)]
        taken.append(action)
        state = state.child(action)
    return Hand(game=source.game, number=number, seat_of_a=seat_of_a, actions=tuple(taken), end=state)


def _way_to(source: GameTree | PublicTree, end: int, *, with_chance: bool) -> list[int]:
    """Return which child was taken at each node on the way; in a public tree, deals have one child and do not count."""
    way, node = [], end
    while (above := int(source.parent[node])) >= 0:
        if with_chance or source.player[above] != CHANCE:
            way.append(node - int(source.first_child[above]))
        node = above
    return way[::-1]


def _dealt(game: SampledGame, source: PublicTree, deal: int, subgame: int) -> list[int]:
    """Return a deal as the rules' chance actions: both private hands, then the board card of each later round."""
    row = game.tree.deals[deal * game.deal_width : (deal + 1) * game.deal_width]
    first = subgame if len(source.continuation) > 1 else 0
    outcomes = [int(row[3 * first]), int(row[3 * first + 1])]
    if isinstance(source.game, PokerGame):
        for stage in range(1, len(source.stages)):
            if source.game.board_cards[stage] > 0:
                outcomes.append(int(row[3 * stage]) // int(source.stages[stage].probability.shape[1]))
    return outcomes
