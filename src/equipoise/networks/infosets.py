"""A game's infosets as a network sees them: rows of input, and where each table entry is in a network's output.

Tables hold player 0's infosets, then player 1's, each infoset's actions together (see `sampling.tree`). A *row* is what
a network distinguishes: infosets that a symmetry makes the same share one. A network's output has one column an
*action*, the same in every infoset (fold is always column 0, say), so entry k of a table is output[row[k], column[k]].
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from equipoise.errors import NotSupported
from equipoise.networks.grammars import Cards, Float32, Grammar, Step, grammar_of
from equipoise.networks.rows import Bool, Holdings, Trie, Which
from equipoise.trees.codes import Grid
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.tables import Listing
from equipoise.trees.treeplex import Float, Int64

MOST_ACTIONS = 64  # games with more action names than this have outputs by position instead


@dataclass(frozen=True, kw_only=True)
class Infosets:
    """The rows of a game, and the map between rows and tables."""

    grammar: Grammar
    row_keys: tuple[str, ...]  # player 0's rows, then player 1's
    num_rows: tuple[int, int]
    entry_row: Int64  # [entries]
    entry_column: Int64  # [entries]
    row_of: Int64  # [infosets] both players'
    first: Int64  # [infosets + 1] of each, its first table entry
    actions: tuple[str, ...]  # [columns]
    table_sizes: tuple[int, int]

    @property
    def num_columns(self) -> int:
        """Return the length of a network's output."""
        return len(self.actions)

    @property
    def num_listed(self) -> int:
        return len(self.row_keys)

    @cached_property
    def listing(self) -> Listing:
        """Return how infosets lie in tables."""
        split = int(np.searchsorted(self.first, self.table_sizes[0]))
        return Listing(first=self.first, split=split, column=self.entry_column, num_columns=self.num_columns)

    def seen_as(self, infosets: Int64) -> Int64:
        """Return the rows of infosets."""
        return self.row_of[infosets]

    @cached_property
    def legal(self) -> npt.NDArray[np.bool_]:
        """Return, per row and column, whether the action is legal there."""
        table = np.zeros((len(self.row_keys), self.num_columns), np.bool_)
        table[self.entry_row, self.entry_column] = True
        return table

    @cached_property
    def members(self) -> Float:
        """Return how many infosets share each row."""
        cells = np.zeros((len(self.row_keys), self.num_columns))
        np.add.at(cells, (self.entry_row, self.entry_column), 1.0)
        highest: Float = cells.max(axis=1)
        return highest

    def rows_of(self, player: int) -> slice:
        """Return a player's rows."""
        first = self.num_rows[0]
        return slice(0, first) if player == 0 else slice(first, first + self.num_rows[1])

    def own_rows(self, players: tuple[int, ...]) -> slice:
        return slice(self.rows_of(players[0]).start, self.rows_of(players[-1]).stop)

    def entries_of(self, player: int) -> slice:
        """Return a player's table entries."""
        first = self.table_sizes[0]
        return slice(0, first) if player == 0 else slice(first, first + self.table_sizes[1])

    def to_table(self, outputs: Float) -> Float:
        """Return the outputs of all rows as a table."""
        table: Float = outputs[self.entry_row, self.entry_column]
        return table

    def to_rows(self, table: Float, players: tuple[int, ...]) -> Float:
        """Return some players' part of a table, summed by row (of these players, in order) and column."""
        rows = self.own_rows(players)
        entries = slice(self.entries_of(players[0]).start, self.entries_of(players[-1]).stop)
        place = (self.entry_row[entries] - rows.start) * self.num_columns + self.entry_column[entries]
        size = (rows.stop - rows.start) * self.num_columns
        summed: Float = np.bincount(place, weights=table[entries], minlength=size).astype(np.float64)
        return summed.reshape(-1, self.num_columns)

    @cached_property
    def flat(self) -> Float32:
        """Return the rows as vectors, for feed-forward networks."""
        return self.grammar.flat(self.row_keys)

    def legal_at(self, rows: Int64) -> Bool:
        return self.legal[rows]

    def vectors(self, rows: Which) -> Float32:
        return self.flat[rows]

    def prefixes(self, rows: Which) -> Trie:
        return sub_trie(self.trie, np.arange(len(self.row_keys))[rows])

    def holdings(self, rows: Which) -> Holdings:
        raise NotSupported("network=cards is for hold'em games that are too large to list; choose mlp or lstm")

    def on_grid(self, grid: Grid) -> Holdings:
        raise NotSupported("listed infosets are not pairs of holdings and betting nodes")

    @cached_property
    def trie(self) -> Trie:
        """Return the prefixes of all rows' observed steps, for recurrent networks."""
        return _trie([self.grammar.steps(key) for key in self.row_keys], self.grammar)


