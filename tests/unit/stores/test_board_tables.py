"""Tables in 16 bits: what is read back is what was stored, up to steps, and exactly in expectation."""

import numpy as np
import pytest

from equipoise.regret.rules import CFRPlus
from equipoise.solvers.board_cfr import BoardCFR
from equipoise.stores.board_tables import SumTable, load_rows, store_rows
from equipoise.trees.board_evaluator import BoardEvaluator
from equipoise.trees.board_form import board_form
from tests.holdem import small_holdem

WIDTH = 50


@pytest.mark.nojit
@pytest.mark.filterwarnings("ignore:overflow")  # of hashes, without compilation
def test_numbers_in_16_bits_are_kept_in_expectation():
    random = np.random.default_rng(1)
    numbers = (random.normal(size=(2, WIDTH)) ** 5).astype(np.float32)
    numbers[1] *= 1e-6
    numbers[0, 3] = 0.0
    table = SumTable(np.zeros(2 * WIDTH, np.int16), np.zeros(2, np.float32))
    repeats, out = 300, np.empty(2 * WIDTH, np.float32)
    total = np.zeros((2, WIDTH))
    largest = np.abs(numbers).max(axis=1, keepdims=True)
    step = 2 * np.sqrt(np.abs(numbers) * largest) / 32767 + largest / 32767**2
    for salt in range(repeats):
        store_rows(table, 0, 0, 2, WIDTH, numbers.ravel(), np.uint32(salt * 0x9E3779B9 & 0xFFFFFFFF))
        load_rows(table, 0, 0, 2, WIDTH, out)
        read = out.reshape(2, WIDTH)
        assert (np.abs(read - numbers) <= 1.01 * step + 1e-6 * np.abs(numbers)).all()
        assert read[0, 3] == 0.0
        total += read
    assert (np.abs(total / repeats - numbers) <= 4 * step / np.sqrt(repeats) + 1e-6 * np.abs(numbers)).all()


@pytest.mark.nojit
@pytest.mark.filterwarnings("ignore:overflow")
def test_solving_in_16_bits():
    form = board_form(small_holdem(3, 2, 1, caps=(1, 1)))
    solvers = [BoardCFR(form, CFRPlus(), storage=storage) for storage in ("float64", "int16")]
    for solver in solvers:
        solver.run(6)
    resumed = BoardCFR(form, CFRPlus(), storage="int16")
    resumed.restore(6, {name: array.copy() for name, array in solvers[1].state().items()})
    for solver in (*solvers, resumed):
        solver.run(6)
    for name, array in solvers[1].state().items():
        np.testing.assert_array_equal(array, resumed.state()[name], err_msg=name)
    levels = [BoardEvaluator(form).best_responses(s.average_strategy()).exploitability for s in solvers]
    assert levels[0] < 0.3 and levels[1] == pytest.approx(levels[0], rel=0.05)  # uniform play: above 1
