"""Spots: the engine against textbook CFR, a linear program, itself in other forms, and published values."""

from functools import partial
from importlib import resources

import numpy as np
import pytest

from equipoise.games import load_game
from equipoise.games.betting import apply_action, legal_actions
from equipoise.games.ranges import Range
from equipoise.games.spots import Spot, spot
from equipoise.regret.rules import CFR, CFRPlus, DiscountedCFR, LinearCFR
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.trees.spot_evaluator import SpotEvaluator
from equipoise.trees.spot_form import spot_form
from tests.naive.cfr import NaiveCFR, normalised, regret_matching
from tests.naive.linear_program import game_value
from tests.naive.values import best_response_value, expected_value
from tests.spots import by_infoset, renamed, scales, set_infosets, small_spot

SPOTS = resources.files("equipoise.bench") / "spots"
RULES = {"cfr": CFR(), "cfr+": CFRPlus(), "lcfr": LinearCFR(), "dcfr": DiscountedCFR()}


def reference(name):
    """Return a reference spot."""
    return load_game(f"spot:{SPOTS / name}.txt")


def solved(game, iterations, storage="float64", threads=1):
    """Return a solver that has run."""
    solver = SpotCFR(spot_form(game), DiscountedCFR(), storage=storage, threads=threads)
    solver.run(iterations)
    return solver


def policy_of(solver, keys):
    """Return a solver's average strategy as textbook code has it."""
    sums = by_infoset(solver.form, solver.average_strategy())
    return normalised({key: list(sums[key]) for key in keys})


def from_random_regrets(game, variant, rule, same=lambda key: key):
    """Return textbook CFR and a solver that go on from the same regrets, whatever led to them.

    From nothing, both would soon meet actions of exactly equal worth, where rounding decides the strategy.
    """
    naive, solver = NaiveCFR(game, variant), SpotCFR(spot_form(game), rule, storage="float64")
    random, numbers = np.random.default_rng(7), {}
    for key in sorted(naive.strategy):
        numbers.setdefault(min(key, same(key)), random.uniform(0.02, 0.1, len(naive.strategy[key])))
    # A solver also has hands that no hand of the opponent goes with on some board: they are never dealt there.
    factors = {key: factor for key, factor in scales(solver.form).items() if key in naive.strategy}
    for key in naive.strategy:
        regrets = numbers[min(key, same(key))]
        naive.regret_sum[key], naive.strategy[key] = list(regrets), regret_matching(list(regrets))
        if key in factors:
            numbers[key] = regrets
    discount = 1.0 if variant != "dcfr" else None  # a textbook's regrets are discounted already: see NaiveCFR
    t, kept = 3, {}
    for key in factors:
        old = numbers[key]
        if discount is None:
            old = np.where(old > 0, old * (t**1.5 + 1) / t**1.5, old * 2)
        kept[key] = old * factors[key]
    set_infosets(solver.form, solver.regret_sum, {**by_infoset(solver.form, solver.regret_sum), **kept})
    naive.t = solver.iteration = t
    return naive, solver, factors


def compare(naive, solver, factors):
    """Run both for two iterations, and compare all regrets and averages."""
    for _ in range(2):
        naive.iterate()
    solver.run(2)
    sums = by_infoset(solver.form, solver.average_strategy())
    regrets = by_infoset(solver.form, solver.regret_sum)
    for key, factor in factors.items():
        found = regrets[key] / factor
        if naive.variant == "dcfr":  # discounted after iteration 5, not before iteration 6
            found = np.where(found > 0, found * 5**1.5 / (5**1.5 + 1), found * 0.5)
        np.testing.assert_allclose(found, naive.regret_sum[key], atol=1e-9, err_msg=key)
        total = sums[key].sum()
        assert total > 0.0
        np.testing.assert_allclose(sums[key] / total, naive.average_policy()[key], atol=1e-9, err_msg=key)


@pytest.mark.nojit  # where an index beyond an array is an error
@pytest.mark.parametrize("variant", ["dcfr", "cfr+", "lcfr", "cfr"])
@pytest.mark.parametrize("name", ["river", "turn", "flop"])
def test_iterations_are_those_of_textbook_cfr(name, variant):
    if name != "river" and variant in ("cfr", "lcfr"):
        pytest.skip("the rule is the same code")
    compare(*from_random_regrets(small_spot(name), variant, RULES[variant]))


