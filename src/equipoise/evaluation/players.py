"""Who plays a match: saved policies, and simple opponents that need no solving.

A :class:`Player` says, for a history of the rules, with what probabilities it acts; it may use only what the acting
player sees. A :class:`ListedPlayer` can also write its strategy down for every infoset of a compiled game, a
:class:`LockstepPlayer` can be asked for many infosets of a poker game at once, and a :class:`BoardPlayer` can be
evaluated over all boards.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from equipoise.errors import EquipoiseError, NotSupported
from equipoise.games import Game, State
from equipoise.games.poker import PokerGame
from equipoise.games.spots import Spot
from equipoise.policies import AnyPolicy
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.policies.policy import Policy, strategies_from_policy
from equipoise.policies.spot_policy import SpotPolicy
from equipoise.trees.best_response import Strategies
from equipoise.trees.betting_tree import BettingTree, betting_tree
from equipoise.trees.board_evaluator import BoardStrategy
from equipoise.trees.board_form import BoardForm
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.situations import BettingStrategy, SituationStrategy
from equipoise.trees.treeplex import Float, normalised


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


@runtime_checkable
class LockstepPlayer(Player, Protocol):
    """A player of poker who can be asked for many infosets at once."""

    def strategy_on(self, tree: BettingTree) -> SituationStrategy:
        """Return the player's strategy for both seats."""


@runtime_checkable
class BoardPlayer(LockstepPlayer, Protocol):
    """A player of a game over boards whose strategy can be written down for all of them, board after board."""

    def strategy_over(self, form: BoardForm) -> BoardStrategy:
        """Return the player's strategy for both seats."""


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
        return self._fitting(self.policy.action_probabilities(state.infoset_key()), state)

    def _fitting(self, found: dict[str, float], state: State) -> Sequence[float]:
        if len(found) != len(state.actions()):
            key = state.infoset_key()
            raise NotSupported(
                f"{self.name} has {len(found)} actions at '{key}', but the game has {len(state.actions())} there"
            )
        return list(found.values())


@dataclass(frozen=True)
class PolicyPlayer(QueriedPlayer):
    """A saved policy at play."""

    policy: Policy

    def action_probabilities(self, state: State) -> Sequence[float]:
        return self._fitting(self.policy.at(state), state)

    def strategies(self, form: SequenceForm) -> Strategies:
        try:
            first, second = strategies_from_policy(form, self.policy)
        except EquipoiseError as error:
            raise type(error)(f"{self.name}: {error}") from None
        return normalised(form.treeplexes[0], first), normalised(form.treeplexes[1], second)


@dataclass(frozen=True)
class HoldemPlayer(QueriedPlayer):
    """A saved policy of hold'em at play; over boards, where its game is one for that."""

    policy: HoldemPolicy

    def strategy_on(self, tree: BettingTree) -> SituationStrategy:
        return self.policy.strategy

    def strategy_over(self, form: BoardForm) -> BoardStrategy:
        return self.policy.strategy.over(form)


def player_of(name: str, policy: AnyPolicy) -> "QueriedPlayer":
    """Return the player who plays by a policy."""
    if isinstance(policy, SpotPolicy):
        return QueriedPlayer(name, policy)
    return HoldemPlayer(name, policy) if isinstance(policy, HoldemPolicy) else PolicyPlayer(name, policy)


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

    def strategy_on(self, tree: BettingTree) -> SituationStrategy:
        return BettingStrategy(tree, self._table(tree))

    def strategy_over(self, form: BoardForm) -> BoardStrategy:
        tree = betting_tree(form.game)
        return BettingStrategy(tree, self._table(tree), form)

    def _table(self, tree: BettingTree) -> Float:
        table = np.zeros((tree.num_nodes, tree.num_columns))
        for node, state in enumerate(tree.states):
            if not state.finished:
                table[node, tree.legal[node]] = self.probabilities(tree.action_names(node))
        return table

    def check(self, game: Game) -> None:
        """Refuse a game that the baseline cannot play."""
        if self.poker_only and not isinstance(game, PokerGame | Spot):
            raise NotSupported(f"{self.name} plays poker only, and {game.name} is not poker; use uniform")


BASELINES = {
    baseline.name: baseline
    for baseline in (
        Baseline("uniform", "every legal action equally likely", False, _uniform),
        Baseline("always-call", "checks and calls, whatever it holds", True, _call),
        Baseline("always-raise", "makes the smallest bet or raise there is, else calls", True, _raise),
    )
}
