"""Double Neural CFR's stores: networks that are fitted, each time, to their own last prediction plus what is new.

*Regrets* (RSN, DN19 Eq. 7 and 14): target = rule(previous prediction, increment) on the observed infosets. Numbers are
kept near 1 by a scale, a power of two, so that nothing is lost when it changes; the output layer changes with it, so
that predictions do not. Infosets that were not observed have no increment; with ``anchor`` > 0 their last prediction is
a target of that weight. Without anchors a fit moves them at will (DN20: "the loss has no term for them").

*Strategies* (ASN), in two kinds:

- ``average``: the network is the average strategy p itself, a softmax fitted by cross-entropy. What p stands for is
  known without a table: the average over weights W has sums W x reach(p) x p, reach(p) being the player's own reach
  under p. So the target after new sums S is (W reach(p) p + S) normalised, and its weight in the loss is its mass.
- ``sum`` (DN19 Eq. 8): regress the sums, over the weight so far. They span orders of magnitude with own reach, and
  normalising small rows amplifies errors; it is here to show that it stalls.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from equipoise.errors import EquipoiseError
from equipoise.networks.fitting import Fitting
from equipoise.networks.infosets import Infosets
from equipoise.networks.network import Architecture
from equipoise.networks.poker_rows import PokerRows
from equipoise.networks.trained import TrainedNetwork
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.sampling.rows import STRATEGY, Rows, ScoresAt, add_by_row
from equipoise.stores.answers import NetworkAnswers, answers_of, softmax
from equipoise.stores.sums import AnswersAtOnce, Diagnostics, Mixture, State, joined, part_of, update_all, weight_until
from equipoise.trees.distinct import distinct
from equipoise.trees.treeplex import Float, Int64

Bool = npt.NDArray[np.bool_]
FloatTable = npt.NDArray[np.float64]

NEVER = -(10**9)

REHEARSALS = 1 << 40  # added to an iteration's number where its second batch of traversals draws

Traverse = Callable[[ScoresAt, tuple[int, ...], int], Iterator[Rows]]  # a sampler's rows


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """One of the two networks: RSN and ASN are two values of this."""

    architecture: Architecture
    fitting: Fitting
    shared: bool = False  # one network for both players, instead of one each
    anchor: float = 0.3  # weight of infosets that were not observed
    anchor_memory: int = 0  # iterations for which a met infoset stays an anchor; 0: all infosets of the game are
    scale: Literal["adaptive", "sqrt"] = "adaptive"
    kind: Literal["average", "sum"] = "average"  # of strategies
    every: int = 10  # iterations between two fits of the average
    all_rows: bool = True  # the average is fitted at all listed infosets, not only at those that were met
    multiple: int = 1  # what regrets are multiplied by: with the batch, its mean becomes its sum


def make_networks(
    infosets: Infosets | PokerRows, config: NetworkConfig, *, seed: int, device: torch.device
) -> tuple[TrainedNetwork, ...]:
    """Return a network for each player, or one for both. Predictions start at zero."""
    served: tuple[tuple[int, ...], ...] = ((0, 1),) if config.shared else ((0,), (1,))
    return tuple(
        TrainedNetwork(infosets, players, config.architecture, head=0.0, seed=seed, device=device) for players in served
    )


class BootstrappedNetworks:
    """Networks that are fitted to what they said before, changed by what an iteration found."""

    name: str  # in the log

    def __init__(
        self, infosets: Infosets | PokerRows, config: NetworkConfig, rule: Rule, *, seed: int, device: torch.device
    ) -> None:
        self._config = config
        self._rule = rule
        self.networks = make_networks(infosets, config, seed=seed, device=device)
        self._drift = 0.0  # of infosets that were not observed, in the last fit

    def diagnostics(self) -> Diagnostics:
        """Return the last fit, and how far it moved what was not observed, for the log."""
        parameters = float(sum(network.num_parameters for network in self.networks))
        own = {f"{self.name}_drift": self._drift, f"{self.name}_parameters": parameters}
        return {**fit_diagnostics(self.name, self.networks), **own}


class RegretNetworks(BootstrappedNetworks):
    """The RegretSumNetwork: what it is fitted to, and in what unit, wherever its rows come from."""

    name = "regret"
    has_sums = True

    def __init__(
        self, infosets: Infosets | PokerRows, config: NetworkConfig, rule: Rule, *, seed: int, device: torch.device
    ) -> None:
        super().__init__(infosets, config, rule, seed=seed, device=device)
        self._scale = np.ones(len(self.networks))

    def _target(self, outputs: Float, increment: Float, rule: Float) -> tuple[Float, Float]:
        """Return predictions, and what they become by the rule (DN19 Eq. 7, 14)."""
        before = np.maximum(outputs, rule[3])  # what was clipped is not negative
        return before, update_all(before.ravel(), increment.ravel(), rule).reshape(before.shape)

    def _choose_scale(self, number: int, targets: Float, iteration: int) -> None:
        """Choose what predictions are divided by; a power of two, so that dividing loses nothing."""
        if self._config.scale == "sqrt":  # DN19 Eq. 9: the network tracks R / sqrt(t); nothing is rescaled
            self._scale[number] = np.sqrt(iteration)
            return
        size = _rms(targets)
        if size > 0.0 and not 0.6 < size / self._scale[number] < 1.7:
            new = 2.0 ** np.round(np.log2(size))
            self.networks[number].network.scale_outputs(self._scale[number] / new)
            self._scale[number] = new


class NetworkRegrets(RegretNetworks):
    """Regrets of listed infosets, all of them read once a turn."""

    def __init__(
        self, infosets: Infosets, config: NetworkConfig, rule: Rule, *, seed: int, device: torch.device
    ) -> None:
        super().__init__(infosets, config, rule, seed=seed, device=device)
        self._infosets = infosets
        self._last_seen = np.full(len(infosets.row_keys), NEVER, np.int64)
        self._increment = np.zeros(infosets.legal.shape)  # of the turn, by row and column
        self._observed = np.zeros(len(infosets.row_keys), np.bool_)  # in the turn
        self._observed_share = 0.0
        self._read()

    def _read(self) -> None:
        self._outputs = np.concatenate(
            [scale * network.read() for scale, network in zip(self._scale, self.networks, strict=True)]
        )

    def scores_at(self, player: int, infosets: Int64 | None) -> FloatTable:
        own = self._infosets.listing.infosets_of(player) if infosets is None else infosets
        scores: FloatTable = self._outputs[self._infosets.row_of[own]]
        return scores

    def absorb(self, rows: Rows) -> None:
        seen = self._infosets.seen_as(rows.infoset)
        self._observed[seen] = True
        add_by_row(rows.weight[:, None] * rows.values, seen, self._increment)

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        infosets, observed, before = self._infosets, self._observed, self._outputs
        rule = coefficient_table(self._rule, iteration, 1)[0]
        self._last_seen[observed] = iteration
        for number, network in enumerate(self.networks):
            if set(network.players) & set(players):
                updated = np.concatenate(
                    [np.full(infosets.num_rows[player], player in players) for player in network.players]
                )
                increment = self._config.multiple * self._increment[network.rows]
                self._fit(number, increment, observed[network.rows], updated, rule, iteration)
        self._read()
        mine = np.concatenate([np.arange(len(observed))[infosets.rows_of(player)] for player in players])
        self._observed_share = float(observed[mine].mean())
        unseen = infosets.legal[mine] & ~observed[mine][:, None]
        moved = _rms((self._outputs - before)[mine][unseen])
        size = _rms(before[mine][infosets.legal[mine]])
        self._drift = moved / size if size > 0.0 else 0.0
        self._increment[:] = 0.0
        self._observed[:] = False

    def _fit(self, number: int, increment: Float, seen: Bool, updated: Bool, rule: Float, iteration: int) -> None:
        """Fit one network to its own predictions, updated by the rule where infosets were seen."""
        network, config = self.networks[number], self._config
        before, target = self._target(self._outputs[network.rows], increment, rule)
        target[~updated] = before[~updated]  # a shared network holds the other player's regrets too
        self._choose_scale(number, target[seen][network.legal[seen]], iteration)
        anchor = np.full(len(seen), config.anchor)
        if config.anchor_memory:
            anchor[iteration - self._last_seen[network.rows] > config.anchor_memory] = 0.0
        # In a large game few infosets are seen: together, anchors must not outweigh them.
        anchor *= min(1.0, seen.sum() / max(anchor[~seen].sum(), 1e-30))
        weight = network.legal * np.where(seen, 1.0, anchor)[:, None]
        if not weight.any():
            return
        network.fit_to(target / self._scale[number], weight, config.fitting, iteration)

    def start_from(self, regret_sum: Float, iteration: int) -> None:
        for number, network in enumerate(self.networks):
            target = self._infosets.to_rows(regret_sum, network.players)
            self._choose_scale(number, target[network.legal], iteration)
            network.fit_to(target / self._scale[number], 1.0 * network.legal, cloning(self._config.fitting), 1)
        self._read()

    def state(self) -> State:
        return {**states_of(self.networks), "scale": self._scale, "last_seen": self._last_seen}

    def restore(self, state: State) -> None:
        restore_all(self.networks, state)
        self._scale = state["scale"].copy()
        self._last_seen = state["last_seen"].copy()
        self._read()

    def diagnostics(self) -> Diagnostics:
        return {**super().diagnostics(), "observed_share": self._observed_share}


class RowRegretNetworks(RegretNetworks):
    """Regrets of a game too large to list. Anchors are infosets that the last iterations met, as many as now.

    Increments are divided by a number that each infoset has once and for all (``unit``), which is nothing to regret
    matching, but much to a network: before the flop an infoset is met dozens of times a batch, after it once, and sums
    so different in size are not learnt together.
    """

    def __init__(
        self,
        rows: PokerRows,
        config: NetworkConfig,
        rule: Rule,
        unit: Callable[[Int64], Float],
        *,
        seed: int,
        device: torch.device,
    ) -> None:
        super().__init__(rows, config, rule, seed=seed, device=device)
        self._rows = rows
        self._unit = unit
        self._seed = seed
        self._met = [np.zeros(0, np.int64) for _ in self.networks]  # codes of the last iterations,
        self._met_in = [np.zeros(0, np.int64) for _ in self.networks]  # and which met them
        self._found = [Pending() for _ in self.networks]  # in this turn

    def scores_at(self, player: int, infosets: Int64 | None) -> FloatTable:
        assert infosets is not None, "there are too many infosets to ask for all"
        return self._predicted(self._number(player), infosets)

    def _number(self, player: int) -> int:
        return 0 if self._config.shared else player

    def _predicted(self, number: int, codes: Int64) -> Float:
        sums: Float = self._scale[number] * self.networks[number].read_at(codes)
        return sums

    def absorb(self, rows: Rows) -> None:
        self._found[self._number(rows.player)].add(rows)

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        rule = coefficient_table(self._rule, iteration, 1)[0]
        for number in sorted({self._number(player) for player in players}):
            found, self._found[number] = self._found[number].summed(), Pending()
            self._fit(number, found.infoset, found.values, rule, iteration)

    def start_from(self, regret_sum: Float, iteration: int) -> None:
        raise EquipoiseError(NOT_LISTED)

    def _fit(self, number: int, seen: Int64, increment: Float, rule: Float, iteration: int) -> None:
        network, config = self.networks[number], self._config
        increment = self._config.multiple * increment / self._unit(seen)[:, None]
        _, target = self._target(self._predicted(number, seen), increment, rule)
        anchors = self._anchors(number, seen, iteration)
        before = self._predicted(number, anchors)
        _, unmoved = self._target(before, np.zeros_like(before), rule)
        legal = self._rows.legal_at(seen)
        self._choose_scale(number, target[legal], iteration)
        weight = np.concatenate([1.0 * legal, config.anchor * self._rows.legal_at(anchors)])
        codes, targets = np.concatenate([seen, anchors]), np.concatenate([target, unmoved])
        network.fit_to(targets / self._scale[number], weight, config.fitting, iteration, codes)
        if len(anchors):
            moved = np.maximum(self._predicted(number, anchors), rule[3]) - unmoved
            self._drift = _rms(moved) / max(_rms(unmoved), 1e-30)
        recent = self._met_in[number] > iteration - max(1, config.anchor_memory)
        self._met[number] = np.concatenate([self._met[number][recent], seen])
        self._met_in[number] = np.concatenate([self._met_in[number][recent], np.full(len(seen), iteration)])

    def _anchors(self, number: int, seen: Int64, iteration: int) -> Int64:
        """Return some codes that were met in the last iterations, and not in this one."""
        if self._config.anchor == 0.0 or self._config.anchor_memory == 0:
            return np.zeros(0, np.int64)
        pool = np.setdiff1d(self._met[number], seen)
        generator = np.random.default_rng([self._seed, number, iteration])
        return pool if len(pool) <= len(seen) else generator.choice(pool, len(seen), replace=False)

    def state(self) -> State:
        own: State = {"scale": self._scale}
        for number in range(len(self.networks)):
            own[f"met{number}"], own[f"met_in{number}"] = self._met[number], self._met_in[number]
        return {**states_of(self.networks), **own}

    def restore(self, state: State) -> None:
        restore_all(self.networks, state)
        self._scale = state["scale"].copy()
        for number in range(len(self.networks)):
            self._met[number], self._met_in[number] = state[f"met{number}"].copy(), state[f"met_in{number}"].copy()


def states_of(networks: Sequence[TrainedNetwork]) -> State:
    """Return the states of some networks as one."""
    return joined({f"network{number}": network.state() for number, network in enumerate(networks)})


def restore_all(networks: Sequence[TrainedNetwork], state: State) -> None:
    """Give each of some networks its part of a state."""
    for number, network in enumerate(networks):
        network.restore(part_of(state, f"network{number}"))


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
        self._parts.append(InfosetSums(rows.infoset, rows.weight[:, None] * rows.values))

    def summed(self) -> InfosetSums:
        """Return the sums of all."""
        return sum_by_infoset(self._parts)


def sum_by_infoset(parts: Sequence[InfosetSums]) -> InfosetSums:
    """Return values summed by infoset."""
    infosets, which = distinct(np.concatenate([part.infoset for part in parts]))
    values = np.concatenate([part.values for part in parts])
    columns = [np.bincount(which, weights=column, minlength=len(infosets)) for column in values.T]
    return InfosetSums(infosets, np.stack(columns, axis=1).astype(np.float64))


NOT_LISTED = "a run can start from another only where infosets can be listed, and this game has too many"
CLONING_EPOCHS = 2000


def cloning(fitting: Fitting) -> Fitting:
    """Return how a network is fitted to another solver's sums: as ever, but for longer."""
    return replace(fitting, first_epochs=max(CLONING_EPOCHS, fitting.first_epochs))


