"""Deep CFR's stores: memories of samples, and networks that are refitted from them (B19, Steinberger 2019).

A *memory* keeps rows (what a network sees of an infoset), values and the iteration of each sample:

- ``reservoir``: every sample ever made is in it with the same probability (Vitter 1985, Algorithm R), and the order is
  random: a stretch of it is a random batch, which is read many times faster than samples from all over the memory;
- ``window``: the last samples only, as in B19's ablation;
- ``aggregated``: no samples but their weighted sums by row. A squared loss over samples is, but for a constant, the
  squared loss over means by row, each counted with its weight; where rows can be listed this is exact and cheap. It is
  not what the papers do, and has a name of its own.

A minibatch is summed by row before the network sees it: the same gradient, from as many rows as differ.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from equipoise.compiled import kernel
from equipoise.errors import EquipoiseError
from equipoise.networks.fitting import Examples, Fitting
from equipoise.networks.infosets import Infosets
from equipoise.networks.modules import Architecture, Network, read
from equipoise.networks.poker_rows import PokerRows
from equipoise.networks.trained import TrainedNetwork
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.sampling.collect import Rows
from equipoise.sampling.counts import NodesOf
from equipoise.sampling.dice import NO_TAPE, draw, start_stream
from equipoise.sampling.gather import Sums
from equipoise.sampling.tree import Int32Table
from equipoise.stores.networks import fit_diagnostics, softmax, uniform
from equipoise.stores.sums import (
    AnswersAtOnce,
    Diagnostics,
    Found,
    FoundRows,
    Mixture,
    State,
    joined,
    match_rows,
    part_of,
)
from equipoise.trees.distinct import EMPTY, find_slot, table_size
from equipoise.trees.treeplex import Float, Int64, UInt64
from equipoise.work import Report

Kept = Literal["reservoir", "window", "aggregated"]

NO_WARM_START = (
    "Deep CFR cannot be initialised from another run: its networks are refitted from samples, which no run keeps; use "
    "dncfr, rs-mccfr+-rsn or rs-mccfr+-asn"
)
ROW, ITERATION, FIRST_VALUE = 0, 1, 2  # of a sample
NOWHERE = -1  # the next sample of a fit that has drawn none yet
HALF, LOWER = 32, (1 << 32) - 1  # a code of 64 bits is kept in two halves: the upper one comes after the values

Float32 = npt.NDArray[np.float32]
FloatTable = npt.NDArray[np.float64]


@kernel
def _add_to_reservoir(
    heads: Int32Table,
    values: Float32,
    counts: Int64,
    new_rows: Int64,
    new_values: FloatTable,
    iteration: int,
    windowed: bool,
    seed: int,
    tape: Float,
) -> None:
    """Add samples; ``counts`` holds how many are kept and how many there have been."""
    dice = np.zeros(2, np.uint64)
    # A stream of its own for each call: the count of samples so far tells calls apart.
    start_stream(dice, seed, iteration, 0, counts[1])
    capacity, wide = heads.shape[0], heads.shape[1] > FIRST_VALUE + new_values.shape[1]
    for sample in range(new_rows.size):
        place = counts[0]
        if counts[0] < capacity:
            counts[0] += 1
            if not windowed:  # shuffled while it fills (Fisher and Yates, inside out)
                other = min(int(draw(dice, tape) * counts[0]), place)
                for column in range(heads.shape[1]):
                    heads[place, column] = heads[other, column]
                place = other
        elif windowed:
            place = counts[1] % capacity
        else:
            place = min(int(draw(dice, tape) * (counts[1] + 1)), counts[1])
        counts[1] += 1
        if place < capacity:
            heads[place, ROW], heads[place, ITERATION] = np.int32(new_rows[sample]), iteration
            if wide:
                heads[place, heads.shape[1] - 1] = np.int32(new_rows[sample] >> HALF)
            for column in range(new_values.shape[1]):
                values[place, FIRST_VALUE + column] = new_values[sample, column]


@kernel
def _add_to_sums(
    weight_sum: Float, value_sum: Float, counts: Int64, new_rows: Int64, new_values: Float, weight: float
) -> None:
    for sample in range(new_rows.size):
        weight_sum[new_rows[sample]] += weight
        for column in range(value_sum.shape[1]):
            value_sum[new_rows[sample], column] += weight * new_values[sample, column]
    counts[1] += new_rows.size


@kernel
def _draw_batch(
    heads: Int32Table,
    values: Float32,
    kept: int,
    shuffled: bool,
    weighted: bool,
    latest: int,
    dice: UInt64,
    tape: Float,
    next_sample: Int64,
    chosen: UInt64,
    keys: Int64,
    places: Int64,
    slots: UInt64,
    drawn: Int64,
    weight: Float,
    target: FloatTable,
) -> int:
    """Draw samples, sum them by row, and return the number of different rows. The hash table is left empty.

    From a shuffled memory, a batch goes on where the last one of the fit ended.
    """
    wide = heads.shape[1] > FIRST_VALUE + target.shape[1]
    if shuffled:
        sample = next_sample[0] if next_sample[0] >= 0 else min(int(draw(dice, tape) * kept), kept - 1)
        for number in range(chosen.size):
            chosen[number] = sample
            sample = sample + 1 if sample + 1 < kept else 0
        next_sample[0] = sample
    else:
        for number in range(chosen.size):  # all first, so that the look-ups below need not wait for one another
            chosen[number] = min(int(draw(dice, tape) * kept), kept - 1)
    distinct = 0
    for number in range(chosen.size):
        sample = chosen[number]
        row = np.int64(heads[sample, ROW])
        if wide:
            row = (row & LOWER) | (np.int64(heads[sample, heads.shape[1] - 1]) << HALF)
        slot = find_slot(keys, places, row)
        place = places[slot]
        if place == EMPTY:
            place = distinct
            keys[slot], places[slot], slots[place] = row, place, slot
            drawn[place] = row
            weight[place] = 0.0
            target[place] = 0.0
            distinct += 1
        # B19 section 5.1: iteration t counts t times, rescaled by 2 / T.
        w = 2.0 * heads[sample, ITERATION] / latest if weighted else 1.0
        weight[place] += w
        for column in range(target.shape[1]):
            target[place, column] += w * values[sample, FIRST_VALUE + column]
    for place in range(distinct):
        places[slots[place]] = EMPTY
        for column in range(target.shape[1]):
            target[place, column] /= weight[place]
    return distinct


@kernel
def _start(dice: UInt64, seed: int, fit_number: int) -> None:
    start_stream(dice, seed, fit_number, 0, 0)


class Memory:
    """Samples, or their sums. Rows are numbers below ``num_rows``, or codes of 64 bits where that is None."""

    def __init__(
        self, kind: Kept, capacity: int, num_rows: int | None, columns: int, *, weighted: bool, seed: int
    ) -> None:
        if kind == "aggregated" and num_rows is None:
            raise EquipoiseError(
                "targets=aggregated needs a list of infosets, and this game has too many: leave it out"
            )
        self.kind = kind
        self._weighted = weighted
        self._seed = seed
        self._columns = columns
        size = 0 if kind == "aggregated" else capacity
        # A sample is one row of memory: its row and iteration as whole numbers, then its values.
        self._heads = np.zeros((size, FIRST_VALUE + columns + (num_rows is None)), np.int32)
        self._values = self._heads.view(np.float32)
        self._counts = np.zeros(2, np.int64)
        listed = (num_rows or 0) if kind == "aggregated" else 0
        self._weight_sum = np.zeros(listed)
        self._value_sum = np.zeros((listed, columns))
        self._keys = self._places = np.full(0, EMPTY)  # a hash table, made for the first batch
        self._dice = np.zeros(2, np.uint64)
        self._next_sample = np.full(1, NOWHERE)

    @property
    def seen(self) -> int:
        """Return how many samples there have been."""
        return int(self._counts[1])

    def add(self, new: Rows, iteration: int) -> None:
        """Take in samples of an iteration."""
        rows = new.row.astype(np.int64)
        if self.kind == "aggregated":
            weight = float(iteration) if self._weighted else 1.0
            _add_to_sums(self._weight_sum, self._value_sum, self._counts, rows, new.values, weight)
        else:
            windowed = self.kind == "window"
            common = (self._heads, self._values, self._counts)
            _add_to_reservoir(*common, rows, new.values, iteration, windowed, self._seed, NO_TAPE)

    def start_drawing(self, fit_number: int) -> None:
        """Begin the random stream of a fit."""
        _start(self._dice, self._seed + 2, fit_number)
        self._next_sample[0] = NOWHERE

    def draw(self, batch: int, latest: int) -> tuple[Int64, Float, Float]:
        """Return rows, their weights and their mean values: of a random batch, or of everything if aggregated."""
        if self.kind == "aggregated":
            rows = np.flatnonzero(self._weight_sum)
            weight = self._weight_sum[rows]
            return rows, weight / weight.mean(), self._value_sum[rows] / weight[:, None]
        if len(self._places) < table_size(batch):
            self._keys, self._places = np.empty(table_size(batch), np.int64), np.full(table_size(batch), EMPTY)
        drawn, weight, target = np.empty(batch, np.int64), np.empty(batch), np.empty((batch, self._columns))
        distinct = _draw_batch(
            self._heads,
            self._values,
            int(self._counts[0]),
            self.kind == "reservoir",
            self._weighted,
            latest,
            self._dice,
            NO_TAPE,
            self._next_sample,
            np.empty(batch, np.uint64),
            self._keys,
            self._places,
            np.empty(batch, np.uint64),
            drawn,
            weight,
            target,
        )
        return drawn[:distinct], weight[:distinct], target[:distinct]

    def state(self) -> State:
        """Return what is kept."""
        return {
            "samples": self._heads[: self._counts[0]],
            "counts": self._counts,
            "weight_sum": self._weight_sum,
            "value_sum": self._value_sum,
        }

    def restore(self, state: State) -> None:
        """Continue from what was kept."""
        self._counts = state["counts"].copy()
        self._heads[: self._counts[0]] = state["samples"]
        self._weight_sum, self._value_sum = state["weight_sum"].copy(), state["value_sum"].copy()


def sample_bytes(columns: int) -> int:
    """Return the bytes of a sample whose row is a code."""
    return 4 * (FIRST_VALUE + columns + 1)


@dataclass(frozen=True, kw_only=True)
class MemoryConfig:
    """A memory, the network that is fitted from it, and how."""

    architecture: Architecture
    fitting: Fitting  # epochs are steps here: each draws its own batch
    kind: Kept = "reservoir"
    capacity: int = 4_000_000
    weighted: bool = True
    fresh_every: int = 1  # iterations between two fresh networks; 1: from scratch each time (B19); 0: never
    fresh_steps: int = 300
    head: float = 0.4


def drawn_examples(
    network: TrainedNetwork, memory: Memory, size: int, iteration: int, *, unit: float = 1.0
) -> Examples:
    """Return a batch for a network from what a memory draws, values divided by ``unit``; illegal actions count zero."""
    rows, weight, target = memory.draw(size, iteration)
    share = weight / (weight.sum() if memory.kind == "aggregated" else size)
    return Examples(
        network.inputs_at(rows),
        network.tensor(target / unit),
        network.tensor(share[:, None] * network.infosets.legal_at(rows)),
    )


class FittedMemory:
    """A memory of some players' samples, and the network that is fitted from it."""

    def __init__(
        self,
        infosets: Infosets | PokerRows,
        players: tuple[int, ...],
        config: MemoryConfig,
        *,
        unit: float,
        seed: int,
        device: torch.device,
    ) -> None:
        self._config = config
        self._unit = unit  # what values are divided by
        self.memory = Memory(
            config.kind,
            config.capacity,
            len(infosets.row_keys) if isinstance(infosets, Infosets) else None,
            infosets.num_columns,
            weighted=config.weighted,
            seed=4 * seed + players[0],
        )
        self.network = TrainedNetwork(
            infosets, players, config.architecture, head=config.head, seed=seed, device=device
        )
        self.fits = 0

    def fit(self, iteration: int, on_share: Callable[[float], None] = lambda share: None) -> None:
        """Fit the network to the memory: from scratch, or from where it is."""
        config, network, memory = self._config, self.network, self.memory
        fresh = self.fits == 0 or (config.fresh_every > 0 and self.fits % config.fresh_every == 0)
        self.fits += 1
        if fresh:
            network.restart(self.fits)
        memory.start_drawing(self.fits)
        draw = partial(drawn_examples, network, memory, config.fitting.batch, iteration, unit=self._unit)
        steps = config.fresh_steps if fresh else config.fitting.epochs
        fitting = replace(config.fitting, batch=0)  # a draw is a batch already
        if memory.kind == "aggregated":
            examples = draw()
            network.fit(examples, fitting, self.fits, steps, on_share)
            network.wake(examples.inputs)  # it is never started afresh: after 12,000 fits some rows had no unit left
        else:
            network.fit(draw, fitting, self.fits, steps, on_share)

    def state(self) -> State:
        """Return the memory, the network and the number of fits."""
        parts = {"memory": self.memory.state(), "network": self.network.state()}
        return {**joined(parts), "fits": np.array([self.fits])}

    def restore(self, state: State) -> None:
        """Continue from a saved state."""
        self.memory.restore(part_of(state, "memory"))
        self.network.restore(part_of(state, "network"))
        self.fits = int(state["fits"][0])


