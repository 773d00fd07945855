"""Monte Carlo CFR with stores in place of tables: Double Neural CFR, Deep CFR, and every mixture of network and table.

One iteration, for each player in turn or for both at once (DN19 Algorithm 1, B19 Algorithm 1):

1. the strategy is regret matching on the regret store's scores (a network's predictions, or a table);
2. traversals at that strategy, by the scheme, find regrets and strategies, infoset by infoset;
3. the regret store absorbs the regrets, the strategy store the strategies; then both settle: networks are fitted.

With two tables this is `SampledCFR`: the same regrets bit for bit, and averages up to rounding.
"""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from equipoise.errors import NotSupported
from equipoise.sampling.rows import Sampler
from equipoise.solvers.solver import Solver
from equipoise.solvers.spaces import Space
from equipoise.stores.sums import RegretStore, State, StrategyStore, joined, part_of
from equipoise.trees.tables import Pair
from equipoise.trees.treeplex import Float
from equipoise.work import Report, silent, spending


class StoredCFR(Solver):
    """Monte Carlo CFR whose sums are in stores."""

    hands_over = takes_over = True

    def __init__(
        self,
        space: Space,
        sampler: Sampler,
        regrets: RegretStore,
        strategies: StrategyStore,
        *,
        updates: Literal["alternating", "simultaneous"] = "alternating",
    ) -> None:
        self.space, self.form = space, space.form
        self.regrets = regrets
        self.strategies = strategies
        self.sampler, self.threads = sampler, sampler.threads
        self.iteration = 0
        self._spent = {"traversal_seconds": 0.0, "fit_seconds": 0.0}  # by this process
        self._turns: tuple[tuple[int, ...], ...] = ((0,), (1,)) if updates == "alternating" else ((0, 1),)

    def run(self, iterations: int) -> None:
        """Run some iterations; where a long run is cut into calls makes no difference to its result."""
        store_of = {"regret": self.regrets, "strategy": self.strategies}
        for _ in range(iterations):
            self.iteration += 1
            for players in self._turns:
                with spending(self._spent, "traversal_seconds"):
                    for rows in self.sampler.rows(self.regrets.scores_at, players, self.iteration):
                        store_of[rows.kind].absorb(rows)
                with spending(self._spent, "fit_seconds"):
                    self.regrets.settle(self.iteration, players)
                    self.strategies.settle(self.iteration, players)

    def conclude(self, report: Report = silent) -> bool:
        """Let the strategy store make its answer, as Deep CFR fits its policy networks."""
        return self.strategies.conclude(report)

    @property
    def concluded(self) -> bool:
        """Return whether the strategy so far can be asked for as things are."""
        return self.strategies.concluded

    def average_strategy(self) -> Any:
        """Return the average strategy as the form's evaluator takes it."""
        return self.space.played(self.strategies)

    def best_responses(self, evaluator: Any) -> Any:
        """Return the value of the average strategy and of best responses to it; workers share the boards."""
        return self.space.best_responses(evaluator, self.average_strategy())

    def reached(self) -> npt.NDArray[np.bool_] | None:
        """Return, by infoset of a listed game, whether the average has any weight there."""
        return self.space.reached(self.strategies)

    @property
    def layout(self) -> str:
        """Return a hash of which infoset and action each number of the state belongs to."""
        return self.space.layout

    @property
    def nodes_touched(self) -> int:
        """Return how many nodes all traversals have visited."""
        return self.sampler.nodes_touched

    def diagnostics(self) -> dict[str, float]:
        """Return what the stores say of their last fits, and what traversals and fits have taken in this process."""
        return {**self._spent, **self.regrets.diagnostics(), **self.strategies.diagnostics()}

    def state(self) -> State:
        """Return all that the next iterations depend on (random streams start from the iteration's number)."""
        stores = joined({"regret": self.regrets.state(), "strategy": self.strategies.state()})
        return {**stores, "nodes_touched": np.array([float(self.nodes_touched)])}

    def restore(self, iteration: int, state: State) -> None:
        """Continue from a saved state, bit for bit."""
        self.regrets.restore(part_of(state, "regret"))
        self.strategies.restore(part_of(state, "strategy"))
        self.sampler.nodes_touched = int(state["nodes_touched"][0])
        self.iteration = iteration

    def sums(self) -> tuple[Float, Pair]:
        """Return the regrets by table entry and the average strategy, for another solver to start from."""
        if not self.regrets.has_sums:
            raise NotSupported(
                "a Deep CFR run keeps mean advantages, not sums of regrets, so no other run can be initialised from it"
            )
        regrets = self.space.listed().listing.table(lambda player: self.regrets.scores_at(player, None))
        return regrets, self.average_strategy()

    def start_from(self, regret_sum: Float, average: Pair, iteration: int) -> None:
        """Take over what another solver of the game had found (DN19 Eq. 10), and go on from its iteration."""
        tables = self.space.listed().tables
        table = tables.from_form(average)
        self.regrets.start_from(regret_sum, iteration)
        self.strategies.start_from(table, tables.own_reach(table), iteration)
        self.iteration = iteration
