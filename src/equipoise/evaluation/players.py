"""Who plays a match: saved policies, and simple opponents that need no solving.

A :class:`Player` says, for a history of the rules, with what probabilities it acts; it may use only what the acting
player sees. A :class:`ListedPlayer` can also write its strategy down for every infoset of a compiled game, a
:class:`LockstepPlayer` can be asked for many infosets of a poker game at once, a :class:`BoardPlayer` can be evaluated
over all boards, and a :class:`SpotPlayer` in spots. :func:`seated` finds out what somebody can; nobody else asks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from equipoise.errors import EquipoiseError, NotSupported
from equipoise.games import Game, State
from equipoise.games.betting import BettingState, legal_actions
from equipoise.games.poker import PokerGame
from equipoise.games.spots import Spot
from equipoise.policies import AnyPolicy
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.policies.policy import Policy, strategies_from_policy
from equipoise.policies.spot_policy import SpotPolicy
from equipoise.trees.best_response import Strategies
from equipoise.trees.betting_tree import BettingTree, betting_tree
from equipoise.trees.board_evaluator import BoardStrategy
from equipoise.trees.board_form import BoardForm, board_form
from equipoise.trees.fingerprint import described
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.situations import BettingStrategy, SituationStrategy
from equipoise.trees.spot_evaluator import SpotStrategy
from equipoise.trees.spot_form import SpotForm, spot_form
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

    def form_over(self, game: PokerGame) -> BoardForm:
        """Return the game's form, the one that the player has if it has one."""

    def strategy_over(self, form: BoardForm) -> BoardStrategy:
        """Return the player's strategy for both seats."""


@runtime_checkable
class SpotPlayer(Player, Protocol):
    """A player of spots whose strategy can be written down for some boards of a round."""

    def spot_form(self, game: Spot) -> SpotForm:
        """Return the spot's form, the one that the player has if it has one."""

    def strategy_in(self, form: SpotForm) -> SpotStrategy:
        """Return the player's strategy for both seats."""


@dataclass(frozen=True)
class QueriedPlayer:
    """A policy at play, infoset by infoset."""

    name: str
    policy: AnyPolicy

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

    def form_over(self, game: PokerGame) -> BoardForm:
        return self.policy.form

    def strategy_over(self, form: BoardForm) -> BoardStrategy:
        return self.policy.strategy.over(form)


@dataclass(frozen=True)
class SpotPolicyPlayer(QueriedPlayer):
    """A saved policy of a spot at play."""

    policy: SpotPolicy

    def spot_form(self, game: Spot) -> SpotForm:
        return self.policy.form

    def strategy_in(self, form: SpotForm) -> SpotStrategy:
        if self.policy.form is not form and described(self.policy.form.game) != described(form.game):
            raise NotSupported(f"the policies are of two spots: {self.policy.game} and {form.game.name}")
        return self.policy.strategy


_PLAYERS: dict[type, Callable[[str, Any], QueriedPlayer]] = {
    Policy: PolicyPlayer,
    HoldemPolicy: HoldemPlayer,
    SpotPolicy: SpotPolicyPlayer,
}


def player_of(name: str, policy: AnyPolicy) -> QueriedPlayer:
    """Return the player who plays by a policy."""
    return _PLAYERS[type(policy)](name, policy)


def _uniform(names: Sequence[str]) -> Sequence[float]:
    return [1.0 / len(names)] * len(names)


def _call(names: Sequence[str]) -> Sequence[float]:
    return _certain(_place_of_call(names), len(names))


def _fold(names: Sequence[str]) -> Sequence[float]:
    return _certain(0, len(names))


def _raise(names: Sequence[str]) -> Sequence[float]:
    return _certain(min(_place_of_call(names) + 1, len(names) - 1), len(names))


def _place_of_call(names: Sequence[str]) -> int:
    """Poker's actions are fold (when facing a bet), call or check, then the raises from smallest to largest."""
    return 1 if names[0] == "fold" else 0


def _certain(place: int, count: int) -> Sequence[float]:
    return [float(action == place) for action in range(count)]


def _names_in(form: SpotForm, state: BettingState) -> tuple[str, ...]:
    """Return the names of a decision's actions."""
    game = form.game
    return tuple(game.betting_action_name(state, action) for action in legal_actions(game.betting, state))


def places_in(form: SpotForm, number: int, first: int, end: int, *, player: int) -> list[slice]:
    """Return where a player's entries lie when some boards of a round are written."""
    each = form.rounds[number]
    starts = each.boards.table_start[first:end, player] - each.boards.table_start[first, 0]
    sizes = each.boards.width[first:end, player] * each.entries[player]
    return [slice(int(a), int(a + size)) for a, size in zip(starts, sizes, strict=True)]


class BaselineInSpot:
    """A simple opponent as a strategy on a spot."""

    def __init__(self, form: SpotForm, probabilities: Callable[[Sequence[str]], Sequence[float]]) -> None:
        self._form = form
        self._entries: list[tuple[Float, Float]] = []
        for each in form.rounds:
            both = np.zeros(each.entries[0]), np.zeros(each.entries[1])
            for node, state in enumerate(each.states):
                names = _names_in(form, state)
                row = int(each.betting.node_row[node]) - each.betting.roots
                both[state.player][row : row + len(names)] = probabilities(names)
            self._entries.append(both)

    def write(self, number: int, first: int, end: int, out: Float) -> None:
        """Write weights of all actions on some boards of a round."""
        for player in range(2):
            entries = self._entries[number][player]
            for part in places_in(self._form, number, first, end, player=player):
                out[part] = np.repeat(entries, (part.stop - part.start) // max(1, len(entries)))


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

    def form_over(self, game: PokerGame) -> BoardForm:
        return board_form(game)

    def strategy_over(self, form: BoardForm) -> BoardStrategy:
        tree = betting_tree(form.game)
        return BettingStrategy(tree, self._table(tree), form)

    def spot_form(self, game: Spot) -> SpotForm:
        return spot_form(game)

    def strategy_in(self, form: SpotForm) -> SpotStrategy:
        return BaselineInSpot(form, self.probabilities)

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
        Baseline("always-fold", "folds to every bet, else checks", True, _fold),
        Baseline("always-call", "checks and calls, whatever it holds", True, _call),
        Baseline("always-raise", "makes the smallest bet or raise there is, else calls", True, _raise),
    )
}


@dataclass(frozen=True, kw_only=True)
class Seat:
    """Somebody at the table: what can be asked of the player. What is None cannot be."""

    player: Player
    listed: ListedPlayer | None
    lockstep: LockstepPlayer | None
    over_boards: BoardPlayer | None
    in_spots: SpotPlayer | None
    policy: AnyPolicy | None  # that the player plays by

    @property
    def name(self) -> str:
        """Return what results and logs call the player."""
        return self.player.name


def seated(player: Player) -> Seat:
    """Return what can be asked of a player."""
    return Seat(
        player=player,
        listed=player if isinstance(player, ListedPlayer) else None,
        lockstep=player if isinstance(player, LockstepPlayer) else None,
        over_boards=player if isinstance(player, BoardPlayer) else None,
        in_spots=player if isinstance(player, SpotPlayer) else None,
        policy=player.policy if isinstance(player, QueriedPlayer) else None,
    )


T = TypeVar("T")


def both(first: T | None, second: T | None) -> tuple[T, T] | None:
    """Return a pair, or None if either is missing."""
    return None if first is None or second is None else (first, second)
