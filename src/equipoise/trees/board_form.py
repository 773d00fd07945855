"""Two rounds of betting with one deal of board cards between them, as boards x hands up to suits: flop hold'em.

The vector form (public_tree.py) has one vector over all (board, hand) pairs; here each canonical board has vectors of
its own, one number per class of hands, and is solved by itself. A board's part of a table lies together::

    number of (board b, player p, entry e, class c) = first_pair[b] * entries + (first_entry[p] + e) * classes(b) + c

where an *entry* is an action at one of the player's decision nodes of the second round. Before the board the same holds
with one vector over starting hands. A player's *rows* in a round are its reach of each root (what leads into the
round), then its entries: a plan has one vector a row.

1. The betting trees of both rounds, from the game's own rules. 2. Hands up to suits (games/suits.py). 3. Per board, raw
hands in the order of their strength, in groups that tie.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel
from equipoise.errors import NotSupported
from equipoise.games import Game
from equipoise.games.betting import BettingState
from equipoise.games.hand_ranks import deck_bits, hand_rank
from equipoise.games.poker import PokerGame, best_five_cards
from equipoise.games.suits import HOLE_CARDS, Cards, Int16, SuitIsomorphism, suit_isomorphism
from equipoise.trees.betting_tree import Betting, Leaf, betting_tree, round_rows
from equipoise.trees.digest import digest
from equipoise.trees.treeplex import Float, Int32, Int64, UInt64

UInt16 = npt.NDArray[np.uint16]

LANES_OF_A_VECTOR = 32  # columns are padded to a multiple, so that loops over them become whole vector instructions


class Payments(NamedTuple):
    """What the leaves of a round pay to each player, from the opponent's plan; the first axis is the player.

    The opponent's rows that end in a leaf become *columns*, those that end in a showdown first; both kinds are padded.
    A board's kernel gives each class of hands one number a showdown column (won minus lost), then one a column (the
    opponent's reach with hands that share no card with the own). A player's row ends in at most one showdown and one
    fold, by the opponent's next action or by its own: it is worth the sum of amount x number of both.
    """

    showdowns: int  # columns that need the order of hands, padded
    columns: int  # all columns, padded
    column_row: Int64  # [2, columns] the opponent's row; -1: padding
    showdown_number: UInt64  # [2, own rows] which showdown column; any where the amount is 0
    showdown_amount: Float  # [2, own rows]
    fold_number: UInt64  # [2, own rows] after the showdown columns: which column
    fold_amount: Float  # [2, own rows]


class Showdowns(NamedTuple):
    """Hands in the order of their strength, from weakest to strongest, in groups that tie; board after board."""

    hands: int  # raw hands on a board
    hand_class: UInt16  # [boards x hands]
    hand_first: Cards  # [boards x hands] the lower card
    hand_second: Cards  # [boards x hands]
    class_order: UInt16  # [pairs] classes by strength
    class_first: Cards  # [pairs] the lower card of a class's lowest hand, in the order of classes
    class_second: Cards  # [pairs]
    group_start: Int64  # [boards + 1]
    group_hands: UInt16  # [groups] where the group's hands end, within the board
    group_classes: UInt16  # [groups] where the group's classes end


class Pairs(NamedTuple):
    """The classes of hands, as arrays that kernels can take."""

    first_pair: Int64  # [boards + 1]
    start_class: Int16  # [pairs] the starting class
    start_weight: Float  # [pairs] the chance of the board and the class, given the starting class


class StartingHands(NamedTuple):
    """Raw hands before the board."""

    hand_class: Int16  # [raw hands]
    hand_first: Cards
    hand_second: Cards
    class_hand: Int16  # [starting classes] the lowest raw hand
    chance: Float  # [starting classes]


@dataclass(frozen=True, kw_only=True)
class BoardForm:
    """A compiled game of two rounds."""

    game: PokerGame
    cards: SuitIsomorphism
    betting: tuple[Betting, Betting]
    payments: tuple[Payments, Payments]  # by round
    nodes: tuple[Int32, Int32]  # by round: the numbers of the decision nodes in the betting tree
    states: tuple[tuple[BettingState, ...], tuple[BettingState, ...]]  # by round: the decision nodes' betting
    closings: Int64  # [2, roots of the second round] each player's row of the first round that leads there
    pairs: Pairs
    starting_hands: StartingHands
    showdowns: Showdowns

    @property
    def layout(self) -> str:
        """Return a hash of the order of tables: betting rows, boards, and classes of hands on each."""
        return digest(self.betting, self.closings, self.cards.boards, self.pairs[:2], self.starting_hands.hand_class)

    @property
    def num_boards(self) -> int:
        """Return the number of canonical boards."""
        return len(self.cards.boards)

    @property
    def num_starting_classes(self) -> int:
        """Return the number of starting hands up to suits."""
        return len(self.cards.start_size)

    @property
    def widest(self) -> int:
        """Return the largest number of classes on a board."""
        return int(np.diff(self.pairs.first_pair).max())

    @cached_property
    def first_entries(self) -> Int64:
        """Return where each player's entries begin in a board's part of a table, and how many entries there are."""
        return entries_before(self.betting[1])

    @property
    def num_entries(self) -> int:
        """Return the size of a table of the second round: (infoset, action) pairs up to suits."""
        return int(self.first_entries[2]) * self.cards.num_pairs

    @property
    def num_start_entries(self) -> int:
        """Return the size of a table of the first round."""
        return int(entries_before(self.betting[0])[2]) * self.num_starting_classes

    @property
    def num_infosets(self) -> int:
        """Return the number of infosets of both players up to suits."""
        widths = (self.num_starting_classes, self.cards.num_pairs)
        return sum(len(b.node_player) * width for b, width in zip(self.betting, widths, strict=True))

    @cached_property
    def node_of(self) -> dict[str, tuple[int, int]]:
        """Return the round and number of each decision node, by the text of its betting."""
        return {state.text: (r, node) for r in range(2) for node, state in enumerate(self.states[r])}

    def block(self, board: int) -> slice:
        """Return where a board's part of a table is."""
        first, last = self.pairs.first_pair[board : board + 2] * self.first_entries[2]
        return slice(int(first), int(last))


