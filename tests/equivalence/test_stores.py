"""A solver with stores is the tabular one: bit for bit with tables, and with networks that remember all they are told.

A network that could fit anything would make Double Neural CFR a tabular algorithm. Here is one: it remembers targets.
"""

import numpy as np
import pytest
import torch

from equipoise.networks.fitting import Fitting
from equipoise.networks.infosets import infosets_of
from equipoise.regret.matching import UNIFORM
from equipoise.sampling.schemes import External, Robust
from equipoise.sampling.tree import chance_reach
from equipoise.solvers.parameters import Network
from equipoise.solvers.representations import REPRESENTATIONS
from equipoise.solvers.sampled import SampledCFR
from equipoise.solvers.setup import SAMPLED_RULES, Setup
from equipoise.solvers.spaces import ListedSpace
from equipoise.solvers.stored import StoredCFR
from equipoise.stores.listed import ListedIncrements, ListedSums
from equipoise.stores.networks import NetworkConfig, NetworkRegrets, NetworkStrategy
from equipoise.stores.sums import TableRegrets, TableStrategy
from equipoise.trees.best_response import Evaluator
from equipoise.trees.tables import TableMap
from tests.naive.sampling import exact_expectations
from tests.naive.values import uniform_policy
from tests.own_networks import Memorising
from tests.samples import prepared

SEED = 11
CPU = torch.device("cpu")
LASTING = ["cfr", "cfr_plus", "cfr_plus_quadratic", "linear"]  # sums stay as they are where nothing is new
every_rule = pytest.mark.parametrize("rule", [*LASTING, "discounted"])
lasting_rule = pytest.mark.parametrize("rule", LASTING)
every_order = pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
every_scheme = pytest.mark.parametrize("scheme", [External(), Robust(k=2)], ids=["external", "robust"])
every_game = pytest.mark.parametrize("text", ["kuhn_poker", "leduc_poker"])


def stored(game, rule, scheme, batch, updates, averaging, regrets=None, strategies=None, *, seed=SEED):
    """Return a solver with stores, tables unless others are given."""
    space = ListedSpace(Setup(game=game.game, seed=seed), REPRESENTATIONS["vector"], Network(cards="cards"))
    return StoredCFR(
        space,
        space.means(scheme, batch=batch, averaging=averaging, fallback=UNIFORM),
        regrets or TableRegrets(space.listing, SAMPLED_RULES[rule]),
        strategies or TableStrategy(space.listing, SAMPLED_RULES[rule]),
        updates=updates,
    )


def scores_of(solver):
    """Return a solver's regrets as a table."""
    return solver.space.listing.table(lambda player: solver.regrets.scores_at(player, None))


def assert_same_average(one, two, tolerance):
    for first, second in zip(one.average_strategy(), two.average_strategy(), strict=True):
        np.testing.assert_allclose(first, second, rtol=0.0, atol=tolerance)


@every_game
@every_rule
@every_order
@every_scheme
@pytest.mark.parametrize("batch", [1, 50])
def test_with_tables_it_is_the_sampled_solver(text, rule, updates, scheme, batch):
    assert_like_sampled(prepared(text, "public"), rule, updates, scheme, batch, "stochastic")


@every_rule
@every_order
def test_with_tables_it_is_the_sampled_solver_with_own_reach_too(rule, updates):
    assert_like_sampled(prepared("leduc_poker", "public"), rule, updates, Robust(k=2), 50, "own_reach")


def assert_like_sampled(game, rule, updates, scheme, batch, averaging):
    plain = SampledCFR(
        TableMap(game.form),
        game.sampled,
        scheme,
        SAMPLED_RULES[rule],
        batch=batch,
        updates=updates,
        averaging=averaging,
        seed=SEED,
    )
    solver = stored(game, rule, scheme, batch, updates, averaging)
    plain.run(30)
    solver.run(30)
    assert np.any(plain.regret_sum != 0.0)
    np.testing.assert_array_equal(scores_of(solver), plain.regret_sum)
    assert solver.nodes_touched == plain.nodes_touched
    # A batch's strategies are summed before they are weighted: the same numbers but for rounding, which feeds nothing.
    np.testing.assert_allclose(solver.strategies.average(), plain.strategy_sum, rtol=1e-12, atol=1e-12)
    assert_same_average(solver, plain, 1e-12)
    if batch == 1 and isinstance(scheme, External):
        np.testing.assert_array_equal(solver.strategies.average(), plain.strategy_sum)
    uniform = [np.ones(plex.num_sequences) / 2 for plex in game.form.treeplexes]
    assert any(np.abs(own - half).max() > 0.3 for own, half in zip(plain.average_strategy(), uniform, strict=True))


