"""Locked hands of a spot: the engine against textbook CFR on a game in which chance plays what players are bound to."""

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.games import load_game
from equipoise.games.spots import spot
from equipoise.policies.spot_policy import SpotPolicy
from equipoise.regret.rules import DiscountedCFR
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.trees.spot_evaluator import SpotEvaluator
from equipoise.trees.spot_form import spot_form
from tests.equivalence.test_spot_engine import compare, from_random_regrets, policy_of, solved
from tests.naive.linear_program import game_value
from tests.naive.values import best_response_value, expected_value, uniform_policy
from tests.spots import small_spot

# By spot: locks of both players, of single hands and of all, some below others, on every board and on one.
LOCKS = {
    "river": [":65,42=check:0.25,bet 5:0.75", "c:4d3c=allin", ":6c5d=c", "r5:all=f:0.5,c:0.5"],
    "turn": [":65=c:0.5,r10:0.5", "cc/:all=c", "cc/@5c:65,42=c:0.25,r10:0.75", "r10:53=call"],
    "flop": ["c:66=c:0.1,r10:0.9", "cc/cc/:52=c:0.5,r10:0.5", "cr10c/@5c:65s=c", "cc/cc/c@5c6c:5d2d=r10"],
}


def locked_spot(name):
    return small_spot(name, locks=LOCKS[name])


@pytest.mark.nojit
@pytest.mark.parametrize("name", LOCKS)
def test_iterations_are_those_of_textbook_cfr(name):
    compare(*from_random_regrets(locked_spot(name), "dcfr", DiscountedCFR()))


@pytest.mark.parametrize("storage", ["float64", "int16"])
@pytest.mark.parametrize("name", LOCKS)
def test_values_and_best_responses_by_the_definition(name, storage):
    game = locked_spot(name)
    solver = solved(game, 3, storage)
    expected = policy_of(solver, uniform_policy(game))  # without what players are bound to
    values = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
    assert values.value == pytest.approx(expected_value(game.root(), expected), abs=1e-9)
    for player in range(2):
        best = best_response_value(game, expected, player)
        assert values.best_response_values[player] == pytest.approx(best, abs=1e-9)
    free = SpotEvaluator(spot_form(small_spot(name))).best_responses(solver.average_strategy())
    assert free.exploitability > values.exploitability + 1e-3  # who is bound could do better


@pytest.mark.parametrize("name", ["river", "turn"])
def test_the_rest_is_solved_around_what_is_locked(name):
    game = locked_spot(name)
    solver = solved(game, 3000)
    values = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
    assert values.exploitability < 1e-3
    assert values.value == pytest.approx(game_value(game), abs=2e-3)
    assert abs(values.value - game_value(small_spot(name))) > 0.01


@pytest.mark.parametrize("storage", ["float32", "int16"])
def test_the_locked_strategy_stays(storage):
    game = spot(
        "Td9d6hQc", 200, 900, "66+,A8s+,KQo", "QQ-22,AJo,T9s", locks="c:QQ,AJo=check:0.3,bet 200:0.7;r200:77-22=f"
    )
    solver = SpotCFR(spot_form(game), DiscountedCFR(), storage=storage)
    solver.run(30)
    policy = SpotPolicy(form=solver.form, strategy=solver.average_strategy())
    line = policy.line("c").select("QQ,AJo")
    np.testing.assert_allclose(line.probabilities, np.tile([0.3, 0.7, 0.0], (len(line.hands), 1)), atol=1e-6)
    assert (policy.line("r200").select("77-22").probabilities[:, 0] == 1.0).all()
    assert policy.range_at("cr200", player=1).weights[_place(game, "AhJs")] == pytest.approx(0.7, abs=1e-6)
    # Where a hand that folds would come, it does not.
    assert policy.line("r200c/", "2s").reach.sum() > 0.0
    assert policy.range_at("r200c/", "2s", player=1).weights[_place(game, "7d7c")] == 0.0


def _place(game, hand):
    return next(k for k, cards in enumerate(game.hands) if game.hand_text(cards) == hand)


