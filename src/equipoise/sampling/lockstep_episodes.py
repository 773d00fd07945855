"""Episodes of self-play (see `episodes`) in poker games too large to list: thousands of hands advance together.

A level of the betting tree at a time: at each hand that goes on, an agent plays its average, explores, or takes the
action of the highest value. For all different infosets (codes, see `trees.codes`) at which policies are needed, each
agent's policy is asked for once a level; for those at which values are needed, its values. Deals are those of
`lockstep`; within a hand the draws come in the order of `episodes`.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from equipoise.compiled import kernel, uncounted
from equipoise.games import TERMINAL
from equipoise.sampling.dice import NO_TAPE, choose_index, choose_weighted, happens
from equipoise.sampling.episodes import Bool, Int64Table, Moves, greedy, moves_of
from equipoise.sampling.lockstep import (
    TRAVERSALS_A_PART,
    Deals,
    HandsInLockstep,
    Int8,
    SomeHands,
    UInt64Table,
    code_at,
    payoff_at_end,
    place_among,
)
from equipoise.trees.betting_tree import BettingNodes, BettingTree
from equipoise.trees.codes import CardLayout
from equipoise.trees.distinct import EMPTY, table_size
from equipoise.trees.treeplex import Float, Int32, Int64
from equipoise.workers import Workers

NumbersOf = Callable[[int, Int64], Float]  # player and codes -> [codes, columns]

AVERAGE, GREEDY, EXPLORING = range(3)  # how a move is chosen


class Frontier(NamedTuple):
    """The hands that go on, at one depth of the betting tree."""

    node: Int32
    hand: Int32
    code: Int64
    way: Int8  # AVERAGE, GREEDY or EXPLORING
    place: Int64  # of the code among those that are asked for; when exploring, the action
    column: Int32  # what is chosen


def _empty_frontier(size: int) -> Frontier:
    return Frontier(
        node=np.empty(size, np.int32),
        hand=np.empty(size, np.int32),
        code=np.empty(size, np.int64),
        way=np.empty(size, np.int8),
        place=np.empty(size, np.int64),
        column=np.empty(size, np.int32),
    )


@kernel
def choose_roles(dice: UInt64Table, tape: Float, anticipatory: float, responds: Bool) -> None:
    """Draw, for each hand and player, whether the player responds in it."""
    for hand in range(responds.shape[0]):
        for player in range(2):
            responds[hand, player] = happens(dice[hand], tape, anticipatory)


@uncounted
def list_questions(
    nodes: BettingNodes,
    deals: Deals,
    tape: Float,
    responds: Bool,
    epsilon: float,
    frontier: Frontier,
    keys: Int64Table,
    places: Int64Table,
    asked: np.ndarray[tuple[int, int, int], np.dtype[np.int64]],
    counts: Int64Table,
) -> None:
    """Choose how each move is made; list the codes at which policies and values are needed in ``asked[way, player]``.

    Moves that explore are drawn here, so that no values are asked for them.
    """
    for at in range(frontier.node.size):
        node, hand = frontier.node[at], frontier.hand[at]
        who, dice = nodes.player[node], deals.dice[hand]
        code = code_at(nodes, deals.codes, hand, node)
        frontier.code[at] = code
        if responds[hand, who] and happens(dice, tape, epsilon):
            frontier.way[at] = EXPLORING
            frontier.place[at] = choose_index(dice, tape, nodes.num_children[node])
        else:
            way = GREEDY if responds[hand, who] else AVERAGE
            frontier.way[at] = way
            frontier.place[at] = place_among(code, who, keys[way], places[way], asked[way], counts[way])


@uncounted
def move(
    nodes: BettingNodes,
    deals: Deals,
    tape: Float,
    numbers: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    offset: Int64Table,
    scratch: Float,
    frontier: Frontier,
    after: Frontier,
    payoff: Float,
    counts: Int64,
) -> None:
    """Make a move in each hand, and write those that go on; ``counts``: how many these are, nodes touched."""
    end, touched = 0, frontier.node.size
    for at in range(frontier.node.size):
        node, hand, way = frontier.node[at], frontier.hand[at], frontier.way[at]
        first, count = nodes.first_child[node], np.uint64(nodes.num_children[node])
        action = np.uint64(frontier.place[at])
        if way != EXPLORING:
            row = frontier.place[at] + offset[way, nodes.player[node]]
            for k in range(count):
                scratch[k] = numbers[row, nodes.column[first + k]]
            if way == GREEDY:
                action = greedy(scratch, np.uint64(0), count)
            else:
                action = choose_weighted(deals.dice[hand], tape, scratch, np.uint64(0), count, 1.0)
        child = first + int(action)
        frontier.column[at] = nodes.column[child]
        touched += nodes.deals[child]
        if nodes.player[child] == TERMINAL:
            payoff[hand] = payoff_at_end(nodes, deals.sign[hand], child)
            touched += 1
        else:
            after.node[end], after.hand[end] = child, hand
            end += 1
    counts[0] = end
    counts[1] += touched


@uncounted
def count_moves(nodes: BettingNodes, frontier: Frontier, start: Int64Table) -> None:
    """Count a level's moves by player and hand."""
    for at in range(frontier.node.size):
        start[nodes.player[frontier.node[at]], frontier.hand[at] + 1] += 1


