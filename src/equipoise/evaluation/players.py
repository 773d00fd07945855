"""Who plays a match: saved policies, and simple opponents that need no solving.

A :class:`Player` says, for a history of the rules, with what probabilities it acts; it may use only what the acting
player sees. A :class:`ListedPlayer` can also write its strategy down for every infoset of a compiled game.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.games import Game, State
from equipoise.games.poker import PokerGame
from equipoise.policies.policy import Policy, strategies_from_policy
from equipoise.trees.best_response import Strategies
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.treeplex import normalised


@runtime_checkable
class Player(Protocol):
    """Whoever can play a game by its rules."""

    @property
    def name(self) -> str:
        """Return what results and logs call the player."""

    def action_probabilities(self, state: State) -> Sequence[float]:
        """Return the probability of each of ``state.actions()``, from what the acting player knows."""


@runtime_checkable
class ListedPlayer(Player, Protocol):
    """A player whose strategy can be listed, infoset by infoset."""

    def strategies(self, form: SequenceForm) -> Strategies:
        """Return the player's strategies for both seats, in the form's order."""


class Queried(Protocol):
    """A policy that says what is played at an infoset, by its key."""

    @property
    def game(self) -> str:
        """Return the game's text."""

    def action_probabilities(self, infoset_key: str) -> dict[str, float]:
        """Return the probability of each action at an infoset."""


@dataclass(frozen=True)
class QueriedPlayer:
    """A policy at play, infoset by infoset: of a game too large to list it."""

    name: str
    policy: Queried

    def action_probabilities(self, state: State) -> Sequence[float]:
        key = state.infoset_key()
        found = self.policy.action_probabilities(key)
        if len(found) != len(state.actions()):
            raise EquipoiseError(
                f"{self.name} has {len(found)} actions at '{key}', and the game {len(state.actions())}"
            )
        return list(found.values())


@dataclass(frozen=True)
class PolicyPlayer(QueriedPlayer):
    """A saved policy at play."""

    policy: Policy

    def strategies(self, form: SequenceForm) -> Strategies:
        try:
            first, second = strategies_from_policy(form, self.policy)
        except EquipoiseError as error:
            raise EquipoiseError(f"{self.name}: {error}") from None
        return normalised(form.treeplexes[0], first), normalised(form.treeplexes[1], second)


def _uniform(names: Sequence[str]) -> Sequence[float]:
    return [1.0 / len(names)] * len(names)


def _call(names: Sequence[str]) -> Sequence[float]:
    return _certain(_place_of_call(names), len(names))


def _raise(names: Sequence[str]) -> Sequence[float]:
    return _certain(min(_place_of_call(names) + 1, len(names) - 1), len(names))


def _place_of_call(names: Sequence[str]) -> int:
    """Poker's actions are fold (when facing a bet), call or check, then the raises from smallest to largest."""
    return 1 if names[0] == "fold" else 0


def _certain(place: int, count: int) -> Sequence[float]:
    return [float(action == place) for action in range(count)]


@dataclass(frozen=True)
class Baseline:
    """An opponent that acts by the names of the legal actions alone."""

    name: str
    about: str
    poker_only: bool
    probabilities: Callable[[Sequence[str]], Sequence[float]]

    def action_probabilities(self, state: State) -> Sequence[float]:
        return self.probabilities([state.action_name(action) for action in state.actions()])

    def strategies(self, form: SequenceForm) -> Strategies:
        written = []
        for player, plex in enumerate(form.treeplexes):
            strategy = np.ones(plex.num_sequences)
            sequences, _ = plex.sequence_table()
            listed = [self.probabilities(names) for names in form.action_names(player)]
            strategy[sequences] = np.concatenate([np.zeros(0), *listed])
            written.append(strategy)
        return written[0], written[1]

    def check(self, game: Game) -> None:
        """Refuse a game that the baseline cannot play."""
        if self.poker_only and not isinstance(game, PokerGame):
            raise EquipoiseError(f"{self.name} plays poker only, and {game.name} is not poker; take uniform")


BASELINES = {
    baseline.name: baseline
    for baseline in (
        Baseline("uniform", "every legal action equally likely", False, _uniform),
        Baseline("always-call", "checks and calls, whatever it holds", True, _call),
        Baseline("always-raise", "makes the smallest bet or raise there is, else calls", True, _raise),
    )
}
