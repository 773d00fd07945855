"""The command line as a user meets it: results, JSON, one-line errors with exit code 2."""

import csv
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from equipoise import cli, load_policy
from equipoise.solvers.recipes import RECIPES


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Call the command line in an empty directory; return exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["equipoise", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def kuhn(run):
    assert run("solve", "kuhn_poker", "--iterations", "300", "--out", "kuhn")[0] == 0
    return "kuhn"


def last_json(text):
    return json.loads(text.strip().splitlines()[-1])


def test_solve_prints_named_numbers_and_keeps_the_run(run, tmp_path):
    code, out, _ = run("solve", "leduc_poker", "--algorithm", "dcfr", "--until", "0.01", "--seed", "7", "--out", "run")
    assert code == 0
    assert "nash_conv / 2" in out and "chips to player 0" in out
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["game"], config["algorithm"], config["seed"]) == ("leduc_poker", "dcfr", 7)
    assert config["parameters"]["alpha"] == 1.5 and "numba" in config["versions"]
    last = json.loads((tmp_path / "run" / "log.jsonl").read_text().splitlines()[-1])
    assert last["exploitability"] <= 0.01 < 2.0


def test_json_has_the_promised_fields(run):
    _, out, _ = run("solve", "kuhn_poker", "--iterations", "500", "--json")
    result = last_json(out)
    wanted = {"game", "algorithm", "iterations", "seconds", "value", "nash_conv", "exploitability", "seed"}
    assert wanted <= result.keys()
    assert result["value"] == pytest.approx(-1 / 18, abs=1e-3)
    assert result["exploitability"] == result["nash_conv"] / 2
    _, out, _ = run("evaluate", result["run"], "--json")
    again = last_json(out)
    assert wanted <= again.keys()
    assert again["nash_conv"] == pytest.approx(result["nash_conv"], abs=1e-12)


def test_runs_without_out_do_not_overwrite_each_other(run):
    folders = [last_json(run("solve", "kuhn_poker", "--iterations", "5", "--json")[1])["run"] for _ in range(2)]
    assert folders[0] != folders[1]


def test_parameters_reach_the_algorithm(run):
    levels = [
        last_json(run("solve", "kuhn_poker", "--iterations", "50", "--algorithm", "dcfr", *more, "--json")[1])
        for more in ([], ["--set", "gamma=0"], ["--set", "updates=simultaneous"])
    ]
    assert len({level["nash_conv"] for level in levels}) == 3


def test_games_and_algorithms_are_listed_with_sizes_and_papers(run):
    _, out, _ = run("games")
    assert "3,648" in out and "24,576" in out and "efg:PATH" in out
    listed = last_json(run("games", "--json")[1])["games"]
    assert {"leduc_poker": 936, "flop_holdem": 1_819_282_608}.items() <= {
        entry["game"]: entry["infosets"] for entry in listed
    }.items()
    _, out, _ = run("algorithms")
    assert "Tammelin 2014" in out and "alpha=1.5" in out
    names = {entry["algorithm"] for entry in last_json(run("algorithms", "--json")[1])["algorithms"]}
    assert {"cfr", "cfr+", "lcfr", "dcfr", "pcfr+", "xfp"} <= names


def test_an_algorithm_is_explained(run):
    for name, recipe in RECIPES.items():
        code, out, _ = run("algorithms", name)
        assert code == 0 and out.startswith(f"{name}: {recipe.about}\npaper: {recipe.paper}, ")
        assert all(f"\n{knob.name} " in out for knob in recipe.knobs)
        assert all(knob.meaning.split()[0] in out for knob in recipe.knobs)
        assert all(f"--preset {preset}: " in out for preset in recipe.presets)
    _, out, _ = run("algorithms", "deep-cfr")
    assert "Deep Counterfactual Regret Minimization (ICML 2019)" in out and "fine_tune" in out
    assert "max" in run("algorithms", "dncfr")[1]
    (told,) = last_json(run("algorithms", "deep-cfr", "--json")[1])["algorithms"]
    assert told["values"]["fit"] == "scratch, hybrid or fine_tune" and told["only_with"]["k"] == "sampling=robust"
    assert told["algorithm"] == "deep-cfr" and told["presets"]["b19"]["rate"] == 1e-3
    code, _, err = run("algorithms", "deepcfr")
    assert code == 2 and "did you mean 'deep-cfr'?" in err


