"""A history of any game as plain data: who acts, what each action leads to, what the acting player knows and does.

Histories are named by places among the actions on the way, chance's included: ``0.2.1`` is the first action, then the
third, then the second. Everything is asked of the rules, so games of any size can be walked; what infosets are worth is
asked of an appraiser, where there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from equipoise.errors import InvalidNotation, UnknownInfoset
from equipoise.evaluation.appraisal import Appraiser, InfosetValues
from equipoise.games import CHANCE, TERMINAL, Game, State
from equipoise.games.referee import BrokenRules, Referee

MOST_ACTIONS = 200  # in one answer
MOST_DRAWN = 60  # histories in the drawing of the tree around one
OF_THE_GAME = "the payoff of the whole game to the acting player"
BETWEEN = "."


@dataclass(frozen=True)
class TreePlace:
    """A history: the game, and the places of the actions on the way."""

    game: Game
    path: tuple[int, ...]

    @cached_property
    def _referee(self) -> Referee:
        return Referee(self.game)

    @cached_property
    def _walked(self) -> tuple[State, tuple[str, ...]]:
        """Return the state, and the names of the actions on the way."""
        referee, names = self._referee, list[str]()
        try:
            state = referee.root()
            for place in self.path:
                _, actions, _, _ = referee.position(state)
                if not 0 <= place < len(actions):
                    said = BETWEEN.join(map(str, self.path))
                    raise InvalidNotation(
                        f"path {said}: after {len(names)} step(s) there are {len(actions)} actions, numbered from 0; "
                        f"{place} is not one of them"
                    )
                names.append(state.action_name(actions[place]))
                state = referee.child(state, actions[place])
        except BrokenRules as fault:
            raise referee.refusal(names, fault) from fault.__cause__
        return state, tuple(names)

    @property
    def state(self) -> State:
        """Return the state of the rules."""
        return self._walked[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the actions on the way."""
        return self._walked[1]

    @cached_property
    def position(self) -> tuple[int, Sequence[int], Sequence[float], float]:
        """Return who acts, the actions, chance's probabilities and the payoff."""
        try:
            return self._referee.position(self.state)
        except BrokenRules as fault:
            raise self._referee.refusal(list(self.names), fault) from fault.__cause__

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        """Return the names of the actions."""
        return self._referee.action_names(self.state, self.position[1])

    def at(self) -> dict[str, str]:
        """Return what names this history in questions and links."""
        return {"path": BETWEEN.join(map(str, self.path))}

    def after(self, place: int) -> "TreePlace":
        """Return the history after an action."""
        return TreePlace(self.game, (*self.path, place))

    @property
    def kind(self) -> str:
        """Return what happens here: a ``decision``, ``chance`` or the ``end``."""
        player = self.position[0]
        return "end" if player == TERMINAL else "chance" if player == CHANCE else "decision"


def read_path(game: Game, text: str) -> TreePlace:
    """Return the history that a text such as ``0.2.1`` names; actions may also be given by their names."""
    place = TreePlace(game, ())
    for word in filter(None, (word.strip() for word in text.split(BETWEEN if "," not in text else ","))):
        if word.isdigit():
            place = place.after(int(word))
        elif word in place.action_names:
            place = place.after(place.action_names.index(word))
        else:
            listed = ", ".join(place.action_names[:20])
            raise InvalidNotation(f"path {text}: '{word}' is no action there; there are {listed or 'none'}")
    _ = place.state  # says what is wrong with the way
    return place


