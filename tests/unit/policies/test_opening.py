"""Every kind of policy is saved and opened from its parts: without a solver, its samples or a fit, bit for bit."""

import json

import numpy as np
import pytest

import equipoise
from equipoise import solving
from equipoise.errors import DamagedFile, EquipoiseError, EquipoiseWarning, GameChanged, NotSupported
from equipoise.evaluation.exploitability import evaluate
from equipoise.games import sizes
from equipoise.policies import open_strategy
from equipoise.policies.files import Parts, read_parts, write_parts
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.runs.drive import Interrupted
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.situations import Situations
from tests.holdem import flop_holdem_of, small_holdem, three_rounds

FEW = {"traversals": 60, "width": 8, "steps": 4, "fresh_steps": 8, "minibatch": 64, "capacity": 400}
DOUBLE = {"batch": 60, "width": 8, "steps": 4, "strategy_width": 8, "strategy_steps": 4, "strategy_every": 2}
PLAY = {"episodes": 60, "width": 8, "minibatch": 64, "capacity": 400, "q_capacity": 400}
NETWORKS = [
    ("deep-cfr", {**FEW, "policy_steps": 10}),
    ("deep-cfr", {**FEW, "policy_steps": 10, "policy_networks": "one", "network": "mlp", "layers": 2}),
    ("deep-cfr", {**FEW, "policy_steps": 10, "cards": "cards", "network": "lstm+attention"}),
    ("sd-cfr", FEW),
    ("sd-cfr", {**FEW, "fallback": "uniform", "network": "gru"}),
    ("dncfr", DOUBLE),
    ("dncfr", {**DOUBLE, "strategy_kind": "sum", "shared": "yes"}),
    ("nfsp", {**PLAY, "network": "mlp", "layers": 1}),
]
IN_BUCKETS = {"buckets": "ehs2:3", "rule": "linear"}


@pytest.fixture
def unlisted(monkeypatch):
    monkeypatch.setattr(sizes, "MOST_LISTED", 0)


@pytest.fixture
def no_solver(monkeypatch):
    """Let nobody make a solver any more."""

    def refuse(*_, **__):
        raise AssertionError("a solver was made to open a policy")

    return lambda: monkeypatch.setattr(solving, "_make_solver", refuse)


def asked(game, count=200):
    """Return random infosets of a game."""
    random, tree = np.random.default_rng(3), betting_tree(game)
    nodes = np.concatenate([tree.decisions(player) for player in range(2)])
    cards = np.stack([random.permutation(game.deck.size) for _ in range(count)])
    return Situations(
        random.choice(nodes, count).astype(np.int64), cards[:, : 2 + sum(game.board_cards)].astype(np.int8)
    )


def assert_same_play(found, expected, game):
    assert type(found) is type(expected) is HoldemPolicy
    some = asked(game)
    np.testing.assert_array_equal(found.strategy.probabilities_at(some), expected.strategy.probabilities_at(some))
    np.testing.assert_array_equal(found.strategy.reached_at(some), expected.strategy.reached_at(some))
    probabilities = found.strategy.probabilities_at(some)
    assert np.ptp(probabilities[probabilities > 0.0]) > 0.1  # or uniform play would pass


@pytest.mark.parametrize(("algorithm", "parameters"), NETWORKS, ids=str)
def test_networks_are_saved_and_opened_without_their_solver(unlisted, no_solver, tmp_path, algorithm, parameters):
    game = flop_holdem_of(4, 3, raises=1)
    found = equipoise.solve(game, algorithm, iterations=4, parameters=parameters, out=tmp_path / "run")
    found.policy.save(tmp_path / "saved.npz")
    no_solver()
    by_parts = open_strategy(*found.policy.parts(), game=game)
    for policy in (by_parts, *(equipoise.load_policy(tmp_path / name, game=game) for name in ("run", "saved.npz"))):
        assert_same_play(policy, found.policy, game)
        assert policy.origin["iterations"] == 4 and policy.origin["algorithm"] == algorithm
        assert policy.fingerprint == found.policy.fingerprint
    assert evaluate(game, by_parts).nash_conv == found.nash_conv > 0.0
    assert (tmp_path / "run" / "policy.npz").stat().st_size < 300_000


