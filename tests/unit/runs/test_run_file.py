"""A run can be read from a file and written to one: the same run, every setting in full."""

import json
import tomllib

import pytest

from equipoise.runs.directory import RunDirectory
from equipoise.runs.run_file import KEYS, read_run_file, run_file
from tests.unit.test_cli import last_json, run  # noqa: F401 - a fixture

RUNS = {
    name: text.split()
    for name, text in {
        "cfr": "leduc_poker --algorithm dcfr --set gamma=3 --iterations 5 --seed 3",
        "all actions": "kuhn_poker --algorithm rs-mccfr+ --set k=max --set batch=50 --iterations 4",
        "sampled": "kuhn_poker --algorithm rs-mccfr+ --preset dn20 --iterations 4 --engine sequence",
        "deep": "kuhn_poker --algorithm deep-cfr --iterations 2 --set traversals=20 --set fit=fine_tune --set steps=3 "
        "--set fresh_steps=3 --set policy_steps=3 --evaluation-growth 1.5",
    }.items()
}


@pytest.mark.parametrize("name", list(RUNS))
def test_a_run_that_is_written_and_read_is_the_same_run(run, tmp_path, name):  # noqa: F811
    first = last_json(run("solve", *RUNS[name], "--out", "first", "--json")[1])
    code, text, _ = run("config", "first")
    assert code == 0
    (tmp_path / "run.toml").write_text(text)
    again = last_json(run("solve", "--config", "run.toml", "--out", "again", "--json")[1])
    timeless = [{key: value for key, value in each.items() if "second" not in key} for each in (first, again)]
    assert timeless[0] | {"run": 0} == timeless[1] | {"run": 0}
    assert timeless[0]["exploitability"] > 0.0
    configs = [dict(RunDirectory.open(tmp_path / folder).config) for folder in ("first", "again")]
    for each in configs:
        for changes in ("created", "preset"):  # a preset's settings are written one by one
            each.pop(changes)
    assert configs[0] == configs[1]
    assert last_json(run("config", "first", "--json")[1])["parameters"] == configs[0]["parameters"]
    written = tomllib.loads(text)
    assert {**written["parameters"], "k": 0} == {**configs[0]["parameters"], "k": 0}
    assert written["parameters"].get("k", 3) == ("max" if name == "all actions" else 3)
    assert written.keys() <= KEYS.keys()


def test_the_command_line_comes_first(run, tmp_path):  # noqa: F811
    (tmp_path / "run.toml").write_text(
        'game = "kuhn_poker"\nalgorithm = "dcfr"\niterations = 50\nseed = 7\n[parameters]\ngamma = 3.0\n'
    )
    arguments = ("--config", "run.toml", "--seconds", "0.01", "--set", "gamma=1.5", "--out", "changed")
    assert run("solve", *arguments)[0] == 0
    config = json.loads((tmp_path / "changed" / "config.json").read_text())
    assert (config["game"], config["algorithm"], config["seed"]) == ("kuhn_poker", "dcfr", 7)
    assert config["parameters"]["gamma"] == 1.5
    assert config["stop"] == {"iterations": None, "until": None, "seconds": 0.01, "core_seconds": None}
    assert run("solve", "leduc_poker", "--config", "run.toml", "--iterations", "2", "--out", "other")[0] == 0
    assert json.loads((tmp_path / "other" / "config.json").read_text())["game"] == "leduc_poker"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("game = 3", "game = 3 is not valid; give a text"),
        ('gmae = "kuhn_poker"', "'gmae' is not known; did you mean 'game'?"),
        ("iterations = 1.5", "iterations = 1.5 is not valid; give a whole number"),
        ("iterations = true", "iterations = True is not valid"),
        ("seed = ", "is not TOML"),
        ("\xff", "is not TOML"),
        ("parameters = 3", "parameters = 3 is not valid; give a table"),
        ('game = "kuhn_poker"\n[parameters]\npower = [1]', "parameters.power is not valid"),
        ('game = "kuhn_poker"\n[parameters]\nlr = 1', "cfr+ has no parameter 'lr'"),
        ("seed = 1", "GAME is missing"),
        ('game = "python:evil.py"', "python:evil.py, which is Python code"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(run, tmp_path, text, says):  # noqa: F811
    (tmp_path / "evil.py").write_text("raise SystemExit('this code ran')")
    (tmp_path / "run.toml").write_bytes(text.encode("latin-1"))
    code, _, err = run("solve", "--config", "run.toml", "--iterations", "1")
    assert code == 2
    assert says in err
    assert err.strip().count("\n") == 0
    assert not (tmp_path / "runs").exists()


def test_a_file_that_is_not_there(run):  # noqa: F811
    code, _, err = run("solve", "--config", "nowhere.toml")
    assert code == 2
    assert "there is no file nowhere.toml" in err


def test_texts_survive_being_written(tmp_path):
    name = 'python:/tmp/a "quoted" \\ path/é.py'
    config = {"game": name, "stop": {"iterations": 3}, "parameters": {"rate": 1e-05, "k": 0, "rule": "cfr"}}
    (tmp_path / "run.toml").write_text(run_file(config), encoding="utf-8")
    found = read_run_file(tmp_path / "run.toml")
    assert found == {"game": name, "iterations": 3, "parameters": config["parameters"]}
