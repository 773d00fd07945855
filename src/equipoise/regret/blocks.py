"""One step of CFR for a block: infosets with equally many actions, numbers action-major, in slices that start at 0.

The same code for all vectors of infosets, whichever tree they come from, in the precision of the arrays given.
"""

from equipoise.compiled import inlined
from equipoise.regret.rules import updated
from equipoise.trees.treeplex import Float


@inlined
def add_regrets(
    actions: int, width: int, rule: Float, action_values: Float, strategy: Float, regret_sum: Float, value: Float
) -> None:
    """Write the infosets' values, and add regrets under a rule's coefficients.

    An action's regret is its counterfactual value minus the infoset's. ``strategy`` is overwritten by the scores that
    the next strategy is proportional to.
    """
    keep_positive, keep_negative, weight, floor, optimism = rule[0], rule[1], rule[2], rule[3], rule[4]
    for j in range(width):
        value[j] = 0.0
    for action in range(actions):
        start = action * width
        worth, probability = action_values[start : start + width], strategy[start : start + width]
        for j in range(width):
            value[j] += probability[j] * worth[j]
    for action in range(actions):
        start = action * width
        worth, score = action_values[start : start + width], strategy[start : start + width]
        regret = regret_sum[start : start + width]
        for j in range(width):
            increment = worth[j] - value[j]
            regret[j] = updated(regret[j], increment, keep_positive, keep_negative, weight, floor)
            score[j] = regret[j] + optimism * increment


@inlined
def add_to_average(rule: Float, plan: Float, strategy_sum: Float) -> None:
    """Add the plan that was played to the strategy sum under a rule's coefficients."""
    keep, weight = rule[5], rule[6]
    for k in range(strategy_sum.size):
        strategy_sum[k] = keep * strategy_sum[k] + weight * plan[k]
