"""Tables in the terminal: games, algorithms, strategies, results."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from equipoise.evaluation.hand_logs import Winnings
from equipoise.evaluation.match import Estimate, ExactResult, MatchResult
from equipoise.policies.holdem_policy import Line
from equipoise.policies.policy import NEVER_REACHED, Policy

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


def print_losses(numbers: Mapping[str, Any]) -> None:
    """Print what a value network came to, next to published losses."""
    units = {
        "huber": f"+- {numbers['huber_error']:.2g}: CFVs over the pot, all hands of both players alike",
        "mean_absolute": "of the pot",
        "weighted_absolute": "of the pot, hands by how often they are held",
        "half_pot_huber": "with values over half the pot",
        "check_down_huber": "of equity alone",
        "seconds": "s, without what was made before",
    }
    width = max(len(name) for name in numbers) + 1
    for name, number in numbers.items():
        if name != "huber_error":
            shown = (
                f"{number:.4g}" if isinstance(number, float) else f"{number:,}" if isinstance(number, int) else number
            )
            told = "as printed; how it averages is not known" if name.startswith("published_") else units.get(name, "")
            print(f"{name:<{width}}{shown} {told}".rstrip())  # noqa: T201


def print_numbers(numbers: Mapping[str, Any], *, unit: str) -> None:
    """Print named numbers, one a line, with what they are measured in."""
    units = {"value": f"{unit} to player 0", "nash_conv": unit, "exploitability": f"{unit} (nash_conv / 2)"}
    units["nash_conv_mbb"] = "mbb/g (thousandths of a big blind a game, both players' gains together)"
    units["nash_conv_mbb_before"] = units["nash_conv_mbb"]
    units["ev_first"] = f"{unit} to the first player, its share of the pot included"
    units["exploitability_pot"] = units["exploitability_pot_before"] = "% of the pot"
    units["exploitability_before"] = units["exploitability"]
    units["memory"] = "bytes"
    units["versus_mean"] = f"{unit} per hand against the fixed opponent"
    units["versus_error"] = f"{unit} (half of the 95 % interval)"
    units["versus_mbb"] = "mbb/g against the fixed opponent"
    units["locks"] = "(also bind the best responses that exploitability is measured by)"
    units["seconds"] = f"s on {numbers['threads']} thread(s)" if "threads" in numbers else "s"
    spent = {name.removesuffix("_seconds"): number for name, number in numbers.items() if name.endswith("_seconds")}
    whole = numbers.get("seconds", 0.0)

    def shares(of: Mapping[str, float]) -> str:  # of what took a share that can be seen
        seen = {name: time for name, time in of.items() if time >= 0.005 * whole > 0.0}
        return ", ".join(f"{name} {time:.3g} ({100 * time / whole:.0f} %)" for name, time in seen.items())

    parts: dict[str, float] = {name: spent.pop(name) for name in ("traversal", "fit") if name in spent}
    if spent:
        units["seconds"] += f": {shares(spent)}"
    if shares(parts):
        units["seconds"] += f"; of solving: {shares(parts)}"
    width = max(15, *(len(name) + 1 for name in numbers if not name.endswith("_seconds")))
    for name, number in numbers.items():
        if name != "threads" and number is not None and not name.endswith("_seconds"):
            shown = (
                f"{number:.6g}"
                if isinstance(number, float)
                else f"{number:,}"
                if isinstance(number, int) and name != "seed"
                else "; ".join(number)
                if isinstance(number, list)
                else number
            )
            print(f"{name:<{width}}{shown} {units.get(name, '')}".rstrip())  # noqa: T201


def print_policy(policy: Policy, indices: Sequence[int]) -> None:
    """Print the action probabilities of some infosets."""
    table = Table(box=None, pad_edge=False)
    for column in ("player", "infoset", "action", "probability", ""):
        table.add_column(column)
    for index in indices:
        pairs = zip(policy.action_names[index], policy.probabilities_at(index), strict=True)
        for ordinal, (name, probability) in enumerate(pairs):
            where = (str(policy.players[index]), policy.keys[index]) if ordinal == 0 else ("", "")
            bar = _BAR * round(20 * float(probability)) if policy.is_reached(index) else f"({NEVER_REACHED})"
            table.add_row(*where, name, f"{probability:.4f}", bar)
    print_table(table)


def print_class(line: Line, name: str) -> None:
    """Print what a class of starting hands plays: one row if its hands play alike, else the mean and each hand."""
    hands, mean = line.hands_of(name), line.mean_of(name)
    alike = all(
        abs(played[action] - mean[action]) < 5e-5 and played.reached == mean.reached
        for played in hands.values()
        for action in line.actions
    )
    print(line.title())  # noqa: T201
    rows = {f"{name} ({'' if alike else 'mean of '}{len(hands)} hands)": mean, **({} if alike else hands)}
    shown = [
        (key, *(f"{p:.4f}" for p in played.values()), "" if played.reached else f"({NEVER_REACHED})")
        for key, played in rows.items()
    ]
    print_rows(shown, columns=("hand", *line.actions, ""))


def print_match(result: MatchResult, *, unit: str, big_blind: int | None) -> None:
    """Print what a match came to: each estimate of A's mean payoff, and how much luck is left in it."""
    a, b = result.players
    print(f"{result.game}: A = {a}, B = {b}; {result.hands:,} hands, each deal from both seats")  # noqa: T201
    known = {"both": "both strategies known", "a": "A's strategy known", "b": "B's strategy known"}
    rows: list[tuple[str, Estimate]] = [("plain", result.plain), ("duplicate", result.duplicate)]
    if result.aivat is not None:
        rows.append((f"AIVAT, {known[result.known]}", result.aivat))
    table = Table(box=None, pad_edge=False)
    for column in ("estimate", f"A wins a hand ({unit})", "95% interval", "standard deviation of a hand"):
        table.add_column(column, no_wrap=True)
    if big_blind is not None:
        table.add_column("A wins (mbb/g)", no_wrap=True)
        table.add_column("95% interval", no_wrap=True)
    for name, estimate in rows:
        cells = [name, *_mean_and_interval(estimate), f"{estimate.standard_deviation:.4g}"]
        if big_blind is not None:
            cells += _mean_and_interval(estimate.scaled(1000 / big_blind))
        table.add_row(*cells)
    print_table(table)
    if big_blind is not None:
        _explain_mbb(big_blind)
    played = {"tree": "through the tree", "lockstep": "in lockstep", "rules": "through the rules"}[result.through]
    speed = f"{result.hands / max(result.seconds, 1e-9):,.3g} hands/s {played}"
    print(f"seed {result.seed}, {result.seconds:.3g} s on {result.threads} thread(s), {speed}")  # noqa: T201


