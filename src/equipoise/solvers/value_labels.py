"""Examples for value networks: situations at the beginning of a round, and what they are worth when solved exactly.

Situations are random boards, pots and ranges, as DeepStack prints them (Moravcik et al. 2017, supplement): the chips
that each player has put in are uniform in one of five intervals, all equally likely, out of 20,000; ranges come from
dealing out weight to ever smaller halves of the hands in the order of their strength. A part of the situations, if
asked for, is met in our own solving: a spot of the round before is solved with random ranges, and some of its closings
go on.

An example keeps what is needed to fit: with A the map from the network's numbers to hands (interpolation) and t what
hands gain over checking down, A'A (which has three diagonals), A't and t't, weighted hand by hand.
"""

import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from equipoise.compiled import kernel
from equipoise.games.poker import HOLDEM_DECK, sets_of_cards
from equipoise.games.ranges import Range
from equipoise.games.spots import FULL_BOARD, ROUND_NAMES, Rake, Spot, read_sizes
from equipoise.regret.rules import DiscountedCFR
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.trees.spot_evaluator import SpotEvaluator
from equipoise.trees.spot_form import SpotForm, spot_form
from equipoise.trees.treeplex import Float, Int64
from equipoise.trees.value_network import BINS, EDGES, groups_of, hand_strengths, see, stack_inputs

BETS = "1-allin"
STACK = 20_000
POTS = ((100, 101), (200, 400), (400, 2000), (2000, 6000), (6000, 19951))  # chips of each player
LEAST_WEIGHT = 1e-4  # of the heaviest hand: values of hands that are never held are not unique
HELD_OUT_SHARE = 16  # one in so many boards is kept out of training
_HANDS = np.array(sets_of_cards(HOLDEM_DECK.size, 2), np.int64)


class Situation(NamedTuple):
    """The beginning of a round: a board, chips, and both players' weights of all hands of the deck."""

    board: tuple[int, ...]
    pot: int
    stack: int
    weights: tuple[Float, Float]


class Label(NamedTuple):
    """What a situation is worth to each hand of each player."""

    situation: Situation
    hands: tuple[Int64, Int64]  # places in the list of hands
    cfv: tuple[Float, Float]  # over the pot, relative to half of it; ranges add up to 1
    check_down: tuple[Float, Float]  # the same if nobody bets
    beside: tuple[Float, Float]  # the opponent's reach beside each hand
    reach: tuple[Float, Float]


class Example(NamedTuple):
    """A label as a network is fitted to it. The first axis of the last four is the player."""

    seen: Float  # [inputs]
    diagonal: Float  # [2, points] of A'A
    beside_it: Float  # [2, points - 1] the diagonal next to it
    moment: Float  # [2, points] A't
    square: Float  # [2] t't


