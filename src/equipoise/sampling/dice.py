"""Random draws inside kernels: a counter-based stream per traversal, so that results depend on the seed, never on
threads.

A stream is SplitMix64 (Steele, Lea and Flood 2014) started from a hash of (seed, iteration, player, traversal). For
exact tests a *tape* takes its place: the draws are read from the tape, and each choice notes on it the interval of
draws that would have led to the same choice. So all samples of a traversal can be enumerated, with their probabilities.
"""

import numpy as np

from equipoise.compiled import inlined
from equipoise.trees.codes import Int8
from equipoise.trees.treeplex import Float, UInt64

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53
NO_TAPE = np.zeros((0, 3))  # draws come from the stream


@inlined
def _mixed(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@inlined
def start_stream(dice: UInt64, seed: int, iteration: int, player: int, traversal: int) -> None:
    """Start the stream of one traversal; ``dice`` holds the stream's state and the position on the tape."""
    state = _mixed(np.uint64(seed) + _STEP)
    state = _mixed(state ^ (np.uint64(2 * iteration + player) * _STEP))
    dice[0] = _mixed(state + np.uint64(traversal + 1) * _MIX_1)
    dice[1] = np.uint64(0)


@inlined
def draw(dice: UInt64, tape: Float) -> float:
    """Return the next number of the stream, in [0, 1)."""
    if tape.shape[0] > 0:
        return float(tape[dice[1], 0])
    dice[0] += _STEP
    return float(_mixed(dice[0]) >> _S11) * _UNIT


@inlined
def note(dice: UInt64, tape: Float, low: float, high: float) -> None:
    """Say that every draw in [low, high) would have led to the same choice."""
    if tape.shape[0] > 0:
        tape[dice[1], 1] = low
        tape[dice[1], 2] = high
        dice[1] += np.uint64(1)


@inlined
def choose_index(dice: UInt64, tape: Float, count: int) -> int:
    """Return one of 0, ..., count - 1, each equally likely."""
    index = min(int(draw(dice, tape) * count), count - 1)
    note(dice, tape, index / count, (index + 1) / count)
    return index


@inlined
def deal_cards(dice: UInt64, tape: Float, cards: Int8, count: int) -> None:
    """Shuffle a whole deck, 0 to ``cards.size`` - 1, as far as its first ``count`` cards."""
    for card in range(cards.size):
        cards[card] = card
    for place in range(count):
        chosen = place + choose_index(dice, tape, cards.size - place)
        cards[place], cards[chosen] = cards[chosen], cards[place]


@inlined
def choose_weighted(
    dice: UInt64, tape: Float, weights: Float, start: np.uint64, count: np.uint64, sum_of_weights: float
) -> np.uint64:
    """Return an index with probabilities proportional to ``weights[start:start + count]``."""
    u = draw(dice, tape) * sum_of_weights
    total, chosen = 0.0, np.uint64(0)
    for index in range(count):  # unsigned, as `count` is
        total += weights[start + index]
        chosen += np.uint64(total <= u)  # counted, not branched on: which one it is cannot be predicted
    if chosen >= count:  # rounding left u above the sum: the last possible index
        chosen = count - np.uint64(1)
        while weights[start + chosen] <= 0.0:
            chosen -= np.uint64(1)
    if tape.shape[0] > 0:
        low = 0.0
        for index in range(chosen):
            low += weights[start + index]
        note(dice, tape, low / sum_of_weights, (low + weights[start + chosen]) / sum_of_weights)
    return chosen


@inlined
def happens(dice: UInt64, tape: Float, probability: float) -> bool:
    """Return True with the given probability. Certain events draw nothing."""
    if probability >= 1.0:
        return True
    if draw(dice, tape) < probability:
        note(dice, tape, 0.0, probability)
        return True
    note(dice, tape, probability, 1.0)
    return False
