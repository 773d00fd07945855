"""Betting lines of poker games: who may hold what there, from what the players do on the way.

A player's range at a line is, for each hand, the product of its own probabilities along the line; a belief is the
opponent's range without the hands that share a card with one's own. Both follow from the strategies alone, so they are
exact in every game, however large.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np

from equipoise.errors import InvalidNotation
from equipoise.evaluation.appraisal import Belief
from equipoise.games.betting import BettingState, apply_action, legal_actions
from equipoise.games.notation import ordered_board, read_action, read_betting, read_cards
from equipoise.games.poker import Cards, PokerGame
from equipoise.trees.treeplex import Float, Int64

Played = Callable[[BettingState, Cards, Sequence[Cards]], Float]  # (decision, board, hands) -> [hands, actions]


def steps_of(game: PokerGame, line: BettingState) -> list[tuple[BettingState, int]]:
    """Return the decisions on the way to a line, each with the place of the action that was taken."""
    state, steps = game.betting.start(), []
    for text in re.findall(r"r\d*|c|f", line.text):
        action = read_action(game.betting, state, text)
        steps.append((state, legal_actions(game.betting, state).index(action)))
        state = apply_action(game.betting, state, action)
    return steps


def read_line(game: PokerGame, betting: str, board: str) -> tuple[BettingState, Cards]:
    """Return the betting of a line and its board, or say what is wrong with them."""
    came_to = read_betting(game.betting, betting)
    if came_to.finished:
        raise InvalidNotation(f"after the line '{betting}' the hand is over; nobody has to act")
    cards = read_cards(game.deck, "".join(board.replace("/", "").split()))
    if len(set(cards)) < len(cards):
        raise InvalidNotation(f"the board {board} has a card twice")
    wanted = game.board_size(came_to.round)
    if len(cards) != wanted:
        what = f"the line '{betting}'" if betting else "the start of the hand"
        need = f"needs a board of {wanted} card(s), not {len(cards)}" if wanted else "has no board"
        raise InvalidNotation(f"{what} {need}")
    return came_to, ordered_board(game, cards)


def live_hands(game: PokerGame, board: Cards) -> Int64:
    """Return the places in ``game.hands`` of the hands that a board leaves."""
    return np.array([place for place, hand in enumerate(game.hands) if not set(hand) & set(board)], np.int64)


def range_at(game: PokerGame, player: int, line: BettingState, board: Cards, played: Played) -> Float:
    """Return a player's own reach of a line, for each of ``game.hands``."""
    live = live_hands(game, board)
    hands, own = [game.hands[place] for place in live], np.ones(len(live))
    for state, place in steps_of(game, line):
        if state.player == player:
            own = own * played(state, board[: game.board_size(state.round)], hands)[:, place]
    found = np.zeros(len(game.hands))
    found[live] = own
    return found


def compatible_reach(game: PokerGame, given: Float) -> Float:
    """Return, for each of ``game.hands``, the weight of a range without the hands that share a card with it."""
    if game.hole_cards == 1:
        alone: Float = given.sum() - given
        return alone
    cards, by_card = np.array(game.hands), np.zeros(game.deck.size)
    for column in range(game.hole_cards):
        np.add.at(by_card, cards[:, column], given)
    # A hand that shares both cards is the hand itself: taken off twice, put back once.
    rest: Float = given.sum() - by_card[cards].sum(axis=1) + given
    return np.maximum(rest, 0.0)


def belief(game: PokerGame, given: Float, hand: Cards) -> Belief:
    """Return what the holder of a hand may think of the opponent's, whose range is given."""
    held = set(hand)
    fits = np.array([held.isdisjoint(other) for other in game.hands])
    weights = np.where(fits, given, 0.0)
    total = weights.sum()
    names = [game.hand_text(other) for other in game.hands]
    return Belief(names, weights / total if total > 0.0 else weights)
