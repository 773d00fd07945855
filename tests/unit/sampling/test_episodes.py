"""Episodes of self-play: in lockstep they are those of one after the other, and those of the rules."""

import numpy as np
import pytest

from equipoise.networks.infosets import infosets_of
from equipoise.sampling.episodes import OVER, Episodes, Moves, moves_of
from equipoise.sampling.lockstep_episodes import LockstepEpisodes
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.codes import card_layout, nodes_of
from tests.codes import SameDeals, code_of_key, coded_rows, scores_by_hash
from tests.naive.cfr import regret_matching
from tests.naive.episodes import play
from tests.naive.lockstep import Stream
from tests.samples import game_of, prepared

EPISODES, SEED, ITERATION = 400, 4, 3
UNIT = 7.0


class EpisodesWithSameDeals(SameDeals, LockstepEpisodes):
    pass


def in_lockstep(text, kind=LockstepEpisodes, *, renamed=False, **options):
    tree = betting_tree(game_of(text))
    layout = card_layout(tree.game, renamed=renamed)
    options = {"episodes": EPISODES, "anticipatory": 0.4, "unit": UNIT, "seed": SEED, **options}
    return tree, layout, kind(tree, layout, **options)


def joined(parts):
    """Return the moves of both players, from parts."""
    return [
        Moves._make(np.concatenate(arrays) for arrays in zip(*side, strict=True)) for side in zip(*parts, strict=True)
    ]


@pytest.mark.parametrize(("epsilon", "anticipatory"), [(0.3, 0.4), (0.0, 0.1), (1.0, 1.0)])
@pytest.mark.parametrize("text", ["leduc_poker", "kuhn_poker", "nl_leduc(stack=4)"])
def test_the_same_deals_and_draws_play_the_same(text, epsilon, anticipatory):
    """With and without a list of infosets: the same moves bit for bit, in the same order."""
    sample = prepared(text, "public")
    rows = infosets_of(sample.form, "cards")
    generator = np.random.default_rng(0)
    values = generator.normal(size=rows.legal.shape)
    policy = np.where(rows.legal, generator.gamma(0.5, size=rows.legal.shape), 0.0)
    policy /= policy.sum(axis=1, keepdims=True)
    options = {"episodes": EPISODES, "anticipatory": anticipatory, "unit": UNIT, "seed": SEED}
    listed = Episodes(sample.sampled, rows.entry_row, rows.entry_column, **options)
    expected = listed.play(rows.to_table(values), rows.to_table(policy), epsilon=epsilon, iteration=ITERATION)
    tree, layout, lockstep = in_lockstep(text, EpisodesWithSameDeals, anticipatory=anticipatory, part=150)
    lockstep.sampled = sample.sampled
    coded = coded_rows(rows, tree, layout)
    answers = (coded.numbers_of(values), coded.numbers_of(policy))
    parts = list(lockstep.play(*answers, epsilon=epsilon, iteration=ITERATION))
    assert len(parts) == 3
    for found, wanted in zip(joined(parts), expected, strict=True):
        goes_on = wanted.following != OVER
        assert (goes_on.any() or text == "kuhn_poker") and np.abs(wanted.reward).max() > 0.1
        np.testing.assert_array_equal(found.row, coded.codes[wanted.row])
        np.testing.assert_array_equal(found.following[goes_on], coded.codes[wanted.following[goes_on]])
        np.testing.assert_array_equal(found.following == OVER, ~goes_on)
        np.testing.assert_array_equal(coded.columns[wanted.row, found.column], wanted.column)
        np.testing.assert_array_equal(found.reward, wanted.reward)
        np.testing.assert_array_equal(found.responding, wanted.responding)
        assert wanted.responding.any() and (anticipatory == 1.0 or not wanted.responding.all())
    assert lockstep.nodes_touched == listed.nodes_touched > EPISODES


