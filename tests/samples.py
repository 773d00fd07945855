"""The sampling traversal one sample at a time: by its stream of random numbers, or all samples there are, enumerated.

A traversal reads its draws from a tape and notes, for each, the interval of draws that leads to the same choice. So
samples are counted like an odometer: the last draw that is not yet in its last interval moves on to the next one, and
all draws after it start again. A sample's probability is the product of its intervals' lengths.

The kernels here are not cached on disk: Numba's cache does not notice when functions that a kernel calls have changed.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numba
import numpy as np

from equipoise.games import Game, load_game
from equipoise.games.betting import BettingRound, BettingRules
from equipoise.games.poker import Deck, PokerGame
from equipoise.regret.matching import UNIFORM
from equipoise.regret.rules import CFR, coefficient_table
from equipoise.sampling.dice import start_stream
from equipoise.sampling.schemes import Scheme
from equipoise.sampling.traversal import (
    ACTIONS,
    ENTRY,
    FLOAT_WIDTH,
    INT_WIDTH,
    OPPONENT,
    OWN,
    OWN_REACH,
    ROLE,
    SAMPLE_REACH,
    START,
    STOCHASTIC,
    Visits,
    absorb,
    make_visits,
    walk,
)
from equipoise.sampling.tree import SampledGame, from_game_tree, from_public_tree, planned
from equipoise.trees.compile import build_game_tree, build_public_tree
from equipoise.trees.public_tree import vector_form
from equipoise.trees.sequence_form import SequenceForm, sequence_form
from tests.naive.cfr import regret_matching
from tests.naive.values import Policy

TAPE_LENGTH = 5_000
CERTAIN = 1.0 - 1e-12  # an interval that ends here is the last
INTO_THE_NEXT = 1e-13  # rounding may put the end of an interval inside it
OWN_GAMES = {
    # Kuhn poker with bets of 1 or 2 chips: three actions at most infosets, and one round.
    "no_limit_kuhn": PokerGame(
        "no_limit_kuhn",
        Deck(ranks=("J", "Q", "K")),
        BettingRules(blinds=(1, 1), rounds=(BettingRound(),), stack=3),
        (0,),
    ),
    "leduc_with_one_raise": PokerGame(
        "leduc_with_one_raise",
        Deck(ranks=("J", "Q", "K"), suits=("s", "h")),
        BettingRules(
            blinds=(1, 1),
            rounds=(BettingRound(max_raises=1, bet_size=2), BettingRound(max_raises=1, bet_size=4)),
        ),
        (0, 1),
    ),
}


def game_of(text: str) -> Game:
    return OWN_GAMES[text] if text in OWN_GAMES else load_game(text)


class Prepared(NamedTuple):
    """A game in one of the two tree forms that can be sampled."""

    game: Game
    form: SequenceForm
    sampled: SampledGame

    def policy(self, table: np.ndarray) -> Policy:
        """Return the rows of a table by infoset key."""
        rows = iter(np.split(table, np.cumsum(self.row_lengths())[:-1]))
        return {key: next(rows).tolist() for player in range(2) for key in self.form.keys(player)}

    def table(self, rows: Policy) -> np.ndarray:
        """Return a table from rows by infoset key; 0 where there is no row."""
        lengths = iter(self.row_lengths())
        keys = [key for player in range(2) for key in self.form.keys(player)]
        return np.concatenate([rows.get(key, np.zeros(length)) for key, length in zip(keys, lengths, strict=True)])

    def row_lengths(self) -> np.ndarray:
        return np.concatenate([plex.num_actions() for plex in self.form.treeplexes])

    def matched(self, regrets: np.ndarray) -> Policy:
        """Return the strategy of regret matching, by infoset key."""
        return {key: regret_matching(row) for key, row in self.policy(regrets).items()}

    def random_regrets(self, seed: int, *, full_support: bool = False) -> np.ndarray:
        """Return regrets without pattern, about half of them negative, or all positive: a full-support strategy."""
        regrets = np.random.default_rng(seed).normal(size=sum(self.sampled.table_sizes))
        return np.abs(regrets) + 0.05 if full_support else regrets


def prepare(game: Game, tree: str) -> Prepared:
    """Return a game as a ``public`` tree or as a tree of ``histories``."""
    if tree == "public":
        public = build_public_tree(game)
        form = vector_form(public)
        return Prepared(game, form, from_public_tree(public, form))
    histories = build_game_tree(game)
    form = sequence_form(histories)
    return Prepared(game, form, from_game_tree(histories, form))


@cache
def prepared(text: str, tree: str) -> Prepared:
    """Return a prepared game, made once."""
    return prepare(game_of(text), tree)


@numba.njit(error_model="numpy")
def _traverse(tree, deal_width, plan, scores, traverser, subgame, visits):
    """Run one traversal of a subgame into an empty list."""
    ints, floats, buffer, dice, tape, ends = visits
    ends[0, 0] = ends[0, 1] = 0
    dice[0, 1] = 0
    width = np.uint64(deal_width)
    walk(
        tree, width, plan, scores, UNIFORM, traverser, subgame, ints[0], floats[0], buffer[0], dice[0], tape[0], ends[0]
    )


@numba.njit(error_model="numpy")
def _probability(tape, used):
    product = 1.0
    for position in range(used):
        product *= tape[position, 2] - tape[position, 1]
    return product


@numba.njit(error_model="numpy")
def _advance(tape, used):
    """Write the draws of the next sample; return whether there is one."""
    last = used - 1
    while last >= 0 and tape[last, 2] >= CERTAIN:
        tape[last, 0] = 0.0
        last -= 1
    if last >= 0:
        tape[last, 0] = tape[last, 2] + INTO_THE_NEXT
    return last >= 0


@numba.njit(error_model="numpy")
def _weigh(
    tree,
    deal_width,
    plan,
    scores,
    traverser,
    subgame,
    visits,
    rule,
    limit,
    regret,
    average,
    own,
    visited,
    touched,
):
    """Add every sample's findings times its probability to the tables; return the number of samples and their sum.

    ``absorb`` adds: with the probability in place of a batch's share for the estimators, and in place of an iteration's
    weight for records of own reach.
    """
    ints, floats, buffer, dice, tape, ends = visits
    samples, total = 0, 0.0
    unused = np.zeros_like(regret)
    own_rule = rule.copy()
    going = True
    while going and samples < limit:
        _traverse(tree, deal_width, plan, scores, traverser, subgame, visits)
        used = int(dice[0, 1])
        probability = _probability(tape[0], used)
        samples += 1
        total += probability
        own_rule[6] = probability
        for averaging in range(2):
            touched[0] = 0
            unused[:] = np.nan
            for position in range(np.uint64(ends[0, 0])):
                absorb(
                    ints[0],
                    floats[0],
                    buffer[0],
                    np.uint64(position),
                    ints[0, np.uint64(position) * INT_WIDTH + ROLE],
                    False,
                    probability,
                    rule if averaging == STOCHASTIC else own_rule,
                    averaging,
                    unused,
                    regret if averaging == STOCHASTIC else unused,
                    average if averaging == STOCHASTIC else own,
                    touched,
                )
        for position in range(ends[0, 0]):
            here = position * int(INT_WIDTH)
            if ints[0, here + int(ROLE)] == OWN:
                for action in range(ints[0, here + int(ACTIONS)]):
                    visited[ints[0, here + int(ENTRY)] + action] += probability
        going = _advance(tape[0], used)
    return samples, total, going


class TooManySamplesError(Exception):
    """A game has more samples than a test will wait for."""


class Expected(NamedTuple):
    """Probability-weighted sums over all samples of what a traversal adds to the tables."""

    samples: int
    probability: float
    regret: np.ndarray
    average: np.ndarray  # stochastic averaging
    own_reach: np.ndarray  # own_reach averaging
    visited: np.ndarray  # how likely the traverser's infosets are met


def expected(game: Prepared, scheme: Scheme, regrets: np.ndarray, traverser: int, limit: int = 200_000) -> Expected:
    """Return the exact expectation of a traversal's findings, by enumerating its samples."""
    tree, plan = planned(game.sampled, scheme)
    visits = make_visits(tree, tape_length=TAPE_LENGTH)
    regret, average, own, visited = (np.zeros(len(regrets)) for _ in range(4))
    samples, total, more = _weigh(
        tree,
        game.sampled.deal_width,
        plan,
        regrets,
        traverser,
        0,
        visits,
        coefficient_table(CFR(), 1, 1)[0],
        limit,
        regret,
        average,
        own,
        visited,
        np.zeros(1 + 2 * len(regrets), np.int64),
    )
    if more:
        raise TooManySamplesError(f"{game.game.name} has more than {limit} samples of {scheme}")
    return Expected(samples, total, regret, average, own, visited)


