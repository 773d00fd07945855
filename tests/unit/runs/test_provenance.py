"""What config.json says of where a run comes from."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import torch

import equipoise
from equipoise.runs import provenance


def test_a_run_says_what_it_was_made_with_and_on(tmp_path):
    equipoise.solve("kuhn_poker", "deep-cfr", iterations=1, parameters={"traversals": 10}, out=tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["versions"]["torch"] == torch.__version__ and config["versions"]["numba"] == version("numba")
    assert ("cuda" in config["versions"]) == (torch.version.cuda is not None)
    machine = config["machine"]
    assert machine["cpu"] and machine["system"] and machine["memory_bytes"] > 1 << 28
    assert 1 <= machine["usable_cores"] <= machine["cores"]
    assert ("devices" in machine) == torch.cuda.is_available()


def test_pytorch_is_not_loaded_for_its_version():
    code = "from equipoise.runs.provenance import *; print('torch' in versions(), machine()); import sys\n"
    code += "print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False") and done.stdout.strip().endswith("False")


def test_a_checkout_says_its_commit_and_whether_it_was_changed(tmp_path):
    def git(*arguments: str) -> str:
        told = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(tmp_path), *arguments]
        return subprocess.run(told, capture_output=True, text=True, check=True).stdout.strip()

    package = tmp_path / "src" / "equipoise"
    package.mkdir(parents=True)
    (package / "a.py").write_text("one\n")
    assert provenance.commit.__wrapped__(package) is None
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    git("tag", "-a", "v1", "-m", "v1")
    assert provenance.commit.__wrapped__(package) == git("rev-parse", "HEAD")
    (package / "a.py").write_text("two\n")
    assert provenance.commit.__wrapped__(package) == git("rev-parse", "HEAD") + "-dirty"


def test_an_installation_inside_a_checkout_has_no_commit(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert provenance.commit.__wrapped__(tmp_path / ".venv" / "lib" / "equipoise") is None
    assert provenance.commit.__wrapped__(Path("/nowhere/src/equipoise")) is None