def is_held_out(board: tuple[int, ...]) -> bool:
    """Return whether a board is kept out of training; whatever its suits are called."""
    return zlib.crc32(bytes(sorted(card // 4 for card in board))) % HELD_OUT_SHARE == 0


@kernel
def _deal_out(order: Int64, random: Float, out: Float) -> None:
    """Give weight to hands, from 1 for all, by halves of halves: a uniform part of it to the weaker half."""
    count = order.size
    starts, ends, parts = np.empty(2 * count, np.int64), np.empty(2 * count, np.int64), np.empty(2 * count)
    starts[0], ends[0], parts[0] = 0, count, 1.0
    waiting, used = 1, 0
    while waiting > 0:
        waiting -= 1
        start, end, part = starts[waiting], ends[waiting], parts[waiting]
        if end - start == 1:
            out[order[start]] = part
        else:
            half = (start + end) // 2
            lower = part * random[used]
            used += 1
            starts[waiting], ends[waiting], parts[waiting] = half, end, part - lower
            starts[waiting + 1], ends[waiting + 1], parts[waiting + 1] = start, half, lower
            waiting += 2


def random_range(board: tuple[int, ...], strengths: Float, live: Int64, generator: np.random.Generator) -> Float:
    """Return the weights of a random range; ties are broken at random."""
    order = live[np.lexsort((generator.random(len(live)), strengths))]
    out = np.zeros(len(_HANDS))
    _deal_out(order, generator.random(len(order)), out)
    return out


def random_situation(cards: int, generator: np.random.Generator, *, held_out: bool) -> Situation:
    """Return a random situation with so many board cards, on a board that is kept out of training or not."""
    while True:
        board = tuple(int(card) for card in generator.choice(HOLDEM_DECK.size, cards, replace=False))
        if is_held_out(board) == held_out:
            break
    low, high = POTS[int(generator.integers(len(POTS)))]
    chips = int(generator.integers(low, high))
    live = np.flatnonzero(~np.isin(_HANDS, board).any(axis=1))
    strengths = hand_strengths(board, _HANDS[live], HOLDEM_DECK)
    first, second = (random_range(board, strengths, live, generator) for _ in range(2))
    return Situation(board, 2 * chips, STACK - chips, (first, second))


def spot_of(at: Situation, until: str | None = None) -> Spot:
    """Return a situation as a spot."""
    rounds = FULL_BOARD + 1 - len(at.board)
    sizes = read_sizes(BETS, rounds)
    first, second = (Range(weights / weights.max()) for weights in at.weights)
    return Spot(
        board=at.board,
        pot=at.pot,
        stack=at.stack,
        ranges=(first, second),
        bets=sizes,
        raises=sizes,
        rake=Rake(),
        until=until,
    )


def met_situations(cards: int, count: int, generator: np.random.Generator, *, iterations: int) -> Iterator[Situation]:
    """Return situations that are met when a random spot of the round before is solved, checked down from here on."""
    name = ROUND_NAMES[cards - 3]
    found = 0
    while found < count:
        before = random_situation(cards - 1, generator, held_out=False)
        game = spot_of(before, until=name)
        form = spot_form(game)
        solver = SpotCFR(form, DiscountedCFR())
        solver.run(iterations)
        plans = _plans(form, solver)
        later = form.rounds[1]
        for _ in range(min(count, 32)):
            child, k = int(generator.integers(later.num_boards)), int(generator.integers(later.betting.roots))
            state = later.roots[k]
            if not game.is_left_open(state) or is_held_out(later.cards[child]):
                continue
            weights = []
            for player in range(2):
                width = int(form.rounds[0].boards.width[0, player])
                row = plans[player][int(later.closings[player, k]) * width :][:width]
                places = int(later.boards.image_start[child, player])
                live = int(later.boards.live[child, player])
                own = row[later.boards.image_place[places : places + live]]
                full = np.zeros(len(_HANDS))
                full[later.hands[player][child]] = np.maximum(own, LEAST_WEIGHT * max(own.max(), 1e-12))
                weights.append(full)
            matched = min(state.spent)
            if found < count:
                found += 1
                yield Situation(
                    later.cards[child], game.pot + 2 * matched, game.stack - matched, (weights[0], weights[1])
                )


def _plans(form: SpotForm, solver: SpotCFR) -> tuple[Float, Float]:
    return SpotEvaluator(form).board_values(solver.average_strategy(), [0], 0)[0]


def iterations_for(at: Situation, base: int) -> int:
    """Return how many iterations a label takes: deep stacks have larger trees and values, and take longer to settle."""
    ratio = at.stack / at.pot
    return base * (1 if ratio < 5 else 2 if ratio < 20 else 3)


def label(at: Situation, iterations: int) -> Label:
    """Solve a situation."""
    form = spot_form(spot_of(at))
    solver = SpotCFR(form, DiscountedCFR())
    solver.run(iterations_for(at, iterations))
    evaluator = SpotEvaluator(form)
    strategy, boards = solver.average_strategy(), form.rounds[0].boards
    totals = [weights.sum() for weights in form.weights]
    cfv, down, beside, reach = [], [], [], []
    for player in range(2):
        live = int(boards.live[0, player])
        plans, gradient, _ = evaluator.board_values(strategy, [0], player)
        theirs = plans[1 - player][: int(boards.width[0, 1 - player])]
        won, rest = evaluator.check_down(0, 0, player, theirs)
        scale = totals[1 - player]
        cfv.append(gradient[:live] / (at.pot * scale))
        down.append(0.5 * won / scale)
        beside.append(rest / scale)
        reach.append(plans[player][:live] / totals[player])
    mine = form.rounds[0].hands
    return Label(
        at,
        (mine[0][0], mine[1][0]),
        (cfv[0], cfv[1]),
        (down[0], down[1]),
        (beside[0], beside[1]),
        (reach[0], reach[1]),
    )


class Places(NamedTuple):
    """What a network sees of a label, and where each player's hands are between its numbers."""

    seen: Float
    low: tuple[Int64, Int64]
    share: tuple[Float, Float]


def places_of(found: Label) -> Places:
    """Return what a network sees of a label, and where its hands are."""
    at = found.situation
    strengths = [hand_strengths(at.board, _HANDS[own], HOLDEM_DECK) for own in found.hands]
    (first, second), count = groups_of(strengths)
    seen, middle = see(first, second, *found.reach, count, EDGES)
    stack = stack_inputs(np.array([at.stack]), np.array([at.pot]))[0]
    low = np.clip(np.searchsorted(EDGES, middle, side="right") - 1, 0, BINS - 1)
    share = (middle - EDGES[low]) / (EDGES[low + 1] - EDGES[low])
    return Places(np.concatenate([seen, stack]), (low[first], low[second]), (share[first], share[second]))


def example(found: Label) -> Example:
    """Return a label as a network is fitted to it."""
    places = places_of(found)
    diagonal, next_to, moment = np.zeros((2, BINS + 1)), np.zeros((2, BINS)), np.zeros((2, BINS + 1))
    square = np.zeros(2)
    for player in range(2):
        low, share, beside = places.low[player], places.share[player], found.beside[player]
        gain = found.cfv[player] - found.check_down[player]
        near, far = (1.0 - share) * beside, share * beside
        each = 1.0 / len(gain)
        np.add.at(diagonal[player], low, near * near * each)
        np.add.at(diagonal[player], low + 1, far * far * each)
        np.add.at(next_to[player], low, near * far * each)
        np.add.at(moment[player], low, near * gain * each)
        np.add.at(moment[player], low + 1, far * gain * each)
        square[player] = gain @ gain * each
    return Example(places.seen, diagonal, next_to, moment, square)
