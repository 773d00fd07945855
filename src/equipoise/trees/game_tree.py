"""A game compiled to flat arrays: every history, breadth first, siblings adjacent."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from equipoise.errors import TooLarge
from equipoise.games import TERMINAL, Game, State
from equipoise.games.referee import BrokenRules, Referee
from equipoise.memory import GIB, available_bytes
from equipoise.trees.fingerprint import fingerprint
from equipoise.trees.treeplex import Float, Int32

Int8 = npt.NDArray[np.int8]

BYTES_PER_HISTORY = 30  # the arrays of a GameTree
PYTHON_BYTES_PER_HISTORY = 900  # a State and its place in a list while a tree is built from rules in Python
ALL_NAMES = 1_000  # histories of infosets met before whose action names are all compared, before only some are


class InfosetLabels(Protocol):
    """The readable side of infosets: made only when somebody asks."""

    def keys(self) -> Sequence[str]:
        """Return every infoset's key, in order of infoset number."""

    def action_names(self, infoset: int) -> tuple[str, ...]:
        """Return the names of an infoset's actions."""


@dataclass(frozen=True)
class ListedLabels:
    """Labels that were written down while a tree was built."""

    listed_keys: list[str]
    listed_action_names: list[tuple[str, ...]]

    def keys(self) -> Sequence[str]:
        """Return every infoset's key."""
        return self.listed_keys

    def action_names(self, infoset: int) -> tuple[str, ...]:
        """Return the names of an infoset's actions."""
        return self.listed_action_names[infoset]


@dataclass(frozen=True, kw_only=True)
class GameTree:
    """Every history of a game. Node 0 is the root; the children of node n are first_child[n] + 0, 1, ..."""

    game: Game
    player: Int8  # [nodes] 0, 1, CHANCE or TERMINAL
    parent: Int32  # [nodes] -1 at the root
    first_child: Int32  # [nodes]
    num_children: Int32  # [nodes]
    infoset: Int32  # [nodes] -1 where no player acts
    probability: Float  # [nodes] of the chance outcome that leads here; 1 after a player's action
    payoff: Float  # [nodes] to player 0; 0 where not terminal
    infoset_player: Int8  # [infosets]
    infoset_actions: Int32  # [infosets]
    labels: InfosetLabels
    fingerprint_of_source: str | None = None  # of what the histories were made from, where they were not walked

    @property
    def num_nodes(self) -> int:
        """Return the number of histories, chance nodes and terminals included."""
        return len(self.player)

    @property
    def num_infosets(self) -> int:
        """Return the number of infosets of both players."""
        return len(self.infoset_player)

    def fingerprint(self) -> str:
        """Return what tells this game from others: histories, payoffs, and labels as far as they are written down."""
        if self.fingerprint_of_source is not None:
            return self.fingerprint_of_source
        arrays = (self.player, self.infoset, self.payoff)
        if not isinstance(self.labels, ListedLabels):  # a built-in game, whose name says the rest
            return fingerprint("tree", self.game.name, *arrays)
        keys, names = "\0".join(self.labels.listed_keys), repr(self.labels.listed_action_names)
        return fingerprint("tree", keys, names, *arrays, self.num_children, self.probability)

    def way_to(self, node: int) -> list[str]:
        """Return a history as the names of its actions."""
        return Referee(self.game).names_on_way(self.places_on_way(node))

    def places_on_way(self, node: int) -> list[int]:
        """Return which of its actions was taken in each history on the way to a node."""
        return _places(self.parent, self.first_child, node)


