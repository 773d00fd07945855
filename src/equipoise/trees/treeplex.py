"""A player's side of a game as a treeplex: the infosets in order, and for each the sequence that leads to it.

A *sequence* is an infoset with one of its actions; a *plan* holds, for each sequence, the product of the player's own
probabilities along it (a realisation plan). Infosets with equally many actions at the same depth are laid out as one
*block*, action-major, so that kernels run along contiguous memory::

    sequence of (infoset j of block b, action a) = block_offset[b] + a * block_width[b] + j

Regret, strategy, plan and strategy sum are flat arrays in this order. A level holds the blocks at one depth: a parent's
level always comes before its children's, so a forward loop over levels pushes reach down and a backward loop pulls
values up. Games of several rounds that forget each other (Bluff) are several *subgames*, each after all that it can
lead to; sequence k is the start of subgame k, with plan 1.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, uncounted

Float = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]

BLOCK_WIDTH_LIMIT = 2048  # infosets; wider blocks are split, so that threads can share a level


class Treeplex(NamedTuple):
    """One player's treeplex, as arrays that kernels can take."""

    block_offset: Int64  # [blocks] first sequence
    block_actions: Int32  # [blocks]
    block_width: Int32  # [blocks] infosets
    block_infoset: Int64  # [blocks] first infoset
    parent_sequence: UInt32  # [infosets]; unsigned, so that kernels need not ask whether an index is negative
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


class BlockLayout(NamedTuple):
    """Where the blocks of a treeplex lie."""

    offset: Int64
    actions: Int32
    width: Int32
    infoset: Int64
    level_start: Int64
    subgame_level: Int64

    @property
    def num_sequences(self) -> int:
        """Return the number of sequences."""
        return len(self.subgame_level) - 1 + int((self.actions.astype(np.int64) * self.width).sum())

    def treeplex(self, parent_sequence: UInt32) -> Treeplex:
        """Return the treeplex with these blocks."""
        sizes = np.array([self.num_sequences, len(parent_sequence)], np.int64)
        return Treeplex(
            self.offset,
            self.actions,
            self.width,
            self.infoset,
            parent_sequence,
            self.level_start,
            self.subgame_level,
            sizes,
        )


def lay_out(*, subgame: Int64, depth: Int64, actions: Int64, width: Int64, num_subgames: int) -> BlockLayout:
    """Join groups of infosets to blocks. Groups are sorted by (subgame, depth, actions), ``width`` infosets each.

    A group is never cut: in the vector engine it holds the hands at one public node.
    """
    if len(actions) == 0:
        nothing, zeros = np.zeros(0, np.int64), np.zeros(num_subgames + 1, np.int64)
        small = nothing.astype(np.int32)
        return BlockLayout(nothing, small, small, nothing, np.zeros(1, np.int64), zeros)
    first_infoset = np.cumsum(width) - width
    new_kind = np.any(np.diff(np.stack([subgame, depth, actions]), axis=1) != 0, axis=0)
    kind = np.concatenate([[0], np.cumsum(new_kind)])
    kind_start = first_infoset[np.searchsorted(kind, kind)]
    part = (first_infoset - kind_start) // BLOCK_WIDTH_LIMIT
    starts = np.concatenate([[0], np.flatnonzero(new_kind | (np.diff(part) != 0)) + 1])
    block_width = np.add.reduceat(width, starts)
    block_actions = actions[starts]
    ends = num_subgames + np.cumsum(block_actions * block_width)
    block_subgame, block_depth = subgame[starts], depth[starts]
    new_level = (np.diff(block_subgame) != 0) | (np.diff(block_depth) != 0)
    level_start = np.concatenate([[0], np.flatnonzero(new_level) + 1, [len(starts)]]).astype(np.int64)
    return BlockLayout(
        offset=(ends - block_actions * block_width).astype(np.int64),
        actions=block_actions.astype(np.int32),
        width=block_width.astype(np.int32),
        infoset=first_infoset[starts].astype(np.int64),
        level_start=level_start,
        subgame_level=np.searchsorted(block_subgame[level_start[:-1]], np.arange(num_subgames + 1)).astype(np.int64),
    )


@inlined
def plan_block(block: int, plex: Treeplex, strategy: Float, plan: Float) -> None:
    """Write a block's part of the plan: the parent sequence's entry times the strategy's probability."""
    width, infoset = plex.block_width[block], plex.block_infoset[block]
    parents = plex.parent_sequence[infoset : infoset + width]
    for action in range(plex.block_actions[block]):
        start = plex.block_offset[block] + action * width
        own_plan, probabilities = plan[start : start + width], strategy[start : start + width]
        for j in range(width):
            own_plan[j] = plan[parents[j]] * probabilities[j]


@uncounted
def write_plan(plex: Treeplex, strategy: Float, plan: Float) -> None:
    """Turn a strategy (probabilities per infoset) into a plan (products along each sequence)."""
    for subgame in range(plex.subgame_level.size - 1):
        plan[subgame] = 1.0
    for block in range(plex.block_offset.size):
        plan_block(block, plex, strategy, plan)


def normalised(plex: Treeplex, weights: Float) -> Float:
    """Return the strategy proportional to ``weights`` in each infoset; uniform where an infoset has no weight."""
    strategy = np.ones_like(weights)
    _normalise(plex, weights, strategy)
    return strategy


@uncounted
def _normalise(plex: Treeplex, weights: Float, strategy: Float) -> None:
    """Write the entries of all infosets: see :func:`normalised`."""
    for block in range(plex.block_offset.size):
        offset, actions, width = plex.block_offset[block], plex.block_actions[block], plex.block_width[block]
        for j in range(width):
            total = 0.0
            for action in range(actions):
                total += weights[offset + action * width + j]
            for action in range(actions):
                k = offset + action * width + j
                strategy[k] = weights[k] / total if total > 0.0 else 1.0 / actions
