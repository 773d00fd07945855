"""Exact regrets of all hands on some boards, in games over boards: nothing is sampled but the boards.

What is played is asked for whole boards at once, as grids of holdings and betting nodes (`trees.codes.Grid`), and
valued by the kernels that solve the game exactly (`trees/board_values.py`). One turn of a player:

1. *First round*: both players' strategies before the board, and their reach of the second round.
2. *Boards*, on all threads: both strategies there, payments of all leaves, values upwards, and regrets.
3. *First round again*: boards drawn anew in each turn say, without bias, what its closings are worth.

A row's values are regrets of one infoset in chips, given that the opponent comes there: divided by the opponent's mean
reach of the node, which is what the row counts (its weight). Strategies are the opponent's, and count its own reach.
Boards whose rows are to be added up are *kept*: the same ones in every turn, in grids with numbers of their own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, kernel, uncounted
from equipoise.regret.matching import match_block
from equipoise.sampling.board_sample import BoardSample
from equipoise.sampling.rows import REGRET, STRATEGY, FloatTable, Rows, ScoresAt
from equipoise.threads import map_parts
from equipoise.trees.betting_tree import Betting, BettingTree
from equipoise.trees.board_evaluator import enter, start_payments
from equipoise.trees.board_form import BoardForm, Pairs, Payments, Showdowns, entries_before
from equipoise.trees.board_values import (
    Scratch,
    board_payments,
    collect_closings,
    enter_board,
    make_scratch,
    pass_on,
    write_plan_rows,
)
from equipoise.trees.codes import NO_NUMBER, CardLayout, Grid, codes_of
from equipoise.trees.treeplex import Float, Int64

IntTable = npt.NDArray[np.int64]
FIRST_ROUND = 0  # the number of its grids; that of a board's is one more than the board's


@inlined
def _match_scores(
    betting: Betting,
    player: int,
    width: int,
    column: IntTable,
    scores: FloatTable,
    fallback: int,
    strategy: Float,
    totals: Float,
) -> None:
    """Write a player's strategy for some hands from scores, hand by hand and node by node."""
    own = scores.shape[0] // width
    place = 0
    for node in range(betting.node_player.size):
        if betting.node_player[node] == player:
            first, actions = betting.node_row[node] * width, betting.node_actions[node]
            for action in range(actions):
                out = strategy[first + action * width : first + (action + 1) * width]
                for j in range(width):
                    out[j] = scores[j * own + place, column[node, action]]
            match_block(strategy, first, actions, width, totals[:width], fallback)
            place += 1


@inlined
def _values_to_regrets(
    betting: Betting, player: int, width: int, strategy: Float, gradient: Float, value: Float
) -> None:
    """Pass what rows are worth up to the roots, and put regrets in their place."""
    for node in range(betting.node_player.size - 1, -1, -1):
        if betting.node_player[node] == player:
            start, actions = betting.node_row[node] * width, betting.node_actions[node]
            for j in range(width):
                value[j] = 0.0
            for action in range(actions):
                row = start + action * width
                worth, probability = gradient[row : row + width], strategy[row : row + width]
                for j in range(width):
                    value[j] += probability[j] * worth[j]
            for action in range(actions):
                worth = gradient[start + action * width : start + (action + 1) * width]
                for j in range(width):
                    worth[j] -= value[j]
            pass_on(betting, node, width, value, gradient)


@kernel
def _start_strategy(
    betting: Betting, player: int, width: int, column: IntTable, scores: FloatTable, fallback: int, strategy: Float
) -> None:
    """Write a player's strategy of the first round, below its reach of the start."""
    _match_scores(betting, player, width, column, scores, fallback, strategy, np.empty(width))


@kernel
def _start_regrets(betting: Betting, player: int, width: int, strategy: Float, gradient: Float) -> None:
    _values_to_regrets(betting, player, width, strategy, gradient, np.empty(width))