def test_where_a_run_is_cut_makes_no_difference():
    game = prepared("leduc_poker", "public")
    whole, cut = (stored(game, "cfr_plus", External(), 20, "alternating", "exact") for _ in range(2))
    whole.run(20)
    for part in (1, 7, 12):
        cut.run(part)
    for name, array in whole.state().items():
        np.testing.assert_array_equal(array, cut.state()[name], err_msg=name)


@every_game
@pytest.mark.parametrize("tree", ["public", "histories"])
def test_chances_reach_is_the_sum_over_an_infosets_histories(text, tree):
    game = prepared(text, tree)
    reach = game.policy(chance_reach(game.sampled, game.form))
    for traverser in range(2):
        naive = exact_expectations(game.game, uniform_policy(game.game), traverser, lambda names, _: [1.0] * len(names))
        for key, expected in naive.chance.items():
            np.testing.assert_allclose(reach[key], expected, rtol=1e-12)
    assert len(set(np.round(np.concatenate(list(reach.values())), 12))) == (1 if text == "kuhn_poker" else 2)


@every_game
def test_own_reach_is_the_product_of_own_probabilities(text):
    game = prepared(text, "public")
    policy = game.matched(game.random_regrets(1))
    reach = game.policy(TableMap(game.form).own_reach(game.table(policy)))
    for traverser in range(2):
        naive = exact_expectations(game.game, policy, traverser, lambda names, _: [1.0] * len(names))
        for key, expected in naive.own_reach.items():
            np.testing.assert_allclose(reach[key], expected, atol=1e-12)


def config_of(loss="squared", **options):
    return NetworkConfig(architecture=Memorising(), fitting=Fitting(loss=loss), **options)


def network_regrets(game, rule, cards="cards", **options):
    rows = infosets_of(game.form, cards)
    return NetworkRegrets(ListedIncrements(rows), config_of(**options), SAMPLED_RULES[rule], seed=0, device=CPU)


def network_strategy(game, rule, kind, cards="cards", **options):
    rows, tables = infosets_of(game.form, cards), TableMap(game.form)
    config = config_of("cross_entropy" if kind == "average" else "squared", kind=kind, **options)
    return NetworkStrategy(ListedSums(rows, tables.own_reach), config, SAMPLED_RULES[rule], seed=0, device=CPU)


@every_game
@lasting_rule
@every_order
@pytest.mark.parametrize("options", [{}, {"shared": True}, {"anchor": 0.0}, {"anchor_memory": 3}], ids=str)
def test_regrets_in_a_network_that_remembers_are_those_of_a_table(text, rule, updates, options):
    assert_like_regrets_in_a_table(prepared(text, "public"), rule, updates, options)


@every_order
def test_regrets_that_fade_do_so_in_a_network_as_in_a_table(updates):
    assert_like_regrets_in_a_table(prepared("leduc_poker", "public"), "discounted", updates, {})


def assert_like_regrets_in_a_table(game, rule, updates, options):
    plain = stored(game, rule, Robust(k=2), 20, updates, "exact")
    solver = stored(game, rule, Robust(k=2), 20, updates, "exact", network_regrets(game, rule, **options))
    scales = set()
    for _ in range(40):
        plain.run(1)
        solver.run(1)
        np.testing.assert_array_equal(scores_of(solver), scores_of(plain))
        scales.update(solver.regrets.state()["scale"])
    assert np.any(scores_of(plain) != 0.0)
    np.testing.assert_array_equal(solver.strategies.average(), plain.strategies.average())
    assert len(scales) > 1  # or the test would not have seen a scale change
    assert all(np.log2(scale) == np.round(np.log2(scale)) for scale in scales)


@every_game
@lasting_rule
@every_order
@pytest.mark.parametrize("kind", ["average", "sum"])
@pytest.mark.parametrize("options", [{"every": 1}, {"every": 10}, {"every": 10, "shared": True}], ids=str)
def test_averages_in_a_network_that_remembers_are_those_of_a_table(text, rule, updates, kind, options):
    assert_like_averages_in_a_table(prepared(text, "public"), rule, updates, kind, options)


