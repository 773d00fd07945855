"""The machinery of measuring, the same for every suite.

Contenders take turns: in each round every one of them is measured once, so that whatever else the machine does hits
all alike. A number is the median over rounds, a ratio is the ratio of two medians; a row keeps every measurement.
"""

import math
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeVar

from equipoise.errors import EquipoiseError

OURS = "equipoise"
SECONDS = 0.3  # a measurement takes at least this long: clock and call overheads vanish in it
LARGEST_STEP = 100.0  # how much more work calibration may try next: one wrong reading must not cost an hour

Report = Callable[[str], None]
Clock = Callable[[], float]
T = TypeVar("T")
Samples = dict[str, tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class Unit:
    """What a number counts: work per second (more is better) or time per work (less is better)."""

    name: str
    rate: bool
    scale: float = 1.0

    def value(self, amount: float, seconds: float) -> float:
        """Return the number for an amount of work that took some seconds."""
        return self.scale * (amount / seconds if self.rate else seconds / amount)

    def advantage(self, ours: float, theirs: float) -> float:
        """Return how many times as good ours is."""
        return ours / theirs if self.rate else theirs / ours


ITERATIONS_PER_SECOND = Unit(name="iterations/s", rate=True)
MILLION_NODES_PER_SECOND = Unit(name="million nodes/s", rate=True, scale=1e-6)
MILLISECONDS = Unit(name="ms", rate=False, scale=1e3)
WALL_SECONDS = Unit(name="s", rate=False)
MEBIBYTES = Unit(name="MiB", rate=False)


@dataclass(frozen=True, kw_only=True)
class Contender:
    """Somebody who does the work: ``run(repeats)`` does it that often and returns how much was done, in units."""

    name: str
    run: Callable[[int], float]


def repeating(call: Callable[[], object]) -> Callable[[int], float]:
    """Return a ``run`` that calls ``call`` once for each piece of work."""

    def run(repeats: int) -> float:
        for _ in range(repeats):
            call()
        return repeats

    return run


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a suite: the work, what was measured of everyone, and what was required of us.

    ``required`` gives by peer how many times as good as the peer we must be; ``limit`` is a bound on our own number.
    Where ``threads`` is more than one, all cores are open on purpose.
    """

    work: str
    unit: Unit
    samples: Mapping[str, tuple[float, ...]]
    one_core: bool
    threads: int = 1
    required: Mapping[str, float] = field(default_factory=dict)
    limit: float | None = None
    notes: tuple[str, ...] = ()
    facts: Mapping[str, float] = field(default_factory=dict)  # counted, not measured

    def __post_init__(self) -> None:
        missing = [name for name in (OURS, *self.required) if not self.samples.get(name)]
        if missing:  # what was not measured must not look as if it had passed
            raise ValueError(f"{self.work}: nothing was measured of {', '.join(missing)}")

    @property
    def ours(self) -> float:
        """Return our median."""
        return median(self.samples[OURS])

    @property
    def peers(self) -> dict[str, float]:
        """Return each peer's median."""
        return {name: median(values) for name, values in self.samples.items() if name != OURS}

    @property
    def ratios(self) -> dict[str, float]:
        """Return how many times as good as each peer we are, by the medians."""
        return {name: self.unit.advantage(self.ours, theirs) for name, theirs in self.peers.items()}

    @property
    def best_ratios(self) -> dict[str, float]:
        """Return the ratios by everyone's best round.

        Neighbours on the machine take its memory and shared cache from everyone, but slow down most whoever needs them
        most. Where these ratios are much smaller than the medians', the machine was busy and the medians flatter us.
        """
        best = max if self.unit.rate else min
        ours = best(self.samples[OURS])
        return {name: self.unit.advantage(ours, best(self.samples[name])) for name in self.peers}

    @property
    def passed(self) -> bool | None:
        """Return whether everything required holds; nothing where nothing is required."""
        if not self.required and self.limit is None:
            return None
        fast_enough = all(self.ratios[name] >= least for name, least in self.required.items())
        ours = self.ours
        return fast_enough and (self.limit is None or (ours > self.limit if self.unit.rate else ours < self.limit))

    def to_json(self) -> dict[str, Any]:
        """Return the row with all its numbers, in types that JSON has."""
        return {
            "work": self.work,
            "unit": self.unit.name,
            "ours": self.ours,
            "peers": self.peers,
            "ratios": self.ratios,
            "best_ratios": self.best_ratios,
            "required_ratios": dict(self.required),
            "limit": self.limit,
            "passed": self.passed,
            "one_core": self.one_core,
            "threads": self.threads,
            "notes": list(self.notes),
            "facts": dict(self.facts),
            "samples": {name: list(values) for name, values in self.samples.items()},
        }


@contextmanager
def one_core() -> Iterator[bool]:
    """Keep this thread, and all threads and processes it starts, on one core; yield whether the system can do that."""
    if not hasattr(os, "sched_setaffinity"):  # macOS
        yield False
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})  # the last one: the first has most of a system's own work
    try:
        yield True
    finally:
        os.sched_setaffinity(0, before)


