"""Networks that are handed in: one that remembers what it is told, and one that knows the answers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from equipoise.networks.fitting import Fitted
from equipoise.networks.network import Network


class RowNetwork(Network):
    """A network whose outputs are a table by row, in double precision."""

    def __init__(self, seen, architecture):
        super().__init__(architecture)
        self.table = nn.Parameter(torch.zeros(seen.num_listed, seen.num_columns, dtype=torch.float64))

    def inputs_of(self, seen, rows, device):
        return torch.from_numpy(np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows)

    def forward(self, rows):
        return self.table[rows]

    def scale_outputs(self, factor):
        with torch.no_grad():
            self.table.mul_(factor)


class MemorisingNetwork(RowNetwork):
    """Remembers its targets."""

    fits = 0

    def start_afresh(self, generator, inputs, *, head):
        with torch.no_grad():
            self.table.zero_()

    def fit(self, optimiser, examples, fitting, **_):
        rows, target, weight = examples
        assert target.shape == weight.shape == (len(rows), self.table.shape[1])
        assert bool((weight >= 0.0).all()) and bool(weight.any(dim=1).all())
        if fitting.loss == "cross_entropy":  # then outputs are logits
            torch.testing.assert_close(target.sum(dim=1), torch.ones(len(rows), dtype=target.dtype), atol=1e-12, rtol=0)
            target = target.log()
        with torch.no_grad():
            self.table[rows] = torch.where(weight > 0.0, target, self.table[rows])
        self.fits += 1
        return Fitted(0.0, 1, 0.0)


@dataclass(frozen=True)
class Memorising:
    def make(self, seen, rows):
        return MemorisingNetwork(seen, self)

    def header(self):
        return {"kind": "memorising"}


class OracleNetwork(RowNetwork):
    """Knows the answers, and learns nothing."""

    def start_afresh(self, generator, inputs, *, head):
        with torch.no_grad():
            self.table.copy_(torch.from_numpy(self.architecture.answers))

    def fit(self, optimiser, examples, fitting, **_):
        return Fitted(0.0, 0, 0.0)


@dataclass(frozen=True, eq=False)
class Oracle:
    answers: Any  # [rows, columns]

    def make(self, seen, rows):
        return OracleNetwork(seen, self)

    def header(self):
        return {"kind": "oracle"}
