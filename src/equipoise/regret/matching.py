"""Regret matching (Hart and Mas-Colell 2000), in the only copy there is: for blocks of infosets and for single ones.

A strategy proportional to positive regret. What to play where no regret is positive is a named choice: UNIFORM as in
tabular CFR, or BEST, the action with the highest regret, as Deep CFR does (Brown et al. 2019, section 5.1).
"""

import numpy as np

from equipoise.compiled import inlined
from equipoise.trees.treeplex import Float

UNIFORM = 0
BEST = 1
SAFE_TO_INVERT = 1e-290  # one over a smaller number may overflow


@inlined
def _share(score: float, total: float, uniform: float) -> float:
    """Return an action's probability, given the sum of the positive scores."""
    # A division: one over a tiny total would overflow.
    return max(score, 0.0) / total if total > 0.0 else uniform


@inlined
def match_block(scores: Float, offset: int, actions: int, width: int, totals: Float, fallback: int) -> None:
    """Turn a block of regrets into probabilities, in place. ``totals`` is scratch space of the block's width."""
    for j in range(width):
        totals[j] = 0.0
    for action in range(actions):
        start = offset + action * width
        block = scores[start : start + width]
        for j in range(width):
            totals[j] += max(block[j], 0.0)
    if fallback == BEST:
        for j in range(width):
            if totals[j] <= 0.0:
                best = offset + j
                for action in range(actions):
                    if scores[offset + action * width + j] > scores[best]:
                        best = offset + action * width + j
                for action in range(actions):
                    scores[offset + action * width + j] = 0.0
                scores[best] = totals[j] = 1.0
    uniform = 1.0 / actions
    for action in range(actions):
        start = offset + action * width
        block = scores[start : start + width]
        for j in range(width):
            block[j] = _share(block[j], totals[j], uniform)


@inlined
def match_infoset(
    scores: Float, first: np.uint64, actions: np.uint64, fallback: int, strategy: Float, start: np.uint64
) -> None:
    """Write the probabilities of one infoset, whose scores lie together, to ``strategy[start:start + actions]``."""
    total = 0.0
    for action in range(actions):
        score = scores[first + action]
        strategy[start + action] = score
        total += max(score, 0.0)
    if fallback == BEST and total <= 0.0:
        best = start
        for action in range(actions):
            if strategy[start + action] > strategy[best]:
                best = start + action
        for action in range(actions):
            strategy[start + action] = 0.0
        strategy[best] = total = 1.0
    if total > SAFE_TO_INVERT:  # the same, with one division instead of one per action
        over_total = 1.0 / total
        for action in range(actions):
            strategy[start + action] = max(strategy[start + action], 0.0) * over_total
    else:
        uniform = 1.0 / actions
        for action in range(actions):
            strategy[start + action] = _share(strategy[start + action], total, uniform)
