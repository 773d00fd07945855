"""Hands of poker, played at random but rarely folded, so that many go far."""

from collections.abc import Iterator
from random import Random

from equipoise.games import CHANCE, TERMINAL
from equipoise.games.betting import FOLD, RAISE
from equipoise.games.poker import PokerGame, PokerState

HOLDEM = [
    "flop_holdem",
    "limit_holdem",
    "limit_holdem(caps=3-4-4-4)",
    "nolimit_holdem",
    "nolimit_holdem(stack=2000)",
    "nolimit_holdem(stack=777,actions=full)",
    "nolimit_holdem(stack=20000,actions=full)",
    "nolimit_holdem(stack=1500,actions=0.5-1-2-allin)",
    "nolimit_holdem(stack=300,actions=0.75)",
]


def random_action(state: PokerState, dice: Random) -> int:
    """Return an action; raises together are as likely as calls, small ones as likely as all others."""
    actions = list(state.actions())
    if state.player == CHANCE:
        return dice.choice(actions)
    if actions[0] == FOLD and dice.random() < 0.9:
        del actions[0]
    kinds = [min(action, RAISE) for action in actions]
    kind = dice.choice(sorted(set(kinds)))
    same = [action for action in actions if min(action, RAISE) == kind]
    return dice.choice([same[0], dice.choice(same[:50]), dice.choice(same)])


def random_hand(game: PokerGame, seed: int) -> Iterator[tuple[PokerState, int]]:
    """Yield the states of a hand with the action taken in each; the last state comes with action -1."""
    dice = Random(seed)
    state = game.root()
    while state.player != TERMINAL:
        action = random_action(state, dice)
        yield state, action
        state = state.child(action)
    yield state, -1