def entries_before(betting: Betting) -> Int64:
    """Return the number of entries before player 0's, before player 1's, and of both."""
    return np.concatenate([[0], np.cumsum(betting.rows - betting.roots)])


def first_entries_by_node(betting: Betting) -> Int64:
    """Return, by the nodes of a round, where their entries begin in a table."""
    return entries_before(betting)[betting.node_player] + betting.node_row - betting.roots


@dataclass(frozen=True)
class UnmeasuredForm:
    """A game that is too large for an exact best response: solvers work on it, but nothing measures them."""

    game: PokerGame

    @property
    def why(self) -> str:
        """Return why it is not evaluated."""
        return f"{self.game.name} is too large for an exact best response"


def has_board_form(game: Game) -> bool:
    """Return whether a game is one for this form: two private cards, two rounds, one deal of board cards between."""
    return (
        isinstance(game, PokerGame)
        and game.hole_cards == HOLE_CARDS
        and len(game.board_cards) == 2
        and game.board_cards[0] == 0
        and game.board_cards[1] > 0
    )


def board_form(game: Game) -> BoardForm:
    """Return a game's form over canonical boards. What beats what must not depend on the names of suits."""
    if not (isinstance(game, PokerGame) and has_board_form(game)):
        raise NotSupported(
            f"{game.name} lacks two private cards, two rounds and one deal of board cards; choose another --engine"
        )
    cards = suit_isomorphism(len(game.deck.ranks), len(game.deck.suits), game.board_cards[1])
    tree = betting_tree(game)
    first, first_nodes, first_states, leaves = round_rows(tree, [0], 0)
    folds = [leaf for leaf in leaves if leaf.state.folded >= 0]
    closings = [leaf for leaf in leaves if leaf.state.folded < 0]
    second, second_nodes, second_states, ends = round_rows(tree, [leaf.node for leaf in closings], 1)
    deck = cards.deck_size
    others = comb(deck - HOLE_CARDS, HOLE_CARDS)
    others_on_board = comb(deck - HOLE_CARDS - game.board_cards[1], HOLE_CARDS)
    return BoardForm(
        game=game,
        cards=cards,
        betting=(first, second),
        payments=(_payments(first, folds, others), _payments(second, ends, others_on_board)),
        nodes=(first_nodes, second_nodes),
        states=(first_states, second_states),
        closings=np.array([[leaf.rows[player] for leaf in closings] for player in range(2)]),
        pairs=_pairs(cards),
        starting_hands=StartingHands(
            hand_class=cards.start_class,
            hand_first=cards.hands[:, 0].copy(),
            hand_second=cards.hands[:, 1].copy(),
            class_hand=cards.start_hand,
            chance=cards.start_size / cards.start_size.sum(),
        ),
        showdowns=_showdowns(cards, _strengths(game, cards)),
    )


