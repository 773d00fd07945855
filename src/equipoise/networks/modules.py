"""The networks: from rows (see `rows`) to one number an action. Recurrent over observed steps, or feed-forward.

Recurrent networks share prefixes: each distinct prefix of all sequences is one cell evaluation, level by level of the
trie. The gradient is that of the plain recurrent network on every sequence; parameters are those of PyTorch's cells.

As published (DN19 Appendix D, Eq. 15): an LSTM; attention a_j = relu(w_a e_j), summary sum_j a_j e_j, output
w_y relu(summary), no bias in w_a and w_y. That is ``Recurrent(attention="relu")``; 4 h^2 + 99 h numbers on NLLH(5).
Its rows die: where relu leaves nothing of a summary, all outputs are zero, and no gradient ever changes that.

Ours, ``attention="residual"``: attention 1 + w_a e_j, output w_y leaky_relu(summary), input weights that start three
times as large, and cells with the trie's hints (a flag for a pair). No row dies.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from equipoise.networks.grammars import Float32
from equipoise.networks.lstm_kernels import (
    NO_ATTENTION,
    RELU,
    RESIDUAL,
    Parameters,
    SparseTrie,
    Walked,
    sparse_trie,
    summaries,
    walk,
    walk_back,
)
from equipoise.networks.network import GradientOf, Network, drawn
from equipoise.networks.rows import SeenRows, Trie, Which

Cell = Literal["lstm", "gru", "rnn"]
Attention = Literal["none", "relu", "residual"]

ATTENTIONS: dict[str, int] = {"none": NO_ATTENTION, "relu": RELU, "residual": RESIDUAL}
LEAK = 0.1  # of what is negative in a residual summary
FIRST_INPUTS = 3.0  # what input weights are multiplied by at the start, with residual attention: cells are mostly zeros

GATES: dict[str, int] = {"lstm": 4, "gru": 3, "rnn": 1}
ROWS_IN_CACHE = 2048  # that a feed-forward network takes forth and back at once
FAINT = 1e-4  # what a woken unit answers to the row that it is woken for


class Prefixes(NamedTuple):
    """A trie as tensors."""

    cells: Tensor
    parents: tuple[Tensor, ...]  # per level
    levels: tuple[int, ...]  # prefixes per level
    last: Tensor
    sparse: SparseTrie | None  # the same for kernels, where they can be used


@dataclass(frozen=True, kw_only=True)
class FeedForward:
    """A residual network: ``layers`` hidden layers of ``width``."""

    width: int = 32
    layers: int = 2

    def make(self, seen: SeenRows, rows: Which) -> "ResidualNetwork":
        return ResidualNetwork(seen.vectors(rows).shape[1], seen.num_columns, self)

    def header(self) -> Mapping[str, Any]:
        return {"kind": "mlp", **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class Recurrent:
    """A recurrent network with ``width`` numbers of state; ``hidden`` adds a layer between summary and output."""

    cell: Cell = "lstm"
    width: int = 16
    attention: Attention = "none"
    hidden: bool = True

    def __post_init__(self) -> None:
        if self.cell not in GATES or self.attention not in ATTENTIONS:
            raise ValueError(f"there is no recurrent network with cell={self.cell} and attention={self.attention}")

    def make(self, seen: SeenRows, rows: Which) -> "RecurrentNetwork":
        return RecurrentNetwork(_cells(seen.prefixes(rows), self).shape[1], seen.num_columns, self)

    def header(self) -> Mapping[str, Any]:
        return {"kind": "recurrent", **asdict(self)}


class ResidualNetwork(Network):
    """Hidden layers with skip connections, and a linear head: h_1 = relu(W_1 x + b_1), h_k = h_(k-1) + relu(W_k h_(k-1)
    + b_k), output W h + b. All parameters are one vector.

    Networks this small spend their time in calls, not in arithmetic. One tensor of parameters, and a backward pass that
    is written out instead of recorded, make a step of fitting about twice as fast as layers and autograd do. Where rows
    are many, they take their turn part by part: what layers make of a part stays in the cache until the way back.

    Layers start as He et al. (2015) have it, with zero bias: with PyTorch's default start, Deep CFR's networks underfit
    for most of their few steps.
    """

    def __init__(self, inputs: int, outputs: int, architecture: FeedForward) -> None:
        super().__init__(architecture)
        sizes = [inputs, *([architecture.width] * architecture.layers), outputs]
        self._shapes = tuple(pairwise(sizes))
        self._sizes = [size for a, b in self._shapes for size in (a * b, b)]
        self.flat = nn.Parameter(torch.zeros(sum(self._sizes)))

    def layers(self, vector: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return each layer's part of a vector like the parameters': weights [inputs, outputs] and biases."""
        parts = torch.split(vector, self._sizes)
        return [(parts[2 * k].view(shape), parts[2 * k + 1]) for k, shape in enumerate(self._shapes)]

    def start_afresh(self, generator: torch.Generator, inputs: Any, *, head: float) -> None:
        with torch.no_grad():
            self.flat.zero_()
            for number, (weight, _) in enumerate(layers := self.layers(self.flat)):
                share = head if number == len(layers) - 1 else 1.0
                weight.copy_(drawn(weight.shape, share * math.sqrt(6.0 / weight.shape[0]), generator))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the outputs of rows of features."""
        return self._forward(inputs, self.layers(self.flat))[0]

    def _forward(
        self, inputs: Tensor, layers: list[tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        states, active = [inputs], []
        for number, (weight, bias) in enumerate(layers[:-1]):
            active.append(torch.addmm(bias, states[-1], weight).relu_())
            states.append(states[-1] + active[-1] if number else active[-1])
        weight, bias = layers[-1]
        return torch.addmm(bias, states[-1], weight), states, active

    def backpropagate(self, inputs: Tensor, gradient_of: GradientOf) -> None:
        """Write the parameters' gradient, given that of the loss with respect to the outputs of some rows."""
        with torch.no_grad():
            layers = self.layers(self.flat)
            if self.flat.grad is None:
                self.flat.grad = torch.empty_like(self.flat)
            slots = self.layers(self.flat.grad)
            for first in range(0, max(1, len(inputs)), ROWS_IN_CACHE):
                rows = slice(first, first + ROWS_IN_CACHE)
                outputs, states, active = self._forward(inputs[rows], layers)
                own = gradient_of(outputs, rows)
                above = torch.mm(own, layers[-1][0].t())
                kept = float(first > 0)  # of the slots: the first part writes, others add
                for number in range(len(layers) - 1, -1, -1):
                    if number < len(active):
                        own = torch.ops.aten.threshold_backward(above, active[number], 0.0)  # zero where relu was
                        if number:
                            above = above.addmm_(own, layers[number][0].t())
                    weights, biases = slots[number]
                    weights.addmm_(states[number].t(), own, beta=kept)
                    biases.copy_(own.sum(0) if first == 0 else biases + own.sum(0))

    def wake(self, inputs: Tensor) -> int:
        """Give a unit of the first layer to rows that none answers to; return how many units were given.

        To the network such rows are all one, and it cannot learn otherwise: relu has no gradient there. A unit that no
        row uses, or else the one with the smallest answers, begins to answer so faintly that outputs hardly change.
        """
        with torch.no_grad():
            weight, bias = self.layers(self.flat)[0]
            answers = torch.addmm(bias, inputs, weight).relu_()
            woken = 0
            for row in (answers.amax(1) == 0.0).nonzero().flatten().tolist():
                if bool(answers[row].any()):  # a unit given to an earlier row answers to this one, too
                    continue
                unit, seen = int(answers.amax(0).argmin()), inputs[row]
                size = float(seen @ seen)
                weight[:, unit] = seen * (FAINT / size) if size > 0.0 else 0.0
                bias[unit] = 0.0 if size > 0.0 else FAINT
                answers[:, unit] = torch.mv(inputs, weight[:, unit]).add_(bias[unit]).relu_()
                woken += 1
            return woken

    def scale_outputs(self, factor: float) -> None:
        """Multiply all outputs, by the output layer."""
        with torch.no_grad():
            for part in self.layers(self.flat)[-1]:
                part.mul_(factor)


