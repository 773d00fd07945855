"""The benchmark of clusters measures what it says, on a small game."""

import pytest

from equipoise.bench.cluster import NO_CLUSTER, ONE_WORKER, cluster
from equipoise.bench.measure import OURS, format_rows
from tests.clusters import needs_ray
from tests.holdem import flop_holdem_of

pytestmark = [pytest.mark.processes, needs_ray]


def test_sweeps_and_boards_are_measured_on_two_workers_one_and_none():
    lines: list[str] = []
    rows = cluster(rounds=1, report=lines.append, game=flop_holdem_of(4, 3, raises=1), run_iterations=200)
    assert [set(row.samples) for row in rows] == [{OURS, ONE_WORKER}, {OURS, ONE_WORKER}, {OURS, NO_CLUSTER}]
    assert len(lines) == 5
    assert "an iteration sends" in format_rows(rows)
