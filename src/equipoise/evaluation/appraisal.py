"""What infosets are worth: strategy, reach, the value of each action, a best response, and belief, in one call.

``appraiser(policy)`` takes a policy of any game and, if another is given, the opponent that it meets (else itself);
``appraiser.at("Qs|cr")`` is what is known of an infoset::

    reach   how often it is met when the two play each other: own reach x reach of chance and the opponent
    values  what each action wins if the player goes on by its strategy: a payoff of the whole game to the player
    best    the same if the player goes on by a best response; the best response is the action with the most
    belief  the posterior of what the player does not see, given the play so far

Values are exact where the game has an exact evaluator: listed games (``listed_values``), games over boards
(``board_values``) and spots (``spot_values``). Elsewhere (``sampled_values``) they are estimates from hands that are
played on from the infoset, with their standard errors. ``method`` says which.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from equipoise.errors import UnknownInfoset
from equipoise.games import Game
from equipoise.trees.treeplex import Float

Bool = npt.NDArray[np.bool_]
DIGITS = 10  # after the point, of values that are written down
MOST_BELIEVED = 20  # possibilities that are written down, the likeliest first


class Belief(NamedTuple):
    """What a player may think of what it does not see: possibilities, and how likely each is."""

    names: Sequence[str]
    probabilities: Float

    def likeliest(self, most: int | None = None) -> list[tuple[str, float]]:
        """Return possibilities by their probability, the likeliest first; those that cannot be are left out."""
        order = np.argsort(-self.probabilities, kind="stable")[:most]
        return [(self.names[k], float(self.probabilities[k])) for k in order if self.probabilities[k] > 0.0]


@dataclass(frozen=True, kw_only=True, eq=False)
class Appraisal:
    """What is known of some infosets of a player that have the same actions: in poker, the hands at a betting line."""

    player: int
    keys: Sequence[str]
    actions: tuple[str, ...]
    probabilities: Float  # [infosets, actions]
    reached: Bool  # [infosets] false where the average has no weight, and uniform play fills the gap
    own_reach: Float  # [infosets] the player's own share of the reach
    others_reach: Float  # [infosets] that of chance and the opponent
    values: Float  # [infosets, actions]; NaN where chance and the opponent never lead, and where nothing is known
    best_values: Float  # [infosets, actions]; NaN there too, and where no best response can be found
    errors: Float | None  # [infosets, actions] standard errors of values that are estimates
    believe: Callable[[int], Belief]  # by place among the infosets
    paid: float  # poker: what the player has put in; payoff + paid counts from here on, where a fold is worth 0
    method: str
    equity: Float | None = None  # [infosets] poker: the share of the pot if nobody bet any more, where it is known

    @property
    def reach(self) -> Float:
        """Return how often each infoset is met."""
        return self.own_reach * self.others_reach

    def place(self, key: str) -> int:
        """Return where an infoset is among these."""
        if key not in self.keys:
            raise UnknownInfoset(f"there is no infoset '{key}' here")
        return self.keys.index(key)

    def infoset(self, place: int) -> "InfosetValues":
        """Return what is known of one infoset."""
        return InfosetValues(
            key=self.keys[place],
            player=self.player,
            actions=self.actions,
            probabilities=self.probabilities[place],
            reached=bool(self.reached[place]),
            own_reach=float(self.own_reach[place]),
            reach=float(self.reach[place]),
            values=self.values[place],
            best_values=self.best_values[place],
            errors=None if self.errors is None else self.errors[place],
            believe=lambda: self.believe(place),
            paid=self.paid,
            method=self.method,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class InfosetValues:
    """What is known of an infoset; every number is the acting player's."""

    key: str
    player: int
    actions: tuple[str, ...]
    probabilities: Float  # [actions]
    reached: bool
    own_reach: float
    reach: float
    values: Float  # [actions]
    best_values: Float  # [actions]
    errors: Float | None
    believe: Callable[[], Belief]
    paid: float
    method: str

    @cached_property
    def belief(self) -> Belief:
        """Return the posterior of what the player does not see."""
        return self.believe()

    @property
    def value(self) -> float:
        """Return what the infoset is worth to a player who follows the strategy from here on."""
        return float(np.where(self.probabilities > 0.0, self.probabilities * self.values, 0.0).sum())

    @property
    def best_action(self) -> str | None:
        """Return what a best response does; the first of equally good actions; None where it is not known."""
        if np.isnan(self.best_values).any():
            return None
        best = self.best_values.max()
        return self.actions[int(np.flatnonzero(self.best_values >= best - 1e-12 * max(1.0, abs(best)))[0])]

    @property
    def best_value(self) -> float:
        """Return what a best response wins from here on; NaN where it is not known."""
        return float(self.best_values.max())

    def cost(self, action: int) -> float:
        """Return what an action loses against the strategy: the value of going on by it, less that of the action."""
        return self.value - float(self.values[action])

    def to_json(self, believed: int = MOST_BELIEVED) -> dict[str, Any]:
        """Return all of it by names; numbers that nobody knows are null, and poker's values count from here on."""
        return {
            "infoset": self.key,
            "player": self.player,
            "strategy": dict(zip(self.actions, self.probabilities.tolist(), strict=True)),
            "reached": self.reached,
            "own_reach": self.own_reach,
            "reach": self.reach,
            "values": self._named(self.values + self.paid),
            "value": known(self.value + self.paid),
            **({} if self.errors is None else {"standard_errors": self._named(self.errors)}),
            "best_response": {
                "action": self.best_action,
                "value": known(self.best_value + self.paid),
                "values": self._named(self.best_values + self.paid),
            },
            "belief": [
                {"what": name, "probability": probability} for name, probability in self.belief.likeliest(believed)
            ],
            "believed_possible": int((self.belief.probabilities > 0.0).sum()),
            "method": self.method,
        }

    def _named(self, numbers: Float) -> dict[str, float | None]:
        return {action: known(float(number)) for action, number in zip(self.actions, numbers, strict=True)}


