"""What a run is doing at the moment, and how long it has done what so far.

A run always does one of a few kinds of work: it prepares (compiles the game, makes buckets), compiles kernels, solves,
fits the policy, evaluates, writes. Each is announced when it begins, and its time is counted under its name, so that
all times together are the time that the run took. Compiling may begin inside any other kind, and is counted apart.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from equipoise import kernel_cache
from equipoise.runs.interrupts import AskedToStop, never
from equipoise.work import Stopped

PREPARING, COMPILING, SOLVING, FITTING, EVALUATION, WRITING = KINDS = (
    "preparing",
    "compiling",
    "solving",
    "fitting",
    "evaluation",
    "writing",
)
_TEXTS = {
    PREPARING: "building the tree",
    COMPILING: "compiling kernels",
    SOLVING: "solving",
    FITTING: "fitting the policy",
    EVALUATION: "exact evaluation",
    WRITING: "writing",
}
SECONDS_BETWEEN_REPORTS = 0.1


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What a run can say of its iterations at a moment."""

    iteration: int
    seconds: float  # in all, so far
    iterations_per_second: float
    seconds_left: float | None
    fraction: float | None
    exploitability: float | None
    nash_conv_mbb: float | None  # in poker with blinds
    end_known: bool = True  # else an evaluation follows of which nobody knows yet how long it takes


@dataclass(frozen=True, kw_only=True)
class Phase:
    """What a run does besides iterations, how much of it is done from 0 to 1 (if known), and for how long it has."""

    what: str
    share: float | None = None
    seconds: float = 0.0


OnProgress = Callable[[Progress | Phase], None]


def unseen(progress: Progress | Phase) -> None:
    """Show nothing."""


class Spent(NamedTuple):
    """Time that went by: on the clock, and of processors."""

    seconds: float
    core_seconds: float


def _now() -> Spent:
    return Spent(time.perf_counter(), time.process_time())


class Phases:
    """The kinds of work of one run, one inside the other; work reports here, and is told here to stop."""

    def __init__(self, on_progress: OnProgress = unseen, asked_to_stop: AskedToStop = never) -> None:
        self.on_progress = on_progress
        self.asked_to_stop = asked_to_stop
        self._before: Mapping[str, float] = {}
        self._spent = {kind: Spent(0.0, 0.0) for kind in KINDS}
        self._kinds: list[str] = []  # what is being done, the innermost last
        self._since = _now()  # of the innermost
        self._begun: list[float] = []
        self._may_be_left: list[bool] = []
        self._reported = 0.0
        self._lock = threading.RLock()  # kernels are also compiled on other threads
        self._compiling = 0  # kernels, one inside the other

    @contextmanager
    def doing(self, kind: str, what: str | None = None, *, announced: bool = True, left: bool = True) -> Iterator[None]:
        """Count the time inside as one kind of work. If it may not be ``left``, reports never raise ``Stopped``."""
        self._enter(kind, left=left)
        if announced:
            self.on_progress(Phase(what=what or _TEXTS[kind]))
        try:
            yield
        finally:
            self._leave()

    def _enter(self, kind: str, *, left: bool) -> None:
        with self._lock:
            self._count()
            self._kinds.append(kind)
            self._begun.append(time.perf_counter())
            self._may_be_left.append(left)

    def _leave(self) -> None:
        with self._lock:
            self._count()
            for stack in (self._kinds, self._begun, self._may_be_left):
                stack.pop()

    def _count(self) -> None:
        now = _now()
        if self._kinds:
            kind = COMPILING if self._compiling else self._kinds[-1]
            spent = self._spent[kind]
            passed = (new - old for new, old in zip(now, self._since, strict=True))
            self._spent[kind] = Spent(*(old + more for old, more in zip(spent, passed, strict=True)))
        self._since = now

    def report(self, what: str, share: float) -> None:
        """Show how far the work at hand is, or tell it to stop."""
        with self._lock:
            if self._may_be_left and self._may_be_left[-1] and self.asked_to_stop():
                raise Stopped
            now = time.perf_counter()
            if 0.0 < share < 1.0 and now - self._reported < SECONDS_BETWEEN_REPORTS:
                return
            self._reported = now
            if share == 0.0 and self._begun:
                self._begun[-1] = now
            begun = self._begun[-1] if self._begun else now
        self.on_progress(Phase(what=what, share=share, seconds=now - begun))

    @contextmanager
    def noticing_compilation(self) -> Iterator[None]:
        """Announce and count kernels that are compiled meanwhile."""
        kernel_cache.on_compile.append(self._compile)
        kernel_cache.on_compiled.append(self._compiled)
        try:
            yield
        finally:
            kernel_cache.on_compile.remove(self._compile)
            kernel_cache.on_compiled.remove(self._compiled)

    def _compile(self, kernel: str) -> None:
        with self._lock:
            self._count()
            self._compiling += 1
            first = self._compiling == 1
        if first:
            kept = ", which are kept for later runs" if kernel_cache.are_kept() else ""
            self.on_progress(Phase(what=_TEXTS[COMPILING] + kept))

    def _compiled(self, kernel: str) -> None:
        with self._lock:
            self._count()
            self._compiling -= 1
            again = self._kinds[-1] if self._kinds and not self._compiling else None
        if again is not None:
            self.on_progress(Phase(what=_TEXTS[again]))

    def spent(self, kind: str) -> Spent:
        """Return the time that a kind of work has taken in this process, up to now."""
        with self._lock:
            self._count()
            return self._spent[kind]

    def go_on_from(self, seconds: Mapping[str, float]) -> None:
        """Take over what earlier processes have spent on the run, by kind of work."""
        self._before = dict(seconds)

    def seconds(self) -> dict[str, float]:
        """Return the time of the whole run by kind of work; together it is all the time that the run has taken."""
        return {kind: self._before.get(kind, 0.0) + self.spent(kind).seconds for kind in KINDS}
