"""Findings one by one: summed, they are what batches add to tables; each, they are what Deep CFR's memories want."""

import numpy as np
import pytest

from equipoise.networks.infosets import infosets_of
from equipoise.regret.matching import BEST, UNIFORM, match_table
from equipoise.sampling import collect
from equipoise.sampling.collect import Collector
from equipoise.sampling.gather import Gatherer
from equipoise.sampling.rows import REGRET, STRATEGY
from equipoise.sampling.schemes import External, Robust
from equipoise.trees.tables import TableMap
from tests.samples import prepared

BATCH, SEED = 300, 4
GAMES = [
    ("kuhn_poker", "public"),
    ("kuhn_poker", "histories"),
    ("leduc_poker", "public"),
    ("goofspiel(cards=4)", "histories"),
]
every_game = pytest.mark.parametrize(("text", "tree"), GAMES)
every_player = pytest.mark.parametrize("player", [0, 1])


def collector_of(game, rows, fallback=UNIFORM, scheme=None, batch=BATCH):
    return Collector(game.sampled, scheme or External(), rows.listing, batch=batch, fallback=fallback, seed=SEED)


def collected(collector, rows, scores, player, iteration=3):
    """Return all findings of a batch: rows and values of the traverser, then of the opponent; and how many parts."""
    sides = {REGRET: [], STRATEGY: []}

    def scores_at(who, infosets):
        assert infosets is None  # all at once
        return rows.listing.spread(scores, who)

    for found in collector.rows(scores_at, (player,), iteration):
        assert found.player == (player if found.kind == REGRET else 1 - player)
        assert found.iteration == iteration
        if found.kind == REGRET:
            np.testing.assert_array_equal(found.weight, 1.0)
        sides[found.kind].append((rows.seen_as(found.infoset), found.values.copy()))
    assert len(sides[REGRET]) == len(sides[STRATEGY])
    joined = [np.concatenate(arrays) for side in sides.values() for arrays in zip(*side, strict=True)]
    return joined, len(sides[REGRET])


@every_game
@every_player
@pytest.mark.parametrize("fallback", [UNIFORM, BEST])
@pytest.mark.parametrize("cards", ["cards", "ranks"])
def test_findings_sum_to_what_a_batch_adds_to_tables(text, tree, player, fallback, cards):
    game = prepared(text, tree)
    rows = infosets_of(game.form, cards)
    scores = game.random_regrets(1)
    options = {"batch": BATCH, "averaging": "stochastic", "fallback": fallback, "seed": SEED, "threads": 1}
    gatherer = Gatherer(game.sampled, External(), **options)
    sums = gatherer.sample(scores, (player,), 3)
    collector = collector_of(game, rows, fallback)
    (own, regrets, theirs, strategies), _ = collected(collector, rows, scores, player)
    for found, values, table in ((own, regrets, sums.regret), (theirs, strategies, sums.visits)):
        by_row = np.zeros(rows.legal.shape)
        np.add.at(by_row, found, values / BATCH)
        np.testing.assert_allclose(by_row, rows.to_rows(table, (0, 1)), rtol=0.0, atol=1e-12)
        assert np.abs(by_row).max() > 0.05
    assert collector.nodes_touched == gatherer.nodes_touched > BATCH
    assert set(own) == set(rows.entry_row[sums.observed])


@every_game
@every_player
def test_regrets_are_the_traversers_and_strategies_the_opponents(text, tree, player):
    game = prepared(text, tree)
    rows = infosets_of(game.form, "cards")
    scores = game.random_regrets(2)
    tables = TableMap(game.form)
    strategy = rows.to_rows(match_table(scores, tables.first, UNIFORM), (0, 1))
    (own, regrets, theirs, strategies), _ = collected(collector_of(game, rows), rows, scores, player)
    for found, who in ((own, player), (theirs, 1 - player)):
        mine = rows.rows_of(who)
        assert np.all((mine.start <= found) & (found < mine.stop))
    np.testing.assert_allclose(strategies, strategy[theirs], rtol=0.0, atol=1e-12)
    assert np.all(regrets[~rows.legal[own]] == 0.0)
    assert np.any(np.abs(strategies - 1.0 / rows.legal[theirs].sum(axis=1, keepdims=True))[rows.legal[theirs]] > 0.2)


