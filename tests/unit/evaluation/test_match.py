"""Matches: the compiled simulation against the rules and against the exact answer."""

import dataclasses
from functools import cache

import numpy as np
import pytest

import equipoise
from equipoise.errors import EquipoiseError
from equipoise.evaluation.hands import recorded_hands
from equipoise.evaluation.match import big_blind_of, correction_table, exact_match, play_match
from equipoise.evaluation.players import BASELINES, PolicyPlayer
from equipoise.evaluation.simulation import SAMPLES, play_hand, play_pairs
from equipoise.games import CHANCE, load_game
from equipoise.policies.policy import policy_from_strategies
from tests.naive.match import sums_of
from tests.naive.values import expected_value
from tests.samples import TAPE_LENGTH, _advance, _probability, prepared
from tests.strategies import random_policy, to_strategies

GAMES = [
    ("kuhn_poker", "public"),
    ("kuhn_poker", "histories"),
    ("leduc_poker", "public"),
    ("leduc_poker", "histories"),
    ("nl_leduc(stack=4)", "public"),
    ("goofspiel(cards=4)", "histories"),
    ("bluff(dice=1x1)", "public"),
]


def table_of(game, known="a", seeds=(1, 2)):
    policies = tuple(random_policy(game.form, seed) for seed in seeds)
    strategies = tuple(to_strategies(game.form, policy) for policy in policies)
    return policies, correction_table(game.form, game.sampled, strategies, known)


@cache
def saved(text, seed):
    """Return a policy without pattern, as a file would hold it."""
    game = prepared(text, "public")
    return policy_from_strategies(game.form, to_strategies(game.form, random_policy(game.form, seed)))


@pytest.mark.nojit
@pytest.mark.parametrize(("text", "tree"), [*GAMES[:2], ("leduc_with_one_raise", "public")])
@pytest.mark.parametrize("known", ["a", "both"])
def test_all_hands_weighted_by_their_probability_give_the_exact_value(text, tree, known):
    game = prepared(text, tree)
    policies, (table, starts) = table_of(game, known)
    for seat in range(2):  # of A
        seats = policies if seat == 0 else policies[::-1]
        mixed = {key: seats[player][key] for player in range(2) for key in game.form.keys(player)}
        exact = expected_value(game.game.root(), mixed) * (1 if seat == 0 else -1)
        tape, dice = np.zeros((TAPE_LENGTH, 3)), np.zeros(2, np.uint64)
        total = payoffs = estimates = 0.0
        going = True
        while going:
            dice[1] = 0
            payoff, correction = play_hand(
                game.sampled.tree,
                np.uint64(game.sampled.deal_width),
                table,
                seat,
                dice,
                dice,
                tape,
                np.zeros(0, np.int32),
            )
            probability = _probability(tape, int(dice[1]))
            total += probability
            payoffs += probability * payoff
            estimates += probability * (starts[seat] + correction)
            going = _advance(tape, int(dice[1]))
        assert total == pytest.approx(1.0, abs=1e-9)
        assert payoffs == pytest.approx(exact, abs=1e-9)
        assert estimates == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize(("text", "tree"), GAMES)
def test_recorded_hands_played_again_by_the_rules_give_the_same_sums(text, tree):
    game = prepared(text, tree)
    _, (table, _) = table_of(game)
    batches = list(play_pairs(game.sampled, table, pairs=700, seed=3, recorded=True))
    hands = [hand for batch in batches for hand in recorded_hands(game.sampled, batch.records, 0)]
    found = sum(batch.sums.sum(axis=0) for batch in batches)
    assert len(hands) == 1400 and [hand.number for hand in hands] == list(range(1400))
    assert found == pytest.approx(sums_of(hands, game.policy(table.corrections), table.observer), abs=1e-8)
    assert found[3] > 0 and found[SAMPLES + 3] > 0
    # A pair has one deal: as far as both hands got, chance did the same in them.
    for first, second in zip(hands[::2], hands[1::2], strict=True):
        dealt = [[a for state, a in hand.events() if state.player == CHANCE] for hand in (first, second)]
        short = min(map(len, dealt))
        assert dealt[0][:short] == dealt[1][:short]
    assert len({hand.actions for hand in hands}) > 12


def test_hands_are_recorded_without_changing_the_result():
    game = prepared("leduc_poker", "public")
    _, (table, _) = table_of(game)
    plain, recorded = (
        np.concatenate([batch.sums for batch in play_pairs(game.sampled, table, pairs=3000, seed=1, recorded=recorded)])
        for recorded in (False, True)
    )
    assert np.array_equal(plain, recorded)


