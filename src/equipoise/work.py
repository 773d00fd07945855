"""How long work says what it is doing, and how it is told to stop.

Whoever works for seconds takes a ``Report`` and calls it now and then with what is being done and how much of it is
done, from 0 to 1. The call may raise ``Stopped``. So it is made only where the work can be left and begun again later:
what was finished before the call is kept, and the rest is done again.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[str, float], None]


class Stopped(KeyboardInterrupt):
    """The user asked to stop, and this was a good place to."""


def silent(what: str, share: float) -> None:
    """Report to nobody."""


@contextmanager
def spending(seconds: dict[str, float], kind: str) -> Iterator[None]:
    """Add the time inside to a kind of work."""
    started = time.perf_counter()
    try:
        yield
    finally:
        seconds[kind] += time.perf_counter() - started
