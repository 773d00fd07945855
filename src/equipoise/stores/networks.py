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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from equipoise.networks.fitting import Examples, Fitted, Fitting, fit, make_optimiser
from equipoise.networks.infosets import Infosets
from equipoise.networks.modules import Architecture, Network, inputs_of, make_network, num_parameters, read
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.stores.sums import Diagnostics, Found, State, update_all
from equipoise.trees.treeplex import Float, Int64


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


class PlayerNetworks:
    """A network for each player, or one for both, with optimisers and the rows that each has."""

    def __init__(self, infosets: Infosets, config: NetworkConfig, seed: int, device: torch.device) -> None:
        self.infosets = infosets
        self.config = config
        self._seed = seed
        self.device = device
        self.served: tuple[tuple[int, ...], ...] = ((0, 1),) if config.shared else ((0,), (1,))
        self.networks: list[Network] = []
        for number in range(len(self.served)):
            made = make_network(infosets, config.architecture, self.generator(0, number), head=0.0)
            self.networks.append(made.to(device))
        self.optimisers = [make_optimiser(network) for network in self.networks]
        self.rows = [self._slice(players) for players in self.served]
        self._inputs = [
            inputs_of(infosets, network, rows, device) for network, rows in zip(self.networks, self.rows, strict=True)
        ]
        legal = torch.from_numpy(infosets.legal).to(device)
        self.legal = [legal[rows] for rows in self.rows]
        self.dtype = next(self.networks[0].parameters()).dtype

    def _slice(self, players: tuple[int, ...]) -> slice:
        return slice(self.infosets.rows_of(players[0]).start, self.infosets.rows_of(players[-1]).stop)

    @property
    def num_parameters(self) -> int:
        """Return how many numbers all networks have."""
        return sum(num_parameters(network) for network in self.networks)

    def generator(self, fit_number: int, network: int) -> torch.Generator:
        """Return the random stream of a fit: made anew each time, so that a resumed run draws the same numbers."""
        words = np.random.SeedSequence([self._seed, fit_number, network]).generate_state(2, np.uint32)
        return torch.Generator().manual_seed(int(words[0]) << 31 | int(words[1]) >> 1)

    def read(self) -> Float:
        """Return the outputs of all rows."""
        return np.concatenate(
            [read(self.infosets, network, rows, self.device) for network, rows in zip(self.networks, self.rows, strict=True)]
        )

    def fit(self, number: int, target: Float, weight: Float, fit_number: int) -> Fitted:
        """Fit a network to targets of its rows; rows of weight zero are left out."""
        if not self.config.fitting.keep_optimiser:
            self.optimisers[number] = make_optimiser(self.networks[number])
        used = np.flatnonzero(weight.any(axis=1))
        inputs = self._inputs[number]
        if len(used) < len(target):
            first = self.rows[number].start
            inputs = inputs_of(self.infosets, self.networks[number], used + first, self.device)
        normal = weight[used] / weight[used].max(axis=1).sum()  # a loss is a mean over rows
        examples = Examples(inputs, self._tensor(target[used]), self._tensor(normal))
        fitting = self.config.fitting
        generator = self.generator(fit_number, number)
        return fit(
            self.networks[number], self.optimisers[number], examples, fitting, fit_number=fit_number, generator=generator
        )

    def _tensor(self, numbers: Float) -> torch.Tensor:
        return torch.from_numpy(numbers).to(self.device, self.dtype)

    def rescale(self, number: int, factor: float) -> None:
        """Multiply a network's outputs, by its output layer."""
        with torch.no_grad():
            for parameter in self.networks[number].head.parameters():
                parameter.mul_(factor)

    def state(self) -> State:
        """Return parameters and the optimisers' memory."""
        arrays: State = {}
        for number, (network, optimiser) in enumerate(zip(self.networks, self.optimisers, strict=True)):
            for name, parameter in network.named_parameters():
                arrays[f"{number}.{name}"] = parameter.detach().cpu().numpy().copy()
                for key, value in optimiser.state.get(parameter, {}).items():
                    arrays[f"{number}.{name}.{key}"] = value.detach().cpu().numpy().copy()
        return arrays

    def restore(self, state: State) -> None:
        """Continue from saved parameters."""
        for number, network in enumerate(self.networks):
            self.optimisers[number] = make_optimiser(network)
            with torch.no_grad():
                for name, parameter in network.named_parameters():
                    parameter.copy_(torch.from_numpy(state[f"{number}.{name}"]))
                    memory = {
                        key: torch.from_numpy(state[f"{number}.{name}.{key}"]).to(self.device)
                        for key in ("step", "exp_avg", "exp_avg_sq")
                        if f"{number}.{name}.{key}" in state
                    }
                    if memory:
                        memory["step"] = memory["step"].cpu()
                        self.optimisers[number].state[parameter] = memory


