"""Vectors inside kernels: the same numbers as plain arithmetic, in both precisions."""

import numpy as np
import pytest

from equipoise.compiled import uncounted
from equipoise.lanes import (
    LANES,
    aligned_zeros,
    filled,
    largest,
    load,
    over,
    positive,
    store,
    transpose,
    transpose_back,
    where_none,
    where_positive,
    zeros,
)

pytestmark = pytest.mark.nojit


@uncounted
def combine(first, second, out):
    """Write one vector for each operation."""
    a, b = load(first, np.uint64(1)), load(second, 2)
    store(out, 0, a + b)
    store(out, LANES, a - b)
    store(out, 2 * LANES, a * b)
    store(out, 3 * LANES, positive(a))
    store(out, 4 * LANES, over(a, b) + where_none(b, filled(first, 0.25)))
    store(out, 5 * LANES, where_positive(a, b, zeros(first)))
    store(out, 6 * LANES, largest(a, b))


@uncounted
def turn(source, starts, target):
    """Transpose one block."""
    transpose(source, starts, 2, 3, target, 5)


@uncounted
def turn_back(source, target, step):
    """Transpose one block."""
    transpose_back(source, 5, target, 7, step)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_operations(precision):
    random = np.random.default_rng(1)
    first, second = random.normal(size=(2, 40)).astype(precision)
    second[5] = 0.0
    out = np.zeros(7 * LANES, precision)
    combine(first, second, out)
    a, b = first[1 : 1 + LANES], second[2 : 2 + LANES]
    with np.errstate(divide="ignore"):
        quotient = np.where(b > 0, a / b, precision(0.25))
    expected = [a + b, a - b, a * b, np.maximum(a, 0), quotient, np.where(a > 0, b, 0), np.maximum(a, b)]
    np.testing.assert_array_equal(out.reshape(7, LANES), np.array(expected))


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_transpose(precision):
    source = np.arange(1000, dtype=precision)
    target, back = np.zeros(300, precision), np.zeros(1000, precision)
    starts = np.array([0, 0, *np.random.default_rng(2).integers(0, 900, LANES)])
    turn(source, starts, target)
    lines = np.array([source[first + 3 : first + 3 + LANES] for first in starts[2:]])
    np.testing.assert_array_equal(target[5 : 5 + LANES**2].reshape(LANES, LANES), lines.T)
    assert not target[:5].any() and not target[5 + LANES**2 :].any()
    turn_back(target, back, 33)
    found = np.array([back[7 + k * 33 : 7 + k * 33 + LANES] for k in range(LANES)])
    np.testing.assert_array_equal(found, lines)
    assert (back != 0).sum() == (lines != 0).sum()


def test_aligned():
    for count in (1, 7, 1000):
        made = aligned_zeros(count, np.float32)
        assert made.size == count
        assert made.ctypes.data % 64 == 0
        assert not made.any()
