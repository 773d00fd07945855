"""The one loop that fits every network here, after DN19 Algorithm 2.

1. Take the next batch (all examples, a random part of them, or a draw from a memory). 2. Loss, gradient, clipping, a
step of Adam. 3. After each pass over the examples: lower the rate on a plateau, raise it again after a stall, stop when
the loss is small enough, and keep the best parameters. Which of these happen is the configuration's choice; the
simplest is a fixed number of steps with a rate that falls within the fit and from fit to fit.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from equipoise.networks.network import Inputs, Network

Loss = Literal["squared", "positive", "cross_entropy", "squared_probabilities"]

NEGATIVE_WEIGHT = 0.01  # of an output below zero whose target is zero, in the loss called `positive`
LEAST = 1e-6  # the smallest probability that a logit stands for
ILLEGAL = -1e9  # added to the logits of illegal actions


class Examples(NamedTuple):
    """Rows with targets. ``weight`` is zero where an action is illegal: illegal actions never enter a loss."""

    inputs: Inputs
    target: Tensor  # [rows, columns]
    weight: Tensor  # [rows, columns]


Drawn = Examples | Callable[[], Examples]  # a function draws a new batch for each step


@dataclass(frozen=True, kw_only=True)
class Plateau:
    """DN19 Algorithm 2's schedule: what happens when the mean loss of an epoch stops falling."""

    factor: float
    patience: int
    floor: float = 1e-6
    reset_after: int = 100
    good_enough: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """How a network is fitted."""

    epochs: int = 80
    first_epochs: int = 400  # of a fresh network
    batch: int = 0  # rows a step; 0: all of them
    holdings: int = 0  # rows that are codes: holdings a step, with all rows that they have; 0: rows are drawn instead
    rate: float = 4e-3
    final_share: float = 0.05  # of the rate, at the last step of a fit; 1.0 keeps it
    fall: Literal["exponential", "linear"] = "exponential"
    slower_after: float = 50.0  # iterations, from which the rate falls from fit to fit,
    slower_power: float = 0.6  # as (slower_after / t) to this power;
    slowest_after: float = math.inf  # iterations, from which it falls as 1 / t, as changes of means do
    clip_value: float = 0.0  # 0: no clipping
    clip_norm: float = 0.0
    keep_optimiser: bool = True
    # A fit whose first step pulls all outputs by less than this, in sum, is left out. Adam makes steps of full size
    # from gradients of any size, so a network whose targets are what it says already would be led by rounding errors.
    least_pull: float = 0.0
    plateau: Plateau | None = None
    loss: Loss = "squared"
    mixed: bool = False  # networks multiply in bfloat16


class Fitted(NamedTuple):
    """What a fit came to."""

    loss: float
    steps: int
    seconds: float
    gradient_norm: float | None = None  # of the last step, before clipping; None: not known any more


