"""Monte Carlo CFR in all its variants: the loop.

One iteration, for each player in turn (alternating) or for both at once (simultaneous):

1. b traversals at a frozen strategy, by the scheme (DN19 Eq. 12: mini-batch);
2. their regrets, summed by infoset and divided by b, update the regret sums under the rule: once per infoset and
   iteration, so that MCCFR+ clips the sum of the batch and not its parts (DN19 Eq. 14);
3. the average strategy grows on the way: at the opponent's infosets (``stochastic``, Gibson et al. 2012 line 27) or at
the traverser's own (``own_reach``, DN19 Algorithm 3).

Strategies are never stored: regret matching happens where a traversal passes. Each traversal has its own stream of
random numbers, and additions keep an order that does not depend on threads (`gather`), so neither does the result.
"""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from equipoise.compiled import calling_pairs, inlined, prange, uncounted
from equipoise.regret.matching import UNIFORM
from equipoise.regret.rules import Rule, coefficient_table, updated
from equipoise.sampling.dice import start_stream
from equipoise.sampling.gather import Apart, Batches, Walks, gather
from equipoise.sampling.schemes import Scheme, SchemePlan
from equipoise.sampling.traversal import (
    INT_WIDTH,
    OWN_REACH_AVERAGING,
    ROLE,
    STOCHASTIC,
    Visits,
    absorb,
    back_up,
    descend,
)
from equipoise.sampling.tree import Int64Table, SampledGame, SampledTree, Tables, planned
from equipoise.solvers.solver import Solver
from equipoise.trees.treeplex import Float, Int32, Int64, UInt64
from equipoise.workers import Workers


@inlined
def _apply(rule: Float, first: int, last: int, regret_sum: Float, increment: Float, touched: Int64) -> None:
    """Step 2: one update per infoset that the batch met, or of a whole stretch when the rule makes old regrets fade."""
    if rule[0] != 1.0 or rule[1] != 1.0:
        for k in range(first, last):
            found = 0.0 if np.isnan(increment[k]) else increment[k]
            regret_sum[k] = updated(regret_sum[k], found, rule[0], rule[1], rule[2], rule[3])
            increment[k] = np.nan
    else:
        for number in range(touched[0]):
            entry = touched[1 + 2 * number]
            for k in range(entry, entry + touched[2 + 2 * number]):
                regret_sum[k] = updated(regret_sum[k], increment[k], rule[0], rule[1], rule[2], rule[3])
                increment[k] = np.nan
    touched[0] = 0


@uncounted
def _iterate_singly(
    tree: SampledTree,
    deal_width: int,
    scheme: SchemePlan,
    rules: Float,
    first_iteration: int,
    seed: int,
    averaging: int,
    regret_sum: Float,
    strategy_sum: Float,
    unused: Float,
    unlisted: Int64,
    ints: Int32,
    floats: Float,
    buffer: Float,
    dice: UInt64,
    tape: Float,
    ends: Int64,
) -> None:
    """Run iterations of one traversal a player, alternating, whose regrets go straight into the sums."""
    width = np.uint64(deal_width)
    for row in range(rules.shape[0]):
        rule, iteration = rules[row], first_iteration + row
        for player in range(2):
            for subgame in range(tree.roots.size):
                ends[0], ends[1] = 0, 0
                start_stream(dice, seed, iteration, player, subgame)
                descend(
                    tree,
                    width,
                    scheme,
                    regret_sum,
                    UNIFORM,
                    player,
                    subgame,
                    ints,
                    floats,
                    buffer,
                    dice,
                    tape,
                    ends,
                )
                position = np.uint64(ends[0])
                while position > np.uint64(0):
                    position -= np.uint64(1)
                    role = ints[position * INT_WIDTH + ROLE]
                    back_up(ints, floats, buffer, position, role)
                    absorb(
                        ints,
                        floats,
                        buffer,
                        position,
                        role,
                        True,
                        1.0,
                        rule,
                        averaging,
                        regret_sum,
                        unused,
                        strategy_sum,
                        unlisted,
                    )


