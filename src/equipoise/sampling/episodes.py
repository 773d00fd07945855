"""Episodes of self-play between two agents, as Neural Fictitious Self-Play has them, and what the agents did in them.

1. *Chance* deals. Then each agent chooses how to act in the whole episode: with the anticipatory probability it
   *responds*, epsilon-greedy on the values of its actions, otherwise it plays its average policy (Heinrich and Silver
   2016, Algorithm 1, line 4).
2. *Moves* until the end. All of an agent's moves are of use to Q-learning; those of responses are what its average is
   made of.
3. *Payment*: the reward of an agent's last move in the episode. All other moves have none.

Here values and policies are tables by entry, and one episode follows the other. `lockstep_episodes` plays games whose
infosets are too many for tables; on the same deals it finds the same.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, kernel, uncounted
from equipoise.games import CHANCE, TERMINAL
from equipoise.sampling.dice import NO_TAPE, choose_index, choose_weighted, happens, start_stream
from equipoise.sampling.rows import FloatTable
from equipoise.sampling.traversal import (
    CHILDREN,
    FIRST,
    FIRST_CHILD,
    KIND,
    NODE_WIDTH,
    STAGE,
    draw_deal,
    payoff_at,
)
from equipoise.sampling.tree import SampledGame, SampledTree
from equipoise.trees.treeplex import Float, Int32, Int64, UInt64

U = np.uint64
OVER = -1  # in place of the row after a move: the episode ended

Bool = npt.NDArray[np.bool_]
Int32Table = npt.NDArray[np.int32]
Int64Table = npt.NDArray[np.int64]


class Moves(NamedTuple):
    """What one agent did in some episodes, episode after episode."""

    row: Int64  # where it acted: numbers of listed rows, or codes
    column: Int32  # what it did
    following: Int64  # where it acted next in the episode; OVER: nowhere
    reward: Float
    responding: Bool  # whether it acted by its values, in the whole episode

    def responses(self, columns: int) -> tuple[Int64, FloatTable]:
        """Return the rows of responses, and what was chosen: 1 among zeros."""
        chosen = np.flatnonzero(self.responding)
        values = np.zeros((len(chosen), columns))
        values[np.arange(len(chosen)), self.column[chosen]] = 1.0
        return self.row[chosen].astype(np.int64), values


@kernel
def _follow(row: Int64, start: Int64, payoff: Float, following: Int64, reward: Float) -> None:
    for episode in range(payoff.size):
        for place in range(start[episode], start[episode + 1]):
            if place + 1 < start[episode + 1]:
                following[place], reward[place] = row[place + 1], 0.0
            else:
                following[place], reward[place] = OVER, payoff[episode]


def moves_of(row: Int64, column: Int32, responding: Bool, start: Int64, payoff: Float) -> Moves:
    """Return moves of one agent; those of episode e are at start[e] to start[e + 1], and it paid payoff[e]."""
    following, reward = np.empty(len(row), np.int64), np.empty(len(row))
    _follow(row, start, payoff, following, reward)
    return Moves(row, column, following, reward, responding)


@inlined
def greedy(values: Float, start: np.uint64, count: np.uint64) -> np.uint64:
    """Return the index of the highest of ``values[start:start + count]``, the first of them if there are several."""
    best = U(0)
    for index in range(count):
        if values[start + index] > values[start + best]:
            best = U(index)
    return best


class Written(NamedTuple):
    """Where episodes are written; the first axis is the player."""

    row: Int64Table  # [2, room]
    column: Int32Table  # [2, room]
    responding: Bool  # [2, room]
    start: Int64Table  # [2, episodes + 1]
    payoff: Float  # [episodes] to player 0


@kernel
def most_decisions(tree: SampledTree) -> int:
    """Return how often one player can act in an episode, at most."""
    width = int(NODE_WIDTH)
    count = tree.nodes.size // width
    longest = np.zeros((count, 2), np.int64)
    for node in range(count - 1, -1, -1):  # children come after their parents
        row = tree.nodes[node * width : (node + 1) * width]
        kind = row[KIND]
        if kind != TERMINAL:
            for child in range(row[FIRST_CHILD], row[FIRST_CHILD] + row[CHILDREN]):
                for player in range(2):
                    longest[node, player] = max(longest[node, player], longest[child, player])
            if kind != CHANCE:
                longest[node, kind] += 1
    return int(longest[tree.roots[0]].max())


@uncounted
def _play(
    tree: SampledTree,
    deal_width: np.uint64,
    values: Float,
    policy: Float,
    epsilon: float,
    anticipatory: float,
    unit: float,
    iteration: int,
    seed: int,
    entry_row: Int32,
    entry_column: Int32,
    written: Written,
    responds: Bool,
    dice: UInt64,
    tape: Float,
) -> int:
    """Play episodes between two agents whose values and policies are given by table entry; return nodes touched."""
    nodes, amounts, probability, matrices, roots, _, deal_range, deal_cumulative, deals = tree[:9]
    rows, columns, responding, start, payoff = written
    touched = 0
    for episode in range(payoff.size):
        start_stream(dice, seed, iteration, 0, episode)
        deal = U(draw_deal(deal_range, deal_cumulative, 0, dice, tape))
        for player in range(2):
            responds[player] = happens(dice, tape, anticipatory)
            start[player, episode + 1] = start[player, episode]
        node = U(roots[0])
        row = node * NODE_WIDTH
        touched += 1
        while nodes[row + KIND] != TERMINAL:
            kind, first, count = nodes[row + KIND], U(nodes[row + FIRST_CHILD]), U(nodes[row + CHILDREN])
            node = first
            if kind == CHANCE:
                if probability.size > 0:
                    node = first + U(choose_weighted(dice, tape, probability, first, count, 1.0))
            else:
                hand = U(deals[deal * deal_width + U(3) * U(nodes[row + STAGE]) + U(kind)])
                entry = U(nodes[row + FIRST]) + hand * count
                if not responds[kind]:
                    action = U(choose_weighted(dice, tape, policy, entry, count, 1.0))
                elif happens(dice, tape, epsilon):
                    action = U(choose_index(dice, tape, int(count)))
                else:
                    action = greedy(values, entry, count)
                place = start[kind, episode + 1]
                rows[kind, place], columns[kind, place] = entry_row[entry], entry_column[entry + action]
                responding[kind, place] = responds[kind]
                start[kind, episode + 1] += 1
                node = first + action
            row = node * NODE_WIDTH
            touched += 1
        payoff[episode] = payoff_at(nodes, amounts, matrices, deals, deal_width, node, deal) / unit
    return touched


class Episodes:
    """Episodes of a listed game."""

    threads = 1

    def __init__(
        self,
        game: SampledGame,
        entry_row: Int64,
        entry_column: Int64,
        *,
        episodes: int,
        anticipatory: float,
        unit: float,
        seed: int,
    ) -> None:
        self._game = game
        self._entry_row, self._entry_column = entry_row.astype(np.int32), entry_column.astype(np.int32)
        self._anticipatory, self._unit, self._seed = anticipatory, unit, seed
        room = episodes * most_decisions(game.tree)
        self._written = Written(
            row=np.zeros((2, room), np.int64),
            column=np.zeros((2, room), np.int32),
            responding=np.zeros((2, room), np.bool_),
            start=np.zeros((2, episodes + 1), np.int64),
            payoff=np.zeros(episodes),
        )
        self.nodes_touched = 0

    def play(self, values: Float, policy: Float, *, epsilon: float, iteration: int) -> tuple[Moves, Moves]:
        """Play an iteration's episodes by tables of values and policies; return the moves of both agents."""
        written = self._written
        self.nodes_touched += _play(
            self._game.tree,
            U(self._game.deal_width),
            values,
            policy,
            epsilon,
            self._anticipatory,
            self._unit,
            iteration,
            self._seed,
            self._entry_row,
            self._entry_column,
            written,
            np.zeros(2, np.bool_),
            np.zeros(2, np.uint64),
            NO_TAPE,
        )
        found = []
        for player, payoff in enumerate((written.payoff, -written.payoff)):
            start = written.start[player]
            own = slice(0, int(start[-1]))
            row, column = written.row[player, own].copy(), written.column[player, own].copy()
            found.append(moves_of(row, column, written.responding[player, own].copy(), start, payoff))
        return found[0], found[1]
