"""A cluster that a command starts by itself: who can reach it, what Ctrl-C does, and mistakes in one line."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from equipoise.distribute.cluster import Cluster, open_cluster, workers_wanted
from equipoise.errors import InvalidParameter, MissingPackage
from equipoise.runs.directory import RunDirectory
from tests.clusters import needs_ray

pytestmark = [pytest.mark.processes]

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "equipoise"]


def run(*arguments: object, **options):
    done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)
    return done.returncode, done.stdout, done.stderr


def children(pid: int) -> set[int]:
    """Return a process and all that it has started."""
    found, parents = {pid}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parents[int(folder.name)] = int(folder.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def listening(pids: set[int]) -> list[str]:
    """Return the addresses that some processes listen at, in the hexadecimal of /proc/net/tcp."""
    sockets = set()
    for pid in pids:
        for handle in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):
                sockets.add(os.readlink(handle))
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    return [line[1] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets]


@pytest.mark.parametrize("text", ["local", "local:0", "local:x", "8.8.8.8", "ray://here", ""])
def test_other_texts_are_refused(text):
    with pytest.raises(InvalidParameter):
        workers_wanted(text)
    assert workers_wanted("local:3") == 3
    assert workers_wanted("auto") is workers_wanted("ray://head:10001") is None


def test_no_ray_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackage, match="pip install 'equipoise"), open_cluster("local:1"):
        pass


@needs_ray
def test_no_cluster_is_one_line_and_exit_code_2(tmp_path):
    for text, said in [("auto", "no Ray cluster"), ("ray://127.0.0.1:1", "does not answer")]:
        options = {"env": {**os.environ, "HOME": str(tmp_path), "RAY_TMPDIR": str(tmp_path)}}
        code, _, told = run("sweep", "kuhn_poker", "--cluster", text, "--out", tmp_path / "s", **options)
        assert (code, "Traceback" in told) == (2, False)
        assert said in told.splitlines()[-1]


def squared(shared: int, lane: int, number: int) -> int:
    time.sleep(0.02 * (5 - number))  # the first ends last
    return number * number + shared


def process_of(seconds: float, lane: int, number: int) -> int:
    time.sleep(seconds)
    return os.getpid()


def waits(seconds: float) -> str:
    time.sleep(seconds)
    return ""


def fails(shared: object, lane: int, number: int) -> int:
    raise InvalidParameter(f"part {number} is not valid")


LOOPBACK = ("0100007F:", f"{'0' * 24}01000000:", f"{'0' * 16}FFFF00000100007F:")  # 127.0.0.1, ::1, ::ffff:127.0.0.1


@needs_ray
def test_a_local_cluster_listens_on_loopback_keeps_order_and_leaves_nothing():
    """In a process of its own, as commands have it: a driver ends with its process, whatever else is loaded there."""
    code = "from tests.distribute.test_local import look_at_a_local_cluster as look; look()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")  # of the killed worker, too


def look_at_a_local_cluster() -> None:
    before = dict(os.environ)
    with open_cluster("local:2") as cluster:
        found = listening(children(os.getpid()))
        assert found, "nothing listens: the test looks at the wrong processes"
        assert all(address.startswith(LOOPBACK) for address in found)
        assert os.environ["RAY_AUTH_MODE"] == "token" and os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
        assert cluster.workers == 2
        assert list(cluster.map(squared, range(5), 10)) == [10, 11, 14, 19, 26]
        with pytest.raises(InvalidParameter, match=r"^part 0 is not valid$"):
            list(cluster.map(fails, range(2), None))
        before_waiting = set(cluster.map(process_of, range(2), 0.5))
        assert not cluster.run_all(waits, [3.0], lambda done: None, 1.0, cores=[2])  # one works, the other has no core
        assert len(before_waiting) == 2 and set(cluster.map(process_of, range(2), 0.5)) == before_waiting
        _worker_killed(cluster)
        folder = Path(os.environ["RAY_TMPDIR"])
    assert dict(os.environ) == before
    with open_cluster("local:1") as another:  # with another token
        assert list(another.map(squared, range(2), 1)) == [1, 2]
    assert not folder.exists()


def dies_once(folder: str, lane: int, number: int) -> int:
    mark = Path(folder, str(number))
    if number == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def _worker_killed(cluster: Cluster) -> None:
    """A part whose worker is killed is made again."""
    folder = Path(os.environ["RAY_TMPDIR"], "marks")
    folder.mkdir()
    assert list(cluster.map(dies_once, range(4), str(folder))) == [0, 1, 2, 3]
    assert (folder / "1").exists()


@needs_ray
def test_ctrl_c_saves_the_runs_of_a_sweep_and_the_same_command_goes_on(tmp_path):
    sweep = ["sweep", "leduc_poker", "--algorithm", "cfr+", "--seeds", "2", "--seconds", "40", "--cluster", "local:2"]
    command = [*COMMAND, *sweep, "--out", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    logs = [tmp_path / "runs" / f"leduc_poker-cfr+-40s-seed{seed}" / "log.jsonl" for seed in range(2)]
    deadline = time.monotonic() + 300
    while not all(log.exists() for log in logs):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 130, told
    assert "go on by the same command" in told and "Traceback" not in told
    for log in logs:
        assert RunDirectory.open(log.parent).newest_checkpoint() > 0
        assert not (log.parent / "result.json").exists()