def _rms(numbers: Float) -> float:
    return float(np.sqrt(np.mean(numbers * numbers))) if numbers.size else 0.0


def fit_diagnostics(name: str, networks: Sequence[TrainedNetwork]) -> Diagnostics:
    """Return loss, gradient norm and time of the networks' last fits, for the log; several have a mean loss, too."""
    fits = {number: network.fitted for number, network in enumerate(networks) if network.fitted is not None}
    if not fits:
        return {}
    found = {
        f"{name}_loss": sum(each.loss for each in fits.values()) / len(fits),
        f"{name}_fit_seconds": sum(each.seconds for each in fits.values()),
    }
    for number, each in fits.items():
        which = f"_{number}" if len(networks) > 1 else ""
        if which:
            found[f"{name}_loss{which}"] = each.loss
        if each.gradient_norm is not None:
            found[f"{name}_gradient_norm{which}"] = each.gradient_norm
    return found


class StrategyNetworks(BootstrappedNetworks, AnswersAtOnce):
    """The AvgStrategyNetwork: when it is fitted, and the weight of what it stands for."""

    name = "strategy"

    def __init__(
        self, infosets: Infosets | PokerRows, config: NetworkConfig, rule: Rule, *, seed: int, device: torch.device
    ) -> None:
        super().__init__(infosets, config, rule, seed=seed, device=device)
        self._weight = np.zeros((2, 2))  # of the iterations that the network stands for, and of those since; by player
        self._averaged: set[int] = set()  # in this turn

    def _add_weight(self, player: int, rule: Float) -> None:
        self._weight[:, player] *= rule[5]
        self._weight[1, player] += rule[6]

    def _due(self, iteration: int, players: tuple[int, ...]) -> bool:
        """Return whether the network is fitted after an iteration's turn of some players."""
        every = self._config.every
        early = iteration < every and iteration.bit_count() == 1  # 1, 2, 4, ...
        return 1 in players and (early or iteration % every == 0)


