"""Progress of long work: a live bar on a terminal, plain lines elsewhere. Both go to standard error."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from equipoise.runs.drive import Preparation, Progress
from equipoise.solving import OnProgress

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def show_progress(what: str) -> Iterator[OnProgress]:
    """Show the progress of a run for as long as the context lasts."""
    if sys.stderr.isatty():
        with _bar(what) as update:
            yield update
    else:
        yield _lines(what)


def _lines(what: str) -> OnProgress:
    last = -SECONDS_BETWEEN_LINES  # the title comes with the first news, so that a refused run prints only the reason

    def update(progress: Progress | Preparation) -> None:
        nonlocal last
        if last < 0.0:
            sys.stderr.write(f"{what}\n")
            last = time.monotonic()
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            sys.stderr.write(f"  {describe(progress)}\n")
            sys.stderr.flush()

    return update


class Watched(NamedTuple):
    """What is told of work that is counted: hands that were played; boards that are done, and their number."""

    hands: Callable[[int], None]
    boards: Callable[[int, int], None]


@contextmanager
def show_counts(what: str, *, hands: int) -> Iterator[Watched]:
    """Show the progress of a match or of an evaluation for as long as the context lasts."""
    last = time.monotonic()
    begun = {"hands": (last, 0)}

    def describe_count(done: int, total: int, unit: str) -> str:
        started, before = begun.setdefault(unit, (time.monotonic(), done))
        if done == before:
            return f"{done:,} of {total:,} {unit}"
        rate = (done - before) / max(time.monotonic() - started, 1e-9)
        return f"{done:,} of {total:,} {unit}, {rate:,.3g} {unit}/s, {_duration((total - done) / rate)} left"

    def write_line(done: int, total: int, unit: str) -> None:
        nonlocal last
        text = describe_count(done, total, unit)
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            sys.stderr.write(f"{what}: {text}\n")
            sys.stderr.flush()

    if not sys.stderr.isatty():
        yield _watched(hands, write_line)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[state]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, state="building the tree; the first run ever compiles kernels")

        def update(done: int, total: int, unit: str) -> None:
            bar.update(task, total=total, completed=done, state=describe_count(done, total, unit))

        yield _watched(hands, update)


def _watched(hands: int, update: Callable[[int, int, str], None]) -> Watched:
    return Watched(lambda done: update(done, hands, "hands"), lambda done, total: update(done, total, "boards"))


@contextmanager
def _bar(what: str) -> Iterator[OnProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[state]}"))
    with Bar(*columns, console=Console(stderr=True), transient=False) as bar:
        task = bar.add_task(what, total=None, state="building the tree; the first run ever compiles kernels")

        def update(progress: Progress | Preparation) -> None:
            done = progress.share if isinstance(progress, Preparation) else progress.fraction
            bar.update(task, total=None if done is None else 1.0, completed=done or 0.0, state=describe(progress))

        yield update


def describe(progress: Progress | Preparation) -> str:
    """Return a run's progress in one line."""
    if isinstance(progress, Preparation):
        return f"{progress.what}, {100 * progress.share:.0f} %"
    parts = [f"iteration {progress.iteration:,}"]
    if progress.nash_conv_mbb is not None:
        parts.append(f"nash_conv {progress.nash_conv_mbb:.3g} mbb/g")
    elif progress.exploitability is not None:
        parts.append(f"exploitability {progress.exploitability:.3g}")
    parts.append(f"{progress.iterations_per_second:,.4g} it/s")
    parts.append(f"{_duration(progress.seconds)} run")
    if progress.seconds_left is not None:
        parts.append(f"{_duration(progress.seconds_left)} left")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