class NetworkRegrets:
    """The RegretSumNetwork."""

    def __init__(
        self, infosets: Infosets, config: NetworkConfig, rule: Rule, *, seed: int, device: torch.device
    ) -> None:
        self._infosets = infosets
        self._config = config
        self._rule = rule
        self.networks = PlayerNetworks(infosets, config, seed, device)
        self._scale = np.ones(len(self.networks.networks))
        self._last_seen = np.full(len(infosets.row_keys), -(10**9), np.int64)
        self._read()
        self._fitted: list[Fitted] = []
        self._drift = 0.0
        self._observed_share = 0.0

    def _read(self) -> None:
        outputs = self.networks.read()
        for number, rows in enumerate(self.networks.rows):
            outputs[rows] *= self._scale[number]
        self._outputs = outputs
        self._scores = outputs[self._infosets.entry_row, self._infosets.entry_column]

    def scores(self) -> Float:
        return self._scores

    def absorb(self, found: Found) -> None:
        infosets, networks, config = self._infosets, self.networks, self._config
        rule = coefficient_table(self._rule, found.iteration, 1)[0]
        observed = np.zeros(len(infosets.row_keys), np.bool_)
        observed[infosets.entry_row[found.observed]] = True
        self._last_seen[observed] = found.iteration
        self._fitted, drifts = [], []
        for number, (served, rows) in enumerate(zip(networks.served, networks.rows, strict=True)):
            if not set(served) & set(found.players):
                continue
            increment = np.concatenate([infosets.to_rows(found.regret[infosets.entries_of(p)], p) for p in served])
            before = self._outputs[rows]
            floored = np.maximum(before, rule[3])  # a sum that was clipped cannot be negative
            target = update_all(floored.ravel(), increment.ravel(), rule).reshape(before.shape)
            seen, legal = observed[rows], infosets.legal[rows]
            target[~seen] = floored[~seen]
            self._choose_scale(number, target[seen][legal[seen]], found.iteration)
            weight = legal * np.where(seen, 1.0, self._anchor_weight(rows, found.iteration))[:, None]
            scale = self._scale[number]
            self._fitted.append(networks.fit(number, target / scale, weight, found.iteration))
            if not seen.all():
                after = read(infosets, networks.networks[number], rows, networks.device) * scale
                unseen = legal & ~seen[:, None]
                drifts.append(_rms(after[unseen] - before[unseen]) / max(_rms(before[legal]), 1e-30))
        self._drift = float(np.mean(drifts)) if drifts else 0.0
        mine = np.concatenate([np.arange(len(observed))[infosets.rows_of(p)] for p in found.players])
        self._observed_share = float(observed[mine].mean())
        self._read()

    def _anchor_weight(self, rows: slice, iteration: int) -> Float:
        recent = np.ones(rows.stop - rows.start)
        if self._config.anchor_memory:
            recent = (iteration - self._last_seen[rows] <= self._config.anchor_memory).astype(np.float64)
        return self._config.anchor * recent

    def _choose_scale(self, number: int, targets: Float, iteration: int) -> None:
        """Choose what predictions are divided by; a power of two, so that dividing loses nothing."""
        if self._config.scale == "sqrt":  # DN19 Eq. 9: R / sqrt(t); nothing is rescaled
            self._scale[number] = np.sqrt(iteration)
            return
        size = _rms(targets)
        if size > 0.0 and not 0.6 < size / self._scale[number] < 1.7:
            new = 2.0 ** np.round(np.log2(size))
            self.networks.rescale(number, self._scale[number] / new)
            self._scale[number] = new

    def state(self) -> State:
        return {**self.networks.state(), "scale": self._scale, "last_seen": self._last_seen}

    def restore(self, state: State) -> None:
        self.networks.restore(state)
        self._scale = state["scale"].copy()
        self._last_seen = state["last_seen"].copy()
        self._read()

    def diagnostics(self) -> Diagnostics:
        return {
            "regret_loss": float(np.mean([f.loss for f in self._fitted])) if self._fitted else 0.0,
            "regret_drift": self._drift,
            "regret_fit_seconds": sum(f.seconds for f in self._fitted),
            "observed_share": self._observed_share,
        }


