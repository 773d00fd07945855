"""A player's side of a game as a treeplex: the infosets in order, and for each the sequence that leads to it.

A *sequence* is an infoset with one of its actions; a *plan* holds, for each sequence, the product of the player's own
probabilities along it (a realisation plan). Infosets with equally many actions at the same depth are laid out as one
*block*, action-major, so that kernels run along contiguous memory::

    sequence of (infoset j of block b, action a) = block_offset[b] + a * block_width[b] + j

Regret, strategy, plan and strategy sum are flat arrays in this order. A level holds the blocks at one depth: a parent's
level always comes before its children's, so a forward loop over levels pushes reach down and a backward loop pulls
values up. Games of several rounds that forget each other (Bluff) are several *subgames*, each after all that it can lead
to; sequence k is the start of subgame k, with plan 1.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, kernel

Float = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

BLOCK_WIDTH_LIMIT = 2048  # infosets; wider blocks are split, so that threads can share a level


class Treeplex(NamedTuple):
    """One player's treeplex, as arrays that kernels can take."""

    block_offset: Int64  # [blocks] first sequence
    block_actions: Int32  # [blocks]
    block_width: Int32  # [blocks] infosets
    block_infoset: Int64  # [blocks] first infoset
    parent_sequence: Int32  # [infosets]
    level_start: Int64  # [levels + 1] first block
    subgame_level: Int64  # [subgames + 1] first level
    sizes: Int64  # [2] number of sequences, number of infosets

    @property
    def num_sequences(self) -> int:
        """Return the number of sequences, subgame starts included."""
        return int(self.sizes[0])

    @property
    def num_infosets(self) -> int:
        """Return the number of infosets."""
        return int(self.sizes[1])

    @property
    def num_subgames(self) -> int:
        """Return the number of subgames: one, unless rounds of the game forget each other."""
        return len(self.subgame_level) - 1

    def first_sequences(self) -> Int64:
        """Return the sequence of each infoset's first action; the next action is :meth:`strides` further."""
        within = np.arange(self.num_infosets) - np.repeat(self.block_infoset, self.block_width)
        return np.repeat(self.block_offset, self.block_width) + within

    def strides(self) -> Int64:
        """Return the distance between the sequences of neighbouring actions, per infoset."""
        return np.repeat(self.block_width, self.block_width).astype(np.int64)

    def num_actions(self) -> Int64:
        """Return the number of actions, per infoset."""
        return np.repeat(self.block_actions, self.block_width).astype(np.int64)

    def sequence_table(self) -> tuple[Int64, Int64]:
        """Return the sequences infoset by infoset, action by action, and where each infoset's begin (one more)."""
        actions = self.num_actions()
        first_action = np.concatenate([[0], np.cumsum(actions)])
        action = np.arange(first_action[-1]) - np.repeat(first_action[:-1], actions)
        sequences = np.repeat(self.first_sequences(), actions) + action * np.repeat(self.strides(), actions)
        return sequences, first_action

    def uniform_strategy(self) -> Float:
        """Return the strategy that plays every action with the same probability."""
        strategy = np.ones(self.num_sequences)
        strategy[self.num_subgames :] = np.repeat(1.0 / self.block_actions, self.block_actions * self.block_width)
        return strategy


def lay_out(
    *, subgame: Int64, level: Int64, actions: Int32, width: Int32, num_subgames: int
) -> tuple[Int64, Int64, Int64, Int64]:
    """Return block offsets, first infosets, level starts and subgame levels for blocks sorted by (subgame, level)."""
    num_blocks = len(actions)
    ends = num_subgames + np.cumsum(actions.astype(np.int64) * width)
    offset = np.concatenate([[num_subgames], ends[:-1]]).astype(np.int64)
    infoset = np.concatenate([[0], np.cumsum(width[:-1], dtype=np.int64)]).astype(np.int64)
    changes = np.flatnonzero((np.diff(subgame) != 0) | (np.diff(level) != 0)) + 1
    level_start = np.concatenate([[0], changes, [num_blocks]]).astype(np.int64)
    subgame_of_level = subgame[level_start[:-1]]
    subgame_level = np.searchsorted(subgame_of_level, np.arange(num_subgames + 1)).astype(np.int64)
    return offset[:num_blocks], infoset[:num_blocks], level_start, subgame_level


@inlined
def plan_block(
    block: int,
    block_offset: Int64,
    block_actions: Int32,
    block_width: Int32,
    block_infoset: Int64,
    parent_sequence: Int32,
    strategy: Float,
    plan: Float,
) -> None:
    """Write a block's part of the plan: the parent sequence's entry times the strategy's probability."""
    offset, width, infoset = block_offset[block], block_width[block], block_infoset[block]
    for action in range(block_actions[block]):
        start = offset + action * width
        for j in range(width):
            plan[start + j] = plan[parent_sequence[infoset + j]] * strategy[start + j]


@kernel
def write_plan(plex: Treeplex, strategy: Float, plan: Float) -> None:
    """Turn a strategy (probabilities per infoset) into a plan (products along each sequence)."""
    plan[: plex.subgame_level.size - 1] = 1.0
    for block in range(plex.block_offset.size):
        plan_block(
            block,
            plex.block_offset,
            plex.block_actions,
            plex.block_width,
            plex.block_infoset,
            plex.parent_sequence,
            strategy,
            plan,
        )


@kernel
def normalised(plex: Treeplex, weights: Float) -> Float:
    """Return the strategy proportional to ``weights`` in each infoset; uniform where an infoset has no weight."""
    strategy = np.ones_like(weights)
    for block in range(plex.block_offset.size):
        offset, actions, width = plex.block_offset[block], plex.block_actions[block], plex.block_width[block]
        for j in range(width):
            total = 0.0
            for action in range(actions):
                total += weights[offset + action * width + j]
            for action in range(actions):
                k = offset + action * width + j
                strategy[k] = weights[k] / total if total > 0.0 else 1.0 / actions
    return strategy
