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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch

from equipoise.compiled import kernel
from equipoise.errors import EquipoiseError
from equipoise.networks.fitting import Examples, Fitting
from equipoise.networks.network import Architecture, Network, read
from equipoise.networks.rows import SeenRows
from equipoise.networks.trained import TrainedNetwork
from equipoise.regret.matching import match_table
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.sampling.dice import NO_TAPE, draw, start_stream
from equipoise.sampling.rows import Asked, Rows, ScoresAt
from equipoise.sampling.tree import Int32Table
from equipoise.stores.answers import REGRET_MATCHING, NetworkScores, answers_of, softmax, uniform
from equipoise.stores.networks import fit_diagnostics
from equipoise.stores.sums import AnswersAtOnce, Diagnostics, Mixture, RegretStore, State, joined, kept_as, part_of
from equipoise.trees.distinct import EMPTY, find_slot, table_size
from equipoise.trees.tables import Listing
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
        self._num_rows = num_rows
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

    @property
    def kept(self) -> int:
        """Return how many samples are in the memory; none are where only their sums are."""
        return int(self._counts[0])

    def add(self, rows: Int64, values: FloatTable, iteration: int) -> None:
        """Take in samples of an iteration."""
        if self.kind == "aggregated":
            weight = float(iteration) if self._weighted else 1.0
            _add_to_sums(self._weight_sum, self._value_sum, self._counts, rows, values, weight)
        else:
            windowed = self.kind == "window"
            common = (self._heads, self._values, self._counts)
            _add_to_reservoir(*common, rows, values, iteration, windowed, self._seed, NO_TAPE)

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
        samples, (kept, seen) = state["samples"], state["counts"].tolist()
        rows = samples[:, ROW] if self._num_rows is not None else samples[:0]
        # Kernels take these for places in arrays, and do not look.
        if not len(samples) == kept <= seen or (rows.size and not 0 <= rows.min() <= rows.max() < self._num_rows):
            raise ValueError("its memory does not fit together")
        self._counts = kept_as(self._counts, state["counts"])
        self._heads[:kept] = samples
        self._weight_sum = kept_as(self._weight_sum, state["weight_sum"])
        self._value_sum = kept_as(self._value_sum, state["value_sum"])


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
    masses: bool = False  # samples are strategies that count differently: each sums to what it counts


def drawn_examples(
    network: TrainedNetwork, memory: Memory, size: int, iteration: int, *, unit: float = 1.0, masses: bool = False
) -> Examples:
    """Return a batch for a network from what a memory draws, values divided by ``unit``; illegal actions count zero."""
    rows, weight, target = memory.draw(size, iteration)
    if masses:
        mass = target.sum(axis=1)
        weight, target = weight * mass, target / mass[:, None]
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
        seen: SeenRows,
        players: tuple[int, ...],
        config: MemoryConfig,
        *,
        unit: float,
        seed: int,
        device: torch.device,
    ) -> None:
        self._seen = seen
        self._config = config
        self._unit = unit  # what values are divided by
        self.memory = Memory(
            config.kind,
            config.capacity,
            seen.num_listed,
            seen.num_columns,
            weighted=config.weighted,
            seed=4 * seed + players[0],
        )
        self.network = TrainedNetwork(seen, players, config.architecture, head=config.head, seed=seed, device=device)
        self.fits = 0

    def add(self, rows: Rows) -> None:
        """Take in findings; each is a sample, and its values are multiplied by what it counts."""
        values = rows.values if (rows.weight == 1.0).all() else rows.weight[:, None] * rows.values
        self.memory.add(self._seen.seen_as(rows.codes), values, rows.iteration)

    def fit(self, iteration: int, on_share: Callable[[float], None] = lambda share: None) -> None:
        """Fit the network to the memory: from scratch, or from where it is."""
        config, network, memory = self._config, self.network, self.memory
        fresh = self.fits == 0 or (config.fresh_every > 0 and self.fits % config.fresh_every == 0)
        self.fits += 1
        if fresh:
            network.restart(self.fits)
        memory.start_drawing(self.fits)
        draw = partial(
            drawn_examples, network, memory, config.fitting.batch, iteration, unit=self._unit, masses=config.masses
        )
        steps = config.fresh_steps if fresh else config.fitting.epochs
        fitting = replace(config.fitting, batch=0)  # a draw is a batch already
        if memory.kind == "aggregated":
            examples = draw()
            network.fit(examples, fitting, self.fits, steps, on_share)
            network.network.wake(
                examples.inputs
            )  # it is never started afresh: after 12,000 fits some rows had no unit left
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


