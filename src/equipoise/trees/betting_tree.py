"""The public betting tree of a poker game, without cards: what can be listed of a game that is too large to list.

Nodes are decisions and ends, breadth first, siblings together. Deals of board cards are no nodes of their own: a node
says how many public deals come before it. All forms of poker games are made from this tree, and know its nodes by their
numbers: the public tree (build_poker.py) adds the deals, and the forms over boards cut it into rounds
(:func:`round_rows`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.games import TERMINAL
from equipoise.games.betting import BettingRules, BettingState, apply_action, legal_actions
from equipoise.games.poker import PokerGame
from equipoise.trees.treeplex import Float, Int32, Int64

Int8 = npt.NDArray[np.int8]


class BettingNodes(NamedTuple):
    """The nodes as kernels take them."""

    player: Int8  # who acts, or TERMINAL
    first_child: Int32
    num_children: Int32
    column: Int32  # the action that leads here: FOLD, CALL, RAISE, RAISE + 1, ...
    round: Int8  # whose board cards are open
    deals: Int8  # public deals between the parent and this node
    showdown: Int8  # whether an end is one
    amount: Float  # at ends: what player 0 wins, or what is at stake in a showdown


@dataclass(frozen=True, kw_only=True)
class Bets:
    """All decisions and ends of the betting by some rules."""

    nodes: BettingNodes
    parent: Int32
    states: tuple[BettingState, ...]

    @property
    def num_nodes(self) -> int:
        """Return the number of decisions and ends."""
        return len(self.states)

    @property
    def num_columns(self) -> int:
        """Return the number of different actions."""
        return int(self.nodes.column.max()) + 1

    @property
    def most_actions(self) -> int:
        """Return the most actions of a decision."""
        return int(self.nodes.num_children.max())

    @property
    def largest_payoff(self) -> float:
        """Return the largest amount that can change hands."""
        return float(np.abs(self.nodes.amount).max()) or 1.0

    def decisions(self, player: int) -> Int32:
        """Return the nodes at which a player acts."""
        return np.flatnonzero(self.nodes.player == player).astype(np.int32)

    @cached_property
    def legal(self) -> npt.NDArray[np.bool_]:
        """Return, by node and column, whether an action is legal."""
        table = np.zeros((self.num_nodes, self.num_columns), np.bool_)
        table[self.parent[1:], self.nodes.column[1:]] = True
        return table

    @cached_property
    def child(self) -> Int32:
        """Return, by node and column, the node that an action leads to; -1 where it is illegal."""
        table = np.full((self.num_nodes, self.num_columns), -1, np.int32)
        table[self.parent[1:], self.nodes.column[1:]] = np.arange(1, self.num_nodes)
        return table

    @cached_property
    def node_of_text(self) -> dict[str, int]:
        """Return the decision after some betting, such as ``crc/r``."""
        return {state.text: node for node, state in enumerate(self.states) if not state.finished}


@dataclass(frozen=True, kw_only=True)
class BettingTree(Bets):
    """The betting of a poker game."""

    game: PokerGame

    def action_names(self, node: int) -> tuple[str, ...]:
        """Return the names of a decision's actions."""
        state = self.states[node]
        actions = legal_actions(self.game.betting, state)
        return tuple(self.game.betting_action_name(state, action) for action in actions)


def betting_tree(game: PokerGame) -> BettingTree:
    """Return the betting tree of a poker game."""
    grown = all_bets(game.betting)
    return BettingTree(game=game, nodes=grown.nodes, parent=grown.parent, states=grown.states)


def all_bets(rules: BettingRules) -> Bets:
    """Return all betting by some rules, from where they start: a spot's start in the middle of a hand."""
    states = [rules.start()]
    parent, column = [-1], [0]
    first_child, num_children, deals = [], [], [0]
    node = 0
    while node < len(states):  # grows while it is walked: breadth first
        state = states[node]
        first_child.append(len(states))
        actions = [] if state.finished else legal_actions(rules, state)
        num_children.append(len(actions))
        for action in actions:
            child = apply_action(rules, state, action)
            states.append(child)
            parent.append(node)
            column.append(action)
            deals.append(child.round - state.round if child.folded < 0 else 0)
        node += 1
    nodes = BettingNodes(
        player=np.array([TERMINAL if state.finished else state.player for state in states], np.int8),
        first_child=np.array(first_child, np.int32),
        num_children=np.array(num_children, np.int32),
        column=np.array(column, np.int32),
        round=np.array([state.round for state in states], np.int8),
        deals=np.array(deals, np.int8),
        showdown=np.array([state.finished and state.folded < 0 for state in states], np.int8),
        amount=np.array([_amount(state) for state in states]),
    )
    return Bets(nodes=nodes, parent=np.array(parent, np.int32), states=tuple(states))


def _amount(state: BettingState) -> float:
    if not state.finished:
        return 0.0
    return state.pot_share_at_risk() * (-1.0 if state.folded == 0 else 1.0)


class Betting(NamedTuple):
    """The betting of one round, as arrays that kernels can take. Parents come before their children.

    A player's *rows* in a round are its reach of each root (what leads into the round), then one row for each action of
    its decision nodes.
    """

    roots: int
    rows: Int64  # [2] per player: roots and entries
    node_player: Int64  # [decision nodes]
    node_row: Int64  # [decision nodes] the player's row of the first action
    node_before: Int64  # [decision nodes] the player's row that leads here
    node_actions: Int64  # [decision nodes]


class Leaf(NamedTuple):
    """The end of a round's betting: a fold, or the round's close (a showdown, or the next round's root)."""

    rows: tuple[int, int]  # each player's last row
    node: int  # of the betting tree
    state: BettingState


class RoundRows(NamedTuple):
    """One round of a betting tree."""

    betting: Betting
    nodes: Int32  # [decision nodes] their numbers in the betting tree
    states: tuple[BettingState, ...]  # of the decision nodes
    leaves: list[Leaf]


def round_rows(bets: Bets, roots: Sequence[int], betting_round: int) -> RoundRows:
    """Return one round below some nodes, breadth first. A root at which the betting is over is a leaf itself."""
    rows = [len(roots), len(roots)]
    table: list[tuple[int, int, int, int]] = []
    nodes: list[int] = []
    leaves: list[Leaf] = []
    waiting = [(node, (root, root)) for root, node in enumerate(roots)]
    for node, last in waiting:  # grows while it is walked
        state = bets.states[node]
        if state.finished or state.round != betting_round:
            leaves.append(Leaf(last, node, state))
            continue
        player, actions, first = state.player, int(bets.nodes.num_children[node]), int(bets.nodes.first_child[node])
        table.append((player, rows[player], last[player], actions))
        nodes.append(node)
        for ordinal in range(actions):
            row = rows[player] + ordinal
            after = (row, last[1]) if player == 0 else (last[0], row)
            waiting.append((first + ordinal, after))
        rows[player] += actions
    columns = np.array(table, np.int64).reshape(-1, 4)
    player_of, row_of, before, count = (columns[:, k].copy() for k in range(4))
    return RoundRows(
        Betting(len(roots), np.array(rows), player_of, row_of, before, count),
        np.array(nodes, np.int32),
        tuple(bets.states[node] for node in nodes),
        leaves,
    )