def known(number: float) -> float | None:
    """Return a number as it is written for others: None for NaN, which JSON does not have, and no dust of rounding."""
    return None if np.isnan(number) else round(number, DIGITS) + 0.0  # not -0.0


def means_over(appraisal: Appraisal, places: Sequence[int]) -> dict[str, Any]:
    """Return means over some infosets, each as often as it is met; plain means where none is ever met."""
    some = list(places)
    played, own = appraisal.reach[some], appraisal.own_reach[some]
    weights = played if played.sum() > 0.0 else own if own.sum() > 0.0 else np.ones(len(some))
    values, best = appraisal.values[some] + appraisal.paid, appraisal.best_values[some] + appraisal.paid
    probabilities = appraisal.probabilities[some]
    own_values = np.where(probabilities > 0.0, probabilities * values, 0.0).sum(axis=1)

    def mean(numbers: Float) -> float | None:
        found = ~np.isnan(numbers) & (weights > 0.0)
        return known(float(weights[found] @ numbers[found] / weights[found].sum())) if found.any() else None

    return {
        "strategy": _by_action(appraisal.actions, (weights @ probabilities / weights.sum()).tolist()),
        "reach": float(played.sum()),
        "own_reach": float(own.mean()),
        "values": _by_action(appraisal.actions, [mean(values[:, k]) for k in range(len(appraisal.actions))]),
        "value": mean(own_values),
        "best_value": mean(best.max(axis=1)),
    }


def _by_action(actions: Sequence[str], numbers: Sequence[Any]) -> Mapping[str, Any]:
    return dict(zip(actions, numbers, strict=True))


@runtime_checkable
class Appraiser(Protocol):
    """Says what infosets of a game are worth to a strategy that meets an opponent."""

    @property
    def game(self) -> Game:
        """Return the game."""

    @property
    def method(self) -> str:
        """Return how values are found."""

    @property
    def exact(self) -> bool:
        """Return whether values are exact."""

    def at(self, key: str) -> InfosetValues:
        """Return what is known of an infoset, by its key."""

    def start_value(self, player: int) -> float:
        """Return what the strategy wins from a player's seat, before anything has happened; NaN: not known."""


@runtime_checkable
class LineAppraiser(Appraiser, Protocol):
    """An appraiser of poker: it also knows all hands at a betting line."""

    def line(self, betting: str, board: str = "") -> Appraisal:
        """Return what is known of all hands that the acting player may hold."""

    def ranges(self, betting: str, board: str = "") -> tuple[Float, Float]:
        """Return both players' own reach of a line, for each of ``game.hands``; 0 where the board has a card."""
