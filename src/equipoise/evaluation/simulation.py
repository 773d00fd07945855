"""Two strategies play each other on a compiled game: duplicate deals, in chunks that any number of threads may share.

A *pair* is one deal played twice, with the seats swapped. What chance does comes from a stream of its own that is
started anew for the second hand: the k-th chance event of both hands gets the same draw, and so the same card where the
same cards are left. What the players do is drawn independently. The streams of a pair depend on the seed and the pair's
number only, and a chunk's sums are made by one thread in order, so results are the same bits for any number of threads.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, uncounted
from equipoise.games import CHANCE, TERMINAL
from equipoise.sampling.dice import NO_TAPE, choose_weighted, start_stream
from equipoise.sampling.traversal import (
    APART,
    CHILDREN,
    FIRST,
    FIRST_CHILD,
    KIND,
    NODE_WIDTH,
    STAGE,
    draw_deal,
    following_subgame,
    payoff_at,
)
from equipoise.sampling.tree import SampledGame, SampledTree
from equipoise.threads import do_parts
from equipoise.trees.treeplex import Float, Int32, UInt64

U = np.uint64
A, B = 0, 1  # the two who play; A is in seat 0 in a pair's first hand and in seat 1 in its second

CHUNK = 2048  # pairs
STREAMS = 1 << 40  # the first number of our random streams: no iteration of a solver with the same seed has it
CHUNKS_A_CALL = 64  # so that progress, signals and other threads get their turn

# A chunk's sums, of payoffs (and then, SAMPLES further, of AIVAT's corrections) to A: of A's hands in seat 0, in seat
# 1, and of the means of the two; then of their squares.
SAMPLES = 6
SUMS = 2 * SAMPLES

FloatTable = npt.NDArray[np.float64]
Records = npt.NDArray[np.int32]


class MatchTable(NamedTuple):
    """What the kernel reads by (infoset, action): strategies and corrections, in the order of sampling's tables."""

    strategies: Float  # A's, then B's: [2 x entries], each for both seats
    corrections: Float  # [entries] what AIVAT adds to A's estimate when the observer takes the action
    observer: int  # A or B: whose actions are corrected; -1: no AIVAT


@inlined
def play_hand(
    tree: SampledTree,
    deal_width: np.uint64,
    table: MatchTable,
    seat_of_a: int,
    chance_dice: UInt64,
    action_dice: UInt64,
    tape: Float,
    record: Int32,
) -> tuple[float, float]:
    """Play one hand; return the payoff to A and the sum of corrections. ``record`` gets each round's deal and end."""
    nodes, amounts, probability, matrices = tree.nodes, tree.amounts, tree.probability, tree.matrices
    roots, continuation, deals = tree.roots, tree.continuation, tree.deals
    deal_range, deal_cumulative = tree.deal_range, tree.deal_cumulative
    strategies, corrections, observer = table
    entries = U(corrections.size)
    subgame = roots.size - 1  # a game opens with the round that leads to all others
    correction, payoff, written = 0.0, 0.0, 0
    while subgame >= 0:
        node = U(roots[subgame])
        deal = U(draw_deal(deal_range, deal_cumulative, subgame, chance_dice, tape))
        kind = nodes[node * NODE_WIDTH + KIND]
        while kind != TERMINAL:
            row = node * NODE_WIDTH
            count, first = U(nodes[row + CHILDREN]), U(nodes[row + FIRST_CHILD])
            if kind == CHANCE:
                node = first
                if probability.size > 0:
                    node = first + choose_weighted(chance_dice, tape, probability, first, count, 1.0)
            else:
                acting = A if kind == seat_of_a else B
                hand = U(deals[deal * deal_width + U(3) * U(nodes[row + STAGE]) + U(kind)])
                entry = U(nodes[row + FIRST]) + hand * count
                chosen = choose_weighted(action_dice, tape, strategies, U(acting) * entries + entry, count, 1.0)
                if acting == observer:
                    correction += corrections[entry + chosen]
                node = first + chosen
            kind = nodes[node * NODE_WIDTH + KIND]
        if record.size > 0:
            record[written], record[written + 1] = deal, node
            written += 2
        payoff = payoff_at(nodes, amounts, matrices, deals, deal_width, node, deal)
        subgame = following_subgame(continuation, nodes[node * NODE_WIDTH + STAGE], payoff)
    return (payoff if seat_of_a == 0 else -payoff), correction


