"""The suite ``cluster``: two workers of one core against one, and one worker against no cluster, on this machine.

All contenders live in one cluster and take turns: workers that wait use no core. Run it on an otherwise idle machine.
"""

import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.bench.measure import (
    ITERATIONS_PER_SECOND,
    MILLISECONDS,
    OURS,
    SECONDS,
    Contender,
    Report,
    Row,
    Suite,
    Unit,
    open_cores,
    repeating,
)
from equipoise.bench.scaling import CHECK, MESSAGES, ONE_WORKER
from equipoise.distribute.cluster import Cluster, open_cluster
from equipoise.errors import EquipoiseError
from equipoise.games import Game, load_game
from equipoise.memory import readable_bytes
from equipoise.sampling.gather import parts_of_batch
from equipoise.sampling.lockstep import TRAVERSALS_A_PART
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.setup import Setup
from equipoise.workers import Keepers

WORKERS, NO_CLUSTER = 2, "no cluster"
ON_SWEEPS, ON_BOARDS, ON_LOCKSTEP = 1.7, 1.6, 1.5  # times one worker
AGAINST_NONE = 1 / 1.1  # one worker, times no cluster
RUNS, RUN_GAME, RUN_ITERATIONS = 4, "leduc_poker", 20_000  # of a sweep
HOLDEM, OTHER_HOLDEM = "flop_holdem", "flop_holdem(caps=2-2)"
TRAVERSALS = 32_768  # of each player, in parts of 2,048
BATCH = 40_000  # in eight parts
BATCHES = {"batch": BATCH, "k": "max"}
BATCH_GAME = "nl_leduc(stack=5)"
MEANINGLESS = "meaningless here"
RUNS_PER_SECOND = Unit(name="runs/s", rate=True)


def cluster(
    *,
    rounds: int = 5,
    report: Report,
    game: Game | None = None,
    other: Game | None = None,
    run_iterations: int = RUN_ITERATIONS,
    traversals: int = TRAVERSALS,
    seconds: float = SECONDS,
) -> list[Row]:
    """Measure everything; ``report`` gets a line for each measurement."""
    if rounds < 1:
        raise EquipoiseError(f"rounds={rounds} is not valid; give 1 or more")
    cores = open_cores()
    notes = () if cores >= WORKERS else (f"{MEANINGLESS}: {WORKERS} workers had {cores} core",)
    with tempfile.TemporaryDirectory(prefix="equipoise-bench-") as folder:
        suite = Suite(rounds=rounds, report=report, one_core=False, folder=Path(folder), seconds=seconds)
        holdem = game or load_game(HOLDEM)
        with open_cluster(f"local:{WORKERS}") as joined:
            rows = list(_sweeps(suite, joined, notes, run_iterations))
            comparison = _Comparison(suite, joined, notes)
            rows += [*_traversals(comparison, holdem, traversals), *_batches(comparison), _messages(comparison)]
        with open_cluster(f"local:{WORKERS + 1}") as joined:  # a core for each of those who take turns
            return [*rows, *_boards(_Comparison(suite, joined, notes), holdem, other or load_game(OTHER_HOLDEM))]


