"""Curves of runs: a mean and a band for each group of runs, on logarithmic axes that read 20, 50, 100."""

import logging
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from equipoise.errors import EquipoiseWarning, InvalidParameter, NotMeasurable
from equipoise.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axis import Axis as MatplotlibAxis
    from matplotlib.figure import Figure

By = Literal["iteration", "seconds", "core_seconds", "nodes"]
_RECORDED: dict[By, tuple[str, str]] = {
    "iteration": ("iteration", "iterations"),
    "seconds": ("seconds", "seconds"),
    "core_seconds": ("core_seconds", "core-seconds"),
    "nodes": ("nodes_touched", "touched nodes"),
}
# Six colours that colour-blind people can tell apart (by Okabe and Ito); the second six are dashed.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#444444")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)))
_MARKERS = "osD^vP"
_MOST_MARKERS = 40  # on a curve
MOST_CURVES = len(_COLOURS) * len(_DASHES)
WIDE_AXIS = 3.0  # decades from which only powers of ten are marked

Curve = Sequence[tuple[float, float]]
Histories = Mapping[str, Sequence[Sequence[Mapping[str, Any]]]]


def convergence(
    groups: Histories,
    *,
    by: By = "iteration",
    measure: str = "exploitability",
    unit: str = "",
    title: str = "",
    levels: Mapping[str, float] | None = None,
) -> "Figure":
    """Return a picture of a number that runs log, as a rule exploitability, for groups of histories (one per seed)."""
    across, x_label = _RECORDED[by]
    curves: dict[str, list[Curve]] = {}
    for label, histories in groups.items():
        if not all(histories):
            raise NotMeasurable(f"{label} has no evaluation to draw yet; let it run longer")
        if any(measure not in record for history in histories for record in history[-1:]):
            if measure == "exploitability":
                raise NotMeasurable(f"{label}: there is no exploitability to draw; the game is too large for it")
            known = sorted(set(histories[0][-1]) - {"iteration"})
            raise NotMeasurable(f"{label} has no '{measure}' to draw; it has {', '.join(known)}")
        if any(across not in history[-1] for history in histories):
            raise NotMeasurable(f"{label} does not count {x_label}; draw it by iteration or seconds")
        curves[label] = [
            [(r[across], r[measure]) for r in history if r.get(measure, 0) > 0 and r.get(across, 0) > 0]
            for history in histories
        ]
        if not all(curves[label]):
            raise NotMeasurable(f"{label}: {measure} is never above 0, so a logarithmic axis has no place for it")
    what = "exploitability = nash_conv / 2" if measure == "exploitability" else measure.replace("_", " ")
    y_label = f"{what} ({unit})" if unit and measure in ("exploitability", "nash_conv", "value") else what
    return draw_curves(curves, x_label=x_label, y_label=y_label, title=title, levels=levels)


def plot_sweep(curves: Mapping[str, Sequence[Curve]], path: str | Path, **options: Any) -> None:
    """Draw curves (see :func:`draw_curves`) and write the picture to ``path`` (its ending gives the format)."""
    save_picture(draw_curves(curves, **options), path)