Scores = TypeVar("Scores", contravariant=True)


class Collecting(Protocol[Scores]):
    """Traversals whose findings come one by one: at a table of scores, or at scores that are asked for by code."""

    threads: int
    nodes_touched: int

    def collect(self, scores: Scores, player: int, iteration: int, /) -> Iterator[tuple[Rows, Rows]]:
        """Run a player's traversals; yield the traverser's regrets and the opponent's strategies, part by part."""


class MemorySampler(NodesOf, Generic[Scores]):
    """Traversals whose findings go to memories: regrets to the traverser's, strategies to the opponent's."""

    def __init__(
        self, collector: Collecting[Scores], regrets: "MemoryRegrets", strategies: "MemoryStrategy | None"
    ) -> None:
        super().__init__(collector)
        self._collector = collector
        self.threads = collector.threads
        self._regrets = regrets
        self._strategies = strategies

    def sample(self, scores: Scores, players: tuple[int, ...], iteration: int) -> Sums:
        """Run the traversals of some players; the sums are empty, for what was found is in the memories."""
        for player in players:
            for own, opponent in self._collector.collect(scores, player, iteration):
                self._regrets.memories[player].memory.add(own, iteration)
                if self._strategies is not None:
                    self._strategies.of_player(1 - player).memory.add(opponent, iteration)
        return NOTHING


