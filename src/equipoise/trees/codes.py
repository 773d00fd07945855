"""Infosets of poker games that are too large to list, as numbers: *codes*. A code is a betting node and cards.

From the lowest bits: the private cards, then the board's, six bits each (63: not dealt yet); above them the node of the
`BettingTree`. Each set of cards that is dealt together is ascending, for its order means nothing. Suits mean nothing
but by which cards share one, so they can be renamed (lossless): the suit whose cards come first gets the first name.

Suits are compared by the ranks that they have among the private cards, then in each deal of the board. Suits that are
equal in this are interchangeable, so that all ways to deal the same up to suits get the same code.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, kernel
from equipoise.errors import TooLarge
from equipoise.games.poker import PokerGame
from equipoise.games.sizes import betting_size
from equipoise.trees.treeplex import Int64, UInt64

CARD_BITS, MOST_CARDS, NO_CARD = 6, 7, 63
NODE_SHIFT = CARD_BITS * MOST_CARDS
CARDS_MASK = (1 << NODE_SHIFT) - 1
MOST_NODES = (1 << (63 - NODE_SHIFT)) // 3  # of a betting tree: networks number three steps a node in the same bits
MOST_RANKS = 13  # where suits are renamed: the ranks of four deals then fit in 64 bits
MOST_DEALS = 4
NO_NUMBER = -1

Int8 = npt.NDArray[np.int8]


class CardLayout(NamedTuple):
    """How cards stand in a code, as kernels take it."""

    suits: int
    renamed: bool  # whether suits are renamed
    deal_start: Int64  # [deals + 1] where the private cards, then each deal of the board begin
    visible: Int64  # [rounds] how many of these deals a player sees in a round


def card_layout(game: PokerGame, *, renamed: bool) -> CardLayout:
    """Return the layout of a game's cards; ``renamed`` makes codes equal that differ by names of suits only."""
    sizes = [game.hole_cards, *(count for count in game.board_cards if count)]
    suits = len(game.deck.suits)
    renamed = renamed and suits > 1
    if sum(sizes) > MOST_CARDS or game.deck.size > NO_CARD or len(sizes) > MOST_DEALS:
        raise TooLarge(
            f"{game.name} deals more cards than this method can handle (at most {MOST_CARDS} of a deck of {NO_CARD})"
        )
    if renamed and len(game.deck.ranks) > MOST_RANKS:
        raise TooLarge(f"{game.name} has more than {MOST_RANKS} ranks, too many for cards=ranks; set cards=cards")
    visible = [
        1 + sum(count > 0 for count in game.board_cards[: betting + 1]) for betting in range(len(game.board_cards))
    ]
    return CardLayout(suits, renamed, np.cumsum([0, *sizes]).astype(np.int64), np.array(visible, np.int64))


def require_codes(game: PokerGame) -> None:
    """Refuse a game whose betting has more nodes than codes hold, before they are listed."""
    size = betting_size(game.betting)
    nodes = sum(size.decisions) + sum(size.ends)
    if nodes > MOST_NODES:
        raise TooLarge(
            f"the betting of {game.name} has {nodes:,} decisions, and this method handles at most {MOST_NODES:,}; "
            "give fewer bet sizes or smaller stacks"
        )


@inlined
def cards_code(layout: CardLayout, cards: Int8, hand: int, board: int, betting_round: int, suit_key: UInt64) -> int:
    """Return the code of the cards that a player sees in a round, at node 0.

    ``cards[hand:]`` begins with the private cards, ``cards[board:]`` with the board; ``suit_key`` is scratch space of
    two numbers a suit.
    """
    suits, renamed, deal_start, visible = layout
    hole = deal_start[1]
    seen = visible[betting_round]
    if renamed:
        for suit in range(suits):
            suit_key[suit] = np.uint64(0)
        for deal in range(seen):
            for place in range(deal_start[deal], deal_start[deal + 1]):
                card = cards[hand + place] if deal == 0 else cards[board + place - hole]
                bit = np.uint64(MOST_RANKS * (MOST_DEALS - 1 - deal) + card // suits)
                suit_key[card % suits] |= np.uint64(1) << bit
        for suit in range(suits):
            name = 0  # how many suits come before this one
            for other in range(suits):
                before = suit_key[other] > suit_key[suit] or (suit_key[other] == suit_key[suit] and other < suit)
                name += int(before)
            suit_key[suits + suit] = np.uint64(name)
    code = np.int64(0)
    for deal in range(seen):
        first = deal_start[deal]
        for place in range(first, deal_start[deal + 1]):
            card = np.int64(cards[hand + place] if deal == 0 else cards[board + place - hole])
            if renamed:
                card += np.int64(suit_key[suits + card % suits]) - card % suits
            at = place  # insert it among the cards of its deal
            while at > first and ((code >> (CARD_BITS * (at - 1))) & NO_CARD) > card:
                moved = (code >> (CARD_BITS * (at - 1))) & NO_CARD
                code = (code & ~(np.int64(NO_CARD) << (CARD_BITS * at))) | (moved << (CARD_BITS * at))
                at -= 1
            code = (code & ~(np.int64(NO_CARD) << (CARD_BITS * at))) | (card << (CARD_BITS * at))
    for place in range(deal_start[seen], MOST_CARDS):
        code |= np.int64(NO_CARD) << (CARD_BITS * place)
    return code  # type: ignore[return-value]  # a whole number inside kernels


@kernel
def _codes_of(layout: CardLayout, cards: Int8, betting_round: Int64, out: Int64) -> None:
    suit_key = np.zeros(2 * layout.suits, np.uint64)
    hole = layout.deal_start[1]
    for row in range(out.size):
        out[row] = cards_code(layout, cards[row], 0, hole, betting_round[row], suit_key)


def codes_of(layout: CardLayout, cards: Int8, betting_round: Int64, node: Int64) -> Int64:
    """Return codes from rows of cards (private, then board; what a round does not show is not read) and nodes."""
    out = np.empty(len(cards), np.int64)
    _codes_of(layout, np.ascontiguousarray(cards, np.int8), betting_round, out)
    return out | (node << NODE_SHIFT)


class Grid(NamedTuple):
    """Infosets of one round as all pairs of some holdings and some betting nodes: each part can be worked on once.

    A grid that is asked for again and again has a number, so that what is known of it can be found.
    """

    held: Int64  # [holdings] codes of cards at node 0, all different
    nodes: Int64  # [nodes] decisions, all of the same round
    number: int = NO_NUMBER

    @property
    def size(self) -> int:
        """Return the number of infosets."""
        return len(self.held) * len(self.nodes)

    def codes(self) -> Int64:
        """Return the codes of all infosets, holding by holding."""
        return (self.held[:, None] | (self.nodes << NODE_SHIFT)).ravel()


def codes_in(infosets: Int64 | Grid) -> Int64:
    """Return infosets one by one."""
    return infosets.codes() if isinstance(infosets, Grid) else infosets


def nodes_of(codes: Int64) -> Int64:
    """Return the betting nodes of codes."""
    return codes >> NODE_SHIFT


def cards_of(codes: Int64, count: int) -> Int64:
    """Return the first ``count`` cards of codes, -1 where none is dealt yet."""
    shifts = CARD_BITS * np.arange(count)
    cards: Int64 = (codes[:, None] >> shifts) & NO_CARD
    return np.where(cards == NO_CARD, -1, cards)
