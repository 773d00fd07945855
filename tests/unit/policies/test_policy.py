"""Policies: asked, saved and loaded to the bit, exported, and refused where they do not fit."""

import csv
import json
import pickle
from dataclasses import replace

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability as spiel

import equipoise
from equipoise.errors import EquipoiseError
from equipoise.evaluation import exploitability, nash_conv, value
from equipoise.games import load_game
from equipoise.policies.export import write_csv, write_json, write_open_spiel
from equipoise.policies.policy import Policy, policy_from_strategies, strategies_from_policy
from equipoise.solving import load_policy
from equipoise.trees.best_response import Evaluator
from tests.naive import values as naive
from tests.strategies import random_policy, to_strategies


@pytest.fixture
def make(compiled):
    """Return a random policy of a game."""

    def made(text: str, seed: int = 0) -> Policy:
        form = compiled(text)
        return policy_from_strategies(form, to_strategies(form, random_policy(form, seed)), {"algorithm": "dice"})

    return made


OWN = ["kuhn_poker", "leduc_poker", "nl_leduc(stack=4)", "goofspiel(cards=4)"]


@pytest.mark.parametrize("text", [*OWN, "bluff(dice=1x1)", "open_spiel:kuhn_poker"])
def test_a_saved_policy_is_loaded_to_the_bit(text, make, tmp_path):
    policy = make(text)
    policy.save(tmp_path / "policy.npz")
    loaded = load_policy(tmp_path / "policy.npz")
    assert (loaded.game, loaded.origin) == (text, {"algorithm": "dice"})
    assert list(loaded.keys) == list(policy.keys)
    assert list(loaded.players) == list(policy.players)
    assert [tuple(names) for names in loaded.action_names] == [tuple(names) for names in policy.action_names]
    np.testing.assert_array_equal(loaded.first_action, policy.first_action)
    np.testing.assert_array_equal(loaded.probabilities, policy.probabilities)


@pytest.mark.parametrize("text", OWN)
def test_a_policy_answers_for_every_history_of_its_game(text, make, compiled):
    policy = make(text)
    expected = random_policy(compiled(text), 0)
    for state in naive.histories(load_game(text)):
        if state.player >= 0:
            assert state.infoset_key() in policy
            names = [state.action_name(action) for action in state.actions()]
            answer = policy.action_probabilities(state.infoset_key())
            assert answer == dict(zip(names, expected[state.infoset_key()], strict=True))


def test_an_unknown_infoset_is_answered_with_the_nearest_one(make):
    policy = make("leduc_poker")
    with pytest.raises(EquipoiseError, match=r"leduc_poker has no infoset 'Qs\|rx'; did you mean 'Qs\|r"):
        policy.action_probabilities("Qs|rx")
    assert "Qs|rx" not in policy


@pytest.mark.parametrize("text", ["kuhn_poker", "leduc_poker"])
def test_evaluation_of_a_policy_is_that_of_its_strategies(text, make, compiled):
    policy, form = make(text), compiled(text)
    found = Evaluator(form).best_responses(to_strategies(form, random_policy(form, 0)))
    assert nash_conv(text, policy) == pytest.approx(found.nash_conv, abs=1e-12)
    assert exploitability(load_game(text), policy) == pytest.approx(found.nash_conv / 2, abs=1e-12)
    assert value(text, policy) == pytest.approx(found.value, abs=1e-12)


def test_strategies_survive_the_way_through_a_policy(make, compiled):
    for engine in ("sequence", "vector"):
        form = compiled("leduc_poker", engine)
        expected = to_strategies(form, random_policy(compiled("leduc_poker"), 0))
        for ours, theirs in zip(strategies_from_policy(form, make("leduc_poker")), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


# ---- files that are not what they should be


@pytest.fixture
def saved(make, tmp_path):
    path = tmp_path / "policy.npz"
    make("kuhn_poker").save(path)
    return path


def refused(path):
    with pytest.raises(EquipoiseError) as caught:
        load_policy(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_a_missing_file(tmp_path):
    assert "there is no such file or run" in refused(tmp_path / "nothing.npz")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_file_that_was_cut_off(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    assert "not a policy file, or is damaged" in refused(saved)


def test_every_changed_byte_is_noticed_or_harmless(saved, make):
    content, policy = saved.read_bytes(), make("kuhn_poker")
    noticed = 0
    for place in range(len(content)):
        saved.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            loaded = load_policy(saved)
        except EquipoiseError:
            noticed += 1
        else:
            assert list(loaded.keys) == list(policy.keys)
            np.testing.assert_array_equal(loaded.probabilities, policy.probabilities)
    assert noticed > 0.5 * len(content)


@pytest.mark.parametrize(
    "content",
    [b"", b"not a zip", b"PK\x03\x04 but no more", b'{"game": "kuhn_poker"}'],
    ids=["empty", "text", "zip magic", "json"],
)
def test_a_file_of_another_kind(tmp_path, content):
    (tmp_path / "policy.npz").write_bytes(content)
    refused(tmp_path / "policy.npz")


def test_an_array_instead_of_a_policy(tmp_path):
    np.save(tmp_path / "array.npy", np.arange(3))
    refused(tmp_path / "array.npy")


def test_a_directory_instead_of_a_policy(tmp_path):
    refused(tmp_path)


def test_arrays_of_another_program(tmp_path):
    np.savez(tmp_path / "foreign.npz", weights=np.arange(3.0))
    assert "not a policy file, or is damaged" in refused(tmp_path / "foreign.npz")


def parts(path):
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b'{"format": "equipoise-run", "version": 1}', "not a policy file: it says 'equipoise-run'"),
        (
            b'{"format": "equipoise-policy", "version": 99}',
            "a policy file of version 99; this equipoise reads version 1",
        ),
        (b'{"format": "equipoise-policy", "version": 1}', ""),  # no game
        (b"[1, 2]", ""),
        (b"\xff\xfe", ""),
    ],
)
def test_a_wrong_header(saved, header, message):
    arrays = parts(saved)
    np.savez(saved, **{**arrays, "header": np.frombuffer(header, np.uint8)})
    assert message in refused(saved)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("players", lambda array: array[:-1]),
        ("probabilities", lambda array: array[:-1]),
        ("first_action", lambda array: array[:-1]),
        ("first_action", lambda array: array[:0]),
        ("first_action", lambda array: np.concatenate([array[:1], array])),
        ("action_list", lambda array: array[:-1]),
        ("action_list", lambda array: array + 1000),
        ("keys", lambda array: array[:-3]),
    ],
)
def test_parts_that_do_not_fit_each_other(saved, name, change):
    arrays = parts(saved)
    np.savez(saved, **{**arrays, name: change(arrays[name])})
    try:
        policy = load_policy(saved)
    except EquipoiseError as error:
        assert str(saved) in str(error)  # noqa: PT017
    else:  # nothing shows in the file itself: then the game tells
        assert name == "keys"
        with pytest.raises(EquipoiseError, match="does not fit kuhn_poker"):
            nash_conv("kuhn_poker", policy)


