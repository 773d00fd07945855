"""Policies from elsewhere: OpenSpiel's objects, and the JSON and CSV that are exported."""

import csv
import json

import pytest

import equipoise
from equipoise.errors import DamagedFile, EquipoiseError, InvalidParameter, NotSupported
from equipoise.policies.export import write_csv, write_json
from tests.unit.test_cli import last_json, run  # noqa: F401 - a fixture


@pytest.fixture(scope="module")
def solution():
    return equipoise.solve("leduc_poker", iterations=20)


def test_a_tabular_policy_of_open_spiel_comes_back_as_it_went(solution):
    pytest.importorskip("pyspiel")
    theirs = solution.policy.to_open_spiel()
    ours = equipoise.as_policy(theirs, "leduc_poker")
    assert ours == solution.policy
    assert equipoise.exploitability("leduc_poker", ours) == pytest.approx(solution.exploitability, abs=1e-12)
    own = equipoise.as_policy(theirs)
    assert own.game.startswith("open_spiel:leduc_poker")
    assert equipoise.exploitability(own.game, own) == pytest.approx(solution.exploitability, abs=1e-12)


def test_any_policy_of_open_spiel_can_be_evaluated_and_matched():
    pyspiel = pytest.importorskip("pyspiel")
    from open_spiel.python import policy as spiel_policies
    from open_spiel.python.algorithms import exploitability

    class First(spiel_policies.Policy):
        """Whoever acts takes the first action, and player 1 sometimes the last."""

        def action_probabilities(self, state, player_id=None):
            actions = state.legal_actions()
            last = 0.25 if state.current_player() == 1 and len(actions) > 1 else 0.0
            return dict.fromkeys(actions, 0.0) | {actions[-1]: last} | {actions[0]: 1.0 - last}

    game = pyspiel.load_game("leduc_poker")
    theirs = First(game, [0, 1])
    ours = equipoise.as_policy(theirs, "leduc_poker")
    assert equipoise.exploitability("leduc_poker", ours) == pytest.approx(exploitability.exploitability(game, theirs))
    uniform = equipoise.as_policy(spiel_policies.UniformRandomPolicy(game), "leduc_poker")
    assert equipoise.exact_match(ours, uniform).mean != 0.0
    with pytest.raises(NotSupported, match=r"different actions|end at different"):
        equipoise.as_policy(theirs, "kuhn_poker")
    with pytest.raises(NotSupported, match="a int is neither a policy nor a path"):
        equipoise.as_policy(3)


def test_json_and_csv_come_back_as_they_went(solution, tmp_path):
    write_json(solution.policy, tmp_path / "a.json")
    write_csv(solution.policy, tmp_path / "a.csv")
    assert equipoise.load_policy(tmp_path / "a.json") == solution.policy
    assert equipoise.load_policy(tmp_path / "a.csv", game="leduc_poker") == solution.policy
    with pytest.raises(InvalidParameter, match=r"a.csv does not say which game it is for; give --game"):
        equipoise.load_policy(tmp_path / "a.csv")


