"""A game as public states x private hands: for poker and dice games, where what is public is a tree of its own.

A node is a public history of actions. What the players hold is a vector at each node: one entry per private hand and,
once board cards lie open, per (board, hand) pair. A *stage* fixes these vectors; dealing board cards leads from one
stage to the next. All chance is in the deal probabilities, which are applied at terminal nodes.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel
from equipoise.games import CHANCE, TERMINAL, Game
from equipoise.trees.fingerprint import described, fingerprint
from equipoise.trees.game_tree import GameTree, Int8
from equipoise.trees.payoffs import IDENTITY, Payoffs, balanced_chunks
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.treeplex import Float, Int32, Int64, Treeplex, UInt64, lay_out

OPERATOR_CHUNK = 512  # entries a chunk


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The private vectors between two deals. Entry g * hands + h of a player's vector is its hand h in group g."""

    groups: int  # sets of open board cards
    labels: tuple[tuple[str, ...], tuple[str, ...]]  # per player and entry: the private hand and the board, as text
    previous: tuple[Int32, Int32]  # per player and entry: the entry of the stage before that it comes from
    probability: Float  # [groups, hands of player 0, hands of player 1] of the deal

    def width(self, player: int) -> int:
        """Return the length of a player's vector."""
        return self.groups * int(self.probability.shape[1 + player])


@dataclass(frozen=True, kw_only=True)
class PublicTree:
    """Public nodes in breadth-first order within each subgame; subgames come after all that they lead to."""

    game: Game
    stages: tuple[Stage, ...]
    player: Int8  # [nodes] 0, 1, CHANCE (board cards are dealt: one child, in the next stage) or TERMINAL
    parent: Int32  # [nodes] -1 at a subgame's root
    first_child: Int32  # [nodes]
    num_children: Int32  # [nodes]
    stage: Int8  # [nodes]
    subgame: Int32  # [nodes]
    terminal_matrix: Int32  # [nodes] which of payoff_matrices; -1 where not terminal
    terminal_amount: Float  # [nodes] what the matrix is multiplied with
    payoff_matrices: tuple[Float, ...]  # to player 0: [groups, hands of player 0, hands of player 1] each
    continuation: Int32  # [subgames, 2] the subgame after player 0 has won or lost this one; -1: the game is over
    infoset_text: Callable[[int, str], str]  # (node, private label) -> key
    action_names: Callable[[int], tuple[str, ...]]  # node -> names

    @property
    def num_nodes(self) -> int:
        """Return the number of public nodes."""
        return len(self.player)

    @cached_property
    def deciding(self) -> tuple[Int64, Int64]:
        """Return each player's decision nodes, sorted by subgame, number of own decisions before, number of actions."""
        _, depth = self.last_decisions
        first, second = (
            nodes[np.lexsort((self.num_children[nodes], depth[player, nodes], self.subgame[nodes]))]
            for player in range(2)
            for nodes in [np.flatnonzero(self.player == player)]
        )
        return first, second

    @cached_property
    def last_decisions(self) -> tuple[Int32, Int32]:
        """Return, per player and node, the child through which the player's last decision went, and the own depth."""
        last = np.full((2, self.num_nodes), -1, np.int32)
        depth = np.zeros((2, self.num_nodes), np.int32)
        _follow_decisions(self.player, self.parent, last, depth)
        return last, depth

    @cached_property
    def fingerprint(self) -> str:
        """Return what tells this game from others; how actions are called is in the description of betting."""
        parts: list[npt.NDArray[np.generic]] = [
            *(array for stage in self.stages for array in (*stage.previous, stage.probability))
        ]
        parts += [self.player, self.num_children, self.stage, self.subgame, self.terminal_matrix, self.terminal_amount]
        parts += [*self.payoff_matrices, self.continuation]
        labels = repr([stage.labels for stage in self.stages])
        return fingerprint("public", labels, described(self.game), *parts)

    @cached_property
    def num_infosets(self) -> int:
        """Return the number of infosets of both players."""
        return sum(int(private_widths(self, player, self.deciding[player]).sum()) for player in range(2))


@kernel
def _follow_decisions(player: Int8, parent: Int32, last: Int32, depth: Int32) -> None:
    for node in range(player.size):
        up = parent[node]
        if up >= 0:
            for p in range(2):
                last[p, node] = last[p, up]
                depth[p, node] = depth[p, up]
            if player[up] >= 0:
                last[player[up], node] = node
                depth[player[up], node] += 1