@every_game
@every_player
def test_a_decision_is_worth_the_mean_of_its_actions_and_not_the_best(text, tree, player):
    """Regrets are values less their mean under the strategy, so under the strategy they cancel, sample by sample."""
    game = prepared(text, tree)
    rows = infosets_of(game.form, "cards")
    scores = game.random_regrets(3, full_support=True)
    strategy = rows.to_rows(match_table(scores, TableMap(game.form).first, UNIFORM), (0, 1))
    (own, regrets, _, _), _ = collected(collector_of(game, rows), rows, scores, player)
    np.testing.assert_allclose((strategy[own] * regrets).sum(axis=1), 0.0, atol=1e-12)
    highest = np.where(rows.legal[own], regrets, -np.inf).max(axis=1)
    assert np.mean(highest > 0.1) > 0.3  # less the best, no action would have regret above zero


def test_before_the_last_decision_too_values_are_means():
    """Kuhn poker by hand: the first player's regret for passing, when the second player will bet."""
    game = prepared("kuhn_poker", "histories")
    rows = infosets_of(game.form, "cards")
    policy = {key: [1.0, 3.0] for player in range(2) for key in game.form.keys(player)}  # bets and calls 3 times of 4
    scores = game.table({key: values if key[2:] != "cr" else [3.0, 1.0] for key, values in policy.items()})
    (own, regrets, _, _), _ = collected(collector_of(game, rows), rows, scores, 0)
    by_key = {}
    for row, values in zip(own, regrets, strict=True):
        by_key.setdefault(rows.row_keys[row], set()).add(tuple(np.round(values[rows.legal[row]], 9)))
    # With a king. Passing: the other passes (+1), or bets; then folding (-1, 3 of 4) and calling (+2): -0.25. Betting:
    # the other folds (+1) or calls (+2). The strategy passes 1 time of 4.
    possible = set()
    for passing in (1.0, -0.25):
        for betting in (1.0, 2.0):
            value = 0.25 * passing + 0.75 * betting
            possible.add((round(passing - value, 9), round(betting - value, 9)))
    names = dict(zip(game.form.keys(0), game.form.action_names(0), strict=True))["K|"]
    columns = [rows.actions.index(rows.grammar.action(name)) for name in ("pass", "bet")]
    first = int(np.argsort(columns)[0])
    assert names == ("pass", "bet")
    assert by_key["K|"] == (possible if first == 0 else {pair[::-1] for pair in possible})


@every_player
def test_without_positive_regret_the_fallback_is_collected(player):
    game = prepared("leduc_poker", "public")
    rows = infosets_of(game.form, "cards")
    scores = -np.abs(game.random_regrets(4)) - 0.1
    (_, _, theirs, best), _ = collected(collector_of(game, rows, BEST), rows, scores, player)
    by_row = np.where(rows.legal, rows.to_rows(scores, (0, 1)), -np.inf)
    np.testing.assert_array_equal(best.argmax(axis=1), by_row[theirs].argmax(axis=1))
    np.testing.assert_array_equal(best.max(axis=1), 1.0)
    (_, _, theirs, uniform), _ = collected(collector_of(game, rows, UNIFORM), rows, scores, player)
    np.testing.assert_allclose(uniform, rows.legal[theirs] / rows.legal[theirs].sum(axis=1, keepdims=True))


@every_player
@pytest.mark.parametrize("scheme", [External(), Robust(k=2)])
def test_parts_are_cut_anywhere_and_leave_nothing_out(player, scheme, monkeypatch):
    game = prepared("leduc_poker", "public")
    rows = infosets_of(game.form, "ranks")
    scores = game.random_regrets(5)
    whole, count = collected(collector_of(game, rows, scheme=scheme), rows, scores, player)
    assert count == 1
    monkeypatch.setattr(collect, "ROWS_AT_ONCE", 1)
    pieces, count = collected(collector_of(game, rows, scheme=scheme), rows, scores, player)
    assert count > 10
    for one, other in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_batch_of_an_iteration_is_known_by_its_seed_and_number():
    game = prepared("leduc_poker", "public")
    rows = infosets_of(game.form, "ranks")
    scores, collector = game.random_regrets(6), collector_of(game, rows)
    first, _ = collected(collector, rows, scores, 0, iteration=8)
    other, _ = collected(collector, rows, scores, 0, iteration=9)
    again, _ = collected(collector, rows, scores, 0, iteration=8)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert len(first[0]) != len(other[0]) or np.any(first[0] != other[0])
