"""Every example runs, stays short, and prints what its title promises."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
SAYS = {
    "compare_algorithms.py": "pcfr+",
    "open_spiel_policy.py": "in OpenSpiel",
    "own_game.py": "is close to -1/2",
    "solve_leduc.py": "value to player 0: -0.0855",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path):
    assert len(path.read_text().splitlines()) < 40
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120, cwd=path.parents[1])
    assert done.returncode == 0, done.stderr
    assert SAYS[path.name] in done.stdout
