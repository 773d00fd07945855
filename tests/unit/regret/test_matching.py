"""Regret matching on blocks, and what the rules' coefficients are."""

import warnings

import numpy as np
import pytest

from equipoise.regret.matching import BEST, UNIFORM, match_block
from equipoise.regret.rules import CFR, CFRPlus, DiscountedCFR, LinearCFR, PredictiveCFRPlus, coefficient_table, updated
from tests.naive.cfr import regret_matching

pytestmark = pytest.mark.nojit


def matched(regrets, fallback):
    """Return the strategies of a block of infosets (one a row), through an array with something before and after it."""
    actions, width = len(regrets[0]), len(regrets)
    flat = np.concatenate([[7.0, 8.0], np.array(regrets, float).T.ravel(), [9.0]])
    match_block(flat, 2, actions, width, np.full(width, np.nan), fallback)
    assert flat[[0, 1, -1]].tolist() == [7.0, 8.0, 9.0]
    return flat[2:-1].reshape(actions, width).T


def test_strategies_are_proportional_to_positive_regret():
    regrets = np.random.default_rng(0).normal(size=(50, 4))
    expected = [regret_matching(row) for row in regrets]
    np.testing.assert_allclose(matched(regrets, UNIFORM), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("fallback", "expected"),
    [(UNIFORM, [[1 / 3] * 3, [1 / 3] * 3, [0.25, 0.75, 0]]), (BEST, [[0, 1, 0], [1, 0, 0], [0.25, 0.75, 0]])],
)
def test_without_positive_regret_the_fallback_is_played(fallback, expected):
    regrets = [[-3, -1, -2], [0, 0, -1], [1, 3, -5]]
    np.testing.assert_allclose(matched(regrets, fallback), expected, atol=1e-15)


@pytest.mark.parametrize("size", [1e-300, 1e-310, 1e300])
def test_very_small_and_very_large_regrets_give_a_distribution(size):
    np.testing.assert_allclose(matched([[size, 3 * size, -size]], UNIFORM), [[0.25, 0.75, 0.0]], atol=1e-9)


@pytest.mark.parametrize(
    ("rule", "old", "increment", "iteration", "new"),
    [
        (CFR(), 3.0, -5.0, 4, -2.0),
        (CFRPlus(), 3.0, -5.0, 4, 0.0),
        (CFRPlus(), 3.0, 2.0, 4, 5.0),
        (LinearCFR(), 3.0, -5.0, 4, -17.0),
        (DiscountedCFR(), 9.0, 1.0, 5, 9.0 * 8 / 9 + 1.0),  # 4^1.5 / (4^1.5 + 1) = 8 / 9
        (DiscountedCFR(), -9.0, 1.0, 5, -3.5),  # beta = 0: negative regret is halved
        (DiscountedCFR(beta=-np.inf), -9.0, 1.0, 5, 1.0),  # and forgotten in the limit
        (PredictiveCFRPlus(), 3.0, -5.0, 4, 0.0),
    ],
)
def test_regret_after_an_increment(rule, old, increment, iteration, new):
    keep_positive, keep_negative, weight, floor, *_ = coefficient_table(rule, iteration, 1)[0]
    assert updated(old, increment, keep_positive, keep_negative, weight, floor) == pytest.approx(new, abs=1e-12)


@pytest.mark.parametrize(
    ("rule", "power"),
    [
        (CFR(), 0),
        (CFRPlus(), 1),
        (LinearCFR(), 1),
        (DiscountedCFR(), 2),
        (DiscountedCFR(gamma=3), 3),
        (PredictiveCFRPlus(), 2),
    ],
)
def test_iteration_t_counts_as_a_power_of_t_in_the_average(rule, power):
    shares = np.zeros(9)
    for iteration, row in enumerate(coefficient_table(rule, 1, 9)):
        keep, weight = row[5:7]
        shares *= keep
        shares[iteration] += weight
    np.testing.assert_allclose(shares / shares[0], np.arange(1.0, 10.0) ** power, rtol=1e-12)


def test_a_table_of_coefficients_does_not_depend_on_where_it_starts():
    whole = coefficient_table(DiscountedCFR(), 1, 20)
    np.testing.assert_array_equal(whole[7:], coefficient_table(DiscountedCFR(), 8, 13))
    assert np.isfinite(whole[:, [0, 1, 2, 4, 5, 6]]).all()


def test_extreme_exponents_are_their_limits_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = coefficient_table(DiscountedCFR(alpha=1e300, beta=-1e300), 1, 4)
    assert (table[2:, 0] == 1.0).all() and (table[2:, 1] == 0.0).all()
