"""Convergence curves: exploitability over iterations or seconds, log-log, one curve a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from equipoise.errors import EquipoiseError
from equipoise.files import write_atomically

Axis = Literal["iteration", "seconds"]
_COLOURS = ("#0b6e99", "#d9730d", "#4d9a5b", "#9065b0", "#c14c8a", "#787774", "#dfab01", "#e03e3e")


def plot_convergence(
    histories: Mapping[str, Sequence[Mapping[str, Any]]], path: str | Path, *, by: Axis, unit: str
) -> None:
    """Draw the runs' exploitability and write the picture to ``path`` (its ending gives the format)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.0, 4.2), dpi=150)
    for number, (label, history) in enumerate(histories.items()):
        points = [(record[by], record["exploitability"]) for record in history if record["exploitability"] > 0]
        if not points:
            raise EquipoiseError(f"{label} has no evaluation to draw yet")
        axes.plot(*zip(*points, strict=True), label=label, color=_COLOURS[number % len(_COLOURS)], linewidth=1.8)
    axes.set(xscale="log", yscale="log", xlabel=by if by == "iteration" else "seconds")
    axes.set_ylabel(f"exploitability = nash_conv / 2 ({unit})")
    axes.grid(which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    kind = Path(path).suffix.lstrip(".") or "png"
    if kind not in figure.canvas.get_supported_filetypes():
        raise EquipoiseError(f"{path}: cannot draw a '.{kind}' picture; use .png, .svg or .pdf")
    with write_atomically(path) as file:
        figure.savefig(file, format=kind, bbox_inches="tight")
    pyplot.close(figure)
