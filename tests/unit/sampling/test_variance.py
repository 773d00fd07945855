"""Probing pays: at the root its estimates have less variance than those that count left-out actions as zero."""

import numpy as np
import pytest

from equipoise.regret.rules import CFR
from equipoise.sampling.schemes import External, Inclusion
from equipoise.solvers.sampled import SampledCFR
from equipoise.trees.tables import TableMap
from tests.samples import Streams, prepared

TRAVERSALS = 5000


@pytest.fixture(scope="module")
def goofspiel():
    """Return Goofspiel with five cards, and regrets after some iterations."""
    game = prepared("goofspiel(cards=5)", "histories")
    solver = SampledCFR(TableMap(game.form), game.sampled, External(), CFR())
    solver.run(1000)
    return game, solver.regret_sum


def at_the_root(game, regrets, scheme, player, seed):
    """Return what many traversals find to be the regrets at the traverser's first infoset."""
    streams = Streams(game, scheme, seed=seed)
    found = (streams.rows(regrets, player, 1, number) for number in range(TRAVERSALS))
    return np.array([next(row.regrets for row in rows if row.own) for rows in found])


@pytest.mark.parametrize("player", [0, 1])
def test_probing_lowers_the_variance_at_the_root_of_goofspiel(goofspiel, player, seed, level):
    game, regrets = goofspiel
    schemes = Inclusion(always="ends", p=0.5), Inclusion(always="ends", p=0.5, probe=True), External()
    estimates = [at_the_root(game, regrets, scheme, player, seed) for scheme in schemes]
    left_out, probed, all_walked = (np.var(found, axis=0).sum() for found in estimates)
    # 16 seeds, both players: of leaving out 0.41, medians 0.43 and 0.42, 0.45; of probing 0.78, 0.80 and 0.88, 0.90.
    assert level(probed / left_out, "of leaving out") < 0.6
    assert level(all_walked / probed, "of probing") < 1.0  # what it costs to walk fewer actions
    difference = np.mean(estimates[0], axis=0) - np.mean(estimates[1], axis=0)
    assert np.abs(difference).max() < 5 * np.sqrt((left_out + probed) / TRAVERSALS)
