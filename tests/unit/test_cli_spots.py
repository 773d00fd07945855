"""Spots on the command line: solve, look, export, go on; and mistakes in one line."""

import csv
import json
from importlib import resources

import numpy as np
import pytest

import equipoise
from tests.equivalence.test_resume import kill_after_a_checkpoint
from tests.unit.test_cli import last_json, run  # noqa: F401 - a fixture

SPOTS = resources.files("equipoise.bench") / "spots"
TURN = "spot(board=Td9d6hQc,pot=200,stack=900,first=66+|A8s+|KQo,second=QQ-22|AJo:0.5|T9s,bets=1-allin)"


ABLE = "does not solve spots; these do: cfr, cfr+, lcfr, dcfr"


def test_a_spot_from_a_file(run):  # noqa: F811
    code, out, err = run("solve", f"spot:{SPOTS / 'river_small.txt'}", "--until-pot", "0.05", "--json")
    assert code == 0, err
    found = last_json(out)
    assert found["exploitability_pot"] <= 0.05
    assert found["exploitability_pot"] == pytest.approx(100 * found["exploitability"] / 100)
    assert found["ev_first"] == pytest.approx(39.4702, abs=0.05)
    assert found["memory"] < 1_000_000
    assert {"iterations", "seconds"} <= found.keys()
    assert found["algorithm"] == "dcfr"


def test_a_spot_in_one_line_and_all_that_can_be_done_with_it(run, tmp_path):  # noqa: F811
    code, out, err = run("solve", TURN, "--iterations", "40", "--out", "turn")
    assert code == 0, err
    assert "% of the pot" in out
    first = last_json(run("evaluate", "turn", "--json")[1])
    further = last_json(run("resume", "turn", "--until-pot", "1", "--json")[1])
    assert further["exploitability_pot"] <= 1 < first["exploitability_pot"]
    assert further["iterations"] > 40
    whole = equipoise.solve(TURN, iterations=further["iterations"])
    assert whole.exploitability == further["exploitability"]  # cut in two, the same bits

    shown = last_json(run("show", "turn", "--json")[1])
    assert shown["all"]["value"] == pytest.approx(further["ev_first"], abs=1e-6)
    assert sum(shown["all"]["strategy"].values()) == pytest.approx(1.0)
    code, out, _ = run("show", "turn", "--line", "r200", "--hand", "AJo")
    assert "raise to 800" in out and "AsJd" in out
    code, out, _ = run("show", "turn", "--line", "cc/", "--board", "Ks")
    assert "on Td 9d 6h Qc Ks after check, check" in out
    code, out, _ = run("show", "turn", "--line", "cc/", "--runouts")
    assert len(out.strip().splitlines()) == 49
    assert len(last_json(run("show", "turn", "--line", "cc/", "--runouts", "--json")[1])["runouts"]) == 48
    assert run("show", "turn", "-o", "grid.png")[0] == 0
    assert (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")

    assert run("export", "turn", "--to", "csv", "-o", "turn.csv")[0] == 0
    rows = list(csv.DictReader((tmp_path / "turn.csv").open()))
    assert {row["line"] for row in rows} >= {"", "c", "r200", "r900"}
    assert run("export", "turn", "--to", "json", "--line", "cc/", "--board", "Ks", "-o", "line.json")[0] == 0
    lines = [json.loads(line) for line in (tmp_path / "line.json").read_text().splitlines()]
    assert {row["line"] for row in lines} == {"cc/"}
    assert 0 < len(lines) < 300
    for opponent in ("uniform", "always-call", "always-raise"):
        assert last_json(run("match", "turn", opponent, "--hands", "20", "--json")[1])["hands"] == 20

    equipoise.load_policy("turn").save("turn.npz")
    from_file = last_json(run("evaluate", "turn.npz", "--json")[1])
    assert from_file["exploitability"] == further["exploitability"]
    assert from_file["iterations"] == further["iterations"]
    assert run("show", "turn.npz", "--line", "r200", "--hand", "AJo") == run(
        "show", "turn", "--line", "r200", "--hand", "AJo"
    )
    assert run("export", "turn.npz", "--to", "csv", "-o", "again.csv")[0] == 0
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "turn.csv").read_bytes()
    assert last_json(run("match", "turn.npz", "uniform", "--hands", "20", "--json")[1])["hands"] == 20
    code, _, err = run("export", "turn.npz", "--to", "open_spiel", "-o", "turn.pkl")
    assert code == 2 and "csv or json" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["solve", "spot(board=Td9dTdQc,pot=200,stack=900)"], "Td twice"),
        (["solve", "spot(board=Td9d6hQc,pot=0,stack=900)"], "pot=0"),
        (["solve", "spot(board=Td9d6hQc,pot=200,stack=10,bets=1)"], "below the smallest bet"),
        (["solve", "spot(board=Td9d6hQc,pot=200,stack=900,first=TdTs)"], "blocks every hand"),
        (["solve", "spot(board=Td9d6hQc,pot=200,stack=900,first=AsAh,second=AsKs)"], "block each other"),
        (["solve", "kuhn_poker", "--until-pot", "1"], "no pot"),
        (["solve", TURN, "--until-pot", "0"], "until_pot=0"),
        (["solve", TURN, "--until-pot", "1", "--until", "1"], "one of"),
        *(
            (["solve", TURN, "--algorithm", name], ABLE)
            for name in ("pcfr+", "pcs", "xfp", "es-mccfr", "dncfr", "nfsp")
        ),
        (["solve", TURN, "--lock", "c:QQ=c:0.5"], "add up to 0.5"),
        (["solve", TURN, "--lock", "c:KK=c"], "has none of these hands"),
        (["solve", "kuhn_poker", "--lock", "c:KK=c"], "--lock is for spots"),
        (["solve", TURN, "--engine", "sequence"], "leave out --engine"),
        (["solve", TURN, "--engine", "boards"], "leave out --engine"),
        (["solve", TURN, "--set", "updates=simultaneous"], "updates=simultaneous would change nothing"),
        (["solve", TURN, "--set", "storage=int8"], "storage=int8"),
    ],
)
def test_mistakes_are_one_line(run, tmp_path, arguments, says):  # noqa: F811
    code, _, err = run(*arguments)
    assert code == 2
    assert says in err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_what_does_not_fit_is_refused_before_anything_is_done(run, monkeypatch):  # noqa: F811
    monkeypatch.setattr("equipoise.memory.available_bytes", lambda: 30_000_000)
    code, _, err = run("solve", f"spot:{SPOTS / 'flop_basic.txt'}")
    assert code == 2
    said = err.strip().splitlines()[-1]
    assert "0.4 GiB of memory and 28.6 MiB is available; --set storage=int16 takes about half" in said
    _, _, err = run("solve", f"spot:{SPOTS / 'flop_basic.txt'}", "--set", "storage=int16")
    assert err.strip().endswith("28.6 MiB is available; give fewer bet sizes")


