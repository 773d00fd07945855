"""equipoise finds (near-)unexploitable strategies for imperfect-information games.

Names are loaded when they are first used, so that ``import equipoise`` and ``equipoise --help`` are quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise import errors
    from equipoise.distribute.cluster import open_cluster
    from equipoise.errors import EquipoiseError
    from equipoise.evaluation import (
        action_values,
        appraiser,
        exact_match,
        exploitability,
        nash_conv,
        play_match,
        value,
    )
    from equipoise.experiments.compare import Comparison, compare
    from equipoise.games import CHANCE, TERMINAL, Game, State, load_game
    from equipoise.games.spots import spot
    from equipoise.policies import Policy, open_strategy
    from equipoise.resolving import (
        Resolved,
        ResolvedFlops,
        ResolvedSpot,
        resolve,
        resolve_flops,
        resolve_spot,
    )
    from equipoise.solving import Solution, as_policy, load_policy, resume, solve
    from equipoise.value_training import train_values

    __version__: str

_HOMES = {
    "CHANCE": "equipoise.games",
    "TERMINAL": "equipoise.games",
    "Comparison": "equipoise.experiments.compare",
    "EquipoiseError": "equipoise.errors",
    "Game": "equipoise.games",
    "Policy": "equipoise.policies",
    "Resolved": "equipoise.resolving",
    "ResolvedFlops": "equipoise.resolving",
    "ResolvedSpot": "equipoise.resolving",
    "Solution": "equipoise.solving",
    "State": "equipoise.games",
    "action_values": "equipoise.evaluation",
    "appraiser": "equipoise.evaluation",
    "as_policy": "equipoise.solving",
    "compare": "equipoise.experiments.compare",
    "exact_match": "equipoise.evaluation",
    "exploitability": "equipoise.evaluation",
    "load_game": "equipoise.games",
    "load_policy": "equipoise.solving",
    "nash_conv": "equipoise.evaluation",
    "open_cluster": "equipoise.distribute.cluster",
    "open_strategy": "equipoise.policies",
    "play_match": "equipoise.evaluation",
    "resolve": "equipoise.resolving",
    "resolve_flops": "equipoise.resolving",
    "resolve_spot": "equipoise.resolving",
    "resume": "equipoise.solving",
    "solve": "equipoise.solving",
    "spot": "equipoise.games.spots",
    "train_values": "equipoise.value_training",
    "value": "equipoise.evaluation",
}

__all__ = [
    "CHANCE",
    "TERMINAL",
    "Comparison",
    "EquipoiseError",
    "Game",
    "Policy",
    "Resolved",
    "ResolvedFlops",
    "ResolvedSpot",
    "Solution",
    "State",
    "__version__",
    "action_values",
    "appraiser",
    "as_policy",
    "compare",
    "errors",
    "exact_match",
    "exploitability",
    "load_game",
    "load_policy",
    "nash_conv",
    "open_cluster",
    "open_strategy",
    "play_match",
    "resolve",
    "resolve_flops",
    "resolve_spot",
    "resume",
    "solve",
    "spot",
    "train_values",
    "value",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name == "errors":
        return importlib.import_module("equipoise.errors")
    if name == "__version__":
        from importlib.metadata import version

        return version("equipoise")
    raise AttributeError(f"module 'equipoise' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Return the public names, for ``dir`` and for completion; modules that happen to be loaded are not public."""
    return __all__
