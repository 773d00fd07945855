"""A game that is played in the terminal: the table as the player sees it, hints, costs and the score."""

from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.errors import InvalidParameter

SUITS = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}


def print_table_of(view: Mapping[str, Any]) -> None:
    """Print where a hand stands."""
    table = view.get("table")
    who = f"hand {view['hand']}, you are player {view['seat']} against {view['opponent']}"
    if table is None:
        _say(f"\n{who}")
        return _say(f"you know: {view['knows'] or '(nothing yet)'}") if view["state"] == "decision" else None
    history = " ".join(_event(step, view["seat"]) for step in table["history"])
    _say(f"\n{who}; {table['round']}, pot {table['pot']:,}{_stacks(table)}")
    if history:
        _say(f"  so far: {history}")
    own = table["hands"][view["seat"]]
    board = f"   board {_cards(table['board'])}" if table["board"] else ""
    _say(f"  your hand {_cards(own)}{board}" + (f"   {table['to_call']:,} to call" if table["to_call"] else ""))
    return None


def _event(step: Mapping[str, Any], seat: int) -> str:
    if step["player"] is None:
        return f"[{_cards([step['name'][k : k + 2] for k in range(0, len(step['name']), 2)])}]"
    return f"{'you' if step['player'] == seat else 'opponent'}: {step['name']},"


def _stacks(table: Mapping[str, Any]) -> str:
    return "" if table["stacks"] is None else f", stacks {table['stacks'][0]:,} and {table['stacks'][1]:,}"


def _cards(cards: Sequence[str]) -> str:
    return " ".join(card[:-1] + SUITS[card[-1]] if card[-1:] in SUITS and len(card) > 1 else card for card in cards)


def print_hint(hint: Mapping[str, Any]) -> None:
    """Print what the solution does."""
    plays = ", ".join(f"{action} {100 * p:.1f} %" for action, p in hint["strategy"].items())
    worth = ", ".join(f"{action} {value:.4g}" for action, value in hint["values"].items() if value is not None)
    _say(f"  the solution plays {plays}" + (f"; worth {worth}" if worth else "") + f" ({hint['method']})")


def print_cost(choice: Mapping[str, Any], unit: str, mbb_per_chip: float | None) -> None:
    """Print what a choice has cost."""
    solution = choice.get("solution")
    if solution is None:
        return None
    plays = ", ".join(f"{action} {100 * p:.1f} %" for action, p in solution["strategy"].items())
    if choice["cost"] is None:
        return _say(f"  {choice['did']}: nobody knows what it cost; the solution plays {plays}")
    in_mbb = "" if mbb_per_chip is None else f" ({choice['cost'] * mbb_per_chip:.4g} mbb)"
    cost = (
        f"cost {choice['cost']:.4g} {unit}{in_mbb}" if choice["cost"] >= 0 else f"gained {-choice['cost']:.4g} {unit}"
    )
    return _say(f"  {choice['did']}: {cost} against the solution, which plays {plays}")


def print_result(view: Mapping[str, Any]) -> None:
    """Print how a hand ended, and the score."""
    table, result = view.get("table"), view["result"]
    if table is not None and table["hands"][1 - view["seat"]] is not None:
        _say(f"  the opponent shows {_cards(table['hands'][1 - view['seat']])}, board {_cards(table['board'])}")
    elif table is None:
        _say("  what happened: " + ", ".join(f"{event['who']}: {event['did']}" for event in result["events"]))
    elif table["folded"] is not None:
        _say("  you have folded" if table["folded"] == view["seat"] else "  the opponent has folded")
    _say(f"  {_won(result['payoff'], view['unit'])}")
    print_score(view["score"])


def _won(payoff: float, unit: str) -> str:
    return "nobody wins" if payoff == 0 else f"you {'win' if payoff > 0 else 'lose'}: {payoff:+g} {unit}"


def print_score(score: Mapping[str, Any]) -> None:
    """Print the score: plain, and with luck taken out."""
    said = f"score after {score['hands']:,} hand(s): {score['plain']:+g} {score['unit']}"
    if "without_luck" in score:
        said += f"; with luck taken out {score['without_luck']:+.4g} ({score['luck_method']})"
    if "cost" in score:
        said += f"; choices cost {score['cost']:.4g}"
    if "plain_mbb" in score:
        said += f"; {score['plain_mbb']:+.0f} mbb/hand"
        said += f", {score['without_luck_mbb']:+.0f} without luck" if "without_luck_mbb" in score else ""
    _say(said)


def read_choice(text: str, actions: Sequence[Mapping[str, Any]]) -> int:
    """Return the place of the action that a text means: its number (from 1), its name, or how the name begins."""
    word, names = text.strip().casefold(), [action["name"].casefold() for action in actions]
    if word in names:
        return names.index(word)
    if word.isdigit() and 1 <= int(word) <= len(names):
        return int(word) - 1
    begun = [place for place, name in enumerate(names) if word and name.startswith(word)]
    if len(begun) == 1:
        return begun[0]
    raise InvalidParameter(f"'{text.strip()}' is not one of {', '.join(action['name'] for action in actions)}")


def prompt_of(actions: Sequence[Mapping[str, Any]]) -> str:
    """Return the question for a choice."""
    return "  " + ", ".join(f"{k} {action['name']}" for k, action in enumerate(actions, 1)) + " (? hint, q quit): "


def _say(text: str) -> None:
    print(text)  # noqa: T201