NOTHING = Sums(np.zeros(0), np.zeros(0, np.int64), np.zeros(0))


class MemoryRegrets:
    """Deep CFR's advantage networks, one a player. Scores are mean advantages, whose scale regret matching ignores."""

    has_sums = False

    def __init__(
        self, infosets: Infosets | PokerRows, config: MemoryConfig, *, unit: float, seed: int, device: torch.device
    ) -> None:
        self._listed = infosets if isinstance(infosets, Infosets) else None
        self._columns = infosets.num_columns
        self.memories = tuple(
            FittedMemory(infosets, (player,), config, unit=unit, seed=seed, device=device) for player in range(2)
        )
        # Before the first fit all actions are alike (B19 Algorithm 1, line 2); equal positive scores say so to every
        # fallback.
        self._scores = np.ones(0 if self._listed is None else len(self._listed.entry_row))

    def scores_at(self, player: int, codes: Int64) -> Float:
        memory = self.memories[player]
        return memory.network.read_at(codes) if memory.fits else np.ones((len(codes), self._columns))

    def scores(self) -> Float:
        return self._scores

    def absorb(self, found: Found | FoundRows) -> None:
        for player in found.players:
            self.memories[player].fit(found.iteration)
            self._read(player)

    def start_from(self, regret_sum: Float, iteration: int) -> None:
        raise EquipoiseError(NO_WARM_START)

    def entries_of(self, player: int) -> slice:
        """Return a player's part of a table."""
        return slice(0, 0) if self._listed is None else self._listed.entries_of(player)

    def _read(self, player: int) -> None:
        infosets, network = self._listed, self.memories[player].network
        if infosets is None:  # scores are read where they are needed
            return
        entries = infosets.entries_of(player)
        rows = infosets.entry_row[entries] - network.rows.start
        self._scores[entries] = network.read()[rows, infosets.entry_column[entries]]

    def scores_of(self, player: int, parameters: Float) -> Float:
        """Return scores as they would be with other parameters in a player's network (none: before the first fit)."""
        kept = self._scores.copy()
        if len(parameters) == 0:
            kept[self.entries_of(player)] = 1.0
            return kept
        network = self.memories[player].network
        now = network.parameters()
        network.load_parameters(parameters)
        self._read(player)
        scores, self._scores = self._scores, kept
        network.load_parameters(now)
        return scores

    def state(self) -> State:
        return joined({f"player{player}": memory.state() for player, memory in enumerate(self.memories)})

    def restore(self, state: State) -> None:
        for player, memory in enumerate(self.memories):
            memory.restore(part_of(state, f"player{player}"))
            if memory.fits:
                self._read(player)

    def diagnostics(self) -> Diagnostics:
        samples = float(sum(memory.memory.seen for memory in self.memories))
        return {
            **fit_diagnostics("regret", [memory.network for memory in self.memories]),
            "regret_samples": samples,
            "regret_parameters": float(sum(memory.network.num_parameters for memory in self.memories)),
        }


