"""Monte Carlo CFR with stores in place of tables: Double Neural CFR, and every mixture of network and table.

One iteration, for each player in turn or for both at once (DN19 Algorithm 1):

1. the strategy is regret matching on the regret store's scores (the RegretSumNetwork's predictions);
2. b traversals at that strategy, by the scheme; their regrets are summed by infoset and divided by b;
3. the regret store absorbs these increments, the strategy store the strategies.

With two tables this is `SampledCFR`: the same regrets bit for bit, and averages up to rounding.
"""

from typing import Generic, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel
from equipoise.errors import NotSupported
from equipoise.regret.matching import UNIFORM, match_infoset
from equipoise.sampling.gather import Sums
from equipoise.stores.sums import Found, RegretStore, State, StrategyStore, joined, part_of
from equipoise.trees.tables import Pair, TableMap
from equipoise.trees.treeplex import Float, Int64
from equipoise.work import Report, silent

Averaging = Literal["stochastic", "own_reach", "exact"]


@kernel
def match_table(scores: Float, first: Int64, fallback: int) -> Float:
    """Return the strategy of a whole table by regret matching; infoset i has entries first[i] to first[i + 1]."""
    strategy = np.empty_like(scores)
    for infoset in range(first.size - 1):
        start = np.uint64(first[infoset])
        match_infoset(scores, start, np.uint64(first[infoset + 1]) - start, fallback, strategy, start)
    return strategy


class Sampler(Protocol):
    """Traversals at a strategy that is given by its scores."""

    threads: int
    nodes_touched: int

    def sample(self, scores: Float, players: tuple[int, ...], iteration: int) -> Sums:
        """Run the traversals of some players in an iteration."""


Taken = TypeVar("Taken", contravariant=True)
Turn = TypeVar("Turn")  # what the traversals of a turn found


class Absorbs(Protocol[Taken]):
    """What the loop needs of a store."""

    def absorb(self, found: Taken) -> None:
        """Take in what a turn found."""

    def state(self) -> State:
        """Return all that the next iterations depend on."""

    def restore(self, state: State) -> None:
        """Continue from a saved state."""

    def diagnostics(self) -> dict[str, float]:
        """Return numbers about the last absorption, for the log."""


class Concludes(Absorbs[Taken], Protocol[Taken]):
    """A store whose answer may need some work first."""

    def conclude(self, report: Report) -> bool:
        """Do what is left to do before the average can be asked for; return whether there was anything."""


class StoreLoop(Generic[Turn]):
    """Monte Carlo CFR whose sums are in stores: the loop, wherever infosets are listed or not."""

    def __init__(
        self,
        regrets: Absorbs[Turn],
        strategies: Concludes[Turn],
        *,
        updates: Literal["alternating", "simultaneous"],
    ) -> None:
        self._stores = regrets, strategies
        self.iteration = 0
        self._turns: tuple[tuple[int, ...], ...] = ((0,), (1,)) if updates == "alternating" else ((0, 1),)

    def _found(self, players: tuple[int, ...]) -> Turn:
        """Run the traversals of some players in this iteration, at the strategy that the regret store gives."""
        raise NotImplementedError

    @property
    def nodes_touched(self) -> int:
        """Return how many nodes all traversals have visited."""
        raise NotImplementedError

    def _set_nodes_touched(self, count: int) -> None:
        raise NotImplementedError

    def run(self, iterations: int) -> None:
        """Run some iterations; where a long run is cut into calls makes no difference to its result."""
        for _ in range(iterations):
            self.iteration += 1
            for players in self._turns:
                found = self._found(players)
                for store in self._stores:
                    store.absorb(found)

    def conclude(self, report: Report = silent) -> bool:
        """Let the strategy store make its answer, as Deep CFR fits its policy networks."""
        return self._stores[1].conclude(report)

    def diagnostics(self) -> dict[str, float]:
        """Return what the stores say of their last fits."""
        regrets, strategies = self._stores
        return {**regrets.diagnostics(), **strategies.diagnostics()}

    def state(self) -> State:
        """Return all that the next iterations depend on (random streams start from the iteration's number)."""
        regrets, strategies = self._stores
        stores = joined({"regret": regrets.state(), "strategy": strategies.state()})
        return {**stores, "nodes_touched": np.array([float(self.nodes_touched)])}

    def restore(self, iteration: int, state: State) -> None:
        """Continue from a saved state, bit for bit."""
        for name, store in zip(("regret", "strategy"), self._stores, strict=True):
            store.restore(part_of(state, name))
        self._set_nodes_touched(int(state["nodes_touched"][0]))
        self.iteration = iteration


