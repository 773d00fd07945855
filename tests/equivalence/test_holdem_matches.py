"""Matches of hold'em in lockstep, over boards and in buckets, against the rules and against listed games."""

from functools import cache

import numpy as np
import pytest

import equipoise
from equipoise.abstraction.buckets import make_buckets
from equipoise.errors import EquipoiseError
from equipoise.evaluation.aivat import LuckCorrector, public_paying_one
from equipoise.evaluation.board_aivat import BoardLuck
from equipoise.evaluation.lockstep_play import lockstep_hands, pair_sums, play_in_lockstep
from equipoise.evaluation.match import exact_match, play_match
from equipoise.evaluation.players import BASELINES
from equipoise.evaluation.simulation import CHUNK
from equipoise.games import CHANCE, TERMINAL
from equipoise.networks.poker_rows import poker_rows
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.policies.policy import policy_from_strategies
from equipoise.sampling.bucketed import BucketSums
from equipoise.sampling.tree import from_betting_tree
from equipoise.stores.board_average import BoardAverage
from equipoise.trees.best_response import Evaluator
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.board_evaluator import BoardEvaluator
from equipoise.trees.board_form import board_form
from equipoise.trees.board_places import board_places
from equipoise.trees.compile import build_public_tree
from equipoise.trees.public_tree import vector_form
from equipoise.trees.situations import Situations, normalised_rows
from tests.board_strategies import RandomStrategy
from tests.holdem import flop_holdem_of, small_holdem, three_rounds
from tests.naive.lockstep_play import play_pair
from tests.strategies import layout
from tests.suits import locate


@cache
def policies(ranks=4, suits=3, board=2, caps=(1, 2)):
    form = board_form(small_holdem(ranks, suits, board, caps))
    return tuple(HoldemPolicy(rules=form.game, strategy=RandomStrategy(form, seed)) for seed in (5, 6))


TINY = (3, 3, 1, (1, 1))


@cache
def listed_form():
    """Return the form of the tiny game with everything listed, and what it was made from."""
    public = build_public_tree(policies(*TINY)[0].form.game)
    return vector_form(public), public


@cache
def listed(number):
    """Return the strategies of one of the policies of the tiny game in the order of that form."""
    raw, policy = listed_form()[0], policies(*TINY)[number]
    strategies = tuple(np.ones(plex.num_sequences) for plex in raw.treeplexes)
    for strategy, infosets in zip(strategies, layout(raw), strict=True):
        for key, sequences in infosets:
            strategy[sequences] = list(policy.action_probabilities(key).values())
    return strategies


def test_the_exact_result_is_that_of_listed_strategies():
    over_boards, raw = policies(*TINY), listed_form()[0]
    game, form = over_boards[0].form.game, over_boards[0].form
    as_files = [policy_from_strategies(raw, listed(number)) for number in range(2)]
    found, expected = exact_match(*over_boards, game=game), exact_match(*as_files, game=game)
    assert found.seats == pytest.approx(expected.seats, abs=1e-12) and abs(found.mean) > 0.02
    swapped = exact_match(*over_boards[::-1], game=game, threads=2)
    assert swapped.seats == pytest.approx((-found.seats[1], -found.seats[0]), abs=1e-12)
    itself = exact_match(over_boards[0], over_boards[0], game=game)
    value = BoardEvaluator(form).best_responses(over_boards[0].strategy).value
    assert itself.seats == pytest.approx((value, -value), abs=1e-12) and itself.mean == pytest.approx(0.0, abs=1e-12)
    for name in BASELINES:
        one, other = exact_match(name, over_boards[0], game=game), exact_match(name, as_files[0], game=game)
        assert one.seats == pytest.approx(other.seats, abs=1e-12)


def all_hands(form, strategies):
    """Return cards, ends and probabilities of all hands in which ``strategies`` are in seats 0 and 1."""
    tree, hole = betting_tree(form.game), 2
    deck = form.game.deck.size
    cards = np.array(
        [
            (*first, *second, *board)
            for first in form.game.hands
            for second in form.game.hands
            for board in form.game.deals(1)
            if len({*first, *second, *board}) == 4 + len(board)
        ],
        np.int8,
    )
    assert deck == cards.max() + 1
    probability = np.zeros((tree.num_nodes, len(cards)))
    probability[0] = 1 / len(cards)
    for node in range(tree.num_nodes):
        who = tree.nodes.player[node]
        if who == TERMINAL:
            continue
        seen = np.concatenate([cards[:, hole * who : hole * (who + 1)], cards[:, 2 * hole :]], axis=1)
        played = strategies[who].probabilities_at(Situations(np.full(len(cards), node), seen))
        for column in np.flatnonzero(tree.legal[node]):
            probability[tree.child[node, column]] = probability[node] * played[:, column]
    ends = np.flatnonzero(tree.nodes.player == TERMINAL)
    return tree, np.tile(cards, (len(ends), 1)), np.repeat(ends, len(cards)), probability[ends].ravel()