def test_suits_that_only_a_lock_tells_apart_are_kept_apart():
    game = small_spot("turn, two suits alike")
    boards = spot_form(game).rounds[1].num_boards
    same = small_spot("turn, two suits alike", locks="c:64s=c")
    assert spot_form(same).rounds[1].num_boards == boards
    for lock in ("c:6c4c=c", "cc/@4c:66=c"):
        other = small_spot("turn, two suits alike", locks=lock)
        form = spot_form(other)
        assert form.rounds[1].num_boards > boards
        solver = solved(other, 3)
        expected = policy_of(solver, uniform_policy(other))
        values = SpotEvaluator(form).best_responses(solver.average_strategy())
        assert values.value == pytest.approx(expected_value(other.root(), expected), abs=1e-9)


@pytest.mark.parametrize("storage", ["float32", "int16"])
def test_threads_and_cuts_change_no_bit(storage):
    one = solved(locked_spot("turn"), 12, storage)
    two = SpotCFR(one.form, DiscountedCFR(), storage=storage, threads=2)
    two.run(5)
    resumed = SpotCFR(one.form, DiscountedCFR(), storage=storage)
    resumed.restore(5, {key: array.copy() for key, array in two.state().items()})
    two.run(7)
    resumed.run(7)
    for key, array in one.state().items():
        assert array.tobytes() == two.state()[key].tobytes() == resumed.state()[key].tobytes(), key


BASE = "spot(board=Td9d6hQc,pot=200,stack=900,first=66+|A8s+,second=QQ-22|AJo:0.5,bets=1-allin"


def test_locks_are_read_and_written():
    text = f"{BASE},locks=c:QQ|AJo=check:0.3|bet 200:0.7;r200:22=fold;cc/@Ks:AA=allin)"
    game = load_game(text)
    assert game.name.endswith(",locks=c:QQ|AJo=c:0.3|r200:0.7;r200:22=f;cc/@Ks:AA=r900)")
    assert load_game(game.name) == game
    assert load_game(game.name).name == game.name
    assert game.name != load_game(f"{BASE})").name


def test_locks_in_files(tmp_path):
    lines = ["board Td9d6hQc", "pot 200", "stack 900", "first 66+,A8s+", "second QQ-22,AJo:0.5", "bets 1-allin"]
    lines += ["lock c:QQ,AJo=check:0.3,bet 200:0.7", "lock r200:22=fold  # too small"]
    (tmp_path / "spot.txt").write_text("\n".join(lines))
    game = load_game(f"spot:{tmp_path / 'spot.txt'}")
    assert game.lock_texts == ["c:QQ|AJo=c:0.3|r200:0.7", "r200:22=f"]


@pytest.mark.parametrize(
    ("lock", "says"),
    [
        ("c", "is not LINE:RANGE=STRATEGY"),
        ("c:QQ", "is not LINE:RANGE=STRATEGY"),
        ("x:QQ=c", "'x' as the first action is not legal betting"),
        ("r200f:QQ=c", "the hand is over"),
        ("c:QR=c", "range part 'QR'"),
        ("c:QQ:0.5=c", "leave out weights"),
        ("c:QQ=raise", "'raise' is not one of the actions there: check (c), bet 200 (r200), bet 900 (all-in) (r900)"),
        ("c:QQ=c:0.3", "add up to 0.3, not to 1"),
        ("c:QQ=c:0.3,r200:0.6", "add up to 0.9, not to 1"),
        ("c:QQ=c:0.3,r200", "'r200' needs a share"),
        ("c:QQ=c:0.3,check:0.7", "'check' is given twice"),
        ("c:QQ=c:x", "the share 'x' is not a number"),
        ("c:QQ=", "add up to 0"),
        ("c:KK=c", "the second player, who acts there, has none of these hands"),
        ("cc/@Td:66=c", "on the spot's board already"),
        ("cc/@2s3s:66=c", "comes after 1 card of later rounds, not 2"),
        ("c@2s:QQ=c", "comes after 0 cards of later rounds, not 1"),
        ("cc/@6s:6s6d=c", "has none of these hands"),
    ],
)
def test_bad_locks_are_one_line(lock, says):
    with pytest.raises(EquipoiseError) as error:
        spot("Td9d6hQc", 200, 900, "66+,A8s+", "QQ-22,AJo:0.5", locks=[lock])
    assert says in str(error.value)
    assert "\n" not in str(error.value)
