"""What a claim is: what a paper says, the sweep that checks it, the figure, and the judgement."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Literal

from equipoise.experiments.sweep import History, Sweep

Results = Mapping[str, list[History]]
Verdict = Literal["reproduced", "not reproduced", "partly reproduced"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of a claim's table."""

    what: str
    paper: str
    ours: str
    holds: bool


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What a claim's figure shows: the paper's axes."""

    x: str
    x_label: str
    y: tuple[str, ...] = ("exploitability",)
    y_label: str = "exploitability (nash_conv / 2)"
    log: bool = True


@dataclass(frozen=True, kw_only=True)
class Level:
    """A level that a paper has published for a game, which curves can be compared with."""

    game: str
    text: str
    value: float
    measure: Literal["exploitability", "nash_conv_mbb"] = "exploitability"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper that can be checked by running something."""

    id: str
    paper: str
    says: str
    unit: str
    full: Sweep
    quick: Sweep
    figures: tuple[Figure, ...]
    judge: Callable[[Results], list[Finding]]
    levels: tuple[Level, ...] = ()


def verdict(findings: list[Finding]) -> Verdict:
    """Return what the findings amount to."""
    holding = sum(finding.holds for finding in findings)
    if holding == len(findings):
        return "reproduced"
    return "partly reproduced" if holding else "not reproduced"


def spread(values: list[float]) -> str:
    """Return a mean with the standard deviation over seeds."""
    return f"{mean(values):.3g}" + (f" ± {stdev(values):.2g}" if len(values) > 1 else "")
