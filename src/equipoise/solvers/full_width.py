"""Full-width CFR in all its variants: the loop.

One iteration, for each player in turn (alternating) or for both at once (simultaneous):

1. *gradient*: what each own sequence is worth against the opponent's plan (chance x opponent's reach x payoff);
2. from the last infosets to the first, *regret*: an action's counterfactual value minus the infoset's, added under the
   rule; *regret matching* gives the next strategy; the infoset's value is passed on to the sequence that led to it;
3. from the first infosets to the last, *averaging*: the plan that was played goes into the strategy sum under the
   rule's weight, and the new strategy's plan takes its place.

Both tree forms go through the same kernel; they differ only in how step 1 is computed (see trees/payoffs.py).
"""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from equipoise.compiled import calling_pairs, inlined, prange
from equipoise.regret.blocks import add_regrets, add_to_average
from equipoise.regret.matching import UNIFORM, match_block
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.solvers.solver import Solver
from equipoise.threads import Pace
from equipoise.trees.payoffs import Payoffs, continuation, gradient_chunk
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.tables import TableMap
from equipoise.trees.treeplex import Float, Treeplex, normalised, plan_block, write_plan

Pair = tuple[Float, Float]


@inlined
def _regrets_of_block(
    block: int,
    plex: Treeplex,
    rule: Float,
    gradient: Float,
    strategy: Float,
    regret_sum: Float,
    values: Float,
    totals: Float,
) -> None:
    """Step 2 for one block: values, regret increments under the rule, and the next strategy."""
    offset, actions, width = plex.block_offset[block], plex.block_actions[block], plex.block_width[block]
    infoset = plex.block_infoset[block]
    end = offset + actions * width
    value = values[infoset : infoset + width]
    add_regrets(actions, width, rule, gradient[offset:end], strategy[offset:end], regret_sum[offset:end], value)
    match_block(strategy, offset, actions, width, totals[infoset : infoset + width], UNIFORM)


@inlined
def _average_block(block: int, plex: Treeplex, rule: Float, plan: Float, strategy_sum: Float) -> None:
    """Step 3 for one block: the plan that was played goes into the strategy sum."""
    start = plex.block_offset[block]
    end = start + plex.block_actions[block] * plex.block_width[block]
    add_to_average(rule, plan[start:end], strategy_sum[start:end])


def _regret_pass(
    plex: Treeplex,
    payoffs: Payoffs,
    rule: Float,
    opponent_plan: Float,
    strategy: Float,
    regret_sum: Float,
    gradient: Float,
    values: Float,
    totals: Float,
    subgame_values: Float,
) -> None:
    """Do steps 1 and 2 for one player."""
    for subgame in range(plex.subgame_level.size - 1):
        scale, shift = continuation(payoffs, subgame, subgame_values)
        for chunk in prange(payoffs.subgame_chunk[subgame], payoffs.subgame_chunk[subgame + 1]):
            gradient_chunk(payoffs, chunk, scale, shift, opponent_plan, gradient)
        for level in range(plex.subgame_level[subgame + 1] - 1, plex.subgame_level[subgame] - 1, -1):
            first, last = plex.level_start[level], plex.level_start[level + 1]
            for block in prange(first, last):
                _regrets_of_block(block, plex, rule, gradient, strategy, regret_sum, values, totals)
            for infoset in range(plex.block_infoset[first], plex.block_infoset[last - 1] + plex.block_width[last - 1]):
                gradient[plex.parent_sequence[infoset]] += values[infoset]
        subgame_values[subgame] = gradient[subgame]


def _average_pass(plex: Treeplex, rule: Float, strategy: Float, plan: Float, strategy_sum: Float) -> None:
    """Do step 3 for one player."""
    for level in range(plex.level_start.size - 1):
        for block in prange(plex.level_start[level], plex.level_start[level + 1]):
            _average_block(block, plex, rule, plan, strategy_sum)
            plan_block(block, plex, strategy, plan)


