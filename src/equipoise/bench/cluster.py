"""The suite ``cluster``: two workers of one core against one, and one worker against no cluster, on this machine.

All contenders live in one cluster and take turns: workers that wait use no core. Run it on an otherwise idle machine.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.bench.measure import ITERATIONS_PER_SECOND, OURS, Contender, Report, Row, Suite, Unit, open_cores
from equipoise.distribute.cluster import Cluster, open_cluster
from equipoise.errors import EquipoiseError
from equipoise.games import Game, load_game
from equipoise.memory import readable_bytes
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.setup import Setup
from equipoise.solvers.solver import Solver
from equipoise.workers import Keepers

WORKERS, ONE_WORKER, NO_CLUSTER = 2, "one worker", "no cluster"
ON_SWEEPS, ON_BOARDS, AGAINST_NONE = 1.7, 1.6, 1 / 1.1  # times one worker; one worker, times no cluster
RUNS, RUN_GAME, RUN_ITERATIONS = 4, "leduc_poker", 20_000  # of a sweep
BOARD_GAME = "flop_holdem"
MEANINGLESS = "meaningless here"
RUNS_PER_SECOND = Unit(name="runs/s", rate=True)


def cluster(
    *, rounds: int = 5, report: Report, game: Game | None = None, run_iterations: int = RUN_ITERATIONS
) -> list[Row]:
    """Measure everything; ``report`` gets a line for each measurement."""
    if rounds < 1:
        raise EquipoiseError(f"rounds={rounds} is not valid; give 1 or more")
    cores = open_cores()
    notes = () if cores >= WORKERS else (f"{MEANINGLESS}: {WORKERS} workers had {cores} core",)
    with tempfile.TemporaryDirectory(prefix="equipoise-bench-") as folder:
        suite = Suite(rounds=rounds, report=report, one_core=False, folder=Path(folder))
        with open_cluster(f"local:{WORKERS}") as joined:
            rows = list(_sweeps(suite, joined, notes, run_iterations))
        with open_cluster(f"local:{WORKERS + 1}") as joined:  # a core for each of those who take turns
            return [*rows, *_boards(suite, joined, notes, game or load_game(BOARD_GAME))]


def _row(
    work: str, unit: Unit, samples: dict[str, tuple[float, ...]], against: str, least: float, notes: Sequence[str]
) -> Row:
    required = {} if any(note.startswith(MEANINGLESS) for note in notes) else {against: least}
    return Row(
        work=work,
        unit=unit,
        samples=samples,
        required=required,
        notes=tuple(notes),
        one_core=False,
        threads=WORKERS,
    )


def one_run(iterations: int) -> str:
    """Do a run of a sweep; return what went wrong: nothing."""
    find_recipe("cfr+").solver(Setup(game=load_game(RUN_GAME)), {}).run(iterations)
    return ""


def _sweeps(suite: Suite, joined: Cluster, notes: tuple[str, ...], iterations: int) -> Iterator[Row]:
    work = f"a sweep of {RUNS} runs (CFR+, {RUN_GAME}, {iterations:,} iterations each)"

    def running(cores: int) -> Callable[[int], float]:
        def run(repeats: int) -> float:
            jobs = [iterations] * (RUNS * repeats)
            failed = joined.run_all(one_run, jobs, lambda done: None, 1.0, cores=[cores] * len(jobs))
            if failed:
                raise EquipoiseError(f"{work}: {next(iter(failed.values()))}")
            return float(len(jobs))

        return run

    # Where each run takes all cores of the cluster, one comes after the other.
    contenders = [Contender(name=OURS, run=running(1)), Contender(name=ONE_WORKER, run=running(WORKERS))]
    samples = suite.take_turns(work, contenders, RUNS_PER_SECOND)
    yield _row(f"{work}, {WORKERS} workers", RUNS_PER_SECOND, samples, ONE_WORKER, ON_SWEEPS, notes)


@dataclass
class _Some:
    """Some of a cluster's workers."""

    cluster: Cluster
    workers: int

    def map(self, *given: Any) -> Iterator[Any]:
        return self.cluster.map(*given)

    def once(self, thing: object) -> None:
        self.cluster.once(thing)

    def keep(self, make: Callable[[Any, int], Any], specs: Sequence[Any]) -> Keepers:
        return self.cluster.keep(make, specs)


def _boards(suite: Suite, joined: Cluster, notes: tuple[str, ...], game: Game) -> Iterator[Row]:
    recipe = find_recipe("cfr+")
    work = f"exact CFR+, {game.name}"
    contenders = []
    for name, workers in ((OURS, _Some(joined, WORKERS)), (ONE_WORKER, _Some(joined, 1)), (NO_CLUSTER, None)):
        solver = recipe.solver(Setup(game=game, workers=workers), {})
        solver.run(1)  # kernels are compiled
        if name == OURS:
            before = joined.bytes_out, joined.bytes_back
            solver.run(1)
            out, back = joined.bytes_out - before[0], joined.bytes_back - before[1]
            sent = f"{readable_bytes(out // WORKERS)} out and {readable_bytes(back // WORKERS)} back"
            crossed = f"an iteration sends {sent} a worker"
        contenders.append(Contender(name=name, run=_running(solver)))
    samples = suite.take_turns(work, contenders, ITERATIONS_PER_SECOND)
    two = {name: samples[name] for name in (OURS, ONE_WORKER)}
    yield _row(f"{work}, {WORKERS} workers", ITERATIONS_PER_SECOND, two, ONE_WORKER, ON_BOARDS, (*notes, crossed))
    one = {OURS: samples[ONE_WORKER], NO_CLUSTER: samples[NO_CLUSTER]}
    yield _row(f"{work}, 1 worker", ITERATIONS_PER_SECOND, one, NO_CLUSTER, AGAINST_NONE, notes)


def _running(solver: Solver) -> Callable[[int], float]:
    def run(repeats: int) -> float:
        solver.run(repeats)
        return float(repeats)

    return run
