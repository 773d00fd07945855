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

What a turn found is kept, and what is to be learnt from it is found out, by a part that knows how infosets are
represented: `stores.listed` where they are listed, `stores.coded` where they are too many.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch

from equipoise.networks.fitting import Fitting
from equipoise.networks.network import Architecture
from equipoise.networks.rows import SeenRows
from equipoise.networks.trained import TrainedNetwork
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.sampling.rows import Rows, ScoresAt
from equipoise.stores.answers import answers_of
from equipoise.stores.sums import (
    AnswersAtOnce,
    Diagnostics,
    Mixture,
    State,
    joined,
    kept_as,
    part_of,
    update_all,
    weight_until,
)
from equipoise.trees.treeplex import Float, Int64

Bool = npt.NDArray[np.bool_]
FloatTable = npt.NDArray[np.float64]


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

    @property
    def answer(self) -> str:
        """Return how outputs become probabilities, for an average."""
        return "softmax" if self.kind == "average" else "positive_shares"


def make_networks(
    infosets: SeenRows, config: NetworkConfig, *, seed: int, device: torch.device
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
        self, infosets: SeenRows, config: NetworkConfig, rule: Rule, *, seed: int, device: torch.device
    ) -> None:
        self._config = config
        self._rule = rule
        self.networks = make_networks(infosets, config, seed=seed, device=device)
        self._drift = 0.0  # of infosets that were not observed, in the last fit

    def _number(self, player: int) -> int:
        """Return which network is a player's."""
        return 0 if self._config.shared else player

    def diagnostics(self) -> Diagnostics:
        """Return the last fit, and how far it moved what was not observed, for the log."""
        parameters = float(sum(network.num_parameters for network in self.networks))
        own = {f"{self.name}_drift": self._drift, f"{self.name}_parameters": parameters}
        return {**fit_diagnostics(self.name, self.networks), **own}


class RegretLesson(NamedTuple):
    """What a network of regrets is to learn from a turn, by row."""

    rows: Int64 | None  # codes; None: all of the network's rows, in their order
    before: Float  # [rows, columns] the network's outputs
    increment: Float  # [rows, columns] what was found; zero where nothing was
    unit: Float  # [rows] what increments are divided by
    legal: Bool  # [rows, columns]
    seen: Bool  # [rows] whether anything was found
    idle: Bool  # [rows] of a player who did not traverse, in a network that is shared: left as they are
    anchor: Float  # [rows] the weight of those that were not seen


class Increments(Protocol):
    """Regrets that a turn found, kept as infosets are represented; and what networks say of infosets."""

    @property
    def seen(self) -> SeenRows:
        """Return what networks see of infosets."""

    def scores(self, networks: tuple[TrainedNetwork, ...], scale: tuple[float, ...]) -> ScoresAt:
        """Return what says both players' networks' outputs times their scale."""

    def add(self, number: int, rows: Rows) -> None:
        """Take in findings for the network with this number."""

    def lesson(
        self, number: int, network: TrainedNetwork, players: tuple[int, ...], config: NetworkConfig, iteration: int
    ) -> RegretLesson:
        """Return what a network is to learn from a turn of some players."""

    def reread(self, network: TrainedNetwork, lesson: RegretLesson, which: Bool) -> Float:
        """Return a network's outputs, after its fit, at some rows of its lesson."""

    def close(self, players: tuple[int, ...]) -> None:
        """End a turn of some players."""

    def from_table(self, table: Float, network: TrainedNetwork) -> Float:
        """Return a table's entries by row of a network and column; refuse where infosets are not listed."""

    def state(self) -> State:
        """Return all that the next turns depend on."""

    def restore(self, state: State) -> None:
        """Continue from a saved state: outputs are read again."""

    def diagnostics(self) -> Diagnostics:
        """Return numbers about the last turn, for the log."""


