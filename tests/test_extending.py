"""The code of docs/extending.md runs, one block after the other, and does what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest

from equipoise.errors import InvalidParameter
from equipoise.solvers.recipes import RECIPES

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"


@pytest.fixture
def found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(RECIPES, "fading", None)  # taken out again after the test
    names = {"__name__": "extending"}
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec"), names)
    return names


def test_the_page_runs(found):
    assert found["solution"].exploitability < 0.02  # 0.33 for uniform play
    assert found["solution"].policy["player 0"]["paper"] == pytest.approx(0.5, abs=0.02)
    assert found["by_rule"] < 0.02  # 2.37 for uniform play
    assert found["by_scheme"] < 0.25  # the same
    assert found["by_store"] < 0.05  # 0.46 for uniform play
    run, resumed = found["run"], found["resumed"]
    assert (run.iterations, resumed.iterations) == (500, 1000)
    assert resumed.exploitability < 0.05
    assert resumed.solver.nodes_touched > run.solver.nodes_touched > 0
    assert resumed.policy.origin["algorithm"] == "fading"

    assert found["learnt"].exploitability < 0.06  # 0.46 for uniform play
    assert found["learnt_on"].iterations == 50
    assert found["remembered"].exploitability < 0.35  # 2.37 for uniform play

    solve = found["equipoise"].solve
    whole = solve("kuhn_poker", "fading", iterations=1000, parameters={"keep": 0.99})
    np.testing.assert_array_equal(whole.solver.regrets.sum, resumed.solver.regrets.sum)
    with pytest.raises(InvalidParameter, match="keep"):
        solve("kuhn_poker", "fading", iterations=1, parameters={"keep": 2})
