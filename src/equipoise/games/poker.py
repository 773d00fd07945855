"""Two-player poker from one description: a deck, private hands, board cards by round, and betting rules.

One-Card Poker, Leduc and no-limit Leduc are three sets of parameters; hold'em is meant to be a fourth, with another
``strength``. Cards are numbered ``rank * suits + suit``, as in OpenSpiel.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import comb

from equipoise.games.betting import (
    BettingRound,
    BettingRules,
    BettingState,
    action_name,
    apply_action,
    legal_actions,
)
from equipoise.games.game import CHANCE, TERMINAL, Game, State

Cards = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Deck:
    """Ranks from weakest to strongest, and suits."""

    ranks: tuple[str, ...]
    suits: tuple[str, ...] = ("",)

    @property
    def size(self) -> int:
        """Return the number of cards."""
        return len(self.ranks) * len(self.suits)

    def rank(self, card: int) -> int:
        """Return the rank of a card, 0 the weakest."""
        return card // len(self.suits)

    def text(self, cards: Sequence[int]) -> str:
        """Return cards as players write them: ``KsJh``."""
        return "".join(self.ranks[self.rank(card)] + self.suits[card % len(self.suits)] for card in cards)


def high_card_or_pair(deck: Deck, hand: Cards, board: Cards) -> int:
    """Return the strength of a one-card hand: a pair with the board beats every high card."""
    rank = deck.rank(hand[0])
    paired = any(deck.rank(card) == rank for card in board)
    return rank + (len(deck.ranks) if paired else 0)


@dataclass(frozen=True)
class PokerGame(Game):
    """A poker game. ``board_cards[r]`` cards are dealt face up before betting round ``r``."""

    text: str
    deck: Deck
    betting: BettingRules
    board_cards: tuple[int, ...]
    hole_cards: int = 1
    strength: Callable[[Deck, Cards, Cards], int] = high_card_or_pair
    spiel: str | None = None
    names: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.text

    @cached_property
    def hands(self) -> tuple[Cards, ...]:
        """Return every private hand."""
        return tuple(itertools.combinations(range(self.deck.size), self.hole_cards))

    def boards(self, betting_round: int) -> tuple[Cards, ...]:
        """Return every set of board cards that may lie open in a round."""
        return tuple(itertools.combinations(range(self.deck.size), self.board_size(betting_round)))

    def board_size(self, betting_round: int) -> int:
        """Return how many board cards are open in a round."""
        return sum(self.board_cards[: betting_round + 1])

    def vector_width(self, betting_round: int) -> int:
        """Return how many (board, private hand) pairs there are in a round."""
        cards, board = self.deck.size, self.board_size(betting_round)
        return comb(cards, board) * comb(cards - board, self.hole_cards)

    @property
    def big_blind(self) -> int:
        """Return the larger blind, or the ante: a thousandth of it is the unit mbb."""
        return max(self.betting.blinds)

    def infoset_text(self, hand: Cards, board: Cards, betting: str) -> str:
        """Return an infoset's key: the private hand, the board, then the betting, as in ``Qs/Kh|crc/r``."""
        cards = self.deck.text(hand) + (f"/{self.deck.text(board)}" if board else "")
        return f"{cards}|{betting}"

    def betting_action_name(self, state: BettingState, action: int) -> str:
        """Return a betting action in words, in the game's own vocabulary where it has one."""
        word = action_name(self.betting, state, action)
        return self.names.get(word, word)

    def root(self) -> "PokerState":
        return PokerState(self, (), (), self.betting.start())

    def open_spiel_name(self) -> str | None:
        return self.spiel


