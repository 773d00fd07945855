"""Runs of neural recipes on a game over boards that is not listed: solved, resumed and looked at as any other."""

import numpy as np
import pytest

import equipoise
from equipoise.errors import EquipoiseError
from equipoise.evaluation.match import exact_match, play_match
from equipoise.games import sizes
from equipoise.runs.directory import RunDirectory
from equipoise.solving import load_policy
from equipoise.stores.memories import FittedMemory

FILE = """
from equipoise.games.betting import BettingRound, BettingRules
from equipoise.games.poker import Deck, PokerGame, best_five_cards

RULES = BettingRules(
    blinds=(1, 2),
    rounds=(BettingRound(max_raises=1, bet_size=2), BettingRound(first_player=1, max_raises=1, bet_size=2)),
)


class Tiny(PokerGame):
    def __init__(self):
        deck = Deck(ranks=("2", "3"), suits=("c", "d", "h", "s"))
        super().__init__("python:" + __file__, deck, RULES, (0, 3), hole_cards=2, strength=best_five_cards)
"""
FEW = {"traversals": 80, "width": 8, "steps": 5, "fresh_steps": 10, "minibatch": 64, "capacity": 400}
RECIPES = {
    "deep-cfr": {**FEW, "policy_steps": 20},
    "sd-cfr": FEW,
    "dncfr": {"batch": 80, "width": 8, "steps": 5, "strategy_width": 8, "strategy_steps": 5, "strategy_every": 2},
    "nfsp": {"episodes": 80, "width": 8, "minibatch": 64, "capacity": 400, "q_capacity": 400},
}


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    monkeypatch.setattr(sizes, "MOST_LISTED", 0)
    path = tmp_path / "tiny.py"
    path.write_text(FILE)
    return f"python:{path}"


@pytest.mark.parametrize("algorithm", list(RECIPES))
def test_a_run_that_is_made_longer_ends_as_one_that_was_not_cut(tiny, algorithm, tmp_path):
    options = {"parameters": RECIPES[algorithm], "seed": 3, "evaluation_growth": 1.5, "first_evaluation": 2}
    equipoise.solve(tiny, algorithm, iterations=4, out=tmp_path / "cut", **options)
    resumed = equipoise.resume(tmp_path / "cut", iterations=7, trust_game=True)
    whole = equipoise.solve(tiny, algorithm, iterations=7, out=tmp_path / "whole", **options)
    states = [RunDirectory.open(tmp_path / name).load_checkpoint()[0].state for name in ("cut", "whole")]
    assert states[0].keys() == states[1].keys()
    for name, array in states[0].items():
        np.testing.assert_array_equal(array, states[1][name], err_msg=name)
    assert resumed.nash_conv == whole.nash_conv > 0.0
    assert whole.exploitability == whole.nash_conv / 2
    policy = load_policy(tmp_path / "whole", trust_game=True)
    for key in ("3c2c|", "3s3h/2c2d3c|cc/", "3s3h/2c2d3c|cc/r"):
        found = policy.action_probabilities(key)
        assert sum(found.values()) == pytest.approx(1.0)
        # A network's last bits may differ where it is asked for one row.
        assert found == pytest.approx(whole.policy.action_probabilities(key), abs=1e-6)
        assert found == pytest.approx(whole.policy.action_probabilities(renamed(key)), abs=1e-6)


def renamed(key):
    """Return the same infoset with other names of suits."""
    cards, _, betting = key.partition("|")
    return f"{cards.translate(str.maketrans('cdhs', 'sdch'))}|{betting}"


@pytest.mark.parametrize(
    ("algorithm", "many"), [("deep-cfr", {"traversals": 5000, "steps": 2}), ("nfsp", {"episodes": 5000})]
)
def test_threads_change_nothing(tiny, algorithm, many):
    options = {"parameters": {**RECIPES[algorithm], **many}, "iterations": 3}
    one, two = (equipoise.solve(tiny, algorithm, threads=threads, **options) for threads in (1, 2))
    assert one.nash_conv == two.nash_conv


def test_games_that_are_not_evaluated_are_trained_all_the_same(tmp_path):
    few = {**RECIPES["sd-cfr"], "traversals": 5}
    found = equipoise.solve("limit_holdem", "sd-cfr", iterations=2, parameters=few, out=tmp_path / "run")
    assert np.isnan(found.exploitability)
    assert "exploitability" not in found.summary()
    assert found.history[-1]["nodes_touched"] > 100
    assert equipoise.resume(tmp_path / "run", iterations=3).iterations == 3
    with pytest.raises(EquipoiseError, match="iterations or seconds"):
        equipoise.solve("limit_holdem", "sd-cfr", until=1.0, parameters=few)


def test_networks_are_opened_as_they_were_fitted_and_play_matches(tiny, tmp_path, monkeypatch, seed, level):
    for algorithm, parameters in RECIPES.items():
        equipoise.solve(tiny, algorithm, iterations=4, parameters=parameters, out=tmp_path / algorithm, seed=seed)

    def fit_again(memory, iteration):
        raise AssertionError("a policy network was fitted again")

    monkeypatch.setattr(FittedMemory, "fit", fit_again)
    deep, single, double, self_play = (load_policy(tmp_path / algorithm, trust_game=True) for algorithm in RECIPES)
    apart, left = [], []
    for first, second in ((deep, single), (single, double), (double, self_play)):
        exact, played = exact_match(first, second), play_match(first, second, hands=20_000, known="both")
        assert played.through == "lockstep"
        for estimate in (played.duplicate, played.aivat):
            assert estimate.mean == pytest.approx(exact.mean, abs=4 * estimate.standard_error)
        apart.append(abs(exact.seats[0] - exact.seats[1]))
        left.append(played.aivat.standard_deviation / played.duplicate.standard_deviation)
    # 16 seeds: seats apart 0.18, median 0.92, 2.08; luck left 0.39, 0.48, 0.63.
    assert level(max(apart), "seats apart") > 0.02 and level(max(left), "luck left") < 0.85
