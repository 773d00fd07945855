"""A part of a public tree, from some public states down to the next deal of board cards: what is re-solved.

A *public state* is a node of the public tree and a group of the node's stage (the board cards that lie open). Below
each root a look-ahead holds all decisions up to the ends of the game and to *closings*: nodes where board cards are
dealt and betting goes on. What closings are worth is not part of it. Where betting is over (a called all-in), the rest
of the deal is part of the payoffs.

Numbers lie as in a round of a form over boards (betting_tree.py): a player's rows are its reach of the roots, then one
row for each action of its decisions, with one number for each hand. All values are counterfactual, with the chance of
the deal in the payoffs: a hand is worth the sum over the opponent's hands of chance x the opponent's reach x payoff.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from equipoise.errors import NotSupported
from equipoise.games import CHANCE, TERMINAL
from equipoise.trees.betting_tree import Betting
from equipoise.trees.public_tree import PublicTree, stage_map
from equipoise.trees.treeplex import Float, Int64


class PublicState(NamedTuple):
    """A node of a public tree, and which board cards lie open."""

    node: int
    group: int = 0


class LookaheadArrays(NamedTuple):
    """A look-ahead as kernels take it."""

    betting: Betting
    hands: tuple[int, int]  # how many hands each player may hold
    leaf_row: Int64  # [2, leaves] each player's last row
    leaf_matrix: Int64  # [leaves]
    leaf_amount: Float  # [leaves] what the matrix is multiplied with
    matrices: Float  # [matrices, hands of player 0, hands of player 1] chance x payoff to player 0
    closing_row: Int64  # [2, closings]


@dataclass(frozen=True, kw_only=True)
class Lookahead:
    """Some public states of one stage, with what follows up to the next deal."""

    tree: PublicTree
    stage: int
    roots: tuple[PublicState, ...]
    arrays: LookaheadArrays
    nodes: tuple[PublicState, ...]  # of the decisions
    closings: tuple[PublicState, ...]

    @cached_property
    def decision(self) -> dict[PublicState, int]:
        """Return the place of each decision."""
        return {state: place for place, state in enumerate(self.nodes)}

    @cached_property
    def closing(self) -> dict[PublicState, int]:
        """Return the place of each closing."""
        return {state: place for place, state in enumerate(self.closings)}

    def rows(self, decision: int) -> slice:
        """Return the acting player's rows of a decision's actions."""
        first = int(self.arrays.betting.node_row[decision])
        return slice(first, first + int(self.arrays.betting.node_actions[decision]))


def is_settled(tree: PublicTree, node: int) -> bool:
    """Return whether only cards are dealt between a node and the end of the game."""
    while tree.player[node] == CHANCE:
        node = int(tree.first_child[node])
    return bool(tree.player[node] == TERMINAL)


def lookahead(tree: PublicTree, roots: Sequence[PublicState]) -> Lookahead:
    """Return the look-ahead below some public states, which are of one stage."""
    if len(tree.continuation) > 1 or tree.continuation.max() >= 0:
        raise NotSupported(f"{tree.game.name} has rounds that follow each other; only games of one round are re-solved")
    stage = int(tree.stage[roots[0].node])
    rows = [len(roots), len(roots)]
    table: list[tuple[int, int, int, int]] = []
    nodes, closings = [], []
    leaves: list[tuple[int, int, int, float]] = []
    closing_rows: list[tuple[int, int]] = []
    payoffs = _Payoffs(tree, stage)
    waiting = [(state, (root, root)) for root, state in enumerate(roots)]
    for state, last in waiting:  # grows while it is walked
        node = state.node
        if is_settled(tree, node):
            leaves.append((*last, *payoffs.at(state)))
        elif tree.player[node] == CHANCE:
            closings.append(state)
            closing_rows.append(last)
        else:
            player, actions, first = int(tree.player[node]), int(tree.num_children[node]), int(tree.first_child[node])
            table.append((player, rows[player], last[player], actions))
            nodes.append(state)
            for ordinal in range(actions):
                row = rows[player] + ordinal
                after = (row, last[1]) if player == 0 else (last[0], row)
                waiting.append((PublicState(first + ordinal, state.group), after))
            rows[player] += actions
    columns = np.array(table, np.int64).reshape(-1, 4)
    ends = np.array([leaf[:3] for leaf in leaves], np.int64).reshape(-1, 3)
    arrays = LookaheadArrays(
        betting=Betting(len(roots), np.array(rows), *(columns[:, k].copy() for k in range(4))),
        hands=payoffs.hands,
        leaf_row=np.ascontiguousarray(ends[:, :2].T),
        leaf_matrix=ends[:, 2].copy(),
        leaf_amount=np.array([leaf[3] for leaf in leaves]),
        matrices=payoffs.stacked(),
        closing_row=np.array(closing_rows, np.int64).reshape(-1, 2).T.copy(),
    )
    return Lookahead(
        tree=tree, stage=stage, roots=tuple(roots), arrays=arrays, nodes=tuple(nodes), closings=tuple(closings)
    )


class _Payoffs:
    """Payoffs at the hands of one stage, each matrix once."""

    def __init__(self, tree: PublicTree, stage: int) -> None:
        self.tree, self.stage = tree, stage
        _, first, second = tree.stages[stage].probability.shape
        self.hands = (int(first), int(second))
        self._number: dict[tuple[int, int], int] = {}
        self._matrices: list[Float] = []

    def at(self, state: PublicState) -> tuple[int, float]:
        """Return the matrix and the amount of a state after which only cards are dealt."""
        node = state.node
        while self.tree.player[node] == CHANCE:
            node = int(self.tree.first_child[node])
        key = (int(self.tree.terminal_matrix[node]), state.group)
        if key not in self._number:
            self._number[key] = len(self._matrices)
            self._matrices.append(pulled_back(self.tree, node, self.stage)[state.group])
        return self._number[key], float(self.tree.terminal_amount[node])

    def stacked(self) -> Float:
        """Return all matrices."""
        return np.array(self._matrices).reshape(-1, *self.hands)


def pulled_back(tree: PublicTree, end: int, stage: int) -> Float:
    """Return chance x payoff (without the amount) of an end of the game, at the hands of an earlier stage.

    [groups, hands of player 0, hands of player 1]
    """
    later = int(tree.stage[end])
    weighted = tree.payoff_matrices[tree.terminal_matrix[end]] * tree.stages[later].probability
    groups, first, second = tree.stages[stage].probability.shape
    out = np.zeros((groups, first, second))
    places = [stage_map(tree, p, later, stage).reshape(len(weighted), -1) for p in range(2)]
    for group, matrix in enumerate(weighted):
        mine, theirs = (each[group] for each in places)
        np.add.at(out[mine[0] // first], (mine[:, None] % first, theirs[None, :] % second), matrix)
    return out


class Deal(NamedTuple):
    """The deal after the groups of a stage: which groups follow each, and where their hands come from."""

    groups: tuple[tuple[int, ...], ...]  # [groups before] those that follow
    source: tuple[Int64, Int64]  # by player: [groups after, hands] the place of the hand in the group before


def deal_after(tree: PublicTree, stage: int) -> Deal:
    """Return the deal between a stage and the next."""
    before, after = tree.stages[stage], tree.stages[stage + 1]
    sources, parents = [], np.zeros(after.groups, np.int64)
    for player in range(2):
        hands = before.probability.shape[1 + player]
        places = after.previous[player].reshape(after.groups, -1).astype(np.int64)
        sources.append(places % hands)
        parents = places[:, 0] // hands
    groups = tuple(tuple(np.flatnonzero(parents == group).tolist()) for group in range(before.groups))
    return Deal(groups, (sources[0], sources[1]))
