"""What stores absorb, and the stores that are tables."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel
from equipoise.regret.matching import match_infoset
from equipoise.regret.rules import Rule, coefficient_table, updated
from equipoise.trees.distinct import distinct
from equipoise.trees.treeplex import Float, Int64
from equipoise.work import Report

State = dict[str, np.ndarray]
FloatTable = npt.NDArray[np.float64]
Diagnostics = dict[str, float]


def joined(parts: dict[str, State]) -> State:
    """Return the states of several parts as one, each name after its part's."""
    return {f"{part}.{name}": array for part, state in parts.items() for name, array in state.items()}


def part_of(state: State, part: str) -> State:
    """Return one part of a joined state."""
    return {name[len(part) + 1 :]: array for name, array in state.items() if name.startswith(f"{part}.")}


class Found(NamedTuple):
    """What an iteration's traversals of some players found."""

    iteration: int
    players: tuple[int, ...]  # whose regrets these are
    regret: Float  # [entries] increments
    observed: Int64  # the first entry of each infoset of theirs that was met
    averaged: tuple[int, ...]  # whose strategies are to be averaged
    strategy: Float  # [entries] the current strategy
    visits: Float  # [entries] what the average grows by: strategy x reach, sampled or exact
    entries: tuple[slice, slice]  # each player's part of a table


class RowSums(NamedTuple):
    """Sums by infoset of a game too large to list."""

    code: Int64
    values: FloatTable  # [codes, columns]


class FoundRows(NamedTuple):
    """What an iteration's traversals of some players found in a game too large to list.

    Where findings are kept in memories, there are no sums.
    """

    iteration: int
    players: tuple[int, ...]
    averaged: tuple[int, ...]
    regret: dict[int, RowSums]  # by player: increments
    visits: dict[int, RowSums]  # by player: what the average grows by


class RegretStore(Protocol):
    """Regrets by infoset."""

    has_sums: bool  # whether scores are sums that another solver can go on from

    def scores(self) -> Float:
        """Return the regrets of all entries, or numbers proportional to them in each infoset."""

    def absorb(self, found: Found) -> None:
        """Take in an iteration's increments."""

    def start_from(self, regret_sum: Float, iteration: int) -> None:
        """Take over the regrets that another solver had after an iteration (DN19 Eq. 10)."""

    def state(self) -> State:
        """Return all that the next iterations depend on."""

    def restore(self, state: State) -> None:
        """Continue from a saved state."""

    def diagnostics(self) -> Diagnostics:
        """Return numbers about the last absorption, for the log."""


class AnswersAtOnce:
    """A store of strategies whose average can be asked for at any time."""

    def conclude(self, report: Report) -> bool:
        """Do nothing, for nothing is left to do."""
        return False


class StrategyStore(Protocol):
    """Average strategies by infoset."""

    def conclude(self, report: Report) -> bool:
        """Do what is left to do before the average can be asked for; return whether there was anything."""

    def average(self) -> Float:
        """Return weights, by entry, that are proportional to the average strategy in each infoset."""

    def absorb(self, found: Found) -> None:
        """Take in an iteration's strategies."""

    def start_from(self, average: Float, reach: Float, iteration: int) -> None:
        """Take over the average strategy that another solver had after an iteration, with its own reach."""

    def state(self) -> State:
        """Return all that the next iterations depend on."""

    def restore(self, state: State) -> None:
        """Continue from a saved state."""

    def diagnostics(self) -> Diagnostics:
        """Return numbers about the last absorption, for the log."""


class RowRegrets(Protocol):
    """Regrets by code, in a game too large to list."""

    def scores_at(self, player: int, codes: Int64) -> Float:
        """Return the regrets of a player's infosets by column, or numbers proportional to them in each."""

    def absorb(self, found: FoundRows) -> None:
        """Take in an iteration's increments."""

    def state(self) -> State:
        """Return all that the next iterations depend on."""

    def restore(self, state: State) -> None:
        """Continue from a saved state."""

    def diagnostics(self) -> Diagnostics:
        """Return numbers about the last absorption, for the log."""


