"""Exact regrets on boards: the slow definition hand by hand, reach, weights, boards that are kept or drawn anew."""

import numpy as np
import pytest

from equipoise.errors import InvalidParameter
from equipoise.regret.matching import BEST, UNIFORM, match_rows
from equipoise.sampling.rows import REGRET, STRATEGY
from equipoise.sampling.vectors import FIRST_ROUND, BoardVectors
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.board_form import board_form
from equipoise.trees.codes import NO_NUMBER, card_layout, cards_of, codes_in, codes_of, nodes_of
from tests.holdem import flop_holdem_of, small_holdem
from tests.naive.vectors import Table


def mixed(player, codes, columns):
    """Return scores without pattern; about a third of them are negative."""
    numbers = codes.astype(np.uint64)[:, None] * np.uint64(31) + np.arange(columns, dtype=np.uint64) * np.uint64(7)
    numbers = (numbers + np.uint64(1 + player)) * np.uint64(0x9E3779B97F4A7C15)
    numbers ^= numbers >> np.uint64(29)
    return (numbers * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(11)) / 2.0**53 - 0.3


class Game:
    """A small game with a sampler of it, and scores that it may ask for."""

    def __init__(self, game, **given):
        self.form, self.tree, self.layout = board_form(game), betting_tree(game), card_layout(game, renamed=True)
        self.options = {"kept": 0, "fresh": 2, "fallback": UNIFORM, "seed": 3, **given}
        self.sampler = BoardVectors(self.form, self.tree, self.layout, **self.options)
        self.asked = []

    def scores_at(self, player, infosets):
        self.asked.append((player, infosets.number))
        return mixed(player, codes_in(infosets), self.tree.num_columns)

    def found(self, players, iteration=1):
        """Return values, weight and own reach by kind and code, and the numbers of the grids."""
        rows, numbers = {}, []
        for each in self.sampler.rows(self.scores_at, players, iteration):
            numbers.append((each.kind, each.player, each.infoset.number))
            columns = each.values.copy(), each.weight.copy(), each.own_reach.copy()
            for code, *row in zip(codes_in(each.infoset).tolist(), *columns, strict=True):
                assert (each.kind, code) not in rows
                rows[each.kind, code] = row
        return rows, numbers

    def plays(self, player, hand, board, node):
        """Return what is played, as the slow twin asks for it."""
        cards = np.zeros((1, 7), np.int8)
        cards[0, : 2 + len(board)] = [*hand, *board]
        code = codes_of(self.layout, cards, np.array([int(self.tree.nodes.round[node])]), np.array([int(node)]))
        scores = mixed(player, code, self.tree.num_columns)
        return match_rows(scores, self.tree.legal[[node]], self.options["fallback"])[0]


def all_boards(game, monkeypatch):
    """Let every board be drawn."""
    boards = np.arange(game.form.num_boards)
    monkeypatch.setattr(game.sampler._fresh, "draw", lambda iteration, turn: (boards, np.ones(len(boards))))


@pytest.mark.parametrize("fallback", [UNIFORM, BEST])
@pytest.mark.parametrize("make", [lambda: flop_holdem_of(4, 2, 1), lambda: small_holdem(3, 2, caps=(1, 2))])
def test_rows_are_the_definition_hand_by_hand(make, fallback, monkeypatch):
    game = Game(make(), fallback=fallback)
    all_boards(game, monkeypatch)
    table, tree = Table(game.tree, game.plays), game.tree
    generator = np.random.default_rng(0)
    for player in range(2):
        rows, _ = game.found((player,))
        regrets = [code for kind, code in rows if kind == REGRET]
        assert {int(tree.nodes.player[code >> 42]) for code in regrets} == {player}
        first = [code for code in regrets if tree.nodes.round[code >> 42] == 0]
        later = [code for code in regrets if tree.nodes.round[code >> 42] == 1]
        assert len(first) == game.form.num_starting_classes * len(game.sampler._rounds[0].nodes[player])
        assert len(later) == game.form.cards.num_pairs * len(game.sampler._rounds[1].nodes[player])
        some = [*generator.choice(first, 3, replace=False), *generator.choice(later, 25, replace=False)]
        for code in map(int, some):
            node = code >> 42
            cards = [card for card in cards_of(np.array([code]), 7)[0].tolist() if card >= 0]
            hand, board = tuple(cards[:2]), tuple(cards[2:])
            values, weight, own = rows[REGRET, code]
            expected = table.regrets(player, hand, board, node)
            assert weight == pytest.approx(table.mean_reach(1 - player, board, node), abs=1e-6)
            for column, regret in expected.items():
                assert weight * values[column] == pytest.approx(regret, rel=1e-5, abs=1e-3)
            assert (values[~tree.legal[node]] == 0.0).all()
            assert own == pytest.approx(table.reach(player, hand, board, node), abs=1e-6)
        for code in map(int, generator.choice([code for kind, code in rows if kind == STRATEGY], 20, replace=False)):
            node = code >> 42
            cards = [card for card in cards_of(np.array([code]), 7)[0].tolist() if card >= 0]
            hand, board = tuple(cards[:2]), tuple(cards[2:])
            values, weight, own = rows[STRATEGY, code]
            assert tree.nodes.player[node] == 1 - player
            np.testing.assert_allclose(values, game.plays(1 - player, hand, board, node), atol=1e-6)
            assert weight == own == pytest.approx(table.reach(1 - player, hand, board, node), abs=1e-6)