def _iterate(
    plexes: tuple[Treeplex, Treeplex],
    payoffs: tuple[Payoffs, Payoffs],
    rules: Float,
    alternating: bool,
    regret_sum: Pair,
    strategy_sum: Pair,
    strategy: Pair,
    plan: Pair,
    gradient: Pair,
    values: Pair,
    totals: Pair,
    subgame_values: Float,
) -> None:
    """Run one iteration for each row of ``rules`` (an update rule's coefficients)."""
    for iteration in range(rules.shape[0]):
        rule = rules[iteration]
        for turn in range(2 if alternating else 1):
            first_player, end_player = (turn, turn + 1) if alternating else (0, 2)
            for p in range(first_player, end_player):
                _regret_pass(
                    plexes[p],
                    payoffs[p],
                    rule,
                    plan[1 - p],
                    strategy[p],
                    regret_sum[p],
                    gradient[p],
                    values[p],
                    totals[p],
                    subgame_values,
                )
            for p in range(first_player, end_player):
                _average_pass(plexes[p], rule, strategy[p], plan[p], strategy_sum[p])


_ITERATE = calling_pairs(_iterate, _regret_pass, _average_pass)


class ListedSolver(Solver):
    """A solver whose average is a sum of plans, in the order of a listed game's treeplexes."""

    form: SequenceForm
    strategy_sum: Pair

    def average_strategy(self) -> Pair:
        """Return the average strategy: the one that converges to equilibrium."""
        first, second = self.form.treeplexes
        return normalised(first, self.strategy_sum[0]), normalised(second, self.strategy_sum[1])

    def reached(self) -> npt.NDArray[np.bool_]:
        """Return, by infoset, whether the average has any weight there."""
        tables = TableMap(self.form)
        return tables.has_weight(tables.from_form(self.strategy_sum))

    @property
    def layout(self) -> str:
        """Return a hash of which infoset and action each number of the state belongs to."""
        return self.form.layout

    def restore(self, iteration: int, state: dict[str, Any]) -> None:
        """Continue from a saved state, bit for bit."""
        for name, array in self.state().items():
            array[:] = state[name]
        self.iteration = iteration


class FullWidthCFR(ListedSolver):
    """Tabular CFR over every history of a game; the rule makes it CFR, CFR+, Linear, Discounted or Predictive."""

    hands_over = True

    def __init__(
        self,
        form: SequenceForm,
        rule: Rule,
        *,
        updates: Literal["alternating", "simultaneous"] = "alternating",
        threads: int = 1,
    ) -> None:
        self.form = form
        self.rule = rule
        self.updates = updates
        self.threads = threads
        self._pace = Pace(threads)
        self.iteration = 0
        self.regret_sum = self._zeros("num_sequences")
        self.strategy_sum = self._zeros("num_sequences")
        self._gradient = self._zeros("num_sequences")
        self._values = self._zeros("num_infosets")
        self._totals = self._zeros("num_infosets")
        self._plan = self._zeros("num_sequences")
        first, second = form.treeplexes
        self.strategy = (first.uniform_strategy(), second.uniform_strategy())
        self._write_plans()

    def run(self, iterations: int) -> None:
        """Run some iterations; where a long run is cut into calls makes no difference to its result."""
        rules = coefficient_table(self.rule, self.iteration + 1, iterations)
        for first, last, threads in self._pace.slices(iterations):
            _ITERATE[threads > 1](
                self.form.treeplexes,
                self.form.payoffs,
                rules[first:last],
                self.updates == "alternating",
                self.regret_sum,
                self.strategy_sum,
                self.strategy,
                self._plan,
                self._gradient,
                self._values,
                self._totals,
                np.zeros(self.form.treeplexes[0].num_subgames),
            )
            self.iteration += last - first

    def sums(self) -> tuple[Float, Pair]:
        """Return the regrets by table entry and the average strategy, for another solver to start from."""
        first, second = self.regret_sum
        return TableMap(self.form).from_form((first, second)), self.average_strategy()

    def state(self) -> dict[str, Float]:
        """Return all that the next iterations depend on."""
        names = ("regret_sum", "strategy_sum", "strategy")
        return {f"{name}_{player}": getattr(self, name)[player] for name in names for player in range(2)}

    def restore(self, iteration: int, state: dict[str, Float]) -> None:
        """Continue from a saved state, bit for bit."""
        super().restore(iteration, state)
        self._write_plans()

    def _write_plans(self) -> None:
        for player in range(2):
            write_plan(self.form.treeplexes[player], self.strategy[player], self._plan[player])

    def _zeros(self, size: str) -> Pair:
        first, second = (np.zeros(getattr(plex, size)) for plex in self.form.treeplexes)
        return first, second