@dataclass(frozen=True)
class PublicLabels:
    """Keys of (node, hand) pairs: player 0's infosets in treeplex order, then player 1's."""

    tree: PublicTree

    def keys(self) -> Sequence[str]:
        """Return every infoset's key."""
        return self._keys

    @cached_property
    def _keys(self) -> list[str]:
        tree = self.tree
        return [
            tree.infoset_text(node, label)
            for player in range(2)
            for node, stage in zip(
                tree.deciding[player].tolist(), tree.stage[tree.deciding[player]].tolist(), strict=True
            )
            for label in tree.stages[stage].labels[player]
        ]

    @cached_property
    def _node_of(self) -> Int64:
        tree = self.tree
        return np.concatenate(
            [np.repeat(nodes, private_widths(tree, player, nodes)) for player, nodes in enumerate(tree.deciding)]
        )

    def action_names(self, infoset: int) -> tuple[str, ...]:
        """Return the names of an infoset's actions."""
        return self.tree.action_names(int(self._node_of[infoset]))


def stage_map(tree: PublicTree, player: int, later: int, earlier: int) -> Int32:
    """Return, for each entry of the later stage's vector, the entry of the earlier stage's that it comes from."""
    entries = np.arange(tree.stages[later].width(player), dtype=np.int32)
    for stage in range(later, earlier, -1):
        entries = tree.stages[stage].previous[player][entries]
    return entries


def vector_form(tree: PublicTree) -> SequenceForm:
    """Return the form that solvers see, with payoffs as operators on vectors of hands."""
    treeplexes = tuple(_treeplex(tree, player) for player in range(2))
    infosets = (
        np.arange(treeplexes[0].num_infosets),
        treeplexes[0].num_infosets + np.arange(treeplexes[1].num_infosets),
    )
    first_sequences = tuple(sequence_vectors(tree, player, treeplexes[player]) for player in range(2))
    return SequenceForm(
        game=tree.game,
        engine="vector",
        treeplexes=(treeplexes[0], treeplexes[1]),
        payoffs=(_operators(tree, 0, treeplexes, first_sequences), _operators(tree, 1, treeplexes, first_sequences)),
        labels=PublicLabels(tree),
        infosets=infosets,
        fingerprint=tree.fingerprint,
    )


def _treeplex(tree: PublicTree, player: int) -> Treeplex:
    nodes = tree.deciding[player]
    last, depth = tree.last_decisions
    width = private_widths(tree, player, nodes)
    layout = lay_out(
        subgame=tree.subgame[nodes].astype(np.int64),
        depth=depth[player, nodes].astype(np.int64),
        actions=tree.num_children[nodes].astype(np.int64),
        width=width,
        num_subgames=len(tree.continuation),
    )
    plex = layout.treeplex(np.zeros(width.sum(), np.uint32))
    first_sequence = sequence_vectors(tree, player, plex)
    entry = np.arange(plex.num_infosets) - np.repeat(np.cumsum(width) - width, width)
    stage = np.repeat(tree.stage[nodes], width)
    before = np.repeat(last[player, nodes], width)
    stage_before = np.where(before >= 0, tree.stage[tree.parent[before]], -1)
    plex.parent_sequence[:] = np.repeat(tree.subgame[nodes], width)  # where there is no own decision before
    for later in range(len(tree.stages)):
        for earlier in range(later + 1):
            chosen = (stage == later) & (stage_before == earlier)
            hand_before = stage_map(tree, player, later, earlier)[entry[chosen]]
            plex.parent_sequence[chosen] = first_sequence[before[chosen]] + hand_before
    return plex


def private_widths(tree: PublicTree, player: int, nodes: Int64 | Int32) -> Int64:
    """Return the length of a player's vector at each of some nodes."""
    return np.array([stage.width(player) for stage in tree.stages], np.int64)[tree.stage[nodes]]


def _decision_children(tree: PublicTree, player: int) -> tuple[Int64, Int64]:
    """Return the children of a player's decision nodes, and which action leads to each."""
    nodes = tree.deciding[player]
    counts = tree.num_children[nodes]
    ordinal = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(tree.first_child[nodes], counts) + ordinal, ordinal