def draw_curves(
    curves: Mapping[str, Sequence[Curve]],
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    log: bool = True,
    levels: Mapping[str, float] | None = None,
) -> "Figure":
    """Return a picture with, for each label, the mean of its curves (one per seed) and the range between them.

    Markers are where something was measured; ``levels`` are horizontal lines, such as a paper's, by name.
    """
    if len(curves) > MOST_CURVES:
        raise InvalidParameter(
            f"{len(curves)} curves cannot be told apart in one picture; draw at most {MOST_CURVES} at a time"
        )
    figure = new_figure((8.6, 4.2))
    axes = figure.subplots()
    most = 1
    for number, (label, seeds) in enumerate(curves.items()):
        if any(not curve for curve in seeds):
            raise NotMeasurable(f"{label} has no evaluation to draw yet; let it run longer")
        colour, dash = _COLOURS[number % len(_COLOURS)], _DASHES[number // len(_COLOURS)]
        x, found = _aligned(seeds)
        axes.plot(
            x,
            found.mean(axis=0),
            label=label,
            color=colour,
            linestyle=dash,
            linewidth=1.6,
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=3.2,
            markevery=max(1, len(x) // _MOST_MARKERS),
        )
        most = max(most, len(seeds))
        if len(seeds) > 1:
            axes.fill_between(x, found.min(axis=0), found.max(axis=0), color=colour, alpha=0.18, linewidth=0)
    if log:
        axes.set(xscale="log", yscale="log")
    for name, level in (levels or {}).items():
        axes.axhline(level, color="#666666", linewidth=1.0, linestyle=":")
        axes.annotate(
            f"{name}: {level:g}",
            (0.0, level),
            xycoords=("axes fraction", "data"),
            xytext=(3, 3),
            textcoords="offset points",
            fontsize=8,
            color="#444444",
        )
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.set_title(title, loc="left", fontsize=11)
    if log:
        _number(axes.xaxis, *axes.get_xlim())
        _number(axes.yaxis, *axes.get_ylim())
    axes.grid(which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    seeds_said = f"mean and range of {most} seeds" if most > 1 else None
    axes.legend(
        frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0), title=seeds_said, alignment="left", fontsize=9
    )
    return figure


def _aligned(seeds: Sequence[Curve]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return where any seed was measured, as far as all of them go, and each seed's curve there."""
    start, end = max(curve[0][0] for curve in seeds), min(curve[-1][0] for curve in seeds)
    points = {point[0] for curve in seeds for point in curve if start <= point[0] <= end}
    x = np.array(sorted(points or {end}), np.float64)
    return x, np.array([np.interp(x, *np.array(curve, np.float64).T) for curve in seeds])


def _number(axis: "MatplotlibAxis", low: float, high: float) -> None:
    """Mark a logarithmic axis with numbers as people write them: 20, 50, 100; on long axes powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    decades = math.log10(high / low)
    subs = (1.0, 2.0, 3.0, 5.0, 7.0) if decades < 0.7 else (1.0, 2.0, 5.0) if decades <= WIDE_AXIS else (1.0,)
    axis.set_major_locator(LogLocator(base=10.0, subs=subs, numticks=14))
    axis.set_major_formatter(FuncFormatter(lambda number, place: readable(number)))
    axis.set_minor_formatter(NullFormatter())


def readable(number: float) -> str:
    """Return a number of an axis: 20, 50, 10,000; 0.02; powers of ten beyond."""
    if 1e-3 <= number < 1e6:
        return f"{number:,.0f}" if number >= 1.0 else f"{number:.3g}"
    return f"{number:.0e}".replace("e-0", "e-").replace("e+0", "e")


def new_figure(size: tuple[float, float]) -> "Figure":
    """Return an empty picture; what Matplotlib says of a cache that it cannot keep becomes one warning.

    It belongs to no screen and to no window, so a notebook's own pictures are left alone; it shows itself there.
    """
    said: list[str] = []
    listener = logging.Handler(logging.WARNING)
    listener.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("matplotlib")
    propagated = log.propagate
    log.addHandler(listener)
    log.propagate = False
    try:
        from equipoise.views.picture import Picture

        figure = Picture(figsize=size, dpi=150)
    finally:
        log.removeHandler(listener)
        log.propagate = propagated
    if said:
        warnings.warn(
            f"Matplotlib cannot keep its cache and starts slowly ({said[0]}): set MPLCONFIGDIR to a folder that can be "
            "written",
            EquipoiseWarning,
            stacklevel=2,
        )
    return figure


def save_picture(figure: "Figure", path: str | Path) -> None:
    """Write a figure as the kind of picture that its name says."""
    kind = Path(path).suffix.lstrip(".") or "png"
    if kind not in figure.canvas.get_supported_filetypes():
        raise InvalidParameter(f"{path}: cannot draw a '.{kind}' picture; use .png, .svg or .pdf")
    with write_atomically(path) as file:
        figure.savefig(file, format=kind, bbox_inches="tight")
