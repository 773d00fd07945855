"""Solve a game from Python in one call, with or without a run directory; go on with a run; look at a run.

solution = equipoise.solve("leduc_poker", iterations=1000)
solution.exploitability, solution.policy.action_probabilities("Qs|cr")
"""

import math
import resource
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from equipoise import html
from equipoise.distribute.cluster import open_cluster, workers_wanted
from equipoise.errors import (
    DamagedFile,
    EquipoiseError,
    EquipoiseWarning,
    InvalidParameter,
    MissingPackage,
    NotFound,
    NotMeasurable,
    NotSupported,
    TooLarge,
    nearest,
    require_number,
    require_seed,
    require_whole,
)
from equipoise.games import Game, as_game, stored_game
from equipoise.games.bluff import Bluff
from equipoise.games.sizes import too_large_to_list
from equipoise.games.spots import Spot
from equipoise.memory import available_bytes, readable_bytes
from equipoise.policies import AnyPolicy, open_strategy
from equipoise.policies.exported import ENDINGS, arranged, read_exported
from equipoise.policies.files import read_parts
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.policies.open_spiel import from_open_spiel
from equipoise.policies.opening import is_of_networks, policy_of
from equipoise.policies.policy import Policy
from equipoise.policies.spot_policy import STRATEGY, SpotPolicy
from equipoise.runs import provenance
from equipoise.runs.directory import Checkpoint, RunDirectory, largest_bytes, require_disk, require_new
from equipoise.runs.drive import Interrupted, OnRecord, Record, Stop, drive
from equipoise.runs.identity import FIRST_REVISION, difference
from equipoise.runs.interrupts import interrupts
from equipoise.runs.phases import (
    FITTING,
    KINDS,
    PREPARING,
    SOLVING,
    WRITING,
    OnProgress,
    Phase,
    Phases,
    Progress,
    unseen,
)
from equipoise.runs.run_file import run_file
from equipoise.runs.settings import settings_of
from equipoise.runs.tensorboard import tensorboard_writer
from equipoise.solvers.board_cfr import BoardCFR
from equipoise.solvers.recipes import SPOT_DEFAULTS, Recipe, find_recipe
from equipoise.solvers.representations import REPRESENTATIONS, Representation, choose, not_measured
from equipoise.solvers.setup import Setup
from equipoise.solvers.solver import Solver
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.solvers.spot_completion import complete
from equipoise.stores.board_tables import BoardTableStrategy, SumTable
from equipoise.stores.spot_tables import tables_from
from equipoise.threads import require_threads, set_threads
from equipoise.trees.best_response import BestResponses
from equipoise.trees.board_form import board_form, has_board_form
from equipoise.trees.compile import Engine, compile_game
from equipoise.trees.fingerprint import described, require_same_game
from equipoise.trees.spot_evaluator import SpotValues
from equipoise.trees.spot_form import spot_form
from equipoise.views.plot import By, convergence, save_picture
from equipoise.views.progress import show_progress
from equipoise.work import Report, Stopped, silent
from equipoise.workers import Workers

DEFAULT_ITERATIONS = 1000
DISK_WORTH_SAYING = 100 << 20
PARTS = ("traversal_seconds", "fit_seconds")  # of solving; counted by each process, and added up over resumes
MEASURED = ("value", "nash_conv", "exploitability")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Solution:
    """What a solver found. Payoffs are to player 0; ``exploitability`` is ``nash_conv`` / 2, in the game's units.

    All three are NaN in games that are solved in buckets and too large to be evaluated. Two solutions are equal if they
    are the same run: settings, seed, iterations, and all that was measured but for the time it took. A pickle has all
    but the solver: keep a run directory (``out``) to go on from.
    """

    game: str
    algorithm: str
    iterations: int
    spent: dict[str, float]  # seconds by kind of work, of all processes that worked on the run
    seed: int
    value: float
    nash_conv: float
    exploitability: float
    nash_conv_mbb: float | None  # in thousandths of a big blind, for hold'em
    of_spot: Record  # spots: ev_first, exploitability_pot and memory
    history: list[Record]
    threads: int
    parameters: Mapping[str, object]  # of the algorithm, resolved
    rules: Game
    not_evaluated: str  # why, where nothing is measured
    solver: Solver
    representation: Representation
    directory: Path | None

    @property
    def seconds(self) -> float:
        """Return the time that everything took: preparing, compiling, solving, fitting, evaluating and writing."""
        return sum(self.spent.values())

    def __repr__(self) -> str:
        measured = ""
        if not math.isnan(self.exploitability):
            measured = f", value {self.value:.6g}, exploitability {self.exploitability:.4g}"
        kept = "" if self.directory is None else f", in {self.directory}"
        took = f"{self.iterations:,} iterations of {self.algorithm} in {self.seconds:.3g} s"
        return f"<Solution of {self.game}: {took}{measured}{kept}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Solution):
            return NotImplemented
        return self._told() == other._told()

    __hash__ = None  # type: ignore[assignment]

    def _told(self) -> tuple[object, ...]:
        """Return what makes the solution what it is."""
        timeless = [{n: x for n, x in r.items() if "seconds" not in n and n != "workers"} for r in self.history]
        return self.game, self.algorithm, dict(self.parameters), self.seed, self.iterations, timeless

    def __getstate__(self) -> dict[str, Any]:
        try:
            policy = {"policy": self.policy}
        except TooLarge:  # to be listed
            policy = {}
        rules = None if self.game.startswith("python:") else self.rules  # its classes are in a file
        return {**{n: value for n, value in vars(self).items() if n != "solver"}, "rules": rules, **policy}

    def __getattr__(self, name: str) -> Any:
        if name == "solver":
            raise NotSupported("a solution from a pickle has no solver; solve with out=... and resume that run instead")
        raise AttributeError(f"a Solution has no attribute '{name}'")

    def _repr_html_(self) -> str:
        numbers = [(name, value) for name, value in self.summary().items() if not isinstance(value, dict | list)]
        points = [(record["iteration"], record.get("exploitability", 0.0)) for record in self.history]
        return html.table(numbers, ("", ""), repr(self).strip("<>")) + html.curve(points, "iteration", "exploitability")

    def to_frame(self) -> Any:
        """Return the history as a DataFrame of pandas, one row per evaluation, by iteration."""
        return frame(self.history).set_index("iteration")

    def plot(self, path: str | Path | None = None, *, by: By = "iteration", measure: str = "exploitability") -> Any:
        """Return the convergence curve as a figure of Matplotlib's, which a notebook shows; with ``path``, write it.

        ``measure`` may be anything that is logged, such as ``regret_loss``.
        """
        title, unit = f"{self.algorithm} on {self.game}", self.rules.chip_unit() if self.rules is not None else ""
        figure = convergence({self.algorithm: [self.history]}, by=by, measure=measure, unit=unit, title=title)
        if path is not None:
            save_picture(figure, path)
        return figure

    @cached_property
    def policy(self) -> AnyPolicy:
        """Return the average strategy as a policy."""
        origin = {name: number for name, number in self.summary().items() if name != "game"}
        return _policy_of(self.solver, self.representation, origin, Phases())

    def summary(self) -> dict[str, Any]:
        """Return the numbers, each under its name."""
        names = (
            "game",
            "algorithm",
            "iterations",
            "seconds",
            "value",
            "nash_conv",
            "exploitability",
            "seed",
            "threads",
        )
        numbers = {name: getattr(self, name) for name in names}
        numbers |= {f"{kind}_seconds": self.spent[kind] for kind in KINDS}
        numbers |= throughput(self.history)
        numbers |= {name: number for name, number in (self.history or [{}])[-1].items() if name.startswith("versus_")}
        if math.isnan(self.exploitability):
            why = {"not_evaluated": self.not_evaluated} if self.not_evaluated else {}
            return {name: number for name, number in numbers.items() if name not in MEASURED} | why
        numbers |= self.of_spot | bound(self.rules)
        return numbers if self.nash_conv_mbb is None else {**numbers, "nash_conv_mbb": self.nash_conv_mbb}


