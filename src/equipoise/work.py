"""How long work says what it is doing, and how it is told to stop.

Whoever works for seconds takes a ``Report`` and calls it now and then with what is being done and how much of it is
done, from 0 to 1. The call may raise ``Stopped``. So it is made only where the work can be left and begun again later:
what was finished before the call is kept, and the rest is done again.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[str, float], None]


class Stopped(KeyboardInterrupt):
    """The user asked to stop, and this was a good place to."""


def silent(what: str, share: float) -> None:
    """Report to nobody."""


class Meter:
    """A clock that runs while at least one piece of work is under way, on whatever thread."""

    def __init__(self) -> None:
        self._under_way = 0
        self._before = self._since = 0.0
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Begin a piece of work."""
        with self._lock:
            if not self._under_way:
                self._since = time.perf_counter()
            self._under_way += 1

    def end(self) -> None:
        """End a piece of work."""
        with self._lock:
            self._under_way -= 1
            if not self._under_way:
                self._before += time.perf_counter() - self._since

    @property
    def seconds(self) -> float:
        """Return how long there was work so far."""
        with self._lock:
            return self._before + (time.perf_counter() - self._since if self._under_way else 0.0)


compiling = Meter()  # kernels, anywhere in this process


@contextmanager
def spending(seconds: dict[str, float], kind: str) -> Iterator[None]:
    """Add the time inside to a kind of work, without what the compilation of kernels took."""
    started, compiled = time.perf_counter(), compiling.seconds
    try:
        yield
    finally:
        seconds[kind] += time.perf_counter() - started - (compiling.seconds - compiled)
