"""Settings cannot lie: each changes the run, or is refused; each value has its range; each default its place."""

from functools import cache

import numpy as np
import pytest

import equipoise
from equipoise.errors import EquipoiseError, InvalidParameter
from equipoise.games import load_game, sizes
from equipoise.sampling.schemes import Inclusion, Outcome, Robust
from equipoise.settings import GAME, GAMES, MISSING_HERE, Choice, Except, Number, Whole, YesNo, completed, made
from equipoise.solvers.recipes import RECIPES, as_they_are_now
from equipoise.solvers.representations import choose
from equipoise.solvers.setup import Setup
from tests.holdem import flop_holdem_of, small_holdem

ITERATIONS = 4
OF_TABLES = 60  # of sampled recipes, a traversal of each player in most
DEEP = {"traversals": 40, "width": 8, "fresh_steps": 6, "fresh_every": 2, "steps": 4, "minibatch": 32, "capacity": 200}
DEEP |= {"boards": 3, "fresh_boards": 2}
DOUBLE = {"batch": 40, "width": 8, "steps": 4, "boards": 3}
AVERAGED = {"strategy_width": 8, "strategy_steps": 4, "strategy_every": 1}
SMALL = {
    "rs-mccfr": {"batch": 20},
    "rs-mccfr+": {"batch": 20},
    "pcs": {"boards": 5},
    "dncfr": {**DOUBLE, **AVERAGED},
    "rs-mccfr+-rsn": DOUBLE,
    "rs-mccfr+-asn": {"batch": 40, **AVERAGED},
    "deep-cfr": {**DEEP, "policy_steps": 5},
    "sd-cfr": DEEP,
    "nfsp": {"episodes": 40, "width": 8, "minibatch": 16, "capacity": 30, "q_capacity": 30, "target_every": 2},
}
GAMES_OF = {
    "listed": lambda: load_game("leduc_poker"),
    "codes": lambda: load_game("leduc_poker"),
    "boards": small_holdem,
    "holdem": lambda: flop_holdem_of(4, 2, 1),
}
# What it takes for a setting to have an effect in a few iterations: settings beside it, and two values of it.
CONTEXT = {
    "snapshot_megabytes": ({"width": 400, "layers": 3}, (1, 256)),
    "recent": ({"episodes": 8000, "q_capacity": 200_000}, (0.5, 1.0)),
    "epsilon_floor": ({}, (0.0, 0.9)),
    "rate_after": ({}, (1.0, 50.0)),
    "rate_power": ({"rate_after": 1.0}, (0.2, 0.6)),
    "strategy_rate_after": ({}, (1.0, 50.0)),
    "strategy_rate_power": ({"strategy_rate_after": 1.0}, (0.2, 0.6)),
    "patience": ({"rate": 0.5, "steps": 30}, (1, 20)),
    "rate_factor": ({"rate": 0.5, "steps": 30, "patience": 1}, (0.1, 0.9)),
    "rate_floor": ({"rate": 0.5, "steps": 30, "patience": 1}, (1e-6, 0.4)),
    "reset_after": ({"rate": 0.5, "steps": 30, "patience": 1}, (3, 100)),
    "enough": ({}, (0.0, 1e9)),
    "clip_value": ({"rate": 0.1}, (1.0, 1e-9)),
    "strategy_patience": ({"strategy_rate": 0.5, "strategy_steps": 30}, (1, 20)),
    "strategy_rate_factor": ({"strategy_rate": 0.5, "strategy_steps": 30, "strategy_patience": 1}, (0.1, 0.9)),
    "strategy_rate_floor": ({"strategy_rate": 0.5, "strategy_steps": 30, "strategy_patience": 1}, (1e-6, 0.4)),
    "strategy_reset_after": ({"strategy_rate": 0.5, "strategy_steps": 30, "strategy_patience": 1}, (3, 100)),
    "strategy_enough": ({}, (0.0, 1e9)),
    "strategy_clip_value": ({"strategy_rate": 0.1}, (1.0, 1e-9)),
    "clip_norm": ({}, (0.0, 1e-9)),
    "policy_clip_norm": ({}, (0.0, 1e-9)),
    "anchor_memory": ({"batch": 3}, (1, 3)),
    "strategy_rows": ({"batch": 3, "averaging": "stochastic"}, ("all", "met")),
    "probe": ({"k": 1}, ("yes", "no")),
    "capacity": ({}, (10, 30)),
    "q_capacity": ({}, (20, 30)),
    "fresh_every": ({}, (2, 3)),
    "target_every": ({}, (1, 2)),
    "strategy_every": ({}, (1, 3)),
    "minibatch": ({}, (8, 16)),
    "strategy_minibatch": ({}, (8, 16)),
    "k": ({}, (1, 2)),
    "regrets": ({"scale": "sqrt"}, ("mean", "sum")),
    "always": ({}, ("fold", "raise")),
    "buckets": ({}, ("ehs2:2", "ehs2:3")),
    "network": ({}, ("mlp", "gru")),
    "cards": ({}, ("ranks", "cards")),
    "precision": ({}, ("float64", "float32")),
    "epsilon": ({}, (0.3, 0.9)),
    "anticipatory": ({}, (0.1, 0.9)),
}


