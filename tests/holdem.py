"""Hold'em of a few cards, small enough to be listed."""

from dataclasses import replace

from equipoise.games import load_game
from equipoise.games.poker import Deck, PokerGame


def small_holdem(ranks: int, suits: int, raises: int | None = None) -> PokerGame:
    """Return flop hold'em with a smaller deck and, if given, fewer raises a round."""
    holdem = load_game("flop_holdem")
    deck = Deck(ranks=tuple("23456789TJQKA"[:ranks]), suits=tuple("cdhs"[:suits]))
    rounds = tuple(
        betting if raises is None else replace(betting, max_raises=raises) for betting in holdem.betting.rounds
    )
    return replace(
        holdem, deck=deck, text=f"flop_holdem of {ranks * suits} cards", betting=replace(holdem.betting, rounds=rounds)
    )


def three_rounds(ranks: int, suits: int, raises: int = 1) -> PokerGame:
    """Return limit hold'em that ends with the turn."""
    caps = "-".join([str(raises)] * 4)
    holdem = load_game(f"limit_holdem(caps={caps})")
    deck = Deck(ranks=tuple("23456789TJQKA"[:ranks]), suits=tuple("cdhs"[:suits]))
    betting = replace(holdem.betting, rounds=holdem.betting.rounds[:3])
    return replace(
        holdem, deck=deck, text=f"turn hold'em of {ranks * suits} cards", betting=betting, board_cards=(0, 3, 1)
    )