def tree_from_rules(game: Game) -> GameTree:
    """Walk any game's rules, history by history. Slow (Python) and general; built-in games have faster builders.

    Rules may be anybody's: every answer is checked, and what no game can have is refused with the history.
    """
    estimate = estimate_histories(game)
    room = available_bytes() / PYTHON_BYTES_PER_HISTORY
    if estimate > room:
        raise TooLarge(
            f"the tree of {game.name} has about {min(estimate, 1e300):.1e} histories (sampled estimate); "
            f"{available_bytes() / GIB:.1f} GiB of memory holds {room:.1e}"
        )
    referee = Referee(game)
    most = min(room, game.max_nodes)
    players: list[int] = []
    parents: list[int] = [-1]
    first_children: list[int] = []
    child_counts: list[int] = []
    infosets: list[int] = []
    probabilities: list[float] = [1.0]
    payoffs: list[float] = []
    seen = _SeenInfosets(referee)
    node, depth = 0, 0
    try:
        level: list[State] = [referee.root()]
        while level:
            following: list[State] = []
            next_start = len(players) + len(level)
            for node, state in enumerate(level, len(players)):
                player, actions, chances, payoff = referee.position(state)
                first_child, count = next_start + len(following), len(actions)
                if first_child + count > most:
                    raise _too_many(referee, room)
                players.append(player)
                first_children.append(first_child)
                child_counts.append(count)
                payoffs.append(payoff)
                infosets.append(seen.number(state, player, actions) if player >= 0 else -1)
                if count:
                    if depth == game.max_depth:
                        raise referee.too_deep()
                    following += referee.children(state, actions)
                    parents += [node] * count
                    probabilities += chances or [1.0] * count
            level = following
            depth += 1
    except BrokenRules as fault:
        raise referee.refusal(referee.names_on_way(_places(parents, first_children, node)), fault) from fault.__cause__
    keys = [key for _, key in seen.numbers]
    if len(set(keys)) < len(keys):  # some games give both players the same text
        keys = [f"P{player}|{key}" for player, key in seen.numbers]
    return GameTree(
        game=game,
        player=np.array(players, np.int8),
        parent=np.array(parents, np.int32),
        first_child=np.array(first_children, np.int32),
        num_children=np.array(child_counts, np.int32),
        infoset=np.array(infosets, np.int32),
        probability=np.array(probabilities),
        payoff=np.array(payoffs),
        infoset_player=np.array([player for player, _ in seen.numbers], np.int8),
        infoset_actions=np.array([len(names) for names in seen.action_names], np.int32),
        labels=ListedLabels(keys, seen.action_names),
    )


def _too_many(referee: Referee, room: float) -> BrokenRules:
    if referee.game.max_nodes <= room:
        return referee.too_many()
    return BrokenRules(f"there are more than {room:.1e} histories: they do not fit in memory")


def _places(parents: Sequence[int] | Int32, first_children: Sequence[int] | Int32, node: int) -> list[int]:
    """Return which of its actions was taken in each history on the way to a node."""
    places = []
    while (above := parents[node]) >= 0:
        places.append(node - int(first_children[above]))
        node = int(above)
    return places[::-1]


class _SeenInfosets:
    """The infosets met so far: their numbers, and what all their histories must have in common."""

    def __init__(self, referee: Referee) -> None:
        self.referee = referee
        self.numbers: dict[tuple[int, str], int] = {}
        self.actions: list[Sequence[int]] = []
        self.action_names: list[tuple[str, ...]] = []
        self.repeated = 0

    def number(self, state: State, player: int, actions: Sequence[int]) -> int:
        """Return the number of the state's infoset, giving it the next one when it is new."""
        key = self.referee.key(state)
        number = self.numbers.setdefault((player, key), len(self.numbers))
        if number == len(self.action_names):
            self.referee.require_text(key)
            self.actions.append(actions)
            self.action_names.append(self.referee.action_names(state, actions))
        elif actions != self.actions[number] or self._names_are_due(state):
            self._require_same(number, state, actions)
        return number

    def _names_are_due(self, state: State) -> bool:
        """Return whether to compare names where actions are the same: of every history at first, later of some."""
        if type(state).action_name is State.action_name:  # it follows from the action
            return False
        self.repeated += 1
        return self.repeated <= ALL_NAMES or self.repeated % 16 == 0

    def _require_same(self, number: int, state: State, actions: Sequence[int]) -> None:
        names, known = self.referee.action_names(state, actions), self.action_names[number]
        if names == known:
            return
        player, key = list(self.numbers)[number]
        if len(names) == len(known):
            differ = f"actions {', '.join(names)} here and {', '.join(known)} in another history"
        else:
            differ = f"{len(names)} actions here and {len(known)} in another history"
        raise BrokenRules(f"infoset '{key}' of player {player} has {differ}: its key must tell these histories apart")


def estimate_histories(game: Game, *, probes: int = 200) -> float:
    """Estimate the number of histories by random descents (Knuth 1975): the mean of products of branching factors.

    A descent ends where rules fail, as the walk over all histories will say what is wrong; an endless one is refused.
    """
    random = np.random.default_rng(0)
    total = 0.0
    for _ in range(probes):
        places: list[int] = []
        with suppress(Exception):
            state, weight = game.root(), 1.0
            while len(places) <= game.max_depth:
                total += weight
                if state.player == TERMINAL:
                    break
                actions = state.actions()
                weight *= len(actions)
                places.append(int(random.integers(len(actions))))
                state = state.child(actions[places[-1]])
        if len(places) > game.max_depth:
            referee = Referee(game)
            raise referee.refusal(referee.names_on_way(places[:-1]), referee.too_deep())
    return total / probes
