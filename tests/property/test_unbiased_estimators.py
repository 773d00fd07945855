"""Every estimator is right on average, exactly: all samples of a traversal are enumerated and weighed by probability.

The truth comes from recursion over all histories (``tests.naive``). Regrets: the counterfactual regrets (DN19 Lemma 5,
G12 Proposition 1). Stochastic average (G12 line 27): the probability of an infoset's histories, with the traverser's
actions counted as certain. Records of own reach: the probability that a traversal meets the infoset.
"""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from equipoise.regret.rules import CFR
from equipoise.sampling.schemes import External, Inclusion, Outcome, Robust, Scheme
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.solvers.sampled import SampledCFR
from equipoise.trees.tables import TableMap
from tests.naive.remembered import Remembered
from tests.naive.sampling import Inclusion as Walked
from tests.naive.sampling import exact_expectations
from tests.naive.values import histories
from tests.random_games import RandomGame
from tests.samples import TooManySamplesError, every_sample, expected, game_of, prepare, prepared

EXACT = {"rtol": 0.0, "atol": 1e-12}


class Case(NamedTuple):
    """A scheme, and a slow way to say with what probability it walks each action."""

    scheme: Scheme
    inclusion: Walked
    full_support: bool = False  # on-policy samples never see an action of probability zero


def all_actions(names, strategy):
    return [1.0] * len(names)


def mixture(epsilon):
    return lambda names, strategy: [epsilon / len(names) + (1 - epsilon) * p for p in strategy]


def subset(k):
    return lambda names, strategy: [min(k, len(names)) / len(names)] * len(names)


def each(always, p):
    def inclusion(names, strategy):
        certain = [name.split(" ")[0] in always for name in names]
        return [1.0 if walked or not any(certain) else p for walked in certain]

    return inclusion


CASES = {
    "external": Case(External(), all_actions),
    "outcome": Case(Outcome(epsilon=0.6), mixture(0.6)),
    "outcome on-policy": Case(Outcome(epsilon=0.0), mixture(0.0), full_support=True),
    "robust 1": Case(Robust(k=1), subset(1)),
    "robust 2": Case(Robust(k=2), subset(2)),
    "robust max": Case(Robust(k=0), all_actions),
    "robust 1 from strategy": Case(Robust(k=1, from_strategy=True), mixture(0.0), full_support=True),
    "inclusion 0.5": Case(Inclusion(p=0.5), each({"fold", "bet", "raise"}, 0.5)),
    "inclusion of all but where there is a call": Case(Inclusion(always="call", p=0.3), each({"call"}, 0.3)),
    "inclusion 0.3": Case(Inclusion(always="call|pass|check", p=0.3), each({"call", "pass", "check"}, 0.3)),
}
nojit = pytest.mark.nojit
GAMES = [
    pytest.param("kuhn_poker", "public", marks=nojit),
    pytest.param("kuhn_poker", "histories", marks=nojit),
    pytest.param("no_limit_kuhn", "public", marks=nojit),
    pytest.param("no_limit_kuhn", "histories", marks=nojit),
    ("one_card_poker(cards=4)", "public"),
    ("one_card_poker(cards=4)", "histories"),
    ("nl_leduc(stack=2)", "public"),
    ("nl_leduc(stack=2)", "histories"),
    ("leduc_with_one_raise", "public"),
    ("leduc_with_one_raise", "histories"),
]
every_case = pytest.mark.parametrize("case", CASES)
every_game = pytest.mark.parametrize(("text", "tree"), GAMES)
probing = pytest.mark.parametrize("probe", [False, True], ids=["", "probe"])
both_players = pytest.mark.parametrize("traverser", [0, 1])


@cache
def remembered(text):
    return Remembered(game_of(text))


@cache
def regrets_of(text, tree, full_support):
    game = prepared(text, tree)
    regrets = game.random_regrets(3, full_support=full_support)
    probabilities = [p for row in game.matched(regrets).values() for p in row]
    assert full_support == (min(probabilities) > 0.0)
    assert 0.0 < np.mean(np.array(probabilities) == 0.5) < 0.5 or full_support  # some rows have no positive regret
    return regrets


@cache
def truth(text, tree, case, traverser):
    game, regrets = prepared(text, tree), regrets_of(text, tree, CASES[case].full_support)
    return exact_expectations(remembered(text), game.matched(regrets), traverser, CASES[case].inclusion)


@cache
def found(text, tree, case, probe, traverser):
    scheme = replace(CASES[case].scheme, probe=probe)
    return expected(prepared(text, tree), scheme, regrets_of(text, tree, CASES[case].full_support), traverser)


def strategy_table(text, tree, case):
    game = prepared(text, tree)
    return game.table(game.matched(regrets_of(text, tree, CASES[case].full_support)))


def spread(text, tree, numbers):
    """Return a table from one number per infoset."""
    game = prepared(text, tree)
    rows = game.policy(np.ones(sum(game.sampled.table_sizes)))
    return game.table({key: np.full(len(rows[key]), number) for key, number in numbers.items()})