@uncounted
def write_moves(
    nodes: BettingNodes, frontier: Frontier, player: int, next_place: Int64, row: Int64, column: Int32
) -> None:
    """Write a level's moves of one player where they belong in the order of hands."""
    for at in range(frontier.node.size):
        if nodes.player[frontier.node[at]] == player:
            place = next_place[frontier.hand[at]]
            next_place[frontier.hand[at]] += 1
            row[place], column[place] = frontier.code[at], frontier.column[at]


class Played(NamedTuple):
    """What a part of a batch of episodes has found."""

    moves: tuple[Moves, Moves]
    touched: int


class LockstepEpisodes(HandsInLockstep):
    """Episodes of a poker game in lockstep, part by part."""

    def __init__(
        self,
        tree: BettingTree,
        layout: CardLayout,
        *,
        episodes: int,
        anticipatory: float,
        unit: float,
        seed: int,
        threads: int = 1,
        part: int = TRAVERSALS_A_PART,
        workers: Workers | None = None,
    ) -> None:
        super().__init__(tree, layout, batch=episodes, seed=seed, threads=threads, part=part, workers=workers)
        self._anticipatory, self._unit = anticipatory, unit

    def play(
        self, values_of: NumbersOf, policy_of: NumbersOf, *, epsilon: float, iteration: int
    ) -> Iterator[tuple[Moves, Moves]]:
        """Play an iteration's episodes by values and policies that are asked for by code; yield both agents' moves."""
        shared = (self, values_of, policy_of, epsilon)
        for part in self.share_out(LockstepEpisodes._play_some, self.parts(0, iteration), shared):
            self.nodes_touched += part.touched
            yield part.moves

    @staticmethod
    def _play_some(
        shared: "tuple[LockstepEpisodes, NumbersOf, NumbersOf, float]", lane: int, some: SomeHands
    ) -> Played:
        del lane
        episodes, values_of, policy_of, epsilon = shared
        return episodes._play(values_of, policy_of, epsilon, episodes.deal(*some))

    def _play(self, values_of: NumbersOf, policy_of: NumbersOf, epsilon: float, deals: Deals) -> Played:
        nodes, hands = self._tree.nodes, len(deals.sign)
        responds = np.empty((hands, 2), np.bool_)
        choose_roles(deals.dice, NO_TAPE, self._anticipatory, responds)
        frontier = _empty_frontier(hands)
        frontier.node[:], frontier.hand[:] = 0, np.arange(hands)
        payoff, scratch, counts = np.empty(hands), np.empty(self._tree.most_actions), np.zeros(2, np.int64)
        levels = []
        while len(frontier.node):
            levels.append(frontier)
            numbers, offset = self._numbers((policy_of, values_of), frontier, deals, responds, epsilon)
            after = _empty_frontier(len(frontier.node))
            move(nodes, deals, NO_TAPE, numbers, offset, scratch, frontier, after, payoff, counts)
            frontier = Frontier._make(array[: int(counts[0])] for array in after)
        start = np.zeros((2, hands + 1), np.int64)
        for level in levels:
            count_moves(nodes, level, start)
        np.cumsum(start, axis=1, out=start)
        payoff /= self._unit
        found = []
        for player, won in enumerate((payoff, -payoff)):
            count = int(start[player, -1])
            row, column = np.empty(count, np.int64), np.empty(count, np.int32)
            next_place = start[player].copy()
            for level in levels:
                write_moves(nodes, level, player, next_place, row, column)
            responding = np.repeat(responds[:, player], np.diff(start[player]))
            found.append(moves_of(row, column, responding, start[player], won))
        return Played((found[0], found[1]), int(counts[1]))

    def _numbers(
        self,
        ways: tuple[NumbersOf, NumbersOf],
        frontier: Frontier,
        deals: Deals,
        responds: Bool,
        epsilon: float,
    ) -> tuple[Float, Int64Table]:
        """Ask for policies and values where they are needed; return them, and where each way's and player's begin."""
        count = len(frontier.node)
        size = table_size(count)
        asked, counts = np.empty((2, 2, count), np.int64), np.zeros((2, 2), np.int64)
        keys, places = np.empty((2, size), np.int64), np.full((2, size), EMPTY)
        list_questions(self._tree.nodes, deals, NO_TAPE, responds, epsilon, frontier, keys, places, asked, counts)
        numbers = [np.zeros((0, self._tree.num_columns))]
        for way, numbers_of in enumerate(ways):
            for who in range(2):
                if counts[way, who]:
                    numbers.append(numbers_of(who, asked[way, who, : counts[way, who]]))
        offset = np.cumsum([0, *counts.ravel()[:-1]]).reshape(2, 2)
        return np.ascontiguousarray(np.concatenate(numbers), np.float64), offset