def _payments(betting: Betting, leaves: Sequence[Leaf], opponent_hands: int) -> Payments:
    """Return what leaves pay. Numbers are means over the opponent's hands: chance is in the amounts."""
    ends = [leaf for leaf in leaves if leaf.state.folded < 0]
    folds = [leaf for leaf in leaves if leaf.state.folded >= 0]
    showdowns, rows = _padded(len(ends)), int(betting.rows.max())
    numbers, amounts = np.zeros((2, 2, rows), np.uint64), np.zeros((2, 2, rows))
    columns: list[list[int]] = []
    for player in range(2):
        opponent = 1 - player
        own = [leaf.rows[opponent] for leaf in ends] + [-1] * (showdowns - len(ends))
        place = {row: column for column, row in enumerate(own) if row >= 0}
        for column, leaf in enumerate(ends):
            row = leaf.rows[player]
            numbers[0, player, row] = column
            amounts[0, player, row] = leaf.state.pot_share_at_risk() / opponent_hands
        for leaf in folds:
            if leaf.rows[opponent] not in place:
                place[leaf.rows[opponent]] = len(own)
                own.append(leaf.rows[opponent])
            row, sign = leaf.rows[player], 1.0 if leaf.state.folded == opponent else -1.0
            numbers[1, player, row] = showdowns + place[leaf.rows[opponent]]
            amounts[1, player, row] = sign * leaf.state.pot_share_at_risk() / opponent_hands
        columns.append(own)
    most = _padded(max(map(len, columns)))
    return Payments(
        showdowns=showdowns,
        columns=most,
        column_row=np.array([own + [-1] * (most - len(own)) for own in columns], np.int64),
        showdown_number=numbers[0],
        showdown_amount=amounts[0],
        fold_number=numbers[1],
        fold_amount=amounts[1],
    )


def _padded(count: int) -> int:
    return -(-count // LANES_OF_A_VECTOR) * LANES_OF_A_VECTOR


def _pairs(cards: SuitIsomorphism) -> Pairs:
    start_class = cards.start_class[cards.pair_hand]
    boards = comb(cards.deck_size - HOLE_CARDS, cards.boards.shape[1])
    raw_pairs = np.repeat(cards.board_weight, np.diff(cards.first_pair)) * cards.pair_size
    return Pairs(cards.first_pair, start_class, raw_pairs / (cards.start_size[start_class] * boards))


@kernel
def _holdem_strengths(boards: Cards, hands: Cards, hand_class: Int16, bits: UInt64, out: Int32) -> None:
    count = boards.shape[1] + hands.shape[1]
    for board in range(boards.shape[0]):
        open_bits = np.uint64(0)
        for k in range(boards.shape[1]):
            open_bits |= bits[boards[board, k]]
        for hand in range(hands.shape[0]):
            if hand_class[board, hand] >= 0:
                out[board, hand] = hand_rank(open_bits | bits[hands[hand, 0]] | bits[hands[hand, 1]], count)


_NEVER = np.iinfo(np.int32).max  # the strength of hands that share a card with the board: they are sorted to the end


def _strengths(game: PokerGame, cards: SuitIsomorphism) -> Int32:
    """Return the strength of each raw hand on each canonical board."""
    strengths = np.full(cards.hand_class.shape, _NEVER, np.int32)
    if game.strength is best_five_cards:
        _holdem_strengths(cards.boards, cards.hands, cards.hand_class, deck_bits(cards.ranks, cards.suits), strengths)
    else:
        hands = [tuple(hand) for hand in cards.hands.tolist()]
        for board, open_cards in enumerate(cards.boards.tolist()):
            for hand in np.flatnonzero(cards.hand_class[board] >= 0):
                strengths[board, hand] = game.strength_of(hands[hand], tuple(open_cards))
    return strengths


def _showdowns(cards: SuitIsomorphism, strengths: Int32) -> Showdowns:
    boards, live = len(cards.boards), comb(cards.deck_size - cards.boards.shape[1], HOLE_CARDS)
    order = np.argsort(strengths, axis=1, kind="stable")[:, :live]
    ordered = np.take_along_axis(strengths, order, axis=1)
    ends = np.concatenate([np.diff(ordered, axis=1) != 0, np.ones((boards, 1), np.bool_)], axis=1)
    board_of_pair = np.repeat(np.arange(boards), np.diff(cards.first_pair))
    pair_strength = strengths[board_of_pair, cards.pair_hand]
    by_strength = np.lexsort((pair_strength, board_of_pair))
    following = np.diff(pair_strength[by_strength], append=_NEVER) != 0
    following |= np.diff(board_of_pair, append=boards) != 0
    start = cards.first_pair[board_of_pair]
    lowest = cards.hands[cards.pair_hand]
    return Showdowns(
        hands=live,
        hand_class=np.take_along_axis(cards.hand_class, order, axis=1).astype(np.uint16).ravel(),
        hand_first=cards.hands[order, 0].ravel(),
        hand_second=cards.hands[order, 1].ravel(),
        class_order=(by_strength - start).astype(np.uint16),
        class_first=lowest[:, 0].copy(),
        class_second=lowest[:, 1].copy(),
        group_start=np.concatenate([[0], np.cumsum(ends.sum(axis=1))]),
        group_hands=(np.nonzero(ends)[1] + 1).astype(np.uint16),
        group_classes=(np.flatnonzero(following) - start[following] + 1).astype(np.uint16),
    )
