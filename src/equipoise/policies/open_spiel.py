"""From our policies to OpenSpiel's: both games are walked side by side, so that infosets are matched by history."""

from typing import Any

from equipoise.errors import MissingPackage, NotSupported
from equipoise.games import TERMINAL
from equipoise.policies.policy import Policy


def to_open_spiel(policy: Policy) -> Any:
    """Return an OpenSpiel ``TabularPolicy`` that plays like ``policy``."""
    try:
        import pyspiel
        from open_spiel.python import policy as spiel_policies
    except ImportError:
        raise MissingPackage("OpenSpiel is not installed; install it by: pip install 'equipoise[spiel]'") from None
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
    stack = [(game.root(), spiel.new_initial_state())]
    while stack:
        ours, theirs = stack.pop()
        if ours.player == TERMINAL:
            continue
        actions = list(ours.actions())
        their_actions = [a for a, _ in theirs.chance_outcomes()] if theirs.is_chance_node() else theirs.legal_actions()
        if len(actions) != len(their_actions):
            raise NotSupported(f"{policy.game} says it is OpenSpiel's {name}, but the two have different actions")
        if ours.player >= 0:
            their_key = theirs.information_state_string()
            if their_key not in seen:
                seen.add(their_key)
                probabilities = policy.at(ours)
                row = tabular.policy_for_key(their_key)
                row[:] = 0.0
                for action, probability in zip(their_actions, probabilities.values(), strict=True):
                    row[action] = probability
        for action, their_action in zip(actions, their_actions, strict=True):
            stack.append((ours.child(action), theirs.child(their_action)))
    return tabular
