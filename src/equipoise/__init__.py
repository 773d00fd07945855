"""equipoise finds (near-)unexploitable strategies for imperfect-information games.

Names are loaded when they are first used, so that ``import equipoise`` and ``equipoise --help`` are quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.errors import EquipoiseError
    from equipoise.evaluation import exploitability, nash_conv
    from equipoise.games import CHANCE, TERMINAL, Game, State, load_game
    from equipoise.policies import Policy, load_policy
    from equipoise.solving import Solution, open_policy, resume, solve

_HOMES = {
    "CHANCE": "equipoise.games",
    "TERMINAL": "equipoise.games",
    "EquipoiseError": "equipoise.errors",
    "Game": "equipoise.games",
    "Policy": "equipoise.policies",
    "Solution": "equipoise.solving",
    "State": "equipoise.games",
    "exploitability": "equipoise.evaluation",
    "load_game": "equipoise.games",
    "load_policy": "equipoise.policies",
    "nash_conv": "equipoise.evaluation",
    "open_policy": "equipoise.solving",
    "resume": "equipoise.solving",
    "solve": "equipoise.solving",
}

__all__ = [
    "CHANCE",
    "TERMINAL",
    "EquipoiseError",
    "Game",
    "Policy",
    "Solution",
    "State",
    "exploitability",
    "load_game",
    "load_policy",
    "nash_conv",
    "open_policy",
    "resume",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'equipoise' has no attribute '{name}'")