class NetworkRegrets(BootstrappedNetworks):
    """The RegretSumNetwork: what it is fitted to, and in what unit."""

    name = "regret"
    has_sums = True

    def __init__(
        self, found: Increments, config: NetworkConfig, rule: Rule, *, seed: int, device: torch.device
    ) -> None:
        super().__init__(found.seen, config, rule, seed=seed, device=device)
        self._found = found
        self._scale = np.ones(len(self.networks))

    @property
    def scores_at(self) -> ScoresAt:
        numbers = [self._number(player) for player in range(2)]
        return self._found.scores(
            tuple(self.networks[number] for number in numbers), tuple(float(self._scale[number]) for number in numbers)
        )

    def absorb(self, rows: Rows) -> None:
        self._found.add(self._number(rows.player), rows)

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        rule = coefficient_table(self._rule, iteration, 1)[0]
        numbers = sorted({self._number(player) for player in players})
        drifts = [self._fit(number, players, rule, iteration) for number in numbers]
        self._drift = sum(drifts) / len(drifts)
        self._found.close(players)

    def _fit(self, number: int, players: tuple[int, ...], rule: Float, iteration: int) -> float:
        """Fit a network to its own predictions, updated by the rule; return how far those moved that were not seen."""
        network, config = self.networks[number], self._config
        lesson = self._found.lesson(number, network, players, config, iteration)
        predicted = self._scale[number] * lesson.before
        before, target = self._target(predicted, config.multiple * lesson.increment / lesson.unit[:, None], rule)
        target[lesson.idle] = before[lesson.idle]
        self._choose_scale(number, target[lesson.seen][lesson.legal[lesson.seen]], iteration)
        weight = lesson.legal * np.where(lesson.seen, 1.0, lesson.anchor)[:, None]
        if not weight.any():
            return 0.0
        network.fit_to(target / self._scale[number], weight, config.fitting, iteration, lesson.rows)
        unseen = ~lesson.seen & ~lesson.idle
        moved = self._scale[number] * self._found.reread(network, lesson, unseen) - predicted[unseen]
        size = rms(predicted[~lesson.idle][lesson.legal[~lesson.idle]])
        return rms(moved[lesson.legal[unseen]]) / size if size > 0.0 else 0.0

    def _target(self, outputs: Float, increment: Float, rule: Float) -> tuple[Float, Float]:
        """Return predictions, and what they become by the rule (DN19 Eq. 7, 14)."""
        before = np.maximum(outputs, rule[3])  # what was clipped is not negative
        return before, update_all(before.ravel(), increment.ravel(), rule).reshape(before.shape)

    def _choose_scale(self, number: int, targets: Float, iteration: int) -> None:
        """Choose what predictions are divided by; a power of two, so that dividing loses nothing."""
        if self._config.scale == "sqrt":  # DN19 Eq. 9: the network tracks R / sqrt(t); nothing is rescaled
            self._scale[number] = np.sqrt(iteration)
            return
        size = rms(targets)
        if size > 0.0 and not 0.6 < size / self._scale[number] < 1.7:
            new = 2.0 ** np.round(np.log2(size))
            self.networks[number].network.scale_outputs(self._scale[number] / new)
            self._scale[number] = new

    def start_from(self, regret_sum: Float, iteration: int) -> None:
        for number, network in enumerate(self.networks):
            target = self._found.from_table(regret_sum, network)
            self._choose_scale(number, target[network.legal], iteration)
            network.fit_to(target / self._scale[number], 1.0 * network.legal, cloning(self._config.fitting), 1)
        self._found.restore(self._found.state())

    def state(self) -> State:
        return {**states_of(self.networks), "scale": self._scale, **self._found.state()}

    def restore(self, state: State) -> None:
        restore_all(self.networks, state)
        self._scale = kept_as(self._scale, state["scale"])
        self._found.restore(state)

    def diagnostics(self) -> Diagnostics:
        return {**super().diagnostics(), **self._found.diagnostics()}


class StrategyLesson(NamedTuple):
    """What a network of averages is to learn, by row."""

    rows: Int64 | None  # codes; None: all of the network's rows, in their order
    sums: Float  # [rows, columns] what the network stands for, and what is new
    enters: Bool  # [rows, columns] whether it counts in the loss