def test_the_interval_covers_the_exact_value_at_the_right_rate():
    first, second = saved("leduc_poker", 1), saved("leduc_poker", 2)
    exact = exact_match(first, second).mean
    covered = dict.fromkeys(("plain", "duplicate", "aivat"), 0)
    matches, standard_scores = 150, []
    for seed in range(matches):
        result = play_match(first, second, hands=2000, seed=seed, known="a")
        for name in covered:
            low, high = getattr(result, name).interval
            covered[name] += low <= exact <= high
        standard_scores.append((result.aivat.mean - exact) / result.aivat.standard_error)
    # 95% of 150 is 142.5, with a standard deviation of 2.7.
    assert all(134 <= count <= 150 for count in covered.values()), covered
    assert abs(np.mean(standard_scores)) < 3.5 / matches**0.5
    assert 0.8 < np.std(standard_scores) < 1.2


def test_luck_is_taken_out_step_by_step():
    solved = equipoise.solve("leduc_poker", iterations=1000).policy
    early = equipoise.solve("leduc_poker", iterations=20).policy
    result = play_match(solved, early, hands=100_000)
    exact = exact_match(solved, early)
    assert exact.mean > 0.01
    deviations = [e.standard_deviation for e in (result.plain, result.duplicate, result.aivat)]
    assert deviations[1] < 0.8 * deviations[0]
    assert deviations[2] < 0.1 * deviations[0]
    assert result.aivat.mean == pytest.approx(exact.mean, abs=4 * result.aivat.standard_error)
    against_itself = play_match(solved, solved, hands=10_000)
    assert against_itself.aivat.standard_deviation < 1e-12 < 1.0 < against_itself.plain.standard_deviation


def test_the_exact_result_is_that_of_the_rules_and_of_the_solver():
    first, second = saved("kuhn_poker", 1), saved("kuhn_poker", 2)
    exact = exact_match(first, second)
    game = load_game("kuhn_poker")

    def both(zero, one):
        return {
            key: list((zero if zero.players[i] == 0 else one).action_probabilities(key).values())
            for i, key in enumerate(zero.keys)
        }

    assert exact.seats[0] == pytest.approx(expected_value(game.root(), both(first, second)), abs=1e-12)
    assert exact.seats[1] == pytest.approx(-expected_value(game.root(), both(second, first)), abs=1e-12)
    assert abs(exact.mean) > 1e-3
    solved = equipoise.solve("leduc_poker", iterations=2000)
    seats = exact_match(solved.policy, solved.policy).seats
    assert seats[0] == pytest.approx(solved.value, abs=1e-12) and seats[1] == pytest.approx(-solved.value, abs=1e-12)


def test_same_seed_same_bits_for_any_number_of_threads():
    first, second = saved("leduc_poker", 1), saved("leduc_poker", 2)
    results = [play_match(first, second, hands=9001, seed=5, threads=threads) for threads in (1, 2, 2)]
    assert len({(r.aivat, r.duplicate, r.plain, r.seats) for r in results}) == 1
    assert results[0].hands == 9002
    assert play_match(first, second, hands=9001, seed=6).plain != results[0].plain


def test_swapping_the_players_changes_the_sign():
    first, second = saved("kuhn_poker", 1), saved("kuhn_poker", 2)
    one, other = exact_match(first, second), exact_match(second, first)
    assert one.mean == pytest.approx(-other.mean, abs=1e-15)
    assert one.seats == pytest.approx((-other.seats[1], -other.seats[0]), abs=1e-15)


@pytest.mark.parametrize("name", ["uniform", "always-call", "always-raise"])
def test_baselines_play_as_they_say(name):
    result = play_match(name, saved("leduc_poker", 1), hands=1000, on_hand=(hands := []).append)
    assert result.players[0] == name
    seen = {}
    for hand in hands:
        for state, action in hand.decisions():
            if state.player == hand.seat_of_a:
                names = tuple(state.action_name(each) for each in state.actions())
                seen.setdefault(names, set()).add(state.action_name(action))
    if name == "uniform":
        assert all(set(names) == taken for names, taken in seen.items())
    elif name == "always-call":
        assert set().union(*seen.values()) == {"check", "call"}
    else:
        assert set().union(*seen.values()) == {"bet", "raise", "call"}
        assert all(taken == {"call"} for names, taken in seen.items() if "raise" not in names and "bet" not in names)


