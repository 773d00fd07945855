"""MCCFR+ clips the sum of a batch, once per infoset and iteration (DN19 Eq. 14), and not its parts."""

import numpy as np
import pytest

from equipoise.regret.rules import CFRPlus
from equipoise.sampling.schemes import External, Robust
from equipoise.solvers.sampled import SampledCFR
from equipoise.trees.tables import TableMap
from tests.samples import Streams, prepared

pytestmark = pytest.mark.nojit
BATCH, SEED = 40, 7


def clipped_after(regrets, increments):
    """Return regrets after the sum of all increments, clipped once."""
    return np.maximum(regrets + np.sum(increments, axis=0), 0.0)


def clipped_inside(regrets, increments):
    """Return regrets that are clipped after each increment."""
    for increment in increments:
        regrets = np.maximum(regrets + increment, 0.0)
    return regrets


@pytest.mark.parametrize("scheme", [External(), Robust(k=1)])
@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
@pytest.mark.parametrize("text", ["kuhn_poker", "no_limit_kuhn"])
@pytest.mark.parametrize("iterations", [0, 1])
def test_regrets_are_clipped_once_per_iteration(scheme, updates, text, iterations):
    game = prepared(text, "public")
    solver = SampledCFR(TableMap(game.form), game.sampled, scheme, CFRPlus(), batch=BATCH, updates=updates, seed=SEED)
    streams, split = Streams(game, scheme, SEED), game.sampled.table_sizes[0]
    with np.errstate(over="ignore"):  # streams count modulo 2^64, which only compiled code takes as given
        solver.run(iterations)
        start = solver.regret_sum.copy()
        solver.run(1)
    once, inside = start.copy(), start.copy()
    for player, own in enumerate((slice(0, split), slice(split, None))):
        known = (
            start if updates == "simultaneous" else once
        ).copy()  # with what the other player has just learnt, or not
        increments = [streams.increments(known, player, iterations + 1, j)[own] / BATCH for j in range(BATCH)]
        once[own] = clipped_after(start[own], increments)
        inside[own] = clipped_inside(start[own], increments)
    np.testing.assert_allclose(solver.regret_sum, once, rtol=0.0, atol=1e-12)
    assert solver.regret_sum.min() == 0.0
    assert np.abs(solver.regret_sum - inside).max() > 0.01


def test_infosets_that_no_traversal_meets_keep_their_regret():
    game = prepared("kuhn_poker", "public")
    solver = SampledCFR(
        TableMap(game.form), game.sampled, Robust(k=1), CFRPlus(), batch=1, updates="simultaneous", seed=SEED
    )
    solver.regret_sum[:] = game.random_regrets(0, full_support=True)
    before, streams = solver.regret_sum.copy(), Streams(game, Robust(k=1), SEED)
    met = np.zeros(len(before), bool)
    for player in range(2):
        for row in streams.rows(before, player, 1, 0):
            if row.own:
                met[row.entry : row.entry + len(row.regrets)] = True
    with np.errstate(over="ignore"):
        solver.run(1)
    assert 0 < met.sum() < len(before)
    np.testing.assert_array_equal(solver.regret_sum[~met], before[~met])
    assert np.any(solver.regret_sum[met] != before[met])