@pytest.mark.parametrize(
    ("game", "algorithm", "parameters"),
    [
        (small_holdem(), "cfr+", {"storage": "int16"}),
        (small_holdem(), "cfr+", {"storage": "float64"}),
        (flop_holdem_of(4, 3), "es-mccfr", {**IN_BUCKETS, "precision": "float32"}),
        (three_rounds(4, 3), "es-mccfr", IN_BUCKETS),
    ],
    ids=["boards, 16 bits", "boards", "buckets over boards", "buckets"],
)
def test_tables_of_hold_em_are_saved_and_opened(no_solver, tmp_path, game, algorithm, parameters):
    found = equipoise.solve(game, algorithm, iterations=200, parameters=parameters)
    found.policy.save(tmp_path / "saved.npz")
    no_solver()
    policy = equipoise.load_policy(tmp_path / "saved.npz", game=game)
    assert_same_play(policy, found.policy, game)
    if not np.isnan(found.nash_conv):
        assert evaluate(game, policy).nash_conv == found.nash_conv


def test_a_listed_policy_is_its_parts():
    found = equipoise.solve("leduc_poker", iterations=20).policy
    header, arrays = found.parts()
    opened = open_strategy(json.loads(json.dumps(header)), arrays)
    assert dict(opened.items()) == dict(found.items())
    assert opened.parts().header == header


def test_a_run_of_a_game_that_is_not_evaluated_is_concluded_when_it_ends(no_solver, tmp_path):
    few = {**FEW, "traversals": 5, "policy_steps": 5}
    run = equipoise.solve("limit_holdem", "deep-cfr", iterations=2, parameters=few, out=tmp_path / "run")
    no_solver()
    policy = equipoise.load_policy(tmp_path / "run")
    assert policy["AhKd|"] == run.policy["AhKd|"] and len(set(policy["AhKd|"].values())) == 3


class Leave(Exception):
    pass


def left_after(run, iterations, **options):
    """Leave a run of Deep CFR after some iterations, with a checkpoint, but before the policy is fitted again."""

    def leave(record):
        if record["iteration"] >= iterations:
            raise Leave

    with pytest.raises((Leave, Interrupted)):
        equipoise.solve("kuhn_poker", "deep-cfr", iterations=100, out=run, on_record=leave, **options)


DEEP = {"traversals": 20, "width": 8, "steps": 4, "fresh_steps": 8, "minibatch": 64, "policy_steps": 10}


def test_a_run_that_was_left_gives_the_policy_of_its_last_evaluation_and_says_so(no_solver, tmp_path):
    options = {"parameters": DEEP, "first_evaluation": 3, "evaluation_growth": 10}
    left_after(tmp_path / "run", 7, **options)
    no_solver()
    with pytest.warns(EquipoiseWarning, match=r"gone on to iteration 7; its policy is that of iteration 3"):
        policy = equipoise.load_policy(tmp_path / "run")
    assert policy.origin["iterations"] == 3 and 0.0 < policy.origin["exploitability"] < 1.0


def test_what_was_never_fitted_is_not_fitted_in_silence(tmp_path):
    left_after(tmp_path / "run", 4, parameters=DEEP, first_evaluation=50)
    assert not (tmp_path / "run" / "policy.npz").exists()
    shown = []
    with pytest.warns(EquipoiseWarning, match="not fitted yet: they are fitted now"):
        policy = equipoise.load_policy(tmp_path / "run", on_progress=shown.append)
    assert policy.origin["iterations"] == 4
    assert any("fitting the policy" in getattr(each, "what", "") for each in shown)


