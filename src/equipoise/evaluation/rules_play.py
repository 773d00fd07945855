"""A hand played through a game's rules, for games that cannot be listed and for players that are Python objects.

Chance's draws come from a generator of their own that is started anew for the second hand of a pair, as in the compiled
simulation: the same deal is played from both seats.
"""

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.evaluation.hands import Hand
from equipoise.evaluation.players import Player
from equipoise.games import CHANCE, TERMINAL, Game
from equipoise.games.game import pick


def play_hand_by_rules(game: Game, players: tuple[Player, Player], *, seat_of_a: int, seed: int, pair: int) -> Hand:
    """Play one hand of a pair; ``players`` are A and B."""
    chance = np.random.default_rng([seed, pair, 0])
    choices = np.random.default_rng([seed, pair, 1 + seat_of_a])
    state, taken = game.root(), []
    while (acting := state.player) != TERMINAL:
        if acting == CHANCE:
            action = state.sample_outcome(chance.random)
        else:
            player, actions = players[0 if acting == seat_of_a else 1], state.actions()
            probabilities = player.action_probabilities(state)
            if len(probabilities) != len(actions) or min(probabilities) < 0 or abs(sum(probabilities) - 1) > 1e-6:
                raise EquipoiseError(
                    f"{player.name} gives no distribution over the {len(actions)} actions at '{state.infoset_key()}'"
                )
            action = actions[pick(probabilities, choices.random())]
        taken.append(action)
        state = state.child(action)
    return Hand(game=game, number=2 * pair + seat_of_a, seat_of_a=seat_of_a, actions=tuple(taken), end=state)
