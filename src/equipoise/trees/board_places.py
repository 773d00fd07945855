"""Where the situations of a game over boards stand in the tables of its form."""

from typing import NamedTuple

import numpy as np

from equipoise.compiled import kernel
from equipoise.games.suits import HOLE_CARDS, Int16, Int32, choose_table, hand_images, place_of_set
from equipoise.trees.betting_tree import BettingTree, betting_tree
from equipoise.trees.board_form import BoardForm, first_entries_by_node
from equipoise.trees.codes import Int8
from equipoise.trees.treeplex import Int64


class BoardPlaces(NamedTuple):
    """Betting nodes as entries of tables; cards as boards and classes."""

    form: BoardForm
    tree: BettingTree
    entry: Int64  # [nodes] of the action that leads to a node, in the table of the round in which it is taken

    def classes(self, cards: Int8, *, second_round: bool) -> tuple[Int64, Int64]:
        """Return the canonical boards of rows of cards (private, then board), and the classes of the hands on them.

        Before the board there is none: boards are 0, and classes are those of starting hands.
        """
        found = self.form.cards
        board, own = np.zeros(len(cards), np.int64), np.empty(len(cards), np.int64)
        _write_classes(
            np.ascontiguousarray(cards, np.int32),
            second_round,
            found.start_class,
            found.board_of,
            found.renaming_of,
            hand_images(found.ranks, found.suits),
            found.hand_class,
            choose_table(found.deck_size),
            board,
            own,
        )
        return board, own


@kernel
def _write_classes(
    cards: Int32,
    second_round: bool,
    start_class: Int16,
    board_of: Int32,
    renaming_of: Int32,
    images: Int16,
    hand_class: Int16,
    choose: Int64,
    board: Int64,
    own: Int64,
) -> None:
    in_order = np.empty(cards.shape[1], np.int32)
    for row in range(cards.shape[0]):
        in_order[:HOLE_CARDS] = np.sort(cards[row, :HOLE_CARDS])
        hand = place_of_set(in_order[:HOLE_CARDS], choose)
        if second_round:
            in_order[HOLE_CARDS:] = np.sort(cards[row, HOLE_CARDS:])
            raw = place_of_set(in_order[HOLE_CARDS:], choose)
            board[row] = board_of[raw]
            own[row] = hand_class[board_of[raw], images[renaming_of[raw], hand]]
        else:
            own[row] = start_class[hand]


def board_places(form: BoardForm) -> BoardPlaces:
    """Return where the situations of a form's game stand in its tables."""
    tree = betting_tree(form.game)
    entry = np.full(tree.num_nodes, -1)
    for betting, nodes in zip(form.betting, form.nodes, strict=True):
        for node, first in zip(nodes, first_entries_by_node(betting).tolist(), strict=True):
            children = int(tree.nodes.first_child[node]) + np.arange(int(tree.nodes.num_children[node]))
            entry[children] = first + np.arange(len(children))
    return BoardPlaces(form, tree, entry)
