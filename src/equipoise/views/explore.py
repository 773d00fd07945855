"""Nodes of a game in the terminal: what is played, what it is worth, what comes next; where two policies differ."""

from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.views.tables import print_rows

_BAR = "█"
_MOST_HANDS = 30


def print_node(node: Mapping[str, Any]) -> None:
    """Print a node as the page shows it."""
    _say(" > ".join(_step(crumb) for crumb in node["crumbs"]))
    _say(node["title"] + _money(node))
    if node["state"] == "deal":
        cards = node["deal"]["cards"]
        return _say(f"{cards} card(s) to come: give them by --board, after {''.join(node['board']) or 'an empty one'}")
    if node["state"] == "end":
        return _say(_end(node))
    if node["kind"] == "poker":
        _print_hands(node)
    infoset = node.get("infoset")
    if infoset is not None:
        _print_infoset(infoset, node)
    elif node["kind"] == "tree":
        rows = [(a["name"], _percent(a["probability"]), _where(a)) for a in node["actions"]]
        print_rows(rows, columns=("action", "%", "leads to"))
    _say(f"values: {node['values_are']}, in {node['unit']}; {node['method']}")
    if node["kind"] == "poker":
        steps = ", ".join(f"{a['name']}: --line '{a['to']['line']}'" for a in node["actions"] if not a["over"])
        _say(f"go on: {steps}")
    return None


def _print_hands(node: Mapping[str, Any]) -> None:
    names = [action["name"] for action in node["actions"]]
    rows = [_hand_row("all", {**node["all"], "best_action": ""}, names)]
    if node["chosen"] is not None:
        rows.append(_hand_row("chosen", {**node["chosen"], "best_action": ""}, names))
    cells: Sequence[Mapping[str, Any]] = node["hands"]
    by_class = node.get("grid") is not None and node["hands_of"] > _MOST_HANDS
    if by_class:
        listed = sorted(node["grid"]["cells"], key=lambda cell: -cell["reach"])[:_MOST_HANDS]
        rows += [
            _hand_row(cell["name"], {**cell, "best_action": _most(cell["best_actions"])}, names) for cell in listed
        ]
    else:
        rows += [_hand_row(hand["hand"], hand, names) for hand in cells]
    columns = ["hand", "reach", "value"]
    for name in names:
        columns += [f"{name} %", "worth"]
    print_rows(rows, columns=(*columns, "best response", "its value"))
    if by_class:
        _say(f"the {_MOST_HANDS} classes that come here most; --hand AKs shows one of them, --json all")
    elif node["hands_of"] > len(cells):
        _say(f"... and {node['hands_of'] - len(cells):,} more hands")


def _hand_row(name: str, known: Mapping[str, Any], actions: Sequence[str]) -> list[str]:
    row = [name, _number(known["reach"]), _number(known["value"])]
    for action in actions:
        row += [_percent(known["strategy"][action]), _number(known["values"][action])]
    return [*row, known["best_action"] or "", _number(known["best_value"])]


def _most(counts: Mapping[str, int]) -> str:
    return max(counts, key=lambda name: counts[name]) if counts else ""


def _print_infoset(known: Mapping[str, Any], node: Mapping[str, Any]) -> None:
    leads = {action["name"]: _where(action) for action in node["actions"]}
    errors = known.get("standard_errors", {})
    rows = [
        (
            action,
            _percent(probability),
            _number(known["values"][action]) + (f" ± {_number(2 * errors[action])}" if errors.get(action) else ""),
            _number(known["best_response"]["values"][action]),
            "best response" if action == known["best_response"]["action"] else "",
            leads.get(action, ""),
        )
        for action, probability in known["strategy"].items()
    ]
    reached = "" if known["reached"] else "; never reached in the average: uniform"
    _say(f"infoset {known['infoset']}: met in {_percent(known['reach'])} % of games{reached}")
    print_rows(rows, columns=("action", "%", "worth", "worth, then best", "", "leads to"))
    if len(known["belief"]) > 1:
        likely = ", ".join(f"{each['what']} {_percent(each['probability'])} %" for each in known["belief"][:6])
        more = known["believed_possible"] - min(6, len(known["belief"]))
        _say(f"what it may be up against: {likely}" + (f", and {more:,} more" if more > 0 else ""))


def print_infosets(found: Mapping[str, Any]) -> None:
    """Print rows of the table of infosets."""
    rows = [
        (
            row["infoset"],
            str(row["player"]),
            _percent(row["reach"]),
            _number(row["value"]),
            f"{row['gain']:.3g}",
            ", ".join(f"{action} {_percent(p)}" for action, p in row["strategy"].items()),
            row["best_action"] or "",
        )
        for row in found["rows"]
    ]
    print_rows(rows, columns=("infoset", "player", "reach %", "value", "gain", "plays %", "best response"))
    _say(f"{found['found']:,} of {found['of']:,} infosets; gain: what the best action there would win more, x reach")


def print_differences(found: Mapping[str, Any], names: Sequence[str]) -> None:
    """Print where two policies differ most."""
    rows = [
        (
            row["infoset"],
            str(row["player"]),
            _percent(row["weight"]),
            f"{row['difference']:.3f}",
            *(", ".join(f"{action} {_percent(p)}" for action, p in each.items()) for each in row["strategies"]),
        )
        for row in found["rows"]
    ]
    print_rows(rows, columns=("infoset", "player", "reach %", "differ", *names))
    _say(
        f"{found['compared']}: {found['infosets']:,} infosets differ; 'differ' is 0 where both play alike and 1 where "
        f"they have nothing in common; weighted by reach it adds up to {found['sum']:.4g}"
    )


def _step(crumb: Mapping[str, Any]) -> str:
    return crumb["name"] if crumb["player"] is None else f"P{crumb['player']} {crumb['name']}"


def _money(node: Mapping[str, Any]) -> str:
    if node["kind"] != "poker":
        return ""
    stacks = "" if node["stacks"] is None else f", stacks {node['stacks'][0]:,} and {node['stacks'][1]:,}"
    return f"; {node['round']}, pot {node['pot']:,}{stacks}"


def _end(node: Mapping[str, Any]) -> str:
    end = node["end"]
    if "payoffs" in end:
        return f"payoffs: {end['payoffs'][0]:g} to player 0, {end['payoffs'][1]:g} to player 1"
    return f"player {end['wins']} takes the pot of {end['pot']:,}" if "wins" in end else f"showdown for {end['pot']:,}"


def _where(action: Mapping[str, Any]) -> str:
    to = action["to"] or {}
    return " ".join(f"--{name} '{value}'" for name, value in to.items() if value)


def _percent(share: float | None) -> str:
    if share is None:
        return "."
    percent = 100 * share
    return f"{percent:.2g}" if 0 < percent < 0.05 else f"{percent:.1f}"


def _number(value: float | None) -> str:
    return "." if value is None else f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def _say(text: str) -> None:
    print(text)  # noqa: T201