class MemoryStrategy:
    """Deep CFR's average policy, fitted from memories of strategies when a run concludes.

    A memory and a network for each player, or one of each for both (``shared``, as in B19).
    """

    def __init__(
        self,
        infosets: Infosets | PokerRows,
        config: MemoryConfig,
        *,
        shared: bool = False,
        seed: int,
        device: torch.device,
    ) -> None:
        self._rows = infosets
        self.memories = tuple(
            FittedMemory(infosets, players, config, unit=1.0, seed=seed, device=device)
            for players in (((0, 1),) if shared else ((0,), (1,)))
        )
        self._iteration = 0
        self._fitted_at = self._read_at = 0  # the iteration of the last fit, and of what was read of it
        self._table = np.ones(len(infosets.entry_row) if isinstance(infosets, Infosets) else 0)

    def of_player(self, player: int) -> FittedMemory:
        """Return the memory that a player's strategies go to."""
        return self.memories[min(player, len(self.memories) - 1)]

    def absorb(self, found: Found | FoundRows) -> None:
        self._iteration = found.iteration  # the samples are in the memories already

    def start_from(self, average: Float, reach: Float, iteration: int) -> None:
        raise EquipoiseError(NO_WARM_START)

    def average(self) -> Float:
        """Return the policy networks' strategies."""
        self._require_fit()
        if self._read_at < self._fitted_at and isinstance(self._rows, Infosets):
            outputs = np.concatenate([memory.network.read() for memory in self.memories])
            self._table = self._rows.to_table(softmax(outputs, self._rows.legal))
            self._read_at = self._fitted_at
        return self._table

    def mixture(self, player: int) -> Mixture:
        """Return the policy network's strategy, or uniform play where there are no samples yet."""
        self._require_fit()
        network = self.of_player(player).network
        if self._fitted_at == 0:
            return [(1.0, lambda codes: uniform(self._rows.legal_at(codes)))]
        return [(1.0, lambda codes: softmax(network.read_at(codes), self._rows.legal_at(codes)))]

    @property
    def _out_of_date(self) -> bool:
        return self._fitted_at < self._iteration and all(memory.memory.seen for memory in self.memories)

    def _require_fit(self) -> None:
        if self._out_of_date:
            raise RuntimeError("the policy networks are older than the samples: call the solver's conclude() first")

    def conclude(self, report: Report) -> bool:
        """Fit the policy networks if anything has changed since they were."""
        if not self._out_of_date:
            return False
        for player, memory in enumerate(self.memories):

            def on_share(share: float, done: int = player) -> None:
                report("fitting the policy", (done + share) / len(self.memories))

            memory.fits = 0  # from scratch, and the same whenever it was done before or left in the middle
            memory.fit(self._iteration, on_share)
        self._fitted_at = self._iteration
        return True

    def state(self) -> State:
        """Return the memories and, if they are fitted to them, the networks: no iteration depends on these."""
        parts = {f"player{player}": memory.memory.state() for player, memory in enumerate(self.memories)}
        if 0 < self._fitted_at == self._iteration:
            parts |= {f"policy{player}": memory.network.state() for player, memory in enumerate(self.memories)}
        return {**joined(parts), "iteration": np.array([self._iteration])}

    def restore(self, state: State) -> None:
        self._iteration, self._fitted_at, self._read_at = int(state["iteration"][0]), 0, 0
        for player, memory in enumerate(self.memories):
            memory.memory.restore(part_of(state, f"player{player}"))
            if fitted := part_of(state, f"policy{player}"):
                memory.network.restore(fitted)
                self._fitted_at = self._iteration

    def diagnostics(self) -> Diagnostics:
        parameters = float(sum(memory.network.num_parameters for memory in self.memories))
        fits = fit_diagnostics("strategy", [memory.network for memory in self.memories])
        return {**fits, "strategy_parameters": parameters}


