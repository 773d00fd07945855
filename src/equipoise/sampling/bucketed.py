"""Hold'em in buckets, ready for sampling, and what a strategy in buckets is in the full game.

Every game is one here whose betting can be listed: tables have a row per (betting node, bucket), and the lossless map,
in which each (hand, board) up to suits is a bucket of its own, is one more map. A strategy in buckets plays the same
with all hands of a bucket, so it can be evaluated exactly where the full game can (flop hold'em), board by board and
without a table of its size. In games with later rounds nothing can: there the strategy is found, but not measured.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.abstraction.bucket_tables import BucketTables, bucket_of
from equipoise.abstraction.buckets import Buckets, deck_of, kind_from_text, make_buckets
from equipoise.compiled import kernel
from equipoise.errors import NotSupported, TooLarge
from equipoise.games import Game
from equipoise.games.poker import PokerGame
from equipoise.games.sizes import num_infoset_actions
from equipoise.games.suits import HOLE_CARDS, Int16, place_of_set
from equipoise.memory import require
from equipoise.regret.matching import UNIFORM, match_infoset
from equipoise.sampling.tree import BATCH_BYTES, FIRST, TABLE_BYTES, WIDTH, SampledGame, from_betting_tree
from equipoise.trees.betting_tree import BettingTree, betting_tree
from equipoise.trees.board_form import BoardForm, UnmeasuredForm, entries_before
from equipoise.trees.situations import Bool, Situations, has_weight, normalised_rows
from equipoise.trees.treeplex import Float, Int32, Int64
from equipoise.work import Report

MOST_ENTRIES = 2**31 - 1  # of a table: places are 32-bit numbers


def compile_buckets(
    game: Game,
    text: str,
    *,
    buffered: bool,
    precision: str,
    report: Report,
    on_complaint: Callable[[str], None],
) -> tuple[SampledGame, Buckets]:
    """Return a hold'em game in the buckets that a text names, ready for sampling."""
    deck = deck_of(game)  # says what is wrong with other games
    assert isinstance(game, PokerGame)
    counts = kind_from_text(text).buckets(deck)
    entries = num_infoset_actions(game, counts)
    size = (BATCH_BYTES if buffered else TABLE_BYTES) * np.dtype(precision).itemsize // 8
    what = f"{game.name} with buckets={text} ({entries:,} infoset-actions)"
    require(entries * size, what=what, instead="give fewer buckets, batch=1 or precision=float32")
    if entries > MOST_ENTRIES:
        raise TooLarge(f"{what} has more than {MOST_ENTRIES:,}; give fewer buckets")
    buckets = make_buckets(game, text, report=report, on_complaint=on_complaint)
    return from_betting_tree(betting_tree(game), buckets), buckets


@kernel
def _buckets_of_pairs(tables: BucketTables, first_board: int, first_pair: Int64, pair_hand: Int16, out: Int32) -> None:
    """Write the bucket of each (hand, board) pair of the second round. Canonical boards are not renamed."""
    for board in range(first_pair.size - 1):
        for pair in range(first_pair[board], first_pair[board + 1]):
            hand = pair_hand[pair]
            out[pair] = bucket_of(tables, 1, bucket_of(tables, 0, 0, 0, hand), first_board + board, hand)


@kernel
def _write_rows(
    nodes: Int64, bucket: Int32, first_entries: Int64, sums: Float, offset: int, strategy: Float, out: Float
) -> None:
    """Write the strategy of every class of hands at every node: an action's classes lie together.

    ``nodes`` are, per decision: player, first entry among the player's, number of actions, first place in the table.
    """
    width = bucket.size
    for node in range(nodes.shape[0]):
        player, entry, actions, first = nodes[node, 0], nodes[node, 1], nodes[node, 2], nodes[node, 3]
        for own in range(width):
            place = first + np.int64(bucket[own]) * actions
            match_infoset(sums, np.uint64(place), np.uint64(actions), UNIFORM, strategy, np.uint64(0))
            for action in range(actions):
                out[offset + (first_entries[player] + entry + action) * width + own] = strategy[action]


@kernel
def _write_buckets(tables: BucketTables, cards: Int32, betting_round: Int64, out: Int64) -> None:
    """Write the buckets of rows of cards (private, then board as it was dealt) in the rounds that are given."""
    in_order = np.empty(cards.shape[1], np.int32)
    hands = tables.choose[tables.bits.size, HOLE_CARDS]
    for row in range(cards.shape[0]):
        in_order[:HOLE_CARDS] = np.sort(cards[row, :HOLE_CARDS])
        hand = place_of_set(in_order[:HOLE_CARDS], tables.choose)
        bucket = 0
        for earlier in range(betting_round[row] + 1):
            shown = tables.board_cards[earlier]
            in_order[:shown] = np.sort(cards[row, HOLE_CARDS : HOLE_CARDS + shown])
            raw = tables.first_raw[earlier] + place_of_set(in_order[:shown], tables.choose)
            image = np.int64(tables.image[np.int64(tables.renaming_of[raw]) * hands + hand])
            bucket = bucket_of(tables, earlier, bucket, np.int64(tables.board_of[raw]), image)
        out[row] = bucket


