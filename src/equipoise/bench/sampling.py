"""The suite ``sampling``: Monte Carlo CFR against OpenSpiel's C++ and LiteEFG, and two threads against one.

How nodes are counted: a traversal of a scheme at a strategy visits the same histories in every program, however the
program stores them. So work is converted by traversals. The *nodes* of an iteration (one traversal for each player)
are all histories that it visits, from the start of the game to the ends, chance nodes included. They are counted by our
traversal of the tree of histories, as a mean over many iterations at a strategy that has settled, and everyone's nodes
a second are that mean times their own iterations a second: the ratio is the ratio of iterations a second. What we time
is our traversal of the public tree, which deals all cards in one draw and walks fewer nodes; that gains us time, and no
nodes. The mean moves with the strategy, by a few percent between seeds and as iterations go on.

That the peers' traversals are of the same scheme:

- OpenSpiel: shown in every run, by counting what its solvers visit in a Kuhn poker that counts. An iteration is one
  traversal for each player, in both of its solvers. (In some older versions outcome sampling took one player an
  iteration; with these the benchmark ends.) External sampling averages as we do, at the opponent's nodes on its way.
  Outcome sampling mixes epsilon of uniform play into the traverser's choices only, as we do, but averages at the
  traverser's nodes where we average at the opponent's: other sums at the same histories.
- LiteEFG: by its source. Its CFR with an environment that samples does one traversal for each player in turn. Its
  outcome sampling explores in another way (one mixture over whole plans), so it is not shown.

The large game's row counts differently: `nodes_touched` of the solver itself, on the public tree, which are decisions,
ends and public deal nodes, the hands that were dealt not counted.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Protocol, cast

import numpy as np

from equipoise.bench.measure import (
    ITERATIONS_PER_SECOND,
    MILLION_NODES_PER_SECOND,
    OURS,
    WALL_SECONDS,
    Clock,
    Contender,
    Reached,
    Report,
    Row,
    Suite,
    looks,
    open_cores,
    readable,
    repeating,
    time_to_level,
)
from equipoise.bench.measure import one_core as pinned_to_one_core
from equipoise.bench.peers import (
    LITE_EFG,
    OPEN_SPIEL,
    LiteEFGExternalSampling,
    OpenSpielSampling,
    histories_an_iteration,
    import_peer,
    in_open_spiel,
)
from equipoise.errors import EquipoiseError, require_whole
from equipoise.games import load_game
from equipoise.policies.policy import policy_from_strategies
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.sampled import SampledCFR
from equipoise.solvers.setup import Setup
from equipoise.threads import set_threads
from equipoise.trees.best_response import Evaluator
from equipoise.trees.compile import Engine
from equipoise.trees.sequence_form import SequenceForm

EXTERNAL, OUTCOME = "es-mccfr", "os-mccfr"
EPSILON = 0.6
NAMES = {EXTERNAL: "external sampling", OUTCOME: "outcome sampling"}
LEDUC, NL_LEDUC, LARGE = "leduc_poker", "nl_leduc(stack=5)", "nl_leduc(stack=15)"

WARM_UP, COUNTED = 10_000, 100_000  # iterations
LARGE_WARM_UP = 30_000  # iterations, until the tables' memory has been touched: the system hands it out page by page
LARGE_LIMIT = 15.0  # million nodes a second

VISITS_WARM_UP, VISITS_COUNTED = 200, 1000  # iterations
SAME_VISITS = 0.05  # relative: chance moves the mean by half of this; one player left out, or chance nodes, by far more

LEVEL = 0.02  # exploitability
LEVEL_SEEDS = 3
LEVEL_GIVE_UP = 180.0  # seconds of solving
FIRST_LOOK, GROWTH = 1000, 1.2
EXACT = 1e-9

BATCH, THREADS = 5000, 2
THREADS_COMPARED_AFTER = 20  # iterations: by then the strategy has settled, and iterations are alike
ONE_THREAD = "1 thread"
THREADS_SECONDS = 1.0  # an iteration takes a good part of the usual time


def sampling(*, rounds: int = 5, report: Report) -> list[Row]:
    """Measure everything; ``report`` gets a line for each measurement."""
    require_whole("rounds", rounds)
    for module in ("pyspiel", "LiteEFG"):
        import_peer(module)  # says so now, not after minutes, if one is missing
    with tempfile.TemporaryDirectory(prefix="equipoise-bench-") as folder:
        with pinned_to_one_core() as pinned:
            suite = _Suite(rounds=rounds, report=report, one_core=pinned, folder=Path(folder))
            for algorithm in NAMES:
                suite.same_visits(algorithm)
            rows = [  # small games first: the heap that large ones leave behind may slow down peers that allocate much
                suite.nodes(EXTERNAL, LEDUC, {OPEN_SPIEL: 50.0}),
                suite.nodes(EXTERNAL, NL_LEDUC, {OPEN_SPIEL: 50.0}),
                suite.nodes(OUTCOME, LEDUC, {OPEN_SPIEL: 25.0}),
                suite.level({OPEN_SPIEL: 30.0}),
                suite.own_nodes(),
            ]
        # After the one core is left, because threads keep for good the cores of the thread that starts them; nothing
        # above starts any.
        return [*rows, suite.threads({ONE_THREAD: 1.6})]


class Counting(Protocol):
    """A solver that counts the nodes it visits."""

    @property
    def nodes_touched(self) -> int:
        """Return how many nodes all iterations have visited."""

    def run(self, iterations: int) -> None:
        """Run some iterations."""


def mean_nodes(solver: Counting, *, warm_up: int, counted: int) -> float:
    """Return the mean number of nodes an iteration after a warm-up."""
    solver.run(warm_up)
    before = solver.nodes_touched
    solver.run(counted)
    return (solver.nodes_touched - before) / counted


def worth(nodes: float, run: Callable[[int], float]) -> Callable[[int], float]:
    """Return the same ``run`` with its iterations converted to nodes."""
    return lambda repeats: nodes * run(repeats)


def search(
    run: Callable[[int], object],
    exploitability: Callable[[], float],
    *,
    give_up: float,
    clock: Clock = time.perf_counter,
) -> Reached:
    """Solve until the average is at the level. Only solving is timed, not the looks."""
    looked_at = looks(FIRST_LOOK, GROWTH)
    options = {"level": LEVEL, "give_up": give_up}
    return time_to_level(run, lambda: None, lambda _: exploitability(), looked_at=looked_at, clock=clock, **options)


class _Suite(Suite):
    """The rows."""

    def nodes(self, algorithm: str, text: str, required: dict[str, float]) -> Row:
        """Measure nodes a second, and those of the peers, converted by traversals."""
        work = f"{NAMES[algorithm]}, {text}"
        nodes = mean_nodes(_make(algorithm, text, engine="sequence"), warm_up=WARM_UP, counted=COUNTED)
        solver = _make(algorithm, text)
        spiel = in_open_spiel(solver.form.game)
        runs = {
            OURS: _running(solver),
            OPEN_SPIEL: repeating(OpenSpielSampling(spiel, epsilon=_epsilon(algorithm)).iterate),
        }
        notes = [f"a node is a history; an iteration visits {nodes:.1f}, chance nodes included"]
        if algorithm == EXTERNAL:
            runs[LITE_EFG] = repeating(LiteEFGExternalSampling(spiel, self.folder).iterate)
            notes.append(f"{LITE_EFG} without its average")
        for run in runs.values():
            run(WARM_UP)  # so that everyone is timed at a strategy that has settled
        contenders = [Contender(name=name, run=worth(nodes, run)) for name, run in runs.items()]
        unit = MILLION_NODES_PER_SECOND
        samples = self.take_turns(work, contenders, unit)
        return Row(work=work, unit=unit, samples=samples, required=required, notes=tuple(notes), one_core=self.one_core)

    def own_nodes(self) -> Row:
        """Measure nodes a second by our own count, on a game whose tables do not fit in a cache."""
        work, unit = f"{NAMES[EXTERNAL]}, {LARGE}", MILLION_NODES_PER_SECOND
        solver = _make(EXTERNAL, LARGE)
        nodes = mean_nodes(solver, warm_up=LARGE_WARM_UP, counted=1000)

        def run(repeats: int) -> float:
            before = solver.nodes_touched
            solver.run(repeats)
            return solver.nodes_touched - before

        samples = self.take_turns(work, [Contender(name=OURS, run=run)], unit)
        note = f"nodes of the public tree, {nodes:.0f} an iteration: decisions, ends and public deal nodes"
        return Row(work=work, unit=unit, samples=samples, limit=LARGE_LIMIT, notes=(note,), one_core=self.one_core)

    def level(self, required: dict[str, float]) -> Row:
        """Measure the seconds of solving until external sampling is at the level, from several seeds."""
        work = f"{NAMES[EXTERNAL]}, {LEDUC}, to exploitability {LEVEL}"
        self._same_exploitability(work)
        found: dict[str, list[Reached]] = {OURS: [], OPEN_SPIEL: []}
        for seed in range(LEVEL_SEEDS):
            solver = _make(EXTERNAL, LEDUC, seed=seed)
            theirs = OpenSpielSampling(in_open_spiel(solver.form.game), seed=seed)
            for name, run, exploitability in (
                (OURS, solver.run, _exploitability(solver)),
                (OPEN_SPIEL, repeating(theirs.iterate), theirs.exploitability),
            ):
                reached = search(run, exploitability, give_up=LEVEL_GIVE_UP)
                found[name].append(reached)
                self.report(
                    f"{work}, seed {seed}: {name} {readable(reached.seconds)} s, exploitability "
                    f"{reached.exploitability:.4f} after {reached.iterations:,} iterations"
                )
        return Row(
            work=work,
            unit=WALL_SECONDS,
            samples={name: tuple(reached.seconds for reached in each) for name, each in found.items()},
            required=required,
            notes=tuple(level_note(name, each) for name, each in found.items()),
            one_core=self.one_core,
        )

    def threads(self, required: dict[str, float]) -> Row:
        """Measure what a second thread gains, after showing that it changes no bit of the result."""
        work = f"{NAMES[EXTERNAL]}, {LARGE}, batch={BATCH}, {THREADS} threads"
        solvers = {
            name: _make(EXTERNAL, LARGE, threads=threads, batch=BATCH)
            for name, threads in ((OURS, THREADS), (ONE_THREAD, 1))
        }
        for solver in solvers.values():
            solver.run(THREADS_COMPARED_AFTER)
        must_be_identical(work, solvers[OURS], solvers[ONE_THREAD])
        self.report(f"{work}: tables after {THREADS_COMPARED_AFTER} iterations are those of one thread, bit for bit")
        contenders = [Contender(name=name, run=_running(solver)) for name, solver in solvers.items()]
        samples = self.take_turns(work, contenders, ITERATIONS_PER_SECOND, seconds=THREADS_SECONDS)
        meant, note = thread_requirement(required, min(open_cores(), set_threads(THREADS)))
        return Row(
            work=work,
            unit=ITERATIONS_PER_SECOND,
            samples=samples,
            required=meant,
            notes=(note,),
            one_core=False,
            threads=THREADS,
        )

    def same_visits(self, algorithm: str) -> None:
        """Show that a traversal of OpenSpiel visits what one of ours does: the premise of the conversion."""
        ours = mean_nodes(
            _make(algorithm, "kuhn_poker", engine="sequence"), warm_up=VISITS_WARM_UP, counted=VISITS_COUNTED
        )
        theirs = histories_an_iteration(
            lambda game: OpenSpielSampling(game, epsilon=_epsilon(algorithm)),
            warm_up=VISITS_WARM_UP,
            iterations=VISITS_COUNTED,
            starts=2,
        )
        what = f"{NAMES[algorithm]}, kuhn_poker: histories an iteration"
        self.compare(what, ours, OPEN_SPIEL, theirs, SAME_VISITS * ours)

    def _same_exploitability(self, work: str) -> None:
        """Show that our level is OpenSpiel's, on our average of a few iterations; our kernels are compiled after it."""
        solver = _make(EXTERNAL, LEDUC)
        solver.run(FIRST_LOOK)
        policies = import_peer("open_spiel.python.policy")
        form = cast(SequenceForm, solver.form)
        policy = policy_from_strategies(form, solver.average_strategy()).to_open_spiel()
        same = policies.python_policy_to_pyspiel_policy(policy)
        theirs = import_peer("pyspiel").nash_conv(in_open_spiel(solver.form.game), same) / 2
        self.compare(f"{work}: exploitability of our average", _exploitability(solver)(), OPEN_SPIEL, theirs, EXACT)


