"""Bluff in several rounds: rounds solved as subgames, each with what it leads to, equal the whole game by its rules."""

from dataclasses import replace
from functools import cache

import pytest

from equipoise.games import bluff
from equipoise.games.bluff import Bluff, BluffRound, bid_holds, roll_probabilities, rolls
from equipoise.trees.best_response import Evaluator
from equipoise.trees.build_bluff import bluff_public_tree
from equipoise.trees.compile import build_public_tree, compile_game
from equipoise.trees.public_tree import vector_form
from tests.naive import values as naive
from tests.naive.remembered import Remembered
from tests.solvers import solved
from tests.strategies import random_policy, to_policy, to_strategies


@pytest.fixture
def coins(monkeypatch):
    """Play Bluff with two-sided dice, so that naive recursion through all rounds is possible."""
    monkeypatch.setattr(bluff, "FACES", 2)
    monkeypatch.setattr(bluff, "WILD", 1)
    for cached in (rolls, roll_probabilities):
        cached.cache_clear()
    yield
    for cached in (rolls, roll_probabilities):
        cached.cache_clear()


@pytest.mark.nojit
@pytest.mark.usefixtures("coins")
@pytest.mark.parametrize("dice", [(1, 1), (2, 1), (1, 2)])
def test_rounds_equal_the_whole_game(dice):
    game = Remembered(Bluff(dice))
    form = compile_game(Bluff(dice))
    assert form.treeplexes[0].num_subgames == (1 if dice == (1, 1) else 2)
    for seed in range(2):
        policy = random_policy(form, seed)
        found = Evaluator(form).best_responses(to_strategies(form, policy))
        assert found.value == pytest.approx(naive.expected_value(game.root(), policy), abs=1e-12)
        for player in range(2):
            expected = naive.best_response_value(game, policy, player)
            assert found.best_response_values[player] == pytest.approx(expected, abs=1e-12)


@pytest.mark.usefixtures("coins")
def test_three_rounds_in_a_chain():
    """With two dice each a game has up to three rounds, and mirrored ones: here rounds are valued one by one."""
    game = Bluff((2, 2))
    form = compile_game(game)
    assert form.treeplexes[0].num_subgames == 5
    policy = random_policy(form, 0)
    values = {}

    def value(state):
        if state.rolled == () and state.round != current:
            return values[state.round]  # a later round: its value does not depend on how it was reached
        if state.player == -2:
            return state.payoff()
        return sum(p * value(child) for child, p in naive.children(state, policy) if p > 0)

    for current in game.rounds():
        values[current] = value(bluff.BluffState(game, current, (), ()))
    found = Evaluator(form).best_responses(to_strategies(form, policy))
    assert found.value == pytest.approx(values[BluffRound((2, 2), 0)], abs=1e-12)


@pytest.mark.usefixtures("coins")
def test_mirrored_rounds_are_learned_as_mirror_images():
    """Two dice against one with player 1 to open is one against two with player 0 to open, with the players changed."""
    form = compile_game(Bluff((2, 2)))
    run = solved(form, "cfr+", 30, updates="simultaneous")
    policy = to_policy(form, run.average_strategy())
    compared = 0
    for mirror, here in (("1x2 P0 opens", "2x1 P1 opens"), ("1x1 P0 opens", "1x1 P1 opens")):
        for key in policy:
            if key.startswith(mirror):
                assert policy[key.replace(mirror, here)] == pytest.approx(policy[key], abs=1e-12)
                compared += 1
    assert compared == 160 + 32


@pytest.mark.usefixtures("coins")
def test_chained_rounds_converge_to_an_equilibrium_of_the_whole_game():
    game, form = Remembered(Bluff((2, 1))), compile_game(Bluff((2, 1)))
    uniform = naive.nash_conv(game, naive.uniform_policy(game))
    for algorithm, share in (("cfr+", 0.005), ("dcfr", 0.005), ("pcfr+", 0.005), ("xfp", 0.1)):
        run = solved(form, algorithm, 2000)
        assert naive.nash_conv(game, to_policy(form, run.average_strategy())) < share * uniform, algorithm


def uniform_value(current: BluffRound) -> float:
    """Return the value of a round, and all after it, when both players choose every action with the same probability.

    Nothing that is said tells of a roll then, so the last bid and who is to answer it are all that matters.
    """
    deals = [
        (p * q, mine, theirs)
        for mine, p in zip(rolls(current.dice[0]), roll_probabilities(current.dice[0]), strict=True)
        for theirs, q in zip(rolls(current.dice[1]), roll_probabilities(current.dice[1]), strict=True)
    ]
    outcome = [end_of_round(current, loser) for loser in (0, 1)]

    @cache
    def value(last_bid: int, player: int) -> float:
        after = [value(bid, 1 - player) for bid in range(last_bid + 1, current.bids)]
        if last_bid >= 0:
            holds = sum(p for p, mine, theirs in deals if bid_holds(last_bid, mine, theirs))
            after.append(holds * outcome[player] + (1 - holds) * outcome[1 - player])
        return sum(after) / len(after)

    return value(-1, current.opener)


def end_of_round(current: BluffRound, loser: int) -> float:
    following = current.after_loss(loser)
    if following is not None:
        return uniform_value(following)
    return 1.0 if loser == 1 else -1.0


@pytest.mark.parametrize("dice", [(1, 1), (2, 1), (1, 2)])
def test_uniform_play_of_the_full_size_game(dice):
    form = vector_form(build_public_tree(Bluff(dice)))
    uniform = tuple(plex.uniform_strategy() for plex in form.treeplexes)
    assert Evaluator(form).best_responses(uniform).value == pytest.approx(uniform_value(BluffRound(dice, 0)), abs=1e-12)


def test_keys_of_a_form_are_made_once():
    """A policy of Bluff 2x1 has millions of infosets: making their keys again for each question took minutes."""
    tree, asked = bluff_public_tree(Bluff(dice=(1, 1))), []
    counting = replace(tree, infoset_text=lambda node, label: asked.append(node) or tree.infoset_text(node, label))
    form = vector_form(counting)
    first = [form.keys(player) for player in range(2)]
    assert [form.keys(player) for player in range(2)] == first
    assert len(asked) == form.num_infosets == len({key for keys in first for key in keys})
