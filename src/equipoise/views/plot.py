"""Convergence curves: exploitability over iterations or seconds, log-log, one curve a run."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from equipoise.errors import EquipoiseWarning, InvalidParameter, NotMeasurable
from equipoise.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Axis = Literal["iteration", "seconds"]
_COLOURS = ("#0b6e99", "#d9730d", "#4d9a5b", "#9065b0", "#c14c8a", "#787774", "#dfab01", "#e03e3e")


Curve = Sequence[tuple[float, float]]


def plot_convergence(
    histories: Mapping[str, Sequence[Mapping[str, Any]]], path: str | Path, *, by: Axis, unit: str
) -> None:
    """Draw the runs' exploitability and write the picture to ``path`` (its ending gives the format)."""
    unmeasured = [label for label, history in histories.items() if any("exploitability" not in r for r in history)]
    if unmeasured:
        raise NotMeasurable(f"{unmeasured[0]}: there is no exploitability to draw; the game is too large for it")
    curves = {
        label: [[(record[by], record["exploitability"]) for record in history if record.get("exploitability", 0) > 0]]
        for label, history in histories.items()
    }
    plot_sweep(curves, path, x_label=by, y_label=f"exploitability = nash_conv / 2 ({unit})")


def plot_sweep(
    curves: Mapping[str, Sequence[Curve]],
    path: str | Path,
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    log: bool = True,
) -> None:
    """Draw, for each label, the mean of its curves (one a seed) and the range between them."""
    import numpy as np

    figure, axes = load_pyplot().subplots(figsize=(7.0, 4.2), dpi=150)
    for number, (label, seeds) in enumerate(curves.items()):
        if any(not curve for curve in seeds):
            raise NotMeasurable(f"{label} has no evaluation to draw yet; let it run longer")
        colour = _COLOURS[number % len(_COLOURS)]
        start = max(curve[0][0] for curve in seeds)
        end = min(curve[-1][0] for curve in seeds)
        x = np.array(sorted({point[0] for curve in seeds for point in curve if start <= point[0] <= end}))
        levels = np.array([np.interp(x, *np.array(curve).T) for curve in seeds])
        marker = "o" if len(x) == 1 else ""  # a line of one point would not be seen
        axes.plot(x, levels.mean(axis=0), label=label, color=colour, linewidth=1.8, marker=marker)
        if len(seeds) > 1:
            axes.fill_between(x, levels.min(axis=0), levels.max(axis=0), color=colour, alpha=0.2, linewidth=0)
    if log:
        axes.set(xscale="log", yscale="log")
    axes.set(xlabel=x_label, ylabel=y_label, title=title)
    axes.grid(which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    save_picture(figure, path)


def load_pyplot() -> Any:
    """Load Matplotlib to draw without a screen; what it says of a cache that it cannot keep becomes one warning."""
    said: list[str] = []
    listener = logging.Handler(logging.WARNING)
    listener.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("matplotlib")
    propagated = log.propagate
    log.addHandler(listener)
    log.propagate = False
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
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
    return pyplot


def save_picture(figure: "Figure", path: str | Path) -> None:
    """Write a figure as the kind of picture that its name says, and let go of it."""
    from matplotlib import pyplot

    kind = Path(path).suffix.lstrip(".") or "png"
    if kind not in figure.canvas.get_supported_filetypes():
        raise InvalidParameter(f"{path}: cannot draw a '.{kind}' picture; use .png, .svg or .pdf")
    with write_atomically(path) as file:
        figure.savefig(file, format=kind, bbox_inches="tight")
    pyplot.close(figure)