class StoredCFR(StoreLoop[Found]):
    """Monte Carlo CFR on listed infosets: stores are read for all of them once a turn."""

    def __init__(
        self,
        tables: TableMap,
        sampler: Sampler,
        regrets: RegretStore,
        strategies: StrategyStore,
        *,
        updates: Literal["alternating", "simultaneous"] = "alternating",
        averaging: Averaging = "exact",
        fallback: int = UNIFORM,
    ) -> None:
        super().__init__(regrets, strategies, updates=updates)
        self.form = tables.form
        self.tables = tables
        self.regrets = regrets
        self.strategies = strategies
        self.threads = sampler.threads
        self._sampler = sampler
        self._averaging = averaging
        self._fallback = fallback

    @property
    def nodes_touched(self) -> int:
        return self._sampler.nodes_touched

    def _set_nodes_touched(self, count: int) -> None:
        self._sampler.nodes_touched = count

    def _found(self, players: tuple[int, ...]) -> Found:
        scores = self.regrets.scores()
        strategy = match_table(scores, self.tables.first, self._fallback)
        sums = self._sampler.sample(scores, players, self.iteration)
        return Found(
            iteration=self.iteration,
            players=players,
            regret=sums.regret,
            observed=sums.observed,
            averaged=self._averaged(players),
            strategy=strategy,
            visits=sums.visits if self._averaging != "exact" else self._exact_visits(players, strategy),
            entries=(slice(0, self.tables.split), slice(self.tables.split, self.tables.size)),
        )

    def _averaged(self, players: tuple[int, ...]) -> tuple[int, ...]:
        """Return whose strategies a turn averages: the opponent's, as it was when the traverser met it."""
        return players if self._averaging == "own_reach" else tuple(1 - player for player in players)

    def _exact_visits(self, players: tuple[int, ...], strategy: Float) -> Float:
        """Return what the averaged players' sums grow by, at all of their infosets."""
        exact = self.tables.own_reach(strategy) * strategy
        for player in {0, 1} - set(self._averaged(players)):
            self.tables.parts(exact)[player][:] = 0.0
        return exact

    def sums(self) -> tuple[Float, Pair]:
        """Return the regrets by table entry and the average strategy, for another solver to start from."""
        if not self.regrets.has_sums:
            raise NotSupported(
                "a Deep CFR run keeps mean advantages, not sums of regrets, so no other run can be initialised from it"
            )
        return self.regrets.scores(), self.average_strategy()

    def start_from(self, regret_sum: Float, average: Pair, iteration: int) -> None:
        """Take over what another solver of the game had found (DN19 Eq. 10), and go on from its iteration."""
        table = self.tables.from_form(average)
        self.regrets.start_from(regret_sum, iteration)
        self.strategies.start_from(table, self.tables.own_reach(table), iteration)
        self.iteration = iteration

    @property
    def layout(self) -> str:
        """Return a hash of which infoset and action each number of the state belongs to."""
        return self.form.layout

    def average_strategy(self) -> Pair:
        """Return the average strategy in the form's order."""
        return self.tables.to_form(self.strategies.average())

    def reached(self) -> npt.NDArray[np.bool_]:
        """Return, by infoset, whether the average has any weight there."""
        return self.tables.has_weight(self.strategies.average())