def frame(records: Sequence[Record]) -> Any:
    """Return records as a DataFrame of pandas."""
    try:
        import pandas
    except ImportError:
        raise MissingPackage("to_frame needs pandas; install it by: pip install pandas") from None
    return pandas.DataFrame(records)


def throughput(history: Sequence[Record]) -> dict[str, float]:
    """Return where the time of iterations went, and how fast nodes were visited, as far as it was measured."""
    last: Record = history[-1] if history else {}
    found = {name: last[name] for name in PARTS if name in last}
    clock = float(last.get("traversal_seconds") or last.get("solving_seconds") or 0.0)
    if last.get("nodes_touched") and clock > 0.0:
        found["nodes_per_second"] = last["nodes_touched"] / clock
    return found


def solve(
    game: Game | str,
    algorithm: str | None = None,
    *,
    iterations: int | None = None,
    until: float | None = None,
    until_mbb: float | None = None,
    until_pot: float | None = None,
    seconds: float | None = None,
    core_seconds: float | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    threads: int = 1,
    engine: Engine = "auto",
    parameters: Mapping[str, object] | None = None,
    preset: str | None = None,
    init_from: str | Path | None = None,
    device: str = "auto",
    network: Any = None,
    cluster: str | None = None,
    tensorboard: bool = False,
    versus: str | Path | None = None,
    versus_hands: int = 10_000,
    checkpoint_seconds: float = 30.0,
    evaluation_growth: float | None = None,
    first_evaluation: int | None = None,
    progress: bool = False,
    on_record: OnRecord | None = None,
    on_progress: OnProgress = unseen,
    on_complaint: Callable[[str], None] = lambda sentence: None,
) -> Solution:
    """Find a (near-)unexploitable strategy.

    ``algorithm`` is CFR+ by default, and on flop hold'em the one that reaches 5 mbb/g soonest (docs/methods.md).
    Stops at whichever of ``iterations``, ``until`` (an exploitability), ``until_mbb`` (a nash_conv in thousandths of a
    big blind), ``until_pot`` (spots: an exploitability in per cent of the pot), ``seconds`` and ``core_seconds``
    (processor time of all threads) is reached first; 1000 iterations when none is given.
    With ``out`` the run is kept in that directory and can be resumed. The result depends on the game,
    the algorithm, its parameters, the number of iterations and the seed, not on ``threads``. The strategy is evaluated
    after iteration ``first_evaluation``, then each time the iterations have grown by ``evaluation_growth``: 1 and 1.1
    by default, 10,000 and 2 in games so large that an evaluation takes half a minute, 10 and 1.25 on flop hold'em,
    where it takes as long as two iterations, 100,000 and 2 for sampled algorithms there, and 10 and 2 for networks
    (NFSP: 1000 and 2), which are read at 90 million infosets. Larger hold'em games are not evaluated: value, nash_conv
    and exploitability of their solutions are NaN.
    ``preset`` names other defaults of the algorithm's parameters; ``init_from`` is a run of the same game, tabular or
    neural: networks are initialised from its sums; ``device`` is where networks are
    (``auto``: on an accelerator if there is one, else on the CPU); ``network`` is a network of your own: a function
    from the numbers of inputs and outputs to a torch module (docs/extending.md); ``cluster`` shares the work with the
    workers of a Ray cluster (``local:N``, ``auto`` or ``ray://HOST:PORT``), with the same result; ``tensorboard``
    writes all records for TensorBoard too, into the run directory.
    ``versus`` is a fixed opponent (``always-call``, a run, a policy file): at each evaluation the strategy plays
    ``versus_hands`` hands against it, the same deals each time. Records then have ``versus_mean``, the mean payoff per
    hand, and ``versus_error``, half of its 95% interval; luck is taken out by AIVAT where the game can be listed.
    ``progress`` shows how far the run is, in a terminal or a notebook. ``on_record`` is called with a dictionary of
    numbers after each evaluation and, where networks are trained, after each other iteration, too (those have losses,
    memories and times, but no exploitability).
    """
    game = as_game(game)
    if out is not None:
        require_new(Path(out))
    if network is not None:
        parameters = {"network": "own", **(parameters or {})}
    config = configured(
        game,
        algorithm,
        iterations=iterations,
        until=until,
        until_mbb=until_mbb,
        until_pot=until_pot,
        seconds=seconds,
        core_seconds=core_seconds,
        seed=seed,
        threads=threads,
        engine=engine,
        parameters=parameters,
        preset=preset,
        init_from=init_from,
        evaluation_growth=evaluation_growth,
        first_evaluation=first_evaluation,
    )
    require_number("checkpoint_seconds", checkpoint_seconds, low=0)
    require_whole("versus_hands", versus_hands, low=4)
    if versus is not None and cluster is not None:
        raise NotSupported(
            "matches against a fixed opponent are played on one machine; leave out versus or the cluster"
        )
    algorithm = str(config["algorithm"])
    recipe, stop = find_recipe(algorithm), Stop(**config["stop"])
    representation = REPRESENTATIONS[config["representation"]]
    config["device"] = recipe.place(device)
    _require_divisible(cluster, recipe, representation, game, config)
    config |= {
        "tensorboard": tensorboard,
        "versus": None if versus is None else _named_opponent(versus),
        "versus_hands": None if versus is None else versus_hands,
        "checkpoint_seconds": checkpoint_seconds,
        "created": provenance.now(),
    }
    with (
        _shown(progress, f"{game.name} by {algorithm}", on_progress) as told,
        _watched(told) as phases,
        _workers_of(cluster, phases) as workers,
    ):
        with phases.doing(PREPARING):
            match = _matches(config, game)
            solver = _make_solver(game, config, representation, phases, on_complaint, network, workers)
            config |= {"versions": provenance.versions(), "machine": provenance.machine()}
            if out is not None and (commit := provenance.commit()) is not None:
                config["commit"] = commit
            config["fingerprint"] = representation.fingerprint(solver.form)
            _require_measurable(representation, game, stop)
            growth, first = representation.schedule(game, recipe)
            config["evaluation_growth"] = evaluation_growth or growth
            config["first_evaluation"] = first_evaluation or first
            if init_from is not None:
                _start_from(solver, representation, game, algorithm, init_from, phases)
            if tensorboard and out is None:
                raise InvalidParameter("TensorBoard logs are kept in the run directory; give --out, too")
        if out is None:
            return _run(
                solver, representation, config, stop, None, match, phases, on_complaint, on_record, workers=workers
            )
        config["layout"] = {"hash": solver.layout}
        _require_disk(solver, out, phases)
        with RunDirectory.create(out, config) as directory:
            if solver.iteration > 0:  # from here on the run it started from is not needed
                directory.save_checkpoint(Checkpoint(solver.iteration, 0.0, 0.0, solver.state()))
            return _run(
                solver, representation, config, stop, directory, match, phases, on_complaint, on_record, workers=workers
            )


