"""Value networks: what a round that has just been dealt is worth to every hand, from both ranges and the pot.

What a network sees needs no board. Hands stand on a *common axis* from 0 to 1: the mean of both ranges' distributions
over strength, from the weakest hands to the strongest. Each player's distribution is then one function on it, and
because the two add up to twice the axis, the share of player 0 holds both. The network sees that share in bins that are
narrow at both ends, how wide groups of tied hands are there, how likely a tie is, and the stack over the pot. It says,
at the ends of the bins, what a hand gains over checking down; hands in between are interpolated.

    value of a hand = (check-down + network) x pot x reach of the opponent's hands that share no card with it

Check-down and reach are exact, with all cards removed. Values are made zero-sum by taking half of what is left over
from both. Strength is that of the showdown on the river; before it, the mean over the cards to come.

The network itself is a few matrices. NumPy reads it; PyTorch only trains it (networks/value_fitting.py).
"""

import itertools
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, kernel
from equipoise.errors import DamagedFile, NotFound, NotSupported, damage
from equipoise.files import write_atomically
from equipoise.games.hand_ranks import deck_bits, hand_rank
from equipoise.games.poker import Deck
from equipoise.games.spots import FULL_BOARD
from equipoise.trees.treeplex import Float, Int64, UInt64

Single = npt.NDArray[np.float32]

FORMAT = "equipoise-value-network"
VERSION = 1
BINS = 48
EDGES: Float = (1.0 - np.cos(np.pi * np.arange(BINS + 1) / BINS)) / 2.0
STACK_CENTRES: Float = np.linspace(np.log(0.0015), np.log(100.0), 9)  # of stack / pot
INPUTS = 2 * BINS + 1 + 2 + len(STACK_CENTRES)
SHIPPED = "network"  # the name of the one that comes with equipoise


@inlined
def on_axis(
    groups: tuple[Int64, Int64],
    reach: tuple[Float, Float],
    first: tuple[int, int],
    count: int,
    edges: Float,
    masses: Float,
    seen: Single,
    middle: Float,
) -> bool:
    """Write what a network sees of two ranges, and where each group of tied hands stands on the axis.

    ``groups`` is the group of each hand, weakest first; ``reach[p][first[p] + j]`` is the reach of hand j. Returns
    whether both players hold anything.
    """
    for p in range(2):
        total = 0.0
        for g in range(count):
            masses[p, g] = 0.0
        for j in range(groups[p].size):
            masses[p, groups[p][j]] += reach[p][first[p] + j]
            total += reach[p][first[p] + j]
        if not total > 0.0:
            return False
        for g in range(count):
            masses[p, g] /= total
    bins = edges.size - 1
    for k in range(2 * bins + 1):
        seen[k] = 0.0
    place, bin_at, tie = 0.0, 0, 0.0
    for g in range(count):
        both = masses[0, g] + masses[1, g]
        width = both / 2.0
        middle[g] = min(place + width / 2.0, 1.0)
        if both > 0.0:
            share, end, start = masses[0, g] / both, place + width, place
            tie += masses[0, g] * masses[1, g]
            while bin_at < bins:
                covered = max(min(end, edges[bin_at + 1]) - start, 0.0)
                over = 1.0 / (edges[bin_at + 1] - edges[bin_at])
                seen[bin_at] += share * covered * over
                seen[bins + bin_at] += width * covered * over
                if end < edges[bin_at + 1]:
                    break
                start = max(start, edges[bin_at + 1])
                bin_at += 1
            if bin_at == bins:
                bin_at = bins - 1
            place = end
    seen[2 * bins] = tie
    return True


@inlined
def bin_of(place: float, edges: Float) -> int:
    """Return the bin in which a place on the axis lies."""
    low, high = 0, edges.size - 1
    while high - low > 1:
        half = (low + high) // 2
        if edges[half] <= place:
            low = half
        else:
            high = half
    return low


def stack_inputs(stack: Float, pot: Float) -> Float:
    """Return what a network sees of stacks and pots, [rows, inputs]."""
    ratio = np.log(np.asarray(stack, np.float64) / np.asarray(pot, np.float64))
    bumps = np.exp(-0.5 * (ratio[:, None] - STACK_CENTRES) ** 2)
    return np.concatenate([ratio[:, None] / 4.0, (ratio[:, None] / 4.0) ** 2, bumps], axis=1)


@kernel
def see(groups0: Int64, groups1: Int64, reach0: Float, reach1: Float, count: int, edges: Float) -> tuple[Single, Float]:
    """Return what a network sees of one pair of ranges, stacks apart, and where groups stand on the axis."""
    seen, middle = np.zeros(2 * edges.size - 1, np.float32), np.zeros(count)
    on_axis((groups0, groups1), (reach0, reach1), (0, 0), count, edges, np.zeros((2, count)), seen, middle)
    return seen, middle


@kernel
def _ranks(board: UInt64, hands: Int64, bits: UInt64, count: int, out: Float) -> None:
    for hand in range(hands.shape[0]):
        out[hand] = hand_rank(board[0] | bits[hands[hand, 0]] | bits[hands[hand, 1]], count)


