"""Hand strength as networks see it: the slow definition, the right row for every holding, and what it is good for."""

import numpy as np
import pytest
import torch

from equipoise.errors import EquipoiseError, NotSupported
from equipoise.games import load_game
from equipoise.networks.fitting import Examples, Fitting
from equipoise.networks.holdem import CardsAndBets
from equipoise.networks.poker_rows import poker_rows
from equipoise.networks.strength import COUNTS, FEATURES, GROUPS, KNOTS, hand_strength, start_groups, wins
from equipoise.networks.trained import TrainedNetwork
from equipoise.solvers.recipes import RECIPES
from equipoise.stores.answers import answers_of
from equipoise.stores.board_average import MixturePlay, open_play
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.board_form import board_form
from equipoise.trees.codes import Grid, codes_of
from tests.holdem import flop_holdem_of, three_rounds
from tests.naive.strength import win_share
from tests.suits import pair_index, start_index


def test_wins_are_those_of_all_hands_against_all_hands():
    form = board_form(flop_holdem_of(5, 2))
    generator = np.random.default_rng(0)
    group = generator.integers(0, GROUPS, form.num_starting_classes)
    found, cards = wins(form, group), form.cards
    hands = [tuple(hand) for hand in cards.hands.tolist()]
    for board in range(0, form.num_boards, 3):
        open_cards = tuple(cards.boards[board].tolist())
        live = [k for k in range(len(hands)) if not set(hands[k]) & set(open_cards)]
        strengths = [form.game.strength_of(hands[k], open_cards) for k in live]
        groups = [int(group[cards.start_class[k]]) for k in live]
        for own, k in enumerate(live):
            pair = cards.first_pair[board] + cards.hand_class[board, k]
            held = [hands[each] for each in live]
            expected = [win_share(held, strengths, [True] * len(live), own)]
            expected += [win_share(held, strengths, [g == each for g in groups], own) for each in range(GROUPS)]
            np.testing.assert_allclose(found[pair], expected, atol=1e-12)
    assert np.ptp(found) > 1.5


