"""Shared by all tests: a fixed Hypothesis profile, and trees that are built once."""

from functools import cache

import pytest
from hypothesis import HealthCheck, settings

from equipoise.games import load_game
from equipoise.trees.compile import compile_game

settings.register_profile(
    "equipoise", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("equipoise")


@cache
def _compiled(text: str, engine: str):
    return compile_game(load_game(text), engine)


@pytest.fixture(scope="session")
def compiled():
    """Return a game's sequence form by its text and engine; nothing in the tests changes a form."""
    return lambda text, engine="auto": _compiled(text, engine)
