"""The same hold'em games in PokerKit, made from its own games; and a hand of ours followed there.

Two sit in reverse in PokerKit: the big blind, our player 1, has index 0.
"""

from dataclasses import replace

from pokerkit import Automation, FixedLimitTexasHoldem, NoLimitTexasHoldem

from equipoise.games import CHANCE, TERMINAL
from equipoise.games.betting import CALL, FOLD, raise_totals

EVERYTHING_BUT_CARDS = (
    Automation.ANTE_POSTING,
    Automation.BET_COLLECTION,
    Automation.BLIND_OR_STRADDLE_POSTING,
    Automation.RUNOUT_COUNT_SELECTION,
    Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
    Automation.HAND_KILLING,
    Automation.CHIPS_PUSHING,
    Automation.CHIPS_PULLING,
)
STACK_WITHOUT_LIMIT = 20_000


def pokerkit_game(game, automations=EVERYTHING_BUT_CARDS):
    """Return PokerKit's game; it lets a limit round have four raises, so each round is told its own number."""
    rounds = game.betting.rounds
    if rounds[0].bet_size is None:
        return NoLimitTexasHoldem(automations, True, 0, (50, 100), 100)
    theirs = FixedLimitTexasHoldem(automations, True, 0, (50, 100), rounds[0].bet_size, rounds[-1].bet_size)
    theirs.streets = tuple(
        replace(street, max_completion_betting_or_raising_count=betting.max_raises)
        for street, betting in zip(theirs.streets, rounds, strict=False)  # flop hold'em has the first two
    )
    return theirs


def start(game):
    """Return a hand of the game in PokerKit before any card is dealt."""
    return pokerkit_game(game)(game.betting.stack or STACK_WITHOUT_LIMIT, 2)


def follow(theirs, state, action):
    """Do in PokerKit what ``action`` does after ``state``."""
    game = state.game
    if state.player == TERMINAL:
        return
    if state.player == CHANCE:
        after = state.child(action)
        if len(after.hands) < 2:
            return  # both hands are dealt together, in PokerKit's order
        if len(state.hands) < 2:
            for hand in reversed(after.hands):
                theirs.deal_hole(game.deck.text(game.hands[hand]))
        else:
            theirs.burn_card("??")
            theirs.deal_board(game.deck.text(after.board[len(state.board) :]))
    elif action == FOLD:
        theirs.fold()
    elif action == CALL:
        theirs.check_or_call()
    else:
        total = state.child(action).betting.spent[state.player]
        theirs.complete_bet_or_raise_to(total - spent_before(theirs, state))


def spent_before(theirs, state):
    """Return what a player has spent before this round: our totals are of the hand, PokerKit's amounts of the round."""
    return state.betting.spent[state.player] - theirs.bets[1 - state.player]


def amounts(theirs, state):
    """Return our legal raises as PokerKit's amounts."""
    before = spent_before(theirs, state)
    return [total - before for total in raise_totals(state.game.betting, state.betting)]
