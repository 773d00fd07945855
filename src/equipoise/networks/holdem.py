"""Deep CFR's network for hold'em (B19 section 5.1 and Appendix C): a branch for cards, one for bets, a trunk for both.

Printed as one pass over rows of cards and bets. Rows are pairs of a holding and a betting node, and a batch has far
fewer of either than of pairs, so here each part is computed once for what it depends on:

1. The first card layer is linear in the embeddings, so that each card has a vector of its own (embeddings through the
   layer), made once; a holding's is their sum. Two more card layers, once for each holding.
2. Two bet layers, once for each betting node.
3. The first layer of the trunk is linear in the two branches: its two halves once for each holding and node, and their
   sum, as well as the two layers after it, for each row.

Outputs and gradients are those of the plain network, up to rounding. Skip connections are those of the printed source:
in the bets' second layer and in the trunk's second and third.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from equipoise.networks.grammars import Float32
from equipoise.networks.network import Network, drawn
from equipoise.networks.rows import Holdings, SeenRows, Which
from equipoise.trees.codes import Grid


@dataclass(frozen=True, kw_only=True)
class CardsAndBets:
    """Deep CFR's hold'em network, with ``width`` numbers in each layer."""

    width: int = 64

    def make(self, seen: SeenRows, rows: Which) -> "CardNetwork":
        held = seen.holdings(rows)
        strength = 0 if held.strength is None else held.strength.shape[1]
        sizes = held.bets.shape[1], seen.num_columns
        return CardNetwork(len(held.deals), held.ranks, held.suits, *sizes, self, strength=strength)

    def header(self) -> Mapping[str, Any]:
        return {"kind": "cards", **asdict(self)}


class CardInputs(NamedTuple):
    """Holdings and bets as tensors."""

    cards: Tensor  # [holdings, cards] rows of the card vectors of all deals; the last row is no card
    bets: Tensor  # [nodes, 2 x positions] sizes, then whether there was a bet
    holding: Tensor  # [rows]
    node: Tensor  # [rows]
    strength: Tensor | None  # [holdings, features]


def card_inputs(seen: Holdings, device: torch.device) -> CardInputs:
    """Return what the network takes in."""
    deck = seen.ranks * seen.suits
    offset = np.repeat(deck * np.arange(len(seen.deals)), seen.deals)
    places = np.where(seen.cards >= 0, seen.cards + offset, deck * len(seen.deals))
    bets = np.concatenate([np.maximum(seen.bets, 0.0), (seen.bets >= 0.0).astype(np.float32)], axis=1)
    cards, sizes, holding, node = (
        torch.from_numpy(each).to(device) for each in (places, bets, seen.holding, seen.node)
    )
    strength = None if seen.strength is None else torch.from_numpy(seen.strength).to(device)
    return CardInputs(cards, sizes, holding, node, strength)


class CardNetwork(Network):
    """B19 Appendix C. Layers start as :class:`ResidualNetwork` has it.

    Hand strength, if networks are to see it, goes into the first card layer.
    """

    rows_at_once = 4096  # what a layer makes of them then stays in the cache
    row_by_row = False

    def __init__(
        self,
        deals: int,
        ranks: int,
        suits: int,
        positions: int,
        outputs: int,
        architecture: CardsAndBets,
        *,
        strength: int = 0,
    ) -> None:
        super().__init__(architecture)
        width = architecture.width
        self.rank = nn.Parameter(torch.empty(deals, ranks, width))
        self.suit = nn.Parameter(torch.empty(deals, suits, width))
        self.card = nn.Parameter(torch.empty(deals, ranks * suits, width))
        self.card1 = nn.Linear(deals * width, width)
        self.card2 = nn.Linear(width, width)
        self.card3 = nn.Linear(width, width)
        self.bet1 = nn.Linear(2 * positions, width)
        self.bet2 = nn.Linear(width, width)
        self.trunk1 = nn.Linear(2 * width, width)
        self.trunk2 = nn.Linear(width, width)
        self.trunk3 = nn.Linear(width, width)
        self.head = nn.Linear(width, outputs)
        self.strength = nn.Linear(strength, width, bias=False) if strength else None

    def inputs_of(self, seen: SeenRows, rows: Which, device: torch.device) -> CardInputs:
        return card_inputs(seen.holdings(rows), device)

    def some(self, inputs: CardInputs, rows: Tensor) -> CardInputs:
        return inputs._replace(holding=inputs.holding[rows], node=inputs.node[rows])

    def start_afresh(self, generator: torch.Generator, inputs: Any, *, head: float) -> None:
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name.endswith("bias"):
                    parameter.zero_()
                elif name.endswith("weight"):
                    share = head if name.startswith("head") else 1.0
                    parameter.copy_(drawn(parameter.shape, share * math.sqrt(6.0 / parameter.shape[1]), generator))
                else:  # embeddings: a card is the sum of three, and a set of cards the sum of its cards
                    parameter.copy_(drawn(parameter.shape, 1.0, generator))

    def card_vectors(self) -> Tensor:
        """Return, deal by deal, what each card adds to the first card layer, and at the end zeros, for no card."""
        deals, ranks, width = self.rank.shape
        suits = self.suit.shape[1]
        embeddings = self.card.view(deals, ranks, suits, width) + self.rank[:, :, None] + self.suit[:, None]
        layer = self.card1.weight.view(width, deals, width).permute(1, 2, 0)  # [deals, embedding, width]
        vectors = torch.bmm(embeddings.view(deals, ranks * suits, width), layer).view(-1, width)
        return torch.cat([vectors, vectors.new_zeros(1, width)])

    def _halves(self, inputs: CardInputs) -> tuple[Tensor, Tensor]:
        """Return what the first layer of the trunk gets from each holding, and from each betting node."""
        width = self.card1.bias.shape[0]
        added = functional.embedding_bag(inputs.cards, self.card_vectors(), mode="sum")
        if self.strength is not None:
            assert inputs.strength is not None
            added = added + self.strength(inputs.strength)
        x = torch.relu(added + self.card1.bias)
        x = torch.relu(self.card2(x))
        x = torch.relu(self.card3(x))
        y = torch.relu(self.bet1(inputs.bets))
        y = torch.relu(self.bet2(y) + y)
        of_cards = torch.mm(x, self.trunk1.weight[:, :width].t())
        return of_cards, torch.addmm(self.trunk1.bias, y, self.trunk1.weight[:, width:].t())

    def _trunk(self, z: Tensor) -> Tensor:
        """Return the outputs of rows, from what goes into the first layer of the trunk. That is overwritten.

        In place: passing over all rows costs as much as the arithmetic.
        """
        z = z.relu_()
        for layer in (self.trunk2, self.trunk3):
            z = torch.addmm(layer.bias, z, layer.weight.t()).add_(z).relu_()
        z = functional.layer_norm(z, (z.shape[1],))  # to mean zero and variance one
        out: Tensor = self.head(z)
        return out

    def forward(self, inputs: CardInputs) -> Tensor:
        """Return the outputs of rows."""
        of_cards, of_bets = self._halves(inputs)
        return self._trunk(of_cards.index_select(0, inputs.holding).add_(of_bets.index_select(0, inputs.node)))

    def on_grid(self, seen: SeenRows, grid: Grid, device: torch.device) -> Float32:
        """Return the outputs of a grid: cards once for each holding, bets once for each node, the trunk for pairs."""
        torch.set_num_threads(1)
        inputs, parts = card_inputs(seen.on_grid(grid), device), []
        with torch.inference_mode():
            of_cards, of_bets = self._halves(inputs)
            for some in torch.split(of_cards, max(1, self.rows_at_once // len(grid.nodes))):
                parts.append(self._trunk((some[:, None] + of_bets).view(-1, of_bets.shape[1])))
            outputs: Float32 = torch.cat(parts).cpu().numpy()
        return outputs

    def scale_outputs(self, factor: float) -> None:
        """Multiply all outputs, by the output layer."""
        with torch.no_grad():
            self.head.weight.mul_(factor)
            self.head.bias.mul_(factor)
