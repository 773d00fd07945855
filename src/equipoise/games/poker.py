"""Two-player poker from one description: a deck, private hands, board cards by round, and betting rules.

One-Card Poker, Leduc and hold'em, limit and no-limit, are sets of parameters. Cards are numbered
``rank * suits + suit``, as in OpenSpiel. Sets of cards are ascending tuples; a board is what each deal brought, in
order: the flop ascending, then the turn, then the river.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from math import comb, inf, prod
from operator import index

from equipoise.errors import InvalidGame
from equipoise.games.betting import (
    BettingRound,
    BettingRules,
    BettingState,
    PotSizes,
    action_name,
    apply_action,
    legal_actions,
)
from equipoise.games.game import CHANCE, TERMINAL, Game, State

Cards = tuple[int, ...]
LARGEST_STRENGTH = 2**30  # kernels compare 32 bits


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


def best_five_cards(deck: Deck, hand: Cards, board: Cards) -> int:
    """Return the strength of a hold'em hand: the best five of the private cards and the board."""
    from equipoise.games.hand_ranks import best_five  # loads the compiler, which small games do not need here

    suits = len(deck.suits)  # smaller decks are parts of the full one
    return best_five([card // suits * 4 + card % suits for card in (*hand, *board)])


@cache
def sets_of_cards(cards: int, count: int) -> tuple[Cards, ...]:
    """Return all sets of ``count`` of the cards 0, 1, ..., in lexicographic order."""
    return tuple(itertools.combinations(range(cards), count))


@dataclass(frozen=True)
class PokerGame(Game):
    """A poker game. ``board_cards[r]`` cards are dealt face up before betting round ``r``."""

    max_nodes = inf
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
        return sets_of_cards(self.deck.size, self.hole_cards)

    def deals(self, betting_round: int) -> tuple[Cards, ...]:
        """Return every set of cards that may be dealt to the board before a round."""
        return sets_of_cards(self.deck.size, self.board_cards[betting_round])

    def boards(self, betting_round: int) -> tuple[Cards, ...]:
        """Return every board that may lie open in a round, for games in which all of it is dealt at once."""
        dealt = [count for count in self.board_cards[: betting_round + 1] if count > 0]
        assert len(dealt) <= 1, "boards of several deals are ordered"
        return sets_of_cards(self.deck.size, sum(dealt))

    def board_size(self, betting_round: int) -> int:
        """Return how many board cards are open in a round."""
        return sum(self.board_cards[: betting_round + 1])

    def strength_of(self, hand: Cards, board: Cards) -> int:
        """Return the strength of a hand at a showdown; what ``strength`` answers may be anybody's, and is checked."""
        try:
            strength = self.strength(self.deck, hand, board)
            whole = index(strength)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise InvalidGame(
                f"{self.name}: strength() of {self.deck.text(hand)} on the board {self.deck.text(board) or '(none)'} "
                f"is not a whole number ({said})"
            ) from error
        if not -LARGEST_STRENGTH <= whole <= LARGEST_STRENGTH:
            raise InvalidGame(f"{self.name}: strength() of {self.deck.text(hand)} is {whole}: give at most 2**30")
        return whole

    def vector_width(self, betting_round: int) -> int:
        """Return how many (board, private hand) pairs there are in a round; boards by what each deal brought."""
        dealt = self.board_cards[: betting_round + 1]
        left = [self.deck.size - sum(dealt[:deal]) for deal in range(len(dealt) + 1)]
        return prod(map(comb, left, dealt)) * comb(left[-1], self.hole_cards)

    @property
    def big_blind(self) -> int:
        """Return the larger blind, or the ante: a thousandth of it is the unit mbb."""
        return max(self.betting.blinds)

    def mbb_per_chip(self) -> float | None:
        return 1000.0 / self.big_blind if self.hole_cards == 2 else None

    def hand_text(self, hand: Cards) -> str:
        """Return a private hand as players write it, the highest card first: ``AhKd``."""
        return self.deck.text(hand[::-1])

    def infoset_text(self, hand: Cards, board: Cards, betting: str) -> str:
        """Return an infoset's key: the private hand, the board, then the betting, as in ``Qs/Kh|crc/r``."""
        cards = self.hand_text(hand) + (f"/{self.deck.text(board)}" if board else "")
        return f"{cards}|{betting}"

    def seat_name(self, player: int) -> str:
        """Return what a player is called: by the blinds where they differ."""
        small, big = sorted(self.betting.blinds)
        if small == big:
            return ("first player", "second player")[player]
        return "big blind" if self.betting.blinds[player] == big else "small blind"

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
    """A history: the hands dealt so far, the board, and the betting.

    Chance deals a whole hand, then all of a round's board cards, at once: its actions index ``game.hands``, and
    ``game.deals`` of the round. (A single card's index is the card.)
    """

    game: PokerGame
    hands: tuple[int, ...]
    board: Cards
    betting: BettingState

    def _round_to_deal(self) -> int | None:
        """Return the round whose board cards are to be dealt now, if any are. All-in, several rounds may be."""
        if self.betting.folded < 0:
            for betting_round in range(self.betting.round + 1):
                if self.game.board_size(betting_round) > len(self.board):
                    return betting_round
        return None

    def _outcomes(self) -> tuple[Cards, ...]:
        """Return the sets of cards that chance's actions index; none where chance does not act."""
        if len(self.hands) < 2:
            return self.game.hands
        due = self._round_to_deal()
        return () if due is None else self.game.deals(due)

    @property
    def player(self) -> int:
        if self._outcomes():
            return CHANCE
        return TERMINAL if self.betting.finished else self.betting.player

    def _dealt(self) -> set[int]:
        cards = set(self.board)
        for hand in self.hands:
            cards.update(self.game.hands[hand])
        return cards

    def actions(self) -> Sequence[int]:
        if outcomes := self._outcomes():
            dealt = self._dealt()
            return [index for index, cards in enumerate(outcomes) if dealt.isdisjoint(cards)]
        return [] if self.betting.finished else legal_actions(self.game.betting, self.betting)

    def sample_outcome(self, random: Callable[[], float]) -> int:
        # All outcomes are equally likely, and few are impossible: to list the possible ones would take longer.
        outcomes, dealt = self._outcomes(), self._dealt()
        while not dealt.isdisjoint(outcomes[index := int(random() * len(outcomes))]):
            pass
        return index

    def child(self, action: int) -> "PokerState":
        if len(self.hands) < 2:
            return PokerState(self.game, (*self.hands, action), self.board, self.betting)
        if outcomes := self._outcomes():
            return PokerState(self.game, self.hands, (*self.board, *outcomes[action]), self.betting)
        return PokerState(self.game, self.hands, self.board, apply_action(self.game.betting, self.betting, action))

    def infoset_key(self) -> str:
        hand = self.game.hands[self.hands[self.betting.player]]
        return self.game.infoset_text(hand, self.board, self.betting.text)

    def action_name(self, action: int) -> str:
        if len(self.hands) < 2:
            return self.game.hand_text(self.game.hands[action])
        if outcomes := self._outcomes():
            return self.game.deck.text(outcomes[action])
        return self.game.betting_action_name(self.betting, action)

    def payoff(self) -> float:
        at_risk = float(self.betting.pot_share_at_risk())
        if self.betting.folded >= 0:
            return at_risk if self.betting.folded == 1 else -at_risk
        mine, theirs = (self.game.strength_of(self.game.hands[hand], self.board) for hand in self.hands)
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


HOLDEM_DECK = Deck(ranks=_RANKS, suits=("c", "d", "h", "s"))
_HOLDEM_BLINDS = (50, 100)  # player 0 is the dealer: the small blind, first before the flop and last after it
_HOLDEM_BOARD = (0, 3, 1, 1)
_ANY_SIZE = "full"
_NAMED_ACTIONS = {"fcpa": PotSizes(fractions=(Fraction(1),), all_in=True)}


def _holdem(text: str, rounds: tuple[BettingRound, ...], stack: int | None = None) -> PokerGame:
    rules = BettingRules(blinds=_HOLDEM_BLINDS, rounds=rounds, stack=stack)
    board_cards = _HOLDEM_BOARD[: len(rounds)]
    return PokerGame(text, HOLDEM_DECK, rules, board_cards, hole_cards=2, strength=best_five_cards)


def _limit_rounds(caps: Sequence[int], sizes: Sequence[int]) -> tuple[BettingRound, ...]:
    return tuple(
        BettingRound(first_player=min(number, 1), max_raises=cap, bet_size=size)
        for number, (cap, size) in enumerate(zip(caps, sizes, strict=True))
    )


FLOP_CAPS, LIMIT_CAPS = (3, 4), (3, 4, 4, 4)  # B19: flop hold'em is limit hold'em without its last two rounds


def flop_holdem(caps: tuple[int, ...] = FLOP_CAPS) -> PokerGame:
    """Flop hold'em: limit hold'em that ends after the flop; ``caps`` as there."""
    listed = "" if caps == FLOP_CAPS else f"(caps={'-'.join(map(str, caps))})"
    return _holdem(f"flop_holdem{listed}", _limit_rounds(caps, (100, 100)))


def limit_holdem(caps: tuple[int, ...] = LIMIT_CAPS) -> PokerGame:
    """Heads-up limit hold'em; ``caps`` are the most bets and raises of each round, blinds not counted."""
    listed = "-".join(map(str, caps))
    return _holdem(f"limit_holdem(caps={listed})", _limit_rounds(caps, (100, 100, 200, 200)))


def action_sizes(text: str) -> PotSizes | None:
    """Return what the parameter ``actions`` says: ``fcpa``, ``0.5-1-2-allin``, or None for ``full``."""
    if text == _ANY_SIZE:
        return None
    if text in _NAMED_ACTIONS:
        return _NAMED_ACTIONS[text]
    *sizes, last = text.split("-")
    if last != "allin":
        sizes.append(last)
    if not all(re.fullmatch(r"\d{1,4}(\.\d{1,4})?", size) and float(size) > 0 for size in sizes):
        raise ValueError("fcpa (fold, call, pot, all-in), full (any whole number of chips), or 0.5-1-2-allin")
    return PotSizes(fractions=tuple(Fraction(size) for size in sizes), all_in=last == "allin")


def nolimit_holdem(stack: int = 20_000, actions: str = "fcpa") -> PokerGame:
    """Heads-up no-limit hold'em, as in the ACPC, with any raise or only some (``actions``)."""
    return _nolimit("nolimit_holdem", 4, stack, actions)


def nolimit_flop_holdem(stack: int = 20_000, actions: str = "fcpa") -> PokerGame:
    """No-limit hold'em without turn and river: two rounds of betting, and the showdown on the flop."""
    return _nolimit("nolimit_flop_holdem", 2, stack, actions)


def _nolimit(name: str, rounds: int, stack: int, actions: str) -> PokerGame:
    sizes = action_sizes(actions)
    betting = tuple(BettingRound(first_player=min(number, 1), pot_sizes=sizes) for number in range(rounds))
    return _holdem(f"{name}(stack={stack},actions={actions})", betting, stack)
