"""Hand strength as networks may see it, in games over boards: what a holding wins, besides the cards it is made of.

Features of a hand on a board, all of them exact:

1. what it wins less what it loses against all hands, and that number once more as a spline (how near it is to each of
   eight places between -1 and 1);
2. the same against eight groups of starting hands, from the weakest to the strongest, equally many hands each;
3. counts: a pair in hand, own cards that pair the board, own cards above the board, the most cards of an own suit.

Before the board only the first are known, as means over all boards.
"""

from dataclasses import dataclass

import numpy as np

from equipoise.compiled import kernel
from equipoise.errors import NotSupported
from equipoise.games.poker import PokerGame
from equipoise.games.suits import HOLE_CARDS
from equipoise.networks.grammars import Float32
from equipoise.trees.board_form import BoardForm, Pairs, Payments, Showdowns, board_form, has_board_form
from equipoise.trees.board_places import BoardPlaces, board_places
from equipoise.trees.board_values import showdown_numbers
from equipoise.trees.treeplex import Float, Int64

GROUPS, KNOTS, COUNTS = 8, 8, 4
FEATURES = 1 + KNOTS + GROUPS + COUNTS


@kernel
def _write_wins(
    payments: Payments,
    showdowns: Showdowns,
    pairs: Pairs,
    group: Int64,
    reach: Float,
    sums: Float,
    numbers: Float,
    out: Float,
) -> None:
    """Write, by pair, what a hand wins less what it loses over hands that share no card with it: all, then by group."""
    columns = payments.columns
    for board in range(pairs.first_pair.size - 1):
        first_pair = pairs.first_pair[board]
        width = pairs.first_pair[board + 1] - first_pair
        for j in range(width):
            for k in range(columns):
                reach[j * columns + k] = 0.0
            reach[j * columns] = 1.0
            reach[j * columns + 1 + group[pairs.start_class[first_pair + j]]] = 1.0
        showdown_numbers(payments, showdowns, board, first_pair, width, reach, sums, numbers)
        for j in range(width):
            for k in range(columns):
                beside = numbers[j * 2 * columns + columns + k]
                out[first_pair + j, k] = numbers[j * 2 * columns + k] / beside if beside > 0.5 else 0.0


def wins(form: BoardForm, group: Int64) -> Float:
    """Return, by pair of hand and board, what a hand wins less what it loses: against all hands, then by groups.

    ``group`` says which group each class of starting hands belongs to.
    """
    columns, width = 1 + GROUPS, form.widest
    payments = form.payments[1]._replace(showdowns=columns, columns=columns)
    out = np.empty((form.cards.num_pairs, columns))
    scratch = np.zeros(width * columns), np.zeros((form.cards.deck_size + 1) * columns), np.zeros(2 * width * columns)
    _write_wins(payments, form.showdowns, form.pairs, group, *scratch, out)
    return out


@dataclass(frozen=True)
class HandStrength:
    """The features of all holdings of a game."""

    places: BoardPlaces
    start: Float32  # [starting classes, features]
    table: Float32  # [pairs, features]

    def of(self, cards: Int64) -> Float32:
        """Return the features of holdings; -1 where a card is not dealt yet."""
        out = np.empty((len(cards), FEATURES), np.float32)
        dealt = cards[:, HOLE_CARDS] >= 0
        for second_round, table in ((False, self.start), (True, self.table)):
            some = np.flatnonzero(dealt == second_round)
            board, own = self.places.classes(cards[some].astype(np.int8), second_round=second_round)
            out[some] = table[self.places.form.pairs.first_pair[board] + own if second_round else own]
        return out


def spline(wins: Float) -> Float:
    """Return how near numbers between -1 and 1 are to each of some places between these."""
    away = np.abs(wins[:, None] - np.linspace(-1.0, 1.0, KNOTS)) * (KNOTS - 1) / 2
    near: Float = np.maximum(0.0, 1.0 - away)
    return near


def start_groups(form: BoardForm, mean_wins: Float) -> Int64:
    """Return the group of each class of starting hands: by what it wins on average, equally many hands in each."""
    order = np.argsort(mean_wins, kind="stable")
    size = form.cards.start_size[order]
    below = np.cumsum(size) - size / 2
    group = np.empty(len(order), np.int64)
    group[order] = np.minimum((GROUPS * below / size.sum()).astype(np.int64), GROUPS - 1)
    return group


def hand_strength(game: PokerGame) -> HandStrength:
    """Return the features of a game over boards; refuse any other."""
    if not has_board_form(game):
        raise NotSupported(
            f"strength=yes is for games that end on the board cards of their second round, such as flop_holdem; "
            f"{game.name} is not one of them"
        )
    form = board_form(game)
    start_class, weight = form.pairs.start_class, form.pairs.start_weight
    ungrouped = wins(form, np.zeros(form.num_starting_classes, np.int64))[:, 0]
    mean = np.zeros(form.num_starting_classes)
    np.add.at(mean, start_class, weight * ungrouped)
    won = wins(form, start_groups(form, mean))
    table = np.concatenate([won[:, :1], spline(won[:, 0]), won[:, 1:], _counts(form)], axis=1)
    start = np.zeros((len(mean), FEATURES))
    start[:, 0], start[:, 1 : 1 + KNOTS] = mean, spline(mean)
    return HandStrength(board_places(form), start.astype(np.float32), table.astype(np.float32))


def _counts(form: BoardForm) -> Float:
    """Return, by pair: a pair in hand, own cards that pair the board or are above it, the most of an own suit."""
    cards, suits = form.cards, form.cards.suits
    hand = cards.hands[cards.pair_hand].astype(np.int64)
    board = np.repeat(cards.boards, np.diff(cards.first_pair), axis=0).astype(np.int64)
    rank, open_rank = hand // suits, board // suits
    in_suit = (hand[:, :, None] % suits == np.concatenate([hand, board], axis=1)[:, None] % suits).sum(axis=2)
    return np.stack(
        [
            rank[:, 0] == rank[:, 1],
            (rank[:, :, None] == open_rank[:, None]).any(axis=2).sum(axis=1) / HOLE_CARDS,
            (rank > open_rank.max(axis=1, keepdims=True)).sum(axis=1) / HOLE_CARDS,
            in_suit.max(axis=1) / (HOLE_CARDS + board.shape[1]),
        ],
        axis=1,
    ).astype(np.float64)
