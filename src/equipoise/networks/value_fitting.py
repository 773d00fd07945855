"""Fit a value network (trees/value_network.py) to examples, pass after pass, with a file to go on from.

An example has, for each player, the squared error over all hands as a quadratic form in the network's numbers::

    error(y) = y'Gy - 2 m'y + s,    G with three diagonals

so fitting to hands costs as much as fitting to the numbers themselves. Labels count by the root of their error beyond
``CORNER`` pots, as in Huber's loss: values over the pot are large where the pot is small.
"""

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from equipoise.files import write_atomically
from equipoise.work import Report

Single = npt.NDArray[np.float32]

CORNER = 0.3
FINAL_SHARE = 0.01  # of the rate, at the end


class _Residual(torch.nn.Module):
    """The network as PyTorch has it."""

    def __init__(self, inputs: int, width: int, layers: int, outputs: int) -> None:
        super().__init__()
        sizes = [(inputs, width), *[(width, width)] * layers, (width, outputs)]
        self.layers = torch.nn.ModuleList(torch.nn.Linear(*size) for size in sizes)
        for parameter in self.layers[-1].parameters():
            torch.nn.init.zeros_(parameter)

    def forward(self, seen: Tensor) -> Tensor:
        hidden: Tensor = torch.nn.functional.silu(self.layers[0](seen))
        for layer in list(self.layers)[1:-1]:
            hidden = hidden + torch.nn.functional.silu(layer(hidden))
        out: Tensor = self.layers[-1](hidden)
        return out


def _loss(outputs: Tensor, diagonal: Tensor, next_to: Tensor, moment: Tensor, square: Tensor) -> Tensor:
    y = outputs.reshape(len(outputs), 2, -1)
    form = (diagonal * y * y).sum(-1) + 2.0 * (next_to * y[:, :, 1:] * y[:, :, :-1]).sum(-1)
    error = (form - 2.0 * (moment * y).sum(-1) + square).clamp_min(0.0)  # [rows, players]: mean over hands
    return (CORNER**2 * (torch.sqrt(1.0 + error / CORNER**2) - 1.0)).mean()


def fit_values(
    data: dict[str, Single],
    *,
    width: int,
    layers: int,
    passes: int,
    batch: int,
    rate: float,
    seed: int,
    kept: Path,
    report: Report,
    device: torch.device,
) -> tuple[tuple[Single, ...], tuple[Single, ...]]:
    """Return the weights and biases of a network that was fitted; ``kept`` is where the fit is kept on its way."""
    torch.manual_seed(seed)
    names = ("seen", "diagonal", "beside_it", "moment", "square")
    tensors = [torch.from_numpy(np.ascontiguousarray(data[name])).to(device) for name in names]
    seen = tensors[0]
    mean, deviation = seen.mean(0), seen.std(0).clamp_min(1e-3)
    module = _Residual(seen.shape[1], width, layers, tensors[1].shape[1] * tensors[1].shape[2]).to(device)
    optimiser = torch.optim.Adam(module.parameters(), lr=rate)
    steps = math.ceil(len(seen) / batch)
    plan = np.array([passes, len(seen), batch, width, layers, seed], np.float64)
    done = _go_on(kept, plan, module, optimiser)
    for number in range(done, passes):
        order = torch.from_numpy(np.random.default_rng([seed, number]).permutation(len(seen))).to(device)
        for step in range(steps):
            if step % 16 == 0:
                report("fitting", (number + step / steps) / passes)
            progress = (number * steps + step) / (passes * steps)
            for group in optimiser.param_groups:
                group["lr"] = rate * (FINAL_SHARE + (1 - FINAL_SHARE) * 0.5 * (1 + math.cos(math.pi * progress)))
            rows = order[step * batch : (step + 1) * batch]
            outputs = module((seen[rows] - mean) / deviation)
            loss = _loss(outputs, *(tensor[rows] for tensor in tensors[1:]))
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        _keep(kept, plan, number + 1, module, optimiser)
    numbers = [parameter.detach().cpu().numpy() for parameter in module.parameters()]  # weight and bias by layer
    weights, biases = [each.T.copy() for each in numbers[::2]], [each.copy() for each in numbers[1::2]]
    scaled = weights[0] / deviation.cpu().numpy()[:, None]  # what is seen is taken as it is
    biases[0] = biases[0] - mean.cpu().numpy() @ scaled
    weights[0] = scaled
    return tuple(each.astype(np.float32) for each in weights), tuple(each.astype(np.float32) for each in biases)


def _keep(
    path: Path, plan: npt.NDArray[Any], done: int, module: torch.nn.Module, optimiser: torch.optim.Optimizer
) -> None:
    arrays: dict[str, Any] = {"plan": plan, "done": np.array(done)}
    for k, parameter in enumerate(module.parameters()):
        state = optimiser.state[parameter]
        arrays[f"parameter_{k}"] = parameter.detach().cpu().numpy()
        for name, moment in (("first", "exp_avg"), ("second", "exp_avg_sq"), ("step", "step")):
            arrays[f"{name}_{k}"] = state[moment].cpu().numpy()
    with write_atomically(path) as file:
        np.savez(file, **arrays)


def _go_on(path: Path, plan: npt.NDArray[Any], module: torch.nn.Module, optimiser: torch.optim.Optimizer) -> int:
    """Bring a fit to where it was kept, if it is the same fit; return how many passes are done."""
    if not path.exists():
        return 0
    try:
        with np.load(path, allow_pickle=False) as stored:
            if stored["plan"].shape != plan.shape or not (stored["plan"] == plan).all():
                return 0
            for k, parameter in enumerate(module.parameters()):
                parameter.data.copy_(torch.from_numpy(stored[f"parameter_{k}"]))
                optimiser.state[parameter] = {
                    "step": torch.from_numpy(stored[f"step_{k}"]),
                    "exp_avg": torch.from_numpy(stored[f"first_{k}"]).to(parameter.device),
                    "exp_avg_sq": torch.from_numpy(stored[f"second_{k}"]).to(parameter.device),
                }
            return int(stored["done"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return 0