class SnapshotList(AnswersAtOnce):
    """Advantage networks of all iterations, each with the weight of its iteration.

    At most ``most_bytes`` of parameters are kept. When there are more, one network stands for two iterations each, then
    for four, and so on: the last of them, with the weight of all. So all times are thinned alike, none is forgotten.
    """

    def __init__(self, regrets: MemoryRegrets, rule: Rule, *, most_bytes: int) -> None:
        self._regrets = regrets
        self._rule = rule
        sizes = [memory.network.num_parameters for memory in regrets.memories]
        self.most = max(2, most_bytes // (4 * sum(sizes)))
        self.parameters: list[list[Float]] = [[], []]  # an empty vector stands for the start: all actions alike
        self.weights: list[list[float]] = [[], []]
        self.strides = [1, 1]  # iterations that a snapshot stands for; the last one perhaps for fewer yet

    def weight_of(self, iteration: int) -> float:
        """Return the weight of an iteration's strategies."""
        return float(coefficient_table(self._rule, iteration, 1)[0][6])

    def keep(self, player: int, iteration: int) -> bool:
        """Keep a player's network as it is; return whether others had to go."""
        memory, stride = self._regrets.memories[player], self.strides[player]
        parameters, weights = self.parameters[player], self.weights[player]
        weight = self.weight_of(iteration)
        if (iteration - 1) // stride < len(weights):  # the last one does not yet stand for as many as the others
            parameters.pop()
            weight += weights.pop()
        parameters.append(memory.network.parameters() if memory.fits else np.zeros(0, np.float32))
        weights.append(weight)
        if len(weights) <= self.most:
            return False
        self.strides[player] = 2 * stride
        self.parameters[player] = [parameters[min(first + 1, len(weights) - 1)] for first in range(0, len(weights), 2)]
        self.weights[player] = [sum(weights[first : first + 2]) for first in range(0, len(weights), 2)]
        return True

    def start_from(self, average: Float, reach: Float, iteration: int) -> None:
        raise EquipoiseError(NO_WARM_START)

    def state(self) -> State:
        arrays: State = {"strides": np.array(self.strides)}
        for player in range(2):
            lengths = np.array([len(flat) for flat in self.parameters[player]], np.int64)
            arrays[f"lengths{player}"] = lengths
            arrays[f"parameters{player}"] = np.concatenate([np.zeros(0, np.float32), *self.parameters[player]])
            arrays[f"weights{player}"] = np.array(self.weights[player])
        return arrays

    def restore(self, state: State) -> None:
        self.strides = [int(stride) for stride in state["strides"]]
        for player in range(2):
            ends = np.cumsum(state[f"lengths{player}"])
            self.parameters[player] = np.split(state[f"parameters{player}"], ends[:-1]) if len(ends) else []
            self.weights[player] = [float(weight) for weight in state[f"weights{player}"]]

    def diagnostics(self) -> Diagnostics:
        return {"snapshots": float(sum(len(each) for each in self.weights))}


class Snapshots(SnapshotList):
    """Single Deep CFR: every iteration's advantage network is kept, and played with a weight of its iteration.

    What is played is a mixture of all, by reach and weight; its behaviour is the sum of weight x own reach x strategy,
    kept up to date as iterations pass: of all snapshots but the last, which may still give way to the next.
    """

    def __init__(
        self,
        regrets: MemoryRegrets,
        rule: Rule,
        strategy_of: Callable[[Float], Float],
        reach: Callable[[Float], Float],
        *,
        most_bytes: int,
    ) -> None:
        super().__init__(regrets, rule, most_bytes=most_bytes)
        self._strategy_of = strategy_of
        self._reach = reach
        self._sums = np.zeros(len(regrets.scores()))
        self._last = np.zeros(len(regrets.scores()))  # own reach x strategy of the last snapshot

    def absorb(self, found: Found) -> None:
        reached = self._reach(found.strategy) * found.strategy
        for player in found.averaged:
            # In a turn of the opponent this network is still the one that made the strategy.
            entries = self._regrets.entries_of(player)
            count, before = len(self.weights[player]), self.weights[player][-1:]
            if self.keep(player, found.iteration):
                self._add_up(player)
            elif len(self.weights[player]) > count > 0:
                self._sums[entries] += before[0] * self._last[entries]
            self._last[entries] = reached[entries]

    def _add_up(self, player: int) -> None:
        entries = self._regrets.entries_of(player)
        self._sums[entries] = 0.0
        for weight, flat in zip(self.weights[player][:-1], self.parameters[player][:-1], strict=True):
            strategy = self._strategy_of(self._regrets.scores_of(player, flat))
            self._sums[entries] += weight * (self._reach(strategy) * strategy)[entries]

    def average(self) -> Float:
        average = self._sums.copy()
        for player in range(2):
            entries = self._regrets.entries_of(player)
            average[entries] += sum(self.weights[player][-1:]) * self._last[entries]
        return average

    def state(self) -> State:
        return {"sums": self._sums, "last": self._last, **super().state()}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._sums, self._last = state["sums"].copy(), state["last"].copy()


class RowSnapshots(SnapshotList):
    """Single Deep CFR in a game too large to list: what is played anywhere follows from the snapshots alone."""

    def __init__(self, regrets: MemoryRegrets, rule: Rule, *, fallback: int, most_bytes: int) -> None:
        super().__init__(regrets, rule, most_bytes=most_bytes)
        self._fallback = fallback

    def absorb(self, found: FoundRows) -> None:
        for player in found.averaged:
            self.keep(player, found.iteration)

    def mixture(self, player: int) -> Mixture:
        """Return the strategy of each snapshot, by codes."""
        network = self._regrets.memories[player].network
        return [
            (weight, partial(self._strategy_at, network, network.module_with(flat) if len(flat) else None))
            for weight, flat in zip(self.weights[player], self.parameters[player], strict=True)
        ]

    def _strategy_at(self, network: TrainedNetwork, snapshot: Network | None, codes: Int64) -> FloatTable:
        seen = network.infosets
        legal = seen.legal_at(codes)
        if snapshot is None:  # before the first fit
            return uniform(legal)
        return match_rows(read(seen, snapshot, codes, network.device), legal, self._fallback)