class Row(NamedTuple):
    """A visited decision: what is in the list of visits after a traversal."""

    own: bool  # the traverser acts; otherwise the opponent
    entry: int  # the place of its first action in the tables
    strategy: np.ndarray
    regrets: np.ndarray  # of the traverser's decisions
    sample_reach: float
    own_reach: float


def rows_of(visits: Visits) -> Iterator[Row]:
    """Yield the decisions of the last traversal, in the order in which it came to them."""
    for position in range(int(visits.ends[0, 0])):
        ints = visits.ints[0, position * int(INT_WIDTH) :]
        floats = visits.floats[0, position * int(FLOAT_WIDTH) :]
        role, start, entry, count = (int(ints[column]) for column in (ROLE, START, ENTRY, ACTIONS))
        if role in (OWN, OPPONENT):
            strategy = visits.buffer[0, start : start + count].copy()
            regrets = visits.buffer[0, start + count : start + 2 * count].copy() if role == OWN else np.zeros(0)
            sample_reach, own_reach = float(floats[SAMPLE_REACH]), float(floats[OWN_REACH])
            yield Row(role == OWN, entry, strategy, regrets, sample_reach, own_reach)


def every_sample(
    game: Prepared, scheme: Scheme, regrets: np.ndarray, traverser: int
) -> Iterator[tuple[float, list[Row], np.ndarray]]:
    """Yield each sample: its probability, the decisions that it visits, and its tape (draw, low, high a choice)."""
    tree, plan = planned(game.sampled, scheme)
    visits, width = make_visits(tree, tape_length=TAPE_LENGTH), game.sampled.deal_width
    going = True
    while going:
        _traverse(tree, width, plan, regrets, traverser, 0, visits)
        used = int(visits.dice[0, 1])
        yield _probability(visits.tape[0], used), list(rows_of(visits)), visits.tape[0, :used].copy()
        going = _advance(visits.tape[0], used)


