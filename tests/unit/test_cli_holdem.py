"""The command line on hold'em: grids, hands, boards and exports, on a deck small enough for a test."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from equipoise.html import action_colours
from equipoise.solving import load_policy
from equipoise.views.tables import print_class
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
    again = last_json(run("evaluate", "small", "--trust-game", "--json")[1])
    assert again["nash_conv_mbb"] == pytest.approx(solved["nash_conv_mbb"]) and again["value"] == solved["value"]
    assert "mbb/g" in run("evaluate", "small", "--trust-game")[1]

    _, out, _ = run("show", "small", "--trust-game")
    assert out.startswith("small blind to act;") and "raise" in out
    hand = last_json(run("show", "small", "--trust-game", "--line", "cr", "--hand", "5c5d", "--json")[1])["infosets"][
        "5c5d|cr"
    ]
    assert hand["fold"] < 0.01 and sum(hand.values()) == pytest.approx(1.0)  # the best pair does not fold
    cells = last_json(run("show", "small", "--trust-game", "--line", "cr", "--json")[1])["hands"]
    assert cells["55"] == pytest.approx(hand)
    beside = last_json(run("show", "small", "--trust-game", "--line", "rc/", "--board", "5c4d", "--json")[1])["hands"]
    assert beside["55"].keys() == {"check", "bet"}
    assert last_json(run("show", "small", "--trust-game", "--infoset", "5d5h/4d5c|rc/", "--json")[1])["infosets"]

    assert run("show", "small", "--trust-game", "-o", "grid.png")[0] == 0
    assert (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")
    assert run("export", "small", "--trust-game", "--to", "csv", "-o", "start.csv")[0] == 0
    rows = list(csv.DictReader((tmp_path / "start.csv").open()))
    assert len({row["infoset"] for row in rows}) == 66 * 4  # all raw hands at all four decisions before the board
    assert run("export", "small", "--trust-game", "--to", "csv", "--board", "5c4d", "-o", "board.csv")[0] == 0

    for arguments, complaint in (
        (("evaluate", "small", "--trust-game", "--threads", "0"), "threads=0 is not valid"),
        (("show", "small", "--trust-game", "--limit", "5"), "use --line and --hand"),
        (("show", "small", "--trust-game", "--hand", "5c5d", "-o", "hand.png"), "leave out --hand and --infoset"),
        (
            ("show", "small", "--trust-game", "--line", "rc/"),
            "the line 'rc/' needs a board of 2 cards, not 0; give --board",
        ),
        (("show", "small", "--trust-game", "--line", "rc/", "--board", "5c4d2h"), "needs a board of 2 cards, not 3"),
        (
            ("show", "small", "--trust-game", "--line", "cr", "--board", "5c4d"),
            "the line 'cr' has no board; leave out --board",
        ),
        (("show", "small", "--trust-game", "--board", "5c4d"), "the start of the hand has no board"),
        (
            ("export", "small", "--trust-game", "--to", "csv", "--board", "5c4d2h", "-o", "x"),
            "has 2 cards, and '5c4d2h' has 3",
        ),
        (
            ("show", "small", "--trust-game", "--hand", "55", "--line", "rc/", "--board", "5c5d5h"),
            "needs a board of 2 cards, not 3",
        ),
        (("show", "small", "--trust-game", "--infoset", "5c5d|", "--line", "c"), "--infoset already names"),
        (("show", "small", "--trust-game", "--line", "xx"), "not legal"),
        (("export", "small", "--trust-game", "--to", "efg", "-o", "x.efg"), "too large for efg"),
        (("solve", "kuhn_poker", "--until-mbb", "5"), "not measured in big blinds"),
        (
            ("solve", "kuhn_poker", "--algorithm", "es-mccfr", "--set", "averaging=exact"),
            "averaging=exact is not valid; give stochastic or own_reach",
        ),
        (("solve", "kuhn_poker", "--algorithm", "pcs"), "pcs draws boards"),
        (
            ("solve", "kuhn_poker", "--set", "storage=int16"),
            "storage=int16 would change nothing: it is for games solved board by board",
        ),
        (("solve", "flop_holdem", "--algorithm", "pcfr+"), "choose cfr+, dcfr, lcfr, cfr or pcs"),
    ):
        code, _, err = run(*arguments)
        assert code == 2 and complaint in err and err.count("\n") == 1, (arguments, err)


def test_a_class_of_hands_is_shown_as_one(run, solved, capsys):  # noqa: F811
    cells = last_json(run("show", "small", "--trust-game", "--line", "cr", "--json")[1])["hands"]
    for text, name, hands in (("54s", "54s", 3), ("45S", "54s", 3), ("54o", "54o", 6), ("55", "55", 3)):
        found = last_json(run("show", "small", "--trust-game", "--line", "cr", "--hand", text, "--json")[1])
        assert found["hands"] == {name: pytest.approx(cells[name])} and len(found["infosets"]) == hands
    both = last_json(run("show", "small", "--trust-game", "--line", "cr", "--hand", "54", "--json")[1])
    expected = {action: (3 * cells["54s"][action] + 6 * cells["54o"][action]) / 9 for action in cells["54s"]}
    assert both["hands"]["54"] == pytest.approx(expected) and len(both["infosets"]) == 9
    _, out, _ = run("show", "small", "--trust-game", "--hand", "54s")
    assert "54s (3 hands)" in out and "5c4c" not in out  # before the board, suits make no difference
    line = load_policy("small", trust_game=True).line("rc/", "3c2c")
    mixed = np.random.default_rng(0).dirichlet(np.ones(2), len(line.hands))
    print_class(replace(line, probabilities=mixed), "54o")  # hands that play differently are shown one by one
    out = capsys.readouterr().out
    assert "54o (mean of 6 hands)" in out and out.count("/2c3c|rc/") == 6
    code, _, err = run("show", "small", "--trust-game", "--hand", "55s")
    assert code == 2 and "cannot read the cards '55s'" in err and err.count("\n") == 1
    code, _, err = run("show", "small", "--trust-game", "--hand", "55", "--line", "rc/", "--board", "5c5d")
    assert code == 2 and "no hand 55 is possible on 5c5d" in err


@pytest.mark.parametrize("raises", [0, 1, 3, 6])
def test_every_action_has_a_colour_of_its_own(raises):
    names = [f"raise to {100 * size}" for size in range(raises)]
    for actions in (["fold", "call", *names], ["check", *names]):
        assert len(set(action_colours(actions))) == len(actions)
    assert action_colours(["fold", "call", *names])[1:] == action_colours(["check", *names])


def test_flops_of_a_solution_are_solved_anew(run, solved):  # noqa: F811
    for gadget in ("cfrd", "maxmargin"):
        options = ("--gadget", gadget, "--iterations", "400", "--threads", "2", "--trust-game", "--json")
        code, out, err = run("resolve", "small", *options, "-o", "better.npz")
        assert code == 0, err
        found = last_json(out)
        assert found["nash_conv_mbb_before"] == pytest.approx(solved["nash_conv_mbb"])
        assert 0.0 < found["nash_conv_mbb"] < solved["nash_conv_mbb"]
        again = last_json(run("evaluate", "better.npz", "--trust-game", "--json")[1])
        assert again["nash_conv"] == pytest.approx(2 * found["exploitability"])
    code, out, err = run("resolve", "small", "--gadget", "unsafe", "--iterations", "5", "--trust-game")
    assert code == 0 and "unsafe re-solving" in err and "nash_conv_mbb_before" in out
    for words, arguments in {
        "--from is for solved spots": ("small", "--from", "river", "--trust-game"),
        "leave out --values": ("small", "--values", "zero", "--trust-game"),
        "--threads is for flop hold'em": ("kuhn_poker", "--threads", "2"),
        "--trust-game": ("small",),
    }.items():
        code, _, err = run("resolve", *arguments)
        assert code == 2 and words in err and "Traceback" not in err