def _row(
    work: str,
    unit: Unit,
    samples: dict[str, tuple[float, ...]],
    against: str,
    least: float | None,
    notes: Sequence[str],
    facts: Mapping[str, float] | None = None,
) -> Row:
    meaningless = any(note.startswith(MEANINGLESS) for note in notes)
    required = {} if meaningless or least is None else {against: least}
    return Row(
        work=work,
        unit=unit,
        samples=samples,
        required=required,
        notes=tuple(notes),
        facts=facts or {},
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


class Made(NamedTuple):
    """An iteration that can be called, and what is known of it."""

    call: Callable[[], object]
    units: float  # of work
    parts: float


@dataclass(frozen=True)
class _Comparison:
    """Two workers beside one, and one beside none, at some work; then two workers at another size of it."""

    suite: Suite
    joined: Cluster
    notes: tuple[str, ...]

    def rows(
        self,
        work: str,
        contenders: "Mapping[str, _Some | None]",
        make: "Callable[[_Some | None], Made]",
        least: tuple[float | None, float | None],
    ) -> list[Row]:
        measured, facts, crossed = [], dict[str, float](), ""
        for name, workers in contenders.items():
            made = make(workers)
            if name == OURS:
                facts = self._facts(made)
                out, back = (readable_bytes(int(facts[each] / WORKERS)) for each in ("bytes_out", "bytes_back"))
                crossed = f"an iteration sends {out} out and {back} back a worker"
            measured.append(Contender(name=name, run=repeating(made.call)))
        samples = self.suite.take_turns(work, measured, ITERATIONS_PER_SECOND)
        two = {name: samples[name] for name in (OURS, ONE_WORKER)}
        one = {OURS: samples[ONE_WORKER], NO_CLUSTER: samples[NO_CLUSTER]}
        unit, notes = ITERATIONS_PER_SECOND, (*self.notes, crossed)
        return [
            _row(f"{work}, {WORKERS} workers", unit, two, ONE_WORKER, least[0], notes, facts),
            _row(f"{work}, 1 worker", unit, one, NO_CLUSTER, least[1], self.notes),
        ]

    def alone(self, work: str, workers: "_Some", make: "Callable[[_Some | None], Made]") -> Row:
        """Measure two workers at another size: what a model that was fitted to the others is checked by."""
        made = make(workers)
        facts = self._facts(made)
        contender = Contender(name=OURS, run=repeating(made.call))
        samples = self.suite.take_turns(work, [contender], ITERATIONS_PER_SECOND)
        unit, notes = ITERATIONS_PER_SECOND, (*self.notes, CHECK)
        return _row(f"{work}, {WORKERS} workers", unit, samples, "", None, notes, facts)

    def _facts(self, made: Made) -> dict[str, float]:
        """Count what an iteration sends, once kernels are compiled and it is known how long parts take."""
        for _ in range(2):
            made.call()
        before = self.joined.bytes_out, self.joined.bytes_back
        made.call()
        out, back = self.joined.bytes_out - before[0], self.joined.bytes_back - before[1]
        return {"units": made.units, "parts": made.parts, "bytes_out": out, "bytes_back": back}


def _boards(comparison: _Comparison, game: Game, other: Game) -> list[Row]:
    def maker(played: Game) -> "Callable[[_Some | None], Made]":
        def make(workers: _Some | None) -> Made:
            solver: Any = find_recipe("cfr+").solver(Setup(game=played, workers=workers), {})
            return Made(partial(solver.run, 1), solver.form.num_entries, solver.form.num_boards)

        return make

    two = _Some(comparison.joined, WORKERS)
    contenders = {OURS: two, ONE_WORKER: _Some(comparison.joined, 1), NO_CLUSTER: None}
    rows = comparison.rows(f"exact CFR+, {game.name}", contenders, maker(game), (ON_BOARDS, AGAINST_NONE))
    return [*rows, comparison.alone(f"exact CFR+, {other.name}", two, maker(other))]


def _traversals(comparison: _Comparison, game: Game, traversals: int) -> list[Row]:
    def maker(count: int) -> "Callable[[_Some | None], Made]":
        def make(workers: _Some | None) -> Made:
            given = {"traversals": count, "steps": 1, "fresh_steps": 1, "capacity": 10_000}
            solver = find_recipe("sd-cfr").solver(Setup(game=game, workers=workers), given)
            solver.run(1)  # from then on networks are read
            return Made(partial(_traverse, solver), count, -(-count // TRAVERSALS_A_PART))

        return make

    by_parts, least = _by_parts(comparison.joined), (ON_LOCKSTEP, AGAINST_NONE)
    work = f"traversals in lockstep, Deep CFR, {game.name}"
    other = 3 * traversals // 8
    return [
        *comparison.rows(f"{work}, {traversals:,} of each player", by_parts, maker(traversals), least),
        comparison.alone(f"{work}, {other:,} of each player", _Some(comparison.joined, WORKERS), maker(other)),
    ]


def _traverse(solver: Any) -> None:
    for _ in solver.sampler.rows(solver.regrets.scores_at, (0, 1), solver.iteration + 1):
        pass


def _batches(comparison: _Comparison) -> list[Row]:
    """Measure batches for tables, of which nothing is required: the driver makes a part itself."""

    def make(workers: _Some | None) -> Made:
        solver: Any = find_recipe("rs-mccfr").solver(Setup(game=load_game(BATCH_GAME), workers=workers), BATCHES)
        return Made(partial(solver.run, 1), BATCH, parts_of_batch(BATCH))

    work = f"mini-batches of {BATCH:,} for tables, {BATCH_GAME}"
    return comparison.rows(work, _by_parts(comparison.joined), make, (None, None))


def _by_parts(joined: Cluster) -> "dict[str, _Some | None]":
    return {OURS: _Some(joined, WORKERS), ONE_WORKER: _Some(joined, 1, cores=WORKERS), NO_CLUSTER: None}


class _Silent:
    """What a worker keeps that has nothing to say."""

    def __init__(self, spec: int, neighbours: int) -> None:
        del spec, neighbours

    def answer(self) -> int:
        return 0


def _messages(comparison: _Comparison) -> Row:
    """Measure what a question to a worker costs, with its answer, when all are asked."""
    keepers = comparison.joined.keep(_Silent, range(WORKERS))

    def run(repeats: int) -> float:
        for _ in range(repeats):
            keepers.each("answer")
        return float(WORKERS * repeats)

    samples = comparison.suite.take_turns(MESSAGES, [Contender(name=OURS, run=run)], MILLISECONDS)
    keepers.close()
    return _row(MESSAGES, MILLISECONDS, samples, "", None, comparison.notes)