@pytest.mark.parametrize("own_known", [False, True])
def test_aivat_is_unbiased_and_equals_that_of_listed_games(own_known):
    known, other = (policy.strategy for policy in policies(*TINY))
    form, (raw, public) = policies(*TINY)[0].form, listed_form()
    corrector, places = LuckCorrector(raw, public_paying_one(public)), board_places(form)
    luck = BoardLuck(form, known, other if own_known else None)
    for seat in range(2):  # the observer's
        seated = (other, known) if seat == 0 else (known, other)
        tree, cards, ends, probability = all_hands(form, seated)
        assert probability.sum() == pytest.approx(1.0, abs=1e-12) and (probability > 0).sum() > 10_000
        found = luck.correct(places, cards, np.stack([ends, ends], axis=1).astype(np.int32))
        pair = (listed(1)[0], listed(0)[1]) if seat == 0 else (listed(0)[0], listed(1)[1])
        exact = Evaluator(raw).value(pair) * (1 if seat == 0 else -1)
        estimates = found.starts[seat] + found.corrections[:, seat]
        assert (probability * estimates).sum() == pytest.approx(exact, abs=1e-10)
        assert abs(found.starts[seat] - exact) > 0.01  # the corrections did the work

        values = corrector.values(seat, pair[1 - seat], assumed=listed(0)[seat])
        expected = corrector.corrections(seat, pair[1 - seat], values, pair[seat] if own_known else None)
        added = {key: expected.by_action[sequences] for key, sequences in layout(raw)[seat]}
        assert found.starts[seat] == pytest.approx(expected.start, abs=1e-12)
        random = np.random.default_rng(seat)
        for row in random.choice(np.flatnonzero(probability), 1000, replace=False):
            dealt, node, total = cards[row].tolist(), int(ends[row]), 0.0
            while (above := int(tree.parent[node])) >= 0:
                if tree.nodes.player[above] == seat:
                    state = tree.states[above]
                    board = tuple(sorted(dealt[4:])) if state.round else ()
                    hand = tuple(sorted(dealt[2 * seat : 2 * seat + 2]))
                    key = form.game.infoset_text(hand, board, state.text)
                    total += added[key][node - tree.nodes.first_child[above]]
                node = above
            assert found.corrections[row, seat] == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("known", ["both", "a", "b"])
def test_every_estimate_agrees_with_the_exact_result(known):
    first, second = policies()
    game, exact = first.form.game, exact_match(*policies(), game=policies()[0].form.game)
    boards = []
    result = play_match(
        first, second, game=game, hands=60_000, known=known, on_boards=lambda done, of: boards.append((done, of))
    )
    assert result.through == "lockstep" and boards[-1] == (first.form.num_boards,) * 2
    for estimate in (result.plain, result.duplicate, result.aivat):
        assert estimate.mean == pytest.approx(exact.mean, abs=4 * estimate.standard_error)
        assert abs(exact.mean) > 10 * estimate.standard_error
    deviations = [e.standard_deviation for e in (result.plain, result.duplicate, result.aivat)]
    assert deviations[2] < 0.75 * deviations[1] < deviations[0]
    for seat in range(2):
        assert result.seats[seat] == pytest.approx(exact.seats[seat], abs=6 * result.plain.standard_error)
    again = play_match(first, second, game=game, hands=60_000, known=known, threads=2)
    assert (again.aivat, again.duplicate, again.plain) == (result.aivat, result.duplicate, result.plain)
    assert play_match(first, first, game=game, hands=2000, known="both").aivat.standard_deviation < 1e-10


@pytest.mark.nojit
def test_hands_in_lockstep_are_those_of_the_rules():
    game = three_rounds(4, 3)
    tree, buckets = betting_tree(game), make_buckets(game, "ehs2:2")
    sampled = from_betting_tree(tree, buckets)
    random = np.random.default_rng(3)
    players = [
        HoldemPolicy(rules=game, strategy=BucketSums(sampled, buckets, random.random(sum(sampled.table_sizes))))
        for _ in range(2)
    ]
    strategies = tuple(policy.strategy for policy in players)
    parts = list(play_in_lockstep(tree, strategies, names=("A", "B"), pairs=40, seed=9))
    hands = [hand for part in parts for hand in lockstep_hands(tree, part)]
    assert [hand.number for hand in hands] == list(range(80))
    for pair in range(40):
        for seat, end in enumerate(play_pair(game, players, 9, pair)):
            hand = hands[2 * pair + seat]
            assert hand.end == end and hand.payoff_to_a() == parts[0].won[pair, seat]
            *_, (state, action) = hand.events()
            assert state.child(action) == hand.end
    assert len({hand.end.betting.text for hand in hands}) > 12


