"""How the agents of NFSP play each other, and how their networks are read: for all infosets, or for those they meet.

Where infosets are listed, all networks are read once an iteration into tables, so that episodes need no network, and
the target network is a table of its best values. Where they are too many, networks are asked by code, in lockstep, and
the target network is a copy with older parameters.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from equipoise.networks.network import read
from equipoise.networks.rows import Bool
from equipoise.networks.trained import TrainedNetwork
from equipoise.sampling.episodes import Episodes, Moves
from equipoise.sampling.lockstep_episodes import LockstepEpisodes
from equipoise.solvers.setup import Form
from equipoise.solvers.spaces import CodedSpace, ListedSpace
from equipoise.stores.answers import NetworkAnswers, NetworkScores, answers_of, softmax
from equipoise.stores.board_average import MixturePlay
from equipoise.stores.sums import FloatTable, State
from equipoise.trees.distinct import distinct
from equipoise.trees.tables import Pair
from equipoise.trees.treeplex import Float, Int64


class Agents(NamedTuple):
    """The networks of both players."""

    q: tuple[TrainedNetwork, ...]  # values of actions
    policy: tuple[TrainedNetwork, ...]  # the average of responses


class SelfPlay(Protocol):
    """Episodes between two agents, by their networks as they were when they were last read."""

    @property
    def form(self) -> Form:
        """Return the game as evaluation sees it."""

    @property
    def threads(self) -> int:
        """Return how many threads are in use: for parts of a batch of episodes, the fits of players, evaluations."""

    @property
    def layout(self) -> str:
        """Return a hash of how infosets are numbered."""

    @property
    def episodes(self) -> Episodes | LockstepEpisodes:
        """Return who plays the episodes, and counts nodes."""

    def play(self, epsilon: float, iteration: int) -> Iterator[tuple[Moves, Moves]]:
        """Play an iteration's episodes; yield the moves of both agents, part by part."""

    def read(self) -> None:
        """Take note that networks have changed."""

    def renew_target(self) -> None:
        """Let the values that Q-learning looks ahead to be those of the networks as they are now."""

    def best_at(self, player: int, rows: Int64) -> Float:
        """Return the values of the best legal actions, as the target networks have them."""

    def average_strategy(self) -> Pair | MixturePlay:
        """Return the strategy of the average policies, as the form's evaluator takes it."""

    def best_responses(self, evaluator: Any) -> Any:
        """Return the value of that strategy and of best responses to it, by an evaluator of the form."""

    def state(self) -> State:
        """Return what the target networks are."""

    def restore(self, state: State) -> None:
        """Continue with saved target networks, and networks that have been restored."""


def best_values(values: FloatTable, legal: Bool) -> Float:
    """Return, by row, the value of the best legal action."""
    best: Float = np.where(legal, values, -np.inf).max(axis=1)
    return best


class ListedPlay:
    """Self-play in a game whose infosets are listed."""

    threads = 1

    def __init__(self, space: ListedSpace, agents: Agents, episodes: Episodes) -> None:
        self.form = space.form
        self.episodes = episodes
        self._tables = space.tables
        self._infosets = space.seen
        self._agents = agents
        self.read()
        self.renew_target()

    @property
    def layout(self) -> str:
        return self.form.layout

    def play(self, epsilon: float, iteration: int) -> Iterator[tuple[Moves, Moves]]:
        values, policy = (self._infosets.to_table(each) for each in (self._values, self._strategies))
        yield self.episodes.play(values, policy, epsilon=epsilon, iteration=iteration)

    def read(self) -> None:
        self._values = np.concatenate([network.read() for network in self._agents.q])
        outputs = np.concatenate([network.read() for network in self._agents.policy])
        self._strategies = softmax(outputs, self._infosets.legal)

    def renew_target(self) -> None:
        self._best = best_values(self._values, self._infosets.legal)

    def best_at(self, player: int, rows: Int64) -> Float:
        del player  # rows tell
        return self._best[rows]

    def average_strategy(self) -> Pair:
        return self._tables.to_form(self._infosets.to_table(self._strategies))

    def best_responses(self, evaluator: Any) -> Any:
        return evaluator.best_responses(self.average_strategy())

    def state(self) -> State:
        return {"best": self._best}

    def restore(self, state: State) -> None:
        self._best = state["best"].copy()
        self.read()


@dataclass(frozen=True)
class Policies:
    """Both players' average policies, by infoset."""

    answers: tuple[NetworkAnswers, ...]  # by player

    def __call__(self, player: int, codes: Int64) -> FloatTable:
        """Return a player's average policy at some infosets."""
        return self.answers[player](codes)


class CodedPlay:
    """Self-play in a game too large to list."""

    def __init__(self, space: CodedSpace, agents: Agents, episodes: LockstepEpisodes, *, threads: int) -> None:
        self.form = space.form
        self.threads = threads
        self.episodes = episodes
        self._rows, self._play, self._best_responses = space.seen, space.play, space.best_responses
        self._agents = agents
        self.renew_target()

    @property
    def layout(self) -> str:
        return self._rows.digest

    def play(self, epsilon: float, iteration: int) -> Iterator[tuple[Moves, Moves]]:
        q = self._agents.q
        values = NetworkScores(self._rows, tuple(each.network for each in q), (1.0, 1.0), q[0].device)
        return self.episodes.play(values, self.policies, epsilon=epsilon, iteration=iteration)

    @property
    def policies(self) -> Policies:
        """Return the average policies as they are now."""
        return Policies(tuple(answers_of(each, "softmax") for each in self._agents.policy))

    def read(self) -> None:
        """Do nothing: networks are read where they are needed."""

    def renew_target(self) -> None:
        self._take_target([network.parameters() for network in self._agents.q])

    def _take_target(self, parameters: list[Float]) -> None:
        self._parameters = parameters
        self._target = [network.module_with(flat) for network, flat in zip(self._agents.q, parameters, strict=True)]

    def best_at(self, player: int, rows: Int64) -> Float:
        codes, which = distinct(rows)
        values = read(self._rows, self._target[player], codes, self._agents.q[player].device)
        return best_values(values, self._rows.legal_at(codes))[which]

    def average_strategy(self) -> MixturePlay:
        first, second = ([(1.0, answers_of(network, "softmax"))] for network in self._agents.policy)
        return self._play((first, second))

    def best_responses(self, evaluator: Any) -> Any:
        return self._best_responses(evaluator, self.average_strategy())

    def state(self) -> State:
        return {f"target{player}": flat for player, flat in enumerate(self._parameters)}

    def restore(self, state: State) -> None:
        self._take_target([state[f"target{player}"].copy() for player in range(2)])