def _apply_parts(rule: Float, first: int, last: int, regret_sum: Float, increment: Float, touched: Int64Table) -> None:
    """Step 2 of a batch: each thread updates the infosets that its list has."""
    parts = touched.shape[0]
    stretch = (last - first + parts - 1) // parts
    for part in prange(parts):
        begin = first + part * stretch
        _apply(rule, begin, min(begin + stretch, last), regret_sum, increment, touched[part])


@uncounted
def _fade(share: float, player: int, first_of_player_1: int, strategy_sum: Float) -> None:
    """Let a player's average fade."""
    first, last = (0, first_of_player_1) if player == 0 else (first_of_player_1, strategy_sum.size)
    for k in range(first, last):
        strategy_sum[k] *= share


@uncounted
def _apply_all(rule: Float, first: int, last: int, regret_sum: Float, increment: Float, touched: Int64) -> None:
    _apply(rule, first, last, regret_sum, increment, touched)


def _iterate_batches(
    tree: SampledTree,
    deal_width: int,
    scheme: SchemePlan,
    rules: Float,
    first_iteration: int,
    seed: int,
    batch: int,
    alternating: bool,
    averaging: int,
    first_of_player_1: int,
    regret_sum: Float,
    strategy_sum: Float,
    increment: Float,
    touched: Int64Table,
    visits: Visits,
    apart: Apart,
) -> None:
    """Run iterations of ``batch`` traversals a player, one for each row of ``rules``, a thread for each list."""
    for row in range(rules.shape[0]):
        rule, iteration = rules[row], first_iteration + row
        for turn in range(2 if alternating else 1):
            first_player, end_player = (turn, turn + 1) if alternating else (0, 2)
            for player in range(first_player, end_player):
                if rule[5] != 1.0:
                    _fade(rule[5], 1 - player if averaging == STOCHASTIC else player, first_of_player_1, strategy_sum)
                gather(
                    tree,
                    deal_width,
                    scheme,
                    rule,
                    iteration,
                    seed,
                    batch,
                    player,
                    averaging,
                    first_of_player_1,
                    regret_sum,
                    UNIFORM,
                    increment,
                    strategy_sum,
                    touched,
                    visits,
                    apart,
                    0,
                    visits.ints.shape[0],
                )
            first = first_of_player_1 if first_player == 1 else 0
            last = first_of_player_1 if end_player == 1 else regret_sum.size
            _apply_parts(rule, first, last, regret_sum, increment, touched)


_ITERATE_BATCHES = calling_pairs(_iterate_batches, gather, _apply_parts)


def _keeps_regrets(rule: Rule) -> bool:
    """Return whether a rule leaves regrets alone where nothing was sampled, so that tables need no sweep."""
    keep_positive, keep_negative = coefficient_table(rule, 2, 1)[0, :2]
    return bool(keep_positive == 1.0 and keep_negative == 1.0)


