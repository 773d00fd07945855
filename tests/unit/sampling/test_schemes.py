"""Schemes say what is wrong with them."""

import pytest

import equipoise
from equipoise import EquipoiseError


@pytest.mark.parametrize(
    ("game", "algorithm", "parameters", "says"),
    [
        ("leduc_poker", "probing", {"always": "flod"}, "no such action; did you mean 'fold'"),
        ("leduc_poker", "probing", {"always": "bluff"}, "is for Bluff"),
        ("leduc_poker", "probing", {"p": 0}, "above 0"),
        ("leduc_poker", "os-mccfr", {"epsilon": 1.5}, "from 0 to 1"),
        ("leduc_poker", "rs-mccfr", {"k": 0}, "1 or more"),
        ("leduc_poker", "rs-mccfr", {"batch": 0}, "1 or more"),
        ("leduc_poker", "rs-mccfr", {"rule": "cfr+"}, "cfr_plus"),
        ("leduc_poker", "es-mccfr", {"k": 3}, "has no parameter 'k'"),
    ],
)
def test_wrong_parameters_are_refused_in_one_sentence(game, algorithm, parameters, says):
    with pytest.raises(EquipoiseError, match=says):
        equipoise.solve(game, algorithm, iterations=1, parameters=parameters)


def test_bluffs_own_scheme_needs_the_public_tree():
    with pytest.raises(EquipoiseError, match="vector engine"):
        equipoise.solve("bluff(dice=1x1)", "probing", iterations=1, engine="sequence")


def test_every_parameter_of_a_recipe_reaches_the_run():
    base = equipoise.solve("leduc_poker", "rs-mccfr+", iterations=20, parameters={"batch": 50, "k": 2})
    levels = {base.exploitability}
    changes = {
        "k": 1,
        "batch": 51,
        "rule": "linear",
        "averaging": "own_reach",
        "updates": "alternating",
        "probe": "yes",
    }
    for name, value in changes.items():
        parameters = {"batch": 50, "k": 2, name: value}
        levels.add(equipoise.solve("leduc_poker", "rs-mccfr+", iterations=20, parameters=parameters).exploitability)
    levels.add(
        equipoise.solve(
            "leduc_poker", "rs-mccfr+", iterations=20, seed=1, parameters={"batch": 50, "k": 2}
        ).exploitability
    )
    assert len(levels) == len(changes) + 2