def test_show(run, kuhn):
    _, out, _ = run("show", kuhn)
    assert "K|r" in out and "fold" in out
    _, out, _ = run("show", kuhn, "--infoset", "K|r", "--json")
    assert last_json(out)["infosets"]["K|r"]["call"] == pytest.approx(1.0, abs=0.02)
    _, out, _ = run("show", kuhn, "--player", "1", "--limit", "2")
    assert "4 more infosets" in out


def test_plot_and_exports(run, kuhn, tmp_path):
    assert run("plot", kuhn, "-o", "curve.png")[0] == 0
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    policy = load_policy(tmp_path / kuhn / "policy.npz")
    run("export", kuhn, "--to", "json", "-o", "policy.json")
    text = (tmp_path / "policy.json").read_text()
    assert text.endswith("}\n")  # on a terminal, the next line is a line of its own
    infosets = json.loads(text)["infosets"]
    assert infosets["Q|cr"]["actions"] == policy.action_probabilities("Q|cr") and infosets["Q|cr"]["player"] == 0
    run("export", kuhn, "--to", "csv", "-o", "policy.csv")
    with open(tmp_path / "policy.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    assert all(float(row["probability"]) == policy.action_probabilities(row["infoset"])[row["action"]] for row in rows)
    run("export", kuhn, "--to", "open_spiel", "-o", "policy.pkl")
    tabular = pickle.loads((tmp_path / "policy.pkl").read_bytes())
    assert tabular.action_probability_array.shape == (12, 2)
    run("export", kuhn, "--to", "efg", "-o", "kuhn.efg")
    code, out, _ = run("solve", "efg:kuhn.efg", "--iterations", "500", "--json")
    assert code == 0 and last_json(out)["value"] == pytest.approx(-1 / 18, abs=1e-3)


def test_match(run, kuhn, tmp_path):
    run("solve", "kuhn_poker", "--iterations", "3", "--out", "early")
    run("match", kuhn, "early", "--hands", "4", "--json")  # compiles: a slow match would report its progress below
    code, out, err = run("match", kuhn, "early", "--hands", "20000", "--seed", "4", "--json")
    assert (code, err) == (0, "")
    result = last_json(out)
    assert (result["a"], result["b"], result["hands"], result["seed"]) == (kuhn, "early", 20000, 4)
    assert result["unit"] == "chips a hand to A" and result["mean_mbb"] == pytest.approx(1000 * result["mean"])
    exact = last_json(run("match", kuhn, "early", "--exact", "--json")[1])
    assert 0.005 < exact["mean"] < 0.5
    assert result["mean"] == pytest.approx(exact["mean"], abs=4 * result["standard_error"])
    deviations = [result["estimates"][name]["standard_deviation"] for name in ("aivat", "duplicate", "plain")]
    assert deviations == sorted(deviations) and deviations[0] < deviations[2] / 2
    again = last_json(run("match", kuhn, "early", "--hands", "20000", "--seed", "4", "--log", "hands.log", "--json")[1])
    assert again["estimates"] == result["estimates"]
    lines = (tmp_path / "hands.log").read_text().splitlines()
    assert len(lines) == 20000 and lines[1].startswith("STATE:1:") and lines[1].endswith(":early|kuhn")
    won = [float(line.split(":")[4].split("|")[line.endswith(f"|{kuhn}")]) for line in lines]
    assert np.mean(won) == pytest.approx(result["estimates"]["plain"]["mean"], abs=1e-12)
    _, out, _ = run("match", kuhn, "uniform", "--hands", "100")
    assert "AIVAT, both strategies known" in out and "mbb/g: thousandths of the big blind or ante (1 chip)" in out
    assert "mbb/g" in run("match", kuhn, "always-raise", "--exact")[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["match", "kuhn", "unifrom"],
            "or one of uniform, always-fold, always-call, always-raise; did you mean 'uniform'?",
        ),
        (["match", "uniform", "uniform"], "--game"),
        (["match", "kuhn", "uniform", "--hands", "1"], "whole number of 4 or more"),
        (["match", "kuhn", "uniform", "--exact", "--log", "x"], "leave out --log and --phh"),
        (["solve", "leduk_poker"], "did you mean 'leduc_poker'?"),
        (["solve", "leduc_poker", "--algorithm", "crf+"], "did you mean 'cfr+'?"),
        (["solve", "nl_leduc(stack=0)"], "whole number from 1 to 30"),
        (["solve", "nl_leduc(stak=5)"], "did you mean 'stack'?"),
        (["solve", "nl_leduc(5)"], "name=value"),
        (["solve", "leduc_poker", "--iterations", "many"], "--iterations"),
        (["solve", "leduc_poker", "--iterations", "0"], "whole number of 1 or more"),
        (["solve", "leduc_poker", "--threads", "0"], "whole number of 1 or more"),
        (["solve", "leduc_poker", "--set", "alpha=1"], "has no parameter 'alpha'"),
        (["solve", "leduc_poker", "--algorithm", "dcfr", "--set", "alpha=x"], "alpha=x is not valid"),
        (["solve", "goofspiel(cards=9)"], "GiB"),
        (["solve", "limit_holdem"], "--set buckets=ehs2:10"),
        (["solve", "limit_holdem(caps=4)"], "the most bets and raises of each of 4 rounds, 0 to 9, as 3-4-4-4"),
        (["solve", "nolimit_holdem(actions=pot)"], "fcpa (fold, call, pot, all-in), full"),
        (["solve", "nolimit_holdem(stack=99)"], "whole number from 100"),
        (["solve", "efg:missing.efg"], "missing.efg"),
        (["solve", "efg:bad.efg"], "line 2"),
        (["solve", "open_spiel:kuhn_poker(players=3)"], "3 players"),
        (["solve", "python:missing.py"], "no such file"),
        (["resume", "nowhere"], "not a run"),
        (["show", "nowhere"], "nowhere: there is no such file or run"),
        (["show", "kuhn", "--infoset", "K|x"], "no infoset 'K|x'"),
        (["solve", "kuhn_poker", "--out", "kuhn"], "already holds a run"),
        (["plot", "kuhn", "-o", "picture.xyz"], "cannot draw"),
        (["evaluate", "junk.npz"], "junk.npz is not a policy file, or is damaged (it is not a file of arrays)"),
        (["slove", "leduc_poker"], "there is no command 'slove'; did you mean 'solve'?; see equipoise --help"),
        (["solve"], "GAME is missing; see equipoise solve --help"),
        (["solve", "leduc"], "did you mean 'leduc_poker'?"),
        (["solve", "kuhn_poker", "--algorithm", "cfrplus"], "did you mean 'cfr+'?"),
        (["solve", "kuhn_poker", "--algorithm", ""], "unknown algorithm ''"),
        (["solve", "kuhn_poker", "--iteration", "5"], "no option --iteration; did you mean --iterations?"),
        (["solve", "kuhn_poker", "--iterations"], "--iterations needs a value"),
        (["solve", "kuhn_poker", "--seed", "1", "--seed", "2"], "--seed is given twice"),
        (
            ["solve", "kuhn_poker", "--algorithm", "es-mccfr", "--set", "batch=9e30"],
            "batch=9e30 is too large; give at most 1,000,000,000",
        ),
        (["solve", "kuhn_poker", "--iterations", "1.5"], "--iterations 1.5 is not valid; give a whole number"),
        (["solve", "kuhn_poker", "--set", "power=1", "--set", "power=2"], "--set power is given twice"),
        (["solve", "kuhn_poker", "--iterations", "nan"], "--iterations nan is not valid"),
        (["solve", "kuhn_poker", "--seconds", "nan"], "seconds=nan is not valid; give a finite number above 0"),
        (["solve", "kuhn_poker", "--seconds", "inf"], "seconds=inf is not valid"),
        (["solve", "kuhn_poker", "--seconds", "long"], "--seconds long is not valid; give a number"),
        (["solve", "kuhn_poker", "--core-seconds", "-1"], "core_seconds=-1.0 is not valid"),
        (["solve", "kuhn_poker", "--until", "nan"], "until=nan is not valid"),
        (["solve", "kuhn_poker", "--evaluation-growth", "inf"], "evaluation_growth=inf is not valid"),
        (["solve", "kuhn_poker", "--first-evaluation", "0"], "first_evaluation=0 is not valid"),
        (["solve", "kuhn_poker", "--checkpoint-seconds", "nan"], "checkpoint_seconds=nan is not valid"),
        (["solve", "kuhn_poker", "--seed", "18446744073709551616"], "from 0 to 18446744073709551615"),
        (["solve", "kuhn_poker", "--seed", "-1"], "seed=-1 is not valid"),
        (["match", "kuhn", "uniform", "--seed", "18446744073709551616"], "from 0 to 18446744073709551615"),
        (["match", "kuhn", "uniform", "--hands", "-1"], "hands=-1 is not valid"),
        (["show", "kuhn", "--limit", "-1"], "--limit=-1 is not valid; give a whole number of 0 or more"),
        (["show", "kuhn", "--player", "2"], "--player 2 is not valid; give 0 or 1"),
        (["show", "kuhn", "--infoset", "k|"], "did you mean 'K|'?"),
        (["show", "kuhn", "--infoset", "K|", "--player", "1"], "leave out --player and --limit"),
        (["show", "kuhn", "more"], "'more' is not expected here; see equipoise show --help"),
        (["plot", "kuhn"], "--output is missing"),
        (["bench", "--rounds", "0"], "rounds=0 is not valid"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, list) else "",
)
def test_mistakes_end_with_one_line_and_code_2(run, kuhn, tmp_path, arguments, says):
    (tmp_path / "bad.efg").write_text('EFG 2 R "bad" { "a" "b" }\nx "" 1 1 "" { "l" "r" } 0\n')
    (tmp_path / "junk.npz").write_bytes(b"junk")
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert says in err
    assert len(err.strip().splitlines()) == 1, err


