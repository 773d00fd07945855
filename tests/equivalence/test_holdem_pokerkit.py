"""Hold'em beside PokerKit, move by move on random hands: who acts, what is legal, the pot, and who is paid."""

import warnings

import pytest

from equipoise.games import TERMINAL, load_game
from tests.hands import HOLDEM, random_hand
from tests.pokerkit_games import amounts, follow, start


@pytest.mark.parametrize("text", HOLDEM)
def test_random_hands_go_the_same_way(text):
    game = load_game(text)
    any_size = game.betting.rounds[0].bet_size is None and game.betting.rounds[0].pot_sizes is None
    ends = set()
    for seed in range(25):
        theirs = start(game)
        chips = sum(theirs.stacks) + theirs.total_pot_amount
        for state, action in random_hand(game, 1000 + seed):
            if state.player >= 0:
                assert theirs.actor_index == 1 - state.player
                assert theirs.checking_or_calling_amount == state.betting.to_call()
                assert theirs.total_pot_amount == sum(state.betting.spent)
                ours = amounts(theirs, state)
                assert theirs.can_complete_bet_or_raise_to() == bool(ours)
                if ours:
                    check_raises(theirs, ours, any_size)
            elif state.player == TERMINAL:
                assert not theirs.status
                assert theirs.payoffs == [-state.payoff(), state.payoff()]
                ends.add((state.betting.round, state.betting.folded, state.payoff() > 0))
            assert sum(theirs.stacks) + theirs.total_pot_amount == chips
            follow(theirs, state, action)
    assert len(ends) >= 4


def check_raises(theirs, ours, any_size):
    assert all(theirs.can_complete_bet_or_raise_to(each) for each in {ours[0], ours[len(ours) // 2], ours[-1]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PokerKit warns of raises that it refuses
        if any_size or theirs.betting_structure == theirs.betting_structure.FIXED_LIMIT:
            smallest = theirs.min_completion_betting_or_raising_to_amount
            largest = theirs.max_completion_betting_or_raising_to_amount
            assert (ours[0], ours[-1], len(ours)) == (smallest, largest, largest - smallest + 1)
            assert not theirs.can_complete_bet_or_raise_to(smallest - 1)
            assert not theirs.can_complete_bet_or_raise_to(largest + 1)
