"""Extensive-form fictitious play (XFP; Heinrich, Lanctot and Silver 2015), full width.

Each iteration both players find a best response to the other's average strategy and mix it into their own: in terms of
plans, average += (best response - average) / (t + 1), which is what mixing by reach does to strategies.
"""

import numpy as np

from equipoise.solvers.full_width import ListedSolver
from equipoise.trees.best_response import Evaluator
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.treeplex import Float, write_plan


class FictitiousPlay(ListedSolver):
    """Best responses to averages. The sum of plans starts with the uniform strategy's."""

    def __init__(self, form: SequenceForm, *, threads: int = 1) -> None:
        self.form = form
        self.iteration = 0
        self.threads = threads
        self._evaluator = Evaluator(form, threads=threads)
        first, second = form.treeplexes
        self._best = (first.uniform_strategy(), second.uniform_strategy())
        self._plan = (np.ones(first.num_sequences), np.ones(second.num_sequences))
        self.strategy_sum = (np.zeros(first.num_sequences), np.zeros(second.num_sequences))
        self._add_best()

    def run(self, iterations: int) -> None:
        """Run some iterations."""
        for _ in range(iterations):
            averages = [total / (self.iteration + 1) for total in self.strategy_sum]
            for player in range(2):
                self._evaluator.respond(player, averages[1 - player], self._best[player])
            self._add_best()
            self.iteration += 1

    def state(self) -> dict[str, Float]:
        """Return all that the next iterations depend on."""
        return {f"strategy_sum_{player}": self.strategy_sum[player] for player in range(2)}

    def _add_best(self) -> None:
        for player in range(2):
            write_plan(self.form.treeplexes[player], self._best[player], self._plan[player])
            self.strategy_sum[player][:] += self._plan[player]
