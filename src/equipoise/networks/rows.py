"""What a network sees of rows, whether rows are numbers of listed infosets or codes of infosets too many to list."""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.networks.grammars import Float32
from equipoise.trees.codes import Grid
from equipoise.trees.tables import Listing
from equipoise.trees.treeplex import Int64

Bool = npt.NDArray[np.bool_]
Which = Int64 | slice


class Trie(NamedTuple):
    """All prefixes of some rows' steps, each once, by length: prefixes of a level have their parents in the one before.

    ``parent`` counts from the start of the parent's level; ``last`` is the whole sequence of each row.
    """

    cells: Float32  # [prefixes, cell width] as published
    hints: Float32  # [prefixes, few] columns that cells lack, for networks that ask for them
    parent: Int64  # [prefixes]
    level_start: Int64  # [levels + 1]
    last: Int64  # [rows]


class Holdings(NamedTuple):
    """Rows as pairs of a holding (private cards and board) and a betting node, each listed once."""

    cards: Int64  # [holdings, cards] -1: not dealt yet
    bets: Float32  # [nodes, positions] the size of each bet, -1 where there was none
    nodes: Int64  # [nodes] their numbers
    holding: Int64  # [rows]
    node: Int64  # [rows]
    deals: tuple[int, ...]  # cards of each set that is dealt together: private, flop, ...
    ranks: int
    suits: int
    hand: Int64  # [holdings] the number of the private cards among all hands
    hands: int  # how many hands there are, up to suits where these are renamed
    strength: Float32 | None = None  # [holdings, features] hand strength, where networks see it


class SeenRows(Protocol):
    """What networks see of rows."""

    @property
    def num_columns(self) -> int:
        """Return the length of a network's output."""

    @property
    def num_listed(self) -> int | None:
        """Return how many rows there are; None: too many to list, rows are codes."""

    @property
    def listing(self) -> Listing | None:
        """Return how infosets lie in tables; None: there are too many to list."""

    def seen_as(self, infosets: Int64) -> Int64:
        """Return the row that each infoset is to a network: several may share one."""

    def own_rows(self, players: tuple[int, ...]) -> Which:
        """Return all rows of some players where they are listed, else some examples: what a network is started on."""

    def legal_at(self, rows: Int64) -> Bool:
        """Return, per row and column, whether the action is legal there."""

    def vectors(self, rows: Which) -> Float32:
        """Return rows as vectors, for feed-forward networks."""

    def prefixes(self, rows: Which) -> Trie:
        """Return the prefixes of rows' observed steps, for recurrent networks."""

    def holdings(self, rows: Which) -> Holdings:
        """Return rows as cards and bets, for hold'em's networks."""

    def on_grid(self, grid: Grid) -> Holdings:
        """Return a grid's holdings and nodes; the rows are all pairs of them."""