def sequence_vectors(tree: PublicTree, player: int, plex: Treeplex) -> Int64:
    """Return, per node, the first sequence of the vector for the action that leads to it (own decisions only)."""
    nodes = tree.deciding[player]
    counts = tree.num_children[nodes]
    width = private_widths(tree, player, nodes)
    infoset = np.cumsum(width) - width
    children, ordinal = _decision_children(tree, player)
    first = np.full(tree.num_nodes, -1, np.int64)
    first[children] = np.repeat(plex.first_sequences()[infoset], counts) + ordinal * np.repeat(
        plex.strides()[infoset], counts
    )
    return first


def _operators(
    tree: PublicTree, player: int, treeplexes: tuple[Treeplex, ...], first_sequences: tuple[Int64, ...]
) -> Payoffs:
    last, _ = tree.last_decisions
    num_subgames = len(tree.continuation)
    terminal = np.flatnonzero(tree.player == TERMINAL)
    opponent = 1 - player

    # Rows: each subgame's start, then every action at every node, subgame by subgame.
    children, _ = _decision_children(tree, player)
    row_subgame = np.concatenate([np.arange(num_subgames), tree.subgame[children]])
    row_offset = np.concatenate([np.arange(num_subgames), first_sequences[player][children]])
    row_width = np.concatenate([np.ones(num_subgames, np.int64), private_widths(tree, player, tree.parent[children])])
    order = np.lexsort((row_offset, row_subgame))
    row_subgame, row_offset, row_width = row_subgame[order], row_offset[order], row_width[order]

    # Entries: the terminal nodes, each in the row of the player's last sequence.
    def ends(side: int) -> Int64:
        through = last[side, terminal]
        return np.where(through >= 0, first_sequences[side][through], tree.subgame[terminal])

    row_of_offset = np.full(treeplexes[player].num_sequences, -1, np.int64)
    row_of_offset[row_offset] = np.arange(len(row_offset))
    row = row_of_offset[ends(player)]
    order = np.argsort(row, kind="stable")
    row_start = np.searchsorted(row[order], np.arange(len(row_offset) + 1)).astype(np.int64)

    # Maps from the hands at a terminal to the hands at an earlier sequence: by player, later stage and earlier stage.
    maps: list[Int32] = []
    numbers: dict[tuple[int, int, int], int] = {}

    def map_numbers(side: int) -> Int32:
        through = last[side, terminal]
        earlier = np.where(through >= 0, tree.stage[tree.parent[through]], -1)
        later = tree.stage[terminal]
        result = np.full(len(terminal), IDENTITY, np.int32)
        for key in {(int(a), int(b)) for a, b in zip(later, earlier, strict=True) if a != b}:
            full = (side, *key)
            if full not in numbers:
                numbers[full] = len(maps)
                width = tree.stages[key[0]].width(side)
                maps.append(np.zeros(width, np.int32) if key[1] < 0 else stage_map(tree, side, *key))
            result[(later == key[0]) & (earlier == key[1])] = numbers[full]
        return result

    # Matrices: payoff x deal probability from the player's side, [groups, opponent's hands, own hands]; then deals.
    matrices: list[Float] = []
    number_of: dict[tuple[int, int], int] = {}
    deal_matrix = np.full(num_subgames, -1, np.int32)
    used = np.unique(np.stack([tree.terminal_matrix[terminal], tree.stage[terminal]]), axis=1)
    sign = 1.0 if player == 0 else -1.0
    for matrix, stage in used.T:
        number_of[matrix, stage] = len(matrices)
        matrices.append(sign * tree.payoff_matrices[matrix] * tree.stages[stage].probability)
    for subgame in range(num_subgames):
        if tree.continuation[subgame].max() >= 0:
            stage = tree.stage[np.searchsorted(tree.subgame, subgame)]
            deal_matrix[subgame] = len(matrices)
            matrices.append(tree.stages[stage].probability)
    if player == 0:
        matrices = [matrix.swapaxes(1, 2) for matrix in matrices]
    shapes = np.array([matrix.shape for matrix in matrices], np.uint64)
    entry_matrix = np.array(
        [number_of[m, s] for m, s in zip(tree.terminal_matrix[terminal], tree.stage[terminal], strict=True)], np.int32
    )
    chunks, subgame_chunk = _chunks_by_subgame(row_start, row_subgame, num_subgames)
    continuation = tree.continuation if player == 0 else tree.continuation[:, ::-1]
    own_maps, opponent_maps = map_numbers(player), map_numbers(opponent)
    return Payoffs(
        row_start=np.zeros(0, np.int64),
        column=np.zeros(0, np.uint32),
        value=np.zeros(0),
        vector_offset=row_offset.astype(np.uint64),
        vector_width=row_width.astype(np.uint64),
        vector_start=row_start,
        vector_subgame=row_subgame.astype(np.int32),
        entry_matrix=entry_matrix[order],
        entry_scale=tree.terminal_amount[terminal][order],
        entry_opponent=ends(opponent)[order].astype(np.uint64),
        entry_opponent_map=opponent_maps[order],
        entry_own_map=own_maps[order],
        matrix_start=_starts(matrices),
        matrix_groups=shapes[:, 0].copy(),
        matrix_opponent=shapes[:, 1].copy(),
        matrix_own=shapes[:, 2].copy(),
        matrices=np.concatenate([matrix.ravel() for matrix in matrices]),
        map_start=_starts(maps),
        maps=np.concatenate([*maps, np.zeros(0)]).astype(np.uint64),
        chunk_start=chunks,
        subgame_chunk=subgame_chunk,
        deal_matrix=deal_matrix,
        continuation=np.ascontiguousarray(continuation, np.int32),
    )


