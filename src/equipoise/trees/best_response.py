"""Exact value and best responses, on any sequence form.

1. Turn both strategies into plans. 2. Per player: the gradient against the opponent's plan. 3. Sweep the treeplex from
the last infosets to the first, taking the best action (best response) or the strategy's mean (expected value).
"""

from typing import NamedTuple

import numpy as np

from equipoise.compiled import inlined, kernel, kernel_pair, prange
from equipoise.threads import Pace
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
def _best_block(block: int, plex: Treeplex, gradient: Float, values: Float) -> None:
    """Write the value of the best action of each infoset of a block."""
    width, infoset = plex.block_width[block], plex.block_infoset[block]
    value = values[infoset : infoset + width]
    for action in range(plex.block_actions[block]):
        start = plex.block_offset[block] + action * width
        action_value = gradient[start : start + width]
        for j in range(width):
            value[j] = action_value[j] if action == 0 else max(value[j], action_value[j])


@inlined
def _mean_block(block: int, plex: Treeplex, gradient: Float, strategy: Float, values: Float) -> None:
    """Write the value of each infoset of a block under the strategy."""
    width, infoset = plex.block_width[block], plex.block_infoset[block]
    value = values[infoset : infoset + width]
    for action in range(plex.block_actions[block]):
        start = plex.block_offset[block] + action * width
        action_value, probability = gradient[start : start + width], strategy[start : start + width]
        for j in range(width):
            value[j] = probability[j] * action_value[j] + (value[j] if action > 0 else 0.0)


def _sweep(
    plex: Treeplex,
    payoffs: Payoffs,
    own_plan: Float,
    opponent_plan: Float,
    strategy: Float,
    respond: bool,
    gradient: Float,
    values: Float,
    subgame_values: Float,
) -> tuple[float, float]:
    """Return what a best response (or ``strategy``) wins against a plan, and what ``own_plan`` wins against it.

    The second number is the value of ``own_plan`` when the game has one subgame. ``gradient`` is left holding the value
    of every sequence.
    """
    num_subgames = plex.subgame_level.size - 1
    planned = 0.0
    for subgame in range(num_subgames):
        scale, shift = continuation(payoffs, subgame, subgame_values)
        for chunk in prange(payoffs.subgame_chunk[subgame], payoffs.subgame_chunk[subgame + 1]):
            gradient_chunk(payoffs, chunk, scale, shift, opponent_plan, gradient)
        if num_subgames == 1:
            for sequence in range(gradient.size):
                planned += own_plan[sequence] * gradient[sequence]
        for level in range(plex.subgame_level[subgame + 1] - 1, plex.subgame_level[subgame] - 1, -1):
            first, last = plex.level_start[level], plex.level_start[level + 1]
            for block in prange(first, last):
                if respond:
                    _best_block(block, plex, gradient, values)
                else:
                    _mean_block(block, plex, gradient, strategy, values)
            for infoset in range(plex.block_infoset[first], plex.block_infoset[last - 1] + plex.block_width[last - 1]):
                gradient[plex.parent_sequence[infoset]] += values[infoset]
        subgame_values[subgame] = gradient[subgame]
    return subgame_values[num_subgames - 1], planned


_SWEEPS = kernel_pair(_sweep)


@kernel
def _write_best_actions(plex: Treeplex, gradient: Float, values: Float, best: Float) -> None:
    """Write the best response that a sweep found as a pure strategy: the first of equally good actions."""
    for block in range(plex.block_offset.size):
        offset, width, infoset = plex.block_offset[block], plex.block_width[block], plex.block_infoset[block]
        for j in range(width):
            chosen = False
            for action in range(plex.block_actions[block]):
                k = offset + action * width + j
                is_best = not chosen and gradient[k] == values[infoset + j]
                best[k] = 1.0 if is_best else 0.0
                chosen = chosen or is_best


class Evaluator:
    """Best responses on one game, with buffers that are used again: a call costs about one CFR iteration."""

    def __init__(self, form: SequenceForm, *, threads: int = 1) -> None:
        self.form = form
        self._pace = Pace(threads)
        self._plans = _pair(form, "num_sequences")
        self._gradient = _pair(form, "num_sequences")
        self._values = _pair(form, "num_infosets")

    def best_responses(self, strategies: Strategies) -> BestResponses:
        """Return the exact value and best-response values of a pair of strategies."""
        for player in range(2):
            write_plan(self.form.treeplexes[player], strategies[player], self._plans[player])
        (first, value), (second, _) = (self._sweep(player, strategies[player], respond=True) for player in range(2))
        if self.form.treeplexes[0].num_subgames > 1:
            value, _ = self._sweep(0, strategies[0], respond=False)
        return BestResponses(value, (first, second))

    def value(self, strategies: Strategies) -> float:
        """Return the exact value to player 0 of a pair of strategies."""
        write_plan(self.form.treeplexes[1], strategies[1], self._plans[1])
        value, _ = self._sweep(0, strategies[0], respond=False)
        return value

    def infoset_values(self, player: int, strategies: Strategies) -> Float:
        """Return the counterfactual value of each infoset to its player: payoff x reach of chance and the opponent."""
        write_plan(self.form.treeplexes[1 - player], strategies[1 - player], self._plans[1 - player])
        self._sweep(player, strategies[player], respond=False)
        return self._values[player].copy()

    def action_values(self, player: int, strategies: Strategies, *, respond: bool = False) -> Float:
        """Return the counterfactual value of each of a player's sequences, of all actions after it by its strategy.

        With ``respond``, what follows is a best response to the opponent's strategy instead.
        """
        write_plan(self.form.treeplexes[1 - player], strategies[1 - player], self._plans[1 - player])
        self._sweep(player, strategies[player], respond=respond)
        return self._gradient[player].copy()

    def respond(self, player: int, opponent_plan: Float, best: Float) -> float:
        """Write a best response to ``opponent_plan`` into ``best`` and return its value to the player."""
        self._plans[1 - player][:] = opponent_plan
        value, _ = self._sweep(player, best, respond=True)
        _write_best_actions(self.form.treeplexes[player], self._gradient[player], self._values[player], best)
        return value

    def _sweep(self, player: int, strategy: Float, *, respond: bool) -> tuple[float, float]:
        for _, _, threads in self._pace.slices(1):
            found = _SWEEPS[threads > 1](
                self.form.treeplexes[player],
                self.form.payoffs[player],
                self._plans[player],
                self._plans[1 - player],
                strategy,
                respond,
                self._gradient[player],
                self._values[player],
                np.zeros(self.form.treeplexes[player].num_subgames),
            )
        return found


def _pair(form: SequenceForm, size: str) -> Strategies:
    first, second = (np.ones(getattr(plex, size)) for plex in form.treeplexes)
    return first, second
