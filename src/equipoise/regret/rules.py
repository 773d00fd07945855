"""The update rules: all that CFR, CFR+, Linear CFR, Discounted CFR and Predictive CFR+ differ in.

One formula (:func:`updated`) with coefficients that depend on the iteration t = 1, 2, ...:

    new regret   = max(floor, keep * old regret + weight * increment),   keep by the sign of the old regret
    strategy     = regret matching on (new regret + optimism * increment)
    strategy sum = average_keep * old sum + average_weight * plan
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from equipoise.compiled import inlined
from equipoise.settings import Number, knob
from equipoise.trees.treeplex import Float

NO_FLOOR = -math.inf


Numbers = float | Float


class Coefficients(NamedTuple):
    """The numbers of one iteration's update, or arrays of them for several iterations."""

    keep_positive: Numbers = 1.0
    keep_negative: Numbers = 1.0
    weight: Numbers = 1.0
    floor: Numbers = NO_FLOOR
    optimism: Numbers = 0.0
    average_keep: Numbers = 1.0
    average_weight: Numbers = 1.0


class Rule(Protocol):
    """An update rule: a pure function from the iteration (1, 2, ...) to the update's coefficients."""

    paper: ClassVar[str]

    def at(self, iteration: Numbers) -> Coefficients:
        """Return the coefficients of an iteration, or of an array of iterations."""


def coefficient_table(rule: Rule, first_iteration: int, count: int) -> Float:
    """Return one row of coefficients per iteration, for kernels."""
    iterations = np.arange(first_iteration, first_iteration + count, dtype=np.float64)
    columns = [np.broadcast_to(np.asarray(column), iterations.shape) for column in rule.at(iterations)]
    return np.ascontiguousarray(np.stack(columns, axis=1))


@inlined
def updated(
    old: float, increment: float, keep_positive: float, keep_negative: float, weight: float, floor: float
) -> float:
    """Return the regret after an increment."""
    keep = keep_positive if old > 0.0 else keep_negative
    return max(keep * old + weight * increment, floor)


@dataclass(frozen=True, kw_only=True)
class CFR:
    """Counterfactual regret minimisation: regrets are summed, strategies averaged uniformly."""

    paper: ClassVar[str] = "Zinkevich et al. 2007"

    def at(self, iteration: Numbers) -> Coefficients:
        return Coefficients()


@dataclass(frozen=True, kw_only=True)
class CFRPlus:
    """CFR+: regrets never fall below zero, and iteration t counts t^power times in the average."""

    paper: ClassVar[str] = "Tammelin 2014"
    power: float = knob(1.0, Number(low=0.0, high=20.0), "iteration t counts t to this power in the average")

    def at(self, iteration: Numbers) -> Coefficients:
        return Coefficients(floor=0.0, average_weight=iteration**self.power)


@dataclass(frozen=True, kw_only=True)
class LinearCFR:
    """Linear CFR: iteration t counts t times, in regret and in the average."""

    paper: ClassVar[str] = "Brown and Sandholm 2019"

    def at(self, iteration: Numbers) -> Coefficients:
        return Coefficients(weight=iteration, average_weight=iteration)


@dataclass(frozen=True, kw_only=True)
class DiscountedCFR:
    """Discounted CFR: old positive regret, old negative regret and old averages fade at rates of their own."""

    paper: ClassVar[str] = "Brown and Sandholm 2019"
    alpha: float = knob(1.5, Number(), "how old positive regrets fade: after t iterations by t^alpha / (t^alpha + 1)")
    beta: float = knob(0.0, Number(), "how old negative regrets fade: after t iterations by t^beta / (t^beta + 1)")
    gamma: float = knob(2.0, Number(low=0.0), "how old strategies fade in the average: by (t / (t + 1))^gamma")

    def at(self, iteration: Numbers) -> Coefficients:
        # The paper discounts after adding; discounting before adding what iteration t - 1 left is the same.
        past = iteration - 1
        return Coefficients(
            keep_positive=_fading(past, self.alpha),
            keep_negative=_fading(past, self.beta),
            average_keep=(past / iteration) ** self.gamma,
        )


@dataclass(frozen=True, kw_only=True)
class PredictiveCFRPlus:
    """Predictive CFR+: plays as if the last increment came once more; iteration t counts t^2 times in the average."""

    paper: ClassVar[str] = "Farina et al. 2021"

    def at(self, iteration: Numbers) -> Coefficients:
        return Coefficients(floor=0.0, optimism=1.0, average_weight=iteration**2)


def _fading(past: Numbers, exponent: float) -> Numbers:
    """Return past^e / (past^e + 1), written so that it has a value at past = 0 and for every exponent."""
    with np.errstate(divide="ignore", over="ignore"):
        faded: Numbers = 1.0 / (1.0 + np.asarray(past, np.float64) ** -exponent)
    return faded
