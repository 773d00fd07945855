"""What a claim is: what a paper says, the sweep that checks it, the figure, and the judgement.

A verdict has three parts, and all are decided from the data: the outcome (from the findings), the scale (how far the
runs went, against the paper's), and the recipe (the settings of the runs, against the paper's preset). An answer that
rests on one seed, or on a difference within the noise of the seeds, is no answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import mean, stdev, variance
from typing import Any, Literal, NamedTuple

from scipy.special import stdtrit

from equipoise.experiments.sweep import History, Sweep

Results = Mapping[str, list[History]]
Answer = Literal["yes", "no", "within noise", "one seed", "not tested"]
Outcome = Literal["reproduced", "partly reproduced", "not reproduced", "undecided", "not attempted"]
ScaleKind = Literal["the paper's", "larger", "scaled down"]
RecipeKind = Literal["as published", "ours"]
CONFIDENCE = 0.95
# What levels of our own are called: they are met or not, nothing is reproduced.
OWN_OUTCOMES: Mapping[Outcome, str] = {
    "reproduced": "met",
    "partly reproduced": "partly met",
    "not reproduced": "not met",
    "undecided": "undecided",
    "not attempted": "not attempted",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of a claim's table. What does not count is shown beside the claim and decides nothing."""

    what: str
    paper: str
    ours: str
    holds: Answer
    counts: bool = True


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What a claim's figure shows: the paper's axes, and its levels as lines."""

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


class Scale(NamedTuple):
    """How far the runs went."""

    kind: ScaleKind
    how: str


class Recipe(NamedTuple):
    """Whose settings the runs have."""

    kind: RecipeKind
    how: str


@dataclass(frozen=True, kw_only=True)
class Published:
    """The paper's own experiment: how far its runs went, and the preset with its settings.

    ``iterations`` are those of every curve, or by label. ``varied`` are settings that the claim itself is about. Where
    a paper's settings are no preset, ``recipe`` and ``how`` say whose the runs have.
    """

    iterations: int | Mapping[str, int] | None = None
    scale: ScaleKind = "scaled down"  # where the paper's extent is not counted in iterations
    preset: str | None = None
    varied: tuple[str, ...] = ()
    recipe: RecipeKind = "as published"
    how: str = ""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper that can be checked by running something."""

    id: str
    title: str
    paper: str
    says: str
    unit: str
    full: Sweep
    quick: Sweep
    figures: tuple[Figure, ...]
    judge: Callable[[Results], list[Finding]]
    published: Published
    lines: Mapping[str, float] | None = None  # the paper's levels, drawn in the figures
    levels: tuple[Level, ...] = ()

    @property
    def own(self) -> bool:
        """Return whether this is a level that the project has set itself."""
        return self.id.startswith("L")


@dataclass(frozen=True, kw_only=True)
class NotAttempted:
    """A claim of a paper that was not checked: what an attempt would cost, and why there was none."""

    id: str
    title: str
    paper: str
    says: str
    cost: str
    why: str


def outcome(findings: Sequence[Finding]) -> Outcome:
    """Return what the findings that count amount to: all of them must be answered for a claim to be reproduced."""
    answers = [finding.holds for finding in findings if finding.counts]
    if "yes" not in answers:
        return "not reproduced" if "no" in answers else "undecided"
    return "reproduced" if set(answers) == {"yes"} else "partly reproduced"


def scale_of(published: Published, results: Results, *, quick: bool) -> Scale:
    """Return how far the runs went, against the paper's."""
    seeds = {len(histories) for histories in results.values()}
    many = (
        f"{min(seeds)} seed{'' if max(seeds) == 1 else 's'}"
        if len(seeds) == 1
        else f"{min(seeds)} to {max(seeds)} seeds"
    )
    if published.iterations is None:
        return Scale("scaled down" if quick else published.scale, many)
    shares: list[float] = []
    shown: dict[str, None] = {}
    for label, histories in results.items():
        theirs = published.iterations if isinstance(published.iterations, int) else published.iterations.get(label)
        if theirs is not None:
            ours = min(int(history[-1]["iteration"]) for history in histories)
            shares.append(ours / theirs)
            shown[f"{ours:,} of {theirs:,} iterations"] = None
    kind: ScaleKind = "scaled down" if min(shares) < 1 else "larger" if min(shares) > 1 else "the paper's"
    return Scale(kind, f"{', '.join(shown)}; {many}")


def spread(values: Sequence[float]) -> str:
    """Return a mean with the standard deviation over seeds."""
    return f"{mean(values):.3g}" + (f" ± {stdev(values):.2g}" if len(values) > 1 else "")


def is_below(ours: Sequence[float], theirs: Sequence[float], factor: float = 1.0) -> Answer:
    """Return whether some numbers are below ``factor`` times others, by the interval of the ratio of their means.

    The interval is Welch's, of logarithms. Where it has the factor inside, the seeds do not decide.
    """
    if min(len(ours), len(theirs)) < 2:
        return "one seed"
    low, high = ratio_interval(ours, theirs)
    return "yes" if high < factor else "no" if low > factor else "within noise"


def is_within(ours: Sequence[float], theirs: Sequence[float], factor: float) -> Answer:
    """Return whether some numbers are at most ``factor`` times others, being equal included."""
    answer = is_below(ours, theirs, factor)
    equal = answer == "within noise" and ratio_interval(ours, theirs)[1] == factor
    return "yes" if equal else answer


def ratio_interval(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Return the interval of the ratio of two (geometric) means, from at least two seeds of each."""
    from math import exp

    first, second = ([log(max(value, 1e-300)) for value in values] for values in (ours, theirs))
    parts = [variance(values) / len(values) for values in (first, second)]
    error = sqrt(sum(parts))
    middle = mean(first) - mean(second)
    if error == 0.0:
        return exp(middle), exp(middle)
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, (first, second), strict=True)
    )
    width = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    return exp(middle - width), exp(middle + width)


def is_at_most(values: Sequence[float], level: float) -> Answer:
    """Return whether every seed is at or below a level. One seed can miss a level; it takes two to show one."""
    if all(value > level for value in values):
        return "no"
    if any(value > level for value in values):
        return "within noise"
    return "yes" if len(values) > 1 else "one seed"


def yes(holds: bool) -> Answer:
    """Return the answer to something that has no seeds: a count, an exact method."""
    return "yes" if holds else "no"


def as_json(finding: Finding) -> dict[str, Any]:
    """Return a finding as data files have it."""
    return dict(vars(finding))
