"""The loop around a solver: run, evaluate now and then, log, checkpoint, stop; and go on after an interruption.

Evaluations come at fixed iterations (each a tenth further than the last unless told otherwise), never by the clock, so
that an interrupted and resumed run passes through the same states as an uninterrupted one.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from equipoise.errors import InvalidParameter, require_number, require_whole
from equipoise.runs.directory import Checkpoint, RunDirectory

CHECKPOINT_SHARE = 0.05  # of the time at most goes into checkpoints, even those of two gigabytes
SECONDS_A_STEP = 0.2  # how long a solver may run before signals, the clock and the progress bar get their turn


class Runnable(Protocol):
    """What a run needs of a solver."""

    iteration: int

    def run(self, iterations: int) -> None:
        """Run some iterations."""

    def state(self) -> dict[str, Any]:
        """Return all that the next iterations depend on."""

    def restore(self, iteration: int, state: dict[str, Any]) -> None:
        """Continue from a saved state."""


@dataclass(frozen=True, kw_only=True)
class Stop:
    """When to stop: at whichever of the given limits is reached first."""

    iterations: int | None = None
    until: float | None = None  # exploitability
    seconds: float | None = None
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


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What a run can say of itself at a moment."""

    iteration: int
    seconds: float
    iterations_per_second: float
    seconds_left: float | None
    fraction: float | None
    exploitability: float | None
    nash_conv_mbb: float | None  # in poker with blinds


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """What takes its time beside iterations, and how much of it is done, from 0 to 1."""

    what: str
    share: float


class Interrupted(Exception):
    """The user asked to stop; all work up to ``iteration`` is saved if the run has a directory."""

    def __init__(self, iteration: int) -> None:
        super().__init__(f"interrupted after iteration {iteration}")
        self.iteration = iteration


Record = dict[str, Any]


def next_evaluation(iteration: int, growth: float = 1.1, first: int = 1) -> int:
    """Return the next iteration after which the strategy is evaluated."""
    return max(first, iteration + 1, int(iteration * growth))


def drive(
    solver: Runnable,
    evaluate: Callable[[], Record],
    stop: Stop,
    *,
    directory: RunDirectory | None = None,
    history: list[Record] | None = None,
    seconds_before: float = 0.0,
    core_seconds_before: float = 0.0,
    checkpoint_seconds: float = 30.0,
    evaluation_growth: float = 1.1,
    first_evaluation: int = 1,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_record: Callable[[Record], None] | None = None,
) -> list[Record]:
    """Run ``solver`` until ``stop``; return the history of evaluations, the last one at the last iteration."""
    records = list(history or [])
    started, core_started = time.perf_counter(), time.process_time()
    last_checkpoint, pause = started, checkpoint_seconds
    solving = records[-1]["solving_seconds"] if records else 0.0  # without evaluations, for comparisons
    speed = 0.0
    step = 1
    first_step = True
    run_since, time_since = solver.iteration, started

    def seconds() -> float:
        return seconds_before + time.perf_counter() - started

    def core_seconds() -> float:
        return core_seconds_before + time.process_time() - core_started

    def record_evaluation() -> None:
        if not records or records[-1]["iteration"] < solver.iteration:
            times = {"seconds": seconds(), "solving_seconds": solving, "core_seconds": core_seconds()}
            rounded = {name: round(time, 6) for name, time in times.items()}
            records.append({"iteration": solver.iteration, **rounded, **evaluate()})
            if directory is not None:
                directory.append_log(records[-1])
            if on_record is not None:
                on_record(records[-1])

    def save() -> None:
        if directory is not None:
            directory.save_checkpoint(Checkpoint(solver.iteration, seconds(), core_seconds(), solver.state()))

    def reached() -> bool:
        enough = stop.iterations is not None and solver.iteration >= stop.iterations
        good = stop.until is not None and bool(records) and records[-1]["exploitability"] <= stop.until
        late = stop.seconds is not None and seconds() >= stop.seconds
        spent = stop.core_seconds is not None and core_seconds() >= stop.core_seconds
        return enough or good or late or spent

    with _deferred_interrupts() as interrupted:
        evaluate_at = next_evaluation(records[-1]["iteration"] if records else 0, evaluation_growth, first_evaluation)
        while not reached():
            target = evaluate_at if stop.iterations is None else min(evaluate_at, stop.iterations)
            step_started = time.perf_counter()
            count = max(1, min(step, target - solver.iteration))
            solver.run(count)
            took = time.perf_counter() - step_started
            solving += took
            if first_step:  # it may have compiled kernels, and says nothing about speed
                first_step, took = False, SECONDS_A_STEP
                run_since, time_since = solver.iteration, time.perf_counter()
            step = max(1, min(2 * step, int(SECONDS_A_STEP / max(took / count, 1e-9))))
            if solver.iteration >= evaluate_at:
                record_evaluation()
                evaluate_at = next_evaluation(solver.iteration, evaluation_growth, first_evaluation)
            now = time.perf_counter()
            if now - time_since > 0.5 or (speed == 0.0 and solver.iteration > run_since):
                speed = (solver.iteration - run_since) / (now - time_since)
                run_since, time_since = solver.iteration, now
            on_progress(_progress(solver.iteration, seconds(), speed, stop, records))
            if interrupted():
                save()
                raise Interrupted(solver.iteration)
            if now - last_checkpoint >= pause:
                save()
                last_checkpoint = time.perf_counter()
                pause = max(checkpoint_seconds, (last_checkpoint - now) / CHECKPOINT_SHARE)
        record_evaluation()
        save()
        on_progress(_progress(solver.iteration, seconds(), speed, stop, records))
    return records


def _progress(iteration: int, seconds: float, speed: float, stop: Stop, records: list[Record]) -> Progress:
    """Estimate what is left: by count, by the clock, or by the slope of exploitability over iterations (log-log)."""
    left: list[float] = []
    if stop.iterations is not None and speed > 0.0:
        left.append((stop.iterations - iteration) / speed)
    if stop.seconds is not None:
        left.append(stop.seconds - seconds)
    if stop.core_seconds is not None and records:
        used = records[-1]["core_seconds"] / max(records[-1]["seconds"], 1e-9)  # cores at work, on average
        left.append(stop.core_seconds / max(used, 1e-9) - seconds)
    if stop.until is not None and len(records) > 5 and speed > 0.0:
        then, now = records[max(len(records) // 3, len(records) - 16)], records[-1]
        ratio = then["exploitability"] / max(now["exploitability"], 1e-300)
        if ratio > 1.0:
            # iterations grow by this factor while exploitability falls by `ratio`
            growth = now["iteration"] / then["iteration"]
            needed = max(now["exploitability"] / stop.until, 1.0)
            exponent = min(40.0, math.log(growth) * math.log(needed) / math.log(ratio))
            left.append((now["iteration"] * math.exp(exponent) - iteration) / speed)
    seconds_left = max(0.0, min(left)) if left else None
    return Progress(
        iteration=iteration,
        seconds=seconds,
        iterations_per_second=speed,
        seconds_left=seconds_left,
        fraction=None if seconds_left is None else seconds / max(seconds + seconds_left, 1e-9),
        exploitability=records[-1].get("exploitability") if records else None,
        nash_conv_mbb=records[-1].get("nash_conv_mbb") if records else None,
    )


@contextmanager
def _deferred_interrupts() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C and SIGTERM into a question that the loop asks between steps; a second Ctrl-C acts at once."""
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def note(number: int, frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