class SampledCFR(Solver):
    """Tabular Monte Carlo CFR by any scheme, rule and averaging."""

    hands_over = True

    def __init__(
        self,
        tables: Tables,
        game: SampledGame,
        scheme: Scheme,
        rule: Rule,
        *,
        batch: int = 1,
        updates: Literal["alternating", "simultaneous"] = "alternating",
        averaging: Literal["stochastic", "own_reach"] = "stochastic",
        seed: int = 0,
        threads: int = 1,
        precision: Literal["float32", "float64"] = "float64",
        workers: Workers | None = None,
    ) -> None:
        """Make a solver; ``workers`` may make parts of its batches."""
        self.form = tables.form
        self._tables = tables
        self._game = game
        self.rule = rule
        self.seed = seed
        self.iteration = 0
        self._tree, self._scheme = planned(game, scheme)
        self._batch = batch
        self._deal_width = game.deal_width
        self._alternating = updates == "alternating"
        self._averaging = STOCHASTIC if averaging == "stochastic" else OWN_REACH_AVERAGING
        size = sum(game.table_sizes)
        self._split = game.table_sizes[0]
        self.regret_sum = np.zeros(size, precision)
        self.strategy_sum = np.zeros(size, precision)
        # One traversal meets an infoset once, so its regrets need no buffer; with one, Bluff(2,2) would not fit.
        self._singly = batch == 1 and self._alternating and _keeps_regrets(rule)
        buffered = 0 if self._singly else size
        self._increment = np.full(buffered, np.nan, precision)
        walks = Walks(
            self._tree, game.deal_width, self._scheme, seed, batch, self._averaging, self._split, fallback=UNIFORM
        )
        self._shared = workers is not None
        self._batches = Batches(walks, threads, self._increment, workers)
        self.threads = self._batches.pace.threads

    @property
    def nodes_touched(self) -> int:
        """Return how many nodes all traversals have visited: probes and public deal nodes included, dealt hands not."""
        return self._batches.nodes_touched

    def run(self, iterations: int) -> None:
        """Run some iterations; where a long run is cut into calls makes no difference to its result."""
        rules = coefficient_table(self.rule, self.iteration + 1, iterations)
        game = (self._tree, self._deal_width, self._scheme)
        if self._singly:
            lists = (array[0] for array in self._batches.visits)
            buffers = (self._increment, self._batches.touched(1)[0])
            common = (*game, rules, self.iteration + 1, self.seed, self._averaging)
            _iterate_singly(*common, self.regret_sum, self.strategy_sum, *buffers, *lists)
            self.iteration += iterations
            return
        if self._shared:
            for rule in rules:
                self.iteration += 1
                for players in ((0, 1), (1, 2)) if self._alternating else ((0, 2),):
                    self._turn(rule, *players)
            return
        for first, last, threads in self._batches.pace.slices(iterations):
            _ITERATE_BATCHES[threads > 1](
                *game,
                rules[first:last],
                self.iteration + 1,
                self.seed,
                self._batch,
                self._alternating,
                self._averaging,
                self._split,
                self.regret_sum,
                self.strategy_sum,
                self._increment,
                self._batches.touched(threads),
                self._batches.visits,
                self._batches.apart,
            )
            self.iteration += last - first

    def _turn(self, rule: Float, first_player: int, end_player: int) -> None:
        """Do a turn of some players as `_iterate_batches` does, with batches that workers share."""
        for player in range(first_player, end_player):
            if rule[5] != 1.0:
                averaged = 1 - player if self._averaging == STOCHASTIC else player
                _fade(rule[5], averaged, self._split, self.strategy_sum)
            common = (rule, self.iteration, player, self.regret_sum)
            self._batches.gather(1, *common, self._increment, self.strategy_sum)
        first = self._split if first_player == 1 else 0
        last = self._split if end_player == 1 else self.regret_sum.size
        _apply_all(rule, first, last, self.regret_sum, self._increment, self._batches.touched(1)[0])

    def sums(self) -> tuple[Float, Any]:
        """Return the regrets by table entry and the average strategy, for another solver to start from."""
        return self.regret_sum, self.average_strategy()

    def average_strategy(self) -> Any:
        """Return the average strategy as the form's evaluator takes it, or as it can be asked for."""
        return self._tables.to_form(self.strategy_sum)

    def reached(self) -> npt.NDArray[np.bool_] | None:
        """Return, by infoset, whether the average has any weight there; None where the strategy itself can be asked."""
        return self._tables.has_weight(self.strategy_sum)

    @property
    def layout(self) -> str:
        """Return a hash of which infoset and action each number of the state belongs to."""
        return self._game.table_layout

    def state(self) -> dict[str, Float]:
        """Return all that the next iterations depend on (random streams start from the iteration's number)."""
        touched = np.array([float(self.nodes_touched)])
        return {"regret_sum": self.regret_sum, "strategy_sum": self.strategy_sum, "nodes_touched": touched}

    def restore(self, iteration: int, state: dict[str, Float]) -> None:
        """Continue from a saved state, bit for bit."""
        self.regret_sum[:] = state["regret_sum"]
        self.strategy_sum[:] = state["strategy_sum"]
        self._batches.forget()
        self._batches.nodes_touched = int(state["nodes_touched"][0])
        self.iteration = iteration
