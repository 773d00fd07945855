"""Exact value and best responses, on any sequence form.

1. Turn both strategies into plans. 2. Per player: the gradient against the opponent's plan. 3. Sweep the treeplex from the
last infosets to the first, taking the best action (best response) or the strategy's mean (expected value).
"""

from typing import NamedTuple

import numpy as np

from equipoise.compiled import inlined, kernel, kernel_pair, prange
from equipoise.trees.payoffs import Payoffs, continuation, gradient_chunk
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.treeplex import Float, Treeplex, write_plan

Strategies = tuple[Float, Float]


class BestResponses(NamedTuple):
    """The value to player 0, and what each player's best response would win against the other's strategy."""

    value: float
    best_response_values: tuple[float, float]

    @property
    def nash_conv(self) -> float:
        """Return the sum of what the two players could gain by a best response."""
        return self.best_response_values[0] + self.best_response_values[1]

    @property
    def exploitability(self) -> float:
        """Return nash_conv / 2, the mean of the two gains."""
        return self.nash_conv / 2


@inlined
def _best_block(block: int, plex: Treeplex, gradient: Float, best: Float, values: Float) -> None:
    """Write the best action of each infoset of a block (as a pure strategy) and its value."""
    offset, actions, width = plex.block_offset[block], plex.block_actions[block], plex.block_width[block]
    infoset = plex.block_infoset[block]
    for j in range(width):
        values[infoset + j] = gradient[offset + j]
        for action in range(1, actions):
            values[infoset + j] = max(values[infoset + j], gradient[offset + action * width + j])
        chosen = False
        for action in range(actions):
            k = offset + action * width + j
            is_best = not chosen and gradient[k] == values[infoset + j]  # the first of equally good actions
            best[k] = 1.0 if is_best else 0.0
            chosen = chosen or is_best


@inlined
def _mean_block(block: int, plex: Treeplex, gradient: Float, strategy: Float, values: Float) -> None:
    """Write the value of each infoset of a block under the strategy."""
    offset, actions, width = plex.block_offset[block], plex.block_actions[block], plex.block_width[block]
    infoset = plex.block_infoset[block]
    for j in range(width):
        values[infoset + j] = 0.0
    for action in range(actions):
        start = offset + action * width
        for j in range(width):
            values[infoset + j] += strategy[start + j] * gradient[start + j]


def _sweep(
    plex: Treeplex, payoffs: Payoffs, opponent_plan: Float, strategy: Float, respond: bool, gradient: Float, values: Float
) -> float:
    """Return a player's value against ``opponent_plan``: of a best response (written to ``strategy``) or of a strategy."""
    num_subgames = plex.subgame_level.size - 1
    subgame_values = np.zeros(num_subgames)
    for subgame in range(num_subgames):
        scale, shift = continuation(payoffs, subgame, subgame_values)
        for chunk in prange(payoffs.subgame_chunk[subgame], payoffs.subgame_chunk[subgame + 1]):
            gradient_chunk(payoffs, chunk, scale, shift, opponent_plan, gradient)
        for level in range(plex.subgame_level[subgame + 1] - 1, plex.subgame_level[subgame] - 1, -1):
            first, last = plex.level_start[level], plex.level_start[level + 1]
            for block in prange(first, last):
                if respond:
                    _best_block(block, plex, gradient, strategy, values)
                else:
                    _mean_block(block, plex, gradient, strategy, values)
            for infoset in range(plex.block_infoset[first], plex.block_infoset[last - 1] + plex.block_width[last - 1]):
                gradient[plex.parent_sequence[infoset]] += values[infoset]
        subgame_values[subgame] = gradient[subgame]
    return subgame_values[num_subgames - 1]


_SWEEPS = kernel_pair(_sweep)


@kernel
def _evaluate(
    plexes: tuple[Treeplex, Treeplex],
    payoffs: tuple[Payoffs, Payoffs],
    strategies: Strategies,
    plans: Strategies,
    best: Strategies,
    gradient: Strategies,
    values: Strategies,
) -> tuple[float, float, float]:
    for player in range(2):
        write_plan(plexes[player], strategies[player], plans[player])
    results = np.zeros(2)
    for player in range(2):
        results[player] = _SWEEP(
            plexes[player], payoffs[player], plans[1 - player], best[player], True, gradient[player], values[player]
        )
    value = _SWEEP(plexes[0], payoffs[0], plans[1], strategies[0], False, gradient[0], values[0])
    return value, results[0], results[1]


_SWEEP = _SWEEPS[0]


class Evaluator:
    """Best responses on one game, with buffers that are used again: a call costs about one CFR iteration."""

    def __init__(self, form: SequenceForm, *, threads: int = 1) -> None:
        self.form = form
        self.threads = threads
        self._plans = _pair(form, "num_sequences")
        self._best = _pair(form, "num_sequences")
        self._gradient = _pair(form, "num_sequences")
        self._values = _pair(form, "num_infosets")

    def best_responses(self, strategies: Strategies) -> BestResponses:
        """Return the exact value and best-response values of a pair of strategies."""
        if self.threads == 1:
            result = _evaluate(
                self.form.treeplexes,
                self.form.payoffs,
                strategies,
                self._plans,
                self._best,
                self._gradient,
                self._values,
            )
            return BestResponses(result[0], (result[1], result[2]))
        for player in range(2):
            write_plan(self.form.treeplexes[player], strategies[player], self._plans[player])
        gains = [self.respond(player, self._plans[1 - player], self._best[player]) for player in range(2)]
        value = self._sweep(0, self._plans[1], strategies[0], respond=False)
        return BestResponses(value, (gains[0], gains[1]))

    def respond(self, player: int, opponent_plan: Float, best: Float) -> float:
        """Write a best response to ``opponent_plan`` into ``best`` and return its value to the player."""
        return self._sweep(player, opponent_plan, best, respond=True)

    def _sweep(self, player: int, opponent_plan: Float, strategy: Float, *, respond: bool) -> float:
        sweep = _SWEEPS[self.threads > 1]
        plex, payoffs = self.form.treeplexes[player], self.form.payoffs[player]
        return sweep(plex, payoffs, opponent_plan, strategy, respond, self._gradient[player], self._values[player])


def _pair(form: SequenceForm, size: str) -> Strategies:
    first, second = (np.ones(getattr(plex, size)) for plex in form.treeplexes)
    return first, second
