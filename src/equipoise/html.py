"""Small pieces of HTML for notebooks: tables, a curve, a grid of starting hands. Text and SVG, nothing to load."""

import colorsys
import html
import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

LINE, AXIS, EMPTY = "#0b6e99", "#888888", "#eeeeee"
PASSIVE = ("#8aa4b8", "#5ba66f")  # fold; call or check
RAISES = ("#c9503f", "#8b3a8f", "#dfab01")  # bets and raises
CELL = 30  # pixels of a cell of a grid


def table(rows: Iterable[Sequence[object]], columns: Sequence[str], caption: str = "") -> str:
    """Return a table; all but the first column are to the right."""
    head = "".join(f"<th style='text-align:{_side(n)}'>{_text(name)}</th>" for n, name in enumerate(columns))
    body = "".join(
        "<tr>"
        + "".join(f"<td style='text-align:{_side(n)}'>{_text(cell)}</td>" for n, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    title = f"<caption style='text-align:left;caption-side:top'>{_text(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _side(column: int) -> str:
    return "right" if column else "left"


def _text(cell: object) -> str:
    return html.escape(f"{cell:.4g}" if isinstance(cell, float) else str(cell))


def curve(points: Sequence[tuple[float, float]], x_label: str, y_label: str) -> str:
    """Return a curve on two logarithmic axes as SVG, with its ends in numbers; nothing if there is nothing to see."""
    drawn = [(x, y) for x, y in points if x > 0.0 and y > 0.0]
    if len(drawn) < 2:
        return ""
    width, height, left, bottom = 320, 150, 8, 18
    across, up = np.log(np.array(drawn)).T
    x = left + (width - 2 * left) * (across - across.min()) / max(float(np.ptp(across)), 1e-12)
    y = 8 + (height - bottom - 16) * (up.max() - up) / max(float(np.ptp(up)), 1e-12)
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    said = (
        f"{y_label}: {drawn[0][1]:.3g} at {x_label} {drawn[0][0]:g}, {drawn[-1][1]:.3g} at {drawn[-1][0]:g} (log-log)"
    )
    return (
        f"<svg width='{width}' height='{height}' role='img' aria-label='{html.escape(said, quote=True)}'>"
        f"<line x1='{left}' y1='{height - bottom}' x2='{width - left}' y2='{height - bottom}' stroke='{AXIS}'/>"
        f"<polyline fill='none' stroke='{LINE}' stroke-width='2' points='{path}'/>"
        f"<text x='{left}' y='{height - 4}' font-size='11' fill='{AXIS}'>{html.escape(said)}</text></svg>"
    )


def action_colours(actions: Sequence[str]) -> list[str]:
    """Return colours by what an action is: without a fold the first one is a check; many raises are shades."""
    passive = list(PASSIVE if actions[0] == "fold" else PASSIVE[1:])
    raises = len(actions) - len(passive)
    if raises <= len(RAISES):
        return passive + list(RAISES[:raises])
    shades = [colorsys.hls_to_rgb(0.12 - 0.4 * share, 0.55 - 0.2 * share, 0.7) for share in np.linspace(0, 1, raises)]
    return passive + ["#" + "".join(f"{round(255 * part):02x}" for part in shade) for shade in shades]


def grid(names: Sequence[Sequence[str]], shares: Array, weights: Array, actions: Sequence[str], title: str) -> str:
    """Return a grid of starting hands as SVG.

    ``shares`` [row, column, action] fill a cell from left to right, ``weights`` [row, column] from the bottom up: how
    much of the hands is still there, from 0 to 1. NaN: the cards are on the board.
    """
    size, colours = len(names), action_colours(actions)
    parts = [
        f"<svg width='{size * CELL}' height='{size * CELL}' role='img' aria-label='{html.escape(title, quote=True)}'>"
    ]
    for row in range(size):
        for column in range(size):
            x, y = column * CELL, row * CELL
            weight = 0.0 if math.isnan(weights[row, column]) else min(float(weights[row, column]), 1.0)
            parts.append(f"<rect x='{x}' y='{y}' width='{CELL}' height='{CELL}' fill='{EMPTY}' stroke='white'/>")
            left, tall = float(x), weight * CELL
            for share, colour in zip(shares[row, column], colours, strict=True):
                if weight > 0.0 and share > 0.0:
                    wide = float(share) * CELL
                    parts.append(
                        f"<rect x='{left:.1f}' y='{y + CELL - tall:.1f}' width='{wide:.1f}' height='{tall:.1f}' "
                        f"fill='{colour}'/>"
                    )
                    left += wide
            dim = " opacity='0.35'" if weight == 0.0 else ""
            parts.append(
                f"<text x='{x + CELL / 2}' y='{y + CELL / 2 + 3}' font-size='9' text-anchor='middle'{dim}>"
                f"{html.escape(names[row][column])}</text>"
            )
    legend = " ".join(
        f"<span style='color:{colour}'>&#9632;</span> {html.escape(action)}"
        for action, colour in zip(actions, colours, strict=True)
    )
    return f"<div>{html.escape(title)}<br>{''.join(parts)}</svg><br>{legend}</div>"