def test_every_holding_finds_its_own_features():
    game = flop_holdem_of(5, 3)
    strength, form = hand_strength(game), board_form(game)
    generator = np.random.default_rng(1)
    cards = np.array([generator.permutation(game.deck.size)[:5] for _ in range(200)])
    found = strength.of(cards)
    for row, held in zip(found, cards.tolist(), strict=True):
        np.testing.assert_array_equal(row, strength.table[pair_index(form.cards, held[:2], held[2:])])
        counts = row[-COUNTS:]
        ranks = [card // 3 for card in held]
        assert counts[0] == (ranks[0] == ranks[1])
        assert counts[1] == sum(rank in ranks[2:] for rank in ranks[:2]) / 2
        assert counts[2] == sum(rank > max(ranks[2:]) for rank in ranks[:2]) / 2
        assert counts[3] == max(sum(card % 3 == own % 3 for card in held) for own in held[:2]) / np.float32(5)
    before = np.where(np.arange(5) < 2, cards, -1)
    mean = [strength.table[form.pairs.start_class == start_index(form.cards, held[:2]), 0] for held in cards.tolist()]
    assert (strength.of(before)[:, 0] <= [each.max() for each in mean]).all()
    assert (strength.of(before)[:, 1 + KNOTS :] == 0.0).all() and np.ptp(strength.of(before)[:, 0]) > 0.1
    np.testing.assert_allclose(found[:, 1 : 1 + KNOTS].sum(axis=1), 1.0, atol=1e-6)


def test_groups_are_of_equal_size_and_in_order():
    form = board_form(load_game("flop_holdem"))
    strength = hand_strength(form.game)
    mean = strength.start[:, 0].astype(np.float64)
    group = start_groups(form, mean)
    sizes = np.bincount(group, form.cards.start_size)
    assert len(sizes) == GROUPS and np.ptp(sizes) < 40
    assert all(mean[group == k].max() <= mean[group == k + 1].min() for k in range(GROUPS - 1))
    assert group[start_index(form.cards, (48, 49))] == GROUPS - 1  # aces
    assert strength.table.shape[1] == FEATURES and abs(strength.table[:, 0]).max() <= 1.0


def error_elsewhere(strength):
    """Fit a network to who wins on a few boards; return its error on others."""
    torch.set_num_threads(1)
    game = flop_holdem_of(8, 4)
    tree, form = betting_tree(game), board_form(game)
    rows, known = poker_rows(tree, "ranks", strength=strength), hand_strength(game)
    node = np.flatnonzero((tree.nodes.round == 1) & (tree.nodes.player == 0))[:1].astype(np.int64)

    def grid(boards):
        cards = [
            [*form.cards.hands[form.cards.pair_hand[pair]], *form.cards.boards[board]]
            for board in boards
            for pair in range(*form.pairs.first_pair[board : board + 2])
        ]
        codes = codes_of(rows.layout, np.array(cards, np.int8), np.ones(len(cards), np.int64), np.zeros(1, np.int64))
        return Grid(codes, node), known.of(np.array(cards))[:, 0].astype(np.float64)

    generator = np.random.default_rng(2)
    boards = generator.permutation(form.num_boards)
    network = TrainedNetwork(rows, (0,), CardsAndBets(width=16), head=0.4, seed=0, device=torch.device("cpu"))
    fitted, wins_there = grid(boards[:8])
    target = np.repeat(wins_there[:, None], rows.num_columns, axis=1)
    examples = Examples(
        network.inputs_at(fitted.codes()),
        network.tensor(target),
        network.tensor(np.full(target.shape, 1 / len(target))),
    )
    network.fit(examples, Fitting(epochs=300, first_epochs=300, rate=1e-2), 1)
    asked, wins_elsewhere = grid(boards[8:24])
    error = network.network.on_grid(rows, asked, torch.device("cpu"))[:, 0] - wins_elsewhere
    return np.sqrt((error**2).mean())


def test_a_network_that_sees_strength_knows_who_wins_on_boards_it_never_saw():
    assert error_elsewhere(strength=True) < 0.5 * error_elsewhere(strength=False)


def test_games_without_boards_have_no_strength():
    with pytest.raises(NotSupported, match="strength=yes is for games"):
        poker_rows(betting_tree(three_rounds(4, 3)), "ranks", strength=True)
    with pytest.raises(EquipoiseError, match="would change nothing"):
        RECIPES["deep-cfr"].resolve({"strength": "yes", "network": "mlp"}, game="codes")


def test_a_saved_policy_that_sees_strength_plays_the_same_when_it_is_opened():
    game = flop_holdem_of(5, 3)
    tree, form = betting_tree(game), board_form(game)
    rows, cpu = poker_rows(tree, "ranks", strength=True), torch.device("cpu")
    networks = [TrainedNetwork(rows, (who,), CardsAndBets(width=8), head=1.0, seed=who, device=cpu) for who in range(2)]
    play = MixturePlay(rows, tuple([(1.0, answers_of(each, "softmax"))] for each in networks))
    opened = open_play(tree, *play.parts(), cpu)
    tables = [np.empty(form.num_start_entries), np.empty(form.num_start_entries)]
    boards = [np.empty(form.block(0).stop), np.empty(form.block(0).stop)]
    for each, table, board in zip((play, opened), tables, boards, strict=True):
        each.over(form).write_start(table)
        each.over(form).write_boards(0, 1, board)
    np.testing.assert_array_equal(*tables)
    np.testing.assert_array_equal(*boards)
    assert np.ptp(boards[0]) > 0.5
    header, arrays = play.parts()
    with pytest.raises(NotSupported):
        open_play(tree, {**header, "strength": False}, arrays, cpu)
