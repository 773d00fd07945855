"""A run that was killed, interrupted or cut into pieces ends with the bits of one that was not."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import equipoise
from equipoise.errors import EquipoiseError, NotFound, RunBusy
from equipoise.runs.directory import RunDirectory
from equipoise.runs.drive import Interrupted
from equipoise.runs.phases import Progress

GAME = "leduc_poker"
ITERATIONS = {"cfr+": 60_000, "dcfr": 60_000, "pcfr+": 60_000, "xfp": 12_000}  # one or two seconds each

# argv: directory, algorithm, iterations
START = f"""
import sys, equipoise
equipoise.solve({GAME!r}, sys.argv[2], iterations=int(sys.argv[3]), out=sys.argv[1], checkpoint_seconds=0.05)
"""
GO_ON = """
import sys, equipoise
equipoise.resume(sys.argv[1])
"""


def contents(directory):
    """Return all that a finished run found, without its times."""
    with np.load(directory / "policy.npz") as arrays:
        policy = {name: arrays[name] for name in arrays.files if name != "header"}
    run = RunDirectory.open(directory)
    untimed = [{k: v for k, v in record.items() if not k.endswith("seconds")} for record in run.read_log()]
    checkpoint, complaints = run.load_checkpoint()
    assert complaints == []
    return policy, untimed, checkpoint


def assert_same(first, second):
    (policy, log, checkpoint), (other_policy, other_log, other_checkpoint) = contents(first), contents(second)
    for ours, theirs in ((policy, other_policy), (checkpoint.state, other_checkpoint.state)):
        assert ours.keys() == theirs.keys()
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
    assert checkpoint.iteration == other_checkpoint.iteration
    assert log == other_log


def newest(directory):
    return max((file.name for file in (directory / "checkpoints").glob("*.npz")), default="")


def kill_after_a_checkpoint(code, directory, *arguments):
    """Run code in a process of its own and kill it, without warning, once it has written a new checkpoint."""
    before = newest(directory)
    process = subprocess.Popen([sys.executable, "-c", code, str(directory), *map(str, arguments)])
    deadline = time.monotonic() + 300
    while newest(directory) == before:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not (directory / "result.json").exists()


@pytest.mark.processes
@pytest.mark.parametrize("algorithm", list(ITERATIONS))
def test_a_run_that_is_killed_again_and_again(algorithm, tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    kill_after_a_checkpoint(START, killed, algorithm, ITERATIONS[algorithm])
    for _ in range(2):
        kill_after_a_checkpoint(GO_ON, killed)
    resumed_at = int(newest(killed).removesuffix(".npz"))
    assert 0 < resumed_at < ITERATIONS[algorithm]
    resumed = equipoise.resume(killed)
    expected = equipoise.solve(GAME, algorithm, iterations=ITERATIONS[algorithm], out=whole)
    assert_same(killed, whole)
    assert (resumed.exploitability, resumed.iterations) == (expected.exploitability, ITERATIONS[algorithm])
    assert json.loads((killed / "result.json").read_text())["exploitability"] == expected.exploitability


def interrupt_at(iteration, signals=(signal.SIGINT,)):
    """Return a listener to progress that sends signals to this process when an iteration has been reached."""
    waiting = list(signals)

    def listen(progress):
        while isinstance(progress, Progress) and progress.iteration >= iteration and waiting:
            os.kill(os.getpid(), waiting.pop(0))

    return listen


@pytest.mark.parametrize("algorithm", list(ITERATIONS))
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_saves_itself_and_goes_on(algorithm, number, tmp_path):
    handlers = [signal.getsignal(known) for known in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(Interrupted) as caught:
        equipoise.solve(
            GAME, algorithm, iterations=2_000, out=tmp_path / "cut", on_progress=interrupt_at(700, [number])
        )
    assert 700 <= caught.value.iteration < 2_000
    assert newest(tmp_path / "cut") == f"{caught.value.iteration:012d}.npz"
    assert [signal.getsignal(known) for known in (signal.SIGINT, signal.SIGTERM)] == handlers
    equipoise.resume(tmp_path / "cut")
    equipoise.solve(GAME, algorithm, iterations=2_000, out=tmp_path / "whole")
    assert_same(tmp_path / "cut", tmp_path / "whole")


def test_a_second_interrupt_acts_at_once(tmp_path):
    twice = interrupt_at(700, [signal.SIGINT, signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):
        equipoise.solve(GAME, iterations=2_000, out=tmp_path / "cut", checkpoint_seconds=0.01, on_progress=twice)
    equipoise.resume(tmp_path / "cut")
    equipoise.solve(GAME, iterations=2_000, out=tmp_path / "whole")
    assert_same(tmp_path / "cut", tmp_path / "whole")


def test_an_interrupted_run_has_the_policy_of_its_checkpoint(tmp_path):
    with pytest.raises(Interrupted) as caught:
        equipoise.solve(GAME, iterations=2_000, out=tmp_path / "cut", on_progress=interrupt_at(700))
    policy = equipoise.load_policy(tmp_path / "cut")
    expected = equipoise.solve(GAME, iterations=caught.value.iteration).policy
    np.testing.assert_array_equal(policy.probabilities, expected.probabilities)


def test_a_damaged_checkpoint_costs_time_and_nothing_else(tmp_path):
    with pytest.raises(Interrupted):
        equipoise.solve(
            GAME, iterations=3_000, out=tmp_path / "cut", checkpoint_seconds=1e-9, on_progress=interrupt_at(700)
        )
    damaged = tmp_path / "cut" / "checkpoints" / newest(tmp_path / "cut")
    damaged.write_bytes(damaged.read_bytes()[:-100])
    complaints = []
    equipoise.resume(tmp_path / "cut", on_complaint=complaints.append)
    assert [str(damaged) in complaint for complaint in complaints] == [True]
    damaged.unlink(missing_ok=True)
    equipoise.solve(GAME, iterations=3_000, out=tmp_path / "whole")
    assert_same(tmp_path / "cut", tmp_path / "whole")


def test_without_a_good_checkpoint_nothing_starts_again_unasked(tmp_path):
    with pytest.raises(Interrupted):
        equipoise.solve(
            GAME, iterations=2_000, out=tmp_path / "cut", checkpoint_seconds=1e-9, on_progress=interrupt_at(700)
        )
    files = sorted((tmp_path / "cut" / "checkpoints").iterdir())
    for file in files:
        file.write_bytes(b"damaged")
    before = {file: file.read_bytes() for file in (tmp_path / "cut").rglob("*") if file.is_file()}
    with pytest.raises(NotFound, match=r"no checkpoint to go on from .* is damaged .*; left of it: a log up to iter"):
        equipoise.resume(tmp_path / "cut")
    del before[tmp_path / "cut" / "lock"]
    assert all(file.read_bytes() == content for file, content in before.items())
    complaints = []
    equipoise.resume(tmp_path / "cut", restart=True, on_complaint=complaints.append)
    assert "starts again from the beginning" in complaints[-1]
    assert (tmp_path / "cut" / "log.jsonl.first-try-1").read_bytes() == before[tmp_path / "cut" / "log.jsonl"]
    for file in files:
        if file.exists():  # no result of ours, and none of the run's: left alone
            file.unlink()
    equipoise.solve(GAME, iterations=2_000, out=tmp_path / "whole")
    assert_same(tmp_path / "cut", tmp_path / "whole")


def test_a_run_that_was_killed_before_its_first_checkpoint_is_refused_at_once(tmp_path):
    equipoise.solve(GAME, iterations=10, out=tmp_path / "run")
    for name in ("checkpoints/000000000010.npz", "policy.npz", "log.jsonl"):
        (tmp_path / "run" / name).unlink()
    with pytest.raises(
        NotFound, match=r"from \(none was written\); left of it: result.json; --restart starts it again"
    ):
        equipoise.resume(tmp_path / "run")
    assert equipoise.resume(tmp_path / "run", restart=True).iterations == 10


def test_a_later_checkpoint_counts_more_than_an_earlier_result(tmp_path):
    equipoise.solve(GAME, iterations=700, out=tmp_path / "run")
    with pytest.raises(Interrupted) as caught:
        equipoise.resume(tmp_path / "run", iterations=3_000, on_progress=interrupt_at(1_000))
    policy = equipoise.load_policy(tmp_path / "run")
    assert policy.origin["iterations"] == caught.value.iteration
    expected = equipoise.solve(GAME, iterations=caught.value.iteration).policy
    np.testing.assert_array_equal(policy.probabilities, expected.probabilities)
    newest_file = tmp_path / "run" / "checkpoints" / newest(tmp_path / "run")
    newest_file.write_bytes(b"damaged")  # then the result is the latest that there is
    assert equipoise.load_policy(tmp_path / "run").origin["iterations"] == 700


def test_two_writers_at_once(tmp_path):
    """The second is refused and changes nothing; when the first is killed, the run is free."""
    run = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", START, str(run), "cfr+", "100000000"])
    try:
        deadline = time.monotonic() + 300
        while not newest(run):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        with pytest.raises(RunBusy, match=f"is being written by process {process.pid} on "):
            equipoise.resume(run)
        with pytest.raises(EquipoiseError, match="already holds a run"):
            equipoise.solve(GAME, iterations=5, out=run)
        assert len(equipoise.load_policy(run)) == 936  # readers are welcome
    finally:
        process.kill()
        process.wait()
    at = int(newest(run).removesuffix(".npz"))
    assert equipoise.resume(run, iterations=at + 10).iterations == at + 10


def test_a_finished_run_can_be_made_longer(tmp_path):
    equipoise.solve(GAME, iterations=700, out=tmp_path / "longer")
    solution = equipoise.resume(tmp_path / "longer", iterations=2_000)
    expected = equipoise.solve(GAME, iterations=2_000)
    assert solution.iterations == 2_000
    np.testing.assert_array_equal(solution.policy.probabilities, expected.policy.probabilities)


def test_a_finished_run_that_is_resumed_changes_nothing(tmp_path):
    first = equipoise.solve(GAME, iterations=700, out=tmp_path / "run")
    before = contents(tmp_path / "run")
    again = equipoise.resume(tmp_path / "run")
    assert (again.exploitability, again.iterations) == (first.exploitability, 700)
    after = contents(tmp_path / "run")
    assert before[1] == after[1]
    np.testing.assert_array_equal(before[0]["probabilities"], after[0]["probabilities"])


def test_a_run_stops_at_the_exploitability_it_was_asked_for(tmp_path):
    solution = equipoise.solve(GAME, until=0.01, out=tmp_path / "run")
    assert solution.exploitability <= 0.01 < solution.history[-2]["exploitability"]
    with pytest.raises(Interrupted):
        equipoise.solve(GAME, until=0.01, out=tmp_path / "cut", on_progress=interrupt_at(50))
    equipoise.resume(tmp_path / "cut")
    assert_same(tmp_path / "cut", tmp_path / "run")


def test_a_newer_numpy_is_complained_about(tmp_path):
    equipoise.solve("kuhn_poker", iterations=10, out=tmp_path / "run")
    file = tmp_path / "run" / "config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps({**config, "versions": {**config["versions"], "numpy": "1.0"}}))
    complaints = []
    equipoise.resume(tmp_path / "run", iterations=20, on_complaint=complaints.append)
    assert len(complaints) == 1
    assert "made with numpy 1.0" in complaints[0]
