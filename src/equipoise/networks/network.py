"""What a network is to the stores: it owns what it takes in, how it starts afresh, and what is saved of it.

A store is handed an :class:`Architecture` and makes its networks from that. Nobody else asks what kind they are.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from equipoise.networks.grammars import Float32
from equipoise.networks.rows import Bool, SeenRows, Which
from equipoise.trees.codes import Grid
from equipoise.trees.treeplex import Float, Int64

if TYPE_CHECKING:
    from equipoise.networks.fitting import Drawn, Fitted, Fitting

# From the outputs of some rows, and which rows these are, to the gradient of the loss with respect to them.
GradientOf = Callable[[Tensor, slice], Tensor]
Inputs = Any  # what a network takes in: its own business
CPU = torch.device("cpu")


class Architecture(Protocol):
    """A kind of network with its sizes: what networks are made from, and what a file says of them."""

    def make(self, seen: SeenRows, rows: Which) -> "Network":
        """Return a network for a game's rows, of which it may look at some; its parameters are not drawn yet."""

    def header(self) -> Mapping[str, Any]:
        """Return what the network can be made from again, as JSON has it: its ``kind``, and its sizes."""


class Network(nn.Module):
    """From what it sees of rows to one number per column. By default, rows are vectors and autograd is the way back."""

    rows_at_once = 65536  # when rows are read: what layers make of them has to fit in memory
    mixed = False  # whether the next steps multiply in bfloat16
    row_by_row = True  # whether inputs are one tensor, with a row for each row

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.architecture = architecture

    def inputs_of(self, seen: SeenRows, rows: Which, device: torch.device) -> Inputs:
        """Return what the network takes in for some rows."""
        return torch.from_numpy(seen.vectors(rows)).to(device)

    def inputs_on(self, seen: SeenRows, grid: Grid, device: torch.device) -> Inputs:
        """Return what the network takes in for all infosets of a grid, holding by holding."""
        return self.inputs_of(seen, grid.codes(), device)

    def some(self, inputs: Inputs, rows: Tensor) -> Inputs:
        """Return some rows of inputs, by their place; what rows share may stay."""
        return inputs[rows]

    def start_afresh(self, generator: torch.Generator, inputs: Inputs, *, head: float) -> None:
        """Draw new parameters; ``head`` scales those of the output layer. ``inputs`` are of some rows, to look at."""
        raise NotImplementedError

    def backpropagate(self, inputs: Inputs, gradient_of: GradientOf) -> None:
        """Write the parameters' gradient, given that of the loss with respect to the outputs."""
        self.zero_grad(set_to_none=True)
        like = next(self.parameters())
        with torch.autocast(like.device.type, torch.bfloat16, enabled=self.mixed):
            outputs = self(inputs)
        gradient = gradient_of(outputs.detach().to(like.dtype), slice(0, len(outputs)))
        outputs.backward(gradient.to(outputs.dtype))

    def fit(
        self,
        optimiser: Callable[[], torch.optim.Adam],
        examples: "Drawn",
        fitting: "Fitting",
        *,
        fit_number: int,
        generator: torch.Generator,
        epochs: int | None,
        on_share: Callable[[float], None],
    ) -> "Fitted":
        """Learn from examples, or from what a function draws: by the one loop, unless a network has its own way."""
        from equipoise.networks.fitting import fit

        return fit(
            self,
            optimiser(),
            examples,
            fitting,
            fit_number=fit_number,
            generator=generator,
            epochs=epochs,
            on_share=on_share,
        )

    def on_grid(self, seen: SeenRows, grid: Grid, device: torch.device) -> Float32:
        """Return the outputs of all infosets of a grid, holding by holding: row by row, unless parts can be shared."""
        return read(seen, self, grid.codes(), device).astype(np.float32)

    def take_over(self, codes: Int64, seen: SeenRows, outputs_at: Callable[[Bool], Float]) -> Bool:
        """Write down what the outputs of some rows are to be, where the network has a table; return where it has one.

        ``outputs_at`` returns the outputs of such rows, given which these are.
        """
        return np.zeros(len(codes), np.bool_)

    def scale_outputs(self, factor: float) -> None:
        """Multiply all outputs."""
        raise NotImplementedError

    def wake(self, inputs: Inputs) -> int:
        """Let no row be lost to the network, if it has a way to; return how many parts of it changed."""
        return 0

    def flat_parameters(self) -> Float:
        """Return all parameters as one vector."""
        flat: Float = nn.utils.parameters_to_vector(self.parameters()).detach().cpu().numpy().copy()
        return flat

    def load_flat(self, flat: Float) -> None:
        """Take all parameters from one vector."""
        device = next(self.parameters()).device
        with torch.no_grad():
            nn.utils.vector_to_parameters(torch.from_numpy(flat).to(device), self.parameters())


def drawn(shape: torch.Size, bound: float, generator: torch.Generator) -> Tensor:
    """Return uniform numbers up to a bound; drawn where the generator is, so that a seed means the same everywhere."""
    return (2.0 * torch.rand(shape, generator=generator) - 1.0) * bound


def make_network(
    seen: SeenRows,
    architecture: Architecture,
    generator: torch.Generator,
    *,
    head: float,
    rows: Which = slice(None),
) -> Network:
    """Return a network of some of a game's rows with fresh parameters; ``head`` scales those of the output layer."""
    network = architecture.make(seen, rows)
    network.start_afresh(generator, network.inputs_of(seen, rows, CPU), head=head)
    return network


def num_parameters(network: nn.Module) -> int:
    """Return how many numbers a network has."""
    return sum(parameter.numel() for parameter in network.parameters())


def read(seen: SeenRows, network: Network, rows: Which | Grid, device: torch.device) -> Float:
    """Return the outputs of some rows, or of a grid, in parts that fit in memory, on the calling thread alone.

    PyTorch's number of threads counts for the thread that sets it: in any other, MKL would use every core, and round as
    many threads do.
    """
    if isinstance(rows, Grid):
        return network.on_grid(seen, rows, device).astype(np.float64)
    torch.set_num_threads(1)
    count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    parts = [np.zeros((0, seen.num_columns))]
    with torch.inference_mode():
        for first in range(0, count, network.rows_at_once):
            last = min(first + network.rows_at_once, count)
            part = slice(rows.start + first, rows.start + last) if isinstance(rows, slice) else rows[first:last]
            parts.append(network(network.inputs_of(seen, part, device)).cpu().double().numpy())
    return np.concatenate(parts)
