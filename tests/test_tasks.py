"""The task lists of docs/research.md and docs/training.md: every block is pasted into an empty directory, in order."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What people have installed where these blocks are for: here only that they are called as they want to be.
STUBS = {
    "wandb": "class init:\n    def __init__(self, project): pass\n    def log(self, found): print('wandb', len(found))",
    "mlflow": "def log_metrics(metrics, step): print('mlflow', step, len({k: float(v) for k, v in metrics.items()}))",
}


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the blocks of a page with their languages; those of other shells (```bash) are not for pasting here."""
    found = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.DOTALL | re.M)
    return [(language, block) for language, block in found if language in ("", "python", "toml")]


def paste(page: str, folder: Path) -> list[str]:
    """Run a page's blocks in a folder; return what each printed."""
    (folder / "bin").mkdir()
    (folder / "bin" / "equipoise").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m equipoise "$@"\n')
    (folder / "bin" / "equipoise").chmod(0o755)
    for name, text in STUBS.items():
        (folder / "bin" / f"{name}.py").write_text(text + "\n")
    work = folder / "work"
    work.mkdir()
    environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(folder / "bin")])
    printed = []
    for language, block in blocks(page):
        if language == "toml":
            (work / "sweep.toml").write_text(block)
            continue
        if (named := re.match(r"# (\w+\.py)\n", block)) is not None:
            (work / named[1]).write_text(block)
            continue
        command = ["bash", "-e"] if language == "" else [sys.executable, "-"]
        done = subprocess.run(
            command, input=block, cwd=work, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        printed.append(done.stdout)
    return printed


@pytest.mark.processes
def test_the_tasks_of_research(tmp_path):
    printed = "\n".join(paste("research.md", tmp_path))
    work = tmp_path / "work"
    for picture in ("loss.png", "curves.png", "dice.png", "compared.png", "seeds/curves.png"):
        assert (work / picture).read_bytes().startswith(b"\x89PNG"), picture
    assert "es-mccfr" in printed and "deep-cfr width=32" in printed and "<Comparison by exploitability: cfr+" in printed
    assert re.search(r"wandb \d+", printed) and "mlflow 3 " in printed
    assert "6|" in printed and "double" in printed  # the own game
    assert "True 0.00" in printed  # to OpenSpiel and back
    assert re.search(r"iterations +15\n", printed) and "iterations = 15" in printed  # the resumed run


@pytest.mark.processes
def test_the_tasks_of_long_training(tmp_path):
    printed = "\n".join(paste("training.md", tmp_path))
    assert "# memory" in printed and "# fit per iteration" in printed
    assert "of solving: traversal" in printed and re.search(r"iterations +30\n", printed)
    for picture in ("exploitability.png", "loss.png"):
        assert (tmp_path / "work" / picture).read_bytes().startswith(b"\x89PNG")
    assert any((tmp_path / "work" / "long" / "tensorboard").iterdir())
