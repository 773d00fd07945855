"""A betting line as a grid of starting hands: pairs on the diagonal, suited hands above it, aces first."""

import math
from pathlib import Path

import numpy as np
from rich.table import Table
from rich.text import Text

from equipoise.html import EMPTY, action_colours
from equipoise.policies.holdem_policy import Line
from equipoise.policies.policy import NEVER_REACHED
from equipoise.policies.spot_policy import SpotLine
from equipoise.views.plot import new_figure, save_picture
from equipoise.views.tables import print_table


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


def _heading(line: Line | SpotLine) -> str:
    return line.title() if isinstance(line, SpotLine) else f"{line.game.name}, {line.title()}"  # a spot's name is long


def draw_grid(line: Line | SpotLine, path: str | Path) -> None:
    """Draw the grid: a cell's colours are its actions by their shares, its height how much of its hands comes here."""
    from matplotlib.patches import Patch, Rectangle

    grid, weights, names = line.grid(), line.weights(), line.cell_names()
    size = len(names)
    colours = action_colours(line.actions)
    figure = new_figure((7.2, 7.6))
    axes = figure.subplots()
    for row in range(size):
        for column in range(size):
            weight = min(float(np.nan_to_num(weights[row, column])), 1.0)
            axes.add_patch(Rectangle((column, row), 1.0, 1.0, color=EMPTY, linewidth=0))
            left = float(column)
            for share, colour in zip(grid[row, column], colours, strict=True):
                if share > 0.0 and weight > 0.0:
                    axes.add_patch(Rectangle((left, row + 1.0), share, -weight, color=colour, linewidth=0))
                    left += float(share)
            name_colour = "black" if weight > 0.0 else "#b0b0b0"
            axes.text(
                column + 0.5, row + 0.5, names[row][column], ha="center", va="center", fontsize=7, color=name_colour
            )
    for edge in range(size + 1):
        axes.axhline(edge, color="white", linewidth=0.8)
        axes.axvline(edge, color="white", linewidth=0.8)
    axes.set(xlim=(0, size), ylim=(size, 0), xticks=[], yticks=[])
    axes.set_title(_heading(line), fontsize=11)
    axes.set_aspect("equal")
    patches = [Patch(color=colour, label=action) for action, colour in zip(line.actions, colours, strict=True)]
    if not np.all(np.nan_to_num(weights) == 1.0):
        patches.append(Patch(color=EMPTY, label="never gets here"))
    axes.legend(
        handles=patches, loc="upper center", bbox_to_anchor=(0.5, -0.01), ncol=min(6, len(patches)), frameon=False
    )
    save_picture(figure, path)