def _rms(numbers: Float) -> float:
    return float(np.sqrt(np.mean(numbers * numbers))) if numbers.size else 0.0


class NetworkStrategy:
    """The AvgStrategyNetwork. ``reach(p)`` gives the mass of each entry's infoset under the strategy p."""

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
        self.networks = PlayerNetworks(infosets, config, seed, device)
        self._pending = np.zeros_like(infosets.entry_row, np.float64)  # sums since the last fit
        self._weight_before = 0.0  # of all iterations that the network stands for
        self._weight_pending = 0.0
        self._read()
        self._fitted: list[Fitted] = []
        self._drift = 0.0

    def _read(self) -> None:
        outputs = self.networks.read()
        if self._config.kind == "average":
            logits = np.where(self._infosets.legal, outputs, -np.inf)
            powers = np.exp(logits - logits.max(axis=1, keepdims=True))
            outputs = powers / powers.sum(axis=1, keepdims=True)
        self._outputs = outputs
        self._table = outputs[self._infosets.entry_row, self._infosets.entry_column]

    def average(self) -> Float:
        return np.maximum(self._table, 0.0)

    def absorb(self, found: Found) -> None:
        rule = coefficient_table(self._rule, found.iteration, 1)[0]
        self._pending += rule[6] * found.visits
        self._weight_pending += rule[6] * len(found.averaged) / 2
        last_turn = 1 in found.players
        if last_turn and (found.iteration <= self._config.every or found.iteration % self._config.every == 0):
            self._fit(found.iteration)

    def _fit(self, iteration: int) -> None:
        infosets, networks = self._infosets, self.networks
        whole = self._weight_before + self._weight_pending
        if self._config.kind == "average":
            sums = self._weight_before * self._reach(self._table) * self._table + self._pending
        else:
            sums = (self._weight_before * self._table + self._pending) / whole
        self._fitted, drifts = [], []
        for number, (served, rows) in enumerate(zip(networks.served, networks.rows, strict=True)):
            summed = np.concatenate([infosets.to_rows(sums[infosets.entries_of(p)], p) for p in served])
            fresh = np.concatenate([infosets.to_rows(self._pending[infosets.entries_of(p)], p) for p in served])
            legal = infosets.legal[rows]
            seen = fresh.sum(axis=1) > 0.0
            anchored = np.ones(len(seen)) if not self._config.anchor_memory else np.zeros(len(seen))
            entering = np.where(seen, 1.0, anchored)[:, None] * legal
            if self._config.kind == "average":
                mass = summed.sum(axis=1)
                target = summed / np.maximum(mass, 1e-300)[:, None]
                weight = entering * mass[:, None]
            else:
                target = summed / infosets.members[rows][:, None]
                weight = entering
            if not (weight > 0.0).any():
                continue
            before = self._outputs[rows]
            self._fitted.append(networks.fit(number, target, weight, iteration))
            del before
        self._weight_before, self._weight_pending = whole, 0.0
        self._pending = np.zeros_like(self._pending)
        before_table = self._table
        self._read()
        self._drift = _rms(self._table - before_table)
        del drifts

    def state(self) -> State:
        weights = np.array([self._weight_before, self._weight_pending])
        return {**self.networks.state(), "pending": self._pending, "weights": weights}

    def restore(self, state: State) -> None:
        self.networks.restore(state)
        self._pending = state["pending"].copy()
        self._weight_before, self._weight_pending = (float(w) for w in state["weights"])
        self._read()

    def diagnostics(self) -> Diagnostics:
        return {
            "strategy_loss": float(np.mean([f.loss for f in self._fitted])) if self._fitted else 0.0,
            "strategy_change": self._drift,
            "strategy_fit_seconds": sum(f.seconds for f in self._fitted),
        }
