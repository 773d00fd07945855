"""Hold'em of a few cards, small enough for the engines that list every hand and board."""

from dataclasses import replace

from equipoise.games import load_game
from equipoise.games.betting import BettingRound, BettingRules
from equipoise.games.hand_ranks import best_five
from equipoise.games.poker import Deck, PokerGame


def small_deck(ranks: int, suits: int) -> Deck:
    return Deck(ranks=tuple("23456789TJQKA"[:ranks]), suits=tuple("cdhs"[:suits]))


def flop_holdem_of(ranks: int, suits: int, raises: int | None = None) -> PokerGame:
    """Return flop hold'em with a smaller deck and, if given, fewer raises a round."""
    holdem = load_game("flop_holdem")
    rounds = tuple(
        betting if raises is None else replace(betting, max_raises=raises) for betting in holdem.betting.rounds
    )
    betting = replace(holdem.betting, rounds=rounds)
    return replace(holdem, deck=small_deck(ranks, suits), text=f"flop_holdem of {ranks * suits} cards", betting=betting)


def three_rounds(ranks: int, suits: int, raises: int = 1, stack: int | None = None) -> PokerGame:
    """Return hold'em that ends with the turn: limit, or no-limit with a stack."""
    caps = "-".join([str(raises)] * 4)
    holdem = load_game(f"limit_holdem(caps={caps})" if stack is None else f"nolimit_holdem(stack={stack})")
    betting = replace(holdem.betting, rounds=holdem.betting.rounds[:3])
    return replace(
        holdem,
        deck=small_deck(ranks, suits),
        text=f"turn hold'em of {ranks * suits} cards",
        betting=betting,
        board_cards=(0, 3, 1),
    )


def strength(deck, hand, board):
    """Rank five cards or more as in hold'em, fewer by their largest groups of equal ranks, then by ranks."""
    cards = (*hand, *board)
    if len(cards) >= 5:
        return best_five([4 * deck.rank(card) + card % len(deck.suits) for card in cards])
    ranks = [deck.rank(card) for card in cards]
    groups = sorted(((ranks.count(rank), rank) for rank in set(ranks)), reverse=True)
    value = 0
    for count, rank in groups + [(0, 0)] * (4 - len(groups)):
        value = value * 100 + count * 20 + rank
    return value


def small_holdem(ranks=4, suits=3, board=2, caps=(1, 2), name="small"):
    """Return hold'em with a small board too, blinds of 1 and 2, and few raises."""
    rules = BettingRules(
        blinds=(1, 2),
        rounds=tuple(BettingRound(first_player=first, max_raises=cap, bet_size=2) for first, cap in enumerate(caps)),
    )
    return PokerGame(name, small_deck(ranks, suits), rules, (0, board), hole_cards=2, strength=strength)


FILE = """
from tests.holdem import small_holdem
from equipoise.games.poker import PokerGame


class Small(PokerGame):
    def __init__(self):
        super().__init__(**vars(small_holdem(name="python:" + __file__)))
"""


def write_small_holdem(path):
    """Write the game as a file of one's own; return the text that loads it."""
    path.write_text(FILE)
    return f"python:{path}"