def open_cores() -> int:
    """Return how many cores this thread may use now."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def calibrated(run: Callable[[int], float], *, seconds: float = SECONDS, clock: Clock = time.perf_counter) -> int:
    """Return how many repeats take at least ``seconds``, after a first call that compiles and fills caches."""
    run(1)
    repeats = 1
    while True:
        started = clock()
        run(repeats)
        elapsed = clock() - started
        if elapsed >= seconds:
            return repeats
        step = min(LARGEST_STEP, 1.2 * seconds / elapsed) if elapsed > 0.0 else LARGEST_STEP
        repeats = max(repeats + 1, math.ceil(step * repeats))


def take_turns(
    contenders: Sequence[Contender],
    unit: Unit,
    *,
    work: str,
    rounds: int,
    report: Report,
    seconds: float = SECONDS,
    clock: Clock = time.perf_counter,
) -> Samples:
    """Measure each contender once a round, one after another, and return everyone's numbers."""
    repeats = [calibrated(contender.run, seconds=seconds, clock=clock) for contender in contenders]
    samples: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for current in range(rounds):
        for contender, count in zip(contenders, repeats, strict=True):
            started = clock()
            amount = contender.run(count)
            value = unit.value(amount, clock() - started)
            samples[contender.name].append(value)
            report(f"{work}, round {current + 1} of {rounds}: {contender.name} {readable(value)} {unit.name}")
    return {name: tuple(values) for name, values in samples.items()}


class Suite:
    """What all rows of a suite share."""

    def __init__(self, *, rounds: int, report: Report, one_core: bool, folder: Path, seconds: float = SECONDS) -> None:
        self.rounds = rounds
        self.seconds = seconds
        self.report = report
        self.one_core = one_core
        self.folder = folder

    def take_turns(
        self, work: str, contenders: Sequence[Contender], unit: Unit, *, seconds: float | None = None
    ) -> Samples:
        """Measure each contender once a round."""
        least = self.seconds if seconds is None else seconds
        return take_turns(contenders, unit, work=work, rounds=self.rounds, report=self.report, seconds=least)

    def compare(self, what: str, ours: float, name: str, theirs: float, tolerance: float) -> None:
        """Report two numbers that must be the same, and end the benchmark when they are not."""
        difference = abs(ours - theirs)
        self.report(f"{what}: {OURS} {ours:.9f}, {name} {theirs:.9f}, difference {difference:.1e}")
        if not difference <= tolerance:
            raise EquipoiseError(
                f"{what}: {OURS} has {ours} and {name} has {theirs}; timing different work means nothing"
            )


