"""Spots in the terminal: a line as tables and grids, all next cards of a line in one table."""

import math
from collections.abc import Iterable
from typing import Any

from equipoise.policies.spot_policy import SpotLine
from equipoise.views.tables import print_rows


def print_spot_line(line: SpotLine, hands: str) -> None:
    """Print means over some hands, and each of them where they are few: strategy, value of each action, equity."""
    chosen = line.select(hands)
    print(f"{line.title()}; {hands or 'the whole range'}; pot {pot_of(line):,}")  # noqa: T201
    for lock in line.locks:
        print(f"locked: {lock}")  # noqa: T201
    rows = [_row(hands or "all", chosen)]
    single = [chosen.select(line.game.hand_text(hand)) for hand in chosen.hands] if hands else []
    if len(single) > 1:
        rows += [_row(line.game.hand_text(each.hands[0]), each) for each in single]
    columns = ["hands", "weight", "equity", "value"]
    for action in line.actions:
        columns += [action, "worth"]
    print_rows(rows, columns=columns)
    print("weight: combinations that come here; equity: per cent of the pot; values: chips from here on")  # noqa: T201


def _row(name: str, line: SpotLine) -> list[str]:
    means = line.means()
    played = line.reach.sum() > 0.0
    cells = [name, f"{means['reach']:.4g}", _percent(means["equity"]), _chips(means["value"])]
    for action in line.actions:
        share = means["strategy"][action]
        cells += [_percent(share) if played else f"({_percent(share)})", _chips(means["values"][action])]
    return cells


def _percent(share: float | None) -> str:
    return "." if share is None or math.isnan(share) else f"{100 * share:.1f}"


def _chips(value: float | None) -> str:
    return "." if value is None or math.isnan(value) else f"{round(value, 2) + 0.0:.2f}"  # never -0.00


def pot_of(line: SpotLine) -> int:
    """Return what is in the pot at a line."""
    return line.game.pot + sum(line.betting.spent)


def line_rows(lines: Iterable[SpotLine]) -> Iterable[dict[str, Any]]:
    """Return a line as rows for other programs: one for each hand and action."""
    for line in lines:
        for number, hand in enumerate(line.hands):
            for action, name in enumerate(line.actions):
                value = float(line.values[number, action])
                equity = float(line.equity[number])
                yield {
                    "player": line.player,
                    "line": line.betting.text,
                    "board": line.board_text(),
                    "stands_for": line.stands_for,
                    "hand": line.game.hand_text(hand),
                    "reach": float(line.reach[number]),
                    "equity": None if math.isnan(equity) else equity,
                    "action": name,
                    "probability": float(line.probabilities[number, action]),
                    "value": None if math.isnan(value) else value,
                }


def print_runouts(runouts: Iterable[tuple[str, int, SpotLine]]) -> None:
    """Print one row for each next card: how the range plays there, and what it is worth."""
    rows: list[list[str]] = []
    columns: list[str] = []
    for cards, count, line in runouts:
        means = line.means()
        columns = ["card", "stands for", "equity", "value", *line.actions]
        shares = [_percent(means["strategy"][action]) for action in line.actions]
        rows.append([cards, str(count), _percent(means["equity"]), _chips(means["value"]), *shares])
    print_rows(rows, columns=columns)