class MemoryRegrets:
    """Deep CFR's advantage networks, one a player. Scores are mean advantages, whose scale regret matching ignores."""

    has_sums = False

    def __init__(self, seen: SeenRows, config: MemoryConfig, *, unit: float, seed: int, device: torch.device) -> None:
        self._seen = seen
        self.memories = tuple(
            FittedMemory(seen, (player,), config, unit=unit, seed=seed, device=device) for player in range(2)
        )
        self._listed: list[FloatTable | None] = [None, None]  # scores of all infosets of a player, if they were read

    @property
    def scores_at(self) -> ScoresAt:
        return self._listed_scores if self._seen.num_listed is not None else self._scores()

    def _scores(self) -> NetworkScores:
        """Return what the networks say now."""
        networks = tuple(memory.network.network if memory.fits else None for memory in self.memories)
        return NetworkScores(self._seen, networks, (1.0, 1.0), self.memories[0].network.device)

    def _listed_scores(self, player: int, infosets: Asked) -> FloatTable:
        if infosets is not None:
            return self._scores()(player, infosets)
        scores = self._listed[player]
        if scores is None:
            scores = self._listed[player] = self.scores_with(player, self._scores().networks[player])
        return scores

    def scores_with(self, player: int, module: Network | None) -> FloatTable:
        """Return the scores of all of a player's infosets by another network in place of its own; None: the start."""
        listing, network = self._seen.listing, self.memories[player].network
        assert listing is not None
        own = listing.infosets_of(player)
        if module is None:
            return np.ones((own.stop - own.start, self._seen.num_columns))
        rows = self._seen.seen_as(np.arange(own.start, own.stop))
        scores: FloatTable = read(self._seen, module, network.rows, network.device)[rows - network.rows.start]
        return scores

    def absorb(self, rows: Rows) -> None:
        self.memories[rows.player].add(rows)

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        for player in players:
            self.memories[player].fit(iteration)
            self.forget_readings(player)

    def forget_readings(self, player: int) -> None:
        """Let a player's scores be read again where they are asked for all at once."""
        self._listed[player] = None

    def start_from(self, regret_sum: Float, iteration: int) -> None:
        raise EquipoiseError(NO_WARM_START)

    def state(self) -> State:
        return joined({f"player{player}": memory.state() for player, memory in enumerate(self.memories)})

    def restore(self, state: State) -> None:
        for player, memory in enumerate(self.memories):
            memory.restore(part_of(state, f"player{player}"))
        self._listed = [None, None]

    def diagnostics(self) -> Diagnostics:
        samples = float(sum(memory.memory.seen for memory in self.memories))
        return {
            **fit_diagnostics("regret", [memory.network for memory in self.memories]),
            "regret_samples": samples,
            "regret_memory": float(sum(memory.memory.kept for memory in self.memories)),
            "regret_parameters": float(sum(memory.network.num_parameters for memory in self.memories)),
        }


