"""A betting line as a grid of starting hands: pairs on the diagonal, suited hands above it, aces first."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from equipoise.policies.holdem_policy import Line
from equipoise.policies.policy import NEVER_REACHED
from equipoise.policies.spot_policy import SpotLine
from equipoise.views.plot import load_pyplot, save_picture
from equipoise.views.tables import print_table

_PASSIVE = ("#8aa4b8", "#5ba66f")  # fold; call or check
_UNREACHED: dict[str, Any] = {"facecolor": "#eeeeee", "edgecolor": "#bbbbbb", "hatch": "//", "linewidth": 0}
_RAISES = ("#c9503f", "#8b3a8f", "#dfab01")  # bets and raises


def print_grids(line: Line | SpotLine) -> None:
    """Print one grid an action, each cell a percentage."""
    grid, unreached, ranks = line.grid(), line.unreached(), line.game.deck.ranks[::-1]
    print(line.title() + "; percent, suited hands above the diagonal")  # noqa: T201
    for number, action in enumerate(line.actions):
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column(action)
        for rank in ranks:
            table.add_column(rank, justify="right", min_width=3)
        for row, rank in enumerate(ranks):
            cells = (_cell(grid[row, column, number], unreached[row, column]) for column in range(len(ranks)))
            table.add_row(rank, *cells)
        print_table(table)
    if unreached.any():
        print(f"?: {NEVER_REACHED}")  # noqa: T201


def _cell(probability: float, unreached: bool) -> Text:
    if math.isnan(probability):
        return Text(".", style="dim")
    if unreached:
        return Text("?", style="dim")
    percent = round(100 * probability)
    return Text(str(percent), style="bold" if percent >= 50 else "" if percent >= 5 else "dim")


def _colours_of(actions: Sequence[str]) -> list[str]:
    """Return colours by what an action is: without a fold the first one is a check; many raises are shades."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    passive = list(_PASSIVE if actions[0] == "fold" else _PASSIVE[1:])
    raises = len(actions) - len(passive)
    if raises <= len(_RAISES):
        return passive + list(_RAISES[:raises])
    return passive + [to_hex(colormaps["plasma"](share)) for share in np.linspace(0.15, 0.9, raises)]


def _heading(line: Line | SpotLine) -> str:
    return line.title() if isinstance(line, SpotLine) else f"{line.game.name}, {line.title()}"  # a spot's name is long


def draw_grid(line: Line | SpotLine, path: str | Path) -> None:
    """Draw the grid, each cell filled with the colours of its actions by their shares."""
    pyplot = load_pyplot()
    from matplotlib.patches import Patch, Rectangle

    grid, unreached, names = line.grid(), line.unreached(), line.cell_names()
    size = len(names)
    colours = _colours_of(line.actions)
    figure, axes = pyplot.subplots(figsize=(7.2, 7.6), dpi=150)
    for row in range(size):
        for column in range(size):
            left = float(column)
            if unreached[row, column]:
                axes.add_patch(Rectangle((left, row), 1.0, 1.0, **_UNREACHED))
            for share, colour in zip(grid[row, column], colours, strict=True):
                if share > 0.0 and not unreached[row, column]:
                    axes.add_patch(Rectangle((left, row), share, 1.0, color=colour, linewidth=0))
                    left += float(share)
            axes.text(column + 0.5, row + 0.5, names[row][column], ha="center", va="center", fontsize=7)
    for edge in range(size + 1):
        axes.axhline(edge, color="white", linewidth=0.8)
        axes.axvline(edge, color="white", linewidth=0.8)
    axes.set(xlim=(0, size), ylim=(size, 0), xticks=[], yticks=[], title=_heading(line))
    axes.set_aspect("equal")
    patches = [Patch(color=colour, label=action) for action, colour in zip(line.actions, colours, strict=True)]
    if unreached.any():
        patches.append(Patch(**_UNREACHED, label=NEVER_REACHED))
    axes.legend(handles=patches, loc="upper center", bbox_to_anchor=(0.5, -0.01), ncol=len(patches), frameon=False)
    save_picture(figure, path)