@pytest.mark.parametrize("text", ["flop_holdem", "limit_holdem", "nolimit_holdem(stack=500)"])
def test_hold_em_by_the_rules_hand_by_hand(text):
    count, epsilon, anticipatory = 25, 0.3, 0.5
    tree, layout, lockstep = in_lockstep(text, episodes=count, anticipatory=anticipatory)

    def numbers_of(numbers, state):
        code = code_of_key(tree, layout, state.infoset_key())
        row = numbers(state.player, np.array([code]))[0]
        return [float(row[action]) for action in state.actions()]

    def policy_of(player, codes):
        table = np.zeros((len(codes), tree.num_columns))
        for row, code in enumerate(codes):
            legal = tree.legal[int(code) >> 42]
            scores = scores_by_hash(player, np.array([code]))[0, : tree.num_columns]
            table[row, legal] = regret_matching(scores[legal].tolist())
        return table

    (found,) = lockstep.play(scores_by_hash_of(tree), policy_of, epsilon=epsilon, iteration=ITERATION)
    expected, responding, touched = ([], []), ([], []), 0
    for hand in range(count):
        moves, responds, nodes = play(
            tree.game,
            lambda state: numbers_of(scores_by_hash, state),
            lambda state: numbers_of(policy_of, state),
            epsilon,
            anticipatory,
            Stream(SEED, ITERATION, 0, hand),
        )
        touched += nodes
        for player in range(2):
            expected[player].extend(moves[player])
            responding[player].extend([responds[player]] * len(moves[player]))
    for player, side in enumerate(found):
        codes = [code_of_key(tree, layout, key) for key, *_ in expected[player]]
        after = [OVER if key is None else code_of_key(tree, layout, key) for _, _, key, _ in expected[player]]
        np.testing.assert_array_equal(side.row, codes)
        np.testing.assert_array_equal(side.column, [action for _, action, _, _ in expected[player]])
        np.testing.assert_array_equal(side.following, after)
        np.testing.assert_allclose(side.reward * UNIT, [reward for *_, reward in expected[player]])
        np.testing.assert_array_equal(side.responding, responding[player])
    assert lockstep.nodes_touched == touched


def scores_by_hash_of(tree):
    """Return scores with the columns of a tree."""
    return lambda player, codes: scores_by_hash(player, codes)[:, : tree.num_columns]


@pytest.mark.parametrize("threads", [1, 2])
def test_how_a_batch_is_cut_changes_nothing(threads):
    found, touched = [], []
    for part in (1000, 64):
        tree, _, lockstep = in_lockstep("flop_holdem", episodes=700, renamed=True, part=part, threads=threads)
        numbers = scores_by_hash_of(tree)
        found.append(list(lockstep.play(numbers, policy_of_three, epsilon=0.2, iteration=ITERATION)))
        touched.append(lockstep.nodes_touched)
    assert [len(parts) for parts in found] == [1, 11]
    for one, other in zip(*map(joined, found), strict=True):
        for whole, cut in zip(one, other, strict=True):
            np.testing.assert_array_equal(whole, cut)
    assert touched[0] == touched[1]


def policy_of_three(player, codes):
    """Return even play over three actions: where there are two, the rest of the probability is left to the last."""
    return np.full((len(codes), 3), 1 / 3)


def test_networks_are_asked_only_where_their_way_of_acting_needs_them():
    tree, _, lockstep = in_lockstep("flop_holdem", episodes=300)
    asked = {"values": 0, "policy": 0}

    def counted(name, numbers):
        def answer(player, codes):
            assert np.all(tree.nodes.player[nodes_of(codes)] == player)
            asked[name] += len(codes)
            return numbers(player, codes)

        return answer

    for anticipatory, epsilon, wanted in ((0.0, 0.5, {"policy"}), (1.0, 0.0, {"values"}), (1.0, 1.0, set())):
        asked |= {"values": 0, "policy": 0}
        lockstep._anticipatory = anticipatory
        ways = (counted("values", scores_by_hash_of(tree)), counted("policy", policy_of_three))
        moves = list(lockstep.play(*ways, epsilon=epsilon, iteration=1))
        assert {name for name, count in asked.items() if count} == wanted
        assert len(moves[0][0].row) > 300


@pytest.mark.nojit
def test_a_move_is_followed_by_the_next_of_its_episode():
    row, start = np.array([5, 6, 7, 8], np.int64), np.array([0, 2, 2, 3, 4])
    moves = moves_of(
        row,
        np.array([0, 1, 2, 1], np.int32),
        np.array([True, True, False, True]),
        start,
        np.array([1.0, 2.0, -3.0, 0.5]),
    )
    np.testing.assert_array_equal(moves.following, [6, OVER, OVER, OVER])
    np.testing.assert_array_equal(moves.reward, [0.0, 1.0, -3.0, 0.5])
    rows, chosen = moves.responses(3)
    np.testing.assert_array_equal(rows, [5, 6, 8])
    np.testing.assert_array_equal(chosen, [[1, 0, 0], [0, 1, 0], [0, 1, 0]])
