"""AIVAT is unbiased whatever it believes, exact where it believes the truth, and equals its slow twin hand by hand."""

import numpy as np
import pytest

from equipoise.evaluation.aivat import LuckCorrector, paying_one
from equipoise.evaluation.match import correction_table
from equipoise.trees.best_response import Evaluator
from equipoise.trees.tables import TableMap
from tests.naive.aivat import NaiveAivat, all_hands
from tests.samples import prepared
from tests.strategies import layout, random_policy, to_policy, to_strategies

GAMES = [("kuhn_poker", "public"), ("kuhn_poker", "histories"), ("leduc_with_one_raise", "public")]
LARGER = [*GAMES, ("leduc_poker", "public"), ("leduc_poker", "histories"), ("goofspiel(cards=4)", "histories")]


def policies(form):
    return random_policy(form, 1), random_policy(form, 2)


def seated(first, second, seat):
    """Return the policies by seat when ``first`` sits in ``seat``."""
    return (first, second) if seat == 0 else (second, first)


def values_to_believe(prepared_game, corrector, seat, known, kind):
    plex = prepared_game.form.treeplexes[seat]
    if kind == "self-play":
        both = to_strategies(prepared_game.form, known)
        return corrector.values(seat, both[1 - seat], both[seat])
    if kind == "nothing":
        return np.zeros(plex.num_infosets)
    return np.random.default_rng(seat).normal(size=plex.num_infosets) * 10.0


@pytest.mark.parametrize(("text", "tree"), LARGER)
@pytest.mark.parametrize("kind", ["self-play", "nothing", "random"])
@pytest.mark.parametrize("own_known", [False, True])
def test_the_expectation_over_all_hands_is_the_exact_value(text, tree, kind, own_known):
    game = prepared(text, tree)
    known, other = policies(game.form)
    corrector = LuckCorrector(game.form, paying_one(game.sampled))
    for seat in range(2):  # the observer's
        pair = seated(other, known, seat)
        met, own = to_strategies(game.form, known)[1 - seat], to_strategies(game.form, other)[seat]
        values = values_to_believe(game, corrector, seat, known, kind)
        found = corrector.corrections(seat, met, values, own if own_known else None)
        added = {key: found.by_action[sequences] for key, sequences in layout(game.form)[seat]}
        total, payoffs = 0.0, 0.0
        for end, probability, decisions in all_hands(game.game, pair):
            estimate = found.start + sum(added[key][place] for player, key, place in decisions if player == seat)
            total += probability * estimate
            payoffs += probability * end.payoff() * (1 if seat == 0 else -1)
        exact = Evaluator(game.form).value(seated(own, met, seat)) * (1 if seat == 0 else -1)
        assert total == pytest.approx(payoffs, abs=1e-11)
        assert exact == pytest.approx(payoffs, abs=1e-11)
        if kind == "random":  # the start alone is far from the truth: the corrections did the work
            assert abs(found.start - exact) > 0.01


@pytest.mark.nojit
@pytest.mark.parametrize(("text", "tree"), GAMES)
@pytest.mark.parametrize("own_known", [False, True])
def test_every_hand_is_estimated_as_the_slow_twin_does(text, tree, own_known):
    game = prepared(text, tree)
    known, other = policies(game.form)
    corrector = LuckCorrector(game.form, paying_one(game.sampled))
    for seat in range(2):
        met, own = to_strategies(game.form, known)[1 - seat], to_strategies(game.form, other)[seat]
        values = values_to_believe(game, corrector, seat, known, "random")
        found = corrector.corrections(seat, met, values, own if own_known else None)
        by_key = dict(zip(game.form.keys(seat), values.tolist(), strict=True))
        added = {key: found.by_action[sequences] for key, sequences in layout(game.form)[seat]}
        naive = NaiveAivat(game.game, seat, known, by_key, other if own_known else None)
        estimates = []
        for _, _, decisions in all_hands(game.game, seated(other, known, seat)):
            mine = [(key, place) for player, key, place in decisions if player == seat]
            estimates.append(found.start + sum(added[key][place] for key, place in mine))
            assert estimates[-1] == pytest.approx(naive.estimate(mine), abs=1e-10)
        assert np.ptp(estimates) > 1.0


@pytest.mark.parametrize(("text", "tree"), LARGER)
def test_true_values_leave_no_variance(text, tree):
    game = prepared(text, tree)
    known, other = policies(game.form)
    corrector = LuckCorrector(game.form, paying_one(game.sampled))
    for seat in range(2):
        met, own = to_strategies(game.form, known)[1 - seat], to_strategies(game.form, other)[seat]
        truth = corrector.values(seat, met, own)
        found = corrector.corrections(seat, met, truth, own)
        assert found.start == pytest.approx(
            Evaluator(game.form).value(seated(own, met, seat)) * (1 if seat == 0 else -1), abs=1e-12
        )
        reached = np.repeat(corrector.reach(seat, met) > 0, game.form.treeplexes[seat].num_actions())
        sequences, _ = game.form.treeplexes[seat].sequence_table()
        assert np.abs(found.by_action[sequences][reached]).max() < 1e-12
        # An unknown observer's own choices stay in the estimate ...
        unknown = corrector.corrections(seat, met, truth)
        assert np.abs(unknown.by_action).max() > 0.1
        # ... unless it makes none: what a pure strategy plays adds nothing.
        pure = likeliest(game, seat, own)
        truth = corrector.values(seat, met, pure)
        found = corrector.corrections(seat, met, truth)
        played = (pure[sequences] > 0) & reached
        assert np.abs(found.by_action[sequences][played]).max() < 1e-12


def likeliest(game, seat, strategy):
    """Return a pure strategy: in each infoset the likeliest action of a mixed one."""
    pure = np.ones(len(strategy))
    for _, sequences in layout(game.form)[seat]:
        pure[sequences] = 0.0
        pure[sequences[np.argmax(strategy[sequences])]] = 1.0
    return pure


@pytest.mark.parametrize("known", ["both", "a", "b"])
def test_a_match_corrects_the_right_players_actions(known):
    game = prepared("kuhn_poker", "public")
    first, second = policies(game.form)
    strategies = to_strategies(game.form, first), to_strategies(game.form, second)
    table, starts = correction_table(game.form, game.sampled, strategies, known)
    rows = to_policy(game.form, TableMap(game.form).to_form(np.abs(table.strategies[: table.corrections.size])))
    assert rows == {key: pytest.approx(row) for key, row in first.items()}
    added = game.policy(table.corrections)
    observer = 0 if known == "b" else 1  # A or B
    for seat in range(2):  # of A
        pair = seated(first, second, seat)
        acting = seat if observer == 0 else 1 - seat
        total = payoffs = 0.0
        for end, probability, decisions in all_hands(game.game, pair):
            total += probability * (starts[seat] + sum(added[k][place] for p, k, place in decisions if p == acting))
            payoffs += probability * end.payoff() * (1 if seat == 0 else -1)
        assert total == pytest.approx(payoffs, abs=1e-12)
