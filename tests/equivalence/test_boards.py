"""Solving over canonical boards equals solving with every hand and board listed; and its own promises."""

from math import comb

import numpy as np
import pytest

import equipoise
from equipoise.errors import EquipoiseError
from equipoise.games.notation import read_infoset
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.policies.policy import policy_from_strategies
from equipoise.runs.directory import RunDirectory
from equipoise.sampling.board_sample import BoardSample
from equipoise.solvers.board_cfr import BoardCFR
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.trees.best_response import Evaluator
from equipoise.trees.board_evaluator import BoardEvaluator
from equipoise.trees.board_form import board_form, entries_before
from equipoise.trees.compile import compile_game
from equipoise.trees.treeplex import normalised
from tests.board_strategies import RandomStrategy
from tests.equivalence.test_resume import kill_after_a_checkpoint
from tests.holdem import small_holdem, write_small_holdem
from tests.solvers import RULES
from tests.suits import locate, start_index


@pytest.fixture(scope="module")
def small():
    """Return the form over boards, the form with everything listed, and the way between them."""
    game = small_holdem()
    form, raw = board_form(game), compile_game(game, "vector")
    places = []  # per player: the raw sequence, the round, the place in a table over boards
    for player, plex in enumerate(raw.treeplexes):
        rows = []
        infosets = zip(raw.keys(player), plex.first_sequences(), plex.strides(), plex.num_actions(), strict=True)
        for key, sequence, stride, actions in infosets:
            infoset = read_infoset(game, key)
            betting_round, node = form.node_of[infoset.betting.text]
            trees = form.betting[betting_round]
            entry = entries_before(trees)[player] + trees.node_row[node] - trees.roots
            if betting_round == 0:
                width, start, own = form.num_starting_classes, 0, start_index(form.cards, infoset.hand)
            else:
                board, own = locate(form.cards, infoset.hand, infoset.board)
                width, start = int(np.diff(form.pairs.first_pair)[board]), form.block(board).start
            rows += [
                (sequence + action * stride, betting_round, start + (entry + action) * width + own)
                for action in range(actions)
            ]
        places.append(np.array(rows))
    return form, raw, places


def spread(small, tables, scales=(1.0, 1.0)):
    """Return tables over boards (first round, second round) as arrays in the raw form's order."""
    _, raw, places = small
    arrays = []
    for plex, rows in zip(raw.treeplexes, places, strict=True):
        array = np.ones(plex.num_sequences)
        for betting_round in range(2):
            sequences, _, entries = rows[rows[:, 1] == betting_round].T
            array[sequences] = scales[betting_round] * tables[betting_round][entries]
        arrays.append(array)
    return arrays


def chance_of_own_cards(form):
    """Return chance's part of an infoset's counterfactual values, which tables over boards leave out."""
    cards, board = form.game.deck.size, form.game.board_cards[1]
    return 1 / comb(cards, 2), 1 / comb(cards, 2) / comb(cards - 2, board)


@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
@pytest.mark.parametrize("algorithm", ["cfr", "cfr+", "lcfr", "dcfr"])
def test_iterations_equal_those_with_every_hand_listed(small, algorithm, updates):
    form, raw, _ = small
    boards = BoardCFR(form, RULES[algorithm], updates=updates, storage="float64")
    listed = FullWidthCFR(raw, RULES[algorithm], updates=updates)
    # From regrets without pattern: where regrets tie exactly, the last bit decides what is played.
    random, scales = np.random.default_rng(2), chance_of_own_cards(form)
    for table in (boards.start_regret_sum, boards.boards.regret_sum.stored):
        table[:] = random.normal(size=table.size)
    boards.iteration = listed.iteration = 7
    state = listed.state()
    for player, regrets in enumerate(spread(small, (boards.start_regret_sum, boards.boards.regret_sum.stored), scales)):
        regrets[0] = 0.0
        state[f"regret_sum_{player}"] = regrets
        state[f"strategy_{player}"] = normalised(raw.treeplexes[player], np.maximum(regrets, 0.0))
        state[f"strategy_{player}"][0] = 1.0
    listed.restore(7, state)
    boards.run(4)
    listed.run(4)
    found = spread(small, (boards.start_regret_sum, boards.boards.regret_sum.stored), scales)
    averages = spread(small, (boards.start_strategy_sum, boards.boards.strategy_sum.stored))
    for player in range(2):
        np.testing.assert_allclose(found[player][1:] / scales[1], listed.regret_sum[player][1:] / scales[1], atol=1e-9)
        np.testing.assert_allclose(averages[player][1:], listed.strategy_sum[player][1:], rtol=1e-10, atol=1e-12)
    one = BoardEvaluator(form).best_responses(boards.average_strategy())
    other = Evaluator(raw).best_responses(listed.average_strategy())
    assert one.value == pytest.approx(other.value, abs=1e-11)
    assert one.best_response_values == pytest.approx(other.best_response_values, abs=1e-11)
    assert other.nash_conv > 0.1


