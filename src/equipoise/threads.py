"""How work is shared over threads: how many a loop uses from step to step, and parts that threads take in turn.

Results never depend on threads: every kernel adds in the same order for any number of them. So a loop may change their
number while it goes, and does: next to other busy programs a thread that is off its core holds up all that wait for it,
and many threads can be ten times slower than one.
"""

import queue
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

import numba

from equipoise.errors import require_whole
from equipoise.workers import Workers

SLICE_SECONDS = 0.05  # what runs between two decisions, at most
TRIAL_SECONDS = 0.02  # how long another number of threads is tried; a choice that proves itself gets longer slices
SMOOTHING = 0.5  # the weight of the last slice in an estimate
# A number of threads that was slower is tried again when so many times the time that the trial costs has passed: what
# is lost by trials is at most a few percent. Fewer threads are tried less often, for they hardly ever become faster by
# themselves; that more became slower is seen without a trial.
PATIENCE_FOR_MORE, PATIENCE_FOR_FEWER = 40.0, 100.0
LEAST_WAIT = 0.25  # seconds

Shared = TypeVar("Shared")
Spec = TypeVar("Spec")
Result = TypeVar("Result")


def require_threads(count: int) -> None:
    """Refuse what is not a number of threads."""
    require_whole("threads", count)


def set_threads(count: int) -> int:
    """Let parallel kernels use ``count`` threads (at most the cores there are); return the number granted."""
    granted = max(1, min(count, int(numba.config.NUMBA_NUM_THREADS)))  # type: ignore[attr-defined]
    numba.set_num_threads(granted)
    return granted


class _Choice:
    """What is known of one number of threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.seconds: float | None = None  # a step
        self.started = False  # the first step may compile or load kernels, and says nothing
        self.try_again_at = 0.0
        self.slice_seconds = TRIAL_SECONDS

    def note(self, seconds: float, *, smooth: bool) -> None:
        if not self.started:
            self.started = True
        elif self.seconds is not None and smooth:
            self.seconds += SMOOTHING * (seconds - self.seconds)
        else:
            self.seconds = seconds


class Pace:
    """How many threads a loop uses: the granted number, half of it, ..., or one, whichever is fastest at the moment.

    Cut a loop of n steps into slices, and give each the threads it is told to use; the slice is timed:

        for first, last, threads in pace.slices(n): ...
    """

    def __init__(self, threads: int, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self.threads = threads
        self._clock = clock
        counts = [1]
        while counts[-1] < threads:
            counts.append(min(2 * counts[-1], threads))
        self._choices = [_Choice(count) for count in counts]
        self._last = self._choices[-1]

    @property
    def counts(self) -> list[int]:
        """Return the numbers of threads that may be used, from one upwards."""
        return [choice.threads for choice in self._choices]

    def slices(self, steps: int) -> Iterator[tuple[int, int, int]]:
        """Yield ``first, last, threads``: which steps come next, and how many threads to use for them."""
        if self.threads == 1:
            yield 0, steps, 1
            return
        done = 0
        while done < steps:
            choice, wanted = self._next()
            last = min(steps, done + wanted)
            if choice.threads > 1:
                set_threads(choice.threads)
            started = self._clock()
            yield done, last, choice.threads
            now = self._clock()
            stayed = choice is self._last
            choice.note((now - started) / (last - done), smooth=stayed)
            choice.slice_seconds = min(SLICE_SECONDS, 2 * choice.slice_seconds) if stayed else TRIAL_SECONDS
            self._last = choice
            done = last
            self._plan_trials(now)

    def _next(self) -> tuple[_Choice, int]:
        """Return the choice for the next slice, and how many steps it should have."""
        for choice in self._choices:
            if choice.seconds is None:
                return choice, 1
        best, now = self._best(), self._clock()
        for choice in self._choices:
            if choice is not best and now >= choice.try_again_at:
                return choice, self._steps(TRIAL_SECONDS)
        return best, self._steps(best.slice_seconds if best is self._last else TRIAL_SECONDS)

    def _steps(self, seconds: float) -> int:
        """Return how many steps the fastest choice does in some time."""
        return max(1, int(seconds / max(_known(self._best()), 1e-9)))

    def _plan_trials(self, now: float) -> None:
        """Say when the last choice is tried again if it is not the best."""
        if any(choice.seconds is None for choice in self._choices):
            return
        best, others = self._best(), len(self._choices) - 1
        steps = self._steps(TRIAL_SECONDS)
        for choice in self._choices:
            if choice is self._last or choice.try_again_at == 0.0:
                patience = PATIENCE_FOR_MORE if choice.threads > best.threads else PATIENCE_FOR_FEWER
                lost = max(0.0, _known(choice) - _known(best)) * steps
                choice.try_again_at = now + max(LEAST_WAIT, patience * others * lost)

    def _best(self) -> _Choice:
        return min(self._choices, key=_known)


def _known(choice: _Choice) -> float:
    assert choice.seconds is not None
    return choice.seconds


def map_parts(
    function: Callable[[Shared, int, Spec], Result],
    specs: Iterable[Spec],
    shared: Shared,
    *,
    threads: int = 1,
    workers: Workers | None = None,
) -> Generator[Result, None, None]:
    """Yield ``function(shared, lane, spec)`` for all specs, in their order, from threads that take them in turn.

    If there are ``workers``, these take them, in processes of their own.

    A spec says which part of the work is meant: a few numbers. ``shared`` is what all parts need. A lane is used by one
    thread at a time, so that parts may have scratch space by lane. Neither function nor specs may hold on to variables
    around them: other processes and machines could not be sent them.

    For long kernels, which do not hold Python's lock: one build serves any number of threads (a parallel build of a
    long kernel takes several times as long to compile), and a thread that the machine holds up gets fewer parts.
    """
    if "<" in function.__qualname__:  # <locals> or <lambda>
        raise TypeError(f"{function.__qualname__} is no function of a module or a class: it cannot be sent elsewhere")
    if workers is not None:
        yield from workers.map(function, list(specs), shared)
        return
    if threads == 1:
        for spec in specs:
            yield function(shared, 0, spec)
        return
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for lane in range(threads):
        free.put(lane)

    def task(spec: Spec) -> Result:
        lane = free.get()
        try:
            return function(shared, lane, spec)
        finally:
            free.put(lane)

    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(task, specs)


def do_parts(
    function: Callable[[Shared, int, Spec], None],
    specs: Iterable[Spec],
    shared: Shared,
    *,
    threads: int = 1,
    on_parts: Callable[[int], None] = lambda done: None,
) -> None:
    """Do the same for parts that write what they find where ``shared`` says; ``on_parts`` hears how many are done."""
    with closing(map_parts(function, specs, shared, threads=threads)) as parts:  # also where ``on_parts`` raises
        for done, _ in enumerate(parts, start=1):
            on_parts(done)
