"""From our policies to OpenSpiel's and back: both games are walked side by side, so that infosets match by history."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from equipoise.errors import MissingPackage, NotSupported
from equipoise.games import TERMINAL, Game, State, as_game
from equipoise.policies.policy import Policy, policy_from_strategies
from equipoise.trees.compile import compile_game


class SpielPolicy(Protocol):
    """A policy of OpenSpiel's: a ``TabularPolicy``, or any other ``Policy``."""

    game: Any

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """Return the probability of each action at a state of OpenSpiel's."""


def to_open_spiel(policy: Policy) -> Any:
    """Return an OpenSpiel ``TabularPolicy`` that plays like ``policy``."""
    pyspiel, spiel_policies = _open_spiel()
    game = policy.rules
    name = game.open_spiel_name()
    if name is None:
        raise NotSupported(f"OpenSpiel has no game like {policy.game}; export to json or csv instead")
    try:
        spiel = pyspiel.load_game(name)
    except Exception:
        raise NotSupported(f"{policy.game} says it is OpenSpiel's {name}, which OpenSpiel cannot load") from None
    tabular = spiel_policies.TabularPolicy(spiel)
    seen = set()
    for ours, theirs, their_actions in _walked(game, spiel):
        their_key = theirs.information_state_string()
        if their_key in seen:
            continue
        seen.add(their_key)
        row = tabular.policy_for_key(their_key)
        row[:] = 0.0
        for action, probability in zip(their_actions, policy.at(ours).values(), strict=True):
            row[action] = probability
    return tabular


def from_open_spiel(policy: SpielPolicy, game: Game | str | None = None) -> Policy:
    """Return a policy of OpenSpiel's as one of ours: of its own game (``open_spiel:...``), or of ``game``.

    The game must have the same rules, as ``leduc_poker`` has those of OpenSpiel's.
    """
    _open_spiel()
    ours = as_game(f"open_spiel:{policy.game}" if game is None else game)
    form = compile_game(ours)
    found: dict[tuple[int, str], Sequence[float]] = {}
    for state, theirs, their_actions in _walked(ours, policy.game):
        place = (state.player, state.infoset_key())
        if place not in found:
            shares = policy.action_probabilities(theirs, theirs.current_player())
            found[place] = [float(shares.get(action, 0.0)) for action in their_actions]
    strategies = []
    for player, plex in enumerate(form.treeplexes):
        sequences, first = plex.sequence_table()
        strategy = np.ones(plex.num_sequences)
        for infoset, key in enumerate(form.keys(player)):
            told = found.get((player, key))
            told = found[player, key.removeprefix(f"P{player}|")] if told is None else told
            strategy[sequences[first[infoset] : first[infoset + 1]]] = told
        strategies.append(strategy)
    made = policy_from_strategies(form, (strategies[0], strategies[1]), {"imported_from": type(policy).__name__})
    for key, played in made.items():
        if not (abs(sum(played.values()) - 1.0) <= 1e-6 and min(played.values()) >= 0.0):
            raise NotSupported(f"the policy's probabilities at '{key}' do not add up to 1: {dict(played)}")
    return made


def _open_spiel() -> tuple[Any, Any]:
    try:
        import pyspiel
        from open_spiel.python import policy as spiel_policies
    except ImportError:
        raise MissingPackage("OpenSpiel is not installed; install it by: pip install 'equipoise[spiel]'") from None
    return pyspiel, spiel_policies


def _walked(game: Game, spiel: Any) -> Iterator[tuple[State, Any, list[int]]]:
    """Walk both games side by side, and yield each decision: our state, OpenSpiel's, and OpenSpiel's actions."""
    stack = [(game.root(), spiel.new_initial_state())]
    while stack:
        ours, theirs = stack.pop()
        if (ours.player == TERMINAL) != theirs.is_terminal():
            raise NotSupported(f"{game.address} and OpenSpiel's {spiel} end at different histories")
        if ours.player == TERMINAL:
            continue
        actions = list(ours.actions())
        their_actions = [a for a, _ in theirs.chance_outcomes()] if theirs.is_chance_node() else theirs.legal_actions()
        if len(actions) != len(their_actions) or (ours.player >= 0 and ours.player != theirs.current_player()):
            raise NotSupported(f"{game.address} and OpenSpiel's {spiel} have different actions at one history")
        if ours.player >= 0:
            yield ours, theirs, their_actions
        for action, their_action in zip(actions, their_actions, strict=True):
            stack.append((ours.child(action), theirs.child(their_action)))
