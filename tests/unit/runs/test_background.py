"""Checkpoints that a child process writes while the run goes on."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import equipoise
from equipoise.errors import CannotWrite
from equipoise.runs import background
from equipoise.runs.background import Background
from equipoise.runs.directory import Checkpoint, RunDirectory
from equipoise.runs.lock import is_held

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere checkpoints are written at once"),
]

CONFIG = {"game": "kuhn_poker", "algorithm": "cfr+"}


@pytest.fixture(autouse=True)
def _every_size(monkeypatch):
    monkeypatch.setattr(background, "LEAST_BYTES", 0)


def nothing() -> None:
    pass


def test_what_is_written_is_the_state_as_it_was(tmp_path):
    state = {"sums": np.arange(1_000_000.0)}
    wanted = state["sums"].copy()
    with RunDirectory.create(tmp_path / "run", CONFIG) as directory:
        directory.save_checkpoint(Checkpoint(3, 1.0, 1.0, state), meanwhile=True)
        state["sums"][:] = -1.0  # at once, while it is being written
        assert is_held(tmp_path / "run" / "lock")
    assert not is_held(tmp_path / "run" / "lock")  # the child does not keep it
    found, complaints = RunDirectory.open(tmp_path / "run").load_checkpoint()
    assert not complaints and found.iteration == 3
    np.testing.assert_array_equal(found.state["sums"], wanted)


def test_a_run_goes_on_while_it_is_written_and_knows_when_it_is_done(tmp_path):
    gate = tmp_path / "gate"

    def write() -> None:
        while not gate.exists():
            time.sleep(0.01)
        (tmp_path / "written").touch()

    writer = Background()
    writer.start(write, nothing)
    assert writer.busy and not (tmp_path / "written").exists()
    gate.touch()
    writer.wait()
    assert not writer.busy and (tmp_path / "written").exists()


def test_what_goes_wrong_in_the_child_is_said_here():
    def full() -> None:
        raise CannotWrite("cannot write run/checkpoints/1.npz: No space left on device")

    writer = Background()
    writer.start(full, nothing)
    with pytest.raises(CannotWrite, match="No space left"):
        writer.wait()
    writer.wait()  # said once


def test_what_a_killed_child_did_not_write_is_written_here(tmp_path):
    def write() -> None:
        if os.getpid() != own:
            os.kill(os.getpid(), signal.SIGKILL)
        (tmp_path / "written").touch()

    own, writer = os.getpid(), Background()
    writer.start(write, nothing)
    writer.wait()
    assert (tmp_path / "written").exists()


def test_too_little_memory_or_little_to_write_means_at_once(monkeypatch):
    monkeypatch.setattr(background, "LEAST_BYTES", 1000)
    monkeypatch.setattr(background, "available_bytes", lambda: 10_000)
    assert [background.fits(size) for size in (999, 1000, 8000, 8001)] == [False, True, True, False]


RUN = {"iterations": 12, "seed": 2, "parameters": {"traversals": 200, "steps": 5, "width": 8}}


def test_a_run_that_is_killed_while_it_writes_goes_on_with_the_same_bits(tmp_path):
    """Its child survives it, and the checkpoint is good; the run that goes on need not wait for it."""
    equipoise.solve("leduc_poker", "sd-cfr", out=tmp_path / "whole", checkpoint_seconds=0.0, **RUN)
    code = (
        "import os, pathlib, time, equipoise\n"
        "from equipoise.runs import background, directory\n"
        "background.LEAST_BYTES = 0\n"
        "usual, parent = directory.RunDirectory._write_checkpoint, os.getpid()\n"
        "def slowly(self, checkpoint):\n"
        "    time.sleep(0.2)\n"
        "    usual(self, checkpoint)\n"
        "directory.RunDirectory._write_checkpoint = slowly\n"
        "def on_record(record):\n"
        "    if record['iteration'] == 6:\n"  # a child is waited for, however busy the machine is
        f"        checkpoints = pathlib.Path({str(tmp_path / 'run' / 'checkpoints')!r})\n"
        "        while not list(checkpoints.glob('*.npz')):\n"
        "            time.sleep(0.05)\n"
        "    if record['iteration'] == 8:\n"
        "        os.kill(parent, 9)\n"
        f"equipoise.solve('leduc_poker', 'sd-cfr', out={str(tmp_path / 'run')!r}, checkpoint_seconds=0.0, "
        f"on_record=on_record, **{RUN!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not is_held(tmp_path / "run" / "lock")
    assert RunDirectory.open(tmp_path / "run").newest_checkpoint() > 0
    found = equipoise.resume(tmp_path / "run")
    assert found.iterations == 12
    whole, again = (RunDirectory.open(tmp_path / name).load_checkpoint()[0].state for name in ("whole", "run"))
    assert whole.keys() == again.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(again[name], array, err_msg=name)
