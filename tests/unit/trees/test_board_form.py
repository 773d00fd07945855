"""The form over canonical boards: its sizes on flop hold'em, and its payments beside the definition."""

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.games import load_game
from equipoise.trees.board_form import board_form
from equipoise.trees.board_values import showdown_numbers
from tests.holdem import small_holdem
from tests.naive import boards as naive


def test_flop_holdem_has_the_published_size():
    form = board_form(load_game("flop_holdem"))
    assert [len(betting.node_player) for betting in form.betting] == [8, 70]
    assert form.betting[1].roots == 7 and form.num_boards == 1755 and form.num_starting_classes == 169
    assert form.num_entries + form.num_start_entries == 234_199_693  # as published (B19)
    assert form.num_infosets == 8 * 169 + 70 * 1_286_792
    # Chance: given a starting hand, the boards and classes that may follow are certain to be one of them.
    following = np.bincount(form.pairs.start_class, weights=form.pairs.start_weight)
    np.testing.assert_allclose(following, 1.0, rtol=1e-12)


@pytest.mark.nojit
@pytest.mark.parametrize(("ranks", "suits", "board_cards"), [(4, 2, 1), (3, 3, 2), (6, 2, 3)])
def test_showdowns_and_folds_equal_the_definition(ranks, suits, board_cards):
    game = small_holdem(ranks, suits, board_cards)
    form = board_form(game)
    payments, random = form.payments[1], np.random.default_rng(3)
    hands = [tuple(hand) for hand in form.cards.hands.tolist()]
    for board in range(0, form.num_boards, 5):
        first, last = form.pairs.first_pair[board : board + 2]
        reach = random.random((last - first, payments.columns))
        found = np.empty((last - first, payments.showdowns + payments.columns))
        sums = np.empty((form.cards.deck_size + 1) * payments.columns)
        showdown_numbers(payments, form.showdowns, board, first, last - first, reach.ravel(), sums, found.reshape(-1))
        classes = form.cards.hand_class[board]
        live = np.flatnonzero(classes >= 0)
        open_cards = tuple(form.cards.boards[board].tolist())
        strengths = [game.strength(game.deck, hands[hand], open_cards) for hand in live]
        for own in range(len(live)):
            for column in (0, payments.columns - 1):
                difference, total = naive.numbers(
                    [hands[hand] for hand in live], strengths, reach[classes[live], column], own
                )
                line = found[classes[live[own]]]
                assert line[payments.showdowns + column] == pytest.approx(total, abs=1e-12)
                if column < payments.showdowns:
                    assert line[column] == pytest.approx(difference, abs=1e-12)


def test_other_games_are_refused():
    with pytest.raises(EquipoiseError, match="leduc_poker lacks two private cards"):
        board_form(load_game("leduc_poker"))
