"""Values of actions in spots: exact, from the spot's evaluator."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.errors import NotSupported
from equipoise.evaluation.appraisal import Appraisal, Belief, InfosetValues
from equipoise.evaluation.players import SpotPlayer, places_in
from equipoise.games.poker import Cards
from equipoise.games.spots import Spot
from equipoise.policies.spot_policy import SpotPolicy
from equipoise.trees.spot_evaluator import SpotEvaluator, SpotStrategy
from equipoise.trees.spot_form import SpotForm
from equipoise.trees.treeplex import Float


class Seated:
    """Two strategies on a spot, one for each seat."""

    def __init__(self, form: SpotForm, strategies: tuple[SpotStrategy, SpotStrategy]) -> None:
        self._form, self._strategies = form, strategies

    def write(self, number: int, first: int, end: int, out: Float) -> None:
        """Write weights of all actions on some boards of a round."""
        self._strategies[0].write(number, first, end, out)
        if self._strategies[1] is not self._strategies[0]:
            theirs = np.zeros_like(out)
            self._strategies[1].write(number, first, end, theirs)
            for part in places_in(self._form, number, first, end, player=1):
                out[part] = theirs[part]

    def arrays(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """Refuse: there is nothing to save."""
        raise NotSupported("two strategies at one table are not a policy that can be saved")


class SpotAppraiser:
    """Appraises infosets of a spot."""

    exact = True
    method = "exact"

    def __init__(self, player: SpotPlayer, opponent: SpotPlayer, form: SpotForm) -> None:
        self.game: Spot = form.game
        self._form = form
        own, theirs = (each.strategy_in(form) for each in (player, opponent))
        self._policies = tuple(
            SpotPolicy(form=form, strategy=Seated(form, pair)) for pair in ((own, theirs), (theirs, own))
        )

    @cached_property
    def _start_values(self) -> tuple[float, float]:
        evaluator = SpotEvaluator(self._form)
        first, second = (evaluator.best_responses(self._policies[seat].strategy).values[seat] for seat in range(2))
        return first, second

    def start_value(self, player: int) -> float:
        return self._start_values[player]

    def at(self, key: str) -> InfosetValues:
        cards, _, betting = key.partition("|")
        board = cards.partition("/")[2]
        found = self.line(betting, board)
        return found.infoset(found.place(key))

    def ranges(self, betting: str, board: str = "") -> tuple[Float, Float]:
        acting = self._policies[0].betting_at(betting).player
        first, second = (self._policies[acting].range_at(betting, board, player).weights for player in range(2))
        return first, second

    def line(self, betting: str, board: str = "") -> Appraisal:
        game = self.game
        player = self._policies[0].betting_at(betting).player
        shown = self._policies[player].line(betting, board)
        where = {hand: place for place, hand in enumerate(game.hands)}
        weights = game.weights[player][[where[hand] for hand in shown.hands]]
        chance = 1.0
        for dealt in range(len(game.board), len(shown.board)):
            chance /= game.deck.size - dealt - 4  # two hands are out
        paid = game.pot / 2 + shown.betting.spent[player]
        with np.errstate(invalid="ignore", divide="ignore"):
            own = np.where(weights > 0.0, shown.reach / weights, 0.0)
        return Appraisal(
            player=player,
            keys=[game.infoset_text(hand, shown.board, shown.betting.text) for hand in shown.hands],
            actions=shown.actions,
            probabilities=shown.probabilities,
            reached=shown.reached,
            own_reach=own,
            others_reach=weights * shown.opponents / game.pairs * chance,
            values=shown.values - paid,
            best_values=shown.best_values - paid,
            errors=None,
            believe=self._believer(player, betting, board, shown.hands),
            paid=paid,
            method=self.method,
            equity=shown.equity,
        )

    def _believer(self, player: int, betting: str, board: str, hands: Sequence[Cards]) -> Any:
        names = [self.game.hand_text(hand) for hand in self.game.hands]

        def believe(place: int) -> Belief:
            theirs = self._policies[player].range_at(betting, board, 1 - player).weights
            held = set(hands[place])
            weights = np.where([held.isdisjoint(other) for other in self.game.hands], theirs, 0.0)
            return Belief(names, weights / max(weights.sum(), 1e-300))

        return believe
