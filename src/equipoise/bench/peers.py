"""The peers that we measure ourselves against. They are imported here and nowhere else in the package's benchmarks."""

import importlib
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from equipoise.errors import MissingPackage
from equipoise.games import Game

OPEN_SPIEL = "OpenSpiel"
LITE_EFG = "LiteEFG"


def import_peer(module: str) -> Any:
    """Return a peer's module, or say how to install the peers."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingPackage(
            f"cannot import {module}; install the peers with `pip install 'equipoise[bench]'` or run `make bench`"
        ) from None


def in_open_spiel(game: Game) -> Any:
    """Return the same game in OpenSpiel."""
    return import_peer("pyspiel").load_game(game.open_spiel_name())


@contextmanager
def _home(folder: Path) -> Iterator[None]:
    """Let ``~`` be another folder for a while."""
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = before


class OpenSpielCFRPlus:
    """OpenSpiel's CFR+ in C++."""

    def __init__(self, game: Any) -> None:
        self.game = game
        self.solver = import_peer("pyspiel").CFRPlusSolver(game)

    def iterate(self) -> None:
        """Run one iteration."""
        self.solver.evaluate_and_update_policy()


class OpenSpielSampling:
    """OpenSpiel's Monte Carlo CFR in C++: external sampling, or outcome sampling when there is an ``epsilon``."""

    def __init__(self, game: Any, *, epsilon: float | None = None, seed: int = 0) -> None:
        pyspiel = import_peer("pyspiel")
        self.game = game
        if epsilon is None:
            self.solver = pyspiel.ExternalSamplingMCCFRSolver(game, seed)
        else:
            self.solver = pyspiel.OutcomeSamplingMCCFRSolver(game, epsilon, seed)

    def iterate(self) -> None:
        """Run one iteration."""
        self.solver.run_iteration()

    def exploitability(self) -> float:
        """Return the exploitability of the average."""
        # Infosets that were never met have no entry; what stands in for them can be asked by state only.
        by_state = True
        total: float = import_peer("pyspiel").nash_conv(self.game, self.solver.average_policy(), by_state)
        return total / 2


def histories_an_iteration(
    make: Callable[[Any], OpenSpielSampling], *, warm_up: int, iterations: int, starts: int
) -> float:
    """Return how many histories a solver of OpenSpiel visits an iteration, in Kuhn poker.

    Its solvers do not count. But games may be written in Python, and this one counts how often it is moved on. It
    cannot see the start of a traversal: so it must be told how many ``starts`` an iteration has.
    """
    kuhn, moves = import_peer("open_spiel.python.games.kuhn_poker"), 0

    class State(kuhn.KuhnPokerState):  # type: ignore[misc, name-defined]
        def _apply_action(self, action: int) -> None:
            nonlocal moves
            moves += 1
            super()._apply_action(action)

    class Kuhn(kuhn.KuhnPokerGame):  # type: ignore[misc, name-defined]
        def new_initial_state(self) -> Any:
            return State(self)

    solver = make(Kuhn())
    for _ in range(warm_up):
        solver.iterate()
    moves = 0
    for _ in range(iterations):
        solver.iterate()
    return moves / iterations + starts


def _lite_efg(game: Any, home: Path, *, traverse: str, baseline: str) -> tuple[Any, Any]:
    """Return LiteEFG's environment of a game of OpenSpiel, read through LiteEFG's own bridge, and an algorithm's graph.

    The bridge keeps a text file of every game, tens of megabytes for dice, in ``~``: it is lent ``home`` instead.
    """
    lite = import_peer("LiteEFG")
    lite.set_threads(1)
    with _home(home), redirect_stdout(io.StringIO()):  # both print as they are made
        env = lite.OpenSpielEnv(game, traverse_type=traverse)
        graph = import_peer(f"LiteEFG.baselines.{baseline}").graph()
    env.set_graph(graph)
    return env, graph


class LiteEFGExternalSampling:
    """LiteEFG's external sampling: its CFR on an environment that samples."""

    def __init__(self, game: Any, home: Path) -> None:
        self.env, self.graph = _lite_efg(game, home, traverse="External", baseline="CFR")

    def iterate(self) -> None:
        """Run one iteration: a traversal for each player.

        The average is left out, to LiteEFG's advantage: it is kept apart from traversals, by a pass over all infosets.
        """
        self.graph.update_graph(self.env)


class LiteEFGCFRPlus:
    """LiteEFG's CFR+."""

    def __init__(self, game: Any, home: Path) -> None:
        self.env, self.graph = _lite_efg(game, home, traverse="Enumerate", baseline="CFRplus")

    def iterate(self) -> None:
        """Run one iteration: both players' updates, and the average, as LiteEFG's own training loop does it."""
        self.graph.update_graph(self.env)
        self.env.update_strategy(self.graph.current_strategy())

    def nash_conv(self) -> float:
        """Return nash_conv of the current strategy."""
        total: float = sum(self.env.exploitability(self.graph.current_strategy(), "default"))
        return total

    def set_strategy(self, table: dict[str, list[tuple[int, float]]]) -> None:
        """Put a policy of OpenSpiel (probabilities by information state) in place of the current strategy."""
        node = self.graph.current_strategy()
        for player in (1, 2):
            keys = [key for key, _ in self.env.get_value(player, node)]
            self.env.set_value(player, node, [[probability for _, probability in table[key]] for key in keys])
