"""The suite ``threads``: two threads against one, on an idle machine and with one and two other busy programs.

A run may use its threads or not, and decides that by the clock: what is required is that two of them gain what they can
on an idle machine, and lose next to nothing on a busy one. Run it on an otherwise idle machine.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from equipoise.bench.measure import (
    ITERATIONS_PER_SECOND,
    MILLION_NODES_PER_SECOND,
    OURS,
    Contender,
    Report,
    Row,
    Suite,
    Unit,
    open_cores,
)
from equipoise.errors import EquipoiseError
from equipoise.games import load_game
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.setup import Setup
from equipoise.solvers.solver import Solver
from equipoise.threads import set_threads

THREADS, ONE_THREAD = 2, "one thread"
ON_AN_IDLE_MACHINE, ON_A_BUSY_MACHINE = 1.6, 0.9  # times one thread
SECONDS = 4.0  # a measurement: a run on a busy machine tries its threads again after some seconds
BUSY_PROGRAMS = (0, 1, 2)
# Ends when the benchmark does, however that ends: its input closes then.
_BUSY = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
while True:
    pass
"""

WORKS: tuple[tuple[str, str, str, dict[str, object], Unit], ...] = (
    ("CFR+", "cfr+", "nl_leduc(stack=15)", {}, ITERATIONS_PER_SECOND),
    (
        "external sampling in batches of 5000",
        "es-mccfr",
        "nl_leduc(stack=15)",
        {"batch": 5000},
        MILLION_NODES_PER_SECOND,
    ),
    ("public chance sampling over boards", "pcs", "flop_holdem", {}, ITERATIONS_PER_SECOND),
)


def threads(*, rounds: int = 5, report: Report) -> list[Row]:
    """Measure everything; ``report`` gets a line for each measurement."""
    if rounds < 1:
        raise EquipoiseError(f"rounds={rounds} is not valid; give 1 or more")
    cores = min(open_cores(), set_threads(THREADS))
    with tempfile.TemporaryDirectory(prefix="equipoise-bench-") as folder:
        suite = Suite(rounds=rounds, report=report, one_core=False, folder=Path(folder))
        return [row for work in WORKS for row in _rows(suite, cores, *work)]


def _rows(
    suite: Suite, cores: int, what: str, algorithm: str, text: str, parameters: dict[str, object], unit: Unit
) -> Iterator[Row]:
    recipe = find_recipe(algorithm)
    contenders = []
    for name, count in ((OURS, THREADS), (ONE_THREAD, 1)):
        solver = recipe.make(Setup(game=load_game(text), threads=count), recipe.resolve(parameters))
        solver.run(8)  # every number of threads has had its first steps, in which kernels are compiled
        contenders.append(Contender(name=name, run=_running(solver)))
    for busy in BUSY_PROGRAMS:
        work = f"{what}, {text}, {THREADS} threads, {busy} other busy program{'' if busy == 1 else 's'}"
        with busy_programs(busy):
            samples = suite.take_turns(work, contenders, unit, seconds=SECONDS)
        least = ON_AN_IDLE_MACHINE if busy == 0 else ON_A_BUSY_MACHINE
        enough = cores >= THREADS
        yield Row(
            work=work,
            unit=unit,
            samples=samples,
            required={ONE_THREAD: least} if enough else {},
            notes=() if enough else (f"meaningless here: {THREADS} threads had {cores} core",),
            one_core=False,
            threads=THREADS,
        )


def _running(solver: Solver) -> Callable[[int], float]:
    """Return a ``run`` for a contender: nodes where a solver counts them, for later iterations visit fewer."""

    def run(repeats: int) -> float:
        before = solver.nodes_touched
        solver.run(repeats)
        after = solver.nodes_touched
        return repeats if before is None or after is None else float(after - before)

    return run


@contextmanager
def busy_programs(count: int) -> Iterator[None]:
    """Keep some programs busy meanwhile."""
    programs = [subprocess.Popen([sys.executable, "-c", _BUSY], stdin=subprocess.PIPE) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.communicate()
