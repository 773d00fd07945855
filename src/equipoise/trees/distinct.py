"""The different numbers of a list, each once, in the order of their first appearance: by a hash table, in linear time.

Rows of games too large to list are numbers without bounds, so no array can say where one of them is.
"""

import numpy as np

from equipoise.compiled import inlined, kernel
from equipoise.trees.treeplex import Int64

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # Knuth's multiplicative hashing: 2^64 over the golden ratio
_S32 = np.uint64(32)
EMPTY = -1


def table_size(count: int) -> int:
    """Return a size of hash tables, a power of two, for ``count`` numbers."""
    return 1 << max(4, int(2 * count).bit_length())


@inlined
def find_slot(keys: Int64, places: Int64, key: int | np.int64) -> np.uint64:
    """Return the slot of a number in a hash table, or the empty slot where it belongs (``places`` is EMPTY there)."""
    mask = np.uint64(keys.size - 1)
    slot = ((np.uint64(key) * _SPREAD) >> _S32) & mask
    while places[slot] != EMPTY and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def _number(numbers: Int64, keys: Int64, places: Int64, found: Int64, which: Int64) -> int:
    count = 0
    for k in range(numbers.size):
        slot = find_slot(keys, places, numbers[k])
        if places[slot] == EMPTY:
            keys[slot], places[slot] = numbers[k], count
            found[count] = numbers[k]
            count += 1
        which[k] = places[slot]
    return count


def distinct(numbers: Int64) -> tuple[Int64, Int64]:
    """Return the different numbers of a list, and for each number of the list which of these it is."""
    size = table_size(len(numbers))
    found, which = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
    count = _number(numbers, np.empty(size, np.int64), np.full(size, EMPTY), found, which)
    return found[:count], which
