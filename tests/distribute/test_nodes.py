"""Runs on a cluster of several nodes, of which some are lost: the same bits as on one thread, and no hang."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import equipoise
from equipoise.distribute.cluster import open_cluster
from equipoise.errors import ClusterLost, NotSupported, TooLarge
from equipoise.games import load_game, sizes
from equipoise.regret.rules import DiscountedCFR
from equipoise.runs import provenance
from equipoise.runs.directory import RunDirectory
from equipoise.solvers.board_cfr import BoardCFR
from equipoise.solvers.board_shares import ShareSpec, make_share, shared_out
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.setup import Setup
from equipoise.trees.board_evaluator import BoardEvaluator
from equipoise.trees.board_form import board_form
from tests.clusters import needs_ray, nodes
from tests.holdem import flop_holdem_of

pytestmark = [pytest.mark.processes, needs_ray]

ROOT = Path(__file__).parents[2]
SMALL = flop_holdem_of(4, 3, raises=1)


@pytest.fixture(scope="module")
def cluster():
    with nodes(2) as started:
        yield started


@pytest.fixture
def workers(cluster):
    """Join the cluster, which always has two nodes when a test begins."""
    while len(cluster.nodes) < 2:
        cluster.add()
    with open_cluster("auto") as joined:
        yield joined


def same(found, wanted) -> None:
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def solver(workers=None, storage="float32", boards=None, updates="alternating") -> BoardCFR:
    options = {"storage": storage, "boards": boards, "updates": updates, "seed": 3}
    return BoardCFR(board_form(SMALL), DiscountedCFR(), workers=workers, **options)


@pytest.mark.parametrize(("storage", "updates"), [("float32", "alternating"), ("int16", "simultaneous")])
def test_boards_on_workers_have_the_bits_of_one_thread(workers, storage, updates):
    alone, shared = solver(storage=storage, updates=updates), solver(workers, storage=storage, updates=updates)
    for made in (alone, shared):
        made.run(3)
    same(shared.state(), alone.state())
    evaluator = BoardEvaluator(alone.form)
    assert shared.best_responses(evaluator) == alone.best_responses(evaluator)
    assert shared.best_responses(evaluator) == evaluator.best_responses(alone.average_strategy())


def kill_process(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_keepers_that_are_lost_are_brought_back_to_the_same_bits(cluster, workers):
    alone, shared = solver(), solver(workers)
    alone.run(5)
    shared.run(2)
    kill_process(shared.boards._keepers.processes()[0][1])  # before anything was saved: from the beginning
    shared.run(1)
    shared.state()
    shared.run(1)
    kill_process(shared.boards._keepers.processes()[1][1])  # from what was saved, and one turn more
    shared.run(1)
    assert shared.boards._keepers.losses == 2
    same(shared.state(), alone.state())
    os.kill(shared.boards._keepers.processes()[0][1], signal.SIGSTOP)  # frozen, which Ray does not notice
    shared.boards._keepers.patience = 3.0
    for made in (alone, shared):
        made.run(1)
    assert shared.boards._keepers.losses == 3
    same(shared.state(), alone.state())


def test_a_node_removed_and_a_node_that_joins_while_iterations_run(cluster, workers):
    alone, shared = solver(), solver(workers)
    shared.run(1)
    lost = shared.boards._keepers.processes()[0]

    def lose_node() -> None:
        cluster.remove(next(node for node in cluster.nodes if node.node_id == lost[0]))
        kill_process(lost[1])  # which would answer a few more calls

    losing = threading.Timer(0.05, lose_node)
    losing.start()
    deadline = time.monotonic() + 300
    while shared.boards._keepers.losses == 0:
        assert time.monotonic() < deadline and shared.iteration < 5000
        shared.run(1)
    losing.join()
    cluster.add()
    shared.run(3)
    alone.run(shared.iteration)
    assert shared.boards._keepers.losses >= 1
    same(shared.state(), alone.state())


def test_a_share_that_does_not_fit_is_refused_with_the_node_that_it_does_not_fit_on(workers):
    form = board_form(SMALL)
    spec = ShareSpec(SMALL, "float32", range(form.num_boards))
    with pytest.raises(TooLarge, match="of the cluster: 1000000000 of the shares"):
        workers.keep(share_of_too_many, [spec])


def share_of_too_many(spec, neighbours):
    return make_share(spec, 10**9)


def test_boards_are_shared_out_whole_and_about_evenly():
    form = board_form(SMALL)
    for count in (1, 2, 3, 1000):
        shares = shared_out(form, count)
        assert len(shares) == count or (count == 1000 and len(shares) > form.num_boards / 2)
        assert [board for boards in shares for board in boards] == list(range(form.num_boards))


OPTIONS = {"checkpoint_seconds": 0.0, "first_evaluation": 2, "evaluation_growth": 2.0}


def test_a_driver_that_is_killed_is_resumed_on_another_number_of_workers(cluster, workers, tmp_path):
    """The program dies without a word in its third iteration, and goes on with a cluster of one, then without any."""
    alone = equipoise.solve(SMALL, "dcfr", iterations=8, out=tmp_path / "alone", **OPTIONS)
    code = (
        "import os, equipoise\n"
        "from equipoise.solvers.board_cfr import BoardCFR\n"
        "from tests.holdem import flop_holdem_of\n"
        "usual = BoardCFR.run\n"
        "def run(self, count):\n"
        "    if self.iteration >= 3: os.kill(os.getpid(), 9)\n"
        "    usual(self, count)\n"
        "BoardCFR.run = run\n"
        f"equipoise.solve(flop_holdem_of(4, 3, raises=1), 'dcfr', iterations=8, out={str(tmp_path / 'run')!r}, "
        f"cluster='auto', **{OPTIONS!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert RunDirectory.open(tmp_path / "run").newest_checkpoint() in (1, 2, 3)
    workers.ray.shutdown()
    cluster.remove(cluster.nodes[0])
    partly = equipoise.resume(tmp_path / "run", iterations=6, cluster="auto", game=SMALL)
    assert partly.iterations == 6
    assert partly.policy is not None  # the cluster is left, and the tables are here
    found = equipoise.resume(tmp_path / "run", iterations=8, game=SMALL)
    assert (found.value, found.nash_conv) == (alone.value, alone.nash_conv)
    same(
        RunDirectory.open(tmp_path / "run").load_checkpoint()[0].state,
        RunDirectory.open(tmp_path / "alone").load_checkpoint()[0].state,
    )
    cluster.add()


PARTS = {
    "rs-mccfr": ("leduc_poker", {"batch": 20_000}),
    "sd-cfr": (
        SMALL,
        {"traversals": 12_000, "width": 8, "minibatch": 64, "steps": 2, "fresh_steps": 2, "network": "mlp"},
    ),
}


def in_parts(name, workers=None):
    game, given = PARTS[name]
    played = load_game(game) if isinstance(game, str) else game
    return find_recipe(name).solver(Setup(game=played, seed=3, workers=workers), given)


def place_of(pause: float, lane: int, number: int) -> tuple[str, int]:
    import ray

    time.sleep(pause)
    return ray.get_runtime_context().get_node_id(), os.getpid()


def test_parts_that_are_lost_are_made_again_with_the_same_bits(cluster, workers, monkeypatch):
    """Workers are killed and frozen, a node goes and another comes, while iterations run."""
    monkeypatch.setattr(sizes, "MOST_LISTED", 10_000)  # so that the small game is traversed in lockstep
    pairs = [(in_parts(name), in_parts(name, workers)) for name in PARTS]
    for _, shared in pairs:
        shared.run(1)
    places = sorted(set(workers.map(place_of, range(2), 0.3)))
    assert len(places) == 2

    def while_lost(lose) -> None:
        """Run iterations while something is lost, and some more."""
        losing = threading.Timer(0.02, lose)
        losing.start()
        while losing.is_alive():
            for _, shared in pairs:
                shared.run(1)
        for _, shared in pairs:
            shared.run(2)

    while_lost(lambda: kill_process(places[0][1]))
    now = sorted(set(workers.map(place_of, range(2), 0.3)))
    assert len(now) == 2 and places[0] not in now  # another process is in its place
    workers.patience = 3.0
    frozen = now[1]
    while_lost(lambda: os.kill(frozen[1], signal.SIGSTOP))  # which Ray does not notice
    kill_process(frozen[1])

    def lose_node() -> None:
        cluster.remove(next(node for node in cluster.nodes if node.node_id == now[0][0]))
        kill_process(now[0][1])

    while_lost(lose_node)
    cluster.add()
    deadline = time.monotonic() + 60
    while {node for node, _ in workers.map(place_of, range(4), 0.1)} <= {node for node, _ in now}:
        assert time.monotonic() < deadline, "nothing is ever done on the node that came"
    for alone, shared in pairs:
        shared.run(1)
        alone.run(shared.iteration)
        same(shared.state(), alone.state())


def test_no_node_left_is_one_line(cluster, workers):
    shared = in_parts("rs-mccfr", workers)
    shared.run(1)
    workers.patience_for_nodes = 1.0
    for node in list(cluster.nodes):
        cluster.remove(node)
    with pytest.raises(ClusterLost, match="no node left to work on"):
        shared.run(100_000)


def test_another_version_on_a_node_is_one_line(cluster, monkeypatch):
    if not cluster.nodes:
        cluster.add()
    usual = provenance.versions()
    monkeypatch.setattr(provenance, "versions", lambda: {**usual, "numpy": "1.0"})
    said = r"has numpy \S+, and here it is 1\.0: results would differ; install the same"
    with pytest.raises(NotSupported, match=said), open_cluster("auto"):
        pass


def test_a_head_that_is_gone_is_one_line():
    """In a process of its own: what Ray leaves behind of a lost cluster is nobody else's."""
    code = "from tests.distribute.test_nodes import lose_the_head as lose; lose()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=250, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "the head of the cluster" in done.stdout and "is gone" in done.stdout


def lose_the_head() -> None:
    with nodes(1) as started, open_cluster("auto") as workers:
        shared = in_parts("rs-mccfr", workers)
        shared.run(1)
        losing = threading.Timer(0.3, started.cluster.head_node.kill_gcs_server)
        losing.start()
        try:
            shared.run(100_000)
        except ClusterLost as error:
            os.write(1, str(error).encode())
            os._exit(0)  # Ray itself would wait for the head for a minute


def test_what_is_worked_on_by_one_machine_is_refused():
    with pytest.raises(NotSupported, match="leave out --cluster"):
        equipoise.solve("kuhn_poker", cluster="local:2")
    with pytest.raises(NotSupported, match="processor time"):
        equipoise.solve(SMALL, cluster="local:2", core_seconds=1.0)
