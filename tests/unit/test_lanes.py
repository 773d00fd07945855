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
    store(out, 4 * LANES, over(a, b, filled(first, 0.25)))
    store(out, 5 * LANES, where_positive(a, b, zeros(first)))
    store(out, 6 * LANES, largest(a, b))


@uncounted
def turn(source, stride, target, step):
    """Transpose one block."""
    transpose(source, 3, stride, target, 5, step)


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
    target = np.zeros(1000, precision)
    turn(source, 20, target, 33)
    for k in range(LANES):
        for j in range(LANES):
            assert target[5 + j * 33 + k] == source[3 + k * 20 + j]
    assert (target != 0).sum() == LANES * LANES


def test_aligned():
    for count in (1, 7, 1000):
        made = aligned_zeros(count, np.float32)
        assert made.size == count
        assert made.ctypes.data % 64 == 0
        assert not made.any()