def two_values(knob, value):
    """Return a value and another one."""
    kind = knob.kind
    if isinstance(kind, Choice):
        return value, next(word for word in reversed(kind.words) if word != value)
    if isinstance(kind, YesNo):
        return "yes", "no"
    if isinstance(kind, Whole):
        return max(value, 1), max(value, 1) + 1
    assert isinstance(kind, Number)
    return (value, value / 2) if value else (0.25, 0.5)


def fingerprint(algorithm, game, given, preset=None):
    recipe = RECIPES[algorithm]
    with pytest.MonkeyPatch.context() as patch:
        if game == "codes":
            patch.setattr(sizes, "MOST_LISTED", 0)
        over_boards = game == "codes" and given.get("targets") == "vector"
        setup = Setup(game=small_holdem() if over_boards else GAMES_OF[game](), seed=3)
        assert choose(setup.game, setup.engine, recipe).settings == game
        solver = recipe.solver(setup, given, preset)
        solver.run(OF_TABLES if algorithm.endswith("mccfr") or algorithm == "probing" else ITERATIONS)
        solver.conclude()  # here Deep CFR fits its policy
        return {name: np.array(array) for name, array in solver.state().items()}


@cache
def remembered(algorithm, game, given):
    return fingerprint(algorithm, game, dict(given))


def differ(first, second):
    return first.keys() != second.keys() or any(
        first[name].shape != second[name].shape or not np.array_equal(first[name], second[name]) for name in first
    )


def games_of(algorithm):
    if algorithm == "pcs":
        return ["boards"]
    recipe = RECIPES[algorithm]
    kinds = {choose(GAMES_OF[kind](), "auto", recipe).settings for kind in ("listed", "boards", "holdem")}
    coded = "codes" if algorithm in ("dncfr", "deep-cfr", "sd-cfr", "nfsp") else None
    if algorithm == "pcfr+":
        return ["listed"]
    return sorted({*(kind for kind in kinds if kind in GAMES_OF), *([coded] if coded else [])})


EVERY = [
    (algorithm, game, knob.name)
    for algorithm, recipe in RECIPES.items()
    for game in games_of(algorithm)
    for knob in recipe.knobs
]


def prerequisites(knob, game):
    """Return settings that make a variant that has a setting, if there is one on such a game."""
    for condition in knob.when:
        if game in condition.get("game", (game,)):
            return {
                name: (0.3 if name == "anchor" else values[0]) for name, values in _terms(condition) if name != "game"
            }
    return {}


def _terms(condition):
    asked = [(name, values) for name, values in condition.items() if not isinstance(values, Except)]
    return [(name, values if isinstance(values, tuple) else (None,)) for name, values in asked]


