"""Games as people look them up: what each is, its parameters and its size."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from equipoise.games import ADAPTERS, CATALOGUE, load_game
from equipoise.trees.compile import count_infosets


@cache
def sizes() -> Mapping[str, int]:
    """Return how many infosets each built-in game has at its default parameters."""
    return MappingProxyType({entry.name: count_infosets(load_game(entry.usage)) for entry in CATALOGUE.values()})


def list_games() -> dict[str, Any]:
    """Return all games, as JSON has them."""
    counted = sizes()
    listed = [
        {
            "game": entry.name,
            "usage": entry.usage,
            "parameters": {parameter.name: parameter.meaning for parameter in entry.parameters},
            "about": entry.about,
            "source": entry.source,
            "infosets": counted[entry.name],
        }
        for entry in CATALOGUE.values()
    ]
    return {"games": listed, "adapters": ADAPTERS}
