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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from equipoise.networks.fitting import Fitting
from equipoise.networks.infosets import Infosets
from equipoise.networks.modules import Architecture
from equipoise.networks.trained import TrainedNetwork
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.stores.sums import Diagnostics, Found, State, joined, part_of, update_all, weight_until
from equipoise.trees.treeplex import Float

Bool = npt.NDArray[np.bool_]

NEVER = -(10**9)


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


def make_networks(
    infosets: Infosets, config: NetworkConfig, *, seed: int, device: torch.device
) -> tuple[TrainedNetwork, ...]:
    """Return a network for each player, or one for both. Predictions start at zero."""
    served: tuple[tuple[int, ...], ...] = ((0, 1),) if config.shared else ((0,), (1,))
    return tuple(
        TrainedNetwork(infosets, players, config.architecture, head=0.0, seed=seed, device=device) for players in served
    )


class NetworkRegrets:
    """The RegretSumNetwork."""

    has_sums = True

    def __init__(
        self, infosets: Infosets, config: NetworkConfig, rule: Rule, *, seed: int, device: torch.device
    ) -> None:
        self._infosets = infosets
        self._config = config
        self._rule = rule
        self.networks = make_networks(infosets, config, seed=seed, device=device)
        self._scale = np.ones(len(self.networks))
        self._last_seen = np.full(len(infosets.row_keys), NEVER, np.int64)
        self._drift = 0.0
        self._observed_share = 0.0
        self._read()

    def _read(self) -> None:
        self._outputs = np.concatenate(
            [scale * network.read() for scale, network in zip(self._scale, self.networks, strict=True)]
        )
        self._scores = self._infosets.to_table(self._outputs)

    def scores(self) -> Float:
        return self._scores

    def absorb(self, found: Found) -> None:
        infosets = self._infosets
        rule = coefficient_table(self._rule, found.iteration, 1)[0]
        observed = np.zeros(len(infosets.row_keys), np.bool_)
        observed[infosets.entry_row[found.observed]] = True
        self._last_seen[observed] = found.iteration
        before = self._outputs
        for number, network in enumerate(self.networks):
            if set(network.players) & set(found.players):
                increment = infosets.to_rows(found.regret, network.players)
                updated = np.concatenate(
                    [np.full(infosets.num_rows[player], player in found.players) for player in network.players]
                )
                self._fit(number, increment, observed[network.rows], updated, rule, found.iteration)
        self._read()
        mine = np.concatenate([np.arange(len(observed))[infosets.rows_of(player)] for player in found.players])
        self._observed_share = float(observed[mine].mean())
        unseen = infosets.legal[mine] & ~observed[mine][:, None]
        moved = _rms((self._outputs - before)[mine][unseen])
        size = _rms(before[mine][infosets.legal[mine]])
        self._drift = moved / size if size > 0.0 else 0.0

    def _fit(self, number: int, increment: Float, seen: Bool, updated: Bool, rule: Float, iteration: int) -> None:
        """Fit one network to its own predictions, updated by the rule where infosets were seen (DN19 Eq. 7, 14)."""
        network, config = self.networks[number], self._config
        before = np.maximum(self._outputs[network.rows], rule[3])  # what was clipped is not negative
        target = update_all(before.ravel(), increment.ravel(), rule).reshape(before.shape)
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

    def state(self) -> State:
        return {**states_of(self.networks), "scale": self._scale, "last_seen": self._last_seen}

    def restore(self, state: State) -> None:
        restore_all(self.networks, state)
        self._scale = state["scale"].copy()
        self._last_seen = state["last_seen"].copy()
        self._read()

    def diagnostics(self) -> Diagnostics:
        own = {"regret_drift": self._drift, "observed_share": self._observed_share}
        own["regret_parameters"] = sum(network.num_parameters for network in self.networks)
        return {**fit_diagnostics("regret", self.networks), **own}


def states_of(networks: Sequence[TrainedNetwork]) -> State:
    """Return the states of some networks as one."""
    return joined({f"network{number}": network.state() for number, network in enumerate(networks)})


def restore_all(networks: Sequence[TrainedNetwork], state: State) -> None:
    """Give each of some networks its part of a state."""
    for number, network in enumerate(networks):
        network.restore(part_of(state, f"network{number}"))


CLONING_EPOCHS = 2000


def cloning(fitting: Fitting) -> Fitting:
    """Return how a network is fitted to another solver's sums: as ever, but for longer."""
    return replace(fitting, first_epochs=max(CLONING_EPOCHS, fitting.first_epochs))


def _rms(numbers: Float) -> float:
    return float(np.sqrt(np.mean(numbers * numbers))) if numbers.size else 0.0


def fit_diagnostics(name: str, networks: Sequence[TrainedNetwork]) -> Diagnostics:
    """Return the mean loss and the time of the networks' last fits, for the log."""
    fits = [network.fitted for network in networks if network.fitted is not None]
    if not fits:
        return {}
    return {
        f"{name}_loss": sum(each.loss for each in fits) / len(fits),
        f"{name}_fit_seconds": sum(each.seconds for each in fits),
    }


class NetworkStrategy:
    """The AvgStrategyNetwork. ``reach`` gives, by entry, the mass of the entry's infoset under a strategy."""

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
        self._infosets = infosets
        self._config = config
        self._rule = rule
        self._reach = reach
        self.networks = make_networks(infosets, config, seed=seed, device=device)
        self._pending = np.zeros(len(infosets.entry_row))  # sums since the last fit
        self._weight = np.zeros((2, 2))  # of the iterations that the network stands for, and of those since; by player
        self._drift = 0.0
        self._read()

    def _read(self) -> None:
        outputs = np.concatenate([network.read() for network in self.networks])
        if self._config.kind == "average":
            outputs = softmax(outputs, self._infosets.legal)
        self._table = self._infosets.to_table(outputs)

    def average(self) -> Float:
        positive: Float = np.maximum(self._table, 0.0)
        return positive

    def absorb(self, found: Found) -> None:
        rule = coefficient_table(self._rule, found.iteration, 1)[0]
        for player in found.averaged:
            own = found.entries[player]
            self._pending[own] = rule[5] * self._pending[own] + rule[6] * found.visits[own]
            self._weight[:, player] *= rule[5]
            self._weight[1, player] += rule[6]
        complete = 1 in found.players
        every = self._config.every
        early = found.iteration < every and found.iteration.bit_count() == 1  # 1, 2, 4, ...
        if complete and (early or found.iteration % every == 0):
            self._fit(found.iteration, self._config.fitting)

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
            enters = network.legal * (seen if config.anchor_memory else np.ones_like(seen))[:, None]
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

    def diagnostics(self) -> Diagnostics:
        own = {"strategy_parameters": float(sum(network.num_parameters for network in self.networks))}
        return {**fit_diagnostics("strategy", self.networks), "strategy_drift": self._drift, **own}


def softmax(outputs: Float, legal: Bool) -> Float:
    """Return the strategies that outputs stand for when they were fitted by cross-entropy."""
    logits = np.where(legal, outputs, -np.inf)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    strategies: Float = powers / powers.sum(axis=1, keepdims=True)
    return strategies
