"""Monte Carlo CFR with stores on games too large to list: the loop of `stored`, with infosets known by their codes.

Traversals run in lockstep (`sampling.lockstep`) and ask the regret store for scores as they go; what they find goes to
memories (Deep CFR), or is summed by code over the batch (Double Neural CFR).
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.games.poker import PokerGame
from equipoise.networks.poker_rows import PokerRows
from equipoise.regret.matching import UNIFORM
from equipoise.sampling.counts import NodesOf
from equipoise.sampling.lockstep import Lockstep, Part, ScoresOf
from equipoise.solvers.stored import StoreLoop
from equipoise.stores.board_average import MixturePlay, play_of
from equipoise.stores.memories import MemorySampler
from equipoise.stores.sums import FoundRows, RowRegrets, RowStrategies, RowSums, match_rows, summed
from equipoise.trees.board_form import BoardForm, UnmeasuredForm, board_form, has_board_form
from equipoise.trees.treeplex import Float, Int64

LegalAt = Callable[[Int64], npt.NDArray[np.bool_]]
Found = tuple[dict[int, RowSums], dict[int, RowSums]]
REHEARSALS = 1 << 40  # added to an iteration's number where its second batch of traversals draws


class RowSampler(Protocol):
    """Traversals at a strategy whose scores are asked for by code."""

    @property
    def threads(self) -> int:
        """Return how many threads are in use."""

    nodes_touched: int

    def sample(self, scores_of: ScoresOf, players: tuple[int, ...], iteration: int) -> Found:
        """Run the traversals of some players; return regrets and visits summed by player and code, if they are."""


class RememberingRows(NodesOf):
    """Traversals whose findings go to memories, one by one."""

    def __init__(self, sampler: MemorySampler[ScoresOf]) -> None:
        super().__init__(sampler)
        self._sampler = sampler
        self.threads = sampler.threads

    def sample(self, scores_of: ScoresOf, players: tuple[int, ...], iteration: int) -> Found:
        self._sampler.sample(scores_of, players, iteration)
        return {}, {}


class SummingRows(NodesOf):
    """A mini-batch of traversals whose findings are summed by code and divided by the batch (DN19 Eq. 12).

    With `averaging=stochastic`, visits of the opponent's infosets count one over the traverser's sample reach. With
    `own_reach`, the traverser's infosets that were met count its own reach, once an iteration (DN19 Algorithm 3).
    """

    def __init__(self, lockstep: Lockstep, batch: int, *, own_reach: LegalAt | None = None) -> None:
        super().__init__(lockstep)
        self._lockstep = lockstep
        self._batch = batch
        self._legal_at = own_reach  # which actions are legal, if the average is by own reach
        self.threads = lockstep.threads

    def sample(self, scores_of: ScoresOf, players: tuple[int, ...], iteration: int) -> Found:
        regrets, visits = {}, {}
        for player in players:
            parts = list(self._lockstep.parts(scores_of, player, iteration))
            regrets[player] = _summed([(part.own.code, part.own.values / self._batch) for part in parts])
            if self._legal_at is not None:
                visits[player] = self._own_visits(parts, partial(scores_of, player), self._legal_at)
            else:
                visits[1 - player] = self._visits(parts)
        return regrets, visits

    @staticmethod
    def _own_visits(parts: list[Part], scores_at: Callable[[Int64], Float], legal_at: LegalAt) -> RowSums:
        """Return own reach x strategy at the traverser's infosets, each once however often it was met."""
        code = np.concatenate([part.own.code for part in parts])
        codes, first = np.unique(code, return_index=True)
        reach = np.concatenate([part.own.own_reach for part in parts])[first]
        return RowSums(codes, reach[:, None] * match_rows(scores_at(codes), legal_at(codes), UNIFORM))

    def _visits(self, parts: list[Part]) -> RowSums:
        sides = [part.opponent for part in parts]
        return _summed([(side.code, side.values / (self._batch * side.sample_reach[:, None])) for side in sides])

    def rehearse(self, probabilities_of: ScoresOf, player: int, iteration: int) -> RowSums:
        """Return what a batch of the opponent's traversals meets of a player's given strategy.

        In expectation: the player's own reach x chance's x the strategy. Probabilities are scores too: regret matching
        leaves them as they are.
        """
        return self._visits(list(self._lockstep.parts(probabilities_of, 1 - player, REHEARSALS + iteration)))


def _summed(parts: list[tuple[Int64, Float]]) -> RowSums:
    return summed(np.concatenate([code for code, _ in parts]), np.concatenate([values for _, values in parts]))


def form_over_boards(game: PokerGame) -> BoardForm | UnmeasuredForm:
    """Return a game too large to list as evaluation sees it, if it can be evaluated."""
    return board_form(game) if has_board_form(game) else UnmeasuredForm(game)


class LockstepCFR(StoreLoop[FoundRows]):
    """Monte Carlo CFR whose sums are in stores, by code."""

    def __init__(
        self,
        rows: PokerRows,
        sampler: RowSampler,
        regrets: RowRegrets,
        strategies: RowStrategies,
        *,
        updates: Literal["alternating", "simultaneous"] = "alternating",
        averaging: Literal["stochastic", "own_reach"] = "stochastic",
    ) -> None:
        super().__init__(regrets, strategies, updates=updates)
        self._averaging = averaging
        self.rows = rows
        self.regrets = regrets
        self.strategies = strategies
        self.threads = sampler.threads
        self._sampler = sampler
        self.form = form_over_boards(rows.tree.game)

    @property
    def nodes_touched(self) -> int:
        return self._sampler.nodes_touched

    def _set_nodes_touched(self, count: int) -> None:
        self._sampler.nodes_touched = count

    def _found(self, players: tuple[int, ...]) -> FoundRows:
        regret, visits = self._sampler.sample(self.regrets.scores_at, players, self.iteration)
        # Own strategies, or the opponent's as the traverser met it.
        averaged = players if self._averaging == "own_reach" else tuple(1 - player for player in players)
        return FoundRows(self.iteration, players, averaged, regret, visits)

    def average_strategy(self) -> MixturePlay:
        """Return the average strategy as the form's evaluator takes it, or as it can be asked for."""
        return play_of(self.form, self.rows, (self.strategies.mixture(0), self.strategies.mixture(1)))

    @property
    def layout(self) -> str:
        """Return a hash of which infoset and action each number of the state belongs to."""
        return self.rows.digest

    def reached(self) -> None:
        """Return nothing: the average strategy itself says where it has any weight."""
