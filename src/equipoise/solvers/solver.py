"""What every algorithm offers: run, give the strategy found so far, save and restore."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.errors import NotSupported
from equipoise.solvers.setup import Form
from equipoise.trees.tables import Pair
from equipoise.trees.treeplex import Float
from equipoise.work import Report, silent


class Solver(Protocol):
    """An algorithm at work on a game. What only some algorithms have is answered here for all others."""

    form: Form  # the compiled game
    iteration: int
    threads: int  # in use: never more than pay
    memory: int | None = None  # bytes that solving takes, where people are told
    hands_over: bool = False  # whether other solvers can start from its sums
    takes_over: bool = False  # whether it can start from those of another

    @property
    def layout(self) -> str:
        """Return a hash of which infoset and action each number of the state belongs to."""

    def run(self, iterations: int) -> None:
        """Run some iterations; where a run is cut into calls makes no difference to its result."""

    def average_strategy(self) -> Any:
        """Return the strategy found so far, as the form's evaluator takes it: mostly one array a player.

        Whoever asks has called :meth:`conclude` after the last iteration.
        """

    def best_responses(self, evaluator: Any) -> Any:
        """Return the value of the strategy so far and of best responses to it, by an evaluator of the form."""
        return evaluator.best_responses(self.average_strategy())

    def leave_workers(self) -> None:
        """Bring here what may still be asked for when workers elsewhere are gone."""
        return

    def state(self) -> dict[str, Any]:
        """Return all that the next iterations depend on (random streams start from the iteration's number)."""

    def restore(self, iteration: int, state: dict[str, Any]) -> None:
        """Continue from a saved state, bit for bit."""

    def conclude(self, report: Report = silent) -> bool:
        """Do what is left to do before the strategy so far can be asked for; return whether there was anything.

        This is where a policy network is fitted: asking for a strategy never trains.
        """
        del report
        return False

    @property
    def concluded(self) -> bool:
        """Return whether the strategy so far can be asked for as things are: :meth:`conclude` has nothing to do."""
        return True

    def reached(self) -> npt.NDArray[np.bool_] | None:
        """Return, by infoset of a listed game, whether the average has weight there; None: the strategy itself says."""
        return None

    @property
    def nodes_touched(self) -> int | None:
        """Return how many nodes all traversals have visited; None: every iteration visits all."""
        return None

    def diagnostics(self) -> dict[str, float]:
        """Return what there is to say of the last iteration, such as how well networks fit."""
        return {}

    def sums(self) -> tuple[Float, Pair]:
        """Return the regrets by table entry and the average strategy, for another solver to start from."""
        raise NotSupported("no other run can be initialised from this one")

    def start_from(self, regret_sum: Float, average: Pair, iteration: int) -> None:
        """Take over what another solver of the game had found, and go on from its iteration."""
        raise NotSupported("this algorithm cannot be initialised from another run")
