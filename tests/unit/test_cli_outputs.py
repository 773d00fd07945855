"""Wherever a user names a file: it may be standard output, and a folder is one line."""

import json
import subprocess
import sys

import pytest

import equipoise

OUTPUTS = {
    "plot": ("plot", "run", "-o"),
    "json": ("export", "run", "--to", "json", "-o"),
    "csv": ("export", "run", "--to", "csv", "-o"),
    "efg": ("export", "run", "--to", "efg", "-o"),
    "log": ("match", "run", "uniform", "--hands", "10", "--log"),
}
BEGINS = {"plot": b"\x89PNG", "json": b'{\n "game"', "csv": b"player,infoset", "efg": b"EFG 2 R", "log": b"STATE:0:"}
ENDS = {"plot": b"IEND\xaeB`\x82", "json": b"}\n", "csv": b"\r\n", "efg": b"}\n", "log": b"\n"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("outputs")
    equipoise.solve("kuhn_poker", iterations=20, out=made / "run")
    return made


def call(folder, *arguments):
    command = [sys.executable, "-m", "equipoise", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=300)


@pytest.mark.parametrize("what", list(OUTPUTS))
def test_standard_output_has_the_output_and_nothing_else(folder, what):
    done = call(folder, *OUTPUTS[what], "-", "--json")
    assert done.returncode == 0
    assert done.stdout.startswith(BEGINS[what])
    assert done.stdout.endswith(ENDS[what])
    assert isinstance(json.loads(done.stderr.splitlines()[-1]), dict)  # what is said of it
    if what == "log":
        assert len(done.stdout.splitlines()) == 10


@pytest.mark.parametrize("what", list(OUTPUTS))
@pytest.mark.parametrize("name", [".", "/dev/full", "missing/file"])
def test_what_cannot_be_written_is_one_line(folder, what, name):
    before = sorted(folder.rglob("*"))
    done = call(folder, *OUTPUTS[what], name)
    assert (done.returncode, done.stdout) == (2, b"")
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("equipoise: ")]
    assert len(lines) == 1
    assert lines[0].startswith(f"equipoise: cannot write {name}: ")
    assert "Traceback" not in done.stderr.decode()
    assert sorted(folder.rglob("*")) == before


def test_two_outputs_are_two_files(folder):
    for name in ("-", "both"):
        done = call(folder, *OUTPUTS["log"], name, "--phh", name)
        assert done.returncode == 2
        assert b"cannot go to the same file" in done.stderr
    assert not (folder / "both").exists()


def test_a_policy_goes_to_standard_output(folder):
    code = "import equipoise; equipoise.load_policy('run').save('-')"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, check=True, timeout=300)
    (folder / "copy.npz").write_bytes(done.stdout)
    assert equipoise.load_policy(folder / "copy.npz").keys == equipoise.load_policy(folder / "run").keys
