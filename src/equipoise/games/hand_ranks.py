"""How strong a hold'em hand is: eval7's evaluator, called by its C function from inside kernels.

Cards are numbered ``rank * 4 + suit`` with ranks 2...A and suits c, d, h, s, as in OpenSpiel and the ACPC; eval7 wants
a set of cards as 52 bits, 13 a suit. ``hand_rank`` is larger for a stronger hand, and equal for hands that split.
"""

import ctypes
import sys
from collections.abc import Sequence
from typing import Any, cast

import eval7
import llvmlite.binding
import numba
import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined

_SYMBOL = "equipoise_hand_rank"


def _address() -> int:
    """Return where eval7's C function stands in memory."""
    capsule = sys.modules[eval7.evaluate.__module__].__pyx_capi__["cy_evaluate"]
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return cast(int, pointer(capsule, name(capsule)))


if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    _evaluate: Any = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32)(_address())
else:
    # By name, not by address: an address would be another one in the next process, and kernels are kept on disk.
    llvmlite.binding.add_symbol(_SYMBOL, _address())
    _evaluate = numba.types.ExternalFunction(_SYMBOL, numba.types.uint32(numba.types.uint64, numba.types.uint32))

CARD_BIT: npt.NDArray[np.uint64] = np.array(
    [1 << (13 * (card % 4) + card // 4) for card in range(52)], np.uint64
)  # a card as one of eval7's bits


@inlined
def hand_rank(bits: int | np.uint64, count: int) -> int:
    """Return the rank of the best five of ``count`` cards (5 to 7), given as the sum of their ``CARD_BIT``."""
    return _evaluate(np.uint64(bits), np.uint32(count))  # type: ignore[no-any-return]


def deck_bits(ranks: int, suits: int) -> npt.NDArray[np.uint64]:
    """Return the cards of a deck, or of a part of one, as bits of ``hand_rank``."""
    return CARD_BIT.reshape(13, 4)[:ranks, :suits].ravel().copy()


@inlined
def showdown(
    bits: npt.NDArray[np.uint64], cards: npt.NDArray[np.integer[Any]], start: int, hole: int, open_cards: int
) -> int:
    """Return who wins with best five cards: 1 player 0, -1 player 1, 0 nobody.

    From ``start`` on lie player 0's cards, player 1's and the board; ``bits`` are those of the deck.
    """
    board = np.uint64(0)
    for place in range(start + 2 * hole, start + 2 * hole + open_cards):
        board |= bits[cards[place]]
    first = second = board
    for place in range(start, start + hole):
        first |= bits[cards[place]]
        second |= bits[cards[place + hole]]
    ranks = hand_rank(first, hole + open_cards), hand_rank(second, hole + open_cards)
    return int(ranks[0] > ranks[1]) - int(ranks[0] < ranks[1])


def best_five(cards: Sequence[int]) -> int:
    """Return the rank of the best five of 5 to 7 cards."""
    return int(hand_rank(sum(int(CARD_BIT[card]) for card in cards), len(cards)))