@dataclass(frozen=True, kw_only=True)
class TreeNode:
    """A history with what an appraiser knows of it."""

    place: TreePlace
    appraiser: Appraiser | None

    @cached_property
    def infoset(self) -> InfosetValues | None:
        """Return what is known of the acting player's infoset."""
        if self.place.kind != "decision" or self.appraiser is None:
            return None
        return infoset_of(self.appraiser, self.place.state)

    def describe(self, *, offset: int = 0, limit: int = MOST_ACTIONS) -> dict[str, Any]:
        """Return all of it as plain data; actions are paged."""
        place, game = self.place, self.place.game
        player, actions, _, payoff = place.position
        names = place.action_names if len(actions) else ()
        said: dict[str, Any] = {
            "game": game.address,
            "kind": "tree",
            "unit": game.chip_unit(),
            "mbb_per_chip": game.mbb_per_chip(),
            "here": place.at(),
            "title": self._title(),
            "crumbs": self._crumbs(),
            "state": place.kind,
            "player": player if player >= 0 else None,
            "method": self.appraiser.method if self.appraiser is not None else "no policy",
            "exact": self.appraiser is not None and self.appraiser.exact,
            "values_are": OF_THE_GAME,
            "actions": [
                {
                    "name": names[k],
                    "probability": self._probability(k),
                    "to": place.after(k).at(),
                    "over": place.after(k).kind == "end",
                }
                for k in range(len(actions))[offset : offset + limit]
            ],
            "actions_of": len(actions),
        }
        if place.kind == "end":
            said["end"] = {"payoffs": [payoff, 0.0 - payoff]}
        if place.kind == "decision":
            said["knows"] = place.state.infoset_key()
            said["infoset"] = None if self.infoset is None else self.infoset.to_json()
        said["tree"] = self._drawing()
        return said

    def _probability(self, k: int) -> float | None:
        if self.place.kind == "chance":
            return float(self.place.position[2][k])
        return None if self.infoset is None else float(self.infoset.probabilities[k])

    def _title(self) -> str:
        player, _, _, payoff = self.place.position
        if self.place.kind == "end":
            return f"the end: player 0 gets {payoff:g}"
        return "chance acts" if self.place.kind == "chance" else f"player {player} to act"

    def _crumbs(self) -> list[dict[str, Any]]:
        game, path, names = self.place.game, self.place.path, self.place.names
        steps: list[dict[str, Any]] = [{"name": "start", "player": None, "to": TreePlace(game, ()).at()}]
        for number, name in enumerate(names, 1):
            before = TreePlace(game, path[: number - 1])
            player = before.position[0]
            steps.append(
                {"name": name, "player": player if player >= 0 else None, "to": TreePlace(game, path[:number]).at()}
            )
        return steps

    def _drawing(self) -> list[dict[str, Any]]:
        """Return the histories around this one for a drawing: the one before, its other branches, and what follows."""
        place, drawn = self.place, list[dict[str, Any]]()

        def add(each: TreePlace, parent: str | None, name: str, probability: float | None) -> None:
            player, _, _, payoff = each.position
            drawn.append(
                {
                    "id": each.at()["path"],
                    "parent": parent,
                    "name": name,
                    "player": player if player >= 0 else None,
                    "state": each.kind,
                    "payoff": payoff if each.kind == "end" else None,
                    "probability": probability,
                    "here": each.path == place.path,
                    "to": each.at(),
                }
            )

        if place.path:
            above = TreePlace(place.game, place.path[:-1])
            node = TreeNode(place=above, appraiser=self.appraiser)
            add(above, None, place.names[-2] if len(place.path) > 1 else "start", None)
            for k, name in enumerate(above.action_names):
                if len(drawn) < MOST_DRAWN // 2 or k == place.path[-1]:
                    add(above.after(k), above.at()["path"], name, node._probability(k))
        else:
            add(place, None, "start", None)
        level = [place]
        for _ in range(2):
            following = []
            for each in level:
                node = TreeNode(place=each, appraiser=self.appraiser)
                names = each.action_names if each.position[1] else ()
                if len(drawn) + len(names) > MOST_DRAWN and each is not place:
                    continue
                for k, name in enumerate(names[:MOST_DRAWN]):
                    add(each.after(k), each.at()["path"], name, node._probability(k))
                    following.append(each.after(k))
            level = following
        return drawn


def infoset_of(appraiser: Appraiser, state: State) -> InfosetValues:
    """Return what is known of the acting player's infoset at a history; see ``Policy.at`` for keys of one text."""
    key = state.infoset_key()
    try:
        return appraiser.at(key)
    except UnknownInfoset:
        return appraiser.at(f"P{state.player}|{key}")