@both_players
@probing
@every_case
@every_game
def test_regrets_are_the_counterfactual_regrets_on_average(text, tree, case, probe, traverser):
    got = found(text, tree, case, probe, traverser)
    exact = prepared(text, tree).table(truth(text, tree, case, traverser).regret)
    assert np.abs(exact).max() > 0.05
    assert got.probability == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(got.regret, exact, **EXACT)


@both_players
@probing
@every_case
@every_game
def test_the_stochastic_average_grows_by_reach_on_average(text, tree, case, probe, traverser):
    got, exact = found(text, tree, case, probe, traverser), truth(text, tree, case, traverser)
    strategy = strategy_table(text, tree, case)
    np.testing.assert_allclose(got.average, spread(text, tree, exact.reach) * strategy, **EXACT)
    # That is a constant of the game x the averaged player's own reach x its strategy: after normalisation, the average.
    constants, own_reach = spread(text, tree, exact.chance), spread(text, tree, exact.opponents_reach)
    np.testing.assert_allclose(got.average, constants * own_reach * strategy, **EXACT)
    assert got.average.max() > 0.01


@both_players
@probing
@every_case
@every_game
def test_own_reach_records_are_reach_times_strategy_where_a_traversal_comes(text, tree, case, probe, traverser):
    got, exact = found(text, tree, case, probe, traverser), truth(text, tree, case, traverser)
    np.testing.assert_allclose(got.visited, spread(text, tree, exact.visits), **EXACT)
    own_reach = spread(text, tree, exact.own_reach)
    np.testing.assert_allclose(got.own_reach, got.visited * own_reach * strategy_table(text, tree, case), **EXACT)
    assert got.own_reach.max() > 0.01


@pytest.mark.parametrize(
    ("text", "tree", "case"),
    [
        ("leduc_poker", "public", "external"),
        ("nl_leduc(stack=3)", "public", "external"),
        ("nl_leduc(stack=3)", "public", "outcome"),
        ("nl_leduc(stack=3)", "histories", "outcome"),
        ("nl_leduc(stack=3)", "public", "robust 1"),
        ("goofspiel(cards=3)", "histories", "external"),
        ("goofspiel(cards=3)", "histories", "outcome"),
        ("goofspiel(cards=3)", "histories", "robust 2"),
    ],
)
@both_players
def test_larger_games_where_the_samples_can_still_be_counted(text, tree, case, traverser):
    got = found(text, tree, case, False, traverser)
    exact = prepared(text, tree).table(truth(text, tree, case, traverser).regret)
    assert got.probability == pytest.approx(1.0, abs=1e-11)
    np.testing.assert_allclose(got.regret, exact, rtol=0.0, atol=1e-11)


@settings(max_examples=200)
@given(
    seed=st.integers(0, 2**32 - 1),
    depth=st.integers(1, 5),
    secrecy=st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    case=st.sampled_from(list(CASES)),
    probe=st.booleans(),
    traverser=st.integers(0, 1),
)
def test_random_games(seed, depth, secrecy, case, probe, traverser):
    """Chance that is not uniform, infosets of one action, nodes after which a player has no more to say."""
    rules = Remembered(RandomGame(seed=seed, depth=depth, max_actions=3, secrecy=secrecy))
    assume(any(state.player >= 0 for state in histories(rules)))
    chosen = CASES[case]
    scheme, inclusion = chosen.scheme, chosen.inclusion
    if isinstance(scheme, Inclusion):
        scheme, inclusion = Inclusion(always="0|2", p=scheme.p), each({"0", "2"}, scheme.p)
    game = prepare(rules, "histories")
    regrets = game.random_regrets(seed, full_support=chosen.full_support)
    try:
        got = expected(game, replace(scheme, probe=probe), regrets, traverser, limit=20_000)
    except TooManySamplesError:
        assume(False)
    policy = game.matched(regrets)
    exact = exact_expectations(rules, policy, traverser, inclusion)
    assert got.probability == pytest.approx(1.0, abs=1e-11)
    np.testing.assert_allclose(got.regret, game.table(exact.regret), rtol=0.0, atol=1e-10)  # payoffs of up to 10
    average = {key: [reach * p for p in policy[key]] for key, reach in exact.reach.items()}
    np.testing.assert_allclose(got.average, game.table(average), rtol=0.0, atol=1e-11)


def walked_actions(rows, tape, k):
    """Return, for each of the traverser's rows, which actions a robust sample on a public tree walks, from its tape."""
    draws = iter(tape[1:])  # the first draw is the deal
    walked = []
    for row in rows:
        if not row.own:
            next(draws)
            continue
        size, count = min(k, len(row.strategy)), len(row.strategy)
        chosen = []
        for action in range(count):
            left = count - action
            if size == 0:
                chosen.append(False)
            elif size == left:
                chosen.append(True)
            else:
                chosen.append(next(draws)[1] == 0.0)
            size -= chosen[-1]
        walked.append(chosen)
    assert next(draws, None) is None
    return walked


