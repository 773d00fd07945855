"""Regret matching (Hart and Mas-Colell 2000), in the only copy there is.

A strategy proportional to positive regret. What to play where no regret is positive is a named choice: UNIFORM as in
tabular CFR, or BEST, the action with the highest regret, as Deep CFR does (Brown et al. 2019, section 5.1).
"""

from equipoise.compiled import inlined
from equipoise.trees.treeplex import Float

UNIFORM = 0
BEST = 1


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
                best = 0
                for action in range(1, actions):
                    if scores[offset + action * width + j] > scores[offset + best * width + j]:
                        best = action
                for action in range(actions):
                    scores[offset + action * width + j] = 1.0 if action == best else 0.0
                totals[j] = 1.0
    uniform = 1.0 / actions
    for action in range(actions):
        start = offset + action * width
        block = scores[start : start + width]
        for j in range(width):
            block[j] = max(block[j], 0.0) / totals[j] if totals[j] > 0.0 else uniform
