"""The benchmark of clusters measures what it says, on a small game."""

import importlib

import pytest

from equipoise.bench.measure import OURS, format_rows
from equipoise.bench.scaling import fitted
from equipoise.games import sizes
from tests.clusters import needs_ray
from tests.holdem import flop_holdem_of

pytestmark = [pytest.mark.processes, needs_ray]

bench = importlib.import_module("equipoise.bench.cluster")  # the package has a function of this name


def test_sweeps_traversals_batches_and_boards_are_measured_on_two_workers_one_and_none(monkeypatch):
    monkeypatch.setattr(sizes, "MOST_LISTED", 10_000)  # so that the small game is traversed in lockstep
    monkeypatch.setattr(bench, "BATCH_GAME", "kuhn_poker")
    lines: list[str] = []
    game = flop_holdem_of(4, 3, raises=1)
    rows = bench.cluster(
        rounds=1, report=lines.append, game=game, other=game, run_iterations=200, traversals=8192, seconds=0.01
    )
    compared = [{OURS, bench.ONE_WORKER}, {OURS, bench.NO_CLUSTER}]
    assert [set(row.samples) for row in rows] == [
        compared[0],  # sweeps
        *compared,  # traversals
        {OURS},  # more of them
        *compared,  # batches
        {OURS},  # messages
        *compared,  # boards
        {OURS},
    ]
    assert len(lines) == 2 + 3 * 3 + 3
    assert format_rows(rows).count("an iteration sends") == 3
    model = fitted([row.to_json() for row in rows])
    assert {fit.work.split(",")[0] for fit in model.fits} == {"exact CFR+", "traversals in lockstep"}