def configured(
    game: Game,
    algorithm: str | None = None,
    *,
    iterations: int | None = None,
    until: float | None = None,
    until_mbb: float | None = None,
    until_pot: float | None = None,
    seconds: float | None = None,
    core_seconds: float | None = None,
    seed: int = 0,
    threads: int = 1,
    engine: Engine = "auto",
    parameters: Mapping[str, object] | None = None,
    preset: str | None = None,
    init_from: str | Path | None = None,
    evaluation_growth: float | None = None,
    first_evaluation: int | None = None,
    device: str = "auto",
) -> dict[str, Any]:
    """Return what makes a run the run that it is, every setting in full, or say what is wrong; nothing is compiled.

    A ``device`` is only checked: where a run was made does not make it another one.
    """
    algorithm = default_algorithm(game) if algorithm is None else algorithm
    recipe = find_recipe(algorithm)
    if device != "auto":
        recipe.place(device)
    representation = choose(game, engine, recipe)
    usual = SPOT_DEFAULTS.get(algorithm, {}) if representation.settings == "spots" and preset is None else {}
    given = {**usual, **(parameters or {})}
    limits = {
        "iterations": iterations,
        "until": _until(game, until, until_mbb, until_pot),
        "seconds": seconds,
        "core_seconds": core_seconds,
    }
    if all(limit is None for limit in limits.values()):
        limits["iterations"] = DEFAULT_ITERATIONS
    config = {
        "game": game.address,
        "unit": game.chip_unit(),
        "algorithm": algorithm,
        "revision": recipe.revision,
        "parameters": recipe.resolve(given, preset, game=representation.settings),
        "preset": preset,
        "init_from": None if init_from is None else str(init_from),
        "engine": engine,
        "representation": representation.name,
        "seed": seed,
        "threads": threads,
        "stop": limits,
        "evaluation_growth": evaluation_growth,
        "first_evaluation": first_evaluation,
    }
    Stop(**limits)  # type: ignore[arg-type]
    if evaluation_growth is not None:
        require_number("evaluation_growth", evaluation_growth, above=1)
    if first_evaluation is not None:
        require_whole("first_evaluation", first_evaluation)
    require_seed(seed)
    require_threads(threads)
    return config


REHEARSED_SECONDS = 0.2  # of iterations at least, beyond the first two


