"""Hands of poker in lockstep: thousands advance together, and each player is asked once a level for all it has to play.

For games too large to list. A hand is dealt whole at its start: both hands and the board come from the pair's stream of
chance, so both hands of a pair have the same deal. Then, until all are over: the hands at which a player acts, what it
plays there, in one batch; and an action each, drawn from the hand's own stream. Streams are those of the compiled
simulation; hands are worked on in parts of a fixed size, so nothing but the seed matters to the result.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel
from equipoise.errors import NotSupported
from equipoise.evaluation.hands import Hand
from equipoise.evaluation.simulation import CHUNK, SAMPLES, STREAMS, A, FloatTable
from equipoise.games import TERMINAL
from equipoise.games.hand_ranks import deck_bits, showdown
from equipoise.games.notation import board_deals, ordered_board
from equipoise.games.poker import PokerGame, PokerState, best_five_cards
from equipoise.sampling.dice import NO_TAPE, choose_weighted, deal_cards, draw, start_stream
from equipoise.threads import map_parts
from equipoise.trees.betting_tree import BettingTree
from equipoise.trees.codes import Int8
from equipoise.trees.situations import Situations, SituationStrategy
from equipoise.trees.treeplex import Float, Int64, UInt64
from equipoise.workers import Workers

PAIRS_A_PART = 8 * CHUNK  # fixed: a network's last bits may depend on how many rows it is asked for at once


class Played(NamedTuple):
    """Pairs of hands that are over. The second axis of what each hand has is A's seat."""

    first_pair: int
    cards: Int8  # [pairs, cards] player 0's hand, player 1's, the board in the order of its deals
    ends: npt.NDArray[np.int32]  # [pairs, 2] nodes of the betting tree
    won: FloatTable  # [pairs, 2] by A


@kernel
def _start_hands(
    seed: int, first_pair: int, deck: int, cards: Int8, dice: npt.NDArray[np.uint64], lots: Float, tape: Float
) -> None:
    """Deal; start each hand's stream of choices, and draw from it the lots of A and B."""
    chance = np.zeros(2, np.uint64)
    shuffled = np.empty(deck, np.int8)
    for pair in range(cards.shape[0]):
        start_stream(chance, seed, STREAMS, 0, first_pair + pair)
        deal_cards(chance, tape, shuffled, cards.shape[1])
        cards[pair] = shuffled[: cards.shape[1]]
        for seat in range(2):
            start_stream(dice[pair, seat], seed, STREAMS + seat, 1, first_pair + pair)
            for who in range(2):
                lots[pair, seat, who] = draw(dice[pair, seat], tape)


@kernel
def _choose(
    probabilities: FloatTable,
    pair: Int64,
    seat: Int64,
    dice: npt.NDArray[np.uint64],
    child: npt.NDArray[np.int32],
    node: npt.NDArray[np.int32],
    tape: Float,
) -> None:
    """Let each hand go on to where a drawn action leads."""
    columns = np.uint64(probabilities.shape[1])
    flat = probabilities.ravel()
    for row in range(pair.size):
        own = dice[pair[row], seat[row]]
        column = choose_weighted(own, tape, flat, np.uint64(row) * columns, columns, 1.0)
        node[pair[row], seat[row]] = child[node[pair[row], seat[row]], column]


@kernel
def _compare_hands(bits: UInt64, cards: Int8, which: Int64, hole: int, out: Int8) -> None:
    """Write who wins the showdowns of some pairs: 1 player 0, -1 player 1, 0 nobody."""
    for row in range(which.size):
        dealt = cards[which[row]]
        out[row] = showdown(bits, dealt, 0, hole, dealt.size - 2 * hole)


