"""Networks of one's own are handed in: a function that makes modules, or an architecture with networks of any kind."""

import numpy as np
import pytest
from torch import nn

import equipoise
from equipoise.errors import EquipoiseError, InvalidParameter, NotSupported
from equipoise.games import sizes
from equipoise.networks.infosets import infosets_of
from equipoise.policies.policy import strategies_from_policy
from equipoise.trees.compile import compile_game
from equipoise.trees.tables import TableMap
from tests.holdem import flop_holdem_of
from tests.own_networks import Oracle

DEEP = {"traversals": 60, "steps": 4, "fresh_steps": 8, "minibatch": 64, "policy_steps": 10}
FEW = {
    "deep-cfr": DEEP,
    "sd-cfr": {name: value for name, value in DEEP.items() if name != "policy_steps"},
    "dncfr": {"batch": 60, "steps": 4, "strategy_steps": 4, "strategy_every": 2},
    "rs-mccfr+-rsn": {"batch": 60, "steps": 4},
    "rs-mccfr+-asn": {"batch": 60, "strategy_steps": 4, "strategy_every": 2},
    "nfsp": {"episodes": 60, "minibatch": 64},
}


def tanh(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 24), nn.Tanh(), nn.Linear(24, outputs))


@pytest.mark.parametrize("algorithm", list(FEW))
def test_a_module_of_ones_own_is_trained_resumed_and_reproducible(tmp_path, algorithm):
    options = {"network": tanh, "parameters": FEW[algorithm], "seed": 3, "first_evaluation": 2}
    whole = equipoise.solve("kuhn_poker", algorithm, iterations=6, **options)
    equipoise.solve("kuhn_poker", algorithm, iterations=3, out=tmp_path / "run", **options)
    resumed = equipoise.resume(tmp_path / "run", iterations=6, network=tanh)
    for name, array in whole.solver.state().items():
        np.testing.assert_array_equal(array, resumed.solver.state()[name], err_msg=name)
    assert any("module.2.weight" in name for name in whole.solver.state())
    assert whole.parameters["network"] == "own" and "width" not in whole.parameters
    assert dict(equipoise.load_policy(tmp_path / "run").items()) == dict(whole.policy.items())  # a table: no network
    with pytest.raises(InvalidParameter, match=r"resume\(..., network=...\)"):
        equipoise.resume(tmp_path / "run", iterations=7)


def test_it_learns(seed, level):
    few = {"traversals": 300, "policy_steps": 300}
    found = equipoise.solve("kuhn_poker", "deep-cfr", network=tanh, iterations=40, parameters=few, seed=seed)
    assert level(found.exploitability) < 0.06  # 16 seeds: 0.0066, median 0.013, 0.022; uniform play: 0.46


def test_policies_in_hold_em_of_ones_own_networks_need_them_again(monkeypatch, tmp_path):
    monkeypatch.setattr(sizes, "MOST_LISTED", 0)
    game, few = flop_holdem_of(4, 3, raises=1), {**DEEP, "capacity": 400}
    found = equipoise.solve(game, "deep-cfr", network=tanh, iterations=3, parameters=few, out=tmp_path / "run")
    found.policy.save(tmp_path / "saved.npz")
    for name in ("run", "saved.npz"):
        opened = equipoise.load_policy(tmp_path / name, game=game, network=tanh)
        assert opened["5c5d|c"] == found.policy["5c5d|c"]
        with pytest.raises(NotSupported, match=r"a kind of its own, 'own:tanh', which no file can make"):
            equipoise.load_policy(tmp_path / name, game=game)
        with pytest.raises(EquipoiseError, match="more or fewer parameters"):
            equipoise.load_policy(tmp_path / name, game=game, network=nn.Linear)


@pytest.mark.parametrize(
    ("network", "says"),
    [
        (3, "give a function that makes modules"),
        (nn.Linear(3, 3), "give a function that makes modules"),
        (lambda inputs, outputs: 5, "returned int, not a torch.nn.Module"),
        (lambda inputs, outputs: nn.Tanh(), "has no linear layer"),
        (lambda inputs, outputs: nn.Linear(inputs, outputs + 1), r"outputs are \(6, 4\), not \(6, 3\)"),
        (lambda inputs, outputs: nn.Sequential(nn.Linear(inputs, outputs), nn.Sigmoid()), "its last linear layer"),
    ],
)
def test_what_cannot_be_a_network_is_refused(network, says):
    with pytest.raises(InvalidParameter, match=says):
        equipoise.solve("kuhn_poker", "deep-cfr", network=network, iterations=1)


def test_a_network_is_given_once():
    with pytest.raises(InvalidParameter, match="handed in from Python"):
        equipoise.solve("kuhn_poker", "deep-cfr", iterations=1, parameters={"network": "own"})
    with pytest.raises(InvalidParameter, match="the settings say network=mlp"):
        equipoise.solve("kuhn_poker", "deep-cfr", iterations=1, parameters={"network": "mlp"}, network=tanh)
    with pytest.raises(InvalidParameter, match="width=3 would change nothing"):
        equipoise.solve("kuhn_poker", "deep-cfr", iterations=1, parameters={"width": 3}, network=tanh)
    with pytest.raises(InvalidParameter, match=r"cfr\+ has no parameter 'network'"):
        equipoise.solve("kuhn_poker", "cfr+", iterations=1, network=tanh)


def test_an_oracle_is_handed_in_and_plays_what_it_knows():
    form = compile_game(equipoise.load_game("leduc_poker"))
    known = equipoise.solve("leduc_poker", iterations=300)
    rows, table = infosets_of(form, "cards"), TableMap(form).from_form(strategies_from_policy(form, known.policy))
    answers = np.zeros((rows.num_listed, rows.num_columns))
    with np.errstate(divide="ignore"):
        answers[rows.entry_row, rows.entry_column] = np.log(table)
    few = {**DEEP, "traversals": 3, "cards": "cards"}
    found = equipoise.solve("leduc_poker", "deep-cfr", network=Oracle(answers), iterations=2, parameters=few)
    assert found.exploitability == pytest.approx(known.exploitability, rel=1e-9) and known.exploitability < 0.02
