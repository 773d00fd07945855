"""A hand played through a game's rules, for games that cannot be listed and for players that are Python objects.

Chance's draws come from a generator of their own that is started anew for the second hand of a pair, as in the compiled
simulation: the same deal is played from both seats.
"""

import numpy as np

from equipoise.errors import NotSupported
from equipoise.evaluation.hands import Hand
from equipoise.evaluation.players import Player
from equipoise.games import CHANCE, TERMINAL, Game, State
from equipoise.games.game import pick
from equipoise.games.referee import BrokenRules, Referee, name_of, require_distinct


def play_hand_by_rules(game: Game, players: tuple[Player, Player], *, seat_of_a: int, seed: int, pair: int) -> Hand:
    """Play one hand of a pair; ``players`` are A and B."""
    chance = np.random.default_rng([seed, pair, 0])
    choices = np.random.default_rng([seed, pair, 1 + seat_of_a])
    referee = Referee(game)
    taken: list[int] = []
    states: list[State] = []
    try:
        state = referee.root()
        while (acting := referee.player(state)) != TERMINAL:
            if len(taken) == game.max_depth:
                raise referee.too_deep()
            if acting == CHANCE:
                action = referee.drawn(state, chance.random)
            else:
                action = _chosen(referee, state, players[0 if acting == seat_of_a else 1], choices.random())
            child = referee.child(state, action)
            taken.append(action)
            states.append(state)
            state = child
        referee.position(state)  # its payoff
    except BrokenRules as fault:
        raise referee.refusal(list(map(name_of, states, taken)), fault) from fault.__cause__
    return Hand(game=game, number=2 * pair + seat_of_a, seat_of_a=seat_of_a, actions=tuple(taken), end=state)


def _chosen(referee: Referee, state: State, player: Player, draw: float) -> int:
    """Return what a player does."""
    _, actions, _, _ = referee.position(state)
    require_distinct(actions)
    try:
        probabilities = player.action_probabilities(state)
    except Exception:
        referee.key(state)  # players ask the rules, too: these may be at fault
        referee.action_names(state, actions)
        raise
    fits = len(probabilities) == len(actions) and min(probabilities) >= 0 and abs(sum(probabilities) - 1) <= 1e-6
    if not fits:
        raise NotSupported(
            f"{player.name} does not give probabilities for the {len(actions)} actions at '{referee.key(state)}'"
        )
    return actions[pick(probabilities, draw)]
