"""Schemes that are the same scheme, batches that are means of traversals, threads and cuts that change not one bit."""

from dataclasses import replace

import numpy as np
import pytest

from equipoise.regret.rules import CFR, CFRPlus, DiscountedCFR, LinearCFR
from equipoise.sampling import gather
from equipoise.sampling.schemes import External, Inclusion, Outcome, Robust
from equipoise.solvers.sampled import SampledCFR
from equipoise.trees.tables import TableMap
from tests.samples import Streams, expected, prepared

RULES = {"cfr": CFR(), "cfr_plus": CFRPlus(), "linear": LinearCFR(), "discounted": DiscountedCFR()}
nojit = pytest.mark.nojit
every_rule = pytest.mark.parametrize("rule", RULES)
LEDUC = pytest.param("leduc_poker", "public", 200)
KUHN = [pytest.param("kuhn_poker", tree, 20, marks=nojit) for tree in ("public", "histories")]


def run(game, scheme, iterations, rule="cfr", **options):
    solver = SampledCFR(TableMap(game.form), game.sampled, scheme, RULES[rule], **options)
    with np.errstate(over="ignore"):  # streams count modulo 2^64, which only compiled code takes as given
        solver.run(iterations)
    return solver


def assert_same(first, second):
    assert np.any(first.regret_sum != 0.0)
    assert np.any(first.strategy_sum != 0.0)
    for name, array in first.state().items():
        np.testing.assert_array_equal(array, second.state()[name], err_msg=name)


def assert_different(first, second):
    assert np.any(first.regret_sum != second.regret_sum)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (External(), Robust(k=0)),  # DN19 Lemma 3
        (External(), Robust(k=9)),
        (External(), Inclusion(p=1.0)),
        (Outcome(epsilon=0.0), Robust(k=1, from_strategy=True)),  # DN19 Lemma 4
        (Outcome(epsilon=0.0, probe=True), Robust(k=1, from_strategy=True, probe=True)),
        (External(), External(probe=True)),  # nothing is left out, so there is nothing to probe
        (Robust(k=0), Robust(k=0, probe=True)),
        (Inclusion(p=1.0), Inclusion(p=1.0, probe=True)),
    ],
)
@pytest.mark.parametrize("rule", ["cfr", "cfr_plus"])
@pytest.mark.parametrize("averaging", ["stochastic", "own_reach"])
@pytest.mark.parametrize(("text", "tree", "iterations"), [LEDUC, *KUHN])
def test_two_names_of_one_scheme_give_the_same_bits(one, other, rule, averaging, text, tree, iterations):
    game = prepared(text, tree)
    first = run(game, one, iterations, rule, averaging=averaging)
    assert_same(first, run(game, other, iterations, rule, averaging=averaging))
    assert_different(first, run(game, other, iterations, rule, averaging=averaging, seed=1))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (External(), Robust(k=1)),
        (Robust(k=1), Robust(k=2)),
        (Robust(k=1), Robust(k=1, from_strategy=True)),
        (Robust(k=2), Robust(k=2, probe=True)),
        (Outcome(), Outcome(epsilon=0.0)),
        (Inclusion(), Inclusion(p=0.4)),
        (Inclusion(), Inclusion(always="call|check")),
    ],
)
def test_different_schemes_are_different(one, other):
    game = prepared("leduc_poker", "public")
    first = run(game, one, 200)
    assert_different(first, run(game, other, 200))


