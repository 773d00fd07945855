"""Flop hold'em whose flops are solved anew: never worse than before behind a gadget, whatever kept the strategy."""

import numpy as np
import pytest

import equipoise
from equipoise.errors import EquipoiseError
from equipoise.regret.rules import DiscountedCFR, coefficient_table
from equipoise.solvers.board_resolving import ROUNDING, BoardResolving, Room, beside, resolve_flops
from equipoise.stores.board_tables import BoardTableStrategy, SumTable
from equipoise.trees.board_evaluator import BoardEvaluator
from equipoise.trees.board_form import board_form
from tests.board_strategies import RandomStrategy
from tests.holdem import small_holdem, three_rounds
from tests.naive.board_gadgets import NaiveBoard
from tests.suits import locate, start_index


@pytest.fixture(scope="module")
def form():
    return board_form(small_holdem())


def solved(iterations):
    """Return a strategy of a small game after some iterations."""
    return equipoise.solve(small_holdem(), "dcfr", engine="boards", iterations=iterations).policy


def nash_convs(policy, gadget, counts):
    """Return what re-solving with some numbers of iterations comes to."""
    return [equipoise.resolve_flops(policy, gadget=gadget, iterations=count).responses.nash_conv for count in counts]


@pytest.mark.parametrize("gadget", ["cfrd", "maxmargin"])
def test_a_poor_strategy_gets_better_and_stays_as_it_is_before_the_flop(gadget):
    before = solved(5)
    found = equipoise.resolve_flops(before, gadget=gadget, iterations=100)
    assert found.before.nash_conv > 0.7
    assert found.exploitability < 0.7 * found.before.exploitability
    assert found.warning is None
    assert found.exploitability == pytest.approx(equipoise.exploitability(before.rules, found.policy))
    game = before.rules
    changed = []
    for hand in game.hands:
        for line in ("", "c", "r"):
            key = game.infoset_text(hand, (), line)
            assert list(found.policy[key].values()) == pytest.approx(list(before[key].values()), abs=1e-12)
        board = next(cards for cards in found.policy.form.cards.boards.tolist() if set(hand).isdisjoint(cards))
        key = game.infoset_text(hand, tuple(board), "cc/")
        new, old = (np.array(list(each[key].values())) for each in (found.policy, before))
        changed.append(abs(new - old).max())
    assert np.mean(changed) > 0.05


@pytest.mark.parametrize("gadget", ["cfrd", "maxmargin"])
def test_safe_re_solving_tends_to_the_blueprint(gadget):
    errors = nash_convs(solved(1000), gadget, (10, 100, 1000))
    assert errors[2] < 2e-4 < 1e-3 < errors[1] < 0.01 < 0.1 < errors[0]


@pytest.mark.parametrize("gadget", ["cfrd", "maxmargin"])
@pytest.mark.parametrize("seed", range(3))
def test_neither_player_loses_more_than_before_whatever_the_strategy_was(form, gadget, seed):
    given, evaluator = RandomStrategy(form, seed), BoardEvaluator(form)
    before = evaluator.best_responses(given).best_response_values
    new = resolve_flops(form, given, gadget=gadget, iterations=400)
    after = evaluator.best_responses(new).best_response_values
    assert all(now < 0.8 * then for now, then in zip(after, before, strict=True))
    for count, entries in ((form.num_start_entries, "write_start"), (form.num_entries, None)):
        old, now = np.empty(count), np.empty(count)
        if entries:
            given.write_start(old)
            new.write_start(now)
            np.testing.assert_allclose(now, old, atol=1e-12)


