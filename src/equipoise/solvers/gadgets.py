"""Gadgets stand before a part of a game that is re-solved, and say with what reach the *opponent* enters, hand by hand:

- ``unsafe``: with a range that is given;
- ``cfrd`` (CFR-D; Burch, Johanson and Bowling 2014): each hand may take a value that is given, or enter;
- ``maxmargin`` (Moravcik et al. 2016): the opponent chooses the hand with which it enters, and each hand pays its value
  for that. So what the hand that gains most can gain is made as small as possible. Gains are means, not counterfactual.
"""

from typing import Literal, NamedTuple

import numpy as np

from equipoise.compiled import inlined, uncounted
from equipoise.regret.blocks import add_regrets
from equipoise.regret.matching import UNIFORM, match_block
from equipoise.trees.treeplex import Float

Gadget = Literal["unsafe", "cfrd", "maxmargin"]
GADGETS: tuple[Gadget, ...] = ("unsafe", "cfrd", "maxmargin")
_NONE, _CFRD, _MAXMARGIN = 0, 1, 2
MODES: dict[Gadget, int] = {"unsafe": _NONE, "cfrd": _CFRD, "maxmargin": _MAXMARGIN}


class Entrance(NamedTuple):
    """What a gadget before one root keeps. The last two are given."""

    strategy: Float  # [2 x hands]: take the value, enter; of maxmargin [hands]: which enters
    regret: Float
    worth: Float
    value: Float  # [hands] scratch
    totals: Float  # [hands] scratch
    given: Float  # [hands] the opponent's values
    mass: Float  # [hands] chance x own reach: what counterfactual values of the opponent are over means


def make_entrance(hands: int) -> Entrance:
    """Return room for a gadget."""
    return Entrance(*(np.zeros(size * hands) for size in (2, 2, 2, 1, 1, 1, 1)))


def begin(gadget: Gadget, hands: int, at: Entrance, reach: Float) -> None:
    """Write how a gadget begins, and with what reach the opponent enters by it; ``unsafe`` leaves that as it is."""
    if gadget == "cfrd":
        at.strategy[: 2 * hands] = 0.5
        reach[:hands] = 0.5
    elif gadget == "maxmargin" and hands > 0:
        at.strategy[:hands] = 1.0 / hands
        mass = at.mass[:hands]
        reach[:hands] = np.where(mass > 0.0, 1.0 / hands / np.where(mass > 0.0, mass, 1.0), 0.0)


@inlined
def enter_by_gadget(mode: int, hands: int, rule: Float, values: Float, at: Entrance, reach: Float) -> None:
    """Update a gadget by what entering was worth to the opponent's hands, and write with what reach it enters next."""
    if mode == _CFRD:
        for j in range(hands):
            at.worth[j], at.worth[hands + j] = at.given[j], values[j]
        add_regrets(2, hands, rule, at.worth, at.strategy, at.regret, at.value)
        match_block(at.strategy, 0, 2, hands, at.totals, UNIFORM)
        for j in range(hands):
            reach[j] = at.strategy[hands + j]
    elif mode == _MAXMARGIN:
        least = 0.0
        for j in range(hands):
            if at.mass[j] > 0.0:
                at.worth[j] = (values[j] - at.given[j]) / at.mass[j]
                least = min(least, at.worth[j])
        for j in range(hands):
            if not at.mass[j] > 0.0:
                at.worth[j] = least  # a hand that cannot be held: never better, and no weight on what others regret
        add_regrets(hands, 1, rule, at.worth, at.strategy, at.regret, at.value)
        match_block(at.strategy, 0, hands, 1, at.totals, UNIFORM)
        for j in range(hands):
            reach[j] = at.strategy[j] / at.mass[j] if at.mass[j] > 0.0 else 0.0


@uncounted
def enter_next(mode: int, hands: int, rule: Float, values: Float, at: Entrance, reach: Float) -> None:
    """Do the same as a call of its own."""
    enter_by_gadget(mode, hands, rule, values, at, reach)
