"""What the closings of a spot are worth by a value network, over checking down.

For all closings and all boards of the next round at once: ranges, what the network sees of them, one pass of the
network, and values of hands, added up over boards.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel
from equipoise.games.spots import ROUND_NAMES, Spot
from equipoise.trees.betting_tree import Leaf
from equipoise.trees.treeplex import Float, Int64
from equipoise.trees.value_network import (
    EDGES,
    INPUTS,
    Single,
    ValueNetwork,
    bin_of,
    on_axis,
    require_round,
    stack_inputs,
)

Pair = tuple[Float, Float]
UInt32 = npt.NDArray[np.uint32]


class Entering(NamedTuple):
    """Both players' reach of the closings of a board: rows of their plans."""

    board: int
    plans: Pair  # [rows x hands] by player
    widths: tuple[int, int]  # hands of a row
    children: range  # the boards that follow


class BoardHands(NamedTuple):
    """The hands of a round's boards, as the kernels below take them; by player and board."""

    live: Int64  # [boards, 2]
    start: Int64  # [boards, 2]
    card: Int64  # [hands, 2]
    group: Int64  # [hands] which hands tie, from the weakest
    groups: Int64  # [boards] how many groups there are
    same: Int64  # [hands] the opponent's place of the same hand, or -1
    images: Int64  # [boards]
    image_start: Int64  # [boards, 2]
    width: Int64  # [boards, 2]
    image_place: UInt32


@kernel
def _see_all(
    hands: BoardHands,
    first: int,
    end: int,
    rows: Int64,
    plans: tuple[Float, Float],
    widths: tuple[int, int],
    edges: Float,
    reach: tuple[Float, Float],
    masses: Float,
    seen: Single,
    middle: Float,
    held: npt.NDArray[np.bool_],
) -> None:
    """Write what a network sees of each (board, closing)."""
    closings = rows.shape[1]
    for board in range(first, end):
        starts = (hands.start[board, 0], hands.start[board, 1])
        groups = (
            hands.group[starts[0] : starts[0] + hands.live[board, 0]],
            hands.group[starts[1] : starts[1] + hands.live[board, 1]],
        )
        for k in range(closings):
            at = (board - first) * closings + k
            for p in range(2):
                _enter(hands, board, p, rows[p, k], plans[p], widths[p], reach[p])
            held[at] = on_axis(groups, reach, (0, 0), hands.groups[board], edges, masses, seen[at], middle[at])


@kernel
def _enter(hands: BoardHands, board: int, player: int, row: int, plan: Float, width: int, reach: Float) -> None:
    """Write a player's reach on a board of the next round."""
    image = hands.image_start[board, player]
    for j in range(hands.live[board, player]):
        reach[j] = plan[row * width + hands.image_place[image + j]]


@kernel
def _beside(hands: BoardHands, board: int, player: int, reach: Float, by_card: Float, out: Float) -> float:
    """Write the reach of the opponent's hands that share no card with each own hand; return the opponent's in all."""
    opponent = 1 - player
    own, other = hands.start[board, player], hands.start[board, opponent]
    by_card[:] = 0.0
    total = 0.0
    for j in range(hands.live[board, opponent]):
        total += reach[j]
        by_card[hands.card[other + j, 0]] += reach[j]
        by_card[hands.card[other + j, 1]] += reach[j]
    for j in range(hands.live[board, player]):
        rest = total - by_card[hands.card[own + j, 0]] - by_card[hands.card[own + j, 1]]
        if hands.same[own + j] >= 0:
            rest += reach[hands.same[own + j]]
        out[j] = max(rest, 0.0)
    return total


