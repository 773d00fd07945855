"""The form that solvers and evaluation see: two treeplexes and the payoffs between them.

From a GameTree: 1. follow each player's last sequence down the tree and check perfect recall; 2. lay infosets out in
blocks by depth and number of actions; 3. collect one payoff x chance per pair of sequences that end together.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.compiled import kernel
from equipoise.errors import InvalidGame
from equipoise.games import TERMINAL, Game
from equipoise.trees.digest import digest
from equipoise.trees.game_tree import GameTree, InfosetLabels, Int8
from equipoise.trees.payoffs import Payoffs, balanced_chunks, sparse_payoffs
from equipoise.trees.treeplex import Float, Int32, Int64, Treeplex, lay_out

SPARSE_CHUNK = 16384  # payoffs a chunk


@dataclass(frozen=True, kw_only=True)
class SequenceForm:
    """A compiled game: what each player controls, and what the two are paid."""

    game: Game
    engine: str  # "sequence" (sparse payoffs) or "vector" (operators over private hands)
    treeplexes: tuple[Treeplex, Treeplex]
    payoffs: tuple[Payoffs, Payoffs]
    labels: InfosetLabels
    infosets: tuple[Int64, Int64]  # per player: the number under which labels know each infoset of the treeplex
    fingerprint: str  # of the game

    @property
    def num_infosets(self) -> int:
        """Return the number of infosets of both players."""
        return sum(plex.num_infosets for plex in self.treeplexes)

    @property
    def num_sequences(self) -> int:
        """Return the number of sequences of both players: the size of a table of strategies."""
        return sum(plex.num_sequences for plex in self.treeplexes)

    @property
    def layout(self) -> str:
        """Return a hash of the order of infosets and sequences."""
        return digest(self.engine, self.treeplexes, self.infosets)

    def keys(self, player: int) -> list[str]:
        """Return the keys of a player's infosets, in the treeplex's order."""
        keys: Sequence[str] = self.labels.keys()
        return [keys[number] for number in self.infosets[player]]

    def action_names(self, player: int) -> list[tuple[str, ...]]:
        """Return the action names of a player's infosets, in the treeplex's order."""
        return [self.labels.action_names(number) for number in self.infosets[player]]


@kernel
def _follow_sequences(
    player: Int8,
    parent: Int32,
    first_child: Int32,
    infoset: Int32,
    probability: Float,
    first_action: Int64,
    action_infoset: Int32,
    last: Int32,
    reach: Float,
    parent_action: Int32,
    depth: Int32,
) -> int:
    """Write each history's last (infoset, action) of both players and its chance reach; return a faulty infoset.

    ``parent_action`` and ``depth`` are per infoset. Returns -1 when all histories of each infoset agree on the acting
    player's own past, which is what perfect recall means.
    """
    for node in range(player.size):
        if node == 0:
            last[0, 0] = last[1, 0] = -1
            reach[0] = 1.0
        else:
            up = parent[node]
            reach[node] = reach[up] * probability[node]
            for p in range(2):
                last[p, node] = last[p, up]
            if player[up] >= 0:
                last[player[up], node] = first_action[infoset[up]] + node - first_child[up]
        own = infoset[node]
        if own >= 0:
            before = last[player[node], node]
            if parent_action[own] == -2:
                parent_action[own] = before
                depth[own] = 0 if before < 0 else depth[action_infoset[before]] + 1
            elif parent_action[own] != before:
                return int(own)
    return -1


def sequence_form(tree: GameTree) -> SequenceForm:
    """Return the sequence form of a tree, or say why the tree has none (no perfect recall)."""
    num_infosets = tree.num_infosets
    first_action = np.concatenate([[0], np.cumsum(tree.infoset_actions, dtype=np.int64)])
    action_infoset = np.repeat(np.arange(num_infosets, dtype=np.int32), tree.infoset_actions)
    last = np.empty((2, tree.num_nodes), np.int32)
    reach = np.empty(tree.num_nodes)
    parent_action = np.full(num_infosets, -2, np.int32)
    depth = np.zeros(num_infosets, np.int32)
    faulty = _follow_sequences(
        tree.player,
        tree.parent,
        tree.first_child,
        tree.infoset,
        tree.probability,
        first_action,
        action_infoset,
        last,
        reach,
        parent_action,
        depth,
    )
    if faulty >= 0:
        raise _forgetful(tree, faulty, last[tree.infoset_player[faulty]], int(parent_action[faulty]))
    treeplexes, infosets, sequence_of_action = [], [], np.full(max(1, len(action_infoset)), -1, np.int64)
    for player in range(2):
        own = np.flatnonzero(tree.infoset_player == player)
        own = own[np.lexsort((tree.infoset_actions[own], depth[own]))]
        counts = tree.infoset_actions[own].astype(np.int64)
        layout = lay_out(
            subgame=np.zeros(len(own), np.int64),
            depth=depth[own].astype(np.int64),
            actions=counts,
            width=np.ones(len(own), np.int64),
            num_subgames=1,
        )
        plex = layout.treeplex(np.zeros(len(own), np.uint32))
        sequences, _ = plex.sequence_table()
        ordinal = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        sequence_of_action[np.repeat(first_action[own], counts) + ordinal] = sequences
        before = parent_action[own]
        plex.parent_sequence[:] = np.where(before >= 0, sequence_of_action[before], 0)
        treeplexes.append(plex)
        infosets.append(own.astype(np.int64))
    return SequenceForm(
        game=tree.game,
        engine="sequence",
        treeplexes=(treeplexes[0], treeplexes[1]),
        payoffs=_collect_payoffs(tree, treeplexes, sequence_of_action, last, reach),
        labels=tree.labels,
        infosets=(infosets[0], infosets[1]),
        fingerprint=tree.fingerprint(),
    )


def _forgetful(tree: GameTree, infoset: int, last: Int32, first_before: int) -> InvalidGame:
    """Return what to say of an infoset whose histories differ in what its player did before."""
    nodes = np.flatnonzero(tree.infoset == infoset)
    other = nodes[last[nodes] != first_before][0]
    first, second = (", ".join(tree.way_to(int(node))) for node in (nodes[0], other))
    return InvalidGame(
        f"{tree.game.name} has no perfect recall: infoset '{tree.labels.keys()[infoset]}' of player "
        f"{tree.infoset_player[infoset]} forgets what that player knew or did before: it holds [{first}] and [{second}]"
    )


def _collect_payoffs(
    tree: GameTree, treeplexes: list[Treeplex], sequence_of_action: Int64, last: Int32, reach: Float
) -> tuple[Payoffs, Payoffs]:
    import scipy.sparse  # slow to load, and only this form needs it

    terminal = np.flatnonzero(tree.player == TERMINAL)
    ends = []
    for player in range(2):
        action = last[player, terminal]
        ends.append(np.where(action >= 0, sequence_of_action[action], 0).astype(np.int32))
    value = tree.payoff[terminal] * reach[terminal]
    shape = (treeplexes[0].num_sequences, treeplexes[1].num_sequences)
    matrix = scipy.sparse.coo_matrix((value, (ends[0], ends[1])), shape=shape).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    sides = []
    for side in (matrix, (-matrix).T.tocsr()):
        start = side.indptr.astype(np.int64)
        chunks = balanced_chunks(np.diff(start) + 1, SPARSE_CHUNK)
        sides.append(sparse_payoffs(start, side.indices.astype(np.uint32), side.data, chunks))
    return sides[0], sides[1]