@uncounted
def _play_board(
    betting: Betting,
    pairs: Pairs,
    board: int,
    column: IntTable,
    first_scores: FloatTable,
    second_scores: FloatTable,
    fallback: int,
    entering: Float,
    scratch: Scratch,
) -> None:
    """Write both players' strategies and plans of a board."""
    first_pair = pairs.first_pair[board]
    width = pairs.first_pair[board + 1] - first_pair
    for player in range(2):
        strategy, plan = scratch.strategy[player], scratch.plan[player]
        scores = first_scores if player == 0 else second_scores
        enter_board(betting, pairs, first_pair, width, entering[player], plan)
        _match_scores(betting, player, width, column, scores, fallback, strategy, scratch.totals)
        write_plan_rows(betting, player, width, strategy, plan)


@uncounted
def _board_regrets(
    betting: Betting,
    payments: Payments,
    showdowns: Showdowns,
    pairs: Pairs,
    board: int,
    player: int,
    scratch: Scratch,
    closing: Float,
) -> None:
    """Write a player's regrets on a board where values are, and what roots are worth to ``closing``."""
    first_pair = pairs.first_pair[board]
    width = pairs.first_pair[board + 1] - first_pair
    board_payments(betting, payments, showdowns, board, first_pair, width, player, scratch)
    _values_to_regrets(betting, player, width, scratch.strategy[player], scratch.gradient, scratch.values)
    collect_closings(betting, pairs, first_pair, width, scratch.gradient, closing)


@kernel
def _by_hand(betting: Betting, player: int, width: int, column: IntTable, block: Float, out: FloatTable) -> None:
    """Write what rows of the round have for each hand as values by infoset, hand by hand, and column."""
    own = out.shape[0] // width
    place = 0
    for node in range(betting.node_player.size):
        if betting.node_player[node] == player:
            for action in range(betting.node_actions[node]):
                start = (betting.node_row[node] + action) * width
                for j in range(width):
                    out[j * own + place, column[node, action]] = block[start + j]
            place += 1


@dataclass(frozen=True)
class RoundNodes:
    """A round's decisions, as rows and columns."""

    betting: Betting
    nodes: tuple[Int64, Int64]  # by player: their numbers in the betting tree
    column: IntTable  # [decision nodes, actions]
    own_before: tuple[Int64, Int64]  # by player, at its nodes: its row that leads there,
    other_before: tuple[Int64, Int64]  # and the opponent's


def round_nodes(form: BoardForm, tree: BettingTree, betting_round: int) -> RoundNodes:
    """Return the decisions of a round of a form."""
    betting, numbers = form.betting[betting_round], form.nodes[betting_round].astype(np.int64)
    place = {int(node): number for number, node in enumerate(numbers)}
    first = tree.nodes.first_child[numbers].astype(np.int64)
    most = int(betting.node_actions.max())
    actions = np.minimum(np.arange(most), betting.node_actions[:, None] - 1)
    column = tree.nodes.column[first[:, None] + actions].astype(np.int64)

    def row_before(node: int, player: int) -> int:
        """Return a player's last row on the way to a node."""
        at = node
        while (above := int(tree.parent[at])) in place:
            number = place[above]
            if betting.node_player[number] == player:
                return int(betting.node_row[number]) + at - int(tree.nodes.first_child[above])
            at = above
        return roots[at]

    # A node without any before it in the round is a root, unless it is not listed: then its number is in no row.
    above = {int(node): int(tree.parent[node]) for node in numbers}
    first_row = {int(node): int(betting.node_before[number]) for number, node in enumerate(numbers)}
    roots = {node: first_row[node] for node, before in above.items() if before not in place}
    own = tuple(np.flatnonzero(betting.node_player == player) for player in range(2))
    return RoundNodes(
        betting,
        (numbers[own[0]], numbers[own[1]]),
        column,
        (betting.node_before[own[0]], betting.node_before[own[1]]),
        (
            np.array([row_before(int(node), 1) for node in numbers[own[0]]], np.int64),
            np.array([row_before(int(node), 0) for node in numbers[own[1]]], np.int64),
        ),
    )