def test_threads_change_no_bit(form):
    given = RandomStrategy(form)
    one, two = (resolve_flops(form, given, iterations=20, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.sums.stored, two.sums.stored)


def test_unsafe_is_said_to_be(form):
    found = equipoise.resolve_flops(solved(5), gadget="unsafe", iterations=20)
    assert "unsafe" in found.warning and "cfrd" in found.warning


@pytest.mark.nojit
def test_what_is_left_beside_a_hand_is_counted_hand_by_hand(form):
    game, board = form.game, 3
    cards = tuple(form.cards.boards[board].tolist())
    entering = np.random.default_rng(1).random(form.num_starting_classes)
    found = beside(form, board, entering)
    hands = [hand for hand in game.hands if set(hand).isdisjoint(cards)]
    for hand in hands:
        left = sum(entering[start_index(form.cards, other)] for other in hands if set(other).isdisjoint(hand))
        assert found[locate(form.cards, hand, cards)[1]] == pytest.approx(left)
    nobody = np.zeros_like(entering)
    nobody[start_index(form.cards, hands[0])] = 1.0
    assert (beside(form, board, nobody) >= 0.0).all() and ROUNDING > 0.0


@pytest.mark.nojit
@pytest.mark.parametrize("opponent", [0, 1])
@pytest.mark.parametrize("gadget", ["cfrd", "maxmargin"])
def test_iterations_equal_those_hand_by_hand(form, gadget, opponent):
    """On a board, from regrets without pattern: where regrets tie exactly, the last bit decides what is played."""
    game, board, iterations, random = form.game, 5, 6, np.random.default_rng(3)
    sums = SumTable(random.uniform(0.1, 1.0, form.num_entries), np.zeros(0, np.float32))
    given = BoardTableStrategy(form, random.uniform(0.1, 1.0, form.num_start_entries), sums)
    work = BoardResolving(form, given, gadget, iterations, threads=1)
    work.rooms = [Room(form, "maxmargin")]  # in double precision
    room, width = work.rooms[0], int(np.diff(form.pairs.first_pair)[board])
    classes, roots = _hands_and_roots(form, board)
    regret, place = {}, {}
    for state, player, row, actions in _decisions(form):
        place[state.text] = player, slice(row * width, (row + actions) * width), actions
        room.regrets[player][place[state.text][1]] = random.uniform(-0.02, 0.02, actions * width)
        regret[state.text] = _rows(room.regrets[player], place[state.text], classes)
    work.bound(0, board, opponent)
    bounds = room.gadgets.given[: len(roots) * width].reshape(len(roots), width) / np.bincount(classes)
    cards = tuple(form.cards.boards[board].tolist())
    start = [start_index(form.cards, hand) for hand in game.hands if set(hand).isdisjoint(cards)]
    reach = [[work.entered.entering[player, root, start] for root in range(len(roots))] for player in range(2)]
    work.rules = rules = coefficient_table(DiscountedCFR(), 7, iterations)  # the first would forget these regrets
    naive = NaiveBoard(game, cards, roots, reach, opponent, gadget, bounds, rules, classes, regret)
    naive.run()
    work.iterate(0, board, opponent)
    for text, where in place.items():
        if where[0] != opponent:
            found, wanted = _shares(_rows(room.sums[where[0]], where, classes)), _shares(naive.sums[text])
            assert 0.005 < wanted.min(axis=0).mean() < wanted.max(axis=0).mean() < 0.99
            np.testing.assert_allclose(found, wanted, atol=1e-9, err_msg=text)


def _hands_and_roots(form, board):
    """Return the class of each hand on a board, and the betting states in which boards have been dealt, by root."""
    cards = tuple(form.cards.boards[board].tolist())
    hands = [hand for hand in form.game.hands if set(hand).isdisjoint(cards)]
    classes = np.array([locate(form.cards, hand, cards)[1] for hand in hands])
    pairs = zip(form.betting[1].node_before.tolist(), form.states[1], strict=True)
    found = {before: state for before, state in pairs if state.text.endswith("/")}
    return classes, [found[root] for root in range(form.betting[1].roots)]


def _decisions(form):
    """Yield each decision on boards: the betting, who acts, where its entries begin, and how many there are."""
    betting = form.betting[1]
    for node, state in enumerate(form.states[1]):
        yield state, state.player, int(betting.node_row[node]) - betting.roots, int(betting.node_actions[node])


def _rows(array, where, classes):
    """Return a decision's numbers, [actions, hands]."""
    return np.array(array[where[1]], np.float64).reshape(where[2], -1)[:, classes]


def _shares(sums):
    total = sums.sum(axis=0)
    return sums / np.where(total > 0, total, 1.0)


def test_what_cannot_be_re_solved_is_refused():
    for policy, words in (
        (equipoise.solve("kuhn_poker", iterations=2).policy, "kuhn_poker"),
        (
            equipoise.solve(three_rounds(5, 2), "es-mccfr", iterations=2, parameters={"buckets": "ehs2:2"}).policy,
            "rounds after the flop",
        ),
    ):
        with pytest.raises(EquipoiseError, match=words):
            equipoise.resolve_flops(policy)
    for wanted, words in (({"iterations": 0}, "iterations"), ({"gadget": "safe"}, "maxmargin")):
        with pytest.raises(EquipoiseError, match=words):
            equipoise.resolve_flops(solved(2), **wanted)