def _starts(arrays: Sequence[Float] | Sequence[Int32]) -> UInt64:
    return np.cumsum([0, *(array.size for array in arrays)])[:-1].astype(np.uint64)


def _chunks_by_subgame(row_start: Int64, row_subgame: Int64, num_subgames: int) -> tuple[Int64, Int64]:
    bounds = np.searchsorted(row_subgame, np.arange(num_subgames + 1))
    chunks, subgame_chunk = [np.zeros(1, np.int64)], [0]
    for first, last in itertools.pairwise(bounds):
        work = np.diff(row_start[first : last + 1]) + 1
        chunks.append(first + balanced_chunks(work, OPERATOR_CHUNK)[1:])
        subgame_chunk.append(subgame_chunk[-1] + len(chunks[-1]))
    return np.concatenate(chunks), np.array(subgame_chunk, np.int64)


@kernel
def _expand(
    player: Int8,
    first_child: Int32,
    num_children: Int32,
    stage: Int8,
    terminal_value: Int32,
    terminal_amount: Float,
    first_infoset: Int64,
    stage_hands: Int32,
    stage_groups: Int32,
    entry: Int32,
    probability: Float,
    payoff: Float,
    out_player: Int8,
    out_parent: Int32,
    out_first_child: Int32,
    out_num_children: Int32,
    out_infoset: Int32,
    out_probability: Float,
    out_payoff: Float,
    public: Int32,
    deal: Int32,
) -> int:
    """Write every history: deal a hand to each player, then follow the public tree; return how many there are.

    ``entry[stage, player, group, hand]`` is the place of a hand in its group's part of a stage's vector, -1 where the
    board holds one of its cards; ``probability[stage, group, place, place]`` that of a deal; ``public`` and ``deal``
    (player 0's hand, player 1's hand and group in one number) are scratch space, one entry a history.
    """
    count0, count1, groups = stage_hands[0, 0], stage_hands[0, 1], entry.shape[2]
    written = 1
    out_parent[0], out_probability[0], public[0] = -1, 1.0, -2
    node = 0
    while node < written:
        where = public[node]
        out_first_child[node], out_infoset[node], out_payoff[node] = written, -1, 0.0
        if where == -2:  # player 0's hand is dealt
            out_player[node] = CHANCE
            for h0 in range(count0):
                chance = 0.0
                for h1 in range(count1):
                    chance += probability[0, 0, h0, h1]
                if chance > 0.0:
                    out_parent[written], out_probability[written], public[written] = node, chance, -1
                    deal[written] = h0 * count1 * groups
                    written += 1
        elif where == -1:  # player 1's hand is dealt
            out_player[node] = CHANCE
            h0 = deal[node] // (count1 * groups)
            for h1 in range(count1):
                if probability[0, 0, h0, h1] > 0.0:
                    out_parent[written], public[written] = node, 0
                    out_probability[written] = probability[0, 0, h0, h1] / out_probability[node]
                    deal[written] = deal[node] + h1 * groups
                    written += 1
        else:
            here, group, dealt = stage[where], deal[node] % groups, deal[node] // groups
            h0, h1 = dealt // count1, dealt % count1
            out_player[node] = player[where]
            if player[where] == TERMINAL:
                e0, e1 = entry[here, 0, group, h0], entry[here, 1, group, h1]
                out_payoff[node] = terminal_amount[where] * payoff[terminal_value[where], group, e0, e1]
            elif player[where] == CHANCE:  # board cards are dealt: the public child, once per possible board
                later, before = here + 1, 0.0
                for g in range(stage_groups[later]):
                    e0, e1 = entry[later, 0, g, h0], entry[later, 1, g, h1]
                    if e0 >= 0 and e1 >= 0:
                        before += probability[later, g, e0, e1]
                for g in range(stage_groups[later]):
                    e0, e1 = entry[later, 0, g, h0], entry[later, 1, g, h1]
                    if e0 >= 0 and e1 >= 0 and probability[later, g, e0, e1] > 0.0:
                        out_parent[written], public[written] = node, first_child[where]
                        out_probability[written] = probability[later, g, e0, e1] / before
                        deal[written] = deal[node] + g
                        written += 1
            else:
                own = player[where]
                place = entry[here, own, group, h0 if own == 0 else h1]
                out_infoset[node] = first_infoset[where] + group * stage_hands[here, own] + place
                for child in range(num_children[where]):
                    out_parent[written], out_probability[written] = node, 1.0
                    public[written] = first_child[where] + child
                    deal[written] = deal[node]
                    written += 1
        out_num_children[node] = written - out_first_child[node]
        node += 1
    return written


