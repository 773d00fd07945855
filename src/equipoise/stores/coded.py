"""What networks of sums learn from in a game too large to list: codes of what was met, each with its sums.

Networks are read where traversals ask for it, and fitted where infosets were met.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.networks.poker_rows import PokerRows
from equipoise.networks.trained import TrainedNetwork
from equipoise.sampling.rows import STRATEGY, Asked, Rows, ScoresAt
from equipoise.stores.answers import NetworkAnswers, NetworkScores, answers_of
from equipoise.stores.networks import Bool, FloatTable, NetworkConfig, RegretLesson, StrategyLesson
from equipoise.stores.sums import Diagnostics, State
from equipoise.trees.codes import codes_in
from equipoise.trees.distinct import distinct
from equipoise.trees.treeplex import Float, Int64

NOT_LISTED = "a run can start from another only where infosets can be listed, and this game has too many"
REHEARSALS = 1 << 40  # added to an iteration's number where its second batch of traversals draws

Traverse = Callable[[ScoresAt, tuple[int, ...], int], Iterator[Rows]]  # a sampler's rows


class InfosetSums(NamedTuple):
    """Sums by infoset."""

    infoset: Int64  # each once
    values: FloatTable  # [infosets, columns]


class Pending:
    """Findings by infoset that wait to be summed."""

    def __init__(self) -> None:
        self._parts: list[InfosetSums] = []

    def add(self, rows: Rows) -> None:
        """Take in some findings."""
        self._parts.append(InfosetSums(rows.codes, rows.weight[:, None] * rows.values))

    def summed(self) -> InfosetSums:
        """Return the sums of all."""
        return sum_by_infoset(self._parts)


def sum_by_infoset(parts: Sequence[InfosetSums]) -> InfosetSums:
    """Return values summed by infoset."""
    infosets, which = distinct(np.concatenate([part.infoset for part in parts]))
    values = np.concatenate([part.values for part in parts])
    columns = [np.bincount(which, weights=column, minlength=len(infosets)) for column in values.T]
    return InfosetSums(infosets, np.stack(columns, axis=1).astype(np.float64))


class CodedIncrements:
    """Regrets that a turn found, by code. Anchors are codes that the last iterations met, as many as now.

    Increments are divided by a number that each infoset has once and for all (``unit``), which is nothing to regret
    matching, but much to a network: before the flop an infoset is met dozens of times a batch, after it once, and sums
    so different in size are not learnt together.
    """

    def __init__(self, rows: PokerRows, unit: Callable[[Int64], Float], *, networks: int, seed: int) -> None:
        self.seen = rows
        self._unit = unit
        self._seed = seed
        self._met = [np.zeros(0, np.int64) for _ in range(networks)]  # codes of the last iterations,
        self._met_in = [np.zeros(0, np.int64) for _ in range(networks)]  # and which met them
        self._found = [Pending() for _ in range(networks)]  # in this turn

    def scores(self, networks: tuple[TrainedNetwork, ...], scale: tuple[float, ...]) -> ScoresAt:
        return NetworkScores(self.seen, tuple(each.network for each in networks), scale, networks[0].device)

    def add(self, number: int, rows: Rows) -> None:
        self._found[number].add(rows)

    def lesson(
        self, number: int, network: TrainedNetwork, players: tuple[int, ...], config: NetworkConfig, iteration: int
    ) -> RegretLesson:
        (met, increment), self._found[number] = self._found[number].summed(), Pending()
        anchors = self._anchors(number, met, config, iteration)
        self._remember(number, met, iteration, max(1, config.anchor_memory))
        codes = np.concatenate([met, anchors])
        return RegretLesson(
            rows=codes,
            before=np.concatenate([network.read_at(met), network.read_at(anchors)]),
            increment=np.concatenate([increment, np.zeros((len(anchors), increment.shape[1]))]),
            unit=np.concatenate([self._unit(met), np.ones(len(anchors))]),
            legal=self.seen.legal_at(codes),
            seen=np.arange(len(codes)) < len(met),
            idle=np.zeros(len(codes), np.bool_),
            anchor=np.full(len(codes), config.anchor),
        )

    def _anchors(self, number: int, met: Int64, config: NetworkConfig, iteration: int) -> Int64:
        """Return some codes that were met in the last iterations, and not in this one."""
        if config.anchor == 0.0 or config.anchor_memory == 0:
            return np.zeros(0, np.int64)
        pool = np.setdiff1d(self._met[number], met)
        generator = np.random.default_rng([self._seed, number, iteration])
        return pool if len(pool) <= len(met) else generator.choice(pool, len(met), replace=False)

    def _remember(self, number: int, met: Int64, iteration: int, memory: int) -> None:
        recent = self._met_in[number] > iteration - memory
        self._met[number] = np.concatenate([self._met[number][recent], met])
        self._met_in[number] = np.concatenate([self._met_in[number][recent], np.full(len(met), iteration)])

    def reread(self, network: TrainedNetwork, lesson: RegretLesson, which: Bool) -> Float:
        assert lesson.rows is not None
        return network.read_at(lesson.rows[which])

    def close(self, players: tuple[int, ...]) -> None:
        """Do nothing: a lesson takes what was found."""

    def from_table(self, table: Float, network: TrainedNetwork) -> Float:
        raise EquipoiseError(NOT_LISTED)

    def state(self) -> State:
        arrays: State = {}
        for number, (met, met_in) in enumerate(zip(self._met, self._met_in, strict=True)):
            arrays[f"met{number}"], arrays[f"met_in{number}"] = met, met_in
        return arrays

    def restore(self, state: State) -> None:
        for number in range(len(self._met)):
            self._met[number], self._met_in[number] = state[f"met{number}"].copy(), state[f"met_in{number}"].copy()

    def diagnostics(self) -> Diagnostics:
        return {}


@dataclass(frozen=True)
class OnePlays:
    """The scores with which one player plays a strategy: probabilities, which regret matching leaves as they are.

    The other traverses, and walks its actions whatever it would play: its network need not be read.
    """

    strategy_at: NetworkAnswers
    player: int

    def __call__(self, player: int, infosets: Asked) -> FloatTable:
        """Return probabilities at some infosets of a player."""
        assert infosets is not None
        codes = codes_in(infosets)
        plays = player == self.player
        return self.strategy_at(codes) if plays else np.zeros((len(codes), self.strategy_at.seen.num_columns))


class CodedSums:
    """Sums of strategies by code, of what was met since the last fit.

    What the network stands for is met too, in traversals (``traverse``) at its own strategy: their expectation is
    reach(p) x p. Added up only where new sums are, it would be lost: of a million infosets that are as likely as each
    other, a fit sees a few, and there the new sums are all that counts. Sums by own reach count in full wherever they
    are met (DN19 Algorithm 3): without ``traverse``, so does what the network stands for.
    """

    def __init__(self, rows: PokerRows, traverse: Traverse | None) -> None:
        self.seen = rows
        self._traverse = traverse
        nothing = InfosetSums(np.zeros(0, np.int64), np.zeros((0, rows.num_columns)))
        self._pending = [nothing, nothing]  # by player: since the last fit
        self._visits = [Pending(), Pending()]  # of this turn

    def add(self, rows: Rows) -> None:
        self._visits[rows.player].add(rows)

    def fade(self, player: int, old: float, new: float) -> None:
        kept, found = self._pending[player], self._visits[player].summed()
        faded, added = InfosetSums(kept.infoset, old * kept.values), InfosetSums(found.infoset, new * found.values)
        self._pending[player] = sum_by_infoset([faded, added])
        self._visits[player] = Pending()

    def lessons(
        self, networks: Sequence[TrainedNetwork], weight: Float, config: NetworkConfig, fit_number: int
    ) -> Iterator[StrategyLesson]:
        for network in networks:
            sums = [self._sums(network, player, weight[:, player], config, fit_number) for player in network.players]
            codes = np.concatenate([each.infoset for each in sums])
            yield StrategyLesson(codes, np.concatenate([each.values for each in sums]), self.seen.legal_at(codes))

    def _sums(
        self, network: TrainedNetwork, player: int, weights: Float, config: NetworkConfig, fit_number: int
    ) -> InfosetSums:
        """Return a player's sums since the last fit, and those that the network stands for."""
        new, (weight, since) = self._pending[player], weights
        if config.kind == "sum":  # DN19 Eq. 8, over the weight so far: what was not met has no term in the loss
            before = weight * network.read_at(new.infoset)
            return InfosetSums(new.infoset, (before + new.values) / (weight + since))
        if weight == 0.0:
            return new
        strategy_at = answers_of(network, config.answer)
        if self._traverse is None:
            reach = self.seen.own_reach_at(new.infoset, strategy_at)
            return InfosetSums(new.infoset, weight * reach[:, None] * strategy_at(new.infoset) + new.values)

        met = Pending()
        for rows in self._traverse(OnePlays(strategy_at, player), (1 - player,), REHEARSALS + fit_number):
            if rows.kind == STRATEGY:
                met.add(rows)
        old = met.summed()
        return sum_by_infoset([InfosetSums(old.infoset, weight * old.values), new])

    def close(self, networks: Sequence[TrainedNetwork], config: NetworkConfig) -> float:
        self._pending = [InfosetSums(kept.infoset[:0], kept.values[:0]) for kept in self._pending]
        return 0.0

    def table(self, networks: Sequence[TrainedNetwork], config: NetworkConfig) -> Float:
        raise EquipoiseError("there are too many infosets for a table of the average")

    def start_from(self, sums: Float) -> None:
        raise EquipoiseError(NOT_LISTED)

    def state(self) -> State:
        arrays: State = {}
        for player in range(2):
            arrays[f"code{player}"], arrays[f"pending{player}"] = self._pending[player]
        return arrays

    def restore(self, state: State) -> None:
        self._pending = [InfosetSums(state[f"code{player}"], state[f"pending{player}"]) for player in range(2)]