def test_players_through_the_rules_agree_with_the_tree():
    (first, second), _ = table_of(prepared("leduc_poker", "public"))

    class Dictionary:
        def __init__(self, name, policy):
            self.name, self.policy = name, policy

        def action_probabilities(self, state):
            return self.policy[state.infoset_key()]

    by_tree = play_match(saved("leduc_poker", 1), saved("leduc_poker", 2), hands=200_000, known="a")
    by_rules = play_match(Dictionary("A", first), Dictionary("B", second), hands=3000, game="leduc_poker")
    exact = exact_match(saved("leduc_poker", 1), saved("leduc_poker", 2)).mean
    assert (by_tree.through, by_rules.through) == ("tree", "rules")
    for name in ("plain", "duplicate"):
        slow, fast = getattr(by_rules, name), getattr(by_tree, name)
        assert slow.mean == pytest.approx(exact, abs=4 * slow.standard_error)
        assert slow.standard_deviation == pytest.approx(fast.standard_deviation, rel=0.1)
    assert by_rules.aivat is None


def test_units():
    assert big_blind_of(load_game("leduc_poker")) == 1 and big_blind_of(load_game("goofspiel(cards=3)")) is None
    result = play_match(saved("leduc_poker", 1), "uniform", hands=100)
    numbers = result.to_json()
    assert numbers["mean_mbb"] == pytest.approx(1000 * numbers["mean"])
    low, high = numbers["interval_95"]
    assert low < numbers["mean"] < high
    assert (high - low) / 2 == pytest.approx(
        2.0096 * numbers["standard_error"], rel=1e-4
    )  # t with 49 degrees of freedom


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"a": ("kuhn_poker", 1), "b": ("leduc_poker", 1)}, "A plays kuhn_poker and B plays leduc_poker"),
        ({"a": ("kuhn_poker", 1), "b": "uniform", "game": "leduc_poker"}, "A plays kuhn_poker, not leduc_poker"),
        ({"a": "uniform", "b": "uniform"}, "--game"),
        ({"a": "uniform", "b": "always-call", "game": "goofspiel(cards=3)"}, "plays poker only"),
        ({"a": "unifrom", "b": ("kuhn_poker", 1)}, "no player 'unifrom'"),
        ({"a": ("kuhn_poker", 1), "b": "uniform", "hands": 3}, "whole number of 4 or more"),
        ({"a": ("kuhn_poker", 1), "b": "uniform", "seed": -1}, "whole number from 0"),
        ({"a": ("kuhn_poker", 1), "b": "uniform", "threads": 0}, "whole number of 1 or more"),
    ],
)
def test_mistakes_are_explained(arguments, says):
    settings = {"hands": 10, **arguments}
    a, b = (saved(*p) if isinstance(p, tuple) else p for p in (settings.pop("a"), settings.pop("b")))
    with pytest.raises(EquipoiseError, match=says):
        play_match(a, b, **settings)


def test_a_policy_with_a_missing_infoset_is_named():
    whole = saved("kuhn_poker", 1)
    keys = ["?" if key == "Q|r" else key for key in whole.keys]
    broken = PolicyPlayer("runs/old", dataclasses.replace(whole, keys=keys))
    with pytest.raises(EquipoiseError, match=r"runs/old: .*it has no infoset 'Q\|r' with 2 actions"):
        play_match(broken, "uniform", hands=10)


def test_players_that_give_no_distribution_are_named():
    class Wrong:
        name = "wrong"

        def action_probabilities(self, state):
            return [0.7] * len(state.actions())

    with pytest.raises(EquipoiseError, match="wrong does not give probabilities for the 2 actions"):
        play_match(Wrong(), BASELINES["uniform"], hands=10, game="kuhn_poker")
    with pytest.raises(EquipoiseError, match="AIVAT needs exact values"):
        play_match(Wrong(), BASELINES["uniform"], hands=10, game="kuhn_poker", known="both")


@pytest.mark.parametrize("text", ["open_spiel:kuhn_poker", "goofspiel(cards=3)", "bluff(dice=1x1)"])
def test_any_game_can_be_played(text):
    solved = equipoise.solve(text, iterations=30).policy
    result = play_match(solved, "uniform", hands=20_000)
    exact = exact_match(solved, "uniform")
    assert exact.mean > 0.05
    assert result.aivat.mean == pytest.approx(exact.mean, abs=4 * result.aivat.standard_error)
    assert result.aivat.standard_deviation < result.plain.standard_deviation