def showdowns(game: PokerGame, cards: Int8, which: Int64) -> Int8:
    """Return who wins the showdowns of some pairs: 1 player 0, -1 player 1, 0 nobody."""
    out = np.empty(len(which), np.int8)
    if game.strength is best_five_cards:
        bits = deck_bits(len(game.deck.ranks), len(game.deck.suits))
        _compare_hands(bits, cards, which, game.hole_cards, out)
        return out
    hole = game.hole_cards  # rules of one's own are asked hand by hand
    for row, dealt in enumerate(cards[which].tolist()):
        board = tuple(dealt[2 * hole :])
        first, second = (
            game.strength_of(tuple(sorted(hand)), board) for hand in (dealt[:hole], dealt[hole : 2 * hole])
        )
        out[row] = (first > second) - (first < second)
    return out


def play_in_lockstep(
    tree: BettingTree,
    strategies: tuple[SituationStrategy, SituationStrategy],
    *,
    names: tuple[str, str],
    pairs: int,
    seed: int,
    pairs_a_part: int | None = None,
    workers: Workers | None = None,
) -> Iterator[Played]:
    """Play pairs of hands between A and B, some at a time; ``workers`` may share them."""
    a_part = pairs_a_part or PAIRS_A_PART
    some = [SomePairs(first, min(a_part, pairs - first)) for first in range(0, pairs, a_part)]
    return map_parts(_play_part, some, (tree, strategies, names, seed), workers=workers)


class SomePairs(NamedTuple):
    """A part of a match."""

    first: int
    pairs: int


def _play_part(
    shared: tuple[BettingTree, tuple[SituationStrategy, SituationStrategy], tuple[str, str], int],
    lane: int,
    some: SomePairs,
) -> Played:
    del lane
    tree, strategies, names, seed = shared
    first_pair, pairs = some
    game, hole = tree.game, tree.game.hole_cards
    cards = np.empty((pairs, 2 * hole + sum(game.board_cards)), np.int8)
    dice, lots = np.zeros((pairs, 2, 2), np.uint64), np.empty((pairs, 2, 2))
    _start_hands(seed, first_pair, game.deck.size, cards, dice, lots, NO_TAPE)
    seen = [cards[:, [*range(who * hole, (who + 1) * hole), *range(2 * hole, cards.shape[1])]] for who in range(2)]
    nodes = np.zeros((pairs, 2), np.int32)
    while True:
        acting = tree.nodes.player[nodes]  # seats
        if np.all(acting == TERMINAL):
            break
        for who in range(2):
            seat_of = np.array([0, 1]) if who == A else np.array([1, 0])  # by A's seat
            pair, seat = np.nonzero(acting == seat_of)
            if len(pair) == 0:
                continue
            node = nodes[pair, seat].astype(np.int64)
            held = np.where((acting[pair, seat] == 0)[:, None], seen[0][pair], seen[1][pair])
            asked = Situations(node, held, lots[pair, seat, who])
            probabilities = strategies[who].probabilities_at(asked)
            _check(tree, names[who], asked, probabilities)
            _choose(np.ascontiguousarray(probabilities), pair, seat, dice, tree.child, nodes, NO_TAPE)
    won = _payoffs(tree, cards, nodes)
    won[:, 1] = 0.0 - won[:, 1]  # A is player 1 there; not -0.0
    return Played(first_pair, cards, nodes, won)


def _payoffs(tree: BettingTree, cards: Int8, ends: npt.NDArray[np.int32]) -> FloatTable:
    """Return what player 0 wins at some ends, several of each deal."""
    won = tree.nodes.amount[ends]
    shown = tree.nodes.showdown[ends] == 1
    which = np.flatnonzero(shown.any(axis=1))
    signs = np.zeros(len(cards))
    signs[which] = showdowns(tree.game, cards, which)
    paid: FloatTable = np.where(shown, won * signs[:, None], won)
    return paid


@kernel
def _start_choices(seed: int, dice: npt.NDArray[np.uint64]) -> None:
    for row in range(dice.shape[0]):
        start_stream(dice[row, 0], seed, STREAMS, 2, row)