def print_exact_match(result: ExactResult, *, unit: str, big_blind: int | None) -> None:
    """Print what an endless match would come to."""
    a, b = result.players
    print(f"{result.game}: A = {a}, B = {b}; exact, no sampling")  # noqa: T201
    for name, value in (
        ("seats swapped", result.mean),
        ("A in seat 0", result.seats[0]),
        ("A in seat 1", result.seats[1]),
    ):
        shown = f"{name:<15}{value:.6g} {unit} a hand to A"
        print(shown + ("" if big_blind is None else f" = {1000 * value / big_blind:.6g} mbb/g"))  # noqa: T201
    if big_blind is not None:
        _explain_mbb(big_blind)


def print_winnings(won: Sequence[Winnings], *, unit: str, big_blind: int) -> None:
    """Print what players won in a log of hands."""
    rows = []
    for each in won:
        cells = ["", "", "", ""]
        if each.estimate is not None:
            cells = _mean_and_interval(each.estimate) + _mean_and_interval(each.estimate.scaled(1000 / big_blind))
        rows.append((each.name, f"{each.hands:,}", f"{each.chips:,}", *cells))
    a_hand = (f"a hand ({unit})", "95% interval", "mbb/g", "95% interval")
    print_rows(rows, columns=("player", "hands", f"won ({unit})", *a_hand))
    _explain_mbb(big_blind)


def _mean_and_interval(estimate: Estimate) -> list[str]:
    low, high = estimate.interval
    return [f"{estimate.mean:.5g}", f"{low:.5g} to {high:.5g}"]


def _explain_mbb(big_blind: int) -> None:
    chips = f"{big_blind} chip{'s' * (big_blind != 1)}"
    print(f"mbb/g: thousandths of the big blind or ante ({chips}) a hand")  # noqa: T201