def hand_strengths(board: Sequence[int], hands: Int64, deck: Deck) -> Float:
    """Return by what hands, [hands, cards], stand on the axis: the higher, the stronger.

    On a full board that is the rank; before, the share of all hands that it beats, in the mean over the cards to come.
    """
    bits = deck_bits(len(deck.ranks), len(deck.suits))
    ranks = np.empty(len(hands))
    if len(board) == FULL_BOARD:
        open_bits = np.array([int(np.bitwise_or.reduce(bits[list(board)]))], np.uint64)
        _ranks(open_bits, hands, bits, FULL_BOARD + 2, ranks)
        return ranks
    total, times = np.zeros(len(hands)), np.zeros(len(hands))
    for card in (card for card in range(deck.size) if card not in board):
        beside = (hands != card).all(axis=1)
        later = hand_strengths((*board, card), np.ascontiguousarray(hands[beside]), deck)
        in_order = np.sort(later)
        below, through = (np.searchsorted(in_order, later, side=side) for side in ("left", "right"))
        total[beside] += (below + through) / (2.0 * len(later))
        times[beside] += 1.0
    return total / np.maximum(times, 1.0)


def groups_of(strengths: Sequence[Float]) -> tuple[list[Int64], int]:
    """Return which hands tie, from the weakest group on, in each of some lists, and how many groups there are."""
    levels = np.unique(np.round(np.concatenate(list(strengths)), 9))
    return [np.searchsorted(levels, np.round(each, 9)).astype(np.int64) for each in strengths], len(levels)


@dataclass(frozen=True, kw_only=True)
class ValueNetwork:
    """A trained network: residual layers between two plain ones."""

    header: dict[str, Any]
    weights: tuple[Single, ...]  # [inputs, width], then [width, width] ..., [width, outputs]
    biases: tuple[Single, ...]
    source: str = field(default="", compare=False)

    @property
    def round(self) -> str:
        """Return the round at whose beginning the network knows values: turn or river, or a game's text."""
        return str(self.header["round"])

    def read(self, seen: Single) -> Single:
        """Return the outputs of some rows."""
        hidden = silu(seen @ self.weights[0] + self.biases[0])
        for weight, bias in zip(self.weights[1:-1], self.biases[1:-1], strict=True):
            hidden += silu(hidden @ weight + bias)
        out: Single = hidden @ self.weights[-1] + self.biases[-1]
        return out

    def save(self, path: str | Path) -> None:
        """Write the network to a file, all of it or nothing."""
        header = {"format": FORMAT, "version": VERSION, **self.header}
        arrays: dict[str, Any] = {f"weight_{k}": each for k, each in enumerate(self.weights)}
        arrays |= {f"bias_{k}": each for k, each in enumerate(self.biases)}
        told = np.frombuffer(json.dumps(header).encode(), np.uint8)
        with write_atomically(path) as file:
            np.savez(file, header=told, **arrays)


def silu(x: Single) -> Single:
    """Return x times its logistic function."""
    out: Single = (x / (np.float32(1.0) + np.exp(-np.clip(x, -60.0, 60.0)))).astype(np.float32, copy=False)
    return out


def load_network(path: str | Path) -> ValueNetwork:
    """Return the network in a file; ``network`` is the one that comes with equipoise."""
    name = str(path)
    if name == SHIPPED:
        with resources.as_file(resources.files("equipoise.trees") / "river.npz") as shipped:
            return _read(shipped, name)
    if not Path(path).is_file():
        raise NotFound(f"value network '{path}': there is no such file; `equipoise train-values river` makes one")
    return _read(Path(path), name)


def _read(path: Path, name: str) -> ValueNetwork:
    try:
        with np.load(path, allow_pickle=False) as stored:
            header = json.loads(bytes(stored["header"]).decode())
            if header.get("format") != FORMAT:
                raise NotSupported(f"{name} is not a value network")
            if header["version"] != VERSION:
                raise NotSupported(
                    f"{name} is a value network of version {header['version']}, and this equipoise reads version "
                    f"{VERSION}: train it again, or use the equipoise that made it"
                )
            layers = int(header["layers"])
            weights = tuple(stored[f"weight_{k}"].astype(np.float32) for k in range(layers))
            biases = tuple(stored[f"bias_{k}"].astype(np.float32) for k in range(layers))
        fits = all(len(b) == w.shape[1] for w, b in zip(weights, biases, strict=True))
        fits &= all(before.shape[1] == after.shape[0] for before, after in itertools.pairwise(weights))
        if not fits or not all(np.isfinite(each).all() for each in (*weights, *biases)):
            raise ValueError("its layers do not fit together")
    except (OSError, KeyError, ValueError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise DamagedFile(f"{name} is damaged or not a value network ({damage(error)})") from None
    return ValueNetwork(header=header, weights=weights, biases=biases, source=name)


def require_round(network: ValueNetwork, name: str) -> None:
    """Refuse a network of another round."""
    if network.round != name:
        raise NotSupported(
            f"{network.source} is a network of the {network.round}, and values are needed where the {name} is dealt"
        )
