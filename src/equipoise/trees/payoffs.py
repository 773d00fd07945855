"""What a player stands to win by each of its sequences, given the opponent's plan: the linear map of the sequence form.

``gradient[s]`` is the sum over the terminal histories whose last own sequence is s of payoff x chance x opponent's
plan. It comes in two forms, and a game uses one of them:

*Sparse*: one number per pair of sequences that end together (compressed rows). The generic engine.

*Operators*: whole vectors of private hands at once. Each entry is a terminal public node: a small dense matrix (payoff
x deal probability, per group of board cards) from the opponent's vector of hands to the player's own. The vector
engine.

In a game of several subgames a terminal may lead to another subgame, whose value is known by then: its payoff is
``scale * matrix + shift * deal probability``, see :func:`continuation`.
"""

from typing import NamedTuple

import numpy as np

from equipoise.compiled import inlined
from equipoise.trees.treeplex import Float, Int32, Int64, UInt32, UInt64

IDENTITY = -1  # a map of hands that maps each to itself


class Payoffs(NamedTuple):
    """The payoffs to one player, as arrays that kernels can take. Unused forms have empty arrays."""

    # sparse form: rows are the player's sequences
    row_start: Int64
    column: UInt32  # index arrays are unsigned, so that kernels need not ask whether an index is negative
    value: Float
    # operator form: rows are vectors of the player's sequences (one action of one block, or a subgame's start)
    vector_offset: UInt64  # [rows] first sequence
    vector_width: UInt64  # [rows]
    vector_start: Int64  # [rows + 1] first entry
    vector_subgame: Int32  # [rows]
    entry_matrix: Int32
    entry_scale: Float
    entry_opponent: UInt64  # the opponent's first sequence
    entry_opponent_map: Int32  # from hands at the terminal to hands at the opponent's sequence
    entry_own_map: Int32
    matrix_start: UInt64
    matrix_groups: UInt64
    matrix_opponent: UInt64  # hands per group
    matrix_own: UInt64
    matrices: Float  # [groups, opponent's hands, own hands] each, flat
    map_start: UInt64
    maps: UInt64
    # both forms: rows in chunks of similar work, chunks by subgame
    chunk_start: Int64
    subgame_chunk: Int64
    deal_matrix: Int32  # [subgames] the matrix of deal probabilities; used only when a continuation shifts payoffs
    continuation: Int32  # [subgames, 2] the subgame after the player has won or lost this one, -1: the game is over


def sparse_payoffs(row_start: Int64, column: UInt32, value: Float, chunk_start: Int64) -> Payoffs:
    """Return the sparse form from compressed rows."""
    nothing32, nothing64, unsigned = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint64)
    return Payoffs(
        row_start=row_start,
        column=column,
        value=value,
        vector_offset=unsigned,
        vector_width=unsigned,
        vector_start=nothing64,
        vector_subgame=nothing32,
        entry_matrix=nothing32,
        entry_scale=np.zeros(0),
        entry_opponent=unsigned,
        entry_opponent_map=nothing32,
        entry_own_map=nothing32,
        matrix_start=unsigned,
        matrix_groups=unsigned,
        matrix_opponent=unsigned,
        matrix_own=unsigned,
        matrices=np.zeros(0),
        map_start=unsigned,
        maps=unsigned,
        chunk_start=chunk_start,
        subgame_chunk=np.array([0, len(chunk_start) - 1]),
        deal_matrix=np.full(1, -1, np.int32),
        continuation=np.full((1, 2), -1, np.int32),
    )


def balanced_chunks(work: Int64, size: int) -> Int64:
    """Return boundaries that cut rows of the given ``work`` into chunks of about ``size`` each."""
    total = np.concatenate([[0], np.cumsum(work)])
    targets = np.arange(0, total[-1], size)
    cuts = np.searchsorted(total, targets, side="left")
    return np.unique(np.concatenate([cuts, [len(work)]])).astype(np.int64)


@inlined
def continuation(payoffs: Payoffs, subgame: int, values: Float) -> tuple[float, float]:
    """Return (scale, shift) of a subgame's payoffs: what winning and losing it are worth to the player afterwards."""
    won, lost = payoffs.continuation[subgame, 0], payoffs.continuation[subgame, 1]
    after_win = values[won] if won >= 0 else 1.0
    after_loss = values[lost] if lost >= 0 else -1.0
    return 0.5 * (after_win - after_loss), 0.5 * (after_win + after_loss)


@inlined
def _add_operator(
    payoffs: Payoffs, entry: int, matrix: int, scale: float, row_offset: int, opponent_plan: Float, gradient: Float
) -> None:
    """Add ``scale * matrix @ opponent's plan`` to the row's part of the gradient."""
    theirs = payoffs.entry_opponent[entry]
    their_map, own_map = payoffs.entry_opponent_map[entry], payoffs.entry_own_map[entry]
    their_hands, own_hands = payoffs.matrix_opponent[matrix], payoffs.matrix_own[matrix]
    position = payoffs.matrix_start[matrix]
    hand = theirs  # the opponent's current hand, as a sequence
    own = row_offset  # the first own hand of the current group, as a sequence
    for group in range(payoffs.matrix_groups[matrix]):
        for their_hand in range(their_hands):
            if their_map != IDENTITY:
                hand = theirs + payoffs.maps[payoffs.map_start[their_map] + group * their_hands + their_hand]
            reach = scale * opponent_plan[hand]
            if own_map != IDENTITY:
                entries = payoffs.map_start[own_map] + group * own_hands
                for h in range(own_hands):
                    gradient[row_offset + payoffs.maps[entries + h]] += payoffs.matrices[position + h] * reach
            else:
                for h in range(own_hands):
                    gradient[own + h] += payoffs.matrices[position + h] * reach
            position += own_hands
            hand += np.uint64(1)
        own += own_hands


@inlined
def gradient_chunk(
    payoffs: Payoffs, chunk: int, scale: float, shift: float, opponent_plan: Float, gradient: Float
) -> None:
    """Write one chunk of rows of the gradient."""
    first, last = payoffs.chunk_start[chunk], payoffs.chunk_start[chunk + 1]
    if payoffs.vector_offset.size == 0:
        for row in range(first, last):
            total = 0.0
            for k in range(payoffs.row_start[row], payoffs.row_start[row + 1]):
                total += payoffs.value[k] * opponent_plan[payoffs.column[k]]
            gradient[row] = total
    else:
        for row in range(first, last):
            offset = payoffs.vector_offset[row]
            for j in range(payoffs.vector_width[row]):
                gradient[offset + j] = 0.0
            for entry in range(payoffs.vector_start[row], payoffs.vector_start[row + 1]):
                _add_operator(
                    payoffs,
                    entry,
                    payoffs.entry_matrix[entry],
                    scale * payoffs.entry_scale[entry],
                    offset,
                    opponent_plan,
                    gradient,
                )
                if shift != 0.0:
                    deal = payoffs.deal_matrix[payoffs.vector_subgame[row]]
                    _add_operator(payoffs, entry, deal, shift, offset, opponent_plan, gradient)
