"""Comparisons and sweeps: several processes, killed and resumed, runs reused only if they are the same."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import equipoise
from equipoise.errors import EquipoiseError, InvalidParameter
from equipoise.experiments.compare import read_sweep_file, settings_of
from equipoise.experiments.sweep import Setting, Sweep, place
from equipoise.runs.directory import RunDirectory
from equipoise.runs.identity import labels
from equipoise.solvers import recipes
from tests.unit.test_cli import last_json, run  # noqa: F401 - a fixture


def silent(text):
    pass


def test_a_comparison_has_means_spreads_curves_and_its_origin(tmp_path):
    entries = ["cfr+", {"algorithm": "es-mccfr", "iterations": 200, "label": "sampled"}]
    found = equipoise.compare(entries, game="kuhn_poker", seeds=3, iterations=20, out=tmp_path)
    assert list(found.runs) == ["cfr+", "sampled"]
    table, sampled = found.rows()
    assert (table["sd"], table["iterations"], sampled["iterations"]) == (0.0, 20, 200)  # CFR+ has no luck
    ends = [history[-1]["exploitability"] for history in found.histories["sampled"]]
    assert sampled["exploitability"] == pytest.approx(sum(ends) / 3) and sampled["min"] == min(ends) < max(ends)
    whole = equipoise.solve("kuhn_poker", "es-mccfr", iterations=200, seed=2)
    assert ends[2] == whole.exploitability
    saved = json.loads((tmp_path / "result.json").read_text())
    assert {"commit", "machine", "date", "versions", "settings", "runs", "rows"} <= set(saved)
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "sampled" in found._repr_html_() and "± " in repr(found)
    frame = found.to_frame()
    assert set(frame["seed"]) == {0, 1, 2} and set(frame["run"]) == set(found.runs)
    assert len(found.plot(by="seconds").axes) == 1


def test_what_is_wrong_is_told_before_anything_runs(tmp_path):
    with pytest.raises(InvalidParameter, match="the game is missing"):
        equipoise.compare(["cfr+"], out=tmp_path)
    with pytest.raises(InvalidParameter, match=r"'iteration' is not an option .* did you mean 'iterations'"):
        equipoise.compare(["cfr+"], game="kuhn_poker", iteration=3, out=tmp_path)
    with pytest.raises(EquipoiseError, match="unknown algorithm 'cfr-'"):
        equipoise.compare(["cfr-"], game="kuhn_poker", out=tmp_path)
    with pytest.raises(InvalidParameter, match="two runs are called 'cfr'"):
        equipoise.compare(["cfr", "cfr"], game="kuhn_poker", out=tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_run_is_reused_only_if_it_is_the_same(tmp_path, monkeypatch):
    setting = Setting(label="a", game="kuhn_poker", algorithm="dcfr", iterations=10)
    (path,) = Sweep(settings=(setting,), seeds=1).places(tmp_path, silent)["a"]
    assert place(setting, 0, tmp_path) == path  # the same
    assert place(replace(setting, parameters={"gamma": 2.0}, label="b"), 0, tmp_path) != path
    said = []
    # The folder is named after what was given: defaults that change, revisions and rules are found by looking.
    config = json.loads((path / "config.json").read_text())
    for change, why in (
        ({"parameters": {**config["parameters"], "gamma": 3.0}}, "gamma is 3.0 there, and 2.0 here"),
        ({"fingerprint": config["fingerprint"][:-1] + "!"}, "the rules of kuhn_poker have changed since"),
        ({"stop": {**config["stop"], "iterations": 99}}, "iterations is 99 there, and 10 here"),
    ):
        (path / "config.json").write_text(json.dumps({**config, **change}))
        assert place(setting, 0, tmp_path, said.append).name == path.name + "-2"
        assert why in said[-1]
    (path / "config.json").write_text(json.dumps(config))
    newer = replace(recipes.RECIPES["dcfr"], revision=2)
    monkeypatch.setitem(recipes.RECIPES, "dcfr", newer)
    assert place(setting, 0, tmp_path, said.append).name == path.name + "-2"
    assert "made by revision 1 of dcfr, which is at 2 now" in said[-1]
    complaints = []
    equipoise.resume(path, iterations=20, on_complaint=complaints.append)
    assert any("revision 1 of dcfr, now it is at 2" in sentence for sentence in complaints)


def test_older_runs_lack_newer_settings_and_are_the_same(tmp_path):
    setting = Setting(label="a", game="kuhn_poker", algorithm="dcfr", iterations=10)
    (path,) = Sweep(settings=(setting,), seeds=1).places(tmp_path, silent)["a"]
    config = json.loads((path / "config.json").read_text())
    del config["revision"], config["parameters"]["updates"]
    (path / "config.json").write_text(json.dumps(config))
    assert place(setting, 0, tmp_path) == path


def test_a_run_that_was_taken_further_says_so(run, tmp_path):  # noqa: F811
    run("solve", "kuhn_poker", "--iterations", "10", "--out", "kuhn")
    run("resume", "kuhn", "--iterations", "30")
    assert "iterations = 30" in run("config", "kuhn")[1]
    assert equipoise.resume(tmp_path / "kuhn", iterations=40).history[9]["iteration"] == 10


def test_labels_say_what_sets_runs_apart():
    def config(algorithm="cfr", game="kuhn_poker", **parameters):
        return {"game": game, "algorithm": algorithm, "parameters": parameters, "stop": {"iterations": 5}}

    assert labels([config(a=1, b=2.0), config(a=2, b=2.0)]) == ["cfr a=1", "cfr a=2"]
    assert labels([config(), config("dcfr", gamma=2)]) == ["cfr", "dcfr"]
    assert labels([config(), config(game="leduc_poker")]) == ["kuhn_poker, cfr", "leduc_poker, cfr"]


def test_a_sweep_on_the_command_line_and_from_a_file(run, tmp_path):  # noqa: F811
    options = ("--seeds", "2", "--jobs", "2", "--iterations", "30", "--json")
    first = last_json(
        run("sweep", "kuhn_poker", "--algorithm", "rs-mccfr", "--set", "batch=1,20", "--set", "k=2", *options)[1]
    )
    assert [row["run"] for row in first["rows"]] == ["rs-mccfr batch=1", "rs-mccfr batch=20"]
    assert RunDirectory.open(first["runs"]["rs-mccfr batch=20"][1]).config["parameters"]["batch"] == 20
    (tmp_path / "sweep.toml").write_text(
        'game = "kuhn_poker"\nseeds = 2\niterations = 30\n[[runs]]\nalgorithm = "rs-mccfr"\n'
        'parameters = {batch = [1, 20], k = 2}\n[[runs]]\nalgorithm = "cfr+"\nlabel = "table"\n'
    )
    code, out, err = run("sweep", "--config", "sweep.toml")
    assert code == 0 and "6 runs, 4 of them done before" in err
    assert "rs-mccfr batch=20" in out and "table" in out and "curves in sweeps/curves.png" in out
    (tmp_path / "sweep.toml").write_text('game = "kuhn_poker"\nseeed = 2\n')
    assert "'seeed' is not known; did you mean 'seeds'?" in run("sweep", "--config", "sweep.toml")[2]
    (tmp_path / "sweep.toml").write_text('game = "kuhn_poker"\niterations = "many"\n')
    assert "iterations = many is not valid; give a whole number" in run("sweep", "--config", "sweep.toml")[2]


def test_a_file_for_a_sweep_has_all_combinations(tmp_path):
    (tmp_path / "a.toml").write_text("[parameters]\na = [1, 2]\nb = [3, 4]\nc = 5\n")
    read = read_sweep_file(tmp_path / "a.toml")
    assert [each["parameters"] for each in read["runs"]] == [
        {"a": a, "b": b, "c": 5} for a in (1, 2) for b in (3, 4)
    ]  # fmt: skip
    with pytest.raises(InvalidParameter, match="nothing to compare"):
        settings_of([])


SLOW = ("leduc_poker", "--algorithm", "cfr", "--seeds", "2", "--jobs", "2", "--iterations", "30000")


@pytest.mark.processes
def test_kills_lose_nothing_of_a_sweep(tmp_path):
    """A worker is killed: another one goes on. The whole sweep is killed: the same command goes on."""
    command = [sys.executable, "-m", "equipoise", "sweep", *SLOW, "--out", str(tmp_path / "sweep")]

    def start():
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and len(busy(process.pid)) < 2:
            time.sleep(0.05)
        return process

    def busy(pid):
        """Return the workers that have begun to write a run."""
        logs = list((tmp_path / "sweep" / "runs").glob("*/log.jsonl"))
        return children(pid) if len(logs) == 2 else []

    process = start()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close(), process.stderr.close()
    process = start()
    os.kill(busy(process.pid)[0], signal.SIGKILL)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "cfr" in out
    whole = equipoise.solve("leduc_poker", "cfr", iterations=30000)
    result = json.loads((tmp_path / "sweep" / "result.json").read_text())
    assert result["rows"][0]["exploitability"] == whole.exploitability


def children(pid):
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found