def run_program(command: Sequence[str], *, clock: Clock = time.perf_counter) -> tuple[float, str]:
    """Run a program to its end and return its wall seconds, start included, and what it printed."""
    started = clock()
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    elapsed = clock() - started
    if finished.returncode != 0:
        said = finished.stderr.strip().splitlines()
        raise EquipoiseError(
            f"cannot measure `{' '.join(command[1:])}`: it ended with code {finished.returncode}"
            + (f" and said: {said[-1]}" if said else "")
        )
    return elapsed, finished.stdout


def readable(value: float) -> str:
    """Return a number with three digits that count, and no exponent."""
    if value == 0.0 or not math.isfinite(value):
        return str(value)
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def format_rows(rows: Sequence[Row]) -> str:
    """Return rows as a table of plain text: numbers are medians, ratios say how many times as good we are."""
    peers = list(dict.fromkeys(name for row in rows for name in row.peers))
    table = [["work", "unit", OURS, *peers, *(f"x {name}" for name in peers), "limit", "passed"]]
    for row in rows:
        numbers = [readable(row.ours), *(readable(row.peers[name]) if name in row.peers else "" for name in peers)]
        limit = "" if row.limit is None else f"{'>' if row.unit.rate else '<'} {readable(row.limit)}"
        passed = {True: "yes", False: "NO", None: ""}[row.passed]
        ratios = [_ratio_text(row, name) for name in peers]
        table.append([row.work, row.unit.name, *numbers, *ratios, limit, passed])
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    lines = ["  ".join(_aligned(line, widths)).rstrip() for line in table]
    lines.insert(1, "  ".join("-" * width for width in widths))
    lines += [f"{row.work}: {note}" for row in rows for note in (*row.notes, *_doubts(row))]
    if not all(row.one_core or row.threads > 1 for row in rows):
        lines.append("this system cannot keep a program on one core: all cores were open to everyone")
    return "\n".join(lines)


def _ratio_text(row: Row, name: str) -> str:
    if name not in row.ratios:
        return ""
    required = f" (>= {readable(row.required[name])})" if name in row.required else ""
    return readable(row.ratios[name]) + required


def _doubts(row: Row) -> Iterator[str]:
    """Yield what is required and holds by the medians only."""
    for name, least in row.required.items():
        if row.best_ratios[name] < least <= row.ratios[name]:
            best = readable(row.best_ratios[name])
            yield f"only {best} x {name} by everyone's best round; measure again on a quiet machine"


def _aligned(line: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Yield the cells of a line: the two that hold words to the left, numbers to the right."""
    for column, (cell, width) in enumerate(zip(line, widths, strict=True)):
        yield cell.ljust(width) if column < 2 else cell.rjust(width)


def looks(first: int, growth: float) -> Iterator[int]:
    """Yield the iterations after which a solver on its way to a level is evaluated, the same for everyone."""
    iterations = float(first)
    while True:
        yield round(iterations)
        iterations *= growth


class Reached(NamedTuple):
    """How a solver came to a level, or to the time at which it was given up; fits for the last look are counted."""

    seconds: float
    iterations: int
    exploitability: float
    fit_seconds: float = 0.0


def time_to_level(
    run: Callable[[int], object],
    average: Callable[[], T],
    exploitability: Callable[[T], float],
    *,
    level: float,
    give_up: float,
    looked_at: Iterable[int],
    clock: Clock = time.perf_counter,
) -> Reached:
    """Solve until the average is at the level when it is looked at, after so many iterations.

    All iterations are timed, and the last average; how exploitable it is takes no time.
    """
    solving = 0.0
    for before, iterations in pairwise(chain([0], looked_at)):
        started = clock()
        run(iterations - before)
        solving += clock() - started
        started = clock()
        found = average()
        fitting = clock() - started
        reached = Reached(solving + fitting, iterations, exploitability(found), fitting)
        if reached.exploitability <= level or reached.seconds >= give_up:
            break
    return reached
