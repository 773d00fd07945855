"""The peers that we measure ourselves beside. They are imported here and nowhere else in the package's benchmarks."""

import importlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from equipoise.errors import EquipoiseError

OPEN_SPIEL = "OpenSpiel"
LITE_EFG = "LiteEFG"


def import_peer(module: str) -> Any:
    """Return a peer's module, or say how to install the peers."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise EquipoiseError(
            f"cannot import {module}; install the peers with `pip install 'equipoise[bench]'` or run `make bench`"
        ) from None


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


class LiteEFGCFRPlus:
    """LiteEFG's CFR+ on a game of OpenSpiel, read through LiteEFG's own bridge.

    The bridge keeps a text file of every game, tens of megabytes for dice, in ``~``: it is lent ``home`` instead.
    """

    def __init__(self, game: Any, home: Path) -> None:
        lite = import_peer("LiteEFG")
        lite.set_threads(1)
        with _home(home), redirect_stdout(io.StringIO()):  # both print as they are made
            self.env = lite.OpenSpielEnv(game, traverse_type="Enumerate")
            self.graph = import_peer("LiteEFG.baselines.CFRplus").graph()
        self.env.set_graph(self.graph)

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
