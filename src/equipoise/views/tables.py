"""Tables in the terminal: games, algorithms, strategies, results."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from equipoise.policies.policy import Policy

_BAR = "█"


def print_table(table: Table) -> None:
    """Print a table, each of its rows on one line."""
    # Without a terminal, rich would guess 80 columns and wrap; plain output should keep one row a line.
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def print_rows(rows: Iterable[Sequence[str]], *, columns: Sequence[str]) -> None:
    """Print rows under headings."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=column in columns[:1])
    for row in rows:
        table.add_row(*row)
    print_table(table)


def print_numbers(numbers: Mapping[str, Any], *, unit: str) -> None:
    """Print named numbers, one a line, with what they are measured in."""
    units = {"value": f"{unit} to player 0", "nash_conv": unit, "exploitability": f"{unit} (nash_conv / 2)"}
    units["nash_conv_mbb"] = "mbb/g (thousandths of a big blind a game, both players' gains together)"
    units["seconds"] = f"s on {numbers['threads']} thread(s)" if "threads" in numbers else "s"
    for name, number in numbers.items():
        if name != "threads" and number is not None:
            shown = (
                f"{number:.6g}" if isinstance(number, float) else f"{number:,}" if isinstance(number, int) else number
            )
            print(f"{name:<15}{shown} {units.get(name, '')}".rstrip())  # noqa: T201


def print_policy(policy: Policy, indices: Sequence[int]) -> None:
    """Print the action probabilities of some infosets."""
    table = Table(box=None, pad_edge=False)
    for column in ("player", "infoset", "action", "probability", ""):
        table.add_column(column)
    for index in indices:
        pairs = zip(policy.action_names[index], policy.probabilities_at(index), strict=True)
        for ordinal, (name, probability) in enumerate(pairs):
            where = (str(policy.players[index]), policy.keys[index]) if ordinal == 0 else ("", "")
            table.add_row(*where, name, f"{probability:.4f}", _BAR * round(20 * float(probability)))
    print_table(table)