def test_actions_are_taken_by_their_names_in_any_order(solution, tmp_path):
    write_json(solution.policy, tmp_path / "a.json")
    told = json.loads((tmp_path / "a.json").read_text())
    for each in told["infosets"].values():
        each["actions"] = dict(reversed(each["actions"].items()))
    (tmp_path / "a.json").write_text(json.dumps({"game": "leduc_poker", "infosets": told["infosets"]}))
    assert equipoise.load_policy(tmp_path / "a.json") == solution.policy
    key = next(iter(told["infosets"]))
    told["infosets"][key]["actions"] = {"shove": 1.0}
    (tmp_path / "a.json").write_text(json.dumps(told))
    with pytest.raises(NotSupported, match=r"it has the actions shove, and the game has call, raise|check"):
        equipoise.load_policy(tmp_path / "a.json")
    del told["infosets"][key]
    (tmp_path / "a.json").write_text(json.dumps(told))
    with pytest.raises(NotSupported, match="it has no infoset"):
        equipoise.load_policy(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", "[]", "not a policy as equipoise exports it"),
        ("a.json", '{"game": "kuhn_poker"', "not a policy as equipoise exports it"),
        ("a.json", '{"game": "kuhn_poker", "infosets": {"J|": {"player": 2, "actions": {"bet": 1}}}}', "no player 2"),
        ("a.json", '{"game": "kuhn_poker", "infosets": {"J|": {"player": 0, "actions": {"bet": 0.5}}}}', "up to 0.5"),
        ("a.csv", "who,what\n", "its first line is not player,infoset,action,probability"),
        ("a.csv", "player,infoset,action,probability\n0,J|,bet,1\n0,J|,bet,0\n", "has bet twice"),
        ("a.csv", "player,infoset,action,probability\n0,J|,bet\n", "not a policy as equipoise exports it"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_told(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(DamagedFile, match=says):
        equipoise.load_policy(tmp_path / name, game="kuhn_poker")


def test_other_rules_are_refused(solution, tmp_path):
    write_json(solution.policy, tmp_path / "a.json")
    told = json.loads((tmp_path / "a.json").read_text())
    told["fingerprint"] = told["fingerprint"][:-1] + "!"
    (tmp_path / "a.json").write_text(json.dumps(told))
    with pytest.raises(EquipoiseError, match="was made with other rules"):
        equipoise.load_policy(tmp_path / "a.json")


def test_exports_are_evaluated_matched_and_shown_on_the_command_line(run, tmp_path):  # noqa: F811
    first = last_json(run("solve", "kuhn_poker", "--iterations", "50", "--out", "kuhn", "--json")[1])
    for kind in ("json", "csv"):
        run("export", "kuhn", "--to", kind, "-o", f"kuhn.{kind}")
    game = ("--game", "kuhn_poker")
    assert last_json(run("evaluate", "kuhn.json", "--json")[1])["exploitability"] == first["exploitability"]
    assert last_json(run("evaluate", "kuhn.csv", *game, "--json")[1])["nash_conv"] == first["nash_conv"]
    code, out, err = run("match", "kuhn.csv", "uniform", *game, "--exact", "--json")
    assert code == 0, err
    assert last_json(out)["mean"] > 0
    assert "0." in run("show", "kuhn.csv", *game, "--infoset", "K|")[1]
    rows = list(csv.reader((tmp_path / "kuhn.csv").read_text().splitlines()))
    assert len(rows) == 1 + 24


def test_a_dry_run_prints_settings_memory_disk_and_time_and_writes_nothing(run, tmp_path):  # noqa: F811
    code, out, _ = run("solve", "kuhn_poker", "--algorithm", "deep-cfr", "--iterations", "100", "--dry-run")
    assert code == 0 and not any(tmp_path.iterdir())
    assert 'algorithm = "deep-cfr"' in out and "traversals = 5000" in out and "# disk" in out
    told = last_json(
        run("solve", "kuhn_poker", "--algorithm", "deep-cfr", "--iterations", "100", "--dry-run", "--json")[1]
    )
    assert told["disk_bytes"] == 3 * told["checkpoint_bytes"]
    first, later = told["first_iteration_seconds"], told["seconds_per_iteration"]
    every = told["config"]["parameters"]["fresh_every"]
    assert told["config"]["parameters"]["fit"] == "hybrid" and every == 10
    assert told["solving_seconds_in_all"] == pytest.approx(10 * first + 90 * later)
    assert told["fit_seconds_per_iteration"] + told["traversal_seconds_per_iteration"] <= later * 1.001
    assert told["fit_seconds_per_iteration"] > 0 and told["config"]["parameters"]["capacity"] == 4_000_000
    # Memories are allocated whole and fill as the run goes on: they count in full.
    assert told["memory_bytes"] > told["checkpoint_bytes"] > 4 * 4_000_000 * 4
    short = last_json(run("solve", "kuhn_poker", "--seconds", "5", "--dry-run", "--json")[1])
    assert "solving_seconds_in_all" not in short and short["seconds_per_iteration"] < later  # of a table


def test_tensorboard_has_every_iteration_in_groups(run, tmp_path):  # noqa: F811
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    options = (
        "--set",
        "steps=3",
        "--set",
        "policy_steps=3",
        "--set",
        "traversals=20",
        "--tensorboard",
        "--out",
        "deep",
    )
    assert run("solve", "kuhn_poker", "--algorithm", "deep-cfr", "--iterations", "12", *options)[0] == 0
    events = reading.EventAccumulator(str(tmp_path / "deep" / "tensorboard"))
    events.Reload()
    tags = set(events.Tags()["scalars"])
    for tag in (
        "loss/regret_loss_0", "loss/regret_loss_1", "loss/strategy_loss_0", "gradient norm/regret_gradient_norm_1",
        "memory/regret_memory", "seconds/traversal_seconds", "seconds/fit_seconds", "seconds/evaluation_seconds",
        "speed/nodes_per_second", "evaluation/exploitability",
    ):  # fmt: skip
        assert tag in tags
    assert [event.step for event in events.Scalars("loss/regret_loss_0")] == list(range(1, 13))
    assert len(events.Scalars("evaluation/exploitability")) < 12
    assert all(event.value > 0 for event in events.Scalars("speed/nodes_per_second"))