@nojit
@pytest.mark.parametrize("scheme", [External(), Outcome(), Robust(k=1), Inclusion(p=0.3)])
@pytest.mark.parametrize("probe", [False, True])
@pytest.mark.parametrize("text", ["kuhn_poker", "no_limit_kuhn"])
def test_both_tree_forms_expect_the_same(text, scheme, probe):
    public, histories = prepared(text, "public"), prepared(text, "histories")
    scheme = replace(scheme, probe=probe)
    regrets = public.random_regrets(5)
    for traverser in range(2):
        one = expected(public, scheme, regrets, traverser)
        two = expected(histories, scheme, histories.table(public.policy(regrets)), traverser)
        for name in ("regret", "average", "own_reach", "visited"):
            tables = public.policy(getattr(one, name)), histories.policy(getattr(two, name))
            assert tables[0].keys() == tables[1].keys()
            for key, row in tables[0].items():
                np.testing.assert_allclose(row, tables[1][key], rtol=0.0, atol=1e-12, err_msg=f"{name} at {key}")


@pytest.mark.parametrize("scheme", [External(), Robust(k=2), Outcome(probe=True), Inclusion()])
@pytest.mark.parametrize(
    ("text", "tree", "batch"),
    [("leduc_poker", "public", 40), *(pytest.param("kuhn_poker", t, 7, marks=nojit) for t in ("public", "histories"))],
)
def test_a_batch_is_the_mean_of_its_traversals(text, tree, batch, scheme):
    game = prepared(text, tree)
    solver = run(game, scheme, 5, batch=batch, updates="simultaneous", seed=3)
    before, averages = solver.regret_sum.copy(), solver.strategy_sum.copy()
    with np.errstate(over="ignore"):
        solver.run(1)
    streams = Streams(game, scheme, seed=3)
    regrets, strategies = np.zeros_like(before), np.zeros_like(before)
    for player in range(2):
        for traversal in range(batch):
            for row in streams.rows(before, player, 6, traversal):
                place = slice(row.entry, row.entry + len(row.strategy))
                if row.own:
                    regrets[place] += row.regrets / batch
                else:
                    strategies[place] += row.strategy / row.sample_reach / batch
    np.testing.assert_allclose(solver.regret_sum, before + regrets, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(solver.strategy_sum, averages + strategies, rtol=0.0, atol=1e-12)
    assert np.abs(regrets).max() > 0.01


@nojit
@pytest.mark.parametrize("tree", ["public", "histories"])
def test_own_reach_is_recorded_once_per_infoset_and_iteration(tree):
    game, scheme, batch = prepared("kuhn_poker", tree), Robust(k=1), 9
    solver = run(game, scheme, 4, "cfr_plus", batch=batch, updates="simultaneous", averaging="own_reach")
    before, averages = solver.regret_sum.copy(), solver.strategy_sum.copy()
    with np.errstate(over="ignore"):
        solver.run(1)
    streams, records, visits = Streams(game, scheme, seed=0), {}, 0
    for player in range(2):
        for traversal in range(batch):
            for row in streams.rows(before, player, 5, traversal):
                if row.own:
                    records.setdefault(row.entry, 5 * row.own_reach * row.strategy)  # iteration 5 counts five times
                    visits += 1
    assert visits > len(records)
    for entry, record in records.items():
        averages[entry : entry + len(record)] += record
    np.testing.assert_allclose(solver.strategy_sum, averages, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("batch", [1, 30])
def test_alternating_and_simultaneous_updates_differ(batch):
    game = prepared("leduc_poker", "public")
    both = ("alternating", "simultaneous")
    assert_different(*(run(game, External(), 50, batch=batch, updates=updates) for updates in both))
    split = game.sampled.table_sizes[0]
    first, second = (run(game, External(), 1, batch=30, updates=updates).regret_sum for updates in both)
    np.testing.assert_array_equal(first[:split], second[:split])  # player 0 comes first, and knows of no update
    assert np.any(first[split:] != second[split:])


@every_rule
@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
@pytest.mark.parametrize(
    ("text", "scheme"), [("leduc_poker", External()), ("nl_leduc(stack=5)", Robust(k=3, probe=True))]
)
@pytest.mark.parametrize(("batch", "iterations"), [(64, 20), (600, 6)])
@pytest.mark.parametrize("averaging", ["stochastic", "own_reach"])
def test_threads_give_the_bits_of_one(text, scheme, batch, iterations, rule, updates, averaging, monkeypatch):
    monkeypatch.setattr(gather, "LARGE_PART", 200)  # three parts
    one, two, three = (
        run(
            prepared(text, "public"),
            scheme,
            iterations,
            rule,
            batch=batch,
            updates=updates,
            averaging=averaging,
            threads=threads,
        )
        for threads in (1, 2, 3)
    )
    assert_same(one, two)
    assert_same(one, three)
    assert one.nodes_touched == two.nodes_touched == three.nodes_touched


@every_rule
@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
@pytest.mark.parametrize("averaging", ["stochastic", "own_reach"])
def test_parts_of_a_batch_add_up_to_the_batch(rule, updates, averaging, monkeypatch):
    """Only roundings differ, so the first iterations must agree, and the second has other sums than the first."""
    made = []
    for small in (10_000, 0):
        monkeypatch.setattr(gather, "SMALL_BATCH", small)
        monkeypatch.setattr(gather, "LARGE_PART", 150)  # four parts, if not one
        made.append(
            run(
                prepared("leduc_poker", "public"), Robust(k=2), 3, rule, batch=600, updates=updates, averaging=averaging
            )
        )
    whole, parts = made
    np.testing.assert_allclose(parts.regret_sum, whole.regret_sum, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(parts.strategy_sum, whole.strategy_sum, rtol=0.0, atol=1e-12)
    assert whole.nodes_touched == parts.nodes_touched
    assert np.any(whole.regret_sum != parts.regret_sum)  # there were parts


@every_rule
@pytest.mark.parametrize(
    ("scheme", "batch", "updates", "averaging", "threads"),
    [
        (Robust(k=1), 1, "alternating", "stochastic", 1),
        (Outcome(probe=True), 1, "simultaneous", "own_reach", 1),
        (Robust(k=2), 50, "simultaneous", "own_reach", 1),
        (Inclusion(), 50, "alternating", "stochastic", 2),
        (External(), 500, "alternating", "stochastic", 2),
        (Robust(k=2), 500, "simultaneous", "own_reach", 2),
    ],
)
def test_a_run_that_is_cut_and_restored_ends_with_the_same_bits(scheme, batch, updates, averaging, threads, rule):
    game = prepared("leduc_poker", "public")
    options = {"batch": batch, "updates": updates, "averaging": averaging, "threads": threads, "seed": 11}
    whole = run(game, scheme, 40, rule, **options)
    first = run(game, scheme, 13, rule, **options)
    saved = {name: array.copy() for name, array in first.state().items()}
    first.run(27)
    assert_same(whole, first)
    second = run(game, scheme, 0, rule, **options)
    second.restore(13, saved)
    second.run(20)
    second.run(7)
    assert_same(whole, second)


@pytest.mark.parametrize("averaging", ["stochastic", "own_reach"])
@pytest.mark.parametrize("batch", [5, 500])
def test_a_solver_can_be_taken_back_to_an_earlier_state(averaging, batch):
    game = prepared("leduc_poker", "public")
    options = {"batch": batch, "averaging": averaging}
    solver = run(game, Robust(k=1), 13, **options)
    saved = {name: array.copy() for name, array in solver.state().items()}
    solver.run(27)
    solver.restore(13, saved)
    solver.run(27)
    assert_same(run(game, Robust(k=1), 40, **options), solver)


def test_solvers_that_share_a_game_do_not_share_a_scheme():
    """Two solvers on one tree, the second made before the first runs."""
    game = prepared("leduc_poker", "public")
    alone = run(game, Inclusion(always="fold|raise|bet"), 100)
    solver = SampledCFR(TableMap(game.form), game.sampled, Inclusion(always="fold|raise|bet"), CFR())
    SampledCFR(TableMap(game.form), game.sampled, Inclusion(always="call|check"), CFR())
    solver.run(100)
    assert_same(alone, solver)
