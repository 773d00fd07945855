"""Networks of one's own, handed in: any torch module from a row's vector to one number per column.

``equipoise.solve(game, "deep-cfr", network=build)``, where ``build(inputs, outputs)`` returns the module. Whoever needs
more than that (another view of rows, an own way to learn) hands in an :class:`Architecture` whose networks have it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from equipoise.errors import InvalidParameter
from equipoise.networks.network import Architecture, Network
from equipoise.networks.rows import SeenRows, Which

OWN = "own:"  # how kinds of networks that a file cannot make begin
ROUNDING = 1e-3  # of outputs that were doubled, relative to the largest


@dataclass(frozen=True)
class OwnArchitecture:
    """Networks that a function makes, from the length of a row's vector and the number of columns."""

    build: Callable[[int, int], nn.Module]

    @property
    def name(self) -> str:
        """Return what the function is called."""
        return str(getattr(self.build, "__qualname__", type(self.build).__name__))

    def make(self, seen: SeenRows, rows: Which) -> "OwnNetwork":
        module = self.build(seen.vectors(rows).shape[1], seen.num_columns)
        if not isinstance(module, nn.Module):
            raise InvalidParameter(
                f"network: {self.name}(inputs, outputs) returned {type(module).__name__}, not a torch.nn.Module"
            )
        return OwnNetwork(module, seen.num_columns, self)

    def header(self) -> Mapping[str, Any]:
        return {"kind": f"{OWN}{self.name}"}


class OwnNetwork(Network):
    """A module of one's own, which starts as PyTorch starts its parts; its last linear layer makes the outputs."""

    def __init__(self, module: nn.Module, columns: int, architecture: OwnArchitecture) -> None:
        super().__init__(architecture)
        self.module = module
        self._columns = columns
        linear = [part for part in module.modules() if isinstance(part, nn.Linear)]
        if not linear:
            raise InvalidParameter(f"network: {architecture.name} has no linear layer, which should make its outputs")
        self._head = linear[-1]

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the outputs of rows of features."""
        out: Tensor = self.module(inputs)
        return out

    def start_afresh(self, generator: torch.Generator, inputs: Any, *, head: float) -> None:
        seed = int(torch.randint(2**62, (1,), generator=generator))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            for part in self.module.modules():
                if callable(reset := getattr(part, "reset_parameters", None)):
                    reset()
        self._require_outputs(inputs)
        self.scale_outputs(head)

    def scale_outputs(self, factor: float) -> None:
        with torch.no_grad():
            for parameter in self._head.parameters():
                parameter.mul_(factor)

    def _require_outputs(self, inputs: Tensor) -> None:
        """Refuse outputs of another shape, or that something else than a linear layer makes."""
        with torch.no_grad():
            before = self(inputs)
            if before.shape != (len(inputs), self._columns):
                raise InvalidParameter(
                    f"network: outputs are {tuple(before.shape)}, not {(len(inputs), self._columns)}"
                )
            self.scale_outputs(2.0)
            after = self(inputs)
            self.scale_outputs(0.5)
        if not torch.allclose(after, 2.0 * before, rtol=ROUNDING, atol=ROUNDING * float(before.abs().max())):
            raise InvalidParameter("network: its outputs should be those of its last linear layer, and they are not")


def as_architecture(network: Any) -> Architecture:
    """Return what a caller hands in as an architecture: one, or a function that makes modules."""
    if hasattr(network, "make") and hasattr(network, "header"):
        architecture: Architecture = network
        return architecture
    if isinstance(network, nn.Module) or not callable(network):
        raise InvalidParameter(
            "network: give a function that makes modules, such as "
            "lambda inputs, outputs: torch.nn.Linear(inputs, outputs)"
        )
    return OwnArchitecture(network)