@pytest.mark.parametrize(
    "arguments", [["solve", "leduk_poker"], ["solve", "kuhn_poker", "--iterations", "x"], ["slove"]]
)
def test_mistakes_are_json_where_json_is_asked_for(run, arguments):
    code, out, err = run(*arguments, "--json")
    told = last_json(out)
    assert code == told["exit_code"] == 2 and err == f"equipoise: {told['error']}\n"


def test_resuming_a_finished_run_says_so(run, kuhn):
    code, out, err = run("resume", kuhn, "--json")
    assert code == 0 and last_json(out)["iterations"] == 300
    assert "already finished, after 300 iterations" in err and "--iterations 600" in err
    code, out, err = run("resume", kuhn, "--iterations", "301", "--json")
    assert code == 0 and last_json(out)["iterations"] == 301 and "finished" not in err


def test_every_evaluation_has_a_marker_so_that_a_plot_of_one_point_shows_it(run, tmp_path):
    markers = {}
    for iterations in (1, 2, 10):
        run("solve", "kuhn_poker", "--iterations", str(iterations), "--out", str(iterations))
        assert run("plot", str(iterations), "-o", f"{iterations}.svg")[0] == 0
        markers[iterations] = len(re.findall(r"<use [^>]*#0072b2", (tmp_path / f"{iterations}.svg").read_text()))
    assert markers == {1: 2, 2: 3, 10: 11}  # one is in the legend


