"""A hand played through a game's rules, for games that cannot be listed and for players that are Python objects.

Chance's draws come from a generator of their own that is started anew for the second hand of a pair, as in the compiled
simulation: the same deal is played from both seats.
"""

import bisect
import itertools
from collections.abc import Sequence

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.evaluation.hands import Hand
from equipoise.evaluation.players import Player
from equipoise.games import CHANCE, TERMINAL, Game


def play_hand_by_rules(game: Game, players: tuple[Player, Player], *, seat_of_a: int, seed: int, pair: int) -> Hand:
    """Play one hand of a pair; ``players`` are A and B."""
    chance = np.random.default_rng([seed, pair, 0])
    choices = np.random.default_rng([seed, pair, 1 + seat_of_a])
    state, taken = game.root(), []
    while state.player != TERMINAL:
        actions = state.actions()
        if state.player == CHANCE:
            probabilities, generator = state.chance_probabilities(), chance
        else:
            player = players[0 if state.player == seat_of_a else 1]
            probabilities, generator = player.action_probabilities(state), choices
            if len(probabilities) != len(actions) or min(probabilities) < 0 or abs(sum(probabilities) - 1) > 1e-6:
                raise EquipoiseError(
                    f"{player.name} gives no distribution over the {len(actions)} actions at '{state.infoset_key()}'"
                )
        action = actions[_place(generator.random() * sum(probabilities), probabilities)]
        taken.append(action)
        state = state.child(action)
    return Hand(game=game, number=2 * pair + seat_of_a, seat_of_a=seat_of_a, actions=tuple(taken))


def _place(draw: float, probabilities: Sequence[float]) -> int:
    """Return the first place at which the sum of probabilities exceeds the draw."""
    last = max(place for place, probability in enumerate(probabilities) if probability > 0)
    return min(bisect.bisect_right(list(itertools.accumulate(probabilities)), draw), last)  # rounding may go beyond
