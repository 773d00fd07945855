"""Repeated estimates of one value at a fixed strategy, to measure an estimator's variance. Nothing is updated."""

import numpy as np

from equipoise.compiled import kernel
from equipoise.regret.matching import UNIFORM
from equipoise.sampling.dice import start_stream
from equipoise.sampling.schemes import Scheme, SchemePlan
from equipoise.sampling.traversal import VALUE, Visits, make_visits, walk
from equipoise.sampling.tree import SampledGame, SampledTree, planned
from equipoise.trees.treeplex import Float


@kernel
def _root_values(
    tree: SampledTree,
    deal_width: int,
    scheme: SchemePlan,
    player: int,
    scores: Float,
    seed: int,
    iteration: int,
    visits: Visits,
    out: Float,
) -> None:
    ints, floats, buffer, dice = visits.ints[0], visits.floats[0], visits.buffer[0], visits.dice[0]
    tape, ends, top = visits.tape[0], visits.ends[0], tree.roots.size - 1
    for traversal in range(out.size):
        ends[0], ends[1] = 0, 0
        start_stream(dice, seed, iteration, player, traversal)
        walk(tree, np.uint64(deal_width), scheme, scores, UNIFORM, player, top, ints, floats, buffer, dice, tape, ends)
        out[traversal] = floats[VALUE]


class RootEstimates:
    """Estimates of the value of a game's first infoset, by a scheme."""

    def __init__(self, game: SampledGame, scheme: Scheme) -> None:
        self._tree, self._plan = planned(game, scheme)
        self._deal_width = game.deal_width
        self._visits = make_visits(game.tree)

    def sample(self, scores: Float, *, player: int, count: int, seed: int, iteration: int) -> Float:
        """Return ``count`` estimates of the root's value to ``player``, at the strategy that matches the scores."""
        out = np.zeros(count)
        _root_values(self._tree, self._deal_width, self._plan, player, scores, seed, iteration, self._visits, out)
        return out