class MemoryStrategy:
    """Deep CFR's average policy, fitted from memories of strategies when a run concludes.

    A memory and a network for each player, or one of each for both (``shared``, as in B19).
    """

    def __init__(
        self, seen: SeenRows, config: MemoryConfig, *, shared: bool = False, seed: int, device: torch.device
    ) -> None:
        self._seen = seen
        self.memories = tuple(
            FittedMemory(seen, players, config, unit=1.0, seed=seed, device=device)
            for players in (((0, 1),) if shared else ((0,), (1,)))
        )
        self._iteration = self._fitted_at = 0  # the last one, and that of the last fit

    def _of_player(self, player: int) -> FittedMemory:
        """Return the memory that a player's strategies go to."""
        return self.memories[min(player, len(self.memories) - 1)]

    def absorb(self, rows: Rows) -> None:
        self._of_player(rows.player).add(rows)

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        self._iteration = iteration

    @property
    def concluded(self) -> bool:
        """Return whether the policy networks are fitted to all samples, if there are any."""
        return self._fitted_at >= self._iteration or not all(memory.memory.seen for memory in self.memories)

    def _require_fit(self) -> None:
        if not self.concluded:
            raise RuntimeError("the policy networks are older than the samples: call the solver's conclude() first")

    def conclude(self, report: Report) -> bool:
        """Fit the policy networks if anything has changed since they were."""
        if self.concluded:
            return False
        for number, memory in enumerate(self.memories):

            def on_share(share: float, done: int = number) -> None:
                report("fitting the policy", (done + share) / len(self.memories))

            memory.fits = 0  # from scratch, and the same whenever it was done before or left in the middle
            memory.fit(self._iteration, on_share)
        self._fitted_at = self._iteration
        return True

    def start_from(self, average: Float, reach: Float, iteration: int) -> None:
        raise EquipoiseError(NO_WARM_START)

    def average(self) -> Float:
        """Return the policy networks' strategies."""
        self._require_fit()
        listing = self._seen.listing
        assert listing is not None
        return listing.table(self._listed)

    def _listed(self, player: int) -> FloatTable:
        """Return a player's strategy at all of its infosets."""
        listing, network = self._seen.listing, self._of_player(player).network
        assert listing is not None
        own = listing.infosets_of(player)
        rows = self._seen.seen_as(np.arange(own.start, own.stop))
        legal = self._seen.legal_at(np.arange(network.rows.start, network.rows.stop))
        strategies = uniform(legal) if self._fitted_at == 0 else softmax(network.read(), legal)
        own_strategies: FloatTable = strategies[rows - network.rows.start]
        return own_strategies

    def mixture(self, player: int) -> Mixture:
        """Return the policy network's strategy, or uniform play where there are no samples yet."""
        self._require_fit()
        return [(1.0, answers_of(self._of_player(player).network, "softmax", fitted=self._fitted_at > 0))]

    def state(self) -> State:
        """Return the memories and, if they are fitted to them, the networks: no iteration depends on these."""
        parts = {f"player{player}": memory.memory.state() for player, memory in enumerate(self.memories)}
        if 0 < self._fitted_at == self._iteration:
            parts |= {f"policy{player}": memory.network.state() for player, memory in enumerate(self.memories)}
        return {**joined(parts), "iteration": np.array([self._iteration])}

    def restore(self, state: State) -> None:
        self._iteration, self._fitted_at = int(state["iteration"][0]), 0
        for player, memory in enumerate(self.memories):
            memory.memory.restore(part_of(state, f"player{player}"))
            if fitted := part_of(state, f"policy{player}"):
                memory.network.restore(fitted)
                self._fitted_at = self._iteration

    def diagnostics(self) -> Diagnostics:
        parameters = float(sum(memory.network.num_parameters for memory in self.memories))
        fits = fit_diagnostics("strategy", [memory.network for memory in self.memories])
        kept = float(sum(memory.memory.kept for memory in self.memories))
        return {**fits, "strategy_memory": kept, "strategy_parameters": parameters}


class Refitted(Protocol):
    """A network that is fitted again and again."""

    @property
    def network(self) -> TrainedNetwork:
        """Return the network as it is."""

    @property
    def fits(self) -> int:
        """Return how often it was fitted."""


class NetworksOfRegrets(RegretStore, Protocol):
    """Regrets in one network a player, as snapshots are taken of."""

    @property
    def memories(self) -> Sequence[Refitted]:
        """Return the players' networks."""