# ---- policies that do not fit a game


def test_a_policy_of_another_game_is_refused(make):
    message = r"this policy of kuhn_poker does not fit leduc_poker: it has no infoset 'Js\|' with 2 actions"
    with pytest.raises(EquipoiseError, match=message):
        nash_conv("leduc_poker", make("kuhn_poker"))


def test_a_policy_with_other_numbers_of_actions_is_refused(make):
    with pytest.raises(EquipoiseError, match=r"does not fit nl_leduc\(stack=3\)"):
        nash_conv("nl_leduc(stack=3)", make("nl_leduc(stack=4)"))


@pytest.mark.parametrize("wrong", [[0.5, 0.6], [1.5, -0.5], [np.nan, 1.0], [np.inf, 0.0]])
def test_probabilities_that_are_no_distribution_are_refused(make, wrong):
    policy = make("kuhn_poker")
    probabilities = policy.probabilities.copy()
    probabilities[policy.first_action[3] : policy.first_action[4]] = wrong
    with pytest.raises(EquipoiseError, match="do not add up to 1"):
        nash_conv("kuhn_poker", replace(policy, probabilities=probabilities))


# ---- export


def test_json_holds_every_probability(make, tmp_path):
    policy = make("leduc_poker")
    write_json(policy, tmp_path / "policy.json")
    content = json.loads((tmp_path / "policy.json").read_text())
    assert (content["game"], content["origin"]) == ("leduc_poker", {"algorithm": "dice"})
    assert list(content["infosets"]) == list(policy.keys)
    for key, player in zip(policy.keys, policy.players, strict=True):
        assert content["infosets"][key] == {"player": player, "actions": policy.action_probabilities(key)}


def test_csv_holds_every_probability(make, tmp_path):
    policy = make("kuhn_poker")
    write_csv(policy, tmp_path / "policy.csv")
    with open(tmp_path / "policy.csv", newline="") as file:
        rows = list(csv.reader(file))
    expected = [
        [str(player), key, name, repr(probability), "1"]
        for player, key in zip(policy.players, policy.keys, strict=True)
        for name, probability in policy.action_probabilities(key).items()
    ]
    assert rows == [["player", "infoset", "action", "probability", "reached"], *expected]


@pytest.mark.parametrize("text", [*OWN[:2], "nl_leduc(stack=3)", *OWN[3:], "open_spiel:kuhn_poker"])
def test_open_spiel_finds_the_same_nash_conv(text, make):
    policy = make(text)
    tabular = policy.to_open_spiel()
    game = pyspiel.load_game(load_game(text).open_spiel_name())
    assert spiel.nash_conv(game, tabular) == pytest.approx(nash_conv(text, policy), abs=1e-9)


def test_open_spiel_reads_the_exported_file(make, tmp_path):
    policy = make("kuhn_poker")
    write_open_spiel(policy, tmp_path / "policy.pickle")
    tabular = pickle.loads((tmp_path / "policy.pickle").read_bytes())
    found = spiel.nash_conv(pyspiel.load_game("kuhn_poker"), tabular)
    assert found == pytest.approx(nash_conv("kuhn_poker", policy), abs=1e-9)


def test_a_game_that_open_spiel_does_not_have_is_refused(make):
    with pytest.raises(EquipoiseError, match=r"OpenSpiel has no game like one_card_poker\(cards=4\)"):
        make("one_card_poker(cards=4)").to_open_spiel()


def test_the_policy_of_a_solution_has_the_exploitability_it_tells():
    solution = equipoise.solve("kuhn_poker", iterations=100)
    assert exploitability("kuhn_poker", solution.policy) == pytest.approx(solution.exploitability, abs=1e-12)
    assert solution.policy.origin["iterations"] == 100
    assert solution.policy.action_probabilities("J|cr")["fold"] > 0.99
