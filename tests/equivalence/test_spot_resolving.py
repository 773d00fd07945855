"""Spots whose later rounds are solved anew: never worse than before behind a gadget, and often worse without one."""

import numpy as np
import pytest

import equipoise
from equipoise.errors import EquipoiseError
from equipoise.resolving import resolve_spot
from tests.spots import by_infoset, small_spot

TURN, FLOP, ALIKE = "turn", "flop", "flop, two suits alike"


def policy(name, iterations, **more):
    """Return a small spot's strategy after some iterations."""
    return equipoise.solve(small_spot(name, **more), iterations=iterations).policy


def normalised(block):
    """Return probabilities; of hands that never come there, the same for all actions."""
    total = block.sum()
    return block / total if total > 0 else np.full(block.size, 1 / block.size)


@pytest.mark.parametrize("gadget", ["cfrd", "maxmargin"])
@pytest.mark.parametrize(
    ("name", "from_round"), [(TURN, None), ("turn, two suits alike", None), (FLOP, "turn"), (ALIKE, "river")]
)
def test_a_poor_strategy_gets_better_and_stays_as_it_is_before(name, from_round, gadget):
    before = policy(name, 5)
    found = resolve_spot(before, gadget=gadget, from_round=from_round, iterations=100)
    assert found.exploitability < 0.9 * found.before.exploitability
    assert found.exploitability == pytest.approx(equipoise.exploitability(before.rules, found.policy))
    old, new = by_infoset(before.form, before.strategy), by_infoset(before.form, found.policy.strategy)
    rounds = {"turn": 1, "river": 2 if name in (FLOP, ALIKE) else 1}[from_round or "river"]
    kept = [key for key in old if key.count("/") <= rounds]
    changed = [key for key in old if key.count("/") > rounds]
    for key in kept:
        np.testing.assert_allclose(normalised(new[key]), normalised(old[key]), atol=1e-6, err_msg=key)
    assert any(abs(normalised(new[key]) - normalised(old[key])).max() > 0.1 for key in changed)


@pytest.mark.parametrize("gadget", ["cfrd", "maxmargin"])
@pytest.mark.parametrize("from_round", ["turn", "river"])
def test_safe_re_solving_tends_to_the_blueprint_and_unsafe_does_not(from_round, gadget):
    before = policy(FLOP, 1000)
    found = [resolve_spot(before, gadget=gadget, from_round=from_round, iterations=n) for n in (10, 100, 400)]
    errors = [each.exploitability for each in found]
    assert found[0].before.exploitability < 1e-5
    assert errors[2] < 1e-4 < 1e-3 < errors[0]
    assert errors[2] < errors[1] / 3
    assert all(each.warning is None for each in found)
    unsafe = resolve_spot(before, gadget="unsafe", from_round=from_round, iterations=400)
    assert unsafe.exploitability > 0.01 > 5 * errors[2]
    assert "unsafe" in unsafe.warning and "cfrd" in unsafe.warning


def test_hands_that_are_bound_stay_bound():
    locks = ["cc/:all=c"]
    found = resolve_spot(policy(TURN, 10, locks=locks), iterations=50)
    plays = by_infoset(found.policy.form, found.policy.strategy)
    bound = [normalised(block) for key, block in plays.items() if key.endswith("|cc/")]
    assert bound and all(block[0] == 1.0 for block in bound)


@pytest.mark.parametrize(
    ("name", "more", "wanted", "words"),
    [
        ("river", {}, {}, "no later round"),
        (TURN, {}, {"from_round": "turn"}, "from=turn is not a later round of this spot: river"),
        (TURN, {}, {"iterations": 0}, "iterations"),
        (TURN, {}, {"gadget": "safe"}, "cfrd"),
        (TURN, {"until": "river", "values": "check-down"}, {}, "ends early"),
    ],
)
def test_what_cannot_be_re_solved_is_refused(name, more, wanted, words):
    with pytest.raises(EquipoiseError, match=words):
        resolve_spot(policy(name, 2, **more), **wanted)


def test_other_games_are_refused():
    with pytest.raises(EquipoiseError, match="kuhn_poker"):
        resolve_spot(equipoise.solve("kuhn_poker", iterations=2).policy)
