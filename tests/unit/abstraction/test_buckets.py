"""Percentile buckets, clusters and lossless tables: against lists of all deals, and by what they promise."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.abstraction import cache, clusters
from equipoise.abstraction.bucket_tables import HIGHEST_CODE, bucket_codes, empty_tables, round_boards
from equipoise.abstraction.buckets import Deck, kind_from_text, make_buckets
from equipoise.abstraction.cache import Parts
from equipoise.abstraction.clusters import (
    OPPONENT_GROUPS,
    STRENGTHS,
    FutureStrength,
    OpponentStrength,
    cluster,
    hands_on,
    nearest,
    spread_out,
)
from equipoise.abstraction.percentiles import cuts_of
from equipoise.abstraction.strength import grade_strength
from equipoise.errors import EquipoiseError
from equipoise.files import cache_home
from equipoise.games import load_game
from equipoise.games.sizes import num_infosets
from equipoise.games.suits import orbit_count, suit_isomorphism
from equipoise.work import Stopped
from tests.holdem import flop_holdem_of, three_rounds
from tests.naive import abstraction as naive
from tests.naive.suits import canonical, renamed
from tests.suits import locate, pair


@pytest.mark.nojit
def test_percentiles_equal_those_of_all_deals_sorted():
    ranks, suits, sizes, count = 3, 3, (0, 3, 4), 2
    buckets = make_buckets(three_rounds(ranks, suits), f"ehs2:{count}")

    def grade(betting_round, hole, board):
        if betting_round == 2:
            beaten, tied, _ = naive.beaten_and_tied(ranks, suits, hole, board)
            return 2 * beaten + tied
        return round(naive.expected_power(ranks, suits, sizes, hole, board, 2) * HIGHEST_CODE)

    expected = naive.nested_percentiles(ranks, suits, sizes, count, grade)
    for (hole, boards), bucket in expected.items():
        dealt: list[int] = []
        for board in boards:
            dealt += [card for card in board if card not in dealt]
        assert buckets.path(hole, dealt)[-1] == bucket
    assert len(set(expected.values())) == 8  # no bucket is empty
    assert buckets.counts == [2, 4, 8]


def test_buckets_have_equal_weight_and_stronger_hands_are_never_lower():
    buckets = make_buckets(flop_holdem_of(5, 3), "ehs2:4")
    cards, boards = suit_isomorphism(5, 3, 3), round_boards(5, 3, (0, 3))
    codes = [bucket_codes(buckets.tables, boards, betting_round) for betting_round in range(2)]
    for betting_round in range(2):
        weight: dict[int, int] = {}
        graded: dict[int, list[tuple[int, int]]] = {}
        ties: dict[tuple[int, int], int] = {}
        for number in range(cards.num_pairs):
            hole, board = pair(cards, number)
            row = locate(cards, hole, board)[0]
            raw = int(cards.board_weight[row]) * int(cards.pair_size[number])
            path = buckets.path(hole, board)
            before, bucket = (path[betting_round - 1] if betting_round else 0), path[betting_round]
            code = int(codes[betting_round][row if betting_round else 0, cards.pair_hand[number]])
            weight[bucket] = weight.get(bucket, 0) + raw
            graded.setdefault(before, []).append((code, bucket))
            ties[before, code] = ties.get((before, code), 0) + raw
        assert sum(weight.values()) == math.comb(15, 3) * math.comb(12, 2)
        for before, members in graded.items():
            own = [weight.get(before * 4 + k, 0) for k in range(4)]
            largest_tie = max(tied for (history, _), tied in ties.items() if history == before)
            assert max(abs(share - sum(own) / 4) for share in own) <= largest_tie
            in_order = [bucket for _, bucket in sorted(members)]
            assert in_order == sorted(in_order)
        assert len(weight) == buckets.counts[betting_round]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 6))
def test_cuts_divide_any_weights_as_equally_as_ties_allow(weights, count):
    histogram = np.array([weights])
    cuts = cuts_of(histogram, count)[0]
    bucket = np.searchsorted(cuts, np.arange(len(weights)), side="right")
    assert list(cuts) == sorted(cuts) and (bucket < count).all()
    for k in range(count):
        share = histogram[0][bucket == k].sum()
        assert abs(share - sum(weights) / count) <= max(weights)


@pytest.mark.parametrize(
    ("game", "text"),
    [
        (flop_holdem_of(4, 4), "ehs2:4"),
        (flop_holdem_of(4, 4), "kmeans:20"),
        (flop_holdem_of(4, 4), "none"),
        (three_rounds(4, 4), "kmeans:20"),
    ],
)
def test_hands_that_differ_by_suits_only_share_a_bucket(game, text):
    buckets = make_buckets(game, text)
    random = np.random.default_rng(3)
    for _ in range(60):
        dealt = random.choice(16, 2 + sum(game.board_cards), replace=False).tolist()
        hole, board = dealt[:2], dealt[2:]
        paths = {tuple(buckets.path(renamed(hole, p), renamed(board, p))) for p in itertools.permutations(range(4))}
        assert len(paths) == 1


def test_lossless_buckets_keep_all_others_apart():
    buckets = make_buckets(flop_holdem_of(3, 3), "none")
    found: dict[int, set] = {}
    for hole, boards in naive.paths(3, 3, (0, 3), 2):
        path = buckets.path(hole, boards[-1])
        assert path[1] < buckets.counts[1]
        found.setdefault(path[1], set()).add(canonical(3, hole, boards[-1]))
    assert len(found) == buckets.counts[1] and all(len(orbits) == 1 for orbits in found.values())


@pytest.mark.nojit
def test_features_are_strengths_against_groups():
    boards = round_boards(4, 3, (0, 3))
    tables = empty_tables(boards)
    start = grade_strength(boards, tables, 2, Parts())[0][0]
    listed = boards.rounds[1].boards
    features = OpponentStrength(boards, tables, start).on(np.arange(len(listed)))
    live = hands_on(listed, 12)
    everybody = list(itertools.combinations(range(12), 2))
    grades = {hole: naive.expected_power(4, 3, (0, 3), hole, (), 2) for hole in everybody}
    coded = {hole: round(grade * HIGHEST_CODE) for hole, grade in grades.items()}
    histogram = np.bincount(list(coded.values()), minlength=HIGHEST_CODE + 1)
    cuts = cuts_of(histogram[None, :], OPPONENT_GROUPS)[0]
    group_of = {hole: int(np.searchsorted(cuts, code, side="right")) for hole, code in coded.items()}
    random = np.random.default_rng(1)
    for row in random.choice(live.size, 12, replace=False):
        hole, board = everybody[live.flat[row]], tuple(listed[row // live.shape[1]].tolist())
        for group in range(OPPONENT_GROUPS + 1):
            others = [o for o in everybody if group in (group_of[o], OPPONENT_GROUPS)]
            if any(not set(o) & {*hole, *board} for o in others):
                expected = naive.strength_against(4, 3, hole, board, others)
                assert features[row, group] == pytest.approx(expected)


@pytest.mark.nojit
def test_features_before_the_last_board_are_histograms_of_strength_to_come():
    ranks, suits, sizes = 3, 3, (0, 3, 4)
    boards = round_boards(ranks, suits, sizes)
    tables = empty_tables(boards)
    grade_strength(boards, tables, 2, Parts())
    features = FutureStrength(boards, tables, bucket_codes(tables, boards, 2), 1, Parts())
    hands = list(itertools.combinations(range(9), 2))
    for row, board in enumerate(boards.rounds[1].boards.tolist()):
        found = features.on(np.array([row]))
        live = hands_on(boards.rounds[1].boards[[row]], 9)[0]
        assert len(found) == len(live) == math.comb(6, 2)
        for hand, cumulative in zip(live, found, strict=True):
            expected = naive.strength_to_come(ranks, suits, hands[hand], tuple(board), sizes[-1], STRENGTHS)
            np.testing.assert_allclose(cumulative, np.cumsum(expected)[:-1], atol=1e-12)


def squared_error(points, weight, label):
    means = [np.average(points[label == k], axis=0, weights=weight[label == k]) for k in range(label.max() + 1)]
    return np.average(((points - np.array(means)[label]) ** 2).sum(axis=1), weights=weight)


@pytest.mark.parametrize("points", [1 << 21, 200])  # all boards, or every few of them
def test_hands_of_a_cluster_are_alike_in_every_round(points, monkeypatch):
    monkeypatch.setattr(clusters, "MOST_POINTS", points)
    game = three_rounds(4, 3)
    buckets = make_buckets(game, "kmeans:7")
    assert buckets.counts == [orbit_count(4, 3, [2]), 7, 7]
    boards = round_boards(4, 3, (0, 3, 4))
    tables = empty_tables(boards)
    start = grade_strength(boards, tables, 2, Parts())[0][0]
    rounds = {
        1: FutureStrength(boards, tables, bucket_codes(tables, boards, 2), 1, Parts()),
        2: OpponentStrength(boards, tables, start),
    }
    for betting_round, features in rounds.items():
        listed = boards.rounds[betting_round].boards
        everything = np.arange(len(listed))
        points_of = features.on(everything)
        found = bucket_codes(buckets.tables, boards, betting_round)
        label = np.take_along_axis(found, hands_on(listed, 12), axis=1).ravel()
        assert set(label.tolist()) == set(range(7))
        weight = np.repeat(boards.rounds[betting_round].weight, len(points_of) // len(listed)).astype(float)
        own = squared_error(points_of, weight, label)
        assert own < 0.5 * squared_error(points_of, weight, np.random.default_rng(0).permutation(label))


def naive_lloyd(points, weight, centres, passes):
    for _ in range(passes):
        squared = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
        label = squared.argmin(axis=1)
        error = (weight * squared.min(axis=1)).sum() / weight.sum()
        centres = np.array(
            [np.average(points[label == k], axis=0, weights=weight[label == k]) for k in range(len(centres))]
        )
    return label, error


def test_clusters_are_those_of_plain_lloyd_passes():
    random = np.random.default_rng(0)
    middles = random.normal(size=(6, 3))
    points = middles[random.integers(6, size=400)] + 0.1 * random.normal(size=(400, 3))
    weight = random.integers(1, 20, 400).astype(float)
    centres, errors = cluster(points, weight, 6, Parts())
    label = nearest(centres, points)[1]
    expected, error = naive_lloyd(points, weight, spread_out(points, weight, 6), len(errors))
    np.testing.assert_array_equal(label, expected)
    assert errors[-1] == pytest.approx(error) and (np.diff(errors) <= 1e-12).all()
    assert errors[-1] < 0.5 * np.average(((points - points.mean(axis=0)) ** 2).sum(axis=1), weights=weight) / 6


def test_no_cluster_stays_empty_and_nothing_is_random():
    points = np.repeat(np.arange(10.0), 50)[:, None]
    points = np.concatenate([points, np.full((500, 1), 3.0)])
    centres, errors = cluster(points, np.ones(1000), 10, Parts())
    assert sorted(centres.ravel().tolist()) == list(range(10)) and errors[-1] == 0.0
    again, _ = cluster(points, np.ones(1000), 10, Parts())
    np.testing.assert_array_equal(centres, again)


def test_sizes_of_the_published_abstractions():
    ten = kind_from_text("ehs2:10").buckets(Deck(13, 4, (0, 3, 4, 5)))
    assert num_infosets(load_game("limit_holdem(caps=3-4-4-4)"), ten) == 57_337_080
    flop = load_game("flop_holdem")
    levels = {552: 40_000, 5_238: 368_000, 51_400: 3_600_000}
    for count, decisions in levels.items():
        counts = kind_from_text(f"kmeans:{count}").buckets(Deck(13, 4, (0, 3)))
        assert num_infosets(flop, counts) == pytest.approx(decisions, rel=0.001)
    assert num_infosets(flop, kind_from_text("none").buckets(Deck(13, 4, (0, 3)))) == 8 * 169 + 70 * 1_286_792


@pytest.mark.parametrize(
    ("game", "text", "reason"),
    [
        ("flop_holdem", "ehs2", "ehs2:N"),
        ("flop_holdem", "ehs2:0", "ehs2:N"),
        ("flop_holdem", "means:3", "kmeans:N"),
        ("flop_holdem", "kmeans:70000", "65,536"),
        ("limit_holdem", "kmeans:70000", "65,536"),
        ("limit_holdem", "none", "ehs2:10"),
        ("leduc_poker", "ehs2:10", "not for leduc_poker"),
    ],
)
def test_what_cannot_be_made_is_refused_at_once(game, text, reason):
    with pytest.raises(EquipoiseError, match=reason):
        make_buckets(load_game(game), text)


def counting(made):
    def make():
        made.append(1)
        return {"numbers": np.arange(5)}

    return make


def test_cache_is_hit_by_the_same_key_only():
    made: list[int] = []
    for key in ("a", "a", "b", "a"):
        assert cache.cached("test", key, counting(made), pytest.fail)["numbers"].tolist() == [0, 1, 2, 3, 4]
    assert len(made) == 2


def test_damaged_cache_file_is_made_again_with_a_message():
    made: list[int] = []
    complaints: list[str] = []
    cache.cached("test", "a", counting(made), complaints.append)
    (file,) = (cache_home() / "buckets").glob("*.npz")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)
    for _ in range(2):
        assert cache.cached("test", "a", counting(made), complaints.append)["numbers"].tolist() == [0, 1, 2, 3, 4]
    assert len(made) == 2 and len(complaints) == 1 and "damaged" in complaints[0]


def test_folder_that_cannot_be_written_is_only_a_complaint(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    complaints: list[str] = []
    assert cache.cached("test", "a", counting([]), complaints.append)["numbers"].tolist() == [0, 1, 2, 3, 4]
    assert len(complaints) == 1


def test_buckets_come_back_from_the_cache_as_they_were():
    game = flop_holdem_of(4, 3)
    progress: list[str] = []
    first = make_buckets(game, "kmeans:9", report=lambda what, share: progress.append(what))
    told = len(progress)
    second = make_buckets(game, "kmeans:9", report=lambda what, share: progress.append(what))
    assert told > 0 and len(progress) == told
    assert json.dumps(first.counts) == json.dumps(second.counts)
    for before, after in zip(first.tables, second.tables, strict=True):
        np.testing.assert_array_equal(before, after)
        assert before.dtype == after.dtype


@pytest.mark.parametrize("text", ["kmeans:4", "ehs2:3"])
@pytest.mark.parametrize("instant", [False, True])
def test_what_was_made_of_buckets_is_kept_after_an_interruption(text, instant, monkeypatch, tmp_path):
    """Told to stop now and then, the work goes on from there, and ends with the same tables."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "whole"))
    game, told = three_rounds(4, 3), []
    whole = make_buckets(game, text, report=lambda what, share: told.append((what, share)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cut"))
    if instant:  # every finished piece is kept: as pieces that take minutes are
        monkeypatch.setattr(cache, "WORTH_KEEPING", 0.0)
        monkeypatch.setattr(clusters, "WORTH_KEEPING", 0.0)
    again, stops = [], 0

    def stop_now_and_then(what, share):
        again.append((what, share))
        if len(again) % 50 == 0 if instant else len(again) == 150:
            raise Stopped

    while True:
        try:
            found = make_buckets(game, text, report=stop_now_and_then)
            break
        except Stopped:
            stops += 1
            assert stops < 100
    assert stops > 3 if instant else stops == 1
    if instant:  # nothing was done twice but the last pass of k-means, which tells that it is over
        assert len([news for news in again if "k-means" not in news[0]]) == len(
            [news for news in told if "k-means" not in news[0]]
        )
    for before, after in zip(whole.tables, found.tables, strict=True):
        np.testing.assert_array_equal(before, after)
    assert len(list((tmp_path / "cut" / "equipoise" / "buckets").iterdir())) == 1  # no part is left behind
