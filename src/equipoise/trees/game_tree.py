"""A game compiled to flat arrays: every history, breadth first, siblings adjacent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from equipoise.errors import EquipoiseError
from equipoise.games import CHANCE, TERMINAL, Game, State
from equipoise.memory import GIB, available_bytes
from equipoise.trees.treeplex import Float, Int32

Int8 = npt.NDArray[np.int8]

BYTES_PER_HISTORY = 30  # the arrays of a GameTree
PYTHON_BYTES_PER_HISTORY = 900  # a State and its place in a list while a tree is built from rules in Python


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

    @property
    def num_nodes(self) -> int:
        """Return the number of histories, chance nodes and terminals included."""
        return len(self.player)

    @property
    def num_infosets(self) -> int:
        """Return the number of infosets of both players."""
        return len(self.infoset_player)


def tree_from_rules(game: Game) -> GameTree:
    """Walk any game's rules, history by history. Slow (Python) and general; built-in games have faster builders."""
    estimate = estimate_histories(game)
    room = available_bytes() / PYTHON_BYTES_PER_HISTORY
    if estimate > room:
        raise EquipoiseError(
            f"the tree of {game.name} has about {min(estimate, 1e300):.1e} histories (sampled estimate); "
            f"{available_bytes() / GIB:.1f} GiB of memory holds {room:.1e}"
        )
    players: list[int] = []
    parents: list[int] = [-1]
    first_children: list[int] = []
    child_counts: list[int] = []
    infosets: list[int] = []
    probabilities: list[float] = [1.0]
    payoffs: list[float] = []
    numbers: dict[tuple[int, str], int] = {}
    action_names: list[tuple[str, ...]] = []
    level: list[State] = [game.root()]
    while level:
        following: list[State] = []
        next_start = len(players) + len(level)
        for state in level:
            node, player = len(players), state.player
            actions = state.actions()
            players.append(player)
            first_children.append(next_start + len(following))
            child_counts.append(len(actions))
            payoffs.append(state.payoff() if player == TERMINAL else 0.0)
            infosets.append(-1)
            if player >= 0:
                infosets[-1] = _number(state, player, actions, numbers, action_names)
            if player != TERMINAL and not actions:
                raise EquipoiseError(f"{game.name}: a history in which player {player} acts has no legal action")
            chances = state.chance_probabilities() if player == CHANCE else [1.0] * len(actions)
            if player == CHANCE and abs(sum(chances) - 1.0) > 1e-6:
                raise EquipoiseError(f"{game.name}: the probabilities of a chance node sum to {sum(chances)}, not 1")
            for action, chance in zip(actions, chances, strict=True):
                following.append(state.child(action))
                parents.append(node)
                probabilities.append(chance)
        level = following
        if len(players) + len(level) > room:
            raise EquipoiseError(f"{game.name} has more than {len(players):.1e} histories; they do not fit in memory")
    keys = [key for _, key in numbers]
    if len(set(keys)) < len(keys):  # some games give both players the same text
        keys = [f"P{player}|{key}" for player, key in numbers]
    return GameTree(
        game=game,
        player=np.array(players, np.int8),
        parent=np.array(parents, np.int32),
        first_child=np.array(first_children, np.int32),
        num_children=np.array(child_counts, np.int32),
        infoset=np.array(infosets, np.int32),
        probability=np.array(probabilities),
        payoff=np.array(payoffs),
        infoset_player=np.array([player for player, _ in numbers], np.int8),
        infoset_actions=np.array([len(names) for names in action_names], np.int32),
        labels=ListedLabels(keys, action_names),
    )


def _number(
    state: State,
    player: int,
    actions: Sequence[int],
    numbers: dict[tuple[int, str], int],
    action_names: list[tuple[str, ...]],
) -> int:
    """Return the number of the state's infoset, giving it the next one when it is new."""
    key = (player, state.infoset_key())
    number = numbers.setdefault(key, len(numbers))
    if number == len(action_names):
        action_names.append(tuple(state.action_name(action) for action in actions))
    elif len(actions) != len(action_names[number]):
        raise EquipoiseError(
            f"infoset '{key[1]}' of player {player} has {len(action_names[number])} actions in one history and "
            f"{len(actions)} in another: its key must tell these histories apart"
        )
    return number


def estimate_histories(game: Game, *, probes: int = 200) -> float:
    """Estimate the number of histories by random descents (Knuth 1975): the mean of products of branching factors."""
    random = np.random.default_rng(0)
    total = 0.0
    for _ in range(probes):
        state, weight = game.root(), 1.0
        while True:
            total += weight
            if state.player == TERMINAL:
                break
            actions = state.actions()
            if not actions:  # the builder will say what is wrong
                break
            weight *= len(actions)
            state = state.child(actions[int(random.integers(len(actions)))])
    return total / probes
