"""Regret matching (Hart and Mas-Colell 2000), in the only copy there is: for blocks, single infosets, tables
and rows.

A strategy proportional to positive regret. What to play where no regret is positive is a named choice: UNIFORM as in
tabular CFR, or BEST, the action with the highest regret, as Deep CFR does (Brown et al. 2019, section 5.1).
"""

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, kernel
from equipoise.trees.treeplex import Float, Int64

UNIFORM = 0
BEST = 1
SAFE_TO_INVERT = 1e-290  # one over a smaller number may overflow


@inlined
def _share(score: float, total: float, uniform: float) -> float:
    """Return an action's probability, given its positive part and the sum of all positive parts."""
    # A division: one over a tiny total would overflow.
    return score / total if total > 0.0 else uniform


@inlined
def match_block(scores: Float, offset: int, actions: int, width: int, totals: Float, fallback: int) -> None:
    """Turn a block of regrets into probabilities, in place. ``totals`` is scratch space of the block's width."""
    # In the precision of the scores: a plain 0.0 is a double, and would take the loops with it.
    zero, uniform = scores.dtype.type(0.0), scores.dtype.type(1.0 / actions)
    for j in range(width):
        totals[j] = zero
    for action in range(actions):
        start = offset + action * width
        block = scores[start : start + width]
        for j in range(width):
            totals[j] += max(block[j], zero)
    if fallback == BEST:
        for j in range(width):
            if totals[j] <= zero:
                best = offset + j
                for action in range(actions):
                    if scores[offset + action * width + j] > scores[best]:
                        best = offset + action * width + j
                for action in range(actions):
                    scores[offset + action * width + j] = 0.0
                scores[best] = totals[j] = 1.0
    for action in range(actions):
        start = offset + action * width
        block = scores[start : start + width]
        for j in range(width):
            block[j] = _share(max(block[j], zero), totals[j], uniform)


@inlined
def positive_parts(
    scores: Float, first: np.uint64, actions: np.uint64, fallback: int, strategy: Float, start: np.uint64
) -> float:
    """Write numbers proportional to the probabilities of one infoset, whose scores lie together, and return their sum.

    A choice can be made from these at once; the division that makes them probabilities then delays nothing.
    """
    total = 0.0
    for action in range(actions):
        positive = max(scores[first + action], 0.0)
        strategy[start + action] = positive
        total += positive
    if total > SAFE_TO_INVERT:
        return total
    if total > 0.0:
        for action in range(actions):
            strategy[start + action] = strategy[start + action] / total
        return 1.0
    if fallback == BEST:
        best = np.uint64(0)
        for action in range(actions):
            if scores[first + action] > scores[first + best]:
                best = np.uint64(action)
        strategy[start + best] = 1.0
        return 1.0
    for action in range(actions):
        strategy[start + action] = 1.0
    return float(actions)


@inlined
def normalise(strategy: Float, start: np.uint64, actions: np.uint64, total: float) -> None:
    """Turn positive parts into probabilities, with one division."""
    over_total = 1.0 / total
    for action in range(actions):
        strategy[start + action] *= over_total


@inlined
def match_infoset(
    scores: Float, first: np.uint64, actions: np.uint64, fallback: int, strategy: Float, start: np.uint64
) -> None:
    """Write the probabilities of one infoset to ``strategy[start:start + actions]``."""
    normalise(strategy, start, actions, positive_parts(scores, first, actions, fallback, strategy, start))


@kernel
def match_table(scores: Float, first: Int64, fallback: int) -> Float:
    """Return the strategy of a whole table; infoset i has entries first[i] to first[i + 1]."""
    strategy = np.empty_like(scores)
    for infoset in range(first.size - 1):
        start = np.uint64(first[infoset])
        match_infoset(scores, start, np.uint64(first[infoset + 1]) - start, fallback, strategy, start)
    return strategy


@kernel
def match_rows(scores: npt.NDArray[np.float64], legal: npt.NDArray[np.bool_], fallback: int) -> npt.NDArray[np.float64]:
    """Return strategies by row and column; scores of illegal actions are not looked at."""
    rows, columns = scores.shape
    out = np.zeros((rows, columns))
    own, strategy = np.empty(columns), np.empty(columns)
    for row in range(rows):
        count = 0
        for column in range(columns):
            if legal[row, column]:
                own[count] = scores[row, column]
                count += 1
        match_infoset(own, np.uint64(0), np.uint64(count), fallback, strategy, np.uint64(0))
        place = 0
        for column in range(columns):
            if legal[row, column]:
                out[row, column] = strategy[place]
                place += 1
    return out