@pytest.mark.parametrize("name", ["turn, two suits alike", "flop, two suits alike"])
def test_boards_that_differ_by_suits_are_solved_once(name):
    game = small_spot(name)
    naive, solver, factors = from_random_regrets(game, "dcfr", DiscountedCFR(), partial(renamed, game))
    raw = game.deck.size - len(game.board)
    assert solver.form.rounds[1].num_boards < raw == solver.form.rounds[1].boards.images.sum()
    assert len(factors) < len(naive.strategy)
    compare(naive, solver, factors)
    # Boards that are not there count, too.
    policy = naive.average_policy()
    values = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
    assert values.value == pytest.approx(expected_value(game.root(), policy), abs=1e-9)
    for player in range(2):
        best = best_response_value(game, policy, player)
        assert values.best_response_values[player] == pytest.approx(best, abs=1e-9)


@pytest.mark.nojit
@pytest.mark.parametrize("name", ["river", "turn", "flop"])
def test_values_and_best_responses_by_the_definition(name):
    game = small_spot(name)
    solver = solved(game, 3)
    naive = NaiveCFR(game, "dcfr")
    expected = policy_of(solver, naive.strategy)
    values = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
    assert values.value == pytest.approx(expected_value(game.root(), expected), abs=1e-9)
    assert values.values[1] == pytest.approx(-values.value, abs=1e-9)
    for player in range(2):
        best = best_response_value(game, expected, player)
        assert values.best_response_values[player] == pytest.approx(best, abs=1e-9)
    assert values.exploitability > 0.01  # three iterations are not enough


def test_a_small_river_is_worth_what_its_linear_program_says():
    game = reference("river_small")
    solver = solved(game, 20_000)
    values = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
    assert values.value + game.pot / 2 == pytest.approx(39.470198675, abs=1e-6)
    assert values.exploitability < 1e-5
    single = SpotEvaluator(solver.form).best_responses(solved(game, 5000, "float32").average_strategy())
    assert single.value + game.pot / 2 == pytest.approx(39.470198675, abs=1e-6)


def test_a_turn_is_worth_what_its_linear_program_says():
    game = small_spot("turn")
    solver = solved(game, 3000)
    values = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
    assert values.value == pytest.approx(game_value(game), abs=1e-4)


def test_a_river_spot_is_that_river_inside_a_turn_spot():
    ranges = {"first": "66+,A8s+,JTs", "second": "QQ-22,KQ:0.5,T9s"}
    turn = spot("Td9d6hQc", 200, 900, **ranges, bets="none/1-allin")
    outer = solved(turn, 5)
    found = by_infoset(outer.form, outer.average_strategy())
    values = []
    for board in (0, 17, 33):
        cards = outer.form.rounds[1].cards[board]
        inner = solved(spot(turn.deck.text(cards), 200, 900, **ranges, bets="1-allin"), 5)
        for key, sums in by_infoset(inner.form, inner.average_strategy()).items():
            hand, betting = key.split("/")[0], key.partition("|")[2]
            before = found[f"{hand}/{turn.deck.text(cards)}|cc/{betting}"]
            np.testing.assert_allclose(before, sums, rtol=1e-9, atol=1e-12)
        values.append(SpotEvaluator(inner.form).best_responses(inner.average_strategy()).value)
    assert len(set(values)) == 3


@pytest.mark.parametrize(
    ("name", "iterations", "expected", "percent"),
    [("river_full", 600, 464.675, 0.05), ("turn_basic", 400, 91.217, 0.06), ("turn_full", 330, 91.23, 0.06)],
)
def test_reference_values(name, iterations, expected, percent):
    game = reference(name)
    solver = solved(game, iterations, "float32")
    values = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
    assert 100 * values.exploitability / game.pot < percent
    tolerance = {"river_full": 0.01, "turn_basic": 0.04, "turn_full": 0.09}[name] + 0.0002 * game.pot
    assert values.value + game.pot / 2 == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("storage", ["float32", "int16"])