class NetworkStrategy(StrategyNetworks):
    """Averages of listed infosets. ``reach`` gives, by entry, the mass of the entry's infoset under a strategy."""

    def __init__(
        self,
        infosets: Infosets,
        config: NetworkConfig,
        rule: Rule,
        reach: Callable[[Float], Float],
        *,
        seed: int,
        device: torch.device,
    ) -> None:
        super().__init__(infosets, config, rule, seed=seed, device=device)
        self._infosets = infosets
        self._reach = reach
        self._pending = np.zeros(len(infosets.entry_row))  # sums since the last fit
        self._visits = np.zeros(len(infosets.entry_row))  # of this turn
        self._read()

    def _read(self) -> None:
        outputs = np.concatenate([network.read() for network in self.networks])
        if self._config.kind == "average":
            outputs = softmax(outputs, self._infosets.legal)
        self._table = self._infosets.to_table(outputs)

    def average(self) -> Float:
        positive: Float = np.maximum(self._table, 0.0)
        return positive

    def mixture(self, player: int) -> Mixture:
        listing = self._infosets.listing
        return [(1.0, lambda infosets: listing.at(self.average(), infosets))]

    def absorb(self, rows: Rows) -> None:
        self._averaged.add(rows.player)
        self._infosets.listing.write(rows.weight[:, None] * rows.values, rows.infoset, self._visits)

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        rule = coefficient_table(self._rule, iteration, 1)[0]
        for player in self._averaged:
            own = self._infosets.entries_of(player)
            self._pending[own] = rule[5] * self._pending[own] + rule[6] * self._visits[own]
            self._add_weight(player, rule)
        self._visits[:] = 0.0
        self._averaged.clear()
        if self._due(iteration, players):
            self._fit(iteration, self._config.fitting)

    def start_from(self, average: Float, reach: Float, iteration: int) -> None:
        whole = weight_until(self._rule, iteration)
        self._weight[0], self._weight[1] = 0.0, whole
        self._pending = whole * reach * average
        self._fit(1, cloning(self._config.fitting))

    def _fit(self, fit_number: int, fitting: Fitting) -> None:
        infosets, config = self._infosets, self._config
        sizes = infosets.table_sizes
        before, after = np.repeat(self._weight[0], sizes), np.repeat(self._weight.sum(axis=0), sizes)
        if config.kind == "average":
            sums = before * self._reach(self._table) * self._table + self._pending
        else:  # DN19 Eq. 8, over the weight so far
            sums = (before * self._table + self._pending) / after
        met = []
        for network in self.networks:
            summed = infosets.to_rows(sums, network.players)
            seen = infosets.to_rows(self._pending, network.players).sum(axis=1) > 0.0
            met.append(seen)
            enters = network.legal * (np.ones_like(seen) if config.all_rows else seen)[:, None]
            if config.kind == "average":
                mass = summed.sum(axis=1, keepdims=True)
                target, weight = summed / np.maximum(mass, 1e-300), enters * mass
            else:
                target, weight = summed / infosets.members[network.rows][:, None], 1.0 * enters
            if not (weight > 0.0).any():
                continue
            network.fit_to(target, weight, fitting, fit_number)
        self._weight[0], self._weight[1] = self._weight.sum(axis=0), 0.0
        self._pending[:] = 0.0
        table = self._table
        self._read()
        self._drift = _rms((self._table - table)[~np.concatenate(met)[infosets.entry_row]])

    def state(self) -> State:
        return {**states_of(self.networks), "pending": self._pending, "weight": self._weight}

    def restore(self, state: State) -> None:
        restore_all(self.networks, state)
        self._pending = state["pending"].copy()
        self._weight = state["weight"].copy()
        self._read()


