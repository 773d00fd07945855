"""Every example and every notebook runs, stays short, and shows what its title promises."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES, NOTEBOOKS = sorted(FOLDER.glob("*.py")), sorted(FOLDER.glob("*.ipynb"))
SAYS = {
    "compare_algorithms.py": "pcfr+",
    "open_spiel_policy.py": "in OpenSpiel",
    "own_game.py": "is close to -1/2",
    "solve_leduc.py": "value to player 0: -0.0855",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path):
    assert len(path.read_text().splitlines()) < 40
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300, cwd=path.parents[1])
    assert done.returncode == 0, done.stderr
    assert SAYS[path.name] in done.stdout


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """Run a notebook in an empty folder; return what its cells of code showed, as lists of kinds and texts."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FOLDER.parent / "src"), os.environ.get("PYTHONPATH", "")]))

    def run(path):
        book = nbformat.read(path, as_version=4)
        assert not any(cell.get("outputs") for cell in book.cells), "kept without outputs, which would go stale"
        client = nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
        client.execute()
        outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
        shown = [output.get("data", {}) for output in outputs]
        return shown, "\n".join(data.get("text/plain", "") for data in shown)

    return run


@pytest.mark.processes
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, executed):
    shown, said = executed(path)
    assert any("image/png" in data for data in shown)  # a curve
    assert any("<table" in data.get("text/html", "") or "<svg" in data.get("text/html", "") for data in shown)
    assert SHOWS[path.stem](said, shown), said


def found(pattern, said):
    return [float(number) for number in re.findall(pattern, said)]


SHOWS = {
    "1_first_steps": lambda said, _: found(r"exploitability (\S+)>", said)[0] < 0.001 and "\nTrue" in said,
    "2_deep_cfr_and_tables": lambda said, _: (
        found(r"cfr\+ (\S+);", said)[0] < 0.01 and 0.1 < found(r"deep-cfr (\S+) ±", said)[0] < 1.5
    ),
    "3_of_your_own": lambda said, _: (
        max(found(r"(?m)^(0\.\d+)$", said)) < 0.25 and found(r"deep-cfr in .*exploitability (\S+)>", said)[0] < 0.1
    ),
    "4_holdem_pictures": lambda said, shown: (
        sum("<svg" in data.get("text/html", "") for data in shown) >= 3 and "bet 900 (all-in)" in said
    ),
}


def test_all_notebooks_are_tried():
    assert set(SHOWS) == {path.stem for path in NOTEBOOKS}