def rehearse(
    game: Game | str,
    algorithm: str | None = None,
    *,
    device: str = "auto",
    out: str | Path | None = None,
    on_progress: OnProgress = unseen,
    on_complaint: Callable[[str], None] = lambda sentence: None,
    **settings: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Try a run without keeping anything: return its configuration in full, and what it will take.

    Time per iteration is that of the second one (of more, where they are short); it grows with memories that fill.
    The first one is told apart: it compiles, and where networks are fitted anew now and then, it has the most steps.
    Memory is that of the process at its largest, and what the solver's memories have yet to fill.
    """
    game = as_game(game)
    config = configured(game, algorithm, **settings)
    recipe = find_recipe(config["algorithm"])
    config["device"] = recipe.place(device)
    with _watched(on_progress) as phases:
        with phases.doing(PREPARING):
            representation = REPRESENTATIONS[config["representation"]]
            solver = _make_solver(game, config, representation, phases, on_complaint)
        growth, first = representation.schedule(game, recipe)
        config["evaluation_growth"] = config["evaluation_growth"] or growth
        config["first_evaluation"] = config["first_evaluation"] or first
        with phases.doing(SOLVING, "the first iteration", left=False):
            solver.run(1)
        count, before, parts_before = 1, phases.spent(SOLVING).seconds, solver.diagnostics()
        with phases.doing(SOLVING, "the second iteration", left=False):
            solver.run(1)
            while (took := phases.spent(SOLVING).seconds - before) < REHEARSED_SECONDS:
                solver.run(count)
                count *= 2
    state = solver.state()
    whole = largest_bytes(state)
    unfilled = whole - sum(array.nbytes for array in state.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    later = solver.iteration - 1
    per_iteration = took / later
    numbers: dict[str, Any] = {
        "first_iteration_seconds": before,
        "seconds_per_iteration": per_iteration,
        "preparing_seconds": phases.seconds()[PREPARING],
        "memory_bytes": peak + unfilled,
        "memory_available_bytes": available_bytes(),
        "checkpoint_bytes": whole,
        "disk_bytes": require_disk(Path() if out is None else out, whole),
    }
    parts = solver.diagnostics()
    numbers |= {f"{name}_per_iteration": (parts[name] - parts_before[name]) / later for name in PARTS if name in parts}
    if (limit := config["stop"]["iterations"]) is not None:
        chosen = config["parameters"]
        # A fresh network now and then takes as many steps as the first.
        as_first = math.ceil(limit / chosen["fresh_every"]) if chosen.get("fit") == "hybrid" else 1
        numbers["solving_seconds_in_all"] = as_first * before + (limit - as_first) * per_iteration
    return config, numbers


def difference_from(run: str | Path, wanted: Mapping[str, Any], game: Game) -> str | None:
    """Return in words how a run on disk differs from the one that is wanted (see ``configured``); None: it does not."""
    found = dict(RunDirectory.open(run).config)
    if found["algorithm"] == wanted["algorithm"]:
        recipe = find_recipe(wanted["algorithm"])
        found["parameters"] = recipe.in_full(found["parameters"], REPRESENTATIONS[wanted["representation"]])
    known = str(found.get("fingerprint") or "")
    listed = known.startswith(("tree:", "public:"))
    now = compile_game(game, wanted["engine"]).fingerprint if listed else described(game)
    return difference(found, {**wanted, "fingerprint": now})


def _require_divisible(
    cluster: str | None, recipe: Recipe, representation: Representation, game: Game, config: Mapping[str, Any]
) -> None:
    """Refuse a cluster for what runs on one machine only."""
    if cluster is None:
        return
    workers_wanted(cluster)
    if (why := recipe.why_alone(representation, config["parameters"])) is not None:
        raise NotSupported(f"{recipe.name} on {game.name} runs on one machine: leave out --cluster, or {why}")
    if config["device"] != "cpu":
        raise NotSupported(f"workers read networks on CPUs, and these are on {config['device']}: give --device cpu")
    if config["stop"].get("core_seconds") is not None:
        raise NotSupported("processor time on a cluster is not counted; give seconds instead of core_seconds")


@contextmanager
def _workers_of(cluster: str | None, phases: Phases) -> Iterator[Workers | None]:
    """Start or join a cluster, if one is asked for."""
    if cluster is None:
        yield None
        return
    with ExitStack() as stack:
        with phases.doing(PREPARING, f"joining the cluster {cluster}"):
            workers = stack.enter_context(open_cluster(cluster))
        yield workers


@contextmanager
def _shown(progress: bool, what: str, on_progress: OnProgress) -> Iterator[OnProgress]:
    """Show the progress of a run if that is wanted, and tell the caller's own listener in any case."""
    if not progress:
        yield on_progress
        return
    with show_progress(what) as show:

        def both(news: Progress | Phase) -> None:
            show(news)
            on_progress(news)

        yield both


@contextmanager
def _watched(on_progress: OnProgress) -> Iterator[Phases]:
    """Count and announce what a run does, and answer Ctrl-C in all of it."""
    with interrupts() as asked_to_stop:
        phases = Phases(on_progress, asked_to_stop)
        with phases.noticing_compilation():
            try:
                yield phases
            except Stopped:  # while it was being prepared
                raise Interrupted(0) from None


def _require_disk(solver: Solver, folder: str | Path, phases: Phases) -> None:
    """Say how much disk space a run's checkpoints take where it is much, and refuse what does not fit."""
    needed = require_disk(folder, largest_bytes(solver.state()))
    if needed >= DISK_WORTH_SAYING:
        phases.on_progress(Phase(what=f"{readable_bytes(needed)} of disk for checkpoints"))


def default_algorithm(game: Game) -> str:
    """Return the algorithm that a game is solved with if none is named."""
    return "dcfr" if has_board_form(game) or isinstance(game, Spot) else "cfr+"


def _until(game: Game, until: float | None, until_mbb: float | None, until_pot: float | None = None) -> float | None:
    """Return the exploitability to stop at, in the game's units."""
    if until_pot is not None:
        if until is not None or until_mbb is not None:
            raise InvalidParameter("give one of until, until_mbb and until_pot")
        if not isinstance(game, Spot):
            raise NotSupported(f"{game.name} has no pot to measure by; give until, an exploitability, instead")
        require_number("until_pot", until_pot, above=0)
        return until_pot / 100 * game.pot
    if until_mbb is None:
        return until
    if until is not None:
        raise InvalidParameter("give until (an exploitability) or until_mbb (a nash_conv), not both")
    per_chip = game.mbb_per_chip()
    if per_chip is None:
        raise NotSupported(f"{game.name} is not measured in big blinds; give until, an exploitability")
    return until_mbb / per_chip / 2


def _require_measurable(representation: Representation, game: Game, stop: Stop) -> None:
    if stop.until is not None and representation.evaluator is None:
        raise NotMeasurable(f"{not_measured(game)}; give iterations or seconds instead of until")


def _start_from(
    solver: Solver, representation: Representation, game: Game, algorithm: str, source: str | Path, phases: Phases
) -> None:
    """Let a solver take over what another run has found."""
    if not representation.listed:
        raise NotSupported(f"--init-from needs a game whose infosets can be listed, and {game.name} has too many")
    if not solver.takes_over:
        raise NotSupported(
            f"{algorithm} cannot be initialised from another run; dncfr, rs-mccfr+-rsn and rs-mccfr+-asn can"
        )
    directory = RunDirectory.open(source)
    known = directory.config.get("fingerprint")
    if directory.config["game"] != game.address and known != representation.fingerprint(solver.form):
        raise NotSupported(f"{source} is a run of {directory.config['game']}, not of {game.address}")
    its_own = _recorded_representation(directory, game)
    found, iteration = _restored(directory, game, its_own, phases)
    if not found.hands_over or not its_own.listed:
        raise NotSupported(f"{source} is a run of {directory.config['algorithm']}, which cannot initialise another run")
    if its_own is not representation:
        raise NotSupported(f"{source} was solved with --engine {its_own.name}; give the same engine here")
    found.conclude(phases.report)
    regret_sum, average = found.sums()
    solver.start_from(regret_sum, average, iteration)


def _restored(
    directory: RunDirectory,
    game: Game,
    representation: Representation,
    phases: Phases,
    device: str = "auto",
    network: Any = None,
) -> tuple[Solver, int]:
    """Return a run's solver as it was at the last good checkpoint, its networks on a device."""
    checkpoint = _last_checkpoint(directory)
    config = {**settings_of(directory), "device": device}
    solver = _make_solver(game, config, representation, phases, network=network)
    _restore(solver, directory, checkpoint)
    return solver, checkpoint.iteration


def _restore(solver: Solver, directory: RunDirectory, checkpoint: Checkpoint) -> None:
    """Let a solver go on from a checkpoint, if the numbers in it mean to this solver what they meant to that run's."""
    _require_layout(directory, solver.layout)
    kinds = {name: (array.dtype, array.ndim) for name, array in solver.state().items()}
    shapes = {name: array.shape for name, array in checkpoint.state.items()}
    try:
        solver.restore(checkpoint.iteration, checkpoint.state)
        state = solver.state()
        if {name: array.shape for name, array in state.items()} != shapes:
            raise ValueError("its arrays have other names or shapes")
        for name, array in state.items():
            if (array.dtype, array.ndim) != kinds.get(name, (array.dtype, array.ndim)):
                raise ValueError(f"{name} holds numbers of another kind")
    except (KeyError, ValueError, IndexError, TypeError, RuntimeError, OverflowError) as error:
        where = f"the checkpoint of {directory.path} at iteration {checkpoint.iteration:,}"
        raise DamagedFile(f"{where} does not fit its solver ({error})") from None


def _require_layout(directory: RunDirectory, layout: str) -> None:
    """Refuse a run whose numbers belong to other infosets than they would here."""
    if "layout" in directory.config and directory.config["layout"]["hash"] != layout:
        raise NotSupported(
            f"the tables of {directory.path} are in a different order, or for other buckets, than they would be here: "
            "resume it on the machine and with the version that it was made with "
            f"(equipoise {directory.config['versions'].get('equipoise')}), or solve it again"
        )


def _recorded_representation(directory: RunDirectory, game: Game) -> Representation:
    """Return how a run sees its game, if that is how it would be seen now; else say what is different."""
    config = settings_of(directory)
    recipe = find_recipe(config["algorithm"])
    chosen, recorded = choose(game, config["engine"], recipe), config.get("representation")
    if recorded is None:  # an earlier version, which kept the order of tables only, or not even that
        order = config.get("layout", {}).get("order")
        if order is None and "layout" not in config and recipe.works_by == "samples" and isinstance(game, Bluff):
            raise NotSupported(
                f"{directory.path} does not say in which order its tables are (later versions record it, and the order "
                "of a sampled Bluff once depended on the memory that was free): solve it again"
            )
        recorded = chosen.name if order is None or (order == "nodes") == (chosen.name == "nodes") else order
    if recorded != chosen.name:
        made_with = config["versions"].get("equipoise")
        raise NotSupported(
            f"{directory.path} sees {game.name} as '{recorded}', and this version sees it as '{chosen.name}': "
            f"resume it with the version that it was made with (equipoise {made_with}), or solve it again"
        )
    return chosen


def _last_checkpoint(directory: RunDirectory, only: Collection[str] | None = None) -> Checkpoint:
    checkpoint, complaints = directory.load_checkpoint(only)
    if checkpoint is None:
        listed = "".join(f"; {complaint}" for complaint in complaints)
        raise DamagedFile(f"{directory.path} has no good checkpoint yet{listed}")
    return checkpoint


def resume(
    path: str | Path,
    *,
    iterations: int | None = None,
    until: float | None = None,
    until_mbb: float | None = None,
    until_pot: float | None = None,
    seconds: float | None = None,
    core_seconds: float | None = None,
    threads: int | None = None,
    device: str = "auto",
    network: Any = None,
    cluster: str | None = None,
    restart: bool = False,
    game: Game | str | None = None,
    trust_game: bool = False,
    progress: bool = False,
    on_record: OnRecord | None = None,
    on_progress: OnProgress = unseen,
    on_complaint: Callable[[str], None] = lambda sentence: None,
) -> Solution:
    """Go on with a run from its last good checkpoint, to the limits it had or to new ones.

    Without a good checkpoint that is refused, unless ``restart`` allows to start again from the beginning; the log and
    the results of the first try are then kept under other names. Networks are on ``device`` from here on, wherever
    they were before. A ``cluster`` may be of another size than before, or take over from a single machine.

    A run of networks of your own needs the same ``network`` again.
    A run whose game is Python code (``python:PATH``) needs ``trust_game=True`` or the ``game`` itself, and so does a
    run of a game that was given as an object. The rules must be those it was made with.
    """
    with RunDirectory.open_to_write(path) as directory:
        config = settings_of(directory)
        game = stored_game(config["game"], game, trust_game=trust_game)
        if config.get("fingerprint") is None:
            said = f"it is not known whether {game.name} has changed since"
            on_complaint(f"{path} does not say what the rules were: {said}")
        config["device"] = find_recipe(config["algorithm"]).place(device)
        if directory.newest_checkpoint() == 0 and not restart:
            raise _nothing_to_resume(directory, [])
        until = _until(game, until, until_mbb, until_pot)
        limits = {"iterations": iterations, "until": until, "seconds": seconds, "core_seconds": core_seconds}
        if any(limit is not None for limit in limits.values()):
            config["stop"] = limits
        if threads is not None:
            config["threads"] = threads
        stop = Stop(**config["stop"])
        representation = _recorded_representation(directory, game)
        _require_divisible(cluster, find_recipe(config["algorithm"]), representation, game, config)
        with (
            _shown(progress, f"resuming {path}", on_progress) as told,
            _watched(told) as phases,
            _workers_of(cluster, phases) as workers,
        ):
            with phases.doing(PREPARING):
                match = _matches(config, game)
                solver = _make_solver(game, config, representation, phases, on_complaint, network, workers)
                _compare_versions(config, on_complaint)
                _compare_revisions(config, on_complaint)
                _require_measurable(representation, game, stop)
                _require_disk(solver, path, phases)
                history, times = _resumed(
                    solver, representation, game, config, directory, phases, on_complaint, restart=restart
                )
                directory.change(stop=config["stop"])
            made = (solver, representation, config, stop, directory, match, phases, on_complaint, on_record)
            return _run(*made, history, times, workers=workers)


def _compare_versions(config: Mapping[str, Any], on_complaint: Callable[[str], None]) -> None:
    for name, now in provenance.versions().items():
        if (made_with := config["versions"].get(name, now)) != now:
            on_complaint(
                f"this run was made with {name} {made_with}, now it is {now}: results may differ in the last bits"
            )


def _compare_revisions(config: Mapping[str, Any], on_complaint: Callable[[str], None]) -> None:
    made_by, now = config.get("revision", FIRST_REVISION), find_recipe(config["algorithm"]).revision
    if made_by != now:
        on_complaint(
            f"this run was begun by revision {made_by} of {config['algorithm']}, now it is at {now}: it goes on in "
            "another way than it would have"
        )


def _resumed(
    solver: Solver,
    representation: Representation,
    game: Game,
    config: Mapping[str, Any],
    directory: RunDirectory,
    phases: Phases,
    on_complaint: Callable[[str], None],
    *,
    restart: bool,
) -> tuple[list[Record], tuple[float, float]]:
    """Bring a solver to a run's last good checkpoint; return the history up to there, and the times on its clocks."""
    checkpoint, complaints = directory.load_checkpoint()
    if checkpoint is None and not restart:
        raise _nothing_to_resume(directory, complaints)
    for complaint in complaints:
        on_complaint(complaint)
    times, spent = (0.0, 0.0), dict[str, float]()
    if checkpoint is not None:
        _restore(solver, directory, checkpoint)
        times, spent = (checkpoint.seconds, checkpoint.core_seconds), dict(checkpoint.spent)
        del checkpoint  # may be as large as the solver itself
    else:
        _keep_first_try(directory, on_complaint)
        if config.get("init_from") is not None:
            _start_from(solver, representation, game, config["algorithm"], config["init_from"], phases)
    history, complaints = directory.cut_log(solver.iteration)
    for complaint in complaints:
        on_complaint(complaint)
    # What the last evaluation took is known to the log only: the checkpoint was written before it.
    last = history[-1] if history and history[-1]["iteration"] == solver.iteration else {}
    phases.go_on_from({kind: max(spent.get(kind, 0.0), last.get(f"{kind}_seconds", 0.0)) for kind in KINDS})
    return history, times


def _nothing_to_resume(directory: RunDirectory, complaints: list[str]) -> EquipoiseError:
    """Return the error that says why a run cannot go on, and what is left of it."""
    log = directory.read_log()
    left = [f"a log up to iteration {log[-1]['iteration']:,}"] if log else []
    left += [file for file in ("policy.npz", "result.json") if (directory.path / file).exists()]
    why = "; ".join(complaints) if complaints else "none was written"
    return NotFound(
        f"{directory.path} has no checkpoint to go on from ({why}); left of it: {', '.join(left) or 'nothing'}; "
        "--restart starts it again from the beginning"
    )


def _keep_first_try(directory: RunDirectory, on_complaint: Callable[[str], None]) -> None:
    """Keep what a run that starts again would write over."""
    names = ("log.jsonl", "policy.npz", "result.json")
    kept = [directory.put_aside(name, "first-try").name for name in names if (directory.path / name).exists()]
    on_complaint(
        f"{directory.path} starts again from the beginning; kept of the first try: {', '.join(kept) or 'nothing'}"
    )


def _make_solver(
    game: Game,
    config: Mapping[str, Any],
    representation: Representation,
    phases: Phases,
    on_complaint: Callable[[str], None] = lambda sentence: None,
    network: Any = None,
    workers: Workers | None = None,
) -> Solver:
    setup = Setup(
        game=game,
        engine=config["engine"],
        seed=config["seed"],
        threads=set_threads(config["threads"]),
        device=config["device"],
        network=_handed_in(network),
        workers=workers,
        report=phases.report,
        on_complaint=on_complaint,
    )
    recipe = find_recipe(config["algorithm"])
    solver = recipe.make(setup, recipe.recorded(config["parameters"]), representation)
    _require_rules(config, game, representation.fingerprint(solver.form))
    return solver


def _handed_in(network: Any) -> Any:
    """Return a network of the user's own as solvers take it; None if there is none."""
    if network is None:
        return None
    from equipoise.networks.own import as_architecture

    return as_architecture(network)


def _require_rules(config: Mapping[str, Any], game: Game, fingerprint: str) -> None:
    """Refuse to go on with a run whose game has changed."""
    require_same_game(config.get("fingerprint"), fingerprint, what="the run", of=config["game"], game=game.address)


def _named_opponent(versus: str | Path) -> str:
    """Return an opponent as a run keeps it: the name of a baseline, or a path that is the same from any folder."""
    from equipoise.evaluation.players import BASELINES

    if str(versus) in BASELINES:
        return str(versus)
    if not Path(versus).exists():
        listed = f"{', '.join(BASELINES)}{nearest(str(versus), BASELINES)}"
        raise NotFound(f"versus: '{versus}' is not a run, a policy file or one of {listed}")
    return str(Path(versus).resolve())


def _matches(config: Mapping[str, Any], game: Game) -> Callable[[AnyPolicy], Record] | None:
    """Return what lets a policy play the fixed opponent of a run, if it has one."""
    if config.get("versus") is None:
        return None
    from equipoise.evaluation.match import big_blind_of, play_match, seat_players
    from equipoise.evaluation.players import BASELINES, Player, player_of

    name = _named_opponent(config["versus"])
    names_none = name.endswith(".csv") or game.address.startswith("python:")
    opponent: Player
    if name in BASELINES:
        opponent = BASELINES[name]
    else:
        opponent = player_of(name, load_policy(name, game=game if names_none else None))
    seat_players(opponent, opponent, game)  # says now what is wrong with it
    big_blind = big_blind_of(game)

    def play(policy: AnyPolicy) -> Record:
        hands, seed, threads = config["versus_hands"], config["seed"], config["threads"]
        best = play_match(policy, opponent, game=game, hands=hands, seed=seed, threads=threads).best
        found = {"versus_mean": best.mean, "versus_error": (best.interval[1] - best.interval[0]) / 2}
        return found if big_blind is None else {**found, "versus_mbb": 1000 * best.mean / big_blind}

    return play


def _run(
    solver: Solver,
    representation: Representation,
    config: Mapping[str, Any],
    stop: Stop,
    directory: RunDirectory | None,
    match: Callable[[AnyPolicy], Record] | None,
    phases: Phases,
    on_complaint: Callable[[str], None],
    on_record: OnRecord | None,
    history: list[Record] | None = None,
    times: tuple[float, float] = (0.0, 0.0),
    *,
    workers: Workers | None,
) -> Solution:
    """Drive a solver until ``stop``; a run that goes on has a history, and the seconds and core-seconds before."""
    form = solver.form
    make_evaluator, threads = representation.evaluator, set_threads(config["threads"])
    evaluator = None if make_evaluator is None else make_evaluator(form, threads, phases.report)
    records = [] if history is None else history
    before = {name: records[-1][name] for name in PARTS if records and name in records[-1]}

    def diagnose() -> Record:
        touched = solver.nodes_touched
        numbers: Record = {**({} if touched is None else {"nodes_touched": touched}), **solver.diagnostics()}
        return numbers | {name: round(numbers[name] + before.get(name, 0.0), 6) for name in PARTS if name in numbers}

    def evaluate() -> Record:
        measured = {} if evaluator is None else named(form.game, solver.best_responses(evaluator))
        if match is not None:
            measured |= match(representation.policy(form, solver.average_strategy(), {}, solver.reached()))
        shared = {} if workers is None else {"workers": workers.workers}
        return {**measured, **diagnose(), **shared}

    listeners = [on_record] if on_record is not None else []
    if config.get("tensorboard") and directory is not None:
        listeners.append(tensorboard_writer(directory.path / "tensorboard"))

    def tell(record: Record) -> None:
        for listener in listeners:
            listener(dict(record))

    def solution() -> Solution:
        last = records[-1] if records and records[-1]["iteration"] == solver.iteration else {}
        return Solution(
            game=config["game"],
            algorithm=config["algorithm"],
            iterations=solver.iteration,
            spent=phases.seconds(),
            seed=config["seed"],
            **{name: last.get(name, math.nan) for name in MEASURED},
            nash_conv_mbb=last.get("nash_conv_mbb"),
            of_spot=_of_spot(solver, last),
            history=records,
            threads=solver.threads,
            parameters=config["parameters"],
            rules=form.game,
            not_evaluated="" if evaluator is not None else not_measured(form.game),
            solver=solver,
            representation=representation,
            directory=None if directory is None else directory.path,
        )

    networks = find_recipe(config["algorithm"]).networks

    def keep_strategy() -> None:
        """Write what networks play, which without them would be in samples and checkpoints as large as these."""
        if networks and directory is not None and solver.concluded:
            solution().policy.save(directory.policy_path)

    finished = bool(records) and records[-1]["iteration"] == solver.iteration
    begun_at = solver.iteration
    try:
        drive(
            solver,
            evaluate,
            stop,
            measured=evaluator is not None or match is not None,
            phases=phases,
            directory=directory,
            history=records,
            seconds_before=times[0],
            core_seconds_before=times[1],
            checkpoint_seconds=config["checkpoint_seconds"],
            evaluation_growth=config["evaluation_growth"],
            first_evaluation=config["first_evaluation"],
            on_record=tell if listeners else None,
            diagnose=diagnose if networks else None,
            keep_strategy=keep_strategy,
            meanwhile=workers is None,  # Ray's threads and a child process do not go together
        )
    except Interrupted as error:
        solver.leave_workers()
        error.solution = solution()
        raise
    solver.leave_workers()
    if finished and solver.iteration == begun_at:
        on_complaint(
            f"this run had already finished, after {begun_at:,} iterations: nothing was done; to take it further, give "
            f"more iterations (--iterations {2 * begun_at}), a lower until or more seconds"
        )
    if directory is None:
        return solution()
    found = solution()
    if networks or representation.listed:  # else it is the sums in the checkpoint: too many to name
        with phases.doing(WRITING, "writing the policy", left=False):
            found.policy.save(directory.policy_path)
    found.spent.update(phases.seconds())
    directory.save_result(found.summary())
    return found


def _of_spot(solver: Solver, last: Record) -> Record:
    """Return the numbers that only spots have."""
    told: Record = {name: last[name] for name in ("ev_first", "exploitability_pot") if name in last}
    return told if solver.memory is None else {**told, "memory": solver.memory}


def bound(game: Game) -> dict[str, list[str]]:
    """Return what players of a spot are bound to, in best responses, too."""
    return {"locks": game.lock_texts} if isinstance(game, Spot) and game.locks else {}


def named(game: Game, found: BestResponses | SpotValues) -> Record:
    """Return the numbers of an evaluation, each under its name."""
    numbers = {"value": found.value, "nash_conv": found.nash_conv, "exploitability": found.exploitability}
    if isinstance(game, Spot):
        percent = 100 * found.exploitability / game.pot
        numbers |= {"ev_first": found.value + game.pot / 2, "exploitability_pot": percent}
    per_chip = game.mbb_per_chip()
    return numbers if per_chip is None else {**numbers, "nash_conv_mbb": found.nash_conv * per_chip}


def _policy_of(solver: Solver, representation: Representation, origin: Mapping[str, Any], phases: Phases) -> AnyPolicy:
    """Return what a solver has found as a policy; what has to be fitted for that is not fitted in silence."""
    if not solver.concluded:
        _warn("the networks of the average policy were not fitted yet: they are fitted now, which may take minutes")
        with phases.doing(FITTING, announced=False):
            solver.conclude(phases.report)
    return representation.policy(solver.form, solver.average_strategy(), origin, solver.reached())


def written_out(config: Mapping[str, Any]) -> str:
    """Return a configuration as a file that makes the run again."""
    recipe = find_recipe(config["algorithm"])
    return run_file({**config, "parameters": recipe.as_given(recipe.recorded(config["parameters"]))})


def run_file_of(directory: RunDirectory) -> str:
    """Return a run's settings as TOML, every one of them; ``equipoise solve --config`` makes the run again."""
    return written_out(settings_of(directory))


def completed(policy: AnyPolicy, iterations: int, *, threads: int = 1, report: Report = silent) -> SpotPolicy:
    """Return the policy of a spot that ends early as one of the whole spot: what follows is solved around it."""
    policy = policy_of(SpotPolicy, policy, "only a spot that ends early can be completed")
    form, strategy = complete(policy.form, policy.strategy, iterations, threads=set_threads(threads), report=report)
    return SpotPolicy(form=form, strategy=strategy, origin=policy.origin)


def has_networks(path: str | Path) -> bool:
    """Return whether a path is a run or a file of a strategy in networks, which are on a device."""
    if Path(path).is_dir():
        return find_recipe(RunDirectory.open(path).config["algorithm"]).networks
    if Path(path).suffix in ENDINGS or not Path(path).exists():
        return False
    return is_of_networks(read_parts(path, header_only=True).header)


def load_policy(
    path: str | Path,
    *,
    game: Game | str | None = None,
    trust_game: bool = False,
    device: str = "auto",
    network: Any = None,
    on_progress: OnProgress = unseen,
) -> AnyPolicy:
    """Return the policy in a file, of a finished run, or of an unfinished run.

    Files are those that policies are saved to, and the JSON and CSV that `equipoise export` writes; a CSV file does not
    say what it is of, so give the ``game``.
    Of an unfinished run it is that of the last checkpoint, or of the last evaluation if networks of the average policy
    were fitted then (Deep CFR), which a warning says. A run that was interrupted before anything was fitted is warned
    of, too: it is fitted here, which may take minutes. Networks are opened on ``device``, wherever they were trained;
    those of your own need the ``network`` again where a game is too large to list.
    A file never runs code: where rules are needed that are Python code (``python:PATH``), give ``trust_game=True`` or
    the ``game`` itself.
    """
    phases = Phases(on_progress)
    with phases.noticing_compilation(), phases.doing(PREPARING, announced=False):
        if Path(path).is_dir():
            return _policy_of_run(RunDirectory.open(path), game, trust_game, device, network, phases)
        if Path(path).suffix in ENDINGS:
            return _exported_policy(path, game, trust_game)
        parts = read_parts(path)
        if device not in ("auto", "cpu") and not is_of_networks(parts.header):
            raise NotSupported(f"{path} has no networks to put on a device: leave out --device {device}")
        options: dict[str, Any] = {"device": device, "network": _handed_in(network), "report": phases.report}
        return open_strategy(*parts, game=game, trust_game=trust_game, name=str(path), **options)


def _policy_of_run(
    directory: RunDirectory, game: Game | str | None, trust_game: bool, device: str, network: Any, phases: Phases
) -> AnyPolicy:
    path, recipe = directory.path, find_recipe(directory.config["algorithm"])
    device = recipe.place(device)
    if directory.policy_path.exists():
        parts = read_parts(directory.policy_path)
        known, reached = parts.header["origin"].get("iterations"), directory.newest_checkpoint()
        gone_on = _has_gone_on(directory, known)
        if gone_on and recipe.networks:
            _warn(
                f"{path} has gone on to iteration {reached:,}; its policy is that of iteration {known:,}, when it was "
                f"last made: `equipoise resume {path}` brings it up to date"
            )
        if recipe.networks or not gone_on:
            options: dict[str, Any] = {"device": device, "network": _handed_in(network), "report": phases.report}
            name = str(directory.policy_path)
            return open_strategy(*parts, game=game, trust_game=trust_game, name=name, **options)
    config = settings_of(directory)
    origin = {"algorithm": config["algorithm"], "seed": config["seed"]}
    game = stored_game(config["game"], game, trust_game=trust_game)
    representation = _recorded_representation(directory, game)
    if representation.name == "spots":
        assert isinstance(game, Spot)
        checkpoint, form = _last_checkpoint(directory, only=SpotCFR.average_names(game.rounds)), spot_form(game)
        _require_layout(directory, form.layout)
        origin["iterations"] = checkpoint.iteration
        return SpotPolicy(form=form, strategy=tables_from(form, STRATEGY, checkpoint.state), origin=origin)
    if representation.name == "boards":
        return _open_board_policy(directory, game, origin)
    with phases.doing(PREPARING, "restoring the solver"):
        solver, origin["iterations"] = _restored(directory, game, representation, phases, device, network)
    return _policy_of(solver, representation, origin, phases)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, EquipoiseWarning, stacklevel=2)


