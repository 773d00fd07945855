"""Traversals in lockstep: they find what one traversal after the other finds, and what the rules say."""

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.games import load_game
from equipoise.networks.infosets import infosets_of
from equipoise.regret.matching import BEST, UNIFORM
from equipoise.sampling.collect import Collector
from equipoise.sampling.lockstep import Lockstep
from equipoise.sampling.rows import REGRET, STRATEGY
from equipoise.sampling.schemes import External, Robust
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.codes import card_layout, nodes_of
from tests.codes import SameDeals, code_of_key, coded_rows, scores_by_hash
from tests.naive.cfr import regret_matching
from tests.naive.lockstep import Stream, traverse
from tests.samples import prepared
from tests.unit.sampling.test_collector import collected

BATCH, SEED, ITERATION = 120, 4, 3
every_player = pytest.mark.parametrize("player", [0, 1])


def gathered(lockstep, scores_of, player, iteration=ITERATION):
    """Return codes, values and weights of the traverser, then of the opponent; and in how many parts they came."""
    sides = {REGRET: [], STRATEGY: []}
    for rows in lockstep.rows(scores_of, (player,), iteration):
        assert rows.player == (player if rows.kind == REGRET else 1 - player)
        sides[rows.kind].append((rows.infoset, rows.values, rows.weight))
    joined = [np.concatenate(arrays) for side in sides.values() for arrays in zip(*side, strict=True)]
    return joined, len(sides[REGRET])


class LockstepWithSameDeals(SameDeals, Lockstep):
    pass


@every_player
@pytest.mark.parametrize("text", ["leduc_poker", "kuhn_poker", "nl_leduc(stack=4)"])
@pytest.mark.parametrize("scheme", [External(), Robust(k=2), Robust(k=1)], ids=str)
@pytest.mark.parametrize("fallback", [UNIFORM, BEST])
def test_the_same_deals_and_draws_find_the_same(text, player, scheme, fallback):
    """With suits as dealt: bit for bit what one traversal after the other finds, in the same order."""
    sample = prepared(text, "public")
    rows = infosets_of(sample.form, "cards")
    scores = sample.random_regrets(1)
    tree = betting_tree(sample.game)
    layout = card_layout(sample.game, renamed=False)
    coded = coded_rows(rows, tree, layout)
    scores_of = coded.numbers_of(rows.to_rows(scores, (0, 1)))

    collector = Collector(sample.sampled, scheme, rows.listing, batch=BATCH, fallback=fallback, seed=SEED)
    expected, _ = collected(collector, rows, scores, player, ITERATION)
    lockstep = LockstepWithSameDeals(tree, layout, scheme, batch=BATCH, fallback=fallback, seed=SEED, part=50)
    lockstep.sampled = sample.sampled
    found, parts = gathered(lockstep, scores_of, player)
    assert parts == 3
    for side in range(2):
        listed_rows, listed = expected[2 * side : 2 * side + 2]
        np.testing.assert_array_equal(found[3 * side], coded.codes[listed_rows])
        moved = coded.moved(listed, listed_rows)
        np.testing.assert_array_equal(found[3 * side + 1], moved)
        assert np.abs(moved).max() > 0.05
    assert lockstep.nodes_touched == collector.nodes_touched > BATCH


def holdem(text, scheme=None, *, batch, renamed=False, **options):
    tree = betting_tree(load_game(text))
    layout = card_layout(tree.game, renamed=renamed)
    options = {"fallback": UNIFORM, "seed": SEED, **options}
    return tree, layout, Lockstep(tree, layout, scheme or External(), batch=batch, **options)


@every_player
@pytest.mark.parametrize(
    ("text", "k"), [("flop_holdem", 9), ("flop_holdem", 2), ("limit_holdem", 1), ("nolimit_holdem(stack=500)", 2)]
)
def test_hold_em_by_the_rules_history_by_history(text, k, player):
    count = 12
    tree, layout, lockstep = holdem(text, Robust(k=k), batch=count)

    def strategy_of(state):
        code = code_of_key(tree, layout, state.infoset_key())
        scores = scores_by_hash(state.player, np.array([code]))[0]
        return regret_matching([scores[action] for action in state.actions()])

    found, _ = gathered(lockstep, scores_by_hash, player)
    expected, touched = ([], []), 0
    for traversal in range(count):
        *sides, nodes = traverse(tree.game, strategy_of, player, k, Stream(SEED, ITERATION, player, traversal))
        touched += nodes
        for into, side in zip(expected, sides, strict=True):
            into += side
    for side in range(2):
        keys = [key for key, _ in expected[side]]
        np.testing.assert_array_equal(found[3 * side], [code_of_key(tree, layout, key) for key in keys])
        legal = tree.legal[nodes_of(found[3 * side])]
        np.testing.assert_allclose(
            found[3 * side + 1][legal], np.concatenate([row for _, row in expected[side]]), atol=1e-9
        )
        assert np.all(found[3 * side + 1][~legal] == 0.0)
    assert lockstep.nodes_touched == touched


@every_player
@pytest.mark.parametrize("threads", [1, 2])
def test_how_a_batch_is_cut_changes_nothing(player, threads):
    whole, cut = (holdem("flop_holdem", batch=700, renamed=True, part=part, threads=threads)[2] for part in (1000, 64))
    first, parts = gathered(whole, scores_by_hash, player)
    second, more = gathered(cut, scores_by_hash, player)
    assert (parts, more) == (1, 11)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole.nodes_touched == cut.nodes_touched


def test_deals_are_even():
    """Every card is in a player's hand equally often, and about half of all showdowns go to either player."""
    _, _, lockstep = holdem("flop_holdem", batch=1)
    deals = lockstep.deal(0, 1, 0, 20_000)
    for who in range(2):
        first = deals.codes[:, who, 0] & 63
        second = (deals.codes[:, who, 0] >> 6) & 63
        assert np.all(first < second)
        counts = np.bincount(first, minlength=52) + np.bincount(second, minlength=52)
        assert np.abs(counts - 40_000 / 52).max() < 5 * np.sqrt(40_000 / 52)
    assert abs(np.mean(deals.sign)) < 0.03
    assert 0.005 < np.mean(deals.sign == 0) < 0.05


def test_a_robust_traversal_is_unbiased():
    """The mean of sampled regrets at the first decision is that of all actions walked."""
    means = []
    for scheme in (External(), Robust(k=1)):
        _, _, lockstep = holdem("flop_holdem", scheme, batch=40_000, renamed=True)
        found, _ = gathered(lockstep, scores_by_hash, 0)
        first = found[1][nodes_of(found[0]) == 0]
        means.append((first.mean(axis=0), first.std(axis=0) / np.sqrt(len(first))))
    for column in range(3):
        gap = means[0][0][column] - means[1][0][column]
        assert abs(gap) < 4 * np.hypot(means[0][1][column], means[1][1][column])
    assert np.abs(means[0][0]).max() > 5.0


def test_schemes_that_lockstep_does_not_know_are_refused():
    with pytest.raises(EquipoiseError, match="lockstep"):
        holdem("flop_holdem", Robust(k=1, probe=True), batch=1)