class BucketSums:
    """The strategies that are proportional to sums by (node, bucket), in any hold'em game; asked for by infoset."""

    def __init__(self, game: SampledGame, buckets: Buckets, sums: Float) -> None:
        assert game.betting is not None
        self.tree = game.betting
        self._game, self._buckets = game, buckets
        self._tables, self._sums = buckets.tables, sums
        self._first = game.tree.nodes.reshape(-1, WIDTH)[:, FIRST].astype(np.int64)

    def over(self, form: BoardForm) -> "BucketStrategy":
        """Return the same as the evaluator of a game over boards takes it."""
        return BucketStrategy(form, self._game, self._buckets, self._sums)

    def parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what the strategy can be opened from: sums by node and bucket, and which buckets they are."""
        header = {"kind": "buckets", "buckets": self._buckets.kind.text}
        return {**header, "layout": self._game.table_layout}, {"sums": self._sums}

    def probabilities_at(self, asked: Situations) -> Float:
        """Return the probabilities of actions at some infosets, by column."""
        return normalised_rows(self._sums_at(asked), self.tree.legal[asked.node])

    def reached_at(self, asked: Situations) -> Bool:
        """Return where the sums have any weight."""
        return has_weight(self._sums_at(asked))

    def _sums_at(self, asked: Situations) -> Float:
        nodes, node = self.tree.nodes, asked.node
        bucket = np.empty(len(node), np.int64)
        _write_buckets(self._tables, asked.cards.astype(np.int32), nodes.round[node].astype(np.int64), bucket)
        actions, first_child = nodes.num_children[node].astype(np.int64), nodes.first_child[node].astype(np.int64)
        place = self._first[node] + bucket * actions
        out = np.zeros((len(node), self.tree.num_columns))
        for action in range(int(actions.max(initial=0))):
            has = np.flatnonzero(actions > action)
            out[has, nodes.column[first_child[has] + action]] = self._sums[place[has] + action]
        return out


class BucketStrategy(BucketSums):
    """The same as the strategy of a board form: hand by hand, board after board."""

    concurrent = True

    def __init__(self, form: BoardForm, game: SampledGame, buckets: Buckets, sums: Float) -> None:
        super().__init__(game, buckets, sums)
        self._form = form
        rows = game.tree.nodes.reshape(-1, WIDTH)
        self._nodes: list[Int64] = []
        for betting, nodes in zip(form.betting, form.nodes, strict=True):
            first = rows[nodes, FIRST]
            columns = (betting.node_player, betting.node_row - betting.roots, betting.node_actions, first)
            self._nodes.append(np.stack(columns, axis=1).astype(np.int64))
        cards, tables = form.cards, buckets.tables
        self._start = np.array([buckets.path(cards.hands[hand].tolist(), [])[0] for hand in cards.start_hand], np.int32)
        self._pairs = np.empty(cards.num_pairs, np.int32)
        _buckets_of_pairs(tables, 1, cards.first_pair, cards.pair_hand, self._pairs)

    def write_start(self, out: Float) -> None:
        """Write the probabilities of the first round."""
        scratch = np.empty(int(self._nodes[0][:, 2].max()))
        _write_rows(self._nodes[0], self._start, entries_before(self._form.betting[0]), self._sums, 0, scratch, out)

    def write_boards(self, first: int, last: int, out: Float) -> None:
        """Write the probabilities on the boards from ``first`` to ``last`` (exclusive), board after board."""
        scratch = np.empty(int(self._nodes[1][:, 2].max()))
        starts, entries = self._form.pairs.first_pair, self._form.first_entries
        for board in range(first, last):
            begin, end = int(starts[board]), int(starts[board + 1])
            offset = (begin - int(starts[first])) * int(entries[2])
            _write_rows(self._nodes[1], self._pairs[begin:end], entries, self._sums, offset, scratch, out)


def open_buckets(
    tree: BettingTree, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], report: Report
) -> BucketSums:
    """Return a strategy in buckets from its parts; raise ValueError or KeyError for parts that do not fit together."""
    text, sums = header["buckets"], arrays["sums"]
    if not isinstance(text, str):
        raise ValueError("it does not say what its buckets are")
    entries = num_infoset_actions(tree.game, kind_from_text(text).buckets(deck_of(tree.game)))
    if sums.shape != (entries,) or sums.dtype.name not in ("float64", "float32"):
        raise ValueError(f"its sums are not those of {entries:,} actions")
    buckets = make_buckets(tree.game, text, report=report)
    game = from_betting_tree(tree, buckets)
    if header["layout"] != game.table_layout:
        raise NotSupported("its buckets are not those that this version of equipoise makes: solve it again")
    return BucketSums(game, buckets, sums)


@dataclass(frozen=True)
class TablesInBuckets:
    """Tables by (node, bucket) of a game that nothing evaluates: strategies that can be asked for."""

    form: BoardForm | UnmeasuredForm
    game: SampledGame
    buckets: Buckets

    def to_form(self, table: Float) -> BucketSums:
        """Return the strategy that is proportional to sums."""
        return BucketSums(self.game, self.buckets, table)

    def has_weight(self, table: Float) -> None:
        """Return nothing: the strategy itself says."""


@dataclass(frozen=True)
class TablesOverBoards(TablesInBuckets):
    """Tables by (node, bucket) of a game over boards: strategies that can be evaluated, too."""

    form: BoardForm

    def to_form(self, table: Float) -> BucketStrategy:
        """Return the strategy that is proportional to sums."""
        return BucketStrategy(self.form, self.game, self.buckets, table)