@dataclass(frozen=True, slots=True)
class PokerState(State):
    """A history: the hands dealt so far, the board, and the betting. Chance actions index hands or board cards."""

    game: PokerGame
    hands: tuple[int, ...]
    board: Cards
    betting: BettingState

    def _board_cards_due(self) -> int:
        if self.betting.folded >= 0:
            return 0
        return self.game.board_size(self.betting.round) - len(self.board)

    @property
    def player(self) -> int:
        if len(self.hands) < 2 or self._board_cards_due() > 0:
            return CHANCE
        return TERMINAL if self.betting.finished else self.betting.player

    def _dealt(self) -> set[int]:
        cards = set(self.board)
        for hand in self.hands:
            cards.update(self.game.hands[hand])
        return cards

    def actions(self) -> Sequence[int]:
        if len(self.hands) < 2:
            dealt = self._dealt()
            return [index for index, hand in enumerate(self.game.hands) if dealt.isdisjoint(hand)]
        if self._board_cards_due() > 0:
            dealt = self._dealt()
            return [card for card in range(self.game.deck.size) if card not in dealt]
        return [] if self.betting.finished else legal_actions(self.game.betting, self.betting)

    def child(self, action: int) -> "PokerState":
        if len(self.hands) < 2:
            return PokerState(self.game, (*self.hands, action), self.board, self.betting)
        if self._board_cards_due() > 0:
            return PokerState(self.game, self.hands, (*self.board, action), self.betting)
        return PokerState(self.game, self.hands, self.board, apply_action(self.game.betting, self.betting, action))

    def infoset_key(self) -> str:
        hand = self.game.hands[self.hands[self.betting.player]]
        return self.game.infoset_text(hand, tuple(sorted(self.board)), self.betting.text)

    def action_name(self, action: int) -> str:
        if len(self.hands) < 2:
            return self.game.deck.text(self.game.hands[action])
        if self._board_cards_due() > 0:
            return self.game.deck.text((action,))
        return self.game.betting_action_name(self.betting, action)

    def payoff(self) -> float:
        at_risk = float(self.betting.pot_share_at_risk())
        if self.betting.folded >= 0:
            return at_risk if self.betting.folded == 1 else -at_risk
        mine, theirs = (self.game.strength(self.game.deck, self.game.hands[hand], self.board) for hand in self.hands)
        return at_risk * ((mine > theirs) - (mine < theirs))


_RANKS = ("2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K", "A")


def one_card_poker(text: str, ranks: tuple[str, ...], spiel: str | None = None) -> PokerGame:
    """Return One-Card Poker (Gordon 2005): one card each, ante 1, one bet of 1; Kuhn poker with three cards."""
    rules = BettingRules(blinds=(1, 1), rounds=(BettingRound(max_raises=1, bet_size=1),))
    return PokerGame(text, Deck(ranks=ranks), rules, (0,), spiel=spiel, names={"check": "pass"})


def kuhn_poker() -> PokerGame:
    """Kuhn poker: three cards, one bet; the smallest game with bluffing."""
    return one_card_poker("kuhn_poker", ("J", "Q", "K"), spiel="kuhn_poker")


def one_card_poker_game(cards: int = 5) -> PokerGame:
    """One-Card Poker with any number of cards (Gordon 2005)."""
    ranks = _RANKS[-cards:] if cards <= len(_RANKS) else tuple(f"{rank + 1}." for rank in range(cards))
    return one_card_poker(f"one_card_poker(cards={cards})", ranks)


_LEDUC_DECK = Deck(ranks=("J", "Q", "K"), suits=("s", "h"))


def leduc_poker() -> PokerGame:
    """Limit Leduc: six cards, ante 1, one board card, bets of 2 then 4, two raises a round."""
    rules = BettingRules(
        blinds=(1, 1),
        rounds=(BettingRound(max_raises=2, bet_size=2), BettingRound(max_raises=2, bet_size=4)),
    )
    return PokerGame("leduc_poker", _LEDUC_DECK, rules, (0, 1), spiel="leduc_poker")


def nl_leduc(stack: int = 5) -> PokerGame:
    """No-limit Leduc: ante 1 out of the stack, any whole bet up to all-in, no cap on raises."""
    rules = BettingRules(blinds=(1, 1), rounds=(BettingRound(), BettingRound()), stack=stack)
    spiel = (
        "universal_poker(betting=nolimit,numPlayers=2,numRounds=2,blind=1 1,numHoleCards=1,numBoardCards=0 1,"
        f"numSuits=2,numRanks=3,stack={stack} {stack},firstPlayer=1 1,bettingAbstraction=fullgame)"
    )
    return PokerGame(f"nl_leduc(stack={stack})", _LEDUC_DECK, rules, (0, 1), spiel=spiel)
