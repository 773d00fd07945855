"""Levels that the papers and OpenSpiel's own solvers reach: the same numbers, not just small ones."""

from itertools import pairwise

import pyspiel
import pytest
from open_spiel.python.algorithms import discounted_cfr

from equipoise import solve
from equipoise.games import load_game
from equipoise.trees.best_response import Evaluator
from tests.solvers import solved
from tests.strategies import largest_difference, to_policy


def exploitability(solver):
    return Evaluator(solver.form).best_responses(solver.average_strategy()).exploitability


@pytest.mark.parametrize(("iterations", "level"), [(101, 0.0939), (1000, 0.0118)])
def test_cfr_on_leduc_to_the_printed_digits(iterations, level, compiled):
    assert exploitability(solved(compiled("leduc_poker"), "cfr", iterations)) == pytest.approx(level, abs=5e-5)


@pytest.mark.parametrize(("algorithm", "level"), [("cfr+", 0.24e-3), ("dcfr", 0.15e-3)])
def test_faster_variants_on_leduc_after_1000_iterations(algorithm, level, compiled):
    assert exploitability(solved(compiled("leduc_poker"), algorithm, 1000)) == pytest.approx(level, rel=0.1)


def their_keys(text):
    """Return OpenSpiel's text for each of our infosets, and its actions."""
    game, found = load_game(text), {}
    stack = [(game.root(), pyspiel.load_game(game.open_spiel_name()).new_initial_state())]
    while stack:
        ours, theirs = stack.pop()
        if ours.player >= 0:
            found[ours.infoset_key()] = (theirs.information_state_string(), theirs.legal_actions())
        actions = zip(ours.actions(), theirs.legal_actions(), strict=True) if ours.actions() else []
        stack.extend((ours.child(a), theirs.child(b)) for a, b in actions)
    return found


def policy_of(their_policy, keys):
    return {
        key: [dict(their_policy.get_state_policy(their_key))[action] for action in actions]
        for key, (their_key, actions) in keys.items()
    }


# OpenSpiel's solvers alternate, average the strategy before each update by own reach, and weight iteration t by 1 (CFR)
# or t (CFR+): our conventions, so that every probability must agree and not only the level.
@pytest.mark.parametrize(
    ("text", "algorithm", "iterations"),
    [
        ("kuhn_poker", "cfr", 50),
        ("kuhn_poker", "cfr+", 50),
        ("leduc_poker", "cfr", 10),
        ("leduc_poker", "cfr+", 10),
    ],
)
def test_the_same_strategies_as_the_solvers_of_open_spiel(text, algorithm, iterations, compiled):
    theirs = {"cfr": pyspiel.CFRSolver, "cfr+": pyspiel.CFRPlusSolver}[algorithm](pyspiel.load_game(text))
    for _ in range(iterations):
        theirs.evaluate_and_update_policy()
    ours = solved(compiled(text), algorithm, iterations)
    keys = their_keys(text)
    average = policy_of(theirs.tabular_average_policy(), keys)
    assert largest_difference(to_policy(ours.form, ours.average_strategy()), average) < 1e-9
    if algorithm == "cfr":  # OpenSpiel does not show the current policy of CFR+
        current = policy_of(theirs.tabular_current_policy(), keys)
        assert largest_difference(to_policy(ours.form, ours.strategy), current) < 1e-9


@pytest.mark.parametrize("algorithm", ["lcfr", "dcfr"])
def test_the_same_strategies_as_the_discounted_solvers_of_open_spiel(algorithm, compiled):
    make = {"lcfr": discounted_cfr.LCFRSolver, "dcfr": discounted_cfr.DCFRSolver}[algorithm]
    theirs = make(pyspiel.load_game("kuhn_poker"))
    for _ in range(50):
        theirs.evaluate_and_update_policy()
    ours = solved(compiled("kuhn_poker"), algorithm, 50)
    table = theirs.average_policy()
    average = {
        key: [table.policy_for_key(their_key)[action] for action in actions]
        for key, (their_key, actions) in their_keys("kuhn_poker").items()
    }
    assert largest_difference(to_policy(ours.form, ours.average_strategy()), average) < 1e-9


def test_fictitious_play_on_kuhn_falls(compiled):
    levels = [exploitability(solved(compiled("kuhn_poker"), "xfp", iterations)) for iterations in (1, 20, 200, 2000)]
    assert levels[-1] < 0.01
    assert all(later < 0.5 * earlier for earlier, later in pairwise(levels))


@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
@pytest.mark.parametrize("algorithm", ["cfr", "cfr+", "lcfr", "dcfr", "pcfr+"])
@pytest.mark.parametrize(
    ("text", "iterations", "level"),  # uniform play has 0.46, 2.37 and 0.71
    [("kuhn_poker", 2000, 0.006), ("leduc_poker", 2000, 0.03), ("goofspiel(cards=4)", 1000, 0.05)],
)
def test_every_variant_converges_with_both_kinds_of_updates(text, iterations, level, algorithm, updates, compiled):
    assert exploitability(solved(compiled(text), algorithm, iterations, updates=updates)) < level


def test_no_limit_leduc_has_the_known_value():
    assert solve("nl_leduc(stack=5)", "cfr+", iterations=1000).value == pytest.approx(-0.0806, abs=1e-3)
