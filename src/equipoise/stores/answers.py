"""Strategies in networks: what is played at infosets follows from a network's outputs there.

A strategy is asked, saved and opened with parameters alone: neither samples nor an optimiser belong to it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from equipoise.errors import NotSupported
from equipoise.networks.heads import CardsToDecisions
from equipoise.networks.holdem import CardsAndBets
from equipoise.networks.modules import ATTENTIONS, GATES, FeedForward, Recurrent
from equipoise.networks.network import Architecture, Network, num_parameters, read
from equipoise.networks.own import OWN
from equipoise.networks.rows import SeenRows
from equipoise.networks.trained import TrainedNetwork
from equipoise.regret.matching import BEST, UNIFORM, match_rows
from equipoise.sampling.rows import Asked
from equipoise.stores.sums import FloatTable, Mixture
from equipoise.trees.codes import NODE_SHIFT, Grid, codes_in
from equipoise.trees.situations import normalised_rows
from equipoise.trees.treeplex import Float, Int64

Bool = npt.NDArray[np.bool_]
Arrays = dict[str, npt.NDArray[Any]]


def uniform(legal: Bool) -> FloatTable:
    """Return uniform play over legal actions."""
    shares: FloatTable = legal / legal.sum(axis=1, keepdims=True)
    return shares


def softmax(outputs: Float, legal: Bool) -> Float:
    """Return the strategies that outputs stand for when they were fitted by cross-entropy."""
    logits = np.where(legal, outputs, -np.inf)
    # Column by column: rows are short, and a reduction over each costs more than its numbers.
    largest = reduce(np.maximum, logits.T)
    powers = np.exp(logits - largest[:, None])
    strategies: Float = powers / reduce(np.add, powers.T)[:, None]
    return strategies


def positive_shares(outputs: Float, legal: Bool) -> Float:
    """Return the strategies that outputs stand for when they were fitted to sums of strategies."""
    return normalised_rows(np.where(legal, np.maximum(outputs, 0.0), 0.0), legal)


# How outputs become probabilities, by the name that files have for it.
ANSWERS: dict[str, Callable[[Float, Bool], Float]] = {
    "softmax": softmax,
    "positive_shares": positive_shares,
    "regret_matching_best": lambda outputs, legal: match_rows(outputs, legal, BEST),
    "regret_matching_uniform": lambda outputs, legal: match_rows(outputs, legal, UNIFORM),
}
REGRET_MATCHING = {BEST: "regret_matching_best", UNIFORM: "regret_matching_uniform"}  # by fallback


@dataclass(frozen=True)
class NetworkScores:
    """What both players' networks say of infosets, as they are now; a copy can be sent to workers.

    Where nothing was fitted yet (None) all actions are alike: equal positive scores say so to every fallback (B19
    Algorithm 1, line 2).
    """

    seen: SeenRows
    networks: tuple[Network | None, ...]  # by player
    scale: tuple[float, ...]
    device: torch.device

    def __call__(self, player: int, infosets: Asked) -> FloatTable:
        """Return the numbers at some infosets of a player."""
        assert infosets is not None, "there are too many infosets to ask for all"
        network = self.networks[player]
        if network is None:
            return np.ones((len(codes_in(infosets)), self.seen.num_columns))
        rows = infosets if isinstance(infosets, Grid) else self.seen.seen_as(infosets)
        outputs: FloatTable = read(self.seen, network, rows, self.device)
        return outputs if self.scale[player] == 1.0 else self.scale[player] * outputs


@dataclass(frozen=True)
class NetworkAnswers:
    """What a network plays, by infoset; without a network, before anything was fitted, all legal actions are alike."""

    seen: SeenRows
    architecture: Architecture
    network: Network | None
    answer: str  # one of ANSWERS
    device: torch.device

    def __call__(self, infosets: Int64) -> FloatTable:
        """Return the probabilities of actions at some infosets."""
        rows = self.seen.seen_as(infosets)
        legal = self.seen.legal_at(rows)
        if self.network is None:
            return uniform(legal)
        return ANSWERS[self.answer](read(self.seen, self.network, rows, self.device), legal)

    def on_grid(self, grid: Grid) -> FloatTable:
        """Return the probabilities of actions at all infosets of a grid, holding by holding."""
        legal = np.tile(self.seen.legal_at(grid.nodes << NODE_SHIFT), (len(grid.held), 1))
        if self.network is None:
            return uniform(legal)
        outputs = self.network.on_grid(self.seen, grid, self.device)
        return ANSWERS[self.answer](outputs.astype(np.float64), legal)


def answers_of(trained: TrainedNetwork, answer: str, *, fitted: bool = True) -> NetworkAnswers:
    """Return what a network plays as it is now; one that was never fitted plays uniformly."""
    network = trained.network if fitted else None
    return NetworkAnswers(trained.infosets, trained.network.architecture, network, answer, trained.device)


def mixture_parts(mixtures: tuple[Mixture, Mixture]) -> tuple[dict[str, Any], Arrays]:
    """Return what two players' mixtures of networks can be opened from: a description as JSON has it, and arrays."""
    asked = [strategy for mixture in mixtures for _, strategy in mixture]
    first = asked[0]
    if not all(isinstance(each, NetworkAnswers) for each in asked):
        raise NotSupported("a strategy that is a function of its own cannot be saved")
    assert isinstance(first, NetworkAnswers)
    arrays: Arrays = {}
    for player, mixture in enumerate(mixtures):
        flats = [
            np.zeros(0, np.float32) if strategy.network is None else strategy.network.flat_parameters()  # type: ignore
            for _, strategy in mixture
        ]
        arrays[f"weights{player}"] = np.array([weight for weight, _ in mixture], np.float64)
        arrays[f"lengths{player}"] = np.array([len(flat) for flat in flats], np.int64)
        arrays[f"parameters{player}"] = np.concatenate(flats)
    return {"network": dict(first.architecture.header()), "answer": first.answer}, arrays