def level_note(name: str, found: list[Reached]) -> str:
    """Say how many iterations somebody ran, and what they did not reach in time."""
    each = ", ".join(f"{reached.iterations:,}" for reached in found)
    note = f"{name}: {median(reached.iterations for reached in found):,.0f} iterations ({each})"
    late = [f"{reached.exploitability:.4f}" for reached in found if reached.exploitability > LEVEL]
    return f"{note}; given up at exploitability {', '.join(late)}: it would take longer" if late else note


def must_be_identical(work: str, ours: SampledCFR, other: SampledCFR) -> None:
    """End the benchmark when two solvers' tables differ in any bit."""
    for name in ("regret_sum", "strategy_sum"):
        mine, theirs = (np.asarray(getattr(solver, name)).view(np.uint64) for solver in (ours, other))
        if not np.array_equal(mine, theirs):
            raise EquipoiseError(f"{work}: {name} is not that of one thread; timing different work means nothing")


def thread_requirement(required: dict[str, float], cores: int) -> tuple[dict[str, float], str]:
    """Return what can be required of threads on some cores, and a note that says what the row means."""
    if cores < THREADS:
        return {}, f"meaningless here: {THREADS} threads had {cores} core"
    return required, f"all {cores} cores open to both; tables are bit-identical"


def _make(
    algorithm: str, text: str, *, engine: Engine = "auto", seed: int = 0, threads: int = 1, **parameters: object
) -> SampledCFR:
    recipe = find_recipe(algorithm)
    given = {**parameters, "epsilon": EPSILON} if algorithm == OUTCOME else parameters
    setup = Setup(game=load_game(text), engine=engine, seed=seed, threads=threads)
    solver = recipe.solver(setup, given)
    assert isinstance(solver, SampledCFR)
    return solver


def _epsilon(algorithm: str) -> float | None:
    return EPSILON if algorithm == OUTCOME else None


def _running(solver: SampledCFR) -> Callable[[int], float]:
    """Return a ``run`` for a contender: many iterations in one call, which is how people call us."""

    def run(repeats: int) -> float:
        solver.run(repeats)
        return repeats

    return run


def _exploitability(solver: SampledCFR) -> Callable[[], float]:
    evaluator = Evaluator(cast(SequenceForm, solver.form))
    return lambda: evaluator.best_responses(solver.average_strategy()).exploitability
