"""Raw cards and their places up to suits, one hand and one board at a time."""

import numpy as np

from equipoise.games.suits import HOLE_CARDS, NO_CLASS, _renamed, choose_table, place_of_set


def _place(deck, cards):
    return int(place_of_set(np.array(sorted(cards), np.uint8), choose_table(deck.deck_size)))


def start_index(deck, hole):
    """Return the class of a starting hand."""
    return int(deck.start_class[_place(deck, hole)])


def locate(deck, hole, board):
    """Return the canonical board of a raw one, and the class of the hand on it."""
    raw = _place(deck, board)
    renamed = np.empty(HOLE_CARDS, np.uint8)
    _renamed(np.array(sorted(hole), np.uint8), deck.permutations[deck.renaming_of[raw]], renamed)
    canonical = int(deck.board_of[raw])
    own = int(deck.hand_class[canonical, place_of_set(renamed, choose_table(deck.deck_size))])
    assert own != NO_CLASS
    return canonical, own


def pair_index(deck, hole, board):
    """Return the number of a raw (hand, board) pair."""
    canonical, own = locate(deck, hole, board)
    return int(deck.first_pair[canonical]) + own


def pair(deck, index):
    """Return the representative (hand, board) of a pair."""
    board = int(np.searchsorted(deck.first_pair, index, side="right")) - 1
    hole = deck.hands[deck.pair_hand[index]]
    return tuple(hole.tolist()), tuple(deck.boards[board].tolist())
