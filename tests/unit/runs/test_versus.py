"""Runs that play a fixed opponent as they go on: numbers in the log, on resume too, and mistakes in one line."""

import pytest

import equipoise
from equipoise.errors import InvalidParameter, NotFound, NotSupported


def test_a_run_plays_its_opponent_at_each_evaluation(tmp_path):
    found = equipoise.solve(
        "leduc_poker",
        iterations=100,
        evaluation_growth=4.0,
        versus="always-call",
        versus_hands=4000,
        out=tmp_path / "r",
    )
    exact = equipoise.exact_match(found.policy, "always-call").mean
    assert all({"versus_mean", "versus_error", "versus_mbb"} <= record.keys() for record in found.history)
    assert len(found.history) >= 4
    last = found.history[-1]
    assert abs(last["versus_mean"] - exact) < 2 * last["versus_error"]  # 95% intervals
    assert 0.0 < last["versus_error"] < 0.05  # 0.038 by AIVAT; 0.062 by duplicate deals, 0.116 by plain hands
    assert found.summary()["versus_mean"] == last["versus_mean"] > 0.3
    assert last["versus_mean"] > found.history[0]["versus_mean"]

    on = equipoise.resume(tmp_path / "r", iterations=200)
    again = equipoise.solve(
        "leduc_poker", iterations=200, evaluation_growth=4.0, versus="always-call", versus_hands=4000
    )
    assert on.history[-1]["versus_mean"] == again.history[-1]["versus_mean"]


def test_the_opponent_may_be_a_run_named_from_another_folder(tmp_path, monkeypatch):
    equipoise.solve("kuhn_poker", iterations=10, out=tmp_path / "first")
    monkeypatch.chdir(tmp_path)
    equipoise.solve(
        "kuhn_poker",
        "deep-cfr",
        iterations=2,
        parameters={"steps": 3, "policy_steps": 3},
        versus="first",
        versus_hands=100,
        out="second",
    )
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert "versus_mean" in equipoise.resume("../second", iterations=3).history[-1]


def test_strength_without_exact_evaluation():
    few = {"traversals": 20, "steps": 2, "policy_steps": 2, "width": 16}
    found = equipoise.solve(
        "limit_holdem",
        "deep-cfr",
        iterations=2,
        parameters=few,
        versus="always-call",
        versus_hands=200,
        first_evaluation=1,
    )
    assert "exploitability" not in found.history[-1]
    assert found.summary()["versus_error"] > 0.0 and "versus_mbb" in found.summary()


@pytest.mark.parametrize(
    ("game", "options", "error", "says"),
    [
        ("kuhn_poker", {"versus": "always-cal"}, NotFound, "always-call"),
        ("bluff(dice=1x1)", {"versus": "always-call"}, NotSupported, "always-call"),
        ("kuhn_poker", {"versus": "uniform", "versus_hands": 3}, InvalidParameter, "versus_hands=3"),
        ("kuhn_poker", {"versus": "uniform", "cluster": "local:2"}, NotSupported, "on one machine"),
    ],
)
def test_mistakes_are_said_before_anything_is_done(game, options, error, says, tmp_path):
    with pytest.raises(error, match=says):
        equipoise.solve(game, iterations=5, **options)


def test_an_opponent_of_another_game_is_refused_before_a_folder_is_made(tmp_path):
    equipoise.solve("leduc_poker", iterations=1, out=tmp_path / "other")
    with pytest.raises(NotSupported, match="other plays leduc_poker, not kuhn_poker"):
        equipoise.solve("kuhn_poker", iterations=5, versus=tmp_path / "other", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