def _trie(sequences: Sequence[tuple[Step, ...]], grammar: Grammar) -> Trie:
    levels: list[dict[tuple[int, Step], int]] = []  # (parent's number in its level, step) -> number in this level
    ends = []
    for steps in sequences:
        number = 0
        for depth, step in enumerate(steps):
            if depth == len(levels):
                levels.append({})
            number = levels[depth].setdefault((number, step), len(levels[depth]))
        ends.append((len(steps) - 1, number))
    level_start = np.cumsum([0, *(len(level) for level in levels)])
    prefixes = [prefix for level in levels for prefix in level]
    last = np.array([level_start[depth] + number for depth, number in ends], np.int64)
    seen = [step for _, step in prefixes]
    return Trie(
        cells=grammar.cells(seen),
        hints=grammar.hints(seen),
        parent=np.array([parent for parent, _ in prefixes], np.int64),
        level_start=level_start.astype(np.int64),
        last=last,
    )


def sub_trie(trie: Trie, rows: Int64) -> Trie:
    """Return the prefixes that some rows need, and no others."""
    last, renumbered = np.unique(trie.last[rows], return_inverse=True)
    depth = np.searchsorted(trie.level_start, last, side="right") - 1
    needed: list[Int64] = []
    below = np.zeros(0, np.int64)
    for level in range(len(trie.level_start) - 2, -1, -1):
        own = np.unique(np.concatenate([last[depth == level], below]))
        needed.append(own)
        if level:
            below = trie.level_start[level - 1] + trie.parent[own]
    needed = [own for own in needed[::-1] if len(own)]
    starts = np.cumsum([0, *(len(own) for own in needed)]).astype(np.int64)
    parents = [np.zeros(len(needed[0]), np.int64)]
    for level in range(1, len(needed)):
        above = trie.level_start[level - 1] + trie.parent[needed[level]]
        parents.append(np.searchsorted(needed[level - 1], above))
    kept = np.concatenate(needed)
    return Trie(
        cells=trie.cells[kept],
        hints=trie.hints[kept],
        parent=np.concatenate(parents),
        level_start=starts,
        last=np.searchsorted(kept, last)[renumbered],
    )


def infosets_of(form: SequenceForm, cards: Cards = "ranks") -> Infosets:
    """Return the rows of a compiled game."""
    grammar = grammar_of(form.game, cards)
    row_numbers: list[Int64] = []
    row_keys: list[str] = []
    num_rows, names, counts = [], [], []
    for player, plex in enumerate(form.treeplexes):
        known: dict[str, int] = {}
        found = [known.setdefault(grammar.row_key(key), len(known)) for key in form.keys(player)]
        row_numbers.append(np.array(found, np.int64) + len(row_keys))
        row_keys.extend(known)
        num_rows.append(len(known))
        counts.append(plex.num_actions())
        names.append(form.action_names(player))
    lists: dict[tuple[str, ...], tuple[str, ...]] = {}
    meanings = [
        lists.setdefault(each, tuple(grammar.action(name) for name in each)) for player in names for each in player
    ]
    actions = list(dict.fromkeys(action for meaning in lists.values() for action in meaning))
    repeats = any(len(set(meaning)) < len(meaning) for meaning in lists.values())
    if len(actions) > MOST_ACTIONS or repeats:
        longest = max(len(meaning) for meaning in lists.values())
        actions = [f"action {place}" for place in range(longest)]
        columns = {meaning: list(range(len(meaning))) for meaning in lists.values()}
    else:
        # by number where names have numbers: 'raise to 4' before 'raise to 10'
        actions.sort(key=lambda action: (re.sub(r"\d+", "", action), [int(n) for n in re.findall(r"\d+", action)]))
        order = {action: column for column, action in enumerate(actions)}
        columns = {meaning: [order[action] for action in meaning] for meaning in lists.values()}
    sizes = [int(each.sum()) for each in counts]
    return Infosets(
        grammar=grammar,
        row_keys=tuple(row_keys),
        num_rows=(num_rows[0], num_rows[1]),
        entry_row=np.repeat(np.concatenate(row_numbers), np.concatenate(counts)),
        row_of=np.concatenate(row_numbers),
        first=np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64),
        entry_column=np.array([column for meaning in meanings for column in columns[meaning]], np.int64),
        actions=tuple(actions),
        table_sizes=(sizes[0], sizes[1]),
    )
