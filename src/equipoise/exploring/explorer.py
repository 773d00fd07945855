"""Walk through a game and a policy: one question, one answer of plain data, for every game and every policy.

``Explorer(policy).node(line="crc/r", board="2c7d9s")`` in poker, ``node(path="0.2")`` elsewhere, ``node(infoset=KEY)``
in both; ``infosets(...)`` is a table of all of them. Answers can be written as JSON as they are: this is what
``equipoise show --values --json`` prints, and what the page asks for.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from equipoise.errors import InvalidParameter, NotSupported, TooLarge, require_whole
from equipoise.evaluation.appraisal import Appraiser, LineAppraiser
from equipoise.evaluation.listed_values import ListedAppraiser
from equipoise.exploring.poker_nodes import MOST_HANDS, PokerNode, read_place
from equipoise.exploring.tree_nodes import TreeNode, TreePlace, read_path
from equipoise.games import Game
from equipoise.games.poker import PokerGame
from equipoise.games.spots import Spot

MOST_ROWS = 500  # of a table in one answer
Sort = Literal["reach", "gain", "value", "infoset"]


class Explorer:
    """Answers questions about a game and what is played in it."""

    def __init__(self, appraiser: Appraiser) -> None:
        self.appraiser = appraiser

    @property
    def game(self) -> Game:
        """Return the game."""
        return self.appraiser.game

    @property
    def is_poker(self) -> bool:
        """Return whether nodes are betting lines with boards; elsewhere they are histories."""
        return isinstance(self.game, PokerGame | Spot)

    def poker_node(self, line: str = "", board: str = "") -> PokerNode:
        """Return a public state of poker."""
        if not isinstance(self.game, PokerGame | Spot):
            raise NotSupported(f"{self.game.name} has no betting lines and boards; walk it by --path")
        assert isinstance(self.appraiser, LineAppraiser)
        return PokerNode(place=read_place(self.game, line, board), appraiser=self.appraiser)

    def tree_node(self, path: str = "") -> TreeNode:
        """Return a history."""
        if self.is_poker:
            raise NotSupported(f"{self.game.name} is walked by --line and --board, not by --path")
        return TreeNode(place=read_path(self.game, path), appraiser=self.appraiser)

    def node(
        self,
        *,
        line: str | None = None,
        board: str | None = None,
        path: str | None = None,
        infoset: str | None = None,
        hands: str = "",
        offset: int = 0,
        limit: int = MOST_HANDS,
    ) -> dict[str, Any]:
        """Return a node as plain data: the start, unless a line and a board, a path or an infoset is given."""
        require_whole("offset", offset, low=0)
        require_whole("limit", limit, low=0)
        if infoset is not None:
            if line is not None or board is not None or path is not None:
                raise InvalidParameter("an infoset names its place; leave out the line, the board and the path")
            return self._node_of(infoset, hands, offset, limit)
        if self.is_poker:
            if path is not None:
                raise NotSupported(f"{self.game.name} is walked by --line and --board, not by --path")
            node = self.poker_node(line or "", board or "")
            return node.describe(hands=hands, offset=offset, limit=limit)
        if line is not None or board is not None or hands:
            raise NotSupported(f"{self.game.name} has no betting lines, boards and hands; walk it by --path")
        return self.tree_node(path or "").describe(offset=offset, limit=limit)

    def _node_of(self, infoset: str, hands: str, offset: int, limit: int) -> dict[str, Any]:
        valued = self.appraiser.at(infoset)  # says what is wrong with the key
        if self.is_poker:
            cards, _, line = infoset.partition("|")
            hand, _, board = cards.partition("/")
            node = self.poker_node(line, board)
            said = node.describe(hands=hands or hand, offset=offset, limit=limit)
            return {**said, "infoset": node.detail(hand)}
        history = self.appraiser.likeliest_history(infoset) if isinstance(self.appraiser, ListedAppraiser) else None
        if history is not None:
            place = TreePlace(self.game, tuple(history))
            return TreeNode(place=place, appraiser=self.appraiser).describe(offset=offset, limit=limit)
        return {
            "game": self.game.address,
            "kind": "infoset",
            "unit": self.game.chip_unit(),
            "mbb_per_chip": self.game.mbb_per_chip(),
            "here": {"infoset": infoset},
            "title": f"player {valued.player} to act",
            "crumbs": [{"name": "start", "player": None, "to": {"path": ""}}],
            "state": "decision",
            "player": valued.player,
            "knows": infoset,
            "method": valued.method,
            "exact": self.appraiser.exact,
            "values_are": "the payoff of the whole game to the acting player",
            "actions": [
                {"name": name, "probability": float(p), "to": None, "over": False}
                for name, p in zip(valued.actions, valued.probabilities, strict=True)
            ],
            "infoset": valued.to_json(),
        }

    def hand(self, line: str, board: str, hand: str) -> dict[str, Any]:
        """Return everything that is known of one hand at a line: with belief, and with estimates of values."""
        node = self.poker_node(line, board)
        if node.place.state != "decision":
            raise InvalidParameter(f"nobody acts here: {node.place.title()}")
        return node.detail(hand)

    @property
    def keys(self) -> Sequence[str]:
        """Return the keys of all infosets, in games that have them listed."""
        return self._table[0]

    @cached_property
    def _table(self) -> tuple[list[str], dict[str, Any]]:
        found = self.appraiser
        if not isinstance(found, ListedAppraiser):
            raise TooLarge(f"{self.game.name} has too many infosets to list; walk it line by line instead")
        keys = list(found.keys)
        parts = [found.table(player) for player in range(2)]
        columns: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        columns["player"] = np.repeat([0, 1], [len(part["reach"]) for part in parts])
        return keys, columns

    def infosets(
        self,
        *,
        player: int | None = None,
        contains: str = "",
        sort: Sort = "reach",
        descending: bool = True,
        offset: int = 0,
        limit: int = 50,
    ) -> dict[str, Any]:
        """Return rows of the table of all infosets: filtered by player and text, sorted, paged."""
        require_whole("offset", offset, low=0)
        require_whole("limit", limit, low=0)
        keys, columns = self._table
        chosen = np.arange(len(keys))
        if player is not None:
            chosen = chosen[columns["player"][chosen] == player]
        if contains:
            chosen = np.array([k for k in chosen if contains.casefold() in keys[k].casefold()], np.int64)
        if sort == "infoset":
            order = sorted(chosen.tolist(), key=lambda k: keys[k], reverse=descending)
        elif sort in columns:
            numbers = np.nan_to_num(columns[sort][chosen], nan=-math.inf if descending else math.inf)
            order = chosen[np.argsort(-numbers if descending else numbers, kind="stable")].tolist()
        else:
            raise InvalidParameter(f"infosets cannot be sorted by '{sort}'; choose reach, gain, value or infoset")
        return {
            "game": self.game.address,
            "unit": self.game.chip_unit(),
            "method": self.appraiser.method,
            "of": len(keys),
            "found": len(order),
            "offset": offset,
            "rows": [self._row(keys, columns, k) for k in order[offset : offset + min(limit, MOST_ROWS)]],
        }

    def _row(self, keys: Sequence[str], columns: dict[str, Any], k: int) -> dict[str, Any]:
        valued = self.appraiser.at(keys[k])
        value = float(columns["value"][k])
        return {
            "infoset": keys[k],
            "player": int(columns["player"][k]),
            "reach": float(columns["reach"][k]),
            "value": None if math.isnan(value) else value,
            "gain": float(columns["gain"][k]),
            "strategy": dict(zip(valued.actions, valued.probabilities.tolist(), strict=True)),
            "reached": valued.reached,
            "best_action": valued.best_action,
            "to": {"infoset": keys[k]},
        }