@pytest.mark.parametrize(("algorithm", "game", "name"), EVERY)
def test_a_setting_changes_the_run_or_is_refused(algorithm, game, name):
    recipe = RECIPES[algorithm]
    knob = next(each for each in recipe.knobs if each.name == name)
    beside, values = CONTEXT.get(name, ({}, None))
    small = dict(SMALL.get(algorithm, {}))
    if game == "codes":
        small["network"] = "mlp"
    asked = {**small, **prerequisites(knob, game)}
    if asked.get("fitting") == "algorithm2" and name == "minibatch":
        del asked["fitting"]
    names = {each.name for each in recipe.knobs}
    asked |= {each: value for each, value in beside.items() if each in names}
    asked.pop(name, None)
    try:
        has = _possible(recipe, asked, game)
    except InvalidParameter:
        pytest.fail(f"{asked} should be possible")
    if name not in has:
        with pytest.raises(InvalidParameter, match="would change nothing"):
            recipe.resolve({**_given(has, asked), name: knob.default}, game=game)
        return
    first, second = values or two_values(knob, small.get(name, has[name]))
    found = []
    for value in (first, second):
        given = {**asked, name: value}
        variant = _possible(recipe, given, game)
        try:
            found.append(remembered(algorithm, game, tuple({**_given(variant, given), name: value}.items())))
        except EquipoiseError as error:
            because = (name, str(value), *(asked.get(each, name) for each in ("sampling", "targets", "network")))
            said = any(word in str(error) for word in because)
            if not said:
                raise
            return
    assert differ(*found), f"{name}={first} and {name}={second} made the same run"


def _possible(recipe, asked, game):
    """Return the variant's settings, with those of the asked that it has."""
    return completed(recipe.knobs, asked, owner=recipe.name, game=game)


def _given(has, asked):
    return {name: value for name, value in asked.items() if name in has}


@pytest.mark.parametrize("algorithm", list(RECIPES))
def test_every_setting_is_declared_in_full(algorithm):
    known = {GAME}
    for knob in RECIPES[algorithm].knobs:
        assert knob.name not in known
        assert len(knob.meaning) > 10
        assert knob.kind.read(knob.default) == knob.default
        assert knob.kind.read(knob.unlisted) == knob.unlisted
        for condition in knob.when:  # what a variant depends on is chosen before
            asked = {name for name, values in condition.items() if not isinstance(values, Except)}
            assert asked <= known
            assert set(condition.get(GAME, ())) <= GAMES.keys()
        known.add(knob.name)


