"""A network for hold'em that answers for all of a hand's decisions at once: cards in, one output a node and action.

In games with few betting lines the betting need not go in: layers are computed once for each holding, and what differs
from line to line is the last layer. That makes reading whole boards many times cheaper than a network of rows, and it
suits fits in which all decisions of a hand have targets. It does not scale to large betting trees.

Before the board there are few hands, and each has numbers of its own: a table, which a store that knows the right
outputs can write (:meth:`HeadNetwork.take_over`).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from equipoise.errors import NotSupported
from equipoise.networks.grammars import Float32
from equipoise.networks.network import Network, drawn
from equipoise.networks.rows import Bool, Holdings, SeenRows, Which
from equipoise.trees.codes import Grid, nodes_of
from equipoise.trees.treeplex import Float, Int64

MOST_HEADS = 2000  # decisions of a player: beyond, the last layer is larger than all else


@dataclass(frozen=True, kw_only=True)
class CardsToDecisions:
    """The network of heads, with ``layers`` hidden layers of ``width``."""

    width: int = 256
    layers: int = 3

    def make(self, seen: SeenRows, rows: Which) -> "HeadNetwork":
        held = seen.holdings(rows)
        return HeadNetwork(held, seen.num_columns, self)

    def header(self) -> Mapping[str, Any]:
        return {"kind": "heads", **asdict(self)}


class HeadInputs(NamedTuple):
    """Holdings as tensors, and which of their outputs are asked for."""

    cards: Tensor  # [holdings with a board, cards] rows of the card vectors of all deals
    strength: Tensor | None  # [holdings with a board, features]
    hand: Tensor  # [holdings without a board] their hands' numbers
    row: Tensor | None  # [rows] among all outputs of the former, then of the latter; None: all


def _started(held: Holdings) -> np.ndarray:
    """Return which holdings have a board."""
    started: np.ndarray = held.cards[:, held.deals[0]] >= 0
    return started


class HeadNetwork(Network):
    """The layers, and the table."""

    rows_at_once = 4096
    row_by_row = False

    def __init__(self, held: Holdings, columns: int, architecture: CardsToDecisions) -> None:
        super().__init__(architecture)
        late = _started(held)[held.holding]
        self._nodes = [
            np.unique(held.nodes[held.node[some]]) for some in (late, ~late)
        ]  # later ones, the first round's
        if len(self._nodes[0]) > MOST_HEADS:
            raise NotSupported(
                f"network=heads has an output for every decision, and here are {len(self._nodes[0]):,} of a player; at "
                f"most {MOST_HEADS:,}: choose network=cards"
            )
        self._deck, self._columns = held.ranks * held.suits, columns
        deals, width, ranks, suits = len(held.deals), architecture.width, held.ranks, held.suits
        self.rank = nn.Parameter(torch.empty(deals, ranks, width))
        self.card = nn.Parameter(torch.empty(deals, ranks * suits, width))
        self.bias = nn.Parameter(torch.empty(width))
        features = 0 if held.strength is None else held.strength.shape[1]
        self.strength = nn.Linear(features, width, bias=False) if features else None
        hidden = [nn.Linear(width, width) for _ in range(architecture.layers - 1)]
        self.hidden = nn.Sequential(*(part for layer in hidden for part in (layer, nn.ReLU())))
        self.head = nn.Linear(width, len(self._nodes[0]) * columns)
        self.start = nn.Parameter(torch.empty(held.hands, len(self._nodes[1]), columns))
        self._suits, self._deals = suits, held.deals

    def _places(self, nodes: Int64, first_round: bool) -> Int64:
        """Return the places of nodes among those of a kind."""
        return np.searchsorted(self._nodes[first_round], nodes)

    def inputs_of(self, seen: SeenRows, rows: Which, device: torch.device) -> HeadInputs:
        held = seen.holdings(rows)
        started = _started(held)
        number = np.where(started, np.cumsum(started) - 1, np.cumsum(~started) - 1)
        late, nodes = started[held.holding], held.nodes[held.node]
        row = np.empty(len(late), np.int64)
        row[late] = number[held.holding[late]] * len(self._nodes[0]) + self._places(nodes[late], False)
        row[~late] = number[held.holding[~late]] * len(self._nodes[1]) + self._places(nodes[~late], True)
        row[~late] += int(started.sum()) * len(self._nodes[0])
        return self._inputs(held, started, torch.from_numpy(row).to(device), device)

    def inputs_on(self, seen: SeenRows, grid: Grid, device: torch.device) -> HeadInputs:
        held = seen.on_grid(grid)
        started = _started(held)
        first_round = not started.all()
        own = self._nodes[first_round]
        if len(grid.nodes) == len(own) and (grid.nodes == own).all():
            return self._inputs(held, started, None, device)
        row = np.arange(len(held.cards))[:, None] * len(own) + self._places(grid.nodes, first_round)
        return self._inputs(held, started, torch.from_numpy(row.ravel()).to(device), device)

    def _inputs(self, held: Holdings, started: np.ndarray, row: Tensor | None, device: torch.device) -> HeadInputs:
        offset = np.repeat(self._deck * np.arange(len(self._deals)), self._deals)
        none = self._deck * len(self._deals)
        cards = held.cards[started]
        places = torch.from_numpy(np.where(cards >= 0, cards + offset, none)).to(device)
        strength = None if held.strength is None else torch.from_numpy(held.strength[started]).to(device)
        return HeadInputs(places, strength, torch.from_numpy(held.hand[~started]).to(device), row)

    def some(self, inputs: HeadInputs, rows: Tensor) -> HeadInputs:
        return inputs._replace(row=rows if inputs.row is None else inputs.row[rows])

    def start_afresh(self, generator: torch.Generator, inputs: Any, *, head: float) -> None:
        with torch.no_grad():
            # A holding is the sum of a few cards: each has its share of what makes a layer's outputs as large as these.
            share = math.sqrt(3.0 / sum(self._deals))
            self.rank.copy_(drawn(self.rank.shape, share, generator))
            self.card.copy_(drawn(self.card.shape, share, generator))
            for name, parameter in self.named_parameters():
                if name.endswith("weight"):
                    scale = head if name.startswith("head") else 1.0
                    parameter.copy_(drawn(parameter.shape, scale * math.sqrt(6.0 / parameter.shape[1]), generator))
                elif name.endswith("bias") or name == "start":
                    parameter.zero_()

    def _decisions(self, cards: Tensor, strength: Tensor | None) -> Tensor:
        """Return the outputs of holdings with a board, for all decisions there; [holdings x nodes, columns]."""
        deals, ranks, width = self.rank.shape
        vectors = (self.card.view(deals, ranks, self._suits, width) + self.rank[:, :, None]).view(-1, width)
        vectors = torch.cat([vectors, vectors.new_zeros(1, width)])
        x = functional.embedding_bag(cards, vectors, mode="sum").add_(self.bias)
        if self.strength is not None:
            assert strength is not None
            x = torch.addmm(x, strength, self.strength.weight.t())
        out: Tensor = self.head(self.hidden(x.relu_()))
        return out.view(-1, self._columns)

    def forward(self, inputs: HeadInputs) -> Tensor:
        """Return the outputs of rows."""
        parts = []
        if len(inputs.cards):
            parts.append(self._decisions(inputs.cards, inputs.strength))
        if len(inputs.hand) or not parts:
            parts.append(self.start[inputs.hand].view(-1, self._columns))
        outputs = parts[0] if len(parts) == 1 else torch.cat(parts)
        return outputs if inputs.row is None else outputs.index_select(0, inputs.row)

    def on_grid(self, seen: SeenRows, grid: Grid, device: torch.device) -> Float32:
        """Return the outputs of a grid."""
        torch.set_num_threads(1)
        with torch.inference_mode():
            outputs: Float32 = self(self.inputs_on(seen, grid, device)).cpu().numpy()
        return outputs

    def take_over(self, codes: Int64, seen: SeenRows, outputs_at: Callable[[Bool], Float]) -> Bool:
        tabled: Bool = np.isin(nodes_of(codes), self._nodes[1])
        if tabled.any():
            held = seen.holdings(codes[tabled])
            places = self._places(held.nodes[held.node], True)
            with torch.no_grad():
                written = torch.from_numpy(outputs_at(tabled)).to(self.start)
                self.start[torch.from_numpy(held.hand[held.holding]), torch.from_numpy(places)] = written
        return tabled

    def scale_outputs(self, factor: float) -> None:
        """Multiply all outputs, by the output layer and the table."""
        with torch.no_grad():
            self.head.weight.mul_(factor)
            self.head.bias.mul_(factor)
            self.start.mul_(factor)
