"""Where two policies of a game differ most, weighted by how often play comes there."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.errors import NotSupported, TooLarge
from equipoise.exploring.explorer import Explorer
from equipoise.exploring.poker_nodes import PokerNode, decisions_of_round, read_place
from equipoise.games.poker import PokerGame
from equipoise.games.spots import Spot
from equipoise.trees.fingerprint import described

MOST_LINES = 60  # of a round on a board, in games that are compared line by line


def differences(
    first: Explorer, second: Explorer, *, line: str = "", board: str = "", limit: int = 40
) -> dict[str, Any]:
    """Return the infosets at which two policies differ most.

    The difference at an infoset is half the sum of differences of probabilities (0: alike, 1: nothing in common); its
    weight is the mean of how often the two come there. Listed games are compared as a whole; larger poker games round
    by round: before the board, or on the board that is given.
    """
    if first.game.address != second.game.address and described(first.game) != described(second.game):
        raise NotSupported(f"these are policies of two games: {first.game.address} and {second.game.address}")
    try:
        keys = first.keys
    except TooLarge:
        rows, compared = _by_lines(first, second, line, board)
    else:
        rows, compared = _by_infosets(first, second, keys), "all infosets"
    rows.sort(key=lambda row: -float(row["weighted"]))
    total = float(sum(row["weighted"] for row in rows))
    return {
        "game": first.game.address,
        "compared": compared,
        "infosets": len(rows),
        "sum": total,
        "rows": rows[:limit],
    }


def _by_infosets(first: Explorer, second: Explorer, keys: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for key in keys:
        a, b = first.appraiser.at(key), second.appraiser.at(key)
        difference = 0.5 * float(np.abs(a.probabilities - b.probabilities).sum())
        weight = (a.reach + b.reach) / 2
        if difference * weight > 0.0:
            rows.append(_row(key, a.player, a.actions, a.probabilities, b.probabilities, difference, weight))
    return rows


def _row(
    name: str, player: int, actions: Any, mine: Any, theirs: Any, difference: float, weight: float
) -> dict[str, Any]:
    return {
        "infoset": name,
        "player": player,
        "difference": difference,
        "weight": weight,
        "weighted": difference * weight,
        "strategies": [dict(zip(actions, each.tolist(), strict=True)) for each in (mine, theirs)],
        "to": {"infoset": name},
    }


def _by_lines(first: Explorer, second: Explorer, line: str, board: str) -> tuple[list[dict[str, Any]], str]:
    game = first.game
    assert isinstance(game, PokerGame | Spot)
    here = read_place(game, line, board)
    rows: list[dict[str, Any]] = []
    lines = 0
    for place in decisions_of_round(game, here, MOST_LINES):
        found = []
        for explorer in (first, second):
            node = PokerNode(place=place, appraiser=explorer.appraiser)  # type: ignore[arg-type]
            assert node.appraisal is not None
            found.append(node.appraisal)
        a, b = found
        lines += 1
        difference = 0.5 * np.abs(a.probabilities - b.probabilities).sum(axis=1)
        weight = (a.reach + b.reach) / 2
        for k in np.flatnonzero(difference * weight > 0.0).tolist():
            rows.append(
                _row(
                    a.keys[k],
                    a.player,
                    a.actions,
                    a.probabilities[k],
                    b.probabilities[k],
                    float(difference[k]),
                    float(weight[k]),
                )
            )
    where = f"on {game.deck.text(here.board)}" if here.board else "before the board"
    return rows, f"{lines} betting lines {where}"
