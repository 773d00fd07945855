"""One pair of hands of poker, played through the rules from the streams that hands in lockstep are played from."""

import numpy as np

from equipoise.evaluation.simulation import STREAMS
from equipoise.games import CHANCE, TERMINAL
from equipoise.games.notation import ordered_board
from equipoise.sampling.dice import choose_index, draw, start_stream

NO_TAPE = np.zeros((0, 3))


def shuffled(deck_size, seed, pair, count):
    dice = np.zeros(2, np.uint64)
    start_stream(dice, seed, STREAMS, 0, pair)
    cards = list(range(deck_size))
    for place in range(count):
        chosen = place + choose_index(dice, NO_TAPE, deck_size - place)
        cards[place], cards[chosen] = cards[chosen], cards[place]
    return cards[:count]


def play_pair(game, policies, seed, pair):
    """Return the terminal states of a pair's two hands; ``policies`` of A and B are asked by infoset key."""
    hole = game.hole_cards
    cards = shuffled(game.deck.size, seed, pair, 2 * hole + sum(game.board_cards))
    hands = [tuple(sorted(cards[who * hole : (who + 1) * hole])) for who in range(2)]
    board = ordered_board(game, tuple(cards[2 * hole :]))
    ends = []
    for seat in range(2):
        dice = np.zeros(2, np.uint64)
        start_stream(dice, seed, STREAMS + seat, 1, pair)
        draw(dice, NO_TAPE), draw(dice, NO_TAPE)  # the lots
        state = game.root()
        while state.player != TERMINAL:
            if state.player == CHANCE:
                if len(state.hands) < 2:
                    action = game.hands.index(hands[len(state.hands)])
                else:
                    action = next(
                        a for a in state.actions() if state.child(a).board == board[: len(state.child(a).board)]
                    )
            else:
                policy = policies[0 if state.player == seat else 1]
                probabilities = list(policy.action_probabilities(state.infoset_key()).values())
                place = int(np.searchsorted(np.cumsum(probabilities), draw(dice, NO_TAPE), side="right"))
                action = state.actions()[min(place, len(probabilities) - 1)]
            state = state.child(action)
        ends.append(state)
    return ends