def open_mixtures(
    seen: SeenRows,
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    device: torch.device,
    own: Architecture | None = None,
) -> tuple[Mixture, Mixture]:
    """Return both players' mixtures from their parts; raise ValueError or KeyError for parts that do not fit together.

    ``own`` is the architecture of networks that are the user's own, which a file cannot make.
    """
    architecture, answer = _architecture(header["network"], own), header["answer"]
    if answer not in ANSWERS:
        raise ValueError(f"it does not say how its networks answer, but {answer!r}")
    return (
        _open_mixture(seen, architecture, answer, arrays, 0, device),
        _open_mixture(seen, architecture, answer, arrays, 1, device),
    )


def _open_mixture(
    seen: SeenRows,
    architecture: Architecture,
    answer: str,
    arrays: Mapping[str, npt.NDArray[Any]],
    player: int,
    device: torch.device,
) -> Mixture:
    weights, lengths, flat = (arrays[f"{name}{player}"] for name in ("weights", "lengths", "parameters"))
    flat_arrays = weights.ndim == lengths.ndim == flat.ndim == 1
    if not flat_arrays or [array.dtype.kind for array in (weights, lengths, flat)] != ["f", "i", "f"]:
        raise ValueError("its parameters are not numbers in a row")
    if not (len(weights) == len(lengths) > 0 and lengths.min() >= 0 and int(lengths.sum()) == len(flat)):
        raise ValueError("its parameters are more or fewer than it says")
    if not (np.isfinite(weights).all() and (weights > 0.0).all() and np.isfinite(flat).all()):
        raise ValueError("its parameters are not all numbers")
    rows = seen.own_rows((player,))
    with torch.device("meta"):  # without memory: a file may name any size
        sketch = architecture.make(seen, rows)
    if any(length not in (0, num_parameters(sketch)) for length in lengths.tolist()):
        raise ValueError("its networks have more or fewer parameters than networks of their sizes")
    if any(parameter.dtype != torch.from_numpy(flat).dtype for parameter in sketch.parameters()):
        raise ValueError("its parameters have another precision")
    mixture: list[tuple[float, NetworkAnswers]] = []
    for weight, part in zip(weights.tolist(), np.split(flat, np.cumsum(lengths)[:-1]), strict=True):
        network = None
        if len(part):
            network = architecture.make(seen, rows).to(device)
            network.load_flat(part)
        mixture.append((weight, NetworkAnswers(seen, architecture, network, answer, device)))
    tried = mixture[-1][1](rows if isinstance(rows, np.ndarray) else np.arange(rows.start, rows.stop))
    if not np.isfinite(tried).all():
        raise ValueError("its networks do not answer with numbers")
    return mixture


KINDS: dict[str, type[Any]] = {
    "mlp": FeedForward,
    "recurrent": Recurrent,
    "cards": CardsAndBets,
    "heads": CardsToDecisions,
}
MOST_UNITS = 1 << 16  # in a layer, and layers: far beyond what any solver here can train


def _architecture(header: Any, own: Architecture | None) -> Architecture:
    """Return the architecture that a header describes."""
    if not isinstance(header, dict) or not isinstance(header.get("kind"), str):
        raise ValueError("it does not say what its networks are")
    if own is not None and (header["kind"].startswith(OWN) or dict(own.header()) == header):
        return own
    sizes = {name: value for name, value in header.items() if name != "kind"}
    if header["kind"] not in KINDS:
        raise NotSupported(
            f"the policy's networks are of a kind of its own, {header['kind']!r}, which no file can make: open it in "
            "Python, by load_policy(..., network=...)"
        )
    kind = KINDS[header["kind"]]
    defaults = kind()
    if {name: type(getattr(defaults, name, None)) for name in sizes} != {n: type(v) for n, v in sizes.items()}:
        raise ValueError("the sizes of its networks make no sense")
    if any(type(value) is int and not 1 <= value <= MOST_UNITS for value in sizes.values()):
        raise ValueError("the sizes of its networks make no sense")
    if sizes.get("cell", "lstm") not in GATES or sizes.get("attention", "none") not in ATTENTIONS:
        raise ValueError("the sizes of its networks make no sense")
    architecture: Architecture = kind(**sizes)
    return architecture
