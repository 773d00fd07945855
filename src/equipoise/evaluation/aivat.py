"""AIVAT (Burch, Schmid, Moravcik and Bowling 2018): what luck did to a hand, taken out of its payoff without bias.

One seat, the *observer*, has a strategy that need not be known; chance and the other seat, the *known* one, have
strategies that are. Histories that differ only in what the observer does not see are one class: the observer's infoset
(with perfect recall its strategy reaches all of a class's histories alike, which is what the paper asks of a class). In
a class the known seat's private states have a posterior that only chance and the known strategy decide, so payoffs and
values are averaged over all of them, not read off the one that was dealt: the paper's sums over pi_pa ("imaginary
observations"). Any number V per infoset of the observer may serve as the estimate of what it is worth. Then, with

    w(I)    reach of infoset I by chance and the known strategy, summed over its histories
    Q(I, a) what is to be expected after the observer's action a: (payoffs of hands that end before the observer acts
            again + sum over its next infosets J of w(J) V(J)) / w(I); Q(start) likewise, before its first infoset

base value and correction terms of a hand in which the observer chose a_t at I_t add up to

    Q(start) + sum over t of (Q(I_t, a_t) - V(I_t))

because everything between two decisions of the observer is known, and corrected in one step. Its expectation is that of
the payoff whatever V is; the better V, the smaller the variance. Where the observer's strategy s is known too, its own
choices are corrected as well: Q(I_t, a_t) gives way to the mean of Q(I_t, .) under s.

In games of several rounds that forget each other (Bluff), w is the reach within a round, and what follows a round is
worth the next round's Q(start).
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from equipoise.compiled import kernel
from equipoise.games import TERMINAL
from equipoise.sampling.tree import SampledGame
from equipoise.trees.best_response import Evaluator
from equipoise.trees.game_tree import GameTree
from equipoise.trees.payoffs import Payoffs, continuation, gradient_chunk
from equipoise.trees.public_tree import PublicTree, vector_form
from equipoise.trees.sequence_form import SequenceForm, sequence_form
from equipoise.trees.treeplex import Float, Treeplex, write_plan


class Corrections(NamedTuple):
    """An observer's side of AIVAT, in payoffs to the observer: an estimate is the start plus what each action adds."""

    start: float
    by_action: Float  # [the observer's sequences]


class LuckCorrector:
    """Finds corrections on one compiled game."""

    def __init__(self, form: SequenceForm, pays_one: SequenceForm) -> None:
        """Make one for a game; ``pays_one`` is the same game where every end pays 1 (see ``paying_one``)."""
        self.form = form
        self._evaluator = Evaluator(form)
        self._reach_evaluator = Evaluator(pays_one)

    def reach(self, observer: int, known: Float) -> Float:
        """Return w: chance's and the known strategy's reach of each infoset of the observer."""
        # Where every end pays 1, a counterfactual value is a reach, whatever the observer does.
        pair = _seated(observer, self.form.treeplexes[observer].uniform_strategy(), known)
        return np.abs(self._reach_evaluator.infoset_values(observer, pair))  # the second player is paid -1

    def values(self, observer: int, known: Float, assumed: Float) -> Float:
        """Return V: the exact value of each infoset to an observer that were to play the ``assumed`` strategy."""
        weighted = self._evaluator.infoset_values(observer, _seated(observer, assumed, known))
        return _quotient(weighted, self.reach(observer, known))

    def corrections(
        self, observer: int, known: Float, values: Float, observer_strategy: Float | None = None
    ) -> Corrections:
        """Return what each action of the observer adds, for any values; with its strategy, for no choice of its own."""
        plex = self.form.treeplexes[observer]
        reach = self.reach(observer, known)
        plan, weighted = np.empty(len(known)), np.empty(plex.num_sequences)
        write_plan(self.form.treeplexes[1 - observer], known, plan)
        start = _write_action_values(
            plex, self.form.payoffs[observer], plan, reach * values, weighted, np.zeros(plex.num_subgames)
        )
        sequences, first_action = plex.sequence_table()
        infoset = np.repeat(np.arange(plex.num_infosets), plex.num_actions())
        action_values = _quotient(weighted[sequences], reach[infoset])
        if observer_strategy is not None and len(sequences):
            means = np.add.reduceat(observer_strategy[sequences] * action_values, first_action[:-1])
            action_values = means[infoset]
        by_action = np.zeros(plex.num_sequences)
        by_action[sequences] = action_values - values[infoset]
        return Corrections(start, by_action)


@kernel
def _write_action_values(
    plex: Treeplex,
    payoffs: Payoffs,
    known_plan: Float,
    weighted_values: Float,
    action_values: Float,
    subgame_values: Float,
) -> float:
    """Write w(I) Q(I, a) for each sequence and return Q(start); ``weighted_values`` are w(I) V(I)."""
    num_subgames = plex.subgame_level.size - 1
    for subgame in range(num_subgames):
        scale, shift = continuation(payoffs, subgame, subgame_values)
        for chunk in range(payoffs.subgame_chunk[subgame], payoffs.subgame_chunk[subgame + 1]):
            gradient_chunk(payoffs, chunk, scale, shift, known_plan, action_values)
        first = plex.level_start[plex.subgame_level[subgame]]
        last = plex.level_start[plex.subgame_level[subgame + 1]]
        for block in range(first, last):
            begin = plex.block_infoset[block]
            for infoset in range(begin, begin + plex.block_width[block]):
                action_values[plex.parent_sequence[infoset]] += weighted_values[infoset]
        subgame_values[subgame] = action_values[subgame]
    return float(subgame_values[num_subgames - 1])


def paying_one(game: SampledGame) -> SequenceForm:
    """Return a listed game's form with the payoff 1 to player 0 at the end of every hand, or of every round of one."""
    if game.public is not None:
        return public_paying_one(game.public)
    assert game.histories is not None
    return histories_paying_one(game.histories)


def histories_paying_one(source: GameTree) -> SequenceForm:
    """Return the same for a tree of histories."""
    return sequence_form(dataclasses.replace(source, payoff=(source.player == TERMINAL).astype(np.float64)))


def public_paying_one(source: PublicTree) -> SequenceForm:
    """Return the same for a public tree."""
    return vector_form(
        dataclasses.replace(
            source,
            terminal_amount=(source.player == TERMINAL).astype(np.float64),
            payoff_matrices=tuple(np.ones_like(matrix) for matrix in source.payoff_matrices),
            continuation=np.full_like(source.continuation, -1),
        )
    )


def _seated(observer: int, observers: Float, known: Float) -> tuple[Float, Float]:
    return (observers, known) if observer == 0 else (known, observers)


def _quotient(numerator: Float, reach: Float) -> Float:
    """Return numerator / reach, and 0 where the known strategy never leads."""
    return np.divide(numerator, reach, out=np.zeros_like(numerator), where=reach > 0.0)