def test_the_size_of_parts_does_not_matter():
    first, second = policies()
    tree = betting_tree(first.form.game)
    options = {"names": ("A", "B"), "pairs": 3 * CHUNK, "seed": 2}
    found = []
    for size in (CHUNK, 2 * CHUNK, 100 * CHUNK):
        parts = list(play_in_lockstep(tree, (first.strategy, second.strategy), pairs_a_part=size, **options))
        assert [part.first_pair for part in parts] == list(range(0, 3 * CHUNK, size))
        found.append((sum(pair_sums(part.won) for part in parts), np.concatenate([part.ends for part in parts])))
    for sums, ends in found[1:]:
        np.testing.assert_array_equal(sums, found[0][0])
        np.testing.assert_array_equal(ends, found[0][1])


def test_a_mixture_that_is_drawn_a_hand_plays_as_its_mean():
    form = policies()[0].form
    rows = poker_rows(betting_tree(form.game), "ranks")

    def component(seed):
        def strategy_at(codes):
            spread = np.sin((codes[:, None] % 9973 + 1) * (np.arange(rows.num_columns) + seed))
            legal = rows.legal_at(codes)
            return normalised_rows(np.where(legal, np.abs(spread) ** 3, 0.0), legal)

        return strategy_at

    mixture = [(1.0, component(1)), (3.0, component(2.5)), (2.0, component(7))]
    policy = HoldemPolicy(rules=form.game, strategy=BoardAverage(form, rows, (mixture, mixture)))
    other = policies()[1]
    exact = exact_match(policy, other, game=form.game)
    result = play_match(policy, other, game=form.game, hands=60_000, known="both")
    for estimate in (result.plain, result.duplicate, result.aivat):
        assert estimate.mean == pytest.approx(exact.mean, abs=4 * estimate.standard_error)
    alone = HoldemPolicy(rules=form.game, strategy=BoardAverage(form, rows, (mixture[:1], mixture[:1])))
    assert abs(exact_match(alone, other, game=form.game).mean - exact.mean) > 8 * result.aivat.standard_error
    # Asked for its mean, a mixture says what it writes board by board.
    written = np.empty(form.num_entries)
    policy.strategy.write_boards(0, form.num_boards, written)
    line = policy.line("rc/", "5c4d")
    board, own = locate(form.cards, line.hands[7], line.board)
    width, entry = int(np.diff(form.pairs.first_pair)[board]), board_places(form).entry
    first = int(betting_tree(form.game).nodes.first_child[betting_tree(form.game).node_of_text["rc/"]])
    place = form.block(board).start + int(entry[first]) * width + own
    assert line.probabilities[7] == pytest.approx([written[place], written[place + width]], abs=1e-12)


def test_hold_em_in_buckets_is_saved_asked_and_played(tmp_path, seed, level):
    game = three_rounds(4, 3)
    settings = {"parameters": {"buckets": "ehs2:3", "rule": "linear"}, "seed": seed}
    solution = equipoise.solve(game, "es-mccfr", iterations=60_000, out=tmp_path / "run", **settings)
    policy = equipoise.load_policy(tmp_path / "run", game=game)
    assert policy.game == game.name and policy.origin["iterations"] == 60_000
    key = "5c5d/2c3d4h2d|cc/cc/"
    assert policy.action_probabilities(key) == solution.policy.action_probabilities(key)
    assert level(policy.action_probabilities("5c5d|cr")["fold"], "folds") < 0.05  # 16 seeds: 0, median 0, 7e-6
    result = play_match(policy, "uniform", hands=20_000)
    assert result.through == "lockstep" and result.aivat is None
    assert (
        level(result.duplicate.interval[0], "surely won") > 30.0
    )  # 16 seeds: 61, median 65, 67; uniform play: below 0
    part = policy.listed("2c3d4h")
    assert part.action_probabilities("5d5c/2c3d4h|cc/") == policy.action_probabilities("5c5d/2c3d4h|cc/")
    with pytest.raises(
        EquipoiseError, match=r"AIVAT needs exact values, which .* lacks in this match; use --aivat none"
    ):
        play_match(policy, "uniform", hands=100, known="both")
    with pytest.raises(EquipoiseError, match="leave out --exact to play hands instead"):
        exact_match(policy, "uniform")
    with pytest.raises(EquipoiseError, match="too large for an exact best response"):
        equipoise.exploitability(game, policy)


def test_hands_are_dealt_twice_and_can_be_read():
    game, hands = flop_holdem_of(5, 4), []
    play_match("uniform", "always-raise", game=game, hands=60, on_hand=hands.append)
    for first, second in zip(hands[::2], hands[1::2], strict=True):
        dealt = [[a for state, a in hand.events() if state.player == CHANCE] for hand in (first, second)]
        short = min(map(len, dealt))
        assert short >= 2 and dealt[0][:short] == dealt[1][:short]


def test_who_gives_no_distribution_is_named():
    form = policies()[0].form

    class Wrong(RandomStrategy):
        def probabilities_at(self, asked):
            return 0.9 * super().probabilities_at(asked)

    wrong = HoldemPolicy(rules=form.game, strategy=Wrong(form))
    with pytest.raises(EquipoiseError, match=r"B does not give probabilities for the 3 actions at '.*\|"):
        play_match(policies()[0], wrong, game=form.game, hands=10)