def test_runs_of_networks_without_a_policy_file_are_opened_through_their_solver(unlisted, tmp_path):
    game = flop_holdem_of(4, 3, raises=1)
    found = equipoise.solve(game, "sd-cfr", iterations=3, parameters=FEW, out=tmp_path / "run")
    (tmp_path / "run" / "policy.npz").unlink()
    assert_same_play(equipoise.load_policy(tmp_path / "run", game=game), found.policy, game)


@pytest.fixture(scope="module")
def saved():
    """Return the parts of a small policy in networks, and its game."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sizes, "MOST_LISTED", 0)
        game = flop_holdem_of(4, 3, raises=1)
        return game, equipoise.solve(game, "sd-cfr", iterations=2, parameters=FEW).policy.parts()


def with_strategy(parts, **changes):
    return Parts({**parts.header, "strategy": {**parts.header["strategy"], **changes}}, parts.arrays)


def with_network(parts, **changes):
    return with_strategy(parts, network={**parts.header["strategy"]["network"], **changes})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p: with_network(p, width=10**9), "sizes of its networks make no sense"),
        (lambda p: with_network(p, width=60_000), "more or fewer parameters than networks of their sizes"),
        (lambda p: with_network(p, width="8"), "sizes of its networks make no sense"),
        (lambda p: with_network(p, depth=3), "sizes of its networks make no sense"),
        (lambda p: with_network(p, kind="os.system"), "of a kind of its own"),
        (lambda p: with_strategy(p, network=None), "does not say what its networks are"),
        (lambda p: with_strategy(p, answer="eval"), "does not say how its networks answer"),
        (lambda p: with_strategy(p, cards="all"), "what its networks see of cards"),
        (lambda p: with_strategy(p, layout="other"), "differently"),
        (lambda p: with_strategy(p, kind="oracle"), "no strategies of the kind 'oracle'"),
        (lambda p: Parts({**p.header, "strategy": 3}, p.arrays), "damaged"),
        (lambda p: Parts({**p.header, "format": "equipoise-tea-policy"}, p.arrays), "does not know"),
        (lambda p: Parts(p.header, {**p.arrays, "parameters1": p.arrays["parameters1"][:-1]}), "more or fewer"),
        (lambda p: Parts(p.header, {**p.arrays, "parameters0": p.arrays["parameters0"] * np.nan}), "not all numbers"),
        (lambda p: Parts(p.header, {**p.arrays, "weights0": -p.arrays["weights0"]}), "not all numbers"),
        (lambda p: Parts(p.header, {**p.arrays, "parameters0": p.arrays["parameters0"].astype("f8")}), "precision"),
        (lambda p: Parts(p.header, {k: v for k, v in p.arrays.items() if k != "lengths0"}), "lengths0 is missing"),
    ],
)  # fmt: skip
def test_damaged_and_foreign_networks_are_refused_in_a_line(saved, tmp_path, change, says):
    game, parts = saved
    write_parts(tmp_path / "bad.npz", change(parts), compressed=False)
    with pytest.raises(EquipoiseError, match=says) as told:
        equipoise.load_policy(tmp_path / "bad.npz", game=game)
    assert isinstance(told.value, DamagedFile | NotSupported)
    assert len(str(told.value).splitlines()) == 1


def test_networks_of_other_rules_are_refused(saved, tmp_path):
    _, parts = saved
    write_parts(tmp_path / "good.npz", parts, compressed=False)
    assert read_parts(tmp_path / "good.npz", header_only=True).arrays == {}
    with pytest.raises(GameChanged, match="made with other rules"):
        equipoise.load_policy(tmp_path / "good.npz", game=flop_holdem_of(4, 3, raises=2))
    with pytest.raises(EquipoiseError, match="kuhn_poker has other rules"):
        equipoise.load_policy(tmp_path / "good.npz", game="kuhn_poker")
    with pytest.raises(NotSupported, match=r"not of goofspiel\(cards=3\)"):
        equipoise.load_policy(tmp_path / "good.npz", game="goofspiel(cards=3)")
    with pytest.raises(EquipoiseError, match="no game is called 'flop_holdem of 12 cards'"):
        equipoise.load_policy(tmp_path / "good.npz")