@pytest.mark.parametrize(
    ("algorithm", "given", "says"),
    [
        ("cfr+", {"power": "nan"}, "power=nan is not valid; give a number from 0 to 20"),
        (
            "cfr+",
            {"power": "1e308"},
            "power=1e308 is not valid; give a number from 0 to 20",
        ),  # weights would be infinite
        ("cfr+", {"power": "inf"}, "power=inf is not valid"),
        ("cfr+", {"power": -1}, "power=-1 is not valid"),
        ("dcfr", {"alpha": "x"}, "alpha=x is not valid; give a number"),
        ("os-mccfr", {"epsilon": 1.5}, "epsilon=1.5 is not valid; give a number from 0 to 1"),
        ("is-mccfr", {"p": 0}, "p=0 is not valid; give a number above 0, at most 1"),
        ("rs-mccfr", {"k": 0.5}, "k=0.5 is not valid; give a whole number of 1 or more, or max"),
        ("rs-mccfr", {"batch": True}, "batch=True is not valid"),
        ("rs-mccfr", {"batch": 1.5}, "batch=1.5 is not valid; give a whole number of 1 or more"),
        ("deep-cfr", {"rate": -1}, "rate=-1 is not valid; give a number above 0"),
        ("deep-cfr", {"rate": 0}, "rate=0 is not valid"),
        ("deep-cfr", {"clip_norm": -3}, "clip_norm=-3 is not valid; give a number of 0 or more"),
        ("deep-cfr", {"lr": 1e-3}, "deep-cfr has no parameter 'lr'; did you mean 'rate'?"),
        ("deep-cfr", {"weighted": "maybe"}, "weighted=maybe is not valid; give yes or no"),
        ("deep-cfr", {"fit": "scratch", "steps": 5}, "steps=5 would change nothing"),
        ("deep-cfr", {"targets": "aggregated", "minibatch": 5}, "it is for targets=minibatch"),
        (
            "deep-cfr",
            {"network": "lstm", "layers": 2},
            "layers=2 would change nothing: it is for network=mlp or ",
        ),
        ("dncfr", {"fitting": "algorithm2", "rate_end": 0.5}, "it is for fitting=steps"),
        ("rs-mccfr+-asn", {"width": 5}, "rs-mccfr+-asn has no parameter 'width'; did you mean 'strategy_width'?"),
        ("rs-mccfr+-asn", {"anchor": 0.5}, "no parameter 'anchor'"),
        ("es-mccfr", {"probe": "yes"}, "es-mccfr has no parameter 'probe'"),
        ("rs-mccfr+", {"buckets": "ehs2:2"}, "it is for hold'em"),
        ("cfr", {"storage": "float64"}, "it is for games solved board by board"),
        ("xfp", {"rate": 1}, "xfp has no parameter 'rate'; it has none"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(algorithm, given, says):
    with pytest.raises(InvalidParameter) as caught:
        equipoise.solve("leduc_poker", algorithm, iterations=1, parameters=given)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_words_and_whole_numbers_in_any_spelling_are_read():
    resolved = RECIPES["dncfr"].resolve({"k": "max", "batch": "1e3", "minibatch": "all", "shared": True})
    assert (resolved["k"], resolved["batch"], resolved["minibatch"], resolved["shared"]) == (0, 1000, 0, "yes")
    assert {"k=max", "minibatch=all"} <= set(RECIPES["dncfr"].shown(resolved))


def test_schemes_that_are_made_by_hand_have_the_same_ranges():
    for wrong in (lambda: Outcome(epsilon=2.0), lambda: Robust(k=-1), lambda: Inclusion(p=0.0)):
        with pytest.raises(InvalidParameter, match="is not valid"):
            wrong()


@pytest.mark.parametrize("algorithm", ["rs-mccfr", "rs-mccfr+"])
def test_probes_that_would_never_be_made_are_refused(algorithm):
    with pytest.raises(InvalidParameter, match="no action is left out"):
        RECIPES[algorithm].solver(Setup(game=load_game("kuhn_poker")), {"k": "max", "probe": "yes"})


def test_what_a_variant_does_not_have_cannot_be_read():
    recipe = RECIPES["deep-cfr"]
    settings = made(recipe.settings, recipe.resolve({"fit": "scratch"}))
    assert settings.fit.fresh_steps == 300
    assert settings.fit.steps is MISSING_HERE
    for use in (lambda: settings.fit.steps + 1, lambda: settings.fit.steps == 60, lambda: bool(settings.fit.steps)):
        with pytest.raises(AssertionError, match="does not have"):
            use()


def test_an_engine_that_would_not_be_used_is_refused():
    with pytest.raises(EquipoiseError, match="leave out --engine"):
        equipoise.solve(flop_holdem_of(4, 2, 1), "es-mccfr", iterations=1, engine="vector")


def test_settings_of_runs_that_ignored_them_stay_ignored():
    old = {"fitting": "algorithm2", "steps": 2000, "rate": 4e-3, "strategy_steps": 400, "strategy_rate": 4e-3}
    recipe = RECIPES["dncfr"]
    now = completed(recipe.knobs, as_they_are_now(old), owner="dncfr", game="listed")
    assert (now["rate"], now["strategy_rate"], now["strategy_steps"]) == (1e-3, 1e-3, 2000)
    old = {"traversals": 9, "targets": "aggregated", "steps": 60, "rate": 5e-3, "fresh_steps": 300, "clip_norm": 0.0}
    now = completed(RECIPES["deep-cfr"].knobs, as_they_are_now(old), owner="deep-cfr", game="listed")
    assert (now["traversals"], now["steps"], now["rate"], now["fresh_steps"]) == (9, 15, 4e-3, 100)
    made_now = recipe.resolve({"fitting": "algorithm2", "rate": 0.5})
    assert as_they_are_now(made_now) == made_now
    made_now = RECIPES["deep-cfr"].resolve({"targets": "aggregated", "rate": 0.5})
    assert as_they_are_now(made_now) == made_now
