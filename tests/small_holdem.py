"""Hold'em with a small deck, small enough for the engines that list every hand and board."""

from equipoise.games.betting import BettingRound, BettingRules
from equipoise.games.hand_ranks import best_five
from equipoise.games.poker import Deck, PokerGame

SUITS = "cdhs"


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
    rules = BettingRules(
        blinds=(1, 2),
        rounds=tuple(BettingRound(first_player=first, max_raises=cap, bet_size=2) for first, cap in enumerate(caps)),
    )
    deck = Deck(ranks=tuple("23456789TJQKA"[:ranks]), suits=tuple(SUITS[:suits]))
    return PokerGame(name, deck, rules, (0, board), hole_cards=2, strength=strength)


FILE = """
from tests.small_holdem import small_holdem
from equipoise.games.poker import PokerGame


class Small(PokerGame):
    def __init__(self):
        super().__init__(**vars(small_holdem(name="python:" + __file__)))
"""


def write_small_holdem(path):
    """Write the game as a file of one's own; return the text that loads it."""
    path.write_text(FILE)
    return f"python:{path}"