def test_whole_rounds_are_exported(run, tmp_path, monkeypatch):  # noqa: F811
    narrow = "spot(board=Td9d6dQc,pot=200,stack=300,first=88|A9s,second=QJs|77,bets=1)"
    assert run("solve", narrow, "--iterations", "20", "--out", "turn")[0] == 0
    said = last_json(run("export", "turn", "--to", "csv", "--round", "all", "-o", "all.csv", "--json")[1])
    rows = list(csv.DictReader((tmp_path / "all.csv").open()))
    assert said["rounds"] == ["turn", "river"]
    assert len(rows) == said["rows"] > 1000
    policy = equipoise.load_policy("turn")
    boards = {row["board"]: int(row["stands_for"]) for row in rows if row["line"].startswith("cc/")}
    assert sum(boards.values()) == 48 > len(boards)  # hearts and spades are alike
    some = [row for row in rows if row["line"] == "cc/c" and row["board"] == "Td9d6dQc2d"]
    line = policy.line("cc/c", "2d")
    assert [float(row["probability"]) for row in some] == line.probabilities.ravel().tolist()
    np.testing.assert_array_equal([float(row["value"] or "nan") for row in some], line.values.ravel())
    first = last_json(run("export", "turn", "--to", "json", "--round", "turn", "-o", "turn.json", "--json")[1])
    assert first["rows"] == len((tmp_path / "turn.json").read_text().splitlines())

    assert "leave out --line" in run("export", "turn", "--to", "csv", "--round", "all", "--line", "c", "-o", "x.csv")[2]
    assert "it has turn, river" in run("export", "turn", "--to", "csv", "--round", "flop", "-o", "x.csv")[2]
    monkeypatch.setattr("equipoise.cli.MOST_ROWS", 1000)
    code, _, err = run("export", "turn", "--to", "csv", "--round", "all", "-o", "x.csv")
    assert code == 2
    assert f"{said['rows']:,} rows, and at most 1,000 are written" in err
    assert not (tmp_path / "x.csv").exists()