def play_on(
    tree: BettingTree,
    strategies: tuple[SituationStrategy, SituationStrategy],
    start: npt.NDArray[np.int32],
    cards: Int8,
    *,
    seed: int,
) -> Float:
    """Play hands from the middle to their ends, each seat by its strategy; return what player 0 wins in each."""
    hole, rows = tree.game.hole_cards, len(cards)
    dice, nodes = np.zeros((rows, 1, 2), np.uint64), start.reshape(rows, 1).copy()
    _start_choices(seed, dice)
    while True:
        acting = tree.nodes.player[nodes[:, 0]]
        if np.all(acting == TERMINAL):
            break
        for seat in range(2):
            which = np.flatnonzero(acting == seat)
            if len(which) > 0:
                held = [*range(seat * hole, (seat + 1) * hole), *range(2 * hole, cards.shape[1])]
                asked = Situations(nodes[which, 0].astype(np.int64), cards[which][:, held])
                probabilities = np.ascontiguousarray(strategies[seat].probabilities_at(asked))
                _choose(probabilities, which, np.zeros(len(which), np.int64), dice, tree.child, nodes, NO_TAPE)
    return _payoffs(tree, cards, nodes)[:, 0]


def _check(tree: BettingTree, name: str, asked: Situations, probabilities: FloatTable) -> None:
    """Refuse what is no distribution over legal actions."""
    legal = tree.legal[asked.node]
    good = probabilities.shape == legal.shape
    if good:
        sums = np.where(legal, probabilities, 0.0).sum(axis=1)
        wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= 1e-6) | np.any(probabilities < 0.0, axis=1))
        good = len(wrong) == 0
    if not good:
        row = 0 if probabilities.shape != legal.shape else int(wrong[0])
        state, game = tree.states[asked.node[row]], tree.game
        dealt = tuple(asked.cards[row].tolist())
        board = ordered_board(game, dealt[game.hole_cards : game.hole_cards + game.board_size(state.round)])
        key = game.infoset_text(tuple(sorted(dealt[: game.hole_cards])), board, state.text)
        raise NotSupported(f"{name} does not give probabilities for the {int(legal[row].sum())} actions at '{key}'")


def pair_sums(samples: FloatTable) -> Float:
    """Return the sums that the compiled simulation makes of two numbers a pair: by chunks, in their order."""
    columns = np.column_stack([samples, samples.mean(axis=1)])
    sums = np.zeros(SAMPLES)
    for first in range(0, len(columns), CHUNK):
        some = columns[first : first + CHUNK]
        sums += np.concatenate([some.sum(axis=0), (some**2).sum(axis=0)])
    return sums


def lockstep_hands(tree: BettingTree, played: Played) -> Iterator[Hand]:
    """Yield played hands as the rules have them."""
    game, hole = tree.game, tree.game.hole_cards
    number_of = {cards: number for number, cards in enumerate(game.hands)}
    deal_numbers = [
        {cards: number for number, cards in enumerate(game.deals(r))} if count else {}
        for r, count in enumerate(game.board_cards)
    ]
    for pair, dealt in enumerate(played.cards.tolist()):
        board = ordered_board(game, tuple(dealt[2 * hole :]))
        by_round = [[deal_numbers[r][deal]] if deal else [] for r, deal in enumerate(board_deals(game, board))]
        hands = tuple(number_of[tuple(sorted(dealt[who * hole : (who + 1) * hole]))] for who in range(2))
        for seat in range(2):
            end = int(played.ends[pair, seat])
            actions, last_round = [*hands, *by_round[0]], 0
            for node in _way_to(tree, end):
                actions.append(int(tree.nodes.column[node]))
                for _ in range(int(tree.nodes.deals[node])):
                    last_round += 1
                    actions += by_round[last_round]
            yield Hand(
                game=game,
                number=2 * (played.first_pair + pair) + seat,
                seat_of_a=seat,
                actions=tuple(actions),
                end=PokerState(game, hands, board[: game.board_size(last_round)], tree.states[end]),
            )


def _way_to(tree: BettingTree, end: int) -> list[int]:
    """Return the nodes on the way to one, itself included and the start not."""
    way: list[int] = []
    while tree.parent[end] >= 0:
        way.append(end)
        end = int(tree.parent[end])
    return way[::-1]
