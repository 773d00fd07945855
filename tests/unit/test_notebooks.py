"""What notebooks and research code need: progress, records, frames, pictures, pickles, equality."""

import pickle
import re
import sys
import types

import pytest

import equipoise
from equipoise.errors import NotMeasurable, NotSupported
from equipoise.views.progress import show_progress

RIVER = "spot(board=Td9d6hQc2s,pot=200,stack=900,first=66+,second=QQ-22)"


@pytest.fixture(scope="module")
def solution():
    return equipoise.solve("kuhn_poker", iterations=30)


def test_a_solution_survives_a_pickle_with_its_policy_and_without_its_solver(solution):
    again = pickle.loads(pickle.dumps(solution))
    assert again == solution and again.policy == solution.policy
    assert again.summary() == solution.summary() and repr(again) == repr(solution)
    with pytest.raises(NotSupported, match="has no solver; solve with out="):
        _ = again.solver
    with pytest.raises(AttributeError, match="no attribute 'polcy'"):
        _ = again.polcy


def test_spots_and_networks_survive_pickles_too():
    spot = equipoise.solve(RIVER, iterations=10)
    again = pickle.loads(pickle.dumps(spot))
    assert again == spot and again.policy.line().means() == spot.policy.line().means()
    deep = equipoise.solve("kuhn_poker", "deep-cfr", iterations=2, parameters={"steps": 3, "policy_steps": 3})
    assert pickle.loads(pickle.dumps(deep)).policy == deep.policy


def test_equal_solutions_are_the_same_run(solution):
    assert solution == equipoise.solve("kuhn_poker", iterations=30)
    assert solution != equipoise.solve("kuhn_poker", iterations=31)
    assert solution != equipoise.solve("kuhn_poker", "dcfr", iterations=30)
    assert solution != "kuhn_poker"


def test_equal_policies_play_the_same_wherever_they_come_from(solution, tmp_path):
    solution.policy.save(tmp_path / "kuhn.npz")
    assert equipoise.load_policy(tmp_path / "kuhn.npz") == solution.policy
    assert equipoise.solve("kuhn_poker", iterations=29).policy != solution.policy
    assert solution.policy != "kuhn_poker"


def test_a_history_becomes_a_frame(solution):
    pytest.importorskip("pandas")
    frame = solution.to_frame()
    assert frame.index.name == "iteration" and frame.index[-1] == 30
    assert frame["exploitability"].iloc[-1] == solution.exploitability


def test_a_solution_draws_its_curve(solution, tmp_path):
    figure = solution.plot(tmp_path / "curve.svg", by="seconds")
    assert figure._repr_png_().startswith(b"\x89PNG") and "<svg" in (tmp_path / "curve.svg").read_text()
    (axes,) = figure.axes
    assert len(axes.lines[0].get_xdata()) == len(solution.history)
    with pytest.raises(NotMeasurable, match=r"no 'regret_loss' to draw; it has .*exploitability"):
        solution.plot(measure="regret_loss")


def test_solutions_and_policies_show_themselves_in_notebooks(solution):
    shown = solution._repr_html_()
    assert "<table>" in shown and "<polyline" in shown and "exploitability" in shown
    table = solution.policy._repr_html_()
    assert "bet" in table and table.count("<tr>") == 1 + 12
    leduc = equipoise.solve("leduc_poker", iterations=1).policy._repr_html_()
    assert "924 more" in leduc


def test_a_spot_shows_its_grid_weighted_by_reach():
    policy = equipoise.solve(RIVER, iterations=50).policy
    assert policy._repr_html_().count("<text") == 169
    line = policy.line("c")
    weights = line.weights()
    names = line.cell_names()
    of = {names[r][c]: weights[r, c] for r in range(13) for c in range(13)}
    assert of["JJ"] == 1.0 and not of["AA"] > 0.0  # the second player has no aces
    assert line.title() == "second player to act on Td 9d 6h Qc 2s after check"
    shown = line._repr_html_()
    dimmed = re.findall(r"opacity='0.35'>(\w+)<", shown)
    assert "AA" in dimmed and "JJ" not in dimmed


def test_every_record_is_handed_over_and_networks_report_each_iteration():
    seen = []
    tables = equipoise.solve("kuhn_poker", iterations=50, on_record=seen.append)
    assert seen == tables.history
    seen.clear()
    parameters = {"steps": 3, "policy_steps": 3, "traversals": 20}
    deep = equipoise.solve("kuhn_poker", "deep-cfr", iterations=8, parameters=parameters, on_record=seen.append)
    assert [record["iteration"] for record in seen] == list(range(1, 9))
    evaluated = [record for record in seen if "exploitability" in record]
    assert evaluated == deep.history and len(evaluated) < len(seen)
    for name in ("regret_loss_0", "regret_gradient_norm_1", "regret_memory", "traversal_seconds", "fit_seconds"):
        assert all(record[name] > 0 for record in seen), name
    assert deep.summary()["fit_seconds"] == deep.history[-1]["fit_seconds"]
    assert deep.summary()["nodes_per_second"] > 0
    assert deep.policy == equipoise.solve("kuhn_poker", "deep-cfr", iterations=8, parameters=parameters).policy


def test_an_error_of_a_callback_costs_nothing(tmp_path):
    def fail(record):
        if record["iteration"] >= 10:
            raise RuntimeError("the logger is gone")

    with pytest.raises(RuntimeError, match="the logger is gone"):
        equipoise.solve("kuhn_poker", iterations=50, out=tmp_path / "run", on_record=fail)
    again = equipoise.resume(tmp_path / "run")
    assert again.iterations == 50 and again.history[9]["iteration"] == 10
    assert again.policy == equipoise.solve("kuhn_poker", iterations=50).policy


def test_times_of_traversals_and_fits_go_on_after_a_resume(tmp_path):
    parameters = {"steps": 3, "policy_steps": 3, "traversals": 20}
    first = equipoise.solve("kuhn_poker", "deep-cfr", iterations=3, parameters=parameters, out=tmp_path / "run")
    second = equipoise.resume(tmp_path / "run", iterations=6)
    for name in ("traversal_seconds", "fit_seconds"):
        assert second.history[-1][name] > first.history[-1][name] > 0


def test_progress_is_shown_on_request_only(capsys):
    equipoise.solve("kuhn_poker", "cfr", seconds=0.8)
    assert capsys.readouterr().err == ""
    seen = []
    equipoise.solve("kuhn_poker", "cfr", seconds=1.5, progress=True, on_progress=seen.append)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "kuhn_poker by cfr" and seen
    assert any(line.startswith("  iteration ") for line in lines)  # after what else took a while, on a busy machine


def test_progress_in_a_notebook_changes_one_output(monkeypatch):
    shown = []

    class Handle:
        def update(self, content):
            shown.append(content)

    display = types.SimpleNamespace(HTML=str, display=lambda content, display_id: Handle())
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell, display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with show_progress("kuhn_poker by cfr+") as update:
        equipoise.solve("kuhn_poker", iterations=100, on_progress=update)
    assert re.fullmatch(
        r"<progress max='1' value='1.000'></progress> kuhn_poker by cfr\+: iteration 100, done, .*", shown[-1]
    )
