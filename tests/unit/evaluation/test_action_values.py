"""Values of actions: exact ones against the rules, history by history; estimates against exact ones."""

import random

import numpy as np
import pytest

from equipoise.errors import NotSupported, UnknownInfoset
from equipoise.evaluation.appraisal import LineAppraiser
from equipoise.evaluation.appraisers import action_values, appraiser
from equipoise.evaluation.board_action_values import BoardAppraiser
from equipoise.evaluation.listed_values import ListedAppraiser
from equipoise.evaluation.players import BASELINES, HoldemPlayer, PolicyPlayer
from equipoise.evaluation.sampled_values import SampledAppraiser
from equipoise.games import load_game
from equipoise.games.efg import write_efg
from equipoise.games.poker import PokerGame
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.policies.policy import policy_from_strategies
from equipoise.policies.spot_policy import SpotPolicy
from equipoise.regret.rules import DiscountedCFR
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.trees.board_form import board_form
from equipoise.trees.compile import compile_game
from equipoise.trees.spot_form import spot_form
from tests.board_strategies import RandomStrategy
from tests.holdem import small_holdem
from tests.naive.action_values import action_values as by_the_rules
from tests.naive.values import histories
from tests.random_games import RandomGame
from tests.spots import small_spot
from tests.strategies import random_policy, to_strategies


def policies(game, seed=3):
    """Return two policies without pattern, each as textbook code has it and as an object."""
    form = compile_game(game)
    dicts = [random_policy(form, seed + k) for k in range(2)]
    return dicts, [policy_from_strategies(form, to_strategies(form, each)) for each in dicts]


def agree(found, told):
    """Compare what is known of an infoset with what the rules say."""
    assert found.own_reach == pytest.approx(told.own_reach, abs=1e-12)
    assert found.reach == pytest.approx(told.own_reach * told.others_reach, abs=1e-12)
    np.testing.assert_allclose(found.values, told.values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.best_values, told.best_values, rtol=0, atol=1e-9)
    if told.others_reach > 0:
        assert found.belief.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert found.best_value == pytest.approx(max(told.best_values), abs=1e-9, nan_ok=True)


def hands_of(game, player, belief):
    """Return a belief in histories as one in the opponent's hands: what chance dealt second, or first."""
    by_hand: dict[str, float] = {}
    for way, probability in belief.items():
        hand = way.split(", ")[1 - player]
        by_hand[hand] = by_hand.get(hand, 0.0) + probability
    return by_hand


GAMES = ["kuhn_poker", "leduc_poker", "one_card_poker(cards=4)", "goofspiel(cards=4)", "bluff(dice=1x1)"]


@pytest.mark.parametrize("text", [*GAMES, "python:examples/own_game.py", "efg", "random"])
def test_values_are_those_of_the_rules(text, tmp_path):
    if text == "efg":
        write_efg(load_game("kuhn_poker"), tmp_path / "kuhn.efg")
        text = f"efg:{tmp_path / 'kuhn.efg'}"
    game = RandomGame(7, 6) if text == "random" else load_game(text)
    dicts, objects = policies(game)
    told = by_the_rules(game, *dicts)
    found = appraiser(*objects)
    assert isinstance(found, ListedAppraiser) and found.exact
    assert len(told) == len(found.keys)
    for (player, key), known in told.items():
        at = found.at(key)
        assert at.player == player
        assert at.probabilities.tolist() == pytest.approx(dicts[0][key])
        agree(at, known)
        believed = dict(at.belief.likeliest())
        expected = hands_of(game, player, known.belief) if isinstance(game, PokerGame) else known.belief
        if "bluff" in text:
            expected = hands_of(game, player, known.belief)
        assert believed == pytest.approx({what: p for what, p in expected.items() if p > 0}, abs=1e-12)


def test_the_start_is_worth_the_game():
    game = load_game("leduc_poker")
    _, objects = policies(game)
    found = appraiser(*objects)
    roots = found.line("")
    assert (roots.reach * (roots.probabilities * roots.values).sum(axis=1)).sum() == pytest.approx(
        found.start_value(0), abs=1e-12
    )
    assert roots.reach.sum() == pytest.approx(1.0)


def test_kuhn_by_hand():
    """Against a player who always bets, a queen that faces a bet wins 2 or loses 2, half the time each."""
    valued = appraiser("uniform", "always-raise", game="kuhn_poker").at("Q|r")
    assert dict(zip(valued.actions, valued.values, strict=True)) == pytest.approx({"fold": -1.0, "call": 0.0})
    assert valued.best_action == "call" and valued.best_value == 0.0
    assert dict(valued.belief.likeliest()) == pytest.approx({"J": 0.5, "K": 0.5})


def test_what_nobody_leads_to_has_no_value():
    """Against a player who never bets, an infoset after a bet is never met: its values are not known, not zero."""
    valued = appraiser("uniform", "always-call", game="kuhn_poker").at("Q|r")
    assert valued.reach == 0.0 and np.isnan(valued.values).all() and valued.best_action is None
    told = valued.to_json()
    assert appraiser("uniform", game="kuhn_poker").at("Q|r").to_json()["values"]["fold"] == 0.0  # from here on
    assert told["values"] == {"fold": None, "call": None} and told["best_response"]["value"] is None


