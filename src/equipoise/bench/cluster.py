"""The suite ``cluster``: two workers of one core against one, and one worker against no cluster, on this machine.

All contenders live in one cluster and take turns: workers that wait use no core. Run it on an otherwise idle machine.
"""

import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from equipoise.bench.measure import (
    ITERATIONS_PER_SECOND,
    OURS,
    Contender,
    Report,
    Row,
    Suite,
    Unit,
    open_cores,
    repeating,
)
from equipoise.distribute.cluster import Cluster, open_cluster
from equipoise.errors import EquipoiseError
from equipoise.games import Game, load_game
from equipoise.memory import readable_bytes
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.setup import Setup
from equipoise.workers import Keepers

WORKERS, ONE_WORKER, NO_CLUSTER = 2, "one worker", "no cluster"
ON_SWEEPS, ON_BOARDS, ON_LOCKSTEP = 1.7, 1.6, 1.5  # times one worker
AGAINST_NONE = 1 / 1.1  # one worker, times no cluster
RUNS, RUN_GAME, RUN_ITERATIONS = 4, "leduc_poker", 20_000  # of a sweep
HOLDEM = "flop_holdem"
TRAVERSALS = 32_768  # of each player, in parts of 2,048
BATCHES = {"batch": 40_000, "k": "max"}  # in eight parts
BATCH_GAME = "nl_leduc(stack=5)"
MEANINGLESS = "meaningless here"
RUNS_PER_SECOND = Unit(name="runs/s", rate=True)


def cluster(
    *,
    rounds: int = 5,
    report: Report,
    game: Game | None = None,
    run_iterations: int = RUN_ITERATIONS,
    traversals: int = TRAVERSALS,
) -> list[Row]:
    """Measure everything; ``report`` gets a line for each measurement."""
    if rounds < 1:
        raise EquipoiseError(f"rounds={rounds} is not valid; give 1 or more")
    cores = open_cores()
    notes = () if cores >= WORKERS else (f"{MEANINGLESS}: {WORKERS} workers had {cores} core",)
    with tempfile.TemporaryDirectory(prefix="equipoise-bench-") as folder:
        suite = Suite(rounds=rounds, report=report, one_core=False, folder=Path(folder))
        holdem = game or load_game(HOLDEM)
        with open_cluster(f"local:{WORKERS}") as joined:
            rows = list(_sweeps(suite, joined, notes, run_iterations))
            rows += _traversals(suite, joined, notes, holdem, traversals)
            rows += _batches(suite, joined, notes)
        with open_cluster(f"local:{WORKERS + 1}") as joined:  # a core for each of those who take turns
            return [*rows, *_boards(suite, joined, notes, holdem)]


def _row(
    work: str,
    unit: Unit,
    samples: dict[str, tuple[float, ...]],
    against: str,
    least: float | None,
    notes: Sequence[str],
) -> Row:
    meaningless = any(note.startswith(MEANINGLESS) for note in notes)
    required = {} if meaningless or least is None else {against: least}
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
    cores: int = 1  # that a part takes: with all of them, one part comes after the other

    def map(self, *given: Any, **options: Any) -> Generator[Any, None, None]:
        return self.cluster.map(*given, cores=self.cores, **options)

    def once(self, thing: object) -> None:
        self.cluster.once(thing)

    def keep(self, make: Callable[[Any, int], Any], specs: Sequence[Any]) -> Keepers:
        return self.cluster.keep(make, specs)


def _boards(suite: Suite, joined: Cluster, notes: tuple[str, ...], game: Game) -> list[Row]:
    def solver(workers: _Some | None) -> Callable[[], object]:
        made = find_recipe("cfr+").solver(Setup(game=game, workers=workers), {})
        return partial(made.run, 1)

    contenders = {OURS: _Some(joined, WORKERS), ONE_WORKER: _Some(joined, 1), NO_CLUSTER: None}
    work = f"exact CFR+, {game.name}"
    return _compared(suite, work, joined, contenders, solver, (ON_BOARDS, AGAINST_NONE), notes)


def _traversals(suite: Suite, joined: Cluster, notes: tuple[str, ...], game: Game, traversals: int) -> list[Row]:
    def solver(workers: _Some | None) -> Callable[[], object]:
        given = {"traversals": traversals, "steps": 1, "capacity": 10_000}
        made = find_recipe("sd-cfr").solver(Setup(game=game, workers=workers), given)
        made.run(1)  # from then on networks are read
        return partial(_traverse, made)

    work = f"traversals in lockstep, Deep CFR, {game.name}, {traversals:,} of each player"
    return _compared(suite, work, joined, _by_parts(joined), solver, (ON_LOCKSTEP, AGAINST_NONE), notes)


def _traverse(solver: Any) -> None:
    for _ in solver.sampler.rows(solver.regrets.scores_at, (0, 1), solver.iteration + 1):
        pass


def _batches(suite: Suite, joined: Cluster, notes: tuple[str, ...]) -> list[Row]:
    """Measure batches for tables, of which nothing is required: the driver makes a part itself."""

    def solver(workers: _Some | None) -> Callable[[], object]:
        made = find_recipe("rs-mccfr").solver(Setup(game=load_game(BATCH_GAME), workers=workers), BATCHES)
        return partial(made.run, 1)

    work = f"mini-batches of {BATCHES['batch']:,} for tables, {BATCH_GAME}"
    return _compared(suite, work, joined, _by_parts(joined), solver, (None, None), notes)


def _by_parts(joined: Cluster) -> "dict[str, _Some | None]":
    return {OURS: _Some(joined, WORKERS), ONE_WORKER: _Some(joined, 1, cores=WORKERS), NO_CLUSTER: None}


def _compared(
    suite: Suite,
    work: str,
    joined: Cluster,
    contenders: "Mapping[str, _Some | None]",
    make: "Callable[[_Some | None], Callable[[], object]]",
    least: tuple[float | None, float | None],
    notes: tuple[str, ...],
) -> list[Row]:
    """Compare two workers with one, and one with none, at calls that are an iteration each."""
    measured, crossed = [], ""
    for name, workers in contenders.items():
        call = make(workers)
        for _ in range(2):  # kernels are compiled, and it is known how long parts take
            call()
        if name == OURS:
            before = joined.bytes_out, joined.bytes_back
            call()
            out, back = joined.bytes_out - before[0], joined.bytes_back - before[1]
            sent = f"{readable_bytes(out // WORKERS)} out and {readable_bytes(back // WORKERS)} back"
            crossed = f"an iteration sends {sent} a worker"
        measured.append(Contender(name=name, run=repeating(call)))
    samples = suite.take_turns(work, measured, ITERATIONS_PER_SECOND)
    two = {name: samples[name] for name in (OURS, ONE_WORKER)}
    one = {OURS: samples[ONE_WORKER], NO_CLUSTER: samples[NO_CLUSTER]}
    unit = ITERATIONS_PER_SECOND
    return [
        _row(f"{work}, {WORKERS} workers", unit, two, ONE_WORKER, least[0], (*notes, crossed)),
        _row(f"{work}, 1 worker", unit, one, NO_CLUSTER, least[1], notes),
    ]
