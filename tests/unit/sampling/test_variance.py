"""Probing pays: at the root its estimates have less variance than those that count left-out actions as zero."""

import numpy as np
import pytest

from equipoise.regret.rules import CFR
from equipoise.sampling.schemes import External, Inclusion
from equipoise.solvers.sampled import SampledCFR
from tests.samples import Streams, prepared

TRAVERSALS = 5000


@pytest.fixture(scope="module")
def goofspiel():
    """Return Goofspiel with five cards, and regrets after some iterations."""
    game = prepared("goofspiel(cards=5)", "histories")
    solver = SampledCFR(game.form, game.sampled, External(), CFR())
    solver.run(1000)
    return game, solver.regret_sum


def at_the_root(game, regrets, scheme, player):
    """Return what many traversals find to be the regrets at the traverser's first infoset."""
    streams = Streams(game, scheme, seed=2)
    found = (streams.rows(regrets, player, 1, number) for number in range(TRAVERSALS))
    return np.array([next(row.regrets for row in rows if row.own) for rows in found])


@pytest.mark.parametrize("player", [0, 1])
def test_probing_lowers_the_variance_at_the_root_of_goofspiel(goofspiel, player):
    game, regrets = goofspiel
    schemes = Inclusion(always="ends", p=0.5), Inclusion(always="ends", p=0.5, probe=True), External()
    estimates = [at_the_root(game, regrets, scheme, player) for scheme in schemes]
    left_out, probed, all_walked = (np.var(found, axis=0).sum() for found in estimates)
    assert probed < 0.8 * left_out
    assert all_walked < probed  # what it costs to walk fewer actions
    difference = np.mean(estimates[0], axis=0) - np.mean(estimates[1], axis=0)
    assert np.abs(difference).max() < 5 * np.sqrt((left_out + probed) / TRAVERSALS)