class Streams:
    """Single traversals by their streams of random numbers, as a solver with the same seed makes them."""

    def __init__(self, game: Prepared, scheme: Scheme, seed: int) -> None:
        self._game, self._seed = game, seed
        self._tree, self._plan = planned(game.sampled, scheme)
        self._visits = make_visits(self._tree)

    def rows(self, regrets: np.ndarray, player: int, iteration: int, traversal: int, subgame: int = 0) -> Iterator[Row]:
        """Return the decisions that a traversal of an iteration visits."""
        sampled = self._game.sampled
        stream = traversal * sampled.tree.roots.size + subgame
        with np.errstate(over="ignore"):  # streams count modulo 2^64, which only compiled code takes as given
            start_stream(self._visits.dice[0], self._seed, iteration, player, stream)
            _traverse(self._tree, sampled.deal_width, self._plan, regrets, player, subgame, self._visits)
        return rows_of(self._visits)

    def increments(self, regrets: np.ndarray, player: int, iteration: int, traversal: int) -> np.ndarray:
        """Return a table of the regrets that a traversal finds."""
        table = np.zeros(len(regrets))
        for row in self.rows(regrets, player, iteration, traversal):
            if row.own:
                table[row.entry : row.entry + len(row.regrets)] += row.regrets
        return table
