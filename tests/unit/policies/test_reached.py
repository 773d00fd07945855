"""Uniform play that only fills a gap in the average is told apart from uniform play that was found."""

import json

import numpy as np
import pytest

import equipoise
from equipoise.cli import app
from equipoise.policies import read_policy
from equipoise.policies.export import write_csv, write_json
from equipoise.policies.policy import NEVER_REACHED, Policy
from equipoise.views.grids import print_grids
from tests.holdem import flop_holdem_of, write_small_holdem


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """Two traversals a player: most of Leduc's infosets have never been met."""
    out = tmp_path_factory.mktemp("runs") / "run"
    return equipoise.solve("leduc_poker", "es-mccfr", iterations=2, out=out)


def test_an_infoset_is_reached_where_the_sums_have_weight(sampled):
    policy = sampled.policy
    sums = sampled.solver.strategy_sum  # a table: infoset after infoset, as a policy lists them
    for index in range(len(policy)):
        own = sums[policy.first_action[index] : policy.first_action[index + 1]]
        assert policy.is_reached(index) == (own.sum() > 0.0)
        if not policy.is_reached(index):
            np.testing.assert_array_equal(policy.probabilities_at(index), 1.0 / len(own))
    assert 0 < policy.reached.sum() < len(policy) / 2


@pytest.mark.parametrize("algorithm", ["cfr+", "xfp", "rs-mccfr+-rsn", "sd-cfr", "dncfr", "deep-cfr", "nfsp"])
def test_every_algorithm_says_where_its_average_has_weight(algorithm):
    quick = {"sd-cfr": {"steps": 3, "traversals": 20}, "deep-cfr": {"steps": 3, "traversals": 20, "policy_steps": 3}}
    quick |= {"nfsp": {"episodes": 16}, "dncfr": {"batch": 50}, "rs-mccfr+-rsn": {"batch": 50}}
    policy = equipoise.solve("kuhn_poker", algorithm, iterations=3, parameters=quick.get(algorithm)).policy
    networks = algorithm in ("dncfr", "deep-cfr", "nfsp")  # which answer everywhere
    assert all(policy.is_reached(index) for index in range(len(policy))) or not networks
    root = policy.keys.index("K|")
    assert policy.is_reached(root)


def test_the_answer_to_a_question_says_it(sampled):
    policy = sampled.policy
    answer = policy.action_probabilities(
        next(key for key, reached in zip(policy.keys, policy.reached, strict=True) if not reached)
    )
    assert not answer.reached and NEVER_REACHED in repr(answer)
    assert answer == dict(answer)  # still a plain mapping
    answer = policy.action_probabilities(
        next(key for key, reached in zip(policy.keys, policy.reached, strict=True) if reached)
    )
    assert answer.reached and repr(answer) == repr(dict(answer))


def test_it_survives_in_a_file_and_older_files_are_read(sampled, tmp_path):
    sampled.policy.save(tmp_path / "policy.npz")
    np.testing.assert_array_equal(read_policy(tmp_path / "policy.npz").reached, sampled.policy.reached)
    with np.load(tmp_path / "policy.npz") as file:
        older = {name: file[name] for name in file.files if name != "reached"}
    np.savez(tmp_path / "older.npz", **older)
    policy = read_policy(tmp_path / "older.npz")
    assert policy.reached is None and policy.is_reached(0)
    np.savez(tmp_path / "bad.npz", **older, reached=np.ones(3, np.bool_))
    with pytest.raises(equipoise.EquipoiseError, match="do not fit"):
        read_policy(tmp_path / "bad.npz")


def test_exports_say_it(sampled, tmp_path):
    policy: Policy = sampled.policy
    write_json(policy, tmp_path / "policy.json")
    infosets = json.loads((tmp_path / "policy.json").read_text())["infosets"]
    assert [infosets[key].get("reached", True) for key in policy.keys] == policy.reached.tolist()
    write_csv(policy, tmp_path / "policy.csv")
    rows = [line.split(",") for line in (tmp_path / "policy.csv").read_text().splitlines()[1:]]
    assert {(row[1], row[-1]) for row in rows} == {
        (key, str(int(reached))) for key, reached in zip(policy.keys, policy.reached, strict=True)
    }


def test_show_says_it(sampled, capsys):
    never = next(key for index, key in enumerate(sampled.policy.keys) if not sampled.policy.is_reached(index))
    show("show", sampled.directory, "--infoset", never)
    assert NEVER_REACHED in capsys.readouterr().out
    show("show", sampled.directory, "--infoset", never, "--json")
    assert json.loads(capsys.readouterr().out)["never_reached"] == [never]


def test_hands_that_were_never_dealt_are_told_apart_in_a_grid():
    game = flop_holdem_of(4, 3, raises=1)
    policy = equipoise.solve(game, "es-mccfr", iterations=3).policy  # so few traversals meet few hands
    line = policy.line("")
    grid, unreached = line.grid(), line.unreached()
    assert 0 < line.reached.sum() < len(line.hands) and 0 < unreached.sum() < unreached.size
    np.testing.assert_allclose(grid[unreached], 1.0 / len(line.actions))
    print_grids(line)
    listed = policy.listed()
    assert 0 < listed.reached.sum() < len(listed)
    for index in range(0, len(listed), 7):
        assert policy.action_probabilities(listed.keys[index]).reached == listed.is_reached(index)


def test_boards_that_were_never_drawn_are_told_apart(tmp_path, capsys):
    text, run = write_small_holdem(tmp_path / "game.py"), tmp_path / "run"
    equipoise.solve(text, "pcs", iterations=1, parameters={"boards": 1}, out=run)
    never, drawn = [], []
    for board in ("2c3c", "2c3d", "2c2d", "4c5c", "4c5d", "5c5d"):
        show("show", run, "--trust-game", "--line", "rc/", "--board", board, "--json")
        found = json.loads(capsys.readouterr().out)
        assert found["never_reached"] in ([], list(found["hands"]))
        (never if found["never_reached"] else drawn).append(board)
    assert never and len(drawn) <= 1
    show("show", run, "--trust-game", "--line", "", "--json")
    assert json.loads(capsys.readouterr().out)["never_reached"] == []
    show("show", run, "--trust-game", "--infoset", f"3h4h/{never[0]}|rc/")
    assert NEVER_REACHED in capsys.readouterr().out
    show("show", run, "--trust-game", "--line", "rc/", "--board", never[0])
    assert f"?: {NEVER_REACHED}" in capsys.readouterr().out
    show("show", run, "--trust-game", "--line", "rc/", "--board", never[0], "-o", tmp_path / "grid.png")
    assert (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")


def show(*arguments):
    app([str(each) for each in arguments], result_action="return_value")
