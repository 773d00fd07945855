"""Single Deep CFR's snapshots: a bounded number, whose weights are those of all iterations there have been."""

import numpy as np
import pytest
import torch

from equipoise.games import load_game
from equipoise.networks.fitting import Fitting
from equipoise.networks.modules import FeedForward
from equipoise.regret.matching import UNIFORM, match_table
from equipoise.regret.rules import CFR, LinearCFR
from equipoise.sampling.schemes import External
from equipoise.solvers.parameters import Network
from equipoise.solvers.representations import REPRESENTATIONS
from equipoise.solvers.setup import Setup
from equipoise.solvers.spaces import ListedSpace
from equipoise.solvers.stored import StoredCFR
from equipoise.stores.memories import ListedBehaviour, MemoryConfig, MemoryRegrets, Snapshots

torch.set_num_threads(1)  # as the solvers do: these networks are too small to share out
MOST = 5


def solver_of(most, rule=None, seed=0):
    space = ListedSpace(
        Setup(game=load_game("kuhn_poker"), seed=seed + 1), REPRESENTATIONS["vector"], Network(cards="ranks")
    )
    config = MemoryConfig(
        architecture=FeedForward(width=4),
        fitting=Fitting(epochs=3, batch=32, rate=1e-2),
        capacity=2_000,
        fresh_steps=5,
        fresh_every=0,
    )
    regrets = MemoryRegrets(space.seen, config, unit=2.0, seed=seed, device=torch.device("cpu"))
    bytes_each = 4 * sum(memory.network.num_parameters for memory in regrets.memories)
    snapshots = Snapshots(
        regrets,
        rule or LinearCFR(),
        ListedBehaviour(space.listing, space.tables.own_reach, regrets.scores_with),
        fallback=UNIFORM,
        most_bytes=most * bytes_each + bytes_each // 2,
    )
    assert snapshots.most == most
    return StoredCFR(space, space.samples(External(), batch=20, fallback=UNIFORM), regrets, snapshots), snapshots


def scores_of(solver):
    return solver.space.listing.table(lambda player: solver.regrets.scores_at(player, None))


@pytest.mark.parametrize("rule", [CFR(), LinearCFR()])
@pytest.mark.parametrize("most", [2, MOST, 8])
def test_thinned_snapshots_stay_within_bounds_and_lose_no_weight(most, rule):
    solver, snapshots = solver_of(most, rule)
    played = []  # the parameters that made each iteration's strategy, by player
    for iteration in range(1, 41):
        before = [memory.network.parameters() for memory in solver.regrets.memories]
        solver.run(1)
        # Alternating: in player 0's turn player 1's strategy is averaged, in player 1's turn player 0's new one.
        played.append((solver.regrets.memories[0].network.parameters(), before[1] if iteration > 1 else np.zeros(0)))
        total = iteration if isinstance(rule, CFR) else iteration * (iteration + 1) / 2
        for player in range(2):
            weights, parameters = snapshots.weights[player], snapshots.parameters[player]
            assert len(weights) == len(parameters) <= most
            assert sum(weights) == pytest.approx(total, rel=1e-12)
            np.testing.assert_array_equal(parameters[-1], played[-1][player])
            known = [
                flat.tobytes() for _, flat in zip(range(iteration), (each[player] for each in played), strict=True)
            ]
            places = [known.index(flat.tobytes()) for flat in parameters]
            stride = snapshots.strides[player]
            # All times are thinned alike: a snapshot is the last of its stride of iterations, or the last there is.
            assert places == [min(start + stride, iteration) - 1 for start in range(0, iteration, stride)]
            assert len(places) > most // 2 or stride == 1
    assert max(len(weights) for weights in snapshots.weights) > 1


def test_without_thinning_the_average_is_the_sum_over_all_iterations():
    solver, snapshots = solver_of(1_000)
    tables, expected = solver.space.tables, np.zeros(solver.space.tables.size)
    for iteration in range(1, 13):
        for player in range(2):
            # Run turn by turn, by hand, and take note of the strategy that is averaged in each.
            scores = scores_of(solver)
            strategy = match_table(scores, tables.first, UNIFORM)
            whose = 1 - player
            weighted = iteration * tables.own_reach(strategy) * strategy
            tables.parts(expected)[whose][:] += tables.parts(weighted)[whose]
            solver._turns = ((player,),)
            solver.iteration = iteration - 1
            solver.run(1)
    np.testing.assert_allclose(snapshots.average(), expected, rtol=1e-12, atol=1e-12)
    spread = tables.from_form(solver.average_strategy())
    assert spread.max() - spread.min() > 0.5


def test_after_thinning_the_average_is_that_of_the_snapshots_that_are_left():
    solver, snapshots = solver_of(4)
    solver.run(5)  # the fifth is one too many
    tables, listing, regrets = solver.space.tables, solver.space.listing, solver.regrets
    expected = np.zeros(tables.size)
    now = scores_of(solver)
    for player in range(2):
        assert len(snapshots.weights[player]) < 5
        for weight, flat in zip(snapshots.weights[player], snapshots.parameters[player], strict=True):
            module = regrets.memories[player].network.module_with(flat) if len(flat) else None
            old = regrets.scores_with(player, module)
            scores = listing.table(lambda who: old if who == player else regrets.scores_at(who, None))  # noqa: B023
            strategy = match_table(scores, tables.first, UNIFORM)
            tables.parts(expected)[player][:] += weight * tables.parts(tables.own_reach(strategy) * strategy)[player]
    np.testing.assert_allclose(snapshots.average(), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(scores_of(solver), now)  # looking at old networks changes nothing


def test_thinning_keeps_the_average_near(seed, level):
    """Neighbouring iterations play alike, so half of them say nearly what all say."""
    (whole, _), (thinned, snapshots) = solver_of(1_000, seed=seed), solver_of(16, seed=seed)
    whole.run(60)
    thinned.run(60)
    assert max(map(len, snapshots.weights)) <= 16
    np.testing.assert_array_equal(scores_of(whole), scores_of(thinned))
    one, two = (solver.space.tables.from_form(solver.average_strategy()) for solver in (whole, thinned))
    # 16 seeds: thinned 0.006, median 0.017, 0.055; from uniform play 0.23, 0.29, 0.38.
    assert 0.0 < level(np.abs(one - two).mean(), "thinned") < 0.12 < level(np.abs(one - 0.5).mean(), "uniform")


def test_restored_snapshots_go_on_as_if_nothing_had_happened():
    (first, one), (second, two) = solver_of(MOST), solver_of(MOST)
    first.run(9)
    saved = {name: np.asarray(array).copy() for name, array in first.state().items()}
    first.run(8)
    second.run(2)
    second.restore(9, saved)
    second.run(8)
    assert one.weights == two.weights
    for name, array in first.state().items():
        np.testing.assert_array_equal(array, second.state()[name], err_msg=name)
