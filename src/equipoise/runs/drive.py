"""The loop around a solver: run, evaluate now and then, log, checkpoint, stop; and go on after an interruption.

Evaluations come at fixed iterations (each a tenth further than the last unless told otherwise), never by the clock, so
that an interrupted and resumed run passes through the same states as an uninterrupted one.

The clock that limits a run counts iterations, evaluations and checkpoints. It does not count what comes before
(preparing, compiling kernels), so that a first run solves for as long as a later one.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from equipoise.errors import InvalidParameter, require_number, require_whole
from equipoise.runs.directory import Checkpoint, RunDirectory
from equipoise.runs.phases import COMPILING, EVALUATION, FITTING, SOLVING, WRITING, Phases, Progress
from equipoise.work import Report, Stopped

CHECKPOINT_SHARE = 0.05  # of the time at most goes into checkpoints, even those of two gigabytes
SECONDS_A_STEP = 0.2  # how long a solver may run before signals, the clock and the progress bar get their turn
WORTH_A_WORD = 0.2  # seconds of an evaluation, from which it is announced while iterations go on
SPEED_WINDOW = 10.0  # seconds of solving over which the speed is a mean
LEFT_WINDOW = 15.0  # seconds in which the time left follows what was measured


class Runnable(Protocol):
    """What a run needs of a solver."""

    iteration: int

    def run(self, iterations: int) -> None:
        """Run some iterations."""

    def conclude(self, report: Report) -> bool:
        """Do what is left to do before the strategy so far can be asked for; return whether there was anything."""

    def state(self) -> dict[str, Any]:
        """Return all that the next iterations depend on."""

    def restore(self, iteration: int, state: dict[str, Any]) -> None:
        """Continue from a saved state."""


@dataclass(frozen=True, kw_only=True)
class Stop:
    """When to stop: at whichever of the given limits is reached first."""

    iterations: int | None = None
    until: float | None = None  # exploitability
    seconds: float | None = None  # of iterations, evaluations and checkpoints; compiling and preparing do not count
    core_seconds: float | None = None  # processor time of all threads: what else the machine does does not count

    def __post_init__(self) -> None:
        limits = ("iterations", "until", "seconds", "core_seconds")
        if all(getattr(self, name) is None for name in limits):
            raise InvalidParameter(
                "give iterations, until (an exploitability), seconds or core_seconds, to say when to stop"
            )
        for name in limits:
            limit = getattr(self, name)
            if limit is not None and name == "iterations":
                require_whole(name, limit)
            elif limit is not None:
                require_number(name, limit, above=0)


class Interrupted(KeyboardInterrupt):
    """The user asked to stop. The work up to ``iteration`` is saved in ``directory``, if the run has one.

    ``solution`` is what was found so far, if there is anything: its policy can be used as that of a finished run.
    """

    def __init__(self, iteration: int, *, directory: Path | None = None, solution: Any = None) -> None:
        super().__init__(f"interrupted after iteration {iteration}")
        self.iteration = iteration
        self.directory = directory
        self.solution = solution


Record = dict[str, Any]
OnRecord = Callable[[Record], None]


def next_evaluation(iteration: int, growth: float = 1.1, first: int = 1) -> int:
    """Return the next iteration after which the strategy is evaluated."""
    return max(first, iteration + 1, int(iteration * growth))


def drive(
    solver: Runnable,
    evaluate: Callable[[], Record],
    stop: Stop,
    *,
    measured: bool = True,
    phases: Phases | None = None,
    directory: RunDirectory | None = None,
    history: list[Record] | None = None,
    seconds_before: float = 0.0,
    core_seconds_before: float = 0.0,
    checkpoint_seconds: float = 30.0,
    evaluation_growth: float = 1.1,
    first_evaluation: int = 1,
    on_record: OnRecord | None = None,
    diagnose: Callable[[], Record] | None = None,
    keep_strategy: Callable[[], None] = lambda: None,
    meanwhile: bool = False,
) -> list[Record]:
    """Run ``solver`` until ``stop``; return the history of evaluations, the last one at the last iteration.

    A run is ``measured`` if ``evaluate`` asks for the strategy, which the solver then makes ready. A given history
    grows in place, so that it is there after an interruption, too. ``on_record`` is handed each evaluation and, if
    there is something to ``diagnose`` between them, a record after every other iteration. What it raises ends the run
    after a checkpoint. ``keep_strategy`` writes what is played to the directory, with
    each checkpoint and whenever the solver has concluded; the end of a run is always concluded. Large checkpoints may
    be written ``meanwhile``, but for the last one.
    """
    phases = phases or Phases()
    records = [] if history is None else history
    started, core_started = time.perf_counter(), time.process_time()
    compiled_before = phases.spent(COMPILING)
    last_checkpoint, pause = started, checkpoint_seconds
    solving_before = (records[-1]["solving_seconds"] if records else 0.0) - phases.spent(SOLVING).seconds
    saved_at = -1  # the iteration of a checkpoint that has all there is to save
    forecast = Forecast(stop, evaluation_growth)
    step, first_step = 1, True
    by_iteration = on_record is not None and diagnose is not None

    def clock() -> tuple[float, float]:
        compiled = phases.spent(COMPILING)
        passed = time.perf_counter() - started - (compiled.seconds - compiled_before.seconds)
        cores = time.process_time() - core_started - (compiled.core_seconds - compiled_before.core_seconds)
        return seconds_before + passed, core_seconds_before + cores

    def record_evaluation(*, last: bool = False) -> None:
        nonlocal saved_at
        if records and records[-1]["iteration"] >= solver.iteration:
            return
        times = times_so_far()
        began = phases.spent(FITTING).seconds + phases.spent(EVALUATION).seconds
        with phases.doing(FITTING, announced=False):
            changed = (measured or last) and solver.conclude(phases.report)
        if changed:
            saved_at = -1
        if last:  # it may take minutes, and whoever leaves it has lost nothing
            save()
        with phases.doing(EVALUATION, announced=last or forecast.evaluation_seconds > WORTH_A_WORD):
            numbers = evaluate()
        forecast.evaluation_seconds = phases.spent(FITTING).seconds + phases.spent(EVALUATION).seconds - began
        times |= {f"{kind}_seconds": phases.seconds()[kind] for kind in (COMPILING, FITTING, EVALUATION)}
        rounded = {name: round(time, 6) for name, time in times.items()}
        records.append({"iteration": solver.iteration, **rounded, **numbers})
        if directory is not None:
            with phases.doing(WRITING, announced=False, left=False):
                directory.append_log(records[-1])
                if changed:
                    keep_strategy()
        hand_over(records[-1])

    def times_so_far() -> Record:
        seconds, core_seconds = clock()
        solving = solving_before + phases.spent(SOLVING).seconds
        return {"seconds": seconds, "solving_seconds": solving, "core_seconds": core_seconds}

    def hand_over(record: Record) -> None:
        if on_record is None:
            return
        try:
            on_record(record)
        except Exception:  # somebody else's mistake, which must not cost the run
            save()
            raise

    def save(*, meanwhile: bool = False) -> None:
        nonlocal saved_at
        if directory is not None and saved_at != solver.iteration:
            with phases.doing(WRITING, "writing a checkpoint", left=False):
                checkpoint = Checkpoint(solver.iteration, *clock(), solver.state(), phases.seconds())
                directory.save_checkpoint(checkpoint, meanwhile=meanwhile)
                keep_strategy()
        saved_at = solver.iteration

    def reached() -> bool:
        seconds, core_seconds = clock()
        enough = stop.iterations is not None and solver.iteration >= stop.iterations
        good = stop.until is not None and bool(records) and records[-1]["exploitability"] <= stop.until
        late = stop.seconds is not None and seconds >= stop.seconds
        spent = stop.core_seconds is not None and core_seconds >= stop.core_seconds
        return enough or good or late or spent

    def show(*, over: bool = False) -> None:
        seconds = sum(phases.seconds().values())
        phases.on_progress(forecast.progress(solver.iteration, clock()[0], seconds, records, over=over))

    def run_on() -> None:
        nonlocal step, first_step, last_checkpoint, pause
        evaluate_at = next_evaluation(records[-1]["iteration"] if records else 0, evaluation_growth, first_evaluation)
        if solver.iteration == evaluate_at:  # where the run was interrupted while it evaluated
            record_evaluation()
            evaluate_at = next_evaluation(solver.iteration, evaluation_growth, first_evaluation)
        while not reached():
            target = evaluate_at if stop.iterations is None else min(evaluate_at, stop.iterations)
            count = 1 if by_iteration else max(1, min(step, target - solver.iteration))
            solved = phases.spent(SOLVING).seconds
            with phases.doing(SOLVING, announced=first_step, left=False):
                solver.run(count)
            took = phases.spent(SOLVING).seconds - solved  # without the compilation of kernels
            if not first_step or took > 10 * SECONDS_A_STEP:  # a short first step is mostly the loading of kernels
                forecast.ran(count, took)
            first_step = False
            step = max(1, min(2 * step, int(SECONDS_A_STEP / max(took / count, 1e-9))))
            if phases.asked_to_stop():
                raise Stopped
            if solver.iteration >= evaluate_at:
                record_evaluation()
                evaluate_at = next_evaluation(solver.iteration, evaluation_growth, first_evaluation)
            elif by_iteration and diagnose is not None and not reached():  # a last iteration is evaluated below
                times = {name: round(time, 6) for name, time in times_so_far().items()}
                hand_over({"iteration": solver.iteration, **times, **diagnose()})
            show()
            if phases.asked_to_stop():
                raise Stopped
            now = time.perf_counter()
            if now - last_checkpoint >= pause and not (directory is not None and directory.is_writing):
                save(meanwhile=meanwhile)
                last_checkpoint = time.perf_counter()
                pause = max(checkpoint_seconds, (last_checkpoint - now) / CHECKPOINT_SHARE)
        record_evaluation(last=True)
        save()
        show(over=True)

    try:
        with phases.doing(SOLVING, announced=False, left=False):  # what the loop itself takes is part of solving
            run_on()
    except Stopped:
        save()
        raise Interrupted(solver.iteration, directory=None if directory is None else directory.path) from None
    return records


class Forecast:
    """How long a run has still to go: a guess that follows what is measured, but not every swing of it."""

    def __init__(self, stop: Stop, evaluation_growth: float) -> None:
        self._stop = stop
        self._growth = evaluation_growth
        self.evaluation_seconds = 0.0  # of the last one, with the fit before it; 0 if there was none yet
        self._iterations = self._seconds = 0.0  # of late
        self._end: float | None = None  # on the clock
        self._told = 0.0  # when, on the clock

    @property
    def iterations_per_second(self) -> float:
        """Return the speed of the last seconds, evaluations left out."""
        return self._iterations / self._seconds if self._seconds > 0.0 else 0.0

    def ran(self, iterations: int, seconds: float) -> None:
        """Take note of some iterations. Older ones fade: within a window, or within the last few if each is long."""
        faded = math.exp(-seconds / max(SPEED_WINDOW, 4 * seconds))
        self._iterations = faded * self._iterations + iterations
        self._seconds = faded * self._seconds + seconds

    def progress(
        self, iteration: int, clock: float, seconds: float, records: list[Record], *, over: bool = False
    ) -> Progress:
        """Return what a run can say of itself; ``seconds`` is all the time it has taken."""
        left = 0.0 if over else self._measured(iteration, clock, records)
        if left is not None and not over:
            end = clock + left
            if self._end is not None:
                passed = clock - self._told
                window = min(LEFT_WINDOW, max(0.5, clock / 4))
                end = self._end + (end - self._end) * -math.expm1(-passed / window)
            self._end, self._told = end, clock
            left = max(end - clock, min(left, self.evaluation_seconds))
        return Progress(
            iteration=iteration,
            seconds=seconds,
            iterations_per_second=self.iterations_per_second,
            seconds_left=left,
            fraction=None if left is None else seconds / max(seconds + left, 1e-9),
            exploitability=records[-1].get("exploitability") if records else None,
            nash_conv_mbb=records[-1].get("nash_conv_mbb") if records else None,
            end_known=over or bool(records),
        )

    def _measured(self, iteration: int, clock: float, records: list[Record]) -> float | None:
        """Return the time left as of now: by count, by the clock, or by the slope of exploitability (log-log)."""
        stop, speed, left = self._stop, self.iterations_per_second, []
        if stop.iterations is not None and speed > 0.0:
            left.append(self._time_to(iteration, stop.iterations))
        if stop.seconds is not None:
            left.append(stop.seconds - clock)
        if stop.core_seconds is not None and records:
            used = records[-1]["core_seconds"] / max(records[-1]["seconds"], 1e-9)  # cores at work, on average
            left.append(stop.core_seconds / max(used, 1e-9) - clock)
        if stop.until is not None and len(records) > 5 and speed > 0.0:
            then, now = records[max(len(records) // 3, len(records) - 16)], records[-1]
            ratio = then["exploitability"] / max(now["exploitability"], 1e-300)
            if ratio > 1.0:
                # iterations grow by this factor while exploitability falls by `ratio`
                growth = now["iteration"] / then["iteration"]
                needed = max(now["exploitability"] / stop.until, 1.0)
                exponent = min(40.0, math.log(growth) * math.log(needed) / math.log(ratio))
                left.append(self._time_to(iteration, now["iteration"] * math.exp(exponent)))
        if not left:
            return None
        over = bool(records) and records[-1]["iteration"] == iteration and min(left) <= 0.0
        return 0.0 if over else max(0.0, min(left)) + self.evaluation_seconds

    def _time_to(self, iteration: int, end: float) -> float:
        """Return the time of the iterations up to one, with evaluations on the way but for the last."""
        if end <= iteration:
            return 0.0
        evaluations = min(end - iteration, math.log(end / max(iteration, 1)) / math.log(self._growth))
        return (end - iteration) / self.iterations_per_second + max(0.0, evaluations - 1.0) * self.evaluation_seconds