@nojit
@pytest.mark.parametrize(("text", "traverser"), [("kuhn_poker", 0), ("no_limit_kuhn", 0), ("no_limit_kuhn", 1)])
def test_wrong_estimators_from_the_same_samples_are_seen_to_be_wrong(text, traverser):
    """The tests above can fail: the right sums pass, and four ways to get an estimator wrong do not."""
    game, case = prepared(text, "public"), "robust 1"
    regrets = regrets_of(text, "public", False)
    names = ["right", "left-out actions get no regret", "no weight of the sample", "own values not over inclusion"]
    sums = {name: np.zeros(len(regrets)) for name in names}
    averages = {name: np.zeros(len(regrets)) for name in ("right", "no weight of the sample")}
    for probability, rows, tape in every_sample(game, Robust(k=1), regrets, traverser):
        walked = iter(walked_actions(rows, tape, 1))
        for row in rows:
            place = slice(row.entry, row.entry + len(row.strategy))
            if not row.own:
                averages["right"][place] += probability * row.strategy / row.sample_reach
                averages["no weight of the sample"][place] += probability * row.strategy
                continue
            here = np.array(next(walked))
            sums["right"][place] += probability * row.regrets
            sums["left-out actions get no regret"][place] += probability * row.regrets * here  # DN19 Alg. 3, literally
            sums["no weight of the sample"][place] += probability * row.regrets * row.sample_reach
            sums["own values not over inclusion"][place] += probability * row.regrets * here.mean()
    exact = truth(text, "public", case, traverser)
    regret = game.table(exact.regret)
    average = spread(text, "public", exact.reach) * strategy_table(text, "public", case)
    np.testing.assert_allclose(sums.pop("right"), regret, **EXACT)
    np.testing.assert_allclose(averages.pop("right"), average, **EXACT)
    for name, wrong in sums.items():
        assert np.abs(wrong - regret).max() > 1e-3, name
    assert np.abs(averages["no weight of the sample"] - average).max() > 1e-3


@nojit
def test_on_policy_samples_miss_actions_of_probability_zero():
    """Why outcome sampling explores: with epsilon = 0 an action that is never played looks worth nothing."""
    game, regrets = prepared("kuhn_poker", "public"), regrets_of("kuhn_poker", "public", False)
    got = expected(game, Outcome(epsilon=0.0), regrets, 0)
    assert got.probability == pytest.approx(1.0, abs=1e-12)
    exact = game.table(truth("kuhn_poker", "public", "outcome", 0).regret)
    assert np.abs(got.regret - exact).max() > 1e-2


@cache
def bluff():
    """Return two dice against one, where its opening infosets are in the tables, and their regrets at uniform play."""
    game = prepared("bluff(dice=2x1)", "public")
    full = FullWidthCFR(game.form, CFR(), updates="simultaneous")
    full.run(1)
    plexes = game.form.treeplexes
    exact = np.concatenate([sums[plex.sequence_table()[0]] for sums, plex in zip(full.regret_sum, plexes, strict=True)])
    opening = np.concatenate([np.repeat(depth_zero(plex), plex.num_actions()) for plex in plexes])
    return game, opening, exact[opening]


@pytest.mark.parametrize(
    "scheme", [Robust(k=1), Inclusion(), Outcome(probe=True)], ids=["robust", "inclusion", "outcome"]
)
def test_the_rounds_of_bluff_are_right_within_noise(scheme, seed, level):
    """Deals that are not equally likely, and rounds after rounds. Too many samples to count, so they are drawn."""
    game, opening, exact = bluff()
    solver = SampledCFR(TableMap(game.form), game.sampled, scheme, CFR(), batch=1000, updates="simultaneous", seed=seed)
    batches = []
    for _ in range(24):
        solver.run(1)
        batches.append(solver.regret_sum[opening])
        solver.regret_sum[:] = 0.0  # back to uniform play
    mean, error = np.mean(batches, axis=0), np.std(batches, axis=0, ddof=1) / np.sqrt(len(batches))
    met = error > 0.0
    assert met.sum() > 1500
    # 16 seeds, all three schemes (least, medians, largest): regrets 7.2, 7.9 to 51, 57; squares 1.03, 1.09 to 1.11,
    # 1.21; means -0.020, -0.014 to 0.026, 0.036.
    assert level(np.mean((exact[met] / error[met]) ** 2), "regrets") > 5.0  # the noise does not hide the regrets
    scores = (mean - exact)[met] / error[met]
    assert (
        0.8 < level(np.mean(scores**2), "squares") < 1.5
    )  # 23 / 21 is expected: the square of a number with Student's distribution
    assert abs(level(np.mean(scores), "mean")) < 0.2


def depth_zero(plex):
    """Return which infosets are the first that their player comes to in a round."""
    return plex.parent_sequence < plex.num_subgames
