"""All-in equity: where the betting ended before the board was complete, the mean over the boards that could come.

It takes the luck of the last cards out of a result, and nothing else.
"""

import itertools
from math import comb

import numpy as np

from equipoise.compiled import kernel
from equipoise.games.hand_ranks import deck_bits, hand_rank
from equipoise.games.poker import Cards, PokerState, best_five_cards
from equipoise.games.spots import SpotState
from equipoise.trees.treeplex import Int64, UInt64

MOST_BOARDS = 20_000  # more are sampled: before the flop there are 1.7 million
SEED = 0


def all_in_payoff(end: PokerState | SpotState) -> float:
    """Return the payoff to player 0 of a hand that is over, as the mean over boards that could come after all-in."""
    game, betting = end.game, end.betting
    open_cards = game.board_size(betting.text.count("/"))
    if betting.folded >= 0 or open_cards >= len(end.board):
        return end.payoff()
    board, missing = end.board[:open_cards], len(end.board) - open_cards
    hands: list[Cards] = [game.hands[hand] for hand in end.hands]
    left = [card for card in range(game.deck.size) if card not in {*board, *hands[0], *hands[1]}]
    if comb(len(left), missing) <= MOST_BOARDS:
        boards = np.array(list(itertools.combinations(left, missing)), np.int64)
    else:
        random = np.random.default_rng(SEED)
        order = np.argsort(random.random((MOST_BOARDS, len(left))), axis=1)[:, :missing]
        boards = np.array(left, np.int64)[order]
    stake = abs(_stake(end))
    if isinstance(end, SpotState) or end.game.strength is best_five_cards:
        bits = deck_bits(len(game.deck.ranks), len(game.deck.suits))
        held = [np.uint64(int(np.bitwise_or.reduce(bits[[*hand, *board]]))) for hand in hands]
        return stake * _mean_sign(held[0], held[1], boards, bits, len(hands[0]) + len(end.board))
    signs = [
        float(np.sign(game.strength(game.deck, hands[0], full) - game.strength(game.deck, hands[1], full)))  # type: ignore[arg-type, call-arg]
        for full in ((*board, *more) for more in boards.tolist())
    ]
    return stake * sum(signs) / len(signs)


def _stake(end: PokerState | SpotState) -> float:
    """Return what is won or lost in a showdown."""
    return end.game.winnings(end.betting)[0] if isinstance(end, SpotState) else float(end.betting.pot_share_at_risk())


@kernel
def _mean_sign(first: np.uint64, second: np.uint64, boards: Int64, bits: UInt64, count: int) -> float:
    total = 0
    for row in range(boards.shape[0]):
        more = np.uint64(0)
        for k in range(boards.shape[1]):
            more |= bits[boards[row, k]]
        mine, theirs = hand_rank(first | more, count), hand_rank(second | more, count)
        total += (mine > theirs) - (mine < theirs)
    return float(total / boards.shape[0])