@pytest.mark.parametrize("name", ["turn", "flop"])
def test_threads_and_cuts_change_no_bit(name, storage):
    one = solved(small_spot(name), 12, storage)
    two = SpotCFR(one.form, DiscountedCFR(), storage=storage, threads=2)
    two.run(5)
    resumed = SpotCFR(one.form, DiscountedCFR(), storage=storage, threads=1)
    resumed.restore(5, {key: array.copy() for key, array in two.state().items()})
    two.run(7)
    resumed.run(7)
    for key, array in one.state().items():
        assert array.tobytes() == two.state()[key].tobytes() == resumed.state()[key].tobytes(), key
    values = [SpotEvaluator(one.form, threads=n).best_responses(one.average_strategy()) for n in (1, 2)]
    assert values[0] == values[1]


@pytest.mark.parametrize("name", ["river_full", "turn_basic"])
def test_sixteen_bits_are_enough(name):
    game = reference(name)
    iterations = 300 if name == "river_full" else 100
    found = {}
    for storage in ("float32", "int16"):
        solver = solved(game, iterations, storage)
        values = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
        found[storage] = 100 * values.exploitability / game.pot
    assert found["int16"] < 1.5 * found["float32"] + 0.1


def raked(game: Spot, policy: dict[str, list[float]]) -> tuple[float, float]:
    """Return what both players win with rake, by the definition."""
    free = Spot(**{name: getattr(game, name) for name in ("board", "pot", "stack", "ranges", "bets", "raises", "deck")})

    def walk(state, chance):
        if state.player == -2:
            won, lost = game.winnings(state.betting)
            sign = np.sign(state.payoff())
            if sign == 0:
                return np.array([won - lost, won - lost]) / 2 * chance
            return np.array([won, -lost] if sign > 0 else [-lost, won]) * chance
        chances = state.chance_probabilities() if state.player == -1 else policy[state.infoset_key()]
        return sum(walk(state.child(a), chance * p) for a, p in zip(state.actions(), chances, strict=True))

    return tuple(walk(free.root(), 1.0))


@pytest.mark.parametrize("name", ["river", "turn"])
def test_rake(name):
    game = small_spot(name, rake=0.1, cap=2.5)
    solver = solved(game, 3)
    policy = policy_of(solver, NaiveCFR(small_spot(name), "dcfr").strategy)
    values = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
    np.testing.assert_allclose(values.values, raked(game, policy), atol=1e-9)
    assert sum(values.values) < -0.5
    solver.run(2000)
    assert SpotEvaluator(solver.form).best_responses(solver.average_strategy()).exploitability < 0.02


def test_hands_that_no_range_holds_are_left_out():
    form = spot_form(spot("Td9d6hQc", 200, 900, "AA", "KK,QQ:0"))
    assert [len(hands) for hands in form.hands] == [6, 6]
    assert form.rounds[1].boards.live.max() == 6


def test_betting_that_starts_at_any_state_is_that_part_of_the_tree():
    game = reference("turn_basic")
    form = spot_form(game)
    assert {state.text for state in form.rounds[1].roots} >= {"cc/", "r200c/", "r900c", "cr200r800r900c"}
    for state in form.rounds[1].states:
        assert state.round == 1
        for action in legal_actions(game.betting, state):
            after = apply_action(game.betting, state, action)
            assert after.finished or after.text in form.rounds[1].node_of


def test_ranges_with_weights_equal_hands_that_are_dealt_as_often():
    half = reference("river_small")
    weights = half.ranges[0].weights * 0.5
    lighter = Spot(**{**{k: getattr(half, k) for k in ("board", "pot", "stack", "bets", "raises")},
                      "ranges": (Range(weights), half.ranges[1])})  # fmt: skip
    values = [SpotEvaluator(s.form).best_responses(s.average_strategy()).value for s in
              (solved(half, 200), solved(lighter, 200))]  # fmt: skip
    assert values[0] == pytest.approx(values[1], abs=1e-12)


@pytest.mark.nojit
@pytest.mark.parametrize("board", ["KsTh7s4d2s"])
def test_the_second_range_may_be_far_wider_than_the_first(board):
    game = spot(board, 100, 100, "AA", "JJ+,A9s+,KQ", bets="allin")
    solver = solved(game, 2)  # wrote beyond the first player's values once
    for player in range(2):
        share = solver.form.weights[player] / game.pairs
        value = float(share @ solver.root_values[player][: len(share)])
        assert abs(value) < 100
        assert value != 0.0
    wider = solved(spot(board, 100, 100, "JJ+,A9s+,KQ", "AA", bets="allin"), 2)
    assert [len(each) for each in wider.root_values] == [len(each) for each in solver.root_values][::-1]