def count_histories(tree: PublicTree) -> int:
    """Return how many histories the game has, deals included."""
    deals = np.array([np.count_nonzero(stage.probability) for stage in tree.stages])
    return 1 + tree.stages[0].width(0) + int(deals[tree.stage].sum())


def histories(tree: PublicTree) -> GameTree:
    """Return the same game, history by history. Infosets keep their numbers. For one subgame and one board deal."""
    total = count_histories(tree)
    hands = np.array([[stage.probability.shape[1 + p] for p in range(2)] for stage in tree.stages], np.int32)
    groups = np.array([stage.groups for stage in tree.stages], np.int32)
    entry = np.full((len(groups), 2, groups.max(), hands[0].max()), -1, np.int32)
    probability = np.zeros((len(groups), groups.max(), *hands.max(axis=0)))
    for s, stage in enumerate(tree.stages):
        probability[s, : groups[s], : hands[s, 0], : hands[s, 1]] = stage.probability
        for p in range(2):
            places = np.arange(stage.width(p))
            root_hand = stage_map(tree, p, s, 0)
            entry[s, p, places // hands[s, p], root_hand] = places % hands[s, p]
    payoff = np.zeros((len(tree.payoff_matrices), *probability.shape[1:]))
    for number, matrix in enumerate(tree.payoff_matrices):
        payoff[number, : matrix.shape[0], : matrix.shape[1], : matrix.shape[2]] = matrix
    first_infoset = np.full(tree.num_nodes, -1, np.int64)
    infoset_player, infoset_actions, start = [], [], 0
    for p, nodes in enumerate(tree.deciding):
        width = private_widths(tree, p, nodes)
        first_infoset[nodes] = start + np.cumsum(width) - width
        infoset_player.append(np.full(width.sum(), p, np.int8))
        infoset_actions.append(np.repeat(tree.num_children[nodes], width))
        start += int(width.sum())
    out_player, out_infoset = np.empty(total, np.int8), np.empty(total, np.int32)
    out_parent, out_first_child, out_num_children = (np.empty(total, np.int32) for _ in range(3))
    out_probability, out_payoff = np.empty(total), np.empty(total)
    written = _expand(
        tree.player,
        tree.first_child,
        tree.num_children,
        tree.stage,
        tree.terminal_matrix,
        tree.terminal_amount,
        first_infoset,
        hands,
        groups,
        entry,
        probability,
        payoff,
        out_player,
        out_parent,
        out_first_child,
        out_num_children,
        out_infoset,
        out_probability,
        out_payoff,
        np.empty(total, np.int32),
        np.empty(total, np.int32),
    )
    assert written == total
    return GameTree(
        game=tree.game,
        player=out_player,
        parent=out_parent,
        first_child=out_first_child,
        num_children=out_num_children,
        infoset=out_infoset,
        probability=out_probability,
        payoff=out_payoff,
        infoset_player=np.concatenate(infoset_player),
        infoset_actions=np.concatenate(infoset_actions),
        labels=PublicLabels(tree),
        fingerprint_of_source=tree.fingerprint,
    )
