"""Rows and tables of a listed game are the same numbers in two shapes."""

import numpy as np
import pytest

from equipoise.trees.tables import Listing

pytestmark = pytest.mark.nojit


def listing():
    """Return three infosets of player 0 and two of player 1, with 2, 1, 3, 2 and 2 actions out of four."""
    return Listing(
        first=np.array([0, 2, 3, 6, 8, 10]), split=3, column=np.array([0, 3, 1, 0, 1, 2, 1, 3, 0, 2]), num_columns=4
    )


def test_every_entry_comes_back():
    table = np.arange(1.0, 11.0)
    made = listing()
    np.testing.assert_array_equal(made.table(lambda player: made.spread(table, player)), table)
    np.testing.assert_array_equal(made.spread(table, 0), [[1, 0, 0, 2], [0, 3, 0, 0], [4, 5, 6, 0]])
    np.testing.assert_array_equal(made.at(table, np.array([4, 0])), [[9, 0, 10, 0], [1, 0, 0, 2]])
    again = np.zeros(10)
    for infoset in (2, 0, 4, 1, 3, 3):
        made.write(made.at(table, np.array([infoset])), np.array([infoset]), again)
    np.testing.assert_array_equal(again, np.where(np.isin(np.arange(10), (6, 7)), 2 * table, table))


def test_infosets_with_something_positive():
    table = np.zeros(10)
    table[[1, 5]], table[8] = 0.5, -1.0
    np.testing.assert_array_equal(listing().positive(table, 0), [0, 2])
    assert len(listing().positive(table, 1)) == 0
    assert [listing().entries_of(player) for player in range(2)] == [slice(0, 6), slice(6, 10)]
    nobody = Listing(first=np.array([0, 2]), split=1, column=np.array([0, 1]), num_columns=2)
    assert len(nobody.positive(np.ones(2), 1)) == 0