class RecurrentNetwork(Network):
    """A recurrent cell over the prefixes of a trie, with or without attention, and a head; it starts as PyTorch's.

    On the CPU, LSTMs are walked by kernels (`lstm_kernels`), which need only the prefixes of the rows that are asked
    for. All else is PyTorch, and evaluates the whole trie.
    """

    row_by_row = False
    architecture: Recurrent

    def __init__(self, inputs: int, outputs: int, architecture: Recurrent) -> None:
        super().__init__(architecture)
        width, gates = architecture.width, GATES[architecture.cell]
        self.cell = architecture.cell
        self.weight_ih = nn.Parameter(torch.empty(gates * width, inputs))
        self.weight_hh = nn.Parameter(torch.empty(gates * width, width))
        self.bias_ih = nn.Parameter(torch.empty(gates * width))
        self.bias_hh = nn.Parameter(torch.empty(gates * width))
        self.attention = nn.Linear(width, 1, bias=False) if architecture.attention != "none" else None
        self.hidden = nn.Linear(width, width) if architecture.hidden else None
        self.head = nn.Linear(width, outputs, bias=False)

    def inputs_of(self, seen: SeenRows, rows: Which, device: torch.device) -> Prefixes:
        trie = seen.prefixes(rows)
        return _prefixes(trie, _cells(trie, self.architecture), device, by_kernels=self.cell == "lstm")

    def some(self, inputs: Prefixes, rows: Tensor) -> Prefixes:
        return inputs._replace(last=inputs.last[rows])

    def start_afresh(self, generator: torch.Generator, inputs: Prefixes, *, head: float) -> None:
        bound = 1.0 / math.sqrt(self.weight_hh.shape[1])
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                share = head if name.startswith("head") else 1.0
                if name == "weight_ih" and self.architecture.attention == "residual":
                    share *= FIRST_INPUTS
                parameter.copy_(drawn(parameter.shape, bound * share, generator))
            # Attention that is negative everywhere is zero after relu, and has no gradient that would ever change it.
            if self.architecture.attention == "relu" and not self.summary(inputs).any():
                assert self.attention is not None
                self.attention.weight.neg_()

    def forward(self, prefixes: Prefixes) -> Tensor:
        """Return the outputs of the rows whose prefixes these are."""
        out: Tensor = self.head(self.summary(prefixes))
        return out

    def summary(self, prefixes: Prefixes) -> Tensor:
        """Return what the output layer sees of each row."""
        if self._by_kernels(prefixes) and not torch.is_grad_enabled():  # kernels keep nothing for autograd
            _, walked, own = self._walk(prefixes)
            last = torch.from_numpy(summaries(walked, own.weight_hh.shape[1]))
        else:
            last = self.attended(prefixes)
        if self.hidden is not None:
            last = self.hidden(last)
        return last if self._leak is None else nn.functional.leaky_relu(last, self._leak)

    @property
    def _leak(self) -> float | None:
        """Return what is left of the negative part of what the output layer sees; None: all of it."""
        if self.architecture.attention == "residual":
            return LEAK
        return 0.0 if self.hidden is not None or self.attention is not None else None

    def _by_kernels(self, prefixes: Prefixes) -> bool:
        """Return whether kernels can walk these prefixes."""
        return prefixes.sparse is not None and prefixes.cells.dtype == self.weight_ih.dtype == torch.float32

    def _walk(self, prefixes: Prefixes) -> tuple[SparseTrie, Walked, Parameters]:
        assert prefixes.sparse is not None
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        attention = self.weight_ih.new_zeros(0) if self.attention is None else self.attention.weight.ravel()
        own = Parameters(*(each.detach().numpy() for each in (*weights, attention)))
        kind = ATTENTIONS[self.architecture.attention]
        return prefixes.sparse, walk(prefixes.sparse, own, kind, prefixes.last.numpy()), own

    def backpropagate(self, inputs: Prefixes, gradient_of: GradientOf) -> None:
        """Write the parameters' gradient; where kernels walk, without the graph that autograd would keep."""
        if not self._by_kernels(inputs):
            return super().backpropagate(inputs, gradient_of)
        with torch.no_grad():
            trie, walked, own = self._walk(inputs)
            summary = torch.from_numpy(summaries(walked, own.weight_hh.shape[1]))
            last = summary if self.hidden is None else self.hidden(summary)
            seen = last if self._leak is None else nn.functional.leaky_relu(last, self._leak)
            outputs = self.head(seen)
            pull = gradient_of(outputs, slice(0, len(outputs)))
            self.head.weight.grad = pull.t() @ seen
            pull = pull @ self.head.weight
            if self._leak is not None:
                pull = torch.ops.aten.leaky_relu_backward(pull, last, self._leak, False)
            if self.hidden is not None:
                self.hidden.weight.grad, self.hidden.bias.grad = pull.t() @ summary, pull.sum(0)
                pull = pull @ self.hidden.weight
            kind = ATTENTIONS[self.architecture.attention]
            found = walk_back(trie, own, kind, walked, pull.contiguous().numpy())
            *gradients, attention = (torch.from_numpy(each) for each in found)
            weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
            for parameter, gradient in zip(weights, gradients, strict=True):
                parameter.grad = gradient
            if self.attention is not None:
                self.attention.weight.grad = attention.view_as(self.attention.weight)
        return None

    def attended(self, prefixes: Prefixes) -> Tensor:
        """Return each row's last state, or the sum of its states by attention, level by level of the trie."""
        from_inputs = torch.split(torch.addmm(self.bias_ih, prefixes.cells, self.weight_ih.t()), list(prefixes.levels))
        width = self.weight_hh.shape[1]
        carried = prefixes.cells.new_zeros(1, 2 * width + (width if self.attention is not None else 0))
        summaries = []
        for own, parent in zip(from_inputs, prefixes.parents, strict=True):
            above = carried.index_select(0, parent)  # one look-up a level: its backward pass is what costs
            state, memory = self._step(own, above[:, :width], above[:, width : 2 * width])
            if self.attention is None:
                carried = torch.cat([state, memory], 1)
                summaries.append(state)
            else:  # DN19: e_l^a = sum over j <= l of alpha_j e_j, kept as a running sum
                weight = self.attention(state)
                share = torch.relu(weight) if self.architecture.attention == "relu" else 1.0 + weight
                summaries.append(above[:, 2 * width :] + share * state)
                carried = torch.cat([state, memory, summaries[-1]], 1)
        return torch.cat(summaries).index_select(0, prefixes.last)

    def scale_outputs(self, factor: float) -> None:
        """Multiply all outputs, by the output layer."""
        with torch.no_grad():
            self.head.weight.mul_(factor)

    def _step(self, own: Tensor, state: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return state and memory after a cell, as PyTorch defines each kind of cell."""
        recurrent = torch.addmm(self.bias_hh, state, self.weight_hh.t())
        width = state.shape[1]
        if self.cell == "rnn":
            return torch.tanh(own + recurrent), memory
        if self.cell == "gru":
            reset, update = torch.sigmoid(own[:, : 2 * width] + recurrent[:, : 2 * width]).chunk(2, 1)
            candidate = torch.tanh(own[:, 2 * width :] + reset * recurrent[:, 2 * width :])
            return candidate + update * (state - candidate), memory
        inward, forget, candidate, outward = (own + recurrent).chunk(4, 1)
        memory = torch.sigmoid(forget) * memory + torch.sigmoid(inward) * torch.tanh(candidate)
        return torch.sigmoid(outward) * torch.tanh(memory), memory


def _cells(trie: Trie, architecture: Recurrent) -> Float32:
    """Return cells as an architecture takes them: as published, or with hints."""
    return np.concatenate([trie.cells, trie.hints], axis=1) if architecture.attention == "residual" else trie.cells


def _prefixes(trie: Trie, cells: Float32, device: torch.device, *, by_kernels: bool) -> Prefixes:
    starts = trie.level_start
    parents = torch.from_numpy(trie.parent).to(device)
    levels = tuple(int(count) for count in np.diff(starts))
    return Prefixes(
        cells=torch.from_numpy(cells).to(device),
        parents=torch.split(parents, list(levels)),
        levels=levels,
        last=torch.from_numpy(trie.last).to(device),
        sparse=sparse_trie(trie, cells) if by_kernels and device.type == "cpu" else None,
    )
