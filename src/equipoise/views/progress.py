"""Progress of long work: a live bar on a terminal, plain lines elsewhere. Both go to standard error."""

import html
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from equipoise.runs.phases import OnProgress, Phase, Progress

SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_UPDATES = 0.2  # of a notebook
ALMOST = 0.999  # of a bar: a full one would stop the clock
WORTH_A_LINE = 0.5  # seconds from which a phase is announced where there is no terminal


@contextmanager
def show_progress(what: str) -> Iterator[OnProgress]:
    """Show the progress of a run for as long as the context lasts."""
    if in_notebook():
        with _notebook(what) as update:
            yield update
        return
    if sys.stderr.isatty():
        with _bar(what, kept=True) as update:
            yield update
        return
    lines = _Lines(what)
    try:
        yield lines.update
    finally:
        lines.over.set()
        lines.thread.join()


def in_notebook() -> bool:
    """Return whether this is a notebook, whose cells can show what changes."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def _notebook(what: str) -> Iterator[OnProgress]:
    """Show a bar and a line of text in the cell's output, a few times a second."""
    from IPython.display import HTML, display

    handle = display(HTML(""), display_id=True)
    last: Progress | None = None
    shown = 0.0

    def update(progress: Progress | Phase, *, now: bool = False) -> None:
        nonlocal last, shown
        last = progress if isinstance(progress, Progress) else last
        if not now and time.monotonic() - shown < SECONDS_BETWEEN_UPDATES:
            return
        shown = time.monotonic()
        share = last.fraction if last is not None else progress.share if isinstance(progress, Phase) else None
        value = "" if share is None else f" value='{share:.3f}'"
        text = html.escape(f"{what}: {describe(progress)}")
        handle.update(HTML(f"<progress max='1'{value}></progress> {text}"))

    try:
        yield update
    finally:
        if last is not None:
            update(last, now=True)


class _Lines:
    """A line when something else begins and takes a while, and then every five seconds, whatever is done.

    The title comes with the first of them, so that a run that is refused prints the reason only.
    """

    def __init__(self, what: str) -> None:
        self._title = what
        self._latest: Progress | Phase | None = None
        self._since = 0.0  # when what is being done began
        self._announced = ""
        self._written = 0.0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True, name="progress")
        self.thread.start()

    def update(self, progress: Progress | Phase) -> None:
        """Take note of the latest news."""
        if self._latest is None or _kind(self._latest) != _kind(progress):
            self._since = time.monotonic()
            self._written = self._written or self._since
        self._latest = progress

    def _watch(self) -> None:
        while not self.over.wait(0.1):
            latest, now = self._latest, time.monotonic()
            if latest is None:
                continue
            is_new = _kind(latest) != self._announced and now - self._since >= WORTH_A_LINE
            if is_new or now - self._written >= SECONDS_BETWEEN_LINES:
                if not self._announced:
                    self._write(self._title)
                self._announced = _kind(latest)
                lasted = now - self._since
                waiting = isinstance(latest, Phase) and latest.share is None and lasted > SECONDS_BETWEEN_LINES / 2
                self._write(f"  {describe(latest)}" + (f", {_duration(lasted)}" if waiting else ""))

    def _write(self, line: str) -> None:
        self._written = time.monotonic()
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _kind(progress: Progress | Phase) -> str:
    return progress.what if isinstance(progress, Phase) else "iterations"


@contextmanager
def _bar(what: str, *, kept: bool) -> Iterator[OnProgress]:
    with _live_bar(what, kept=kept) as set_bar:
        last: Progress | None = None

        def update(progress: Progress | Phase) -> None:
            nonlocal last
            if isinstance(progress, Progress):
                last = progress
            done = last.fraction if last is not None else progress.share if isinstance(progress, Phase) else None
            set_bar(done, ", ".join(_parts(progress)))

        try:
            yield update
        finally:
            if last is not None:  # in place of the last phase, which is over
                update(last)


@contextmanager
def _live_bar(what: str, *, kept: bool) -> Iterator[Callable[[float | None, str], None]]:
    """Yield what sets a bar: to a share from 0 to 1 (None: not known), and a text. Beside it runs a clock."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns: tuple[Any, ...] = (TextColumn("{task.description}"), BarColumn(bar_width=16), TimeElapsedColumn())
    with Bar(*columns, TextColumn("{task.fields[state]}"), console=Console(stderr=True), transient=not kept) as bar:
        task = bar.add_task(what, total=None, state="")

        def set_bar(share: float | None, text: str) -> None:
            bar.update(task, total=None if share is None else 1.0, completed=min(share or 0.0, ALMOST), state=text)

        yield set_bar


class Watched(NamedTuple):
    """What is told of work that is counted: hands that were played; boards that are done, and their number."""

    hands: Callable[[int], None]
    boards: Callable[[int, int], None]


@contextmanager
def show_counts(what: str, *, hands: int) -> Iterator[Watched]:
    """Show the progress of a match for as long as the context lasts."""
    with show_progress(what) as on_progress:
        begun: dict[str, tuple[float, int]] = {"hands": (time.monotonic(), 0)}

        def update(done: int, total: int, unit: str) -> None:
            started, before = begun.setdefault(unit, (time.monotonic(), done))
            passed = time.monotonic() - started
            text = f"{done:,} of {total:,} {unit}"
            if done > before and passed > 0.0:
                text += f", {(done - before) / passed:,.3g} {unit}/s"
            on_progress(Phase(what=text, share=done / max(total, 1), seconds=passed))

        yield Watched(lambda done: update(done, hands, "hands"), lambda done, total: update(done, total, "boards"))


def describe(progress: Progress | Phase) -> str:
    """Return a run's progress in one line."""
    parts = _parts(progress)
    if isinstance(progress, Progress):
        parts.append(f"{_duration(progress.seconds)} run")
    return ", ".join(parts)


def _parts(progress: Progress | Phase) -> list[str]:
    """Return what there is to say, first what should be seen on a narrow screen."""
    if isinstance(progress, Phase):
        if progress.share is None:
            return [progress.what]
        left = progress.seconds * (1.0 - progress.share) / max(progress.share, 1e-9)
        known = progress.share > 0.02 and progress.seconds > 1.0
        return [progress.what, f"{100 * progress.share:.0f} %"] + ([_left(left)] if known else [])
    parts = [f"iteration {progress.iteration:,}"]
    if progress.seconds_left is not None:
        parts.append(_left(progress.seconds_left, "" if progress.end_known else "of solving "))
    if progress.nash_conv_mbb is not None:
        parts.append(f"nash_conv {progress.nash_conv_mbb:.3g} mbb/g")
    elif progress.exploitability is not None:
        parts.append(f"exploitability {progress.exploitability:.3g}")
    speed = progress.iterations_per_second
    return parts + ([f"{speed:,.0f} it/s" if speed >= 100 else f"{speed:.3g} it/s"] if speed > 0.0 else [])


def _left(seconds: float, what: str = "") -> str:
    if seconds == 0.0 and not what:
        return "done"
    return f"{'under 1 s' if seconds < 1.0 else _duration(seconds)} {what}left"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
