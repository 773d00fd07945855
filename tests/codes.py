"""Infosets by code beside infosets by key: for tests that play or traverse the same game with and without a list."""

from typing import NamedTuple

import numpy as np

from equipoise.games.notation import read_cards
from equipoise.networks.infosets import Infosets
from equipoise.sampling.dice import NO_TAPE, choose_index, start_stream
from equipoise.sampling.lockstep import Deals, write_deal
from equipoise.trees.codes import MOST_CARDS, codes_of, nodes_of


def code_of(layout, hand, board, betting_round, node):
    """Return the code of one infoset."""
    cards = np.zeros((1, MOST_CARDS), np.int8)
    cards[0, : len(hand) + len(board)] = [*hand, *board]
    return int(codes_of(layout, cards, np.array([betting_round]), np.array([node]))[0])


def code_of_key(tree, layout, key):
    game = tree.game
    cards, _, betting = key.partition("|")
    hand, _, board = cards.partition("/")
    node = tree.node_of_text[betting]
    return code_of(layout, read_cards(game.deck, hand), read_cards(game.deck, board), tree.states[node].round, node)


def scores_by_hash(player, codes):
    """Return scores without pattern, about half of them negative, the same for a code whenever it is asked for."""
    assert len(np.unique(codes)) == len(codes) > 0
    mixed = (codes.astype(np.uint64)[:, None] + np.arange(8, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(40)).astype(np.float64) / 2**24 - 0.5


class CodedRows(NamedTuple):
    """Where the listed rows of a game are among its codes."""

    rows: Infosets
    codes: np.ndarray  # [rows]
    columns: np.ndarray  # [rows, columns of codes] the column of a listed row, -1: illegal

    def numbers_of(self, table, illegal=9.9):
        """Return what answers questions by code from numbers by listed row and column."""
        place = {int(code): row for row, code in enumerate(self.codes)}

        def answer(player, asked):
            found = np.array([place[int(code)] for code in asked])
            own = range(len(self.codes))[self.rows.rows_of(player)]
            assert set(found) <= set(own)
            return self.moved(table[found], found, illegal)

        return answer

    def moved(self, numbers, found, illegal=0.0):
        """Return numbers of some rows in the columns of codes."""
        columns = self.columns[found]
        return np.where(columns >= 0, np.take_along_axis(numbers, np.maximum(columns, 0), 1), illegal)


def coded_rows(rows, tree, layout):
    """Return where all listed rows are."""
    codes = np.array([code_of_key(tree, layout, key) for key in rows.row_keys])
    assert len(set(codes.tolist())) == len(codes)
    columns = np.full((len(codes), tree.num_columns), -1)
    for row, node in enumerate(nodes_of(codes)):
        first = tree.nodes.first_child[node]
        for child in range(first, first + tree.nodes.num_children[node]):
            # the columns of listed rows are by name, those of codes by action
            column = int(tree.nodes.column[child])
            name = rows.grammar.action(tree.game.betting_action_name(tree.states[node], column))
            columns[row, column] = rows.actions.index(name)
    return CodedRows(rows, codes, columns)


class SameDeals:
    """Mixed into what runs in lockstep: the deals of a sampled game, drawn as its traversal draws them."""

    sampled = None

    def deal(self, player, iteration, first, count):
        tree, stage = self.sampled.tree, len(self.sampled.public.stages) - 1
        labels = self.sampled.public.stages[stage].labels
        deals = Deals(
            np.zeros((count, 2), np.uint64), np.empty((count, 2, stage + 1), np.int64), np.empty(count, np.int8)
        )
        table = tree.deals.reshape(-1, 3 * (stage + 1))
        deck = self._tree.game.deck
        for number in range(count):
            start_stream(deals.dice[number], self._seed, iteration, player, first + number)
            chosen = choose_index(deals.dice[number], NO_TAPE, len(table))
            hands = [labels[who][table[chosen, 3 * stage + who]].partition("/") for who in range(2)]
            cards = [*(read_cards(deck, hand)[0] for hand, _, _ in hands), *read_cards(deck, hands[0][2])]
            scratch = np.zeros(2 * len(deck.suits), np.uint64)
            write_deal(self._layout, np.empty(0, np.uint64), np.array(cards, np.int8), number, deals, scratch)
        return deals