class BoardTask(NamedTuple):
    """A board of a turn."""

    board: int
    kept: bool  # whether it has a number of its own
    found: bool  # whether its rows are wanted


class Valued(NamedTuple):
    """What a board has come to."""

    rows: list[Rows]
    closing: Float  # [player whose turn it is, root, starting class]


class Turn(NamedTuple):
    """What boards have to know of a turn."""

    scores_at: ScoresAt
    players: tuple[int, ...]
    iteration: int
    entering: Float


class BoardVectors:
    """All hands on some boards: kept ones, the same in every turn, or only boards that are drawn anew."""

    def __init__(
        self,
        form: BoardForm,
        tree: BettingTree,
        layout: CardLayout,
        *,
        kept: int,
        fresh: int,
        fallback: int,
        seed: int,
        threads: int = 1,
    ) -> None:
        """Make a sampler; rows come from the ``kept`` boards, or where there are none from the ``fresh`` ones."""
        self.threads = threads
        self.nodes_touched = 0
        self._form, self._layout, self._fallback = form, layout, fallback
        self._rounds = round_nodes(form, tree, 0), round_nodes(form, tree, 1)
        self._fresh = BoardSample(form, fresh, seed, name="fresh_boards" if kept else "boards")
        self._kept = BoardSample(form, kept, seed).draw(0, 0)[0] if kept else np.zeros(0, np.int64)
        self._columns = tree.num_columns
        hands = form.cards.hands[form.cards.start_hand].astype(np.int8)
        self._start_held = self._held(hands, 0)
        self._scratch = [make_scratch(form, np.float32) for _ in range(threads)]

    @property
    def num_kept(self) -> int:
        """Return the number of infosets on boards that are kept."""
        widths = np.diff(self._form.pairs.first_pair)
        return int(widths[self._kept].sum()) * len(self._rounds[1].betting.node_player)

    def _held(self, cards: npt.NDArray[np.int8], betting_round: int) -> Int64:
        return codes_of(self._layout, cards, np.full(len(cards), betting_round), np.zeros(len(cards), np.int64))

    def held_on(self, board: int) -> Int64:
        """Return the codes of all hands on a board, class by class."""
        cards = self._form.cards
        own = slice(*cards.first_pair[board : board + 2].tolist())
        hands = cards.hands[cards.pair_hand[own]]
        return self._held(
            np.concatenate([hands, np.tile(cards.boards[board], (len(hands), 1))], axis=1).astype(np.int8), 1
        )

    def rows(self, scores_at: ScoresAt, players: tuple[int, ...], iteration: int) -> Iterator[Rows]:
        """Value boards at the strategies that scores stand for; yield the players' regrets, the others' strategies."""
        form, start = self._form, self._rounds[0]
        width = form.num_starting_classes
        entries = entries_before(start.betting) * width
        strategies = np.empty(int(entries[2]))
        grids = [Grid(self._start_held, start.nodes[player], FIRST_ROUND) for player in range(2)]
        for player in range(2):
            reached = np.empty(start.betting.rows[player] * width)
            scores = np.ascontiguousarray(scores_at(player, grids[player]), np.float64)
            _start_strategy(start.betting, player, width, start.column, scores, self._fallback, reached)
            strategies[entries[player] : entries[player + 1]] = reached[start.betting.roots * width :]
        entered = enter(form, (strategies, strategies))
        fresh, weights = self._fresh.draw(iteration, players[0])
        asked = [BoardTask(board, True, True) for board in self._kept.tolist()]
        asked += [BoardTask(board, False, not len(self._kept)) for board in fresh.tolist()]
        turn = Turn(scores_at, players, iteration, entered.entering)
        closings = np.empty((len(fresh), len(players), *entered.entering.shape[1:]))
        drawn = 0
        for one, valued in zip(
            asked, map_parts(BoardVectors._value, asked, (self, turn), threads=self.threads), strict=True
        ):
            if not one.kept:
                closings[drawn] = valued.closing
                drawn += 1
            yield from valued.rows
        chance, sums = form.starting_hands.chance, np.empty(form.cards.deck_size)
        for number, player in enumerate(players):
            gradient = np.empty_like(entered.plans[player])
            brought = np.ascontiguousarray(closings[:, number])
            opponent = entered.plans[1 - player]
            parts = start.betting, form.payments[0], form.starting_hands, form.closings
            start_payments(*parts, player, opponent, brought, weights, sums, gradient)
            _start_regrets(start.betting, player, width, entered.strategies[player], gradient)
            found = self._rows(
                start, player, width, chance, gradient, entered.strategies[1 - player], entered.plans, grids, iteration
            )
            yield from found
        self.nodes_touched += len(players) * sum(
            len(each.betting.node_player) * size
            for each, size in zip(self._rounds, (width, self._hands_on(asked)), strict=True)
        )

    def _hands_on(self, asked: list[BoardTask]) -> int:
        widths = np.diff(self._form.pairs.first_pair)
        return int(widths[[each.board for each in asked]].sum())

    def _rows(
        self,
        nodes: RoundNodes,
        player: int,
        width: int,
        chance: Float,
        regrets: Float,
        strategy: Float,
        plans: tuple[Float, Float],
        grids: list[Grid],
        iteration: int,
    ) -> Iterator[Rows]:
        """Yield a player's regrets and the opponent's strategies of one round, for all hands there."""
        other = 1 - player
        mean = plans[other].reshape(-1, width)[nodes.other_before[player]].astype(np.float64) @ chance
        values = np.zeros((width * len(nodes.nodes[player]), self._columns))
        _by_hand(nodes.betting, player, width, nodes.column, regrets, values)
        weight = np.tile(mean, width)
        values /= np.where(weight > 0.0, weight, 1.0)[:, None]
        own = plans[player].reshape(-1, width)[nodes.own_before[player]].T.ravel().astype(np.float64)
        yield Rows(player, REGRET, iteration, grids[player], values, weight, own)
        played = np.zeros((width * len(nodes.nodes[other]), self._columns))
        _by_hand(nodes.betting, other, width, nodes.column, strategy, played)
        reach = plans[other].reshape(-1, width)[nodes.own_before[other]].T.ravel().astype(np.float64)
        yield Rows(other, STRATEGY, iteration, grids[other], played, reach, reach)

    @staticmethod
    def _value(shared: "tuple[BoardVectors, Turn]", lane: int, asked: BoardTask) -> Valued:
        vectors, turn = shared
        form, nodes, scratch = vectors._form, vectors._rounds[1], vectors._scratch[lane]
        held = vectors.held_on(asked.board)
        number = 1 + asked.board if asked.kept else NO_NUMBER
        grids = [Grid(held, nodes.nodes[player], number) for player in range(2)]
        scores = [np.ascontiguousarray(turn.scores_at(player, grids[player]), np.float64) for player in range(2)]
        strategies = scores[0], scores[1], vectors._fallback, turn.entering
        _play_board(nodes.betting, form.pairs, asked.board, nodes.column, *strategies, scratch)
        closing = np.empty((len(turn.players), *turn.entering.shape[1:]))
        rows: list[Rows] = []
        width = len(held)
        first = int(form.pairs.first_pair[asked.board])
        pairs = slice(first, first + width)
        chance = form.starting_hands.chance[form.pairs.start_class[pairs]] * form.pairs.start_weight[pairs]
        for place, player in enumerate(turn.players):
            parts = nodes.betting, form.payments[1], form.showdowns, form.pairs
            _board_regrets(*parts, asked.board, player, scratch, closing[place])
            if asked.found:
                sizes = [int(count) * width for count in nodes.betting.rows]
                plans = scratch.plan[0][: sizes[0]], scratch.plan[1][: sizes[1]]
                rows += vectors._rows(
                    nodes,
                    player,
                    width,
                    chance / chance.sum(),
                    scratch.gradient,
                    scratch.strategy[1 - player],
                    plans,
                    grids,
                    turn.iteration,
                )
        return Valued(rows, closing)