class Snapshots(AnswersAtOnce):
    """Single Deep CFR: every iteration's advantage network, played with the weight of its iteration.

    At most ``most_bytes`` of parameters are kept. When there are more, one network stands for two iterations each, then
    for four, and so on: the last of them, with the weight of all. So all times are thinned alike, none is forgotten.
    What is played anywhere follows from the snapshots. Where infosets are listed, its behaviour is also kept as sums.
    """

    def __init__(
        self,
        regrets: NetworksOfRegrets,
        rule: Rule,
        listed: "ListedBehaviour | None",
        *,
        fallback: int,
        most_bytes: int,
    ) -> None:
        self._regrets = regrets
        self._listed = listed
        self._rule = rule
        self._fallback = fallback
        self._averaged: set[int] = set()  # in this turn
        sizes = [memory.network.num_parameters for memory in regrets.memories]
        self.most = max(2, most_bytes // (4 * sum(sizes)))
        self.parameters: list[list[Float]] = [[], []]  # an empty vector stands for the start: all actions alike
        self.weights: list[list[float]] = [[], []]
        self.strides = [1, 1]  # iterations that a snapshot stands for; the last one perhaps for fewer yet

    def weight_of(self, iteration: int) -> float:
        """Return the weight of an iteration's strategies, where what earlier ones lose by fading is won by this one."""
        table = coefficient_table(self._rule, 1, iteration)
        return float(table[-1][6] / np.prod(table[1:, 5]))

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

    def absorb(self, rows: Rows) -> None:
        """Note whose average grows in this turn: what grows is a network, not these rows."""
        self._averaged.add(rows.player)

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        for player in self._averaged:
            count, before = len(self.weights[player]), self.weights[player][-1:]
            thinned = self.keep(player, iteration)
            if self._listed is None:
                continue
            # In a turn of the opponent this network is still the one that made the strategy.
            scores = self._regrets.scores_at(player, None)
            if thinned:
                self._listed.begin(player)
                for weight, flat in zip(self.weights[player][:-1], self.parameters[player][:-1], strict=True):
                    module = self._regrets.memories[player].network.module_with(flat) if len(flat) else None
                    kept = self._listed.scores_with(player, module)
                    self._listed.add(player, weight, kept, self._fallback)
            elif len(self.weights[player]) > count > 0:
                self._listed.add_last(player, before[0])
            self._listed.set_last(player, scores, self._fallback)
        self._averaged.clear()

    def average(self) -> Float:
        if self._listed is None:
            raise EquipoiseError("there are too many infosets for a table of the average")
        return self._listed.with_last([sum(weights[-1:]) for weights in self.weights])

    def mixture(self, player: int) -> Mixture:
        """Return the strategy of each snapshot, by infoset."""
        network = self._regrets.memories[player].network
        like = answers_of(network, REGRET_MATCHING[self._fallback])
        return [
            (weight, replace(like, network=network.module_with(flat) if len(flat) else None))
            for weight, flat in zip(self.weights[player], self.parameters[player], strict=True)
        ]

    def start_from(self, average: Float, reach: Float, iteration: int) -> None:
        raise EquipoiseError(NO_WARM_START)

    def state(self) -> State:
        arrays: State = {"strides": np.array(self.strides)}
        for player in range(2):
            lengths = np.array([len(flat) for flat in self.parameters[player]], np.int64)
            arrays[f"lengths{player}"] = lengths
            arrays[f"parameters{player}"] = np.concatenate([np.zeros(0, np.float32), *self.parameters[player]])
            arrays[f"weights{player}"] = np.array(self.weights[player])
        return arrays if self._listed is None else {**self._listed.state(), **arrays}

    def restore(self, state: State) -> None:
        self.strides = [int(stride) for stride in state["strides"]]
        for player in range(2):
            ends = np.cumsum(state[f"lengths{player}"])
            self.parameters[player] = np.split(state[f"parameters{player}"], ends[:-1]) if len(ends) else []
            self.weights[player] = [float(weight) for weight in state[f"weights{player}"]]
        if self._listed is not None:
            self._listed.restore(state)

    def diagnostics(self) -> Diagnostics:
        return {"snapshots": float(sum(len(each) for each in self.weights))}


class ListedBehaviour:
    """What a mixture of snapshots plays in a listed game: the sum of weight x own reach x strategy, by table entry.

    It is kept as iterations pass: of all snapshots but the last, which may still give way to the next.
    """

    def __init__(
        self,
        listing: Listing,
        reach: Callable[[Float], Float],
        scores_with: Callable[[int, Network | None], FloatTable],
    ) -> None:
        self.scores_with = scores_with  # a player's, by another network; None: before the first fit
        self._listing = listing
        self._reach = reach  # own reach by table entry, of a strategy
        self._sums = np.zeros(int(listing.first[-1]))
        self._last = np.zeros(int(listing.first[-1]))  # own reach x strategy of the last snapshot

    def begin(self, player: int) -> None:
        """Forget a player's sums."""
        self._sums[self._listing.entries_of(player)] = 0.0

    def add(self, player: int, weight: float, scores: FloatTable, fallback: int) -> None:
        """Add what a player plays by scores."""
        self._sums[self._listing.entries_of(player)] += weight * self._reached(player, scores, fallback)

    def add_last(self, player: int, weight: float) -> None:
        """Add the last snapshot: it gives way no more."""
        entries = self._listing.entries_of(player)
        self._sums[entries] += weight * self._last[entries]

    def set_last(self, player: int, scores: FloatTable, fallback: int) -> None:
        """Let a player's last snapshot be the one with these scores."""
        self._last[self._listing.entries_of(player)] = self._reached(player, scores, fallback)

    def _reached(self, player: int, scores: FloatTable, fallback: int) -> Float:
        """Return a player's own reach x strategy, by entry, when it plays by scores."""
        listing = self._listing
        other = listing.infosets_of(1 - player)
        alike = np.ones((other.stop - other.start, scores.shape[1]))
        strategy = match_table(listing.table(lambda who: scores if who == player else alike), listing.first, fallback)
        reached: Float = (self._reach(strategy) * strategy)[listing.entries_of(player)]
        return reached

    def with_last(self, weights: Sequence[float]) -> Float:
        """Return all sums, the last snapshots among them with these weights by player."""
        average = self._sums.copy()
        for player, weight in enumerate(weights):
            entries = self._listing.entries_of(player)
            average[entries] += weight * self._last[entries]
        return average

    def state(self) -> State:
        """Return the sums and the last snapshots."""
        return {"sums": self._sums, "last": self._last}

    def restore(self, state: State) -> None:
        """Continue from a saved state."""
        self._sums, self._last = kept_as(self._sums, state["sums"]), kept_as(self._last, state["last"])
