"""Presets are the papers': each value is in the table of docs/presets.md, with the place where it is published.

After a change that is meant, write the table again with: python -m tests.unit.solvers.test_presets
"""

from pathlib import Path

import pytest

import equipoise
from equipoise.errors import EquipoiseError
from equipoise.solvers.presets import OURS, PAPER, PRESETS
from equipoise.solvers.recipes import RECIPES
from tests.unit.solvers.test_settings import differ, fingerprint

PAGE = Path(__file__).parents[3] / "docs" / "presets.md"
START = "<!-- the table, made by tests/unit/solvers/test_presets.py -->\n"
EVERY = [(algorithm, name) for algorithm, presets in PRESETS.items() for name in presets]


def rows():
    """Return a line for each preset, setting and value, with the algorithms that have it."""
    found = {}
    for algorithm, name in EVERY:
        recipe = RECIPES[algorithm]
        shown = {knob.name: knob.shown for knob in recipe.knobs}
        preset = recipe.presets[name]
        for large, values in (("", preset.published), (" (games too large to list)", preset.unlisted)):
            for setting, (value, where) in values.items():
                key = (name, setting + large, shown[setting](value), f"*{OURS}*" if where == OURS else where)
                found.setdefault(key, []).append(algorithm)
    order = list(dict.fromkeys(name for _, name in EVERY))
    return sorted(found.items(), key=lambda each: order.index(each[0][0]))


def table():
    lines = ["| preset | setting | value | where | algorithms |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(key)} | {', '.join(who)} |" for key, who in rows()), ""])


def test_the_page_has_every_value_of_every_preset():
    assert PAGE.read_text().partition(START)[2] == table()


@pytest.mark.parametrize(("algorithm", "name"), EVERY)
@pytest.mark.parametrize("game", ["listed", "codes"])
def test_presets_have_only_settings_that_their_variant_has(algorithm, name, game):
    recipe = RECIPES[algorithm]
    values = recipe.presets[name].values(game)
    resolved = recipe.resolve({}, name, game=game)
    unused = {setting for setting in values if setting not in resolved}
    allowed = {"strategy_rows", "layers"} if game == "codes" else set()  # what is listed, and networks for hold'em
    assert unused <= allowed
    assert {setting: resolved[setting] for setting in values if setting in resolved} == {
        setting: value for setting, value in values.items() if setting in resolved
    }


@pytest.mark.parametrize(("algorithm", "name"), PAPER.items())
def test_paper_stands_for_the_one_that_is_meant(algorithm, name):
    recipe = RECIPES[algorithm]
    assert recipe.resolve({}, "paper") == recipe.resolve({}, name) != recipe.resolve({})


def test_a_preset_that_does_not_exist_is_refused():
    with pytest.raises(EquipoiseError, match="did you mean 'dn19'"):
        equipoise.solve("kuhn_poker", "dncfr", iterations=1, preset="dn9")
    with pytest.raises(EquipoiseError, match="cfr has no preset 'paper'; it has none"):
        equipoise.solve("kuhn_poker", "cfr", iterations=1, preset="paper")


SMALL = {"batch": 20, "steps": 3, "strategy_steps": 3, "traversals": 20, "capacity": 200, "minibatch": 16}
SMALL |= {"strategy_minibatch": 16, "fresh_steps": 4, "policy_steps": 4, "episodes": 40, "q_capacity": 100}


@pytest.mark.parametrize(("algorithm", "name"), EVERY)
def test_presets_run_and_differ_from_the_defaults(algorithm, name):
    recipe = RECIPES[algorithm]
    games = ["listed", "codes"] if algorithm in ("dncfr", "deep-cfr", "sd-cfr", "nfsp") else ["listed"]
    for game in games:
        network = {"network": "mlp"} if game == "codes" and algorithm in ("deep-cfr", "sd-cfr", "nfsp") else {}
        has = recipe.resolve(network, name, game=game)
        small = {setting: value for setting, value in SMALL.items() if setting in has} | network
        found = fingerprint(algorithm, game, small, preset=name)
        mine = {setting: value for setting, value in small.items() if setting in recipe.resolve(network, game=game)}
        if algorithm != "nfsp":  # whose preset is its memories
            assert differ(found, fingerprint(algorithm, game, mine))


if __name__ == "__main__":
    text = PAGE.read_text().partition(START)[0]
    PAGE.write_text(f"{text}{START}{table()}")