def test_drawn_boards_say_without_bias_what_the_first_round_is_worth(monkeypatch):
    game = Game(small_holdem(3, 3, caps=(1, 1)), fresh=4)
    means = {}
    draws = 600
    for iteration in range(draws):
        for (kind, code), row in game.found((0,), iteration)[0].items():
            if kind == REGRET and game.tree.nodes.round[code >> 42] == 0:
                means.setdefault(code, []).append(row[1] * row[0])
    all_boards(game, monkeypatch)
    exact, _ = game.found((0,))
    errors = []
    for code, values in means.items():
        spread = np.std(values, axis=0) / np.sqrt(draws)
        error = np.abs(np.mean(values, axis=0) - exact[REGRET, code][1] * exact[REGRET, code][0])
        errors.append(error[spread > 0.0] / spread[spread > 0.0])
    assert np.concatenate(errors).max() < 4.5 and np.concatenate(errors).mean() < 1.2


def test_kept_boards_come_in_every_turn_under_their_numbers_and_others_say_nothing_but_their_worth():
    game = Game(small_holdem(), kept=5, fresh=3)
    turns = [game.found((player,), iteration)[1] for iteration in (1, 2) for player in (0, 1)]
    kept = sorted({number for _, _, number in turns[0]} - {FIRST_ROUND})
    assert len(kept) == 5 and min(kept) > 0
    for turn, player in zip(turns, (0, 1, 0, 1), strict=True):
        assert sorted(turn) == sorted(
            (kind, who, number)
            for kind, who in ((REGRET, player), (STRATEGY, 1 - player))
            for number in (FIRST_ROUND, *kept)
        )
    assert game.asked.count((0, NO_NUMBER)) == game.asked.count((1, NO_NUMBER)) == 4 * 3
    other = Game(small_holdem(), kept=5, fresh=3, seed=4)
    assert sorted({number for _, _, number in other.found((0,))[1]} - {FIRST_ROUND}) != kept
    alone = Game(small_holdem(), fresh=3)
    assert {number for _, _, number in alone.found((0, 1))[1]} == {FIRST_ROUND, NO_NUMBER}
    assert alone.sampler.nodes_touched > 0


def test_threads_and_company_change_nothing():
    alone, shared = Game(small_holdem(), kept=6, fresh=4), Game(small_holdem(), kept=6, fresh=4, threads=3)
    one, other = alone.found((0, 1), 5)[0], shared.found((0, 1), 5)[0]
    assert one.keys() == other.keys()
    for key, (values, weight, own) in one.items():
        np.testing.assert_array_equal(values, other[key][0])
        assert (weight, own) == tuple(other[key][1:])
    apart = {**alone.found((0,), 5)[0], **alone.found((1,), 5)[0]}
    assert apart.keys() == one.keys()
    for kind, code in one:
        if nodes_of(np.array([code]))[0] and alone.tree.nodes.round[code >> 42] == 1:
            np.testing.assert_array_equal(apart[kind, code][0], one[kind, code][0])


def test_more_boards_than_can_be_drawn_are_refused():
    with pytest.raises(InvalidParameter, match="boards=1000 is not valid; give 1 to"):
        Game(small_holdem(), kept=1000)
    with pytest.raises(InvalidParameter, match="fresh_boards=1000 is not valid; give 1 to"):
        Game(small_holdem(), kept=3, fresh=1000)