@every_order
@pytest.mark.parametrize("kind", ["average", "sum"])
def test_averages_that_fade_do_so_in_a_network_as_in_a_table(updates, kind):
    assert_like_averages_in_a_table(prepared("leduc_poker", "public"), "discounted", updates, kind, {"every": 1})


def assert_like_averages_in_a_table(game, rule, updates, kind, options):
    plain = stored(game, rule, External(), 20, updates, "exact")
    strategies = network_strategy(game, rule, kind, **options)
    solver = stored(game, rule, External(), 20, updates, "exact", strategies=strategies)
    for _ in range(3):
        plain.run(10)
        solver.run(10)
        np.testing.assert_array_equal(scores_of(solver), scores_of(plain))
        assert_same_average(solver, plain, 1e-9)
    assert strategies.networks[0].network.fits == (30 if options["every"] == 1 else 3 + 4)  # after 1, 2, 4, 8, too


@pytest.mark.parametrize("kind", ["average", "sum"])
@every_order
def test_with_ranks_for_cards_it_converges(kind, updates, seed, level):
    game = prepared("leduc_poker", "public")
    rule = "cfr_plus_quadratic"
    regrets = network_regrets(game, rule, "ranks")
    strategies = network_strategy(game, rule, kind, "ranks", every=20)
    solver = stored(game, rule, External(), 500, updates, "exact", regrets, strategies, seed=seed)
    evaluator = Evaluator(game.form)
    before = evaluator.best_responses(solver.average_strategy()).exploitability
    solver.run(60 if updates == "alternating" else 100)
    after = evaluator.best_responses(solver.average_strategy()).exploitability
    assert level(after) < 0.15 < 1.0 < before  # 16 seeds: 0.070, medians 0.084 and 0.078, 0.100; at the start 2.37


@every_order
def test_infosets_that_differ_in_suits_alone_are_played_alike(updates):
    game = prepared("leduc_poker", "public")
    rows = infosets_of(game.form, "ranks")
    regrets = network_regrets(game, "cfr_plus", "ranks")
    strategies = network_strategy(game, "cfr_plus", "average", "ranks", every=5)
    solver = stored(game, "cfr_plus", External(), 50, updates, "exact", regrets, strategies)
    solver.run(10)
    average = solver.space.tables.from_form(solver.average_strategy())
    places = rows.entry_row * rows.num_columns + rows.entry_column
    for table in (scores_of(solver), average):
        order = np.argsort(places, kind="stable")
        same = np.diff(places[order]) == 0
        assert np.abs(np.diff(table[order])[same]).max() < 1e-12
        assert np.abs(np.diff(table[order])[~same]).max() > 0.1


@pytest.mark.parametrize("kind", ["average", "sum"])
@every_order
def test_a_restored_solver_goes_on_as_if_nothing_had_happened(kind, updates):
    game = prepared("leduc_poker", "public")

    def made():
        stores = network_regrets(game, "cfr_plus"), network_strategy(game, "cfr_plus", kind, every=10)
        return stored(game, "cfr_plus", External(), 20, updates, "exact", *stores)

    first, second = made(), made()
    first.run(17)
    saved = {name: array.copy() for name, array in first.state().items()}
    first.run(8)
    second.run(3)
    second.restore(17, saved)
    second.run(8)
    for name, array in first.state().items():
        np.testing.assert_array_equal(array, second.state()[name], err_msg=name)
    assert second.iteration == 25


@every_game
@pytest.mark.parametrize("kind", ["average", "sum"])
def test_networks_that_remember_take_over_what_tables_had(text, kind):
    game = prepared(text, "public")
    source = stored(game, "cfr_plus", External(), 50, "alternating", "exact")
    source.run(20)
    stores = network_regrets(game, "cfr_plus"), network_strategy(game, "cfr_plus", kind, every=5)
    solver = stored(game, "cfr_plus", External(), 50, "alternating", "exact", *stores)
    solver.start_from(*source.sums(), 20)
    assert solver.iteration == 20
    np.testing.assert_array_equal(scores_of(solver), scores_of(source))
    assert_same_average(solver, source, 1e-9)
    source.run(10)
    solver.run(10)
    np.testing.assert_array_equal(scores_of(solver), scores_of(source))
    assert_same_average(solver, source, 1e-9)