class StrategySums(Protocol):
    """Sums of strategies since the last fit, kept as infosets are represented."""

    @property
    def seen(self) -> SeenRows:
        """Return what networks see of infosets."""

    def add(self, rows: Rows) -> None:
        """Take in what a turn found."""

    def fade(self, player: int, old: float, new: float) -> None:
        """Add a player's findings of the turn to its sums, each of the two with its weight."""

    def lessons(
        self, networks: Sequence[TrainedNetwork], weight: Float, config: NetworkConfig, fit_number: int
    ) -> Iterator[StrategyLesson]:
        """Yield what each network is to learn; ``weight`` is that of what it stands for, and of what came since."""

    def close(self, networks: Sequence[TrainedNetwork], config: NetworkConfig) -> float:
        """Start new sums after a fit; return how far it moved what was not met, where that is known."""

    def table(self, networks: Sequence[TrainedNetwork], config: NetworkConfig) -> Float:
        """Return what networks say, by table entry; refuse where infosets are not listed."""

    def start_from(self, sums: Float) -> None:
        """Take over sums by table entry; refuse where infosets are not listed."""

    def state(self) -> State:
        """Return all that the next turns depend on."""

    def restore(self, state: State) -> None:
        """Continue from a saved state: outputs are read again."""


class NetworkStrategy(BootstrappedNetworks, AnswersAtOnce):
    """The AvgStrategyNetwork: when it is fitted, to what, and the weight of what it stands for."""

    name = "strategy"

    def __init__(
        self, sums: StrategySums, config: NetworkConfig, rule: Rule, *, seed: int, device: torch.device
    ) -> None:
        super().__init__(sums.seen, config, rule, seed=seed, device=device)
        self._sums = sums
        self._weight = np.zeros((2, 2))  # of the iterations that the network stands for, and of those since; by player
        self._averaged: set[int] = set()  # in this turn

    def average(self) -> Float:
        positive: Float = np.maximum(self._sums.table(self.networks, self._config), 0.0)
        return positive

    def mixture(self, player: int) -> Mixture:
        """Return the network's strategy."""
        return [(1.0, answers_of(self.networks[self._number(player)], self._config.answer))]

    def absorb(self, rows: Rows) -> None:
        self._averaged.add(rows.player)
        self._sums.add(rows)

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        rule = coefficient_table(self._rule, iteration, 1)[0]
        for player in self._averaged:
            self._sums.fade(player, rule[5], rule[6])
            self._weight[:, player] *= rule[5]
            self._weight[1, player] += rule[6]
        self._averaged.clear()
        if self._due(iteration, players):
            self._fit(iteration, self._config.fitting)

    def _due(self, iteration: int, players: tuple[int, ...]) -> bool:
        """Return whether the network is fitted after an iteration's turn of some players."""
        every = self._config.every
        early = iteration < every and iteration.bit_count() == 1  # 1, 2, 4, ...
        return 1 in players and (early or iteration % every == 0)

    def _fit(self, fit_number: int, fitting: Fitting) -> None:
        lessons = self._sums.lessons(self.networks, self._weight, self._config, fit_number)
        for network, lesson in zip(self.networks, lessons, strict=True):
            target, weight = lesson.sums, 1.0 * lesson.enters
            if self._config.kind == "average":
                mass = lesson.sums.sum(axis=1, keepdims=True)
                target, weight = lesson.sums / np.maximum(mass, 1e-300), lesson.enters * mass
            if (weight > 0.0).any():
                network.fit_to(target, weight, fitting, fit_number, lesson.rows)
        self._weight[0], self._weight[1] = self._weight.sum(axis=0), 0.0
        self._drift = self._sums.close(self.networks, self._config)

    def start_from(self, average: Float, reach: Float, iteration: int) -> None:
        whole = weight_until(self._rule, iteration)
        self._sums.start_from(whole * reach * average)
        self._weight[0], self._weight[1] = 0.0, whole
        self._fit(1, cloning(self._config.fitting))

    def state(self) -> State:
        return {**states_of(self.networks), **self._sums.state(), "weight": self._weight}

    def restore(self, state: State) -> None:
        restore_all(self.networks, state)
        self._sums.restore(state)
        self._weight = kept_as(self._weight, state["weight"])


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


def rms(numbers: Float) -> float:
    """Return the root of the mean square of some numbers; of none, zero."""
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