def test_any_strategy_is_evaluated_exactly_and_can_be_queried(small):
    form, raw, _ = small
    strategy = RandomStrategy(form)
    tables = np.empty(form.num_start_entries), np.empty(form.num_entries)
    strategy.write_start(tables[0])
    strategy.write_boards(0, form.num_boards, tables[1])
    strategies = tuple(spread(small, tables))
    expected = Evaluator(raw).best_responses(strategies)
    results = [BoardEvaluator(form, threads=threads).best_responses(strategy) for threads in (1, 2)]
    assert results[0] == results[1]
    assert results[0].value == pytest.approx(expected.value, abs=1e-12)
    assert results[0].best_response_values == pytest.approx(expected.best_response_values, abs=1e-12)
    listed = policy_from_strategies(raw, strategies)
    policy = HoldemPolicy(rules=form.game, strategy=strategy)
    for key in listed.keys[:: len(listed.keys) // 150]:
        assert policy.action_probabilities(key) == pytest.approx(listed.action_probabilities(key), abs=1e-12)
    for part in (policy.listed(), policy.listed("3d2c")):
        for key in part.keys[::37]:
            assert part.action_probabilities(key) == pytest.approx(listed.action_probabilities(key), abs=1e-12)
    grid = policy.line("", "").grid()
    assert grid.shape == (4, 4, 3)
    np.testing.assert_allclose(grid.sum(axis=2), 1.0)
    pair, suited, offsuit = (policy.action_probabilities(f"{hand}|")["raise"] for hand in ("5c5d", "5c4c", "5c4d"))
    assert (grid[0, 0, 2], grid[0, 1, 2], grid[1, 0, 2]) == pytest.approx((pair, suited, offsuit))
    with pytest.raises(EquipoiseError, match="needs a board"):
        policy.line("cc/")


def test_threads_and_storage(small):
    form, _, _ = small
    levels = {}
    for storage in ("float64", "float32"):
        solvers = [BoardCFR(form, RULES["cfr+"], storage=storage, threads=threads) for threads in (1, 2)]
        for solver in solvers:
            solver.run(150)
        for name, array in solvers[0].state().items():
            np.testing.assert_array_equal(array, solvers[1].state()[name], err_msg=f"{storage} {name}")
        levels[storage] = BoardEvaluator(form).best_responses(solvers[0].average_strategy()).exploitability
    assert levels["float64"] < 0.005  # uniform play: 1.5
    assert levels["float32"] == pytest.approx(levels["float64"], rel=0.2)


def test_drawn_boards_are_unbiased_and_solve_the_game(small, seed, level):
    form, _, _ = small
    sample = BoardSample(form, 5, seed=1)
    worth = np.random.default_rng(4).random(form.num_boards)
    estimates = []
    for iteration in range(4000):
        boards, weights = sample.draw(iteration, 0)
        assert len(set(boards.tolist())) == 5
        estimates.append((worth[boards] * weights).sum())
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - worth.sum()) < 4 * error and error < 0.02 * worth.sum()
    solver = BoardCFR(form, RULES["lcfr"], storage="float64", boards=5, seed=seed)
    solver.run(1000)
    found = BoardEvaluator(form).best_responses(solver.average_strategy()).exploitability
    assert level(found) < 0.035  # 16 seeds: 0.0174, median 0.0193, 0.0250; uniform play: 1.5
    with pytest.raises(EquipoiseError, match="boards=300 is not valid"):
        BoardSample(form, 300, seed=0)


START = """
import sys, equipoise
equipoise.solve(sys.argv[2], "dcfr", iterations=400, out=sys.argv[1], checkpoint_seconds=0.01)
"""
GO_ON = """
import sys, equipoise
equipoise.resume(sys.argv[1], trust_game=True)
"""


@pytest.mark.processes
def test_a_run_that_is_killed_ends_with_the_bits_of_one_that_was_not(tmp_path):
    text = write_small_holdem(tmp_path / "game.py")
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    kill_after_a_checkpoint(START, killed, text)
    kill_after_a_checkpoint(GO_ON, killed)
    resumed = equipoise.resume(killed, trust_game=True)
    expected = equipoise.solve(text, iterations=400, out=whole, threads=2)
    assert expected.algorithm == "dcfr"
    states = [RunDirectory.open(run).load_checkpoint()[0].state for run in (killed, whole)]
    for name, array in states[0].items():
        np.testing.assert_array_equal(array, states[1][name], err_msg=name)
    assert resumed.nash_conv == expected.nash_conv < 0.01
    assert expected.nash_conv_mbb == pytest.approx(expected.nash_conv * 500)  # the big blind is 2 chips