class RowStrategyNetworks(StrategyNetworks):
    """Averages of a game too large to list, fitted on what was met since the last fit.

    What the network stands for is met too, in traversals (``traverse``) at its own strategy: their expectation is
    reach(p) x p. Added up only where new sums are, it would be lost: of a million infosets that are as likely as each
    other, a fit sees a few, and there the new sums are all that counts. Sums by own reach count in full wherever they
    are met (DN19 Algorithm 3): without ``traverse``, so does what the network stands for.
    """

    def __init__(
        self,
        rows: PokerRows,
        config: NetworkConfig,
        rule: Rule,
        traverse: Traverse | None,
        *,
        seed: int,
        device: torch.device,
    ) -> None:
        super().__init__(rows, config, rule, seed=seed, device=device)
        self._rows = rows
        self._traverse = traverse
        nothing = InfosetSums(np.zeros(0, np.int64), np.zeros((0, rows.num_columns)))
        self._pending = [nothing, nothing]  # by player: sums since the last fit
        self._visits = [Pending(), Pending()]  # of this turn

    def _network(self, player: int) -> TrainedNetwork:
        return self.networks[0 if self._config.shared else player]

    def _answers(self, player: int) -> NetworkAnswers:
        """Return what a player's network plays."""
        return answers_of(self._network(player), "softmax" if self._config.kind == "average" else "positive_shares")

    def mixture(self, player: int) -> Mixture:
        """Return the network's strategy."""
        return [(1.0, self._answers(player))]

    def average(self) -> Float:
        raise EquipoiseError("there are too many infosets for a table of the average")

    def start_from(self, average: Float, reach: Float, iteration: int) -> None:
        raise EquipoiseError(NOT_LISTED)

    def absorb(self, rows: Rows) -> None:
        self._averaged.add(rows.player)
        self._visits[rows.player].add(rows)

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        rule = coefficient_table(self._rule, iteration, 1)[0]
        for player in self._averaged:
            kept, new = self._pending[player], self._visits[player].summed()
            faded = InfosetSums(kept.infoset, rule[5] * kept.values)
            self._pending[player] = sum_by_infoset([faded, InfosetSums(new.infoset, rule[6] * new.values)])
            self._visits[player] = Pending()
            self._add_weight(player, rule)
        self._averaged.clear()
        if self._due(iteration, players):
            self._fit(iteration)

    def _fit(self, iteration: int) -> None:
        for network in self.networks:
            sums = [self._target(player, iteration) for player in network.players]
            codes = np.concatenate([each.infoset for each in sums])
            target = np.concatenate([each.values for each in sums])
            if len(codes) == 0:
                continue
            legal = self._rows.legal_at(codes)
            if self._config.kind == "average":
                mass = target.sum(axis=1, keepdims=True)
                network.fit_to(target / np.maximum(mass, 1e-300), legal * mass, self._config.fitting, iteration, codes)
            else:
                network.fit_to(target, 1.0 * legal, self._config.fitting, iteration, codes)
        self._weight[0], self._weight[1] = self._weight.sum(axis=0), 0.0
        self._pending = [InfosetSums(kept.infoset[:0], kept.values[:0]) for kept in self._pending]

    def _target(self, player: int, iteration: int) -> InfosetSums:
        """Return a player's sums since the last fit, and those that the network stands for."""
        new, (weight, since) = self._pending[player], self._weight[:, player]
        if self._config.kind == "sum":  # DN19 Eq. 8, over the weight so far: what was not met has no term in the loss
            before = weight * self._network(player).read_at(new.infoset)
            return InfosetSums(new.infoset, (before + new.values) / (weight + since))
        if weight == 0.0:
            return new
        if self._traverse is None:
            strategy_at = self._answers(player)
            reach = self._rows.own_reach_at(new.infoset, strategy_at)
            return InfosetSums(new.infoset, weight * reach[:, None] * strategy_at(new.infoset) + new.values)

        def probabilities_at(who: int, infosets: Int64 | None) -> FloatTable:
            # Probabilities are scores too: regret matching leaves them as they are. The traverser walks its actions
            # whatever it would play: its network need not be read.
            assert infosets is not None
            if who == player:
                return self._answers(who)(infosets)
            return np.zeros((len(infosets), self._rows.num_columns))

        met = Pending()
        for rows in self._traverse(probabilities_at, (1 - player,), REHEARSALS + iteration):
            if rows.kind == STRATEGY:
                met.add(rows)
        old = met.summed()
        return sum_by_infoset([InfosetSums(old.infoset, weight * old.values), new])

    def state(self) -> State:
        own: State = {"weight": self._weight}
        for player in range(2):
            own[f"code{player}"], own[f"pending{player}"] = self._pending[player]
        return {**states_of(self.networks), **own}

    def restore(self, state: State) -> None:
        restore_all(self.networks, state)
        self._weight = state["weight"].copy()
        self._pending = [InfosetSums(state[f"code{player}"], state[f"pending{player}"]) for player in range(2)]
