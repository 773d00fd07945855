"""`equipoise explore` and `equipoise play`, as their users type them."""

import io
import json

import pytest

from tests.unit.test_cli import kuhn, last_json, run  # noqa: F401 - fixtures


def test_explore_shows_values_in_words_and_as_json(run, kuhn):  # noqa: F811
    code, out, err = run("explore", kuhn, "--line", "r")
    assert code == 0, err
    assert "start > P0 bet" in out and "best response" in out and "; exact" in out
    node = last_json(run("explore", kuhn, "--infoset", "Q|r", "--json")[1])
    assert node["infoset"]["values"]["fold"] == 0.0 and node["infoset"]["best_response"]["action"] in ("fold", "call")
    against = last_json(run("explore", kuhn, "--infoset", "Q|r", "--against", "always-raise", "--json")[1])
    assert against["infoset"]["values"] == pytest.approx({"fold": 0.0, "call": 1.0})  # 2 or -2, half each, on top of 1
    _, out, _ = run("explore", kuhn, "--sort", "gain", "--limit", "3")
    assert "3 of" not in out and "12 of 12 infosets" in out
    _, out, _ = run("explore", kuhn, "--compare", "uniform")
    assert "weighted by reach" in out
    _, out, _ = run("explore", "uniform", "--game", "goofspiel(cards=3)", "--path", "0.1")
    assert "start > P0 bid 1 > P1 bid 2" in out


def test_mistakes_in_exploring_are_told(run, kuhn):  # noqa: F811
    for arguments, said in [
        (("--line", "x"), "'x' as the first action"),
        (("--sort", "gain", "--line", "r"), "leave out --line"),
        (("--player", "0"), "--sort"),
        (("--path", "0"), "--line and --board"),
    ]:
        code, _, err = run("explore", kuhn, *arguments)
        assert code == 2 and said in err


def play(run, monkeypatch, answers, *arguments):  # noqa: F811
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{answer}\n" for answer in answers)))
    return run("play", *arguments)


def test_a_hand_is_played_kept_and_gone_on_with(run, kuhn, monkeypatch, tmp_path):  # noqa: F811
    code, out, err = play(run, monkeypatch, ["what", "q"], kuhn, "--seed", "1", "--costs")
    assert code == 0 and "'what' is not one of pass, bet" in err
    assert "go on with: equipoise play --session plays/kuhn/session.json" in out
    kept = json.loads((tmp_path / "plays/kuhn/session.json").read_text())
    assert len(kept["hands"]) == 1 and kept["costs"] is True
    code, out, err = play(
        run,
        monkeypatch,
        ["?", "b", "1", "1", "1"],
        *("--session", "plays/kuhn/session.json", "--hands", "2"),
        "--log",
        "x",
    )
    assert code == 0, err
    assert "the solution plays" in out and "against the solution" in out and "with luck taken out" in out
    assert (tmp_path / "x").read_text().startswith("STATE:0:")


def test_json_plays_line_by_line(run, kuhn, monkeypatch):  # noqa: F811
    code, out, err = play(run, monkeypatch, ["1"] * 9, kuhn, "--hands", "3", "--seed", "2", "--json")
    assert code == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    over = [line for line in lines if line.get("state") == "over"]
    assert len(over) == 3 and lines[-1]["score"]["hands"] == 3
    assert lines[-1]["score"]["plain"] == sum(line["result"]["payoff"] for line in over)


def test_a_game_without_a_solution_can_be_played(run, monkeypatch):  # noqa: F811
    code, out, err = play(run, monkeypatch, ["1"] * 3, "goofspiel(cards=4)", "--hands", "1", "--seed", "1")
    assert code == 0 and "what happened: you: bid 1" in out, err
    code, _, err = play(run, monkeypatch, [], "kuhn_poker", "--costs")
    assert code == 2 and "need a solution" in err
    code, _, err = play(run, monkeypatch, [], "no-such-game")
    assert code == 2