def loss_and_gradient(kind: Loss, outputs: Tensor, target: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of losses and its gradient; a row's weight is that of each of its legal actions.

    Written out, because the graph that autograd would keep for these few lines costs as much as a small network.
    """
    if kind == "cross_entropy":
        # Targets of legal actions sum to 1, so the gradient is (softmax - target) x weight.
        logits = torch.where(weight > 0, outputs, outputs.new_tensor(ILLEGAL))
        log_probabilities = torch.log_softmax(logits, dim=1)
        return -(weight * target * log_probabilities).sum(), weight * (log_probabilities.exp() - target)
    if kind == "squared_probabilities":  # B19 Algorithm 1, line 10: outputs are logits
        probabilities = torch.softmax(torch.where(weight > 0, outputs, outputs.new_tensor(ILLEGAL)), dim=1)
        pulls = 2.0 * weight * (probabilities - target)
        gradient = probabilities * (pulls - (pulls * probabilities).sum(dim=1, keepdim=True))
        return (0.5 * pulls * (probabilities - target)).sum(), gradient
    errors = outputs - target
    if kind == "positive":  # only the positive part matters to regret matching
        weight = torch.where((target <= 0.0) & (outputs < 0.0), NEGATIVE_WEIGHT * weight, weight)
    pulls = weight * errors
    return (pulls * errors).sum(), 2.0 * pulls


def outputs_for(kind: Loss, target: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return outputs that leave no loss: the targets, or their logits where outputs become probabilities."""
    return target if kind in ("squared", "positive") else np.log(np.maximum(target, LEAST))


def make_optimiser(network: Network) -> torch.optim.Adam:
    """Return Adam; fused, because these networks are so small that calls cost more than arithmetic."""
    return torch.optim.Adam(network.parameters(), lr=1e-3, fused=True)


def fit(
    network: Network,
    optimiser: torch.optim.Adam,
    examples: Drawn,
    fitting: Fitting,
    *,
    fit_number: int,
    generator: torch.Generator,
    epochs: int | None = None,
    on_share: Callable[[float], None] = lambda share: None,
) -> Fitted:
    """Fit a network to examples, or to what a function draws for each step. ``fit_number`` counts from 1.

    ``on_share`` is told before each epoch how much is done; what it raises ends the fit.
    """
    started = time.perf_counter()
    if epochs is None:
        epochs = fitting.first_epochs if fit_number == 1 else fitting.epochs
    rate = fitting.rate
    if fitting.slower_power > 0.0:
        rate *= min(1.0, fitting.slower_after / fit_number) ** fitting.slower_power
        rate *= min(1.0, fitting.slowest_after / fit_number) ** (1.0 - fitting.slower_power)
    if fitting.least_pull > 0.0 and isinstance(examples, tuple):
        with torch.no_grad():
            loss, pull = loss_and_gradient(fitting.loss, network(examples.inputs), examples.target, examples.weight)
        if float(pull.abs().sum()) < fitting.least_pull:
            return Fitted(float(loss), 0, time.perf_counter() - started)
    schedule = _PlateauSchedule(fitting.plateau, rate) if fitting.plateau is not None else None
    best: list[Tensor] | None = None
    steps = 0
    losses: list[Tensor] = []
    norm: Tensor | None = None
    parameters = list(network.parameters())
    network.mixed = fitting.mixed

    def gradient_of(batch: Examples, outputs: Tensor, rows: slice) -> Tensor:
        loss, gradient = loss_and_gradient(fitting.loss, outputs, batch.target[rows], batch.weight[rows])
        losses.append(loss if rows.start == 0 else losses.pop() + loss)
        return gradient

    for epoch in range(epochs):
        on_share(epoch / epochs)
        now = schedule.rate if schedule is not None else _falling(fitting, rate, epoch / max(1, epochs - 1))
        for group in optimiser.param_groups:
            group["lr"] = now
        losses.clear()
        started_from = [parameter.detach().clone() for parameter in parameters] if schedule is not None else []
        for batch in _batches(network, examples, fitting.batch, generator):
            network.backpropagate(batch.inputs, partial(gradient_of, batch))
            if epoch == epochs - 1:
                norm = torch.linalg.vector_norm(
                    torch.stack([g.norm() for p in parameters if (g := p.grad) is not None])
                )
            if fitting.clip_value > 0.0:
                torch.nn.utils.clip_grad_value_(parameters, fitting.clip_value)
            if fitting.clip_norm > 0.0:
                torch.nn.utils.clip_grad_norm_(parameters, fitting.clip_norm)
            optimiser.step()
            steps += 1
        if schedule is not None:
            mean = float(torch.stack(losses).mean())
            if schedule.is_best(mean):
                # A loss is measured before its step: with one batch an epoch, where the epoch started is what it is of.
                single = len(losses) == 1
                best = started_from if single else [parameter.detach().clone() for parameter in parameters]
            if schedule.finished(mean):
                break
    if best is not None:
        with torch.no_grad():
            for parameter, kept in zip(parameters, best, strict=True):
                parameter.copy_(kept)
    last = schedule.best if schedule is not None else float(torch.stack(losses).mean())
    return Fitted(last, steps, time.perf_counter() - started, None if norm is None else float(norm))


def _falling(fitting: Fitting, rate: float, share: float) -> float:
    if fitting.fall == "linear":
        return rate * (1.0 - share * (1.0 - fitting.final_share))
    return rate * math.exp(share * math.log(fitting.final_share))


def _batches(network: Network, examples: Drawn, size: int, generator: torch.Generator) -> Iterator[Examples]:
    if not isinstance(examples, tuple):
        yield examples()
        return
    rows = examples.target.shape[0]
    if size == 0 or size >= rows:
        yield examples
        return
    order = torch.randperm(rows, generator=generator).to(examples.target.device)
    for chosen in torch.split(order, size):
        scale = rows / len(chosen)  # so that a batch's loss stands for that of all rows
        inputs = network.some(examples.inputs, chosen)
        yield Examples(inputs, examples.target[chosen], scale * examples.weight[chosen])


class _PlateauSchedule:
    """DN19 Algorithm 2, lines 12 to 19."""

    def __init__(self, plateau: Plateau, rate: float) -> None:
        self._plateau = plateau
        self._first_rate = rate
        self.rate = rate
        self.best = math.inf
        self._since_best = 0
        self._since_change = 0

    def is_best(self, loss: float) -> bool:
        """Take note of an epoch's loss; return whether it is the lowest so far."""
        better = loss < self.best
        self._since_best = 0 if better else self._since_best + 1
        self._since_change = 0 if better else self._since_change + 1
        self.best = min(self.best, loss)
        if self._since_change > self._plateau.patience:
            self.rate = max(self.rate * self._plateau.factor, self._plateau.floor)
            self._since_change = 0
        if self._since_best > 0 and self._since_best % self._plateau.reset_after == 0:
            self.rate = self._first_rate  # out of a saddle point
            self._since_change = 0
        return better

    def finished(self, loss: float) -> bool:
        """Return whether the loss is small enough."""
        return loss < self._plateau.good_enough