@uncounted
def _play_chunk(
    tree: SampledTree,
    deal_width: np.uint64,
    table: MatchTable,
    seed: int,
    first_pair: int,
    begin: int,
    end: int,
    dice: npt.NDArray[np.uint64],
    tape: Float,
    records: Records,
    sums: Float,
) -> None:
    """Play the pairs from ``begin`` to ``end`` (exclusive) of those after ``first_pair``, and write their sums."""
    for k in range(SUMS):
        sums[k] = 0.0
    for pair in range(begin, end):
        number = first_pair + pair
        payoff = correction = 0.0
        for seat in range(2):
            start_stream(dice[0], seed, STREAMS, 0, number)
            start_stream(dice[1], seed, STREAMS + seat, 1, number)
            record = records[min(pair, records.shape[0] - 1), seat]
            won, corrected = play_hand(tree, deal_width, table, seat, dice[0], dice[1], tape, record)
            payoff += 0.5 * won
            correction += 0.5 * corrected
            sums[seat] += won
            sums[3 + seat] += won * won
            sums[SAMPLES + seat] += corrected
            sums[SAMPLES + 3 + seat] += corrected * corrected
        sums[2] += payoff
        sums[5] += payoff * payoff
        sums[SAMPLES + 2] += correction
        sums[SAMPLES + 5] += correction * correction


class Batch(NamedTuple):
    """Some pairs that were played: how many, their sums by chunk, and what happened, if that was to be recorded."""

    pairs: int
    sums: FloatTable  # [chunks, SUMS]
    records: Records  # [pairs, 2, 2 x rounds]: deal and end of each round, -1 after the last


class _Chunks(NamedTuple):
    """What chunks of pairs share."""

    tree: SampledTree
    deal_width: np.uint64
    table: MatchTable
    seed: int
    first_pair: int
    pairs: int
    dice: list[npt.NDArray[np.uint64]]  # by lane
    records: Records
    sums: FloatTable


def _play_some(shared: _Chunks, lane: int, chunk: int) -> None:
    begin, end = chunk * CHUNK, min((chunk + 1) * CHUNK, shared.pairs)
    played = (*shared[:4], shared.first_pair, begin, end)
    _play_chunk(*played, shared.dice[lane], NO_TAPE, shared.records, shared.sums[chunk])


def play_pairs(
    game: SampledGame, table: MatchTable, *, pairs: int, seed: int, threads: int = 1, recorded: bool = False
) -> Iterator[Batch]:
    """Play pairs, some at a time."""
    rounds, deal_width = len(game.tree.roots), U(game.deal_width)
    dice = [np.zeros((2, 2), np.uint64) for _ in range(threads)]
    sums = np.zeros((CHUNKS_A_CALL, 2 * APART))
    done, at_once = 0, 1
    while done < pairs:
        now = min(pairs - done, CHUNK * at_once)
        at_once = min(2 * at_once, CHUNKS_A_CALL)  # the first news come soon
        chunks = -(-now // CHUNK)
        records = np.full((now, 2, 2 * rounds) if recorded else (1, 2, 0), -1, np.int32)
        shared = _Chunks(game.tree, deal_width, table, seed, done, now, dice, records, sums)
        do_parts(_play_some, range(chunks), shared, threads=threads)
        yield Batch(now, sums[:chunks, :SUMS].copy(), records)
        done += now