def test_a_plot_groups_runs_by_their_settings(run, tmp_path):
    for seed in range(2):
        for batch in (1, 20):
            name = f"b{batch}-{seed}"
            options = ("--algorithm", "rs-mccfr", "--set", f"batch={batch}", "--iterations", "20", "--seed", str(seed))
            assert run("solve", "kuhn_poker", *options, "--out", name)[0] == 0
    runs = ("b1-0", "b1-1", "b20-0", "b20-1")
    made = last_json(run("plot", *runs, "-o", "a.svg", "--by", "nodes", "--level", "0.02=paper", "--json")[1])
    assert made["curves"] == ["rs-mccfr batch=1", "rs-mccfr batch=20"]
    drawn = (tmp_path / "a.svg").read_text()
    assert "mean and range of 2 seeds" in drawn and "paper: 0.02" in drawn
    twice = last_json(run("plot", "b1-0", "b1-0", "-o", "b.svg", "--json")[1])
    assert twice["curves"] == ["rs-mccfr (b1-0)"]
    code, _, err = run("plot", "b1-0", "-o", "c.svg", "--level", "paper")
    assert code == 2 and "--level paper is not valid; write --level NUMBER=NAME" in err


@pytest.mark.parametrize("arguments", ["--help", "solve --help", "algorithms", "games --json", "show kuhn"])
def test_a_reader_that_leaves_early_is_no_error(run, kuhn, tmp_path, arguments):
    command = [sys.executable, "-m", "equipoise", *arguments.split()]
    reading, writing = os.pipe()
    os.close(reading)  # as after `| head`, only sooner
    done = subprocess.run(command, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=300)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error_and_no_file_gets_what_was_meant_for_them(tmp_path, closed):
    solve = f"{sys.executable} -m equipoise solve kuhn_poker --iterations 10 --out run {closed}"
    done = subprocess.run(["sh", "-c", solve], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "Traceback" not in done.stderr  # a slow machine is told what is being done
    assert done.stdout.startswith("game ") == (closed == "2>&-")
    lines = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    assert lines and all(json.loads(line)["iteration"] <= 10 for line in lines)
    wrong = f"{sys.executable} -m equipoise solve kuhn_poker --iterations 0 --out wrong {closed}"
    assert subprocess.run(["sh", "-c", wrong], cwd=tmp_path, timeout=300, capture_output=True).returncode == 2


def test_ctrl_c_saves_and_says_how_to_resume(tmp_path):
    def start(*arguments):
        command = [sys.executable, "-m", "equipoise", *arguments]
        return subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    process = start("solve", "leduc_poker", "--iterations", "100000000", "--out", "run")
    log = tmp_path / "run" / "log.jsonl"
    deadline = time.monotonic() + 300
    while not (log.exists() and log.read_text().count("\n") > 20):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "equipoise resume run" in err
    checkpoint = max((tmp_path / "run" / "checkpoints").glob("*.npz"))
    with np.load(checkpoint) as arrays:
        saved = json.loads(arrays["header"].tobytes())["iteration"]
    process = start("resume", "run", "--iterations", str(saved + 10), "--json")
    out, _ = process.communicate(timeout=300)
    assert last_json(out)["iterations"] == saved + 10


def test_ctrl_c_while_modules_are_loading_is_a_word(tmp_path):
    (tmp_path / "cyclopts.py").write_text("raise KeyboardInterrupt\n")  # as if it came at that moment
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    for arguments, out in ((["games"], ""), (["games", "--json"], '{"error": "interrupted", "exit_code": 130}\n')):
        command = [sys.executable, "-m", "equipoise", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stdout, done.stderr) == (130, out, "equipoise: interrupted\n")


def test_help_and_version_are_quick_and_load_no_compiler():
    code = "import sys; sys.argv = ['equipoise', '--help']; import equipoise.cli as c\n"
    code += "try: c.main()\nexcept SystemExit: pass\n"
    code += "print('numba' in sys.modules or 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("False")
    done = subprocess.run([sys.executable, "-m", "equipoise", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0.1.0"


def test_bench_says_where_its_numbers_come_from(run, monkeypatch):
    from equipoise import bench
    from equipoise.bench.measure import ITERATIONS_PER_SECOND, Row

    measured = Row(work="work", unit=ITERATIONS_PER_SECOND, samples={"equipoise": (1.0, 2.0)}, one_core=True)
    monkeypatch.setitem(bench.SUITES, "tabular", lambda **_: [measured])
    code, out, _ = run("bench")
    assert code == 0 and f"numpy {np.__version__}" in out and re.search(r"measured on .+, \d+ cores", out)
    found = last_json(run("bench", "--json")[1])
    assert found["rows"] and found["versions"]["numpy"] == np.__version__ and found["date"] and found["machine"]["cpu"]
    assert "commit" in found


NO_CUDA = "device cuda:99 cannot be used here"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sweep", "kuhn_poker", "--algorithm", "cfr+,sd-cfr", "--seeds", "1", "--iterations", "2"), NO_CUDA),
        (("sweep", "kuhn_poker", "--algorithm", "cfr+", "--seeds", "1", "--iterations", "2"), "has networks"),
        (("serve", "--no-browser"), NO_CUDA),
        (("train-values", "river"), NO_CUDA),
    ],
    ids=lambda value: " ".join(value[:4]) if isinstance(value, tuple) else None,
)
def test_devices_that_do_not_work_are_refused_before_anything_is_made(run, tmp_path, arguments, said):
    code, out, err = run(*arguments, "--device", "cuda:99")
    assert code == 2 and not out
    assert said in err and len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_sweeps_put_those_runs_on_a_device_that_have_networks(run, tmp_path):
    asked = ("sweep", "kuhn_poker", "--algorithm", "cfr+,sd-cfr", "--seeds", "1", "--iterations", "2", "--json")
    code, out, _ = run(*asked, "--device", "cpu")
    assert code == 0
    settings = {setting["algorithm"]: setting["device"] for setting in last_json(out)["settings"]}
    assert settings == {"cfr+": "auto", "sd-cfr": "cpu"}
    again = run(*asked)  # the device does not make another run
    assert again[0] == 0 and "2 of them done before" in again[2]
