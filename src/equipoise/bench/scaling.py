"""How long an iteration takes on N workers: a model of three numbers, fitted to what ``bench cluster`` measured.

With p parts, of which the busiest worker has ceil(p / N), t turns an iteration, and B(N) bytes that pass through the
driver (what is sent to each worker N times, what comes back once):

    T(N) = compute x ceil(p / N) / p  +  per_byte x B(N)  +  per_message x t x N

``per_message`` is measured by itself. ``compute`` and ``per_byte`` follow from two measurements: with one worker and
with two. A third one, of another size, is not used in the fit: what the model says of it is the check. Compute goes by
units of work (table entries, traversals), the rest by bytes and messages, which are counted.

For machines that are really apart, the time of bytes on a network is added: what comes back reaches one machine, and
what goes out leaves it once a machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Any

from equipoise.bench.measure import OURS
from equipoise.errors import EquipoiseError

ONE_WORKER, MESSAGES, CHECK = "one worker", "a question to a worker, and its answer", "a check of the model"
TURNS = 2  # an iteration: one of each player
NETWORK = 1.25e9  # bytes a second: 10 Gbit/s
CORES_A_MACHINE = 32


@dataclass(frozen=True, kw_only=True)
class Size:
    """What is counted of an iteration."""

    units: float
    parts: float
    bytes_out: float  # to each worker
    bytes_back: float  # of all workers

    @classmethod
    def of(cls, facts: Mapping[str, float], workers: int) -> "Size":
        """Return the counts that were made with so many workers."""
        out = facts["bytes_out"] / workers
        return cls(units=facts["units"], parts=facts["parts"], bytes_out=out, bytes_back=facts["bytes_back"])

    def share(self, workers: int) -> float:
        """Return the share of the busiest worker."""
        return ceil(self.parts / workers) / self.parts

    def bytes_through(self, workers: int) -> float:
        """Return the bytes that pass through the driver."""
        return workers * self.bytes_out + self.bytes_back


@dataclass(frozen=True, kw_only=True)
class Fit:
    """The three numbers of some work, in seconds."""

    work: str
    size: Size
    measured: tuple[float, float]  # with one worker and with two
    per_unit: float
    per_byte: float
    per_message: float

    def seconds(self, size: Size, workers: int, *, network: float | None = None) -> float:
        """Return how long an iteration takes; ``network``: bytes a second, where workers are on other machines."""
        compute = self.per_unit * size.units * size.share(workers)
        driver = self.per_byte * size.bytes_through(workers) + self.per_message * TURNS * workers
        if network is None:
            return compute + driver
        machines = ceil(workers / CORES_A_MACHINE)
        return compute + driver + (machines * size.bytes_out + size.bytes_back) / network

    def bound(self, size: Size, workers: int) -> str:
        """Return what takes the most time."""
        machines = ceil(workers / CORES_A_MACHINE)
        spent = {
            "compute": self.per_unit * size.units * size.share(workers),
            "bytes through the driver": self.per_byte * size.bytes_through(workers),
            "questions to workers": self.per_message * TURNS * workers,
            "the network": (machines * size.bytes_out + size.bytes_back) / NETWORK,
        }
        return max(spent, key=lambda each: spent[each])


@dataclass(frozen=True, kw_only=True)
class Check:
    """A measurement that was not fitted to, and what the model says of it."""

    work: str
    measured: float  # seconds
    said: float

    @property
    def off(self) -> float:
        """Return how far the model is off, as a share of what was measured."""
        return self.said / self.measured - 1.0


@dataclass(frozen=True, kw_only=True)
class Model:
    """Fits, and how they fare."""

    fits: tuple[Fit, ...]
    checks: tuple[Check, ...]

    def fit_of(self, work: str) -> Fit:
        """Return the fit of the work whose name begins so."""
        return next(fit for fit in self.fits if fit.work.startswith(work))


def fitted(rows: Sequence[Mapping[str, Any]]) -> Model:
    """Return the model of rows as ``equipoise bench cluster --json`` prints them."""
    per_message = 1e-3 * _ours(next(row for row in rows if row["work"] == MESSAGES))
    fits, checks = list[Fit](), list[Check]()
    for row in rows:
        facts = row.get("facts") or {}
        if not facts or row["work"].startswith("mini-batches"):
            continue
        size, two = Size.of(facts, 2), 1.0 / _ours(row)
        if CHECK in row["notes"]:
            fit = fits[-1]  # of the same work at another size, which comes before
            checks.append(Check(work=row["work"], measured=two, said=fit.seconds(size, 2)))
            continue
        one = 1.0 / median(row["samples"][ONE_WORKER])
        fits.append(_fit(row["work"], size, one, two, per_message))
    if not fits or len(fits) != len(checks):
        raise EquipoiseError("the measurements are not those of equipoise bench cluster --json")
    return Model(fits=tuple(fits), checks=tuple(checks))


def _ours(row: Mapping[str, Any]) -> float:
    return float(median(row["samples"][OURS]))


def _fit(work: str, size: Size, one: float, two: float, per_message: float) -> Fit:
    """Solve the two equations; what would be less than nothing is nothing."""
    # T(1) = C + b B(1) + m t, T(2) = C s + b B(2) + 2 m t
    share, first, second = size.share(2), size.bytes_through(1), size.bytes_through(2)
    left_one, left_two = one - per_message * TURNS, two - 2 * per_message * TURNS
    determinant = second - share * first
    per_byte = max(0.0, (left_two - share * left_one) / determinant)
    compute = max(0.0, left_one - per_byte * first)
    return Fit(
        work=work,
        size=size,
        measured=(one, two),
        per_unit=compute / size.units,
        per_byte=per_byte,
        per_message=per_message,
    )


# Hands on boards up to suits in the four rounds of hold'em (Waugh 2013), and the actions of both players at all
# decisions of each round of the limit game with caps 3-4-4-4, as its betting tree has them.
HANDS = (169, 1_286_792, 55_190_538, 2_428_287_420)
ACTIONS = (21, 182, 1638, 14742)
LIMIT_ENTRIES = sum(hands * actions for hands, actions in zip(HANDS, ACTIONS, strict=True))
CORES = (10, 100, 1000)


def page(rows: Sequence[Mapping[str, Any]], load: float, machine: str, when: str) -> str:
    """Return what the measurements say, as a part of docs/scaling.md."""
    model = fitted(rows)
    parts = [_measured(rows, load, machine, when), _fits(model)]
    return "\n\n".join([*parts, _flop(model.fit_of("exact CFR+")), _limit(model.fit_of("exact CFR+"))]) + "\n"


def _measured(rows: Sequence[Mapping[str, Any]], load: float, machine: str, when: str) -> str:
    busy = f" **Other programs ran meanwhile (a load of {load:.1f}): not to be relied on.**" if load > 0.5 else ""
    lines = [
        f"`equipoise bench cluster` on {machine}, {when}; medians.{busy}",
        "",
        "| work | against | times as fast | required | sent in an iteration |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        for peer, ratio in row["ratios"].items():
            least = row["required_ratios"].get(peer)
            sent = next((note for note in row["notes"] if note.startswith("an iteration")), "")
            sent = sent.removeprefix("an iteration sends ")
            lines.append(
                f"| {row['work']} | {peer} | {ratio:.2f} | {'' if least is None else f'{least:.2f}'} | {sent} |"
            )
    return "\n".join(lines)


def _fits(model: Model) -> str:
    lines = ["| work | seconds of compute per unit | per byte through the driver | per question |", "|---|---|---|---|"]
    for fit in model.fits:
        unit = "table entry" if "exact" in fit.work else "traversal"
        lines.append(f"| {fit.work} | {fit.per_unit:.2g} a {unit} | {fit.per_byte:.2g} | {fit.per_message:.2g} |")
    lines += ["", "| check, not fitted to | measured | the model says | off |", "|---|---|---|---|"]
    for check in model.checks:
        lines.append(f"| {check.work} | {check.measured:.3g} s | {check.said:.3g} s | {check.off:+.0%} |")
    return "\n".join(lines)


def _flop(fit: Fit) -> str:
    one = fit.seconds(fit.size, 1)
    lines = [
        "**Flop hold'em, exact CFR+**, on machines of 32 cores at 10 Gbit/s:",
        "",
        "| cores | seconds an iteration | times one worker | what takes the most |",
        "|---|---|---|---|",
    ]
    for cores in CORES:
        took = fit.seconds(fit.size, cores, network=NETWORK)
        lines.append(f"| {cores:,} | {took:.2g} | {one / took:.0f} | {fit.bound(fit.size, cores)} |")
    return "\n".join(lines)


def _limit(fit: Fit) -> str:
    """Say what the full limit game would take, whose boards no solver here shares out yet."""
    wide, narrow = (2 * size * LIMIT_ENTRIES / 1e12 for size in (4, 2))  # float32 and int16, two tables
    compute = fit.per_unit * LIMIT_ENTRIES
    lines = [
        f"**The full limit game** has {LIMIT_ENTRIES:.2g} table entries up to suits: {wide:.0f} TB for two tables in "
        f"float32, {narrow:.0f} TB in int16, which is {ceil(narrow / 0.25):,} machines with 256 GB for tables. At the "
        "compute of a table entry above:",
        "",
        "| cores | hours an iteration | days for 1,000 iterations |",
        "|---|---|---|",
    ]
    for cores in CORES:
        hours = compute / cores / 3600
        lines.append(f"| {cores:,} | {hours:,.3g} | {1000 * hours / 24:,.3g} |")
    return "\n".join(lines)