@kernel
def _add_all(
    hands: BoardHands,
    first: int,
    end: int,
    player: int,
    rows: Int64,
    plans: tuple[Float, Float],
    widths: tuple[int, int],
    edges: Float,
    pots: Float,
    deal: float,
    read: Single,
    middle: Float,
    held: npt.NDArray[np.bool_],
    reach: tuple[Float, Float],
    beside: tuple[Float, Float],
    gains: tuple[Float, Float],
    by_group: Float,
    by_card: Float,
    out: Float,
) -> None:
    """Add what the network says of each (board, closing) to the values of the closings, [closings, hands]."""
    closings, points = rows.shape[1], edges.size
    for board in range(first, end):
        for k in range(closings):
            at = (board - first) * closings + k
            if not held[at]:
                continue
            left_over, pairs = 0.0, 0.0
            for p in range(2):
                _enter(hands, board, p, rows[p, k], plans[p], widths[p], reach[p])
            for p in range(2):
                _beside(hands, board, p, reach[1 - p], by_card, beside[p])
                for g in range(hands.groups[board]):
                    place = middle[at, g]
                    low = bin_of(place, edges)
                    share = (place - edges[low]) / (edges[low + 1] - edges[low])
                    column = p * points + low
                    by_group[g] = (1.0 - share) * read[at, column] + share * read[at, column + 1]
                start = hands.start[board, p]
                for j in range(hands.live[board, p]):
                    gains[p][j] = by_group[hands.group[start + j]]
                    weight = reach[p][j] * beside[p][j]
                    left_over += weight * gains[p][j]
                    pairs += weight
            if not pairs > 0.0:
                continue
            shift = left_over / pairs  # pairs are counted from both sides, and both players give half
            for image in range(hands.images[board]):
                image_at = hands.image_start[board, player] + image * hands.width[board, player]
                for j in range(hands.live[board, player]):
                    worth = pots[k] * (gains[player][j] - shift) * beside[player][j]
                    out[k, hands.image_place[image_at + j]] += deal * worth


class NetworkValues:
    """What closings are worth by a network, over checking down. Called all-ins are worth no more than that."""

    def __init__(self, game: Spot, network: ValueNetwork, leaves: list[Leaf], hands: BoardHands, deal: float) -> None:
        require_round(network, str(game.until))
        self._network, self._hands, self._deal = network, hands, deal
        self._open = np.array([k for k, leaf in enumerate(leaves) if game.is_left_open(leaf.state)], np.int64)
        matched = np.array([min(leaves[k].state.spent) for k in self._open], np.float64)
        self._pots = game.pot + 2.0 * matched
        self._rows = np.array([[leaves[k].rows[p] for k in self._open] for p in range(2)], np.int64)
        self._stack = stack_inputs(game.stack - matched, self._pots).astype(np.float32)
        self._closings, self._cards = len(leaves), game.deck.size
        assert self.round_name in ROUND_NAMES

    @property
    def round_name(self) -> str:
        """Return the round that is valued."""
        return self._network.round

    def closings(self, entering: Entering, player: int, iteration: int) -> Float:
        """Return what a player's hands gain at each closing of a board, [closings, hands of the board]."""
        children = entering.children
        hands, widest = self._hands, int(self._hands.width.max())
        count = len(children) * len(self._open)
        out = np.zeros((len(self._open), entering.widths[player]))
        full = np.zeros((self._closings, entering.widths[player]))
        if count == 0:
            return full
        plans = entering.plans[0].astype(np.float64), entering.plans[1].astype(np.float64)
        most = int(hands.groups.max())
        reach = np.zeros(widest), np.zeros(widest)
        seen, middle = np.zeros((count, INPUTS), np.float32), np.zeros((count, most))
        held = np.zeros(count, np.bool_)
        first, end = children.start, children.stop
        masses = np.zeros((2, most))
        _see_all(hands, first, end, self._rows, plans, entering.widths, EDGES, reach, masses, seen, middle, held)
        seen[:, -self._stack.shape[1] :] = np.tile(self._stack, (len(children), 1))
        read = self._network.read(seen)
        _add_all(
            hands,
            first,
            end,
            player,
            self._rows,
            plans,
            entering.widths,
            EDGES,
            self._pots,
            self._deal,
            read,
            middle,
            held,
            reach,
            (np.zeros(widest), np.zeros(widest)),
            (np.zeros(widest), np.zeros(widest)),
            np.zeros(most),
            np.zeros(self._cards),
            out,
        )
        full[self._open] = out
        return full
