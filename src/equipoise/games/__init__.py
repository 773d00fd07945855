"""Rules of games: who acts, what is legal, who sees what, who is paid. Nothing here knows of solving."""

from equipoise.games.catalogue import ADAPTERS, CATALOGUE, Entry, StoredText, as_game, load_game, stored_game
from equipoise.games.game import CHANCE, TERMINAL, Game, State

__all__ = [
    "ADAPTERS",
    "CATALOGUE",
    "CHANCE",
    "TERMINAL",
    "Entry",
    "Game",
    "State",
    "StoredText",
    "as_game",
    "load_game",
    "stored_game",
]