def test_one_call_is_enough():
    _, (policy, other) = policies(load_game("kuhn_poker"))
    assert action_values(policy, "K|", opponent=other).values == pytest.approx(appraiser(policy, other).at("K|").values)
    assert action_values(policy, "K|").key == "K|"


def test_a_wrong_key_is_told():
    with pytest.raises(UnknownInfoset, match=r"no infoset 'Q\|x'"):
        appraiser("uniform", game="kuhn_poker").at("Q|x")


class Small:
    """A small game over boards, two strategies on it, and both once more as listed players."""

    def __init__(self):
        self.game = small_holdem()
        self.form = board_form(self.game)
        self.policies = [HoldemPolicy(rules=self.game, strategy=RandomStrategy(self.form, seed)) for seed in (5, 6)]

    def listed(self, policy):
        """Return a policy by infosets."""
        lists = compile_game(self.game)
        strategies = tuple(np.ones(plex.num_sequences) for plex in lists.treeplexes)
        for player, strategy in enumerate(strategies):
            sequences, first = lists.treeplexes[player].sequence_table()
            for place, key in enumerate(lists.keys(player)):
                strategy[sequences[first[place] : first[place + 1]]] = list(policy.action_probabilities(key).values())
        return policy_from_strategies(lists, strategies)


@pytest.fixture(scope="module")
def small():
    return Small()


def test_boards_and_lists_agree(small):
    over_boards = BoardAppraiser(small.game, *(HoldemPlayer("x", policy) for policy in small.policies))
    listed = ListedAppraiser(small.game, *_listed_players(small))
    assert over_boards.start_value(0) == pytest.approx(listed.start_value(0), abs=1e-9)
    assert over_boards.start_value(1) == pytest.approx(listed.start_value(1), abs=1e-9)
    for line, board in [("", ""), ("r", ""), ("cc/", "2c3d"), ("rc/r", "2c2h"), ("cc/crr", "4d5h")]:
        a, b = over_boards.line(line, board), listed.line(line, board)
        assert isinstance(over_boards, LineAppraiser)
        assert list(a.keys) == list(b.keys) and a.actions == b.actions and a.player == b.player and a.paid == b.paid
        for name in ("probabilities", "own_reach", "others_reach"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=1e-9)
        for name in ("values", "best_values"):
            # Behind an action of 1e-9 there are too few digits left to divide by its reach.
            known = b.others_reach > 1e-6 * b.others_reach.max()
            np.testing.assert_allclose(getattr(a, name)[known], getattr(b, name)[known], rtol=0, atol=1e-7)
        assert dict(a.believe(3).likeliest()) == pytest.approx(dict(b.believe(3).likeliest()), abs=1e-9)
        for mine, theirs in zip(over_boards.ranges(line, board), listed.ranges(line, board), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-9)


def _listed_players(small):
    return [PolicyPlayer("x", small.listed(policy)) for policy in small.policies]


def test_estimates_are_near_what_is_exact(small):
    players = [HoldemPlayer("x", policy) for policy in small.policies]
    exact, sampled = BoardAppraiser(small.game, *players), SampledAppraiser(small.game, *players, deals=4000)
    for key in ("5h4c|", "3d2c|r", "5c4d/2c2h|cc/", "4d4h/2c3d|cc/r"):
        a, b = exact.at(key), sampled.at(key)
        assert b.errors is not None and (np.abs(a.values - b.values) <= 5 * b.errors + 1e-9).all()
        assert b.reach == pytest.approx(a.reach, rel=1e-6)
        assert np.isnan(b.best_values).all() and "estimated" in b.method
    assert sampled.at("5h4c|").values.tolist() == sampled.at("5h4c|").values.tolist()


@pytest.mark.parametrize("name", ["river", "flop", "turn, two suits alike"])
def test_spots_agree_with_the_rules(name):
    game = small_spot(name)
    solver = SpotCFR(spot_form(game), DiscountedCFR(), storage="float64", threads=1)
    solver.run(8)
    policy = SpotPolicy(form=solver.form, strategy=solver.average_strategy())
    keys = {state.infoset_key(): len(state.actions()) for state in histories(game) if state.player >= 0}
    own = {key: list(policy.action_probabilities(key).values()) for key in keys}
    uniform = {key: [1 / count] * count for key, count in keys.items()}
    found = appraiser(policy, "uniform")
    told = by_the_rules(game, own, uniform)
    for (player, key), known in random.Random(2).sample(sorted(told.items()), min(60, len(told))):
        at = found.at(key)
        assert at.player == player
        agree(at, known)
        assert dict(at.belief.likeliest()) == pytest.approx(
            {what: p for what, p in hands_of(game, player, known.belief).items() if p > 0}, abs=1e-9
        )


def test_a_spot_needs_players_of_spots():
    with pytest.raises(NotSupported):
        appraiser(BASELINES["uniform"], policies(load_game("kuhn_poker"))[1][0], game=small_spot("river"))
