"""What the loop needs of stores, and the stores that are tables."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel
from equipoise.regret.rules import Rule, coefficient_table, updated
from equipoise.sampling.rows import Asked, Rows, ScoresAt
from equipoise.trees.codes import Grid, codes_in
from equipoise.trees.tables import Listing
from equipoise.trees.treeplex import Float, Int64
from equipoise.work import Report

State = dict[str, np.ndarray]
FloatTable = npt.NDArray[np.float64]
Diagnostics = dict[str, float]


def joined(parts: dict[str, State]) -> State:
    """Return the states of several parts as one, each name after its part's."""
    return {f"{part}.{name}": array for part, state in parts.items() for name, array in state.items()}


def kept_as(own: npt.NDArray[Any], saved: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy of a saved array that takes the place of a store's own, whose size and kind it must have."""
    if (saved.shape, saved.dtype) != (own.shape, own.dtype):
        raise ValueError(f"{saved.dtype} numbers of shape {saved.shape} instead of {own.dtype} of {own.shape}")
    return saved.copy()


def part_of(state: State, part: str) -> State:
    """Return one part of a joined state."""
    return {name[len(part) + 1 :]: array for name, array in state.items() if name.startswith(f"{part}.")}


class Store(Protocol):
    """Sums by infoset, or what stands for them."""

    def absorb(self, rows: Rows) -> None:
        """Take in some findings of a turn; what is read stays as it is until the turn is settled."""

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        """End a turn, in which these players traversed: networks are fitted here."""

    def state(self) -> State:
        """Return all that the next iterations depend on."""

    def restore(self, state: State) -> None:
        """Continue from a saved state."""

    def diagnostics(self) -> Diagnostics:
        """Return numbers about the last turn, for the log."""


class RegretStore(Store, Protocol):
    """Regrets by infoset."""

    has_sums: bool  # whether scores are sums that another solver can go on from

    @property
    def scores_at(self) -> ScoresAt:
        """Return what says regrets by infoset and column, or numbers proportional to them in each infoset.

        It is handed a player and infosets. A grid stands for all of its infosets, holding by holding; None, in a listed
        game, for all of the player's. A method may be that, where no workers elsewhere are sent it.
        """

    def start_from(self, regret_sum: Float, iteration: int) -> None:
        """Take over the regrets, by table entry, that another solver had after an iteration (DN19 Eq. 10)."""


class StrategyStore(Store, Protocol):
    """Average strategies by infoset."""

    @property
    def concluded(self) -> bool:
        """Return whether the average can be asked for as things are."""

    def conclude(self, report: Report) -> bool:
        """Do what is left to do before the average can be asked for; return whether there was anything."""

    def average(self) -> Float:
        """Return weights by table entry that are proportional to the average strategy (listed games)."""

    def mixture(self, player: int) -> "Mixture":
        """Return what is played: strategies with weights, one of them to be drawn before the game begins."""

    def start_from(self, average: Float, reach: Float, iteration: int) -> None:
        """Take over the average strategy that another solver had after an iteration, with its own reach."""


class AnswersAtOnce:
    """A store of strategies whose average can be asked for at any time."""

    concluded = True

    def conclude(self, report: Report) -> bool:
        """Do nothing, for nothing is left to do."""
        return False


StrategyAt = Callable[[Int64], FloatTable]  # infosets -> [infosets, columns] probabilities
Mixture = Sequence[tuple[float, StrategyAt]]


def on_grid(strategy_at: StrategyAt, grid: Grid) -> FloatTable:
    """Return what a strategy plays on a grid, holding by holding; one that knows no grids is asked for codes."""
    asked: StrategyAt | None = getattr(strategy_at, "on_grid", None)
    return strategy_at(grid.codes()) if asked is None else asked(grid)  # type: ignore[arg-type]


def weight_until(rule: Rule, iteration: int) -> float:
    """Return the weight of all iterations so far in the average."""
    weight = 0.0
    for row in coefficient_table(rule, 1, iteration):
        weight = row[5] * weight + row[6]
    return float(weight)


@kernel
def update_all(old: npt.NDArray[Any], increment: npt.NDArray[Any], rule: Float) -> npt.NDArray[Any]:
    """Return regrets after an increment, under a rule's coefficients."""
    new = np.empty_like(old)
    for k in range(old.size):
        new[k] = updated(old[k], increment[k], rule[0], rule[1], rule[2], rule[3])
    return new


class TableRegrets:
    """One number an entry."""

    has_sums = True

    def __init__(self, listing: Listing, rule: Rule) -> None:
        self._listing = listing
        self._rule = rule
        self._sum = np.zeros(int(listing.first[-1]))
        self._increment = np.zeros_like(self._sum)

    def scores_at(self, player: int, infosets: Asked) -> FloatTable:
        if infosets is None:
            return self._listing.spread(self._sum, player)
        return self._listing.at(self._sum, codes_in(infosets))

    def absorb(self, rows: Rows) -> None:
        self._listing.write(rows.weight[:, None] * rows.values, rows.codes, self._increment)

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        rule = coefficient_table(self._rule, iteration, 1)[0]
        for player in players:
            # Infosets that were not met have increment zero, and fade all the same under rules that make regrets fade.
            own = self._listing.entries_of(player)
            self._sum[own] = update_all(self._sum[own], self._increment[own], rule)
        self._increment[:] = 0.0

    def start_from(self, regret_sum: Float, iteration: int) -> None:
        self._sum = regret_sum.copy()

    def state(self) -> State:
        return {"sum": self._sum}

    def restore(self, state: State) -> None:
        self._sum = kept_as(self._sum, state["sum"])

    def diagnostics(self) -> Diagnostics:
        return {}


class TableStrategy(AnswersAtOnce):
    """One number an entry: the weighted sum of strategies."""

    def __init__(self, listing: Listing, rule: Rule) -> None:
        self._listing = listing
        self._rule = rule
        self._sum = np.zeros(int(listing.first[-1]))
        self._visits = np.zeros_like(self._sum)
        self._averaged: set[int] = set()

    def average(self) -> Float:
        return self._sum

    def mixture(self, player: int) -> Mixture:
        return [(1.0, lambda infosets: self._listing.at(self._sum, infosets))]

    def absorb(self, rows: Rows) -> None:
        self._averaged.add(rows.player)
        self._listing.write(rows.weight[:, None] * rows.values, rows.codes, self._visits)

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        rule = coefficient_table(self._rule, iteration, 1)[0]
        for player in self._averaged:
            own = self._listing.entries_of(player)
            self._sum[own] = rule[5] * self._sum[own] + rule[6] * self._visits[own]
        self._visits[:] = 0.0
        self._averaged.clear()

    def start_from(self, average: Float, reach: Float, iteration: int) -> None:
        self._sum = weight_until(self._rule, iteration) * reach * average

    def state(self) -> State:
        return {"sum": self._sum}

    def restore(self, state: State) -> None:
        self._sum = kept_as(self._sum, state["sum"])

    def diagnostics(self) -> Diagnostics:
        return {}