def test_locks_are_kept_with_the_run(run, tmp_path):  # noqa: F811
    locks = ["--lock", "c:QQ,AJo=check:0.3,bet 200:0.7", "--lock", "r200:66-22=fold"]
    code, out, err = run("solve", TURN, "--iterations", "20", "--out", "locked", *locks)
    assert code == 0, err
    assert "c:QQ|AJo=c:0.3|r200:0.7; r200:66-22=f (also bind the best responses" in out
    further = last_json(run("resume", "locked", "--iterations", "40", "--json")[1])
    assert further["locks"] == ["c:QQ|AJo=c:0.3|r200:0.7", "r200:66-22=f"]
    assert last_json(run("evaluate", "locked", "--json")[1])["exploitability"] == further["exploitability"]
    whole = equipoise.solve(further["game"], iterations=40)
    assert whole.exploitability == further["exploitability"]
    free = equipoise.solve(TURN, iterations=40)
    assert free.value != whole.value
    code, out, _ = run("show", "locked", "--line", "c", "--hand", "AJo")
    assert "locked: c:QQ|AJo=c:0.3|r200:0.7" in out
    assert {row["probability"] for row in _rows(run, "c", "AJo") if row["action"] == "check"} == {0.3}
    assert last_json(run("match", "locked", "uniform", "--hands", "20", "--json")[1])["hands"] == 20
    assert run("config", "locked")[0] == 0
    equipoise.load_policy("locked").save("locked.npz")
    assert last_json(run("evaluate", "locked.npz", "--json")[1])["locks"] == further["locks"]


def _rows(run, line, hand):  # noqa: F811
    return last_json(run("show", "locked", "--line", line, "--hand", hand, "--json")[1])["hands"]


def test_much_memory_is_stated_before_solving(run, monkeypatch):  # noqa: F811
    assert "memory" not in run("solve", TURN, "--iterations", "1", "--out", "little")[2]
    monkeypatch.setattr("equipoise.solvers.recipes.MEMORY_WORTH_SAYING", 1 << 20)
    code, out, err = run("solve", TURN, "--iterations", "1", "--out", "much", "--json")
    assert code == 0
    stated = f"{last_json(out)['memory'] / (1 << 20):.1f} MiB"
    assert f"solving takes {stated} of memory, with tables in float32; --set storage=int16 takes about half" in err


START = """
import sys, equipoise
equipoise.solve(sys.argv[2], iterations=3000, out=sys.argv[1], checkpoint_seconds=0.01)
"""


def test_a_killed_run_goes_on_with_the_same_bits(tmp_path):
    killed = tmp_path / "killed"
    kill_after_a_checkpoint(START, killed, TURN)
    resumed = equipoise.resume(killed, iterations=300) if _iteration(killed) < 300 else equipoise.resume(killed)
    whole = equipoise.solve(TURN, iterations=resumed.iterations)
    for key, array in whole.solver.state().items():
        np.testing.assert_array_equal(array, resumed.solver.state()[key])


def _iteration(folder):
    return max(int(file.stem) for file in (folder / "checkpoints").glob("*.npz"))


ENDING = TURN.replace(")", ",until=river)")


def test_a_turn_that_ends_before_the_river(run):  # noqa: F811
    found = {}
    for values in ("check-down", "zero", "exact"):
        code, out, err = run("solve", ENDING, "--values", values, "--iterations", "100", "--out", values, "--json")
        assert code == 0, err
        found[values] = last_json(out)["ev_first"]
        assert last_json(run("evaluate", values, "--json")[1])["ev_first"] == pytest.approx(found[values], abs=1e-9)
        assert "bet 200" in run("show", values)[1]
    assert len(set(found.values())) == 3
    code, _, err = run("show", "zero", "--line", "cc/", "--board", "Ks")
    assert code == 2 and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((TURN, "--values", "zero"), "give until=river, too"),
        ((TURN.replace(")", ",until=turn)"),), "the turn is already on the board"),
        (("leduc_poker", "--values", "zero"), "--values is for spots"),
    ],
)
def test_values_that_make_no_sense_are_refused(run, arguments, words):  # noqa: F811
    code, _, err = run("solve", *arguments)
    assert code == 2
    assert words in err and len(err.strip().splitlines()) == 1


def test_rivers_of_a_solved_turn_are_solved_anew(run):  # noqa: F811
    assert run("solve", TURN, "--iterations", "10", "--out", "turn")[0] == 0
    code, out, err = run("resolve", "turn", "--iterations", "60", "-o", "better.npz", "--json")
    assert code == 0, err
    found = last_json(out)
    assert found["exploitability_pot"] < found["exploitability_pot_before"]
    assert found["boards"] == 48
    assert last_json(run("evaluate", "better.npz", "--json")[1])["exploitability"] == found["exploitability"]
    code, out, _ = run("resolve", "better.npz", "--gadget", "maxmargin", "--iterations", "5")
    assert code == 0 and "% of the pot" in out
    for words, arguments in {
        "solve it first": (TURN,),
        "leave out --values": ("turn", "--values", "zero"),
        "--from is for solved spots": ("kuhn_poker", "--from", "river"),
        "from=turn is not a later round": ("turn", "--from", "turn"),
    }.items():
        code, _, err = run("resolve", *arguments)
        assert code == 2 and words in err and "Traceback" not in err
