"""Infosets of poker games too large to list, as networks see them: from codes (see `trees.codes`) to inputs.

The same vectors and cells as the grammar of poker keys makes (`grammars.PokerGrammar`, with cards as they are), made
for whole batches of codes; and cards and bets apart, for hold'em's own network. What depends on betting alone is looked
up by node.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import comb, factorial

import numpy as np

from equipoise.games.betting import FOLD
from equipoise.networks.grammars import Cards, Float32, PokerGrammar
from equipoise.networks.rows import Bool, Holdings, Trie, Which
from equipoise.networks.strength import HandStrength, hand_strength
from equipoise.trees.betting_tree import BettingTree
from equipoise.trees.codes import (
    CARD_BITS,
    CARDS_MASK,
    NO_CARD,
    NODE_SHIFT,
    CardLayout,
    Grid,
    card_layout,
    cards_of,
    codes_of,
    nodes_of,
)
from equipoise.trees.digest import digest
from equipoise.trees.distinct import distinct
from equipoise.trees.treeplex import Float, Int64

POSITIONS = 6  # B19 section 5.1: at most six actions in sequence a round
DEAL, ACTION, BOARD = range(3)  # what a step is
EXAMPLE_DEALS = 16


@dataclass(frozen=True, kw_only=True)
class PokerRows:
    """The rows of a poker game, by code."""

    tree: BettingTree
    layout: CardLayout
    strength: HandStrength | None = None  # None: networks see cards alone

    listing: None = None  # infosets are too many
    num_listed: None = None

    @property
    def digest(self) -> str:
        """Return a hash of how infosets are coded."""
        return digest(self.tree.nodes[:5], self.layout, *([] if self.strength is None else ["strength"]))

    @property
    def num_columns(self) -> int:
        return self.tree.num_columns

    def seen_as(self, infosets: Int64) -> Int64:
        """Return codes as they are: suits are renamed in them already."""
        return infosets

    @property
    def _num_cards(self) -> int:
        return int(self.layout.deal_start[-1])

    @cached_property
    def _deals(self) -> tuple[int, ...]:
        return tuple(int(size) for size in np.diff(self.layout.deal_start))

    def legal_at(self, rows: Int64) -> Bool:
        return self.tree.legal[nodes_of(rows)]

    def own_rows(self, players: tuple[int, ...]) -> Int64:
        """Return codes of all decisions of some players, with some deals: what a fresh network is tried on."""
        game, generator = self.tree.game, np.random.default_rng(0)
        nodes = np.concatenate([self.tree.decisions(player) for player in players]).astype(np.int64)
        cards = np.array([generator.permutation(game.deck.size)[: self._num_cards] for _ in range(EXAMPLE_DEALS)])
        node = np.repeat(nodes, EXAMPLE_DEALS)
        return codes_of(
            self.layout, np.tile(cards, (len(nodes), 1)), self.tree.nodes.round[node].astype(np.int64), node
        )

    @cached_property
    def _own_decisions(self) -> tuple[Int64, Int64]:
        """Return, by node, the earlier decisions of the player who acts there, and the columns of what was chosen."""
        tree = self.tree
        paths: list[list[tuple[int, int]]] = []
        for node in range(tree.num_nodes):
            path, at = [], node
            while (above := int(tree.parent[at])) >= 0:
                if tree.nodes.player[above] == tree.nodes.player[node]:
                    path.append((above, int(tree.nodes.column[at])))
                at = above
            paths.append(path)
        table = np.full((2, len(paths), max(1, max(map(len, paths)))), -1, np.int64)
        for node, path in enumerate(paths):
            for place, step in enumerate(path):
                table[:, node, place] = step
        return table[0], table[1]

    def own_reach_at(self, codes: Int64, strategy_at: Callable[[Int64], Float]) -> Float:
        """Return the acting player's own reach of infosets, under a strategy that is asked for by code."""
        decisions, columns = self._own_decisions
        node = nodes_of(codes)
        cards = cards_of(codes, self._num_cards)
        reach = np.ones(len(codes))
        for place in range(decisions.shape[1]):
            some = np.flatnonzero(decisions[node, place] >= 0)
            earlier = decisions[node[some], place]
            rounds = self.tree.nodes.round[earlier].astype(np.int64)
            asked, which = distinct(codes_of(self.layout, cards[some].astype(np.int8), rounds, earlier))
            reach[some] *= strategy_at(asked)[which, columns[node[some], place]]
        return reach

    def chance_at(self, codes: Int64) -> Float:
        """Return how likely chance deals what a player sees: one way, or all ways that differ by names of suits."""
        deck = self.tree.game.deck
        cards = cards_of(codes, self._num_cards)
        dealt = (cards >= 0).sum(axis=1)
        ways = np.ones(self._num_cards + 1)
        for first, last in pairwise(self.layout.deal_start.tolist()):
            ways[last:] *= comb(deck.size - first, last - first)
        chance: Float = 1.0 / ways[dealt]
        if self.layout.renamed:
            chance *= self._renamings(cards)
        return chance

    def _renamings(self, cards: Int64) -> Float:
        """Return how many ways there are to name the suits of cards differently."""
        suits, ranks = self.layout.suits, len(self.tree.game.deck.ranks)
        held = np.zeros((len(cards), suits, len(self._deals) * ranks), np.bool_)
        deal = np.repeat(np.arange(len(self._deals)), self._deals)
        row, place = np.nonzero(cards >= 0)
        card = cards[row, place]
        held[row, card % suits, deal[place] * ranks + card // suits] = True
        same = (held[:, :, None] == held[:, None, :]).all(axis=3)
        # Each suit is the n-th of its kind: the product of all n counts the ways to order what is alike.
        alike = np.tril(same).sum(axis=2).prod(axis=1)
        named: Float = factorial(suits) / alike
        return named

    @cached_property
    def _grammar(self) -> PokerGrammar:
        return PokerGrammar(self.tree.game, "cards")

    @cached_property
    def _betting_vectors(self) -> Float32:
        """Return the part of the grammar's vectors that is about betting, by node."""
        game = self.tree.game
        some_hand = game.deck.text(range(game.hole_cards))
        texts = [state.text for state in self.tree.states if not state.finished]
        made = self._grammar.flat([f"{some_hand}|{text}" for text in texts])[:, 2 * game.deck.size + 1 :]
        table = np.zeros((self.tree.num_nodes, made.shape[1]), np.float32)
        table[[not state.finished for state in self.tree.states]] = made
        return table

    def _paired(self, cards: Int64) -> Bool:
        """Return whether some rank is both in the hand and on the board."""
        game = self.tree.game
        ranks = np.where(cards >= 0, cards // len(game.deck.suits), -1 - np.arange(self._num_cards))
        hand, board = ranks[:, : game.hole_cards, None], ranks[:, None, game.hole_cards :]
        paired: Bool = (hand == board).any(axis=(1, 2))
        return paired

    def vectors(self, rows: Which) -> Float32:
        """Return private cards, board, a flag for a pair between them, then the betting."""
        codes = _some(rows)
        deck, hole = self.tree.game.deck, self.tree.game.hole_cards
        cards = cards_of(codes, self._num_cards)
        table = np.zeros((len(codes), 2 * deck.size + 1), np.float32)
        _mark(table, cards[:, :hole], 0)
        _mark(table, cards[:, hole:], deck.size)
        table[:, -1] = self._paired(cards)
        return np.concatenate([table, self._betting_vectors[nodes_of(codes)]], axis=1)

    @cached_property
    def _bets(self) -> Float32:
        """Return, by node, the chips that each action so far has added, over the largest total; -1: no action."""
        tree, rounds = self.tree, len(self.tree.game.betting.rounds)
        most = max(POSITIONS, 1 + max(state.actions_in_round for state in tree.states if not state.finished))
        table = np.full((tree.num_nodes, rounds * most), -1.0, np.float32)
        for node in range(1, tree.num_nodes):
            above = tree.parent[node]
            before, after = tree.states[above], tree.states[node]
            table[node] = table[above]
            added = after.spent[before.player] - before.spent[before.player]
            table[node, before.round * most + before.actions_in_round] = added / self._grammar.scale
        return table

    def holdings(self, rows: Which) -> Holdings:
        codes = _some(rows)
        held, holding = distinct(codes & CARDS_MASK)
        nodes, node = distinct(nodes_of(codes))
        return self._holdings(held, nodes)._replace(holding=holding, node=node)

    def on_grid(self, grid: Grid) -> Holdings:
        return self._holdings(grid.held, grid.nodes)

    def _holdings(self, held: Int64, nodes: Int64) -> Holdings:
        """Return holdings and nodes, without any rows."""
        deck, none = self.tree.game.deck, np.zeros(0, np.int64)
        cards = cards_of(held, self._num_cards)
        return Holdings(
            cards=cards,
            bets=self._bets[nodes],
            nodes=nodes,
            holding=none,
            node=none,
            deals=self._deals,
            ranks=len(deck.ranks),
            suits=len(deck.suits),
            hand=np.searchsorted(self._hands, held & self._hand_mask),
            hands=len(self._hands),
            strength=None if self.strength is None else self.strength.of(cards),
        )

    @property
    def _hand_mask(self) -> int:
        """Return the bits of the private cards."""
        return (1 << (CARD_BITS * self.tree.game.hole_cards)) - 1

    @cached_property
    def _hands(self) -> Int64:
        """Return all private cards as codes have them, in ascending order."""
        hands = np.array(self.tree.game.hands, np.int8).reshape(-1, self.tree.game.hole_cards)
        none = np.zeros(len(hands), np.int64)
        return np.unique(codes_of(self.layout, hands, none, none) & self._hand_mask)

    @cached_property
    def _steps(self) -> tuple[Int64, Int64]:
        """Return, by node, the numbers of the steps that led there, and how many. Step 3 n + what leads to node n."""
        tree = self.tree
        paths: list[list[int]] = [[DEAL]]
        for node in range(1, tree.num_nodes):
            path = [*paths[tree.parent[node]], 3 * node + ACTION]
            if tree.nodes.deals[node]:
                path.append(3 * node + BOARD)
            paths.append(path)
        table = np.full((len(paths), max(map(len, paths))), -1, np.int64)
        for node, path in enumerate(paths):
            table[node, : len(path)] = path
        return table, np.array([len(path) for path in paths])

    @cached_property
    def _hidden(self) -> Int64:
        """Return, by step, the bits of the cards that are not yet seen then."""
        tree = self.tree
        masks = []
        for shown in self.layout.visible:
            first = int(self.layout.deal_start[shown])
            masks.append(sum(NO_CARD << (CARD_BITS * place) for place in range(first, self._num_cards)))
        rounds = tree.nodes.round.astype(np.int64)
        before = np.concatenate([[0], rounds[tree.parent[1:]]])
        table = np.array(masks, np.int64)
        return np.stack([np.full(tree.num_nodes, masks[0]), table[before], table[rounds]], axis=1).ravel()

    def prefixes(self, rows: Which) -> Trie:
        codes = _some(rows)
        steps, lengths = self._steps
        node, cards = nodes_of(codes), codes & CARDS_MASK
        length = lengths[node]
        last = np.zeros(len(codes), np.int64)
        above = np.zeros(len(codes), np.int64)
        found: list[Int64] = []
        parents: list[Int64] = []
        start = 0
        for level in range(int(length.max(initial=0))):
            own = np.flatnonzero(length > level)
            step = steps[node[own], level]
            prefixes, which = distinct((step << NODE_SHIFT) | cards[own] | self._hidden[step])
            parent = np.zeros(len(prefixes), np.int64)
            parent[which] = above[own]
            above[own] = which
            found.append(prefixes)
            parents.append(parent)
            ends = length[own] == level + 1
            last[own[ends]] = start + which[ends]
            start += len(prefixes)
        all_found = np.concatenate(found)
        return Trie(
            cells=self._cells(all_found),
            hints=self._paired(cards_of(all_found, self._num_cards)).astype(np.float32)[:, None],
            parent=np.concatenate(parents),
            level_start=np.cumsum([0, *(len(each) for each in found)]).astype(np.int64),
            last=last,
        )

    def _cells(self, prefixes: Int64) -> Float32:
        """Return cells as DN19 has them: private cards, open board, fold, chips spent, cards dealt, who acts."""
        tree, deck, hole = self.tree, self.tree.game.deck.size, self.tree.game.hole_cards
        step = nodes_of(prefixes)
        node, what = step // 3, step % 3
        cards = cards_of(prefixes, self._num_cards)
        table = np.zeros((len(prefixes), 3 * deck + 3), np.float32)
        _mark(table, cards[:, :hole], 0)
        _mark(table, cards[:, hole:], deck)
        acts = what == ACTION
        above = np.maximum(tree.parent[node], 0)
        actor = tree.nodes.player[above]
        table[:, 2 * deck] = acts & (tree.nodes.column[node] == FOLD)
        table[:, 2 * deck + 1] = np.where(acts, self._spent[node, np.maximum(actor, 0)], 0.0)
        dealt = np.where((what == BOARD)[:, None], cards[:, hole:], -1)
        before = self.layout.deal_start[self.layout.visible[tree.nodes.round[above]]] - hole
        dealt[np.arange(dealt.shape[1]) < before[:, None]] = -1
        _mark(table, dealt, 2 * deck + 2)
        table[:, 3 * deck + 2] = acts & (actor == 1)
        return table

    @cached_property
    def _spent(self) -> Float:
        return np.array([state.spent for state in self.tree.states]) / self._grammar.scale


def _some(rows: Which) -> Int64:
    if isinstance(rows, slice):
        raise TypeError("codes are not numbered: give them one by one")
    return rows


def _mark(table: Float32, cards: Int64, first: int) -> None:
    """Write 1 in the columns of cards."""
    row, place = np.nonzero(cards >= 0)
    table[row, first + cards[row, place]] = 1.0


def poker_rows(tree: BettingTree, cards: Cards, *, strength: bool = False) -> PokerRows:
    """Return the rows of a game; with ``ranks``, rows that differ by names of suits only are one.

    With ``strength``, networks of cards see how strong hands are, besides.
    """
    seen = hand_strength(tree.game) if strength else None
    return PokerRows(tree=tree, layout=card_layout(tree.game, renamed=cards == "ranks"), strength=seen)