class RowStrategies(Protocol):
    """Average strategies by code, in a game too large to list."""

    def conclude(self, report: Report) -> bool:
        """Do what is left to do before a mixture can be asked for; return whether there was anything."""

    def mixture(self, player: int) -> "Mixture":
        """Return what is played: strategies with weights, one of them to be drawn before the game begins."""

    def absorb(self, found: FoundRows) -> None:
        """Take in an iteration's strategies."""

    def state(self) -> State:
        """Return all that the next iterations depend on."""

    def restore(self, state: State) -> None:
        """Continue from a saved state."""

    def diagnostics(self) -> Diagnostics:
        """Return numbers about the last absorption, for the log."""


StrategyAt = Callable[[Int64], FloatTable]  # codes -> [codes, columns] probabilities
Mixture = list[tuple[float, StrategyAt]]


def summed(code: Int64, values: FloatTable) -> RowSums:
    """Return values summed by code."""
    codes, which = distinct(code)
    columns = [np.bincount(which, weights=column, minlength=len(codes)) for column in values.T]
    return RowSums(codes, np.stack(columns, axis=1).astype(np.float64))


@kernel
def match_rows(scores: FloatTable, legal: npt.NDArray[np.bool_], fallback: int) -> FloatTable:
    """Return the strategies of regret matching by row and column; scores of illegal actions are not looked at."""
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


def weight_until(rule: Rule, iteration: int) -> float:
    """Return the weight of all iterations so far in the average."""
    weight = 0.0
    for row in coefficient_table(rule, 1, iteration):
        weight = row[5] * weight + row[6]
    return float(weight)


@kernel
def update_all(old: Float, increment: Float, rule: Float) -> Float:
    """Return regrets after an increment, under a rule's coefficients."""
    new = np.empty_like(old)
    for k in range(old.size):
        new[k] = updated(old[k], increment[k], rule[0], rule[1], rule[2], rule[3])
    return new


class TableRegrets:
    """One number an entry."""

    has_sums = True

    def __init__(self, size: int, rule: Rule) -> None:
        self._sum = np.zeros(size)
        self._rule = rule

    def scores(self) -> Float:
        return self._sum

    def absorb(self, found: Found) -> None:
        rule = coefficient_table(self._rule, found.iteration, 1)[0]
        new = self._sum.copy()
        for player in found.players:
            # Infosets that were not met have increment zero, and fade all the same under rules that make regrets fade.
            own = found.entries[player]
            new[own] = update_all(self._sum[own], found.regret[own], rule)
        self._sum = new

    def start_from(self, regret_sum: Float, iteration: int) -> None:
        self._sum = regret_sum.copy()

    def state(self) -> State:
        return {"sum": self._sum}

    def restore(self, state: State) -> None:
        self._sum = state["sum"].copy()

    def diagnostics(self) -> Diagnostics:
        return {}


class TableStrategy(AnswersAtOnce):
    """One number an entry: the weighted sum of strategies."""

    def __init__(self, size: int, rule: Rule) -> None:
        self._sum = np.zeros(size)
        self._rule = rule

    def average(self) -> Float:
        return self._sum

    def absorb(self, found: Found) -> None:
        rule = coefficient_table(self._rule, found.iteration, 1)[0]
        for player in found.averaged:
            own = found.entries[player]
            self._sum[own] = rule[5] * self._sum[own] + rule[6] * found.visits[own]

    def start_from(self, average: Float, reach: Float, iteration: int) -> None:
        self._sum = weight_until(self._rule, iteration) * reach * average

    def state(self) -> State:
        return {"sum": self._sum}

    def restore(self, state: State) -> None:
        self._sum = state["sum"].copy()

    def diagnostics(self) -> Diagnostics:
        return {}