def _exported_policy(path: str | Path, game: Game | str | None, trust_game: bool) -> Policy:
    """Return the policy in a JSON or CSV file, in the game's own order where the game can be listed."""
    given = None if game is None else as_game(game)
    policy = read_exported(path, None if given is None else given.address)
    rules = given if given is not None else stored_game(policy.game, None, trust_game=trust_game)
    if too_large_to_list(rules) or isinstance(rules, Spot):  # a part of it
        return replace(policy, loaded=rules)
    form = compile_game(rules)
    require_same_game(policy.fingerprint, form.fingerprint, what=str(path), of=policy.game, game=rules.address)
    return arranged(policy, form)


def as_policy(policy: Any, game: Game | str | None = None) -> AnyPolicy:
    """Return a policy of this package from what there is: a path, one of OpenSpiel's policies, or a policy already.

    ``game`` is the game that an OpenSpiel policy should be of here, such as ``leduc_poker``; by default it is
    OpenSpiel's own. A CSV file needs it, too.
    """
    if isinstance(policy, Policy | HoldemPolicy | SpotPolicy):
        return policy
    if isinstance(policy, str | Path):
        return load_policy(policy, game=game)
    if hasattr(policy, "game") and hasattr(policy, "action_probabilities"):
        return from_open_spiel(policy, game)
    raise NotSupported(f"a {type(policy).__name__} is neither a policy nor a path to one")


def _has_gone_on(directory: RunDirectory, iterations: object) -> bool:
    """Return whether a run has a later good checkpoint than a policy that was written after some iterations."""
    if not isinstance(iterations, int) or directory.newest_checkpoint() <= iterations:
        return False
    checkpoint, _ = directory.load_checkpoint(only=())
    return checkpoint is not None and checkpoint.iteration > iterations


def _open_board_policy(directory: RunDirectory, game: Game, origin: dict[str, Any]) -> HoldemPolicy:
    """Return the average strategy in a run's last checkpoint, without reading its regrets."""
    _require_rules(directory.config, game, described(game))
    checkpoint = _last_checkpoint(directory, only=BoardCFR.AVERAGE)
    form, (start, stored, scale) = board_form(game), (checkpoint.state[name] for name in BoardCFR.AVERAGE)
    _require_layout(directory, form.layout)
    strategy = BoardTableStrategy(form, start, SumTable(stored, scale))
    return HoldemPolicy(rules=form.game, strategy=strategy, origin={**origin, "iterations": checkpoint.iteration})
