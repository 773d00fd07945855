"""The command line on hold'em: grids, hands, boards and exports, on a deck small enough for a test."""

import csv

import pytest

from equipoise.views.grids import _colours_of
from tests.holdem import write_small_holdem
from tests.unit.test_cli import last_json, run  # noqa: F401 - a fixture


@pytest.fixture
def solved(run, tmp_path):  # noqa: F811
    text = write_small_holdem(tmp_path / "game.py")
    code, out, err = run("solve", text, "--until-mbb", "20", "--out", "small", "--json")
    assert code == 0, err
    return last_json(out)


def test_holdem_on_the_command_line(run, solved, tmp_path):  # noqa: F811
    assert solved["algorithm"] == "dcfr"
    assert solved["nash_conv_mbb"] == pytest.approx(500 * solved["nash_conv"]) and solved["nash_conv_mbb"] <= 20
    again = last_json(run("evaluate", "small", "--json")[1])
    assert again["nash_conv_mbb"] == pytest.approx(solved["nash_conv_mbb"]) and again["value"] == solved["value"]
    assert "mbb/g" in run("evaluate", "small")[1]

    _, out, _ = run("show", "small")
    assert "player 0 first to act" in out and "raise" in out
    hand = last_json(run("show", "small", "--line", "cr", "--hand", "5c5d", "--json")[1])["infosets"]["5c5d|cr"]
    assert hand["fold"] < 0.01 and sum(hand.values()) == pytest.approx(1.0)  # the best pair does not fold
    cells = last_json(run("show", "small", "--line", "cr", "--json")[1])["hands"]
    assert cells["55"] == pytest.approx(hand)
    beside = last_json(run("show", "small", "--line", "rc/", "--board", "5c4d", "--json")[1])["hands"]
    assert beside["55"].keys() == {"check", "bet"}
    assert last_json(run("show", "small", "--infoset", "5d5h/4d5c|rc/", "--json")[1])["infosets"]

    assert run("show", "small", "-o", "grid.png")[0] == 0
    assert (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")
    assert run("export", "small", "--to", "csv", "-o", "start.csv")[0] == 0
    rows = list(csv.DictReader((tmp_path / "start.csv").open()))
    assert len({row["infoset"] for row in rows}) == 66 * 4  # all raw hands at all four decisions before the board
    assert run("export", "small", "--to", "csv", "--board", "5c4d", "-o", "board.csv")[0] == 0

    for arguments, complaint in (
        (("evaluate", "small", "--threads", "0"), "threads=0 is not valid"),
        (("show", "small", "--limit", "5"), "has --line and --hand"),
        (("show", "small", "--hand", "5c5d", "-o", "hand.png"), "leave out --hand"),
        (("show", "small", "--line", "rc/"), "needs a board"),
        (("show", "small", "--line", "xx"), "not legal"),
        (("export", "small", "--to", "efg", "-o", "x.efg"), "too large for efg"),
        (("solve", "kuhn_poker", "--until-mbb", "5"), "not measured in big blinds"),
        (
            ("solve", "kuhn_poker", "--algorithm", "es-mccfr", "--set", "averaging=exact"),
            "averaging=exact is for networks",
        ),
        (("solve", "kuhn_poker", "--algorithm", "pcs"), "pcs draws boards"),
        (("solve", "kuhn_poker", "--set", "storage=int16"), "storage=int16 is for games over boards"),
        (("solve", "flop_holdem", "--algorithm", "pcfr+"), "take cfr+, dcfr, lcfr, cfr or pcs"),
    ):
        code, _, err = run(*arguments)
        assert code == 2 and complaint in err and err.count("\n") == 1, (arguments, err)


@pytest.mark.parametrize("raises", [0, 1, 3, 6])
def test_every_action_has_a_colour_of_its_own(raises):
    names = [f"raise to {100 * size}" for size in range(raises)]
    for actions in (["fold", "call", *names], ["check", *names]):
        assert len(set(_colours_of(actions))) == len(actions)
    assert _colours_of(["fold", "call", *names])[1:] == _colours_of(["check", *names])
