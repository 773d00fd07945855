"""equipoise finds (near-)unexploitable strategies for imperfect-information games.

Names are loaded when they are first used, so that ``import equipoise`` and ``equipoise --help`` are quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.errors import EquipoiseError
    from equipoise.evaluation import exact_match, exploitability, nash_conv, play_match
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
    "exact_match": "equipoise.evaluation",
    "exploitability": "equipoise.evaluation",
    "load_game": "equipoise.games",
    "load_policy": "equipoise.policies",
    "nash_conv": "equipoise.evaluation",
    "open_policy": "equipoise.solving",
    "play_match": "equipoise.evaluation",
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
    "exact_match",
    "exploitability",
    "load_game",
    "load_policy",
    "nash_conv",
    "open_policy",
    "play_match",
    "resume",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'equipoise' has no attribute '{name}'")
