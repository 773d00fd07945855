"""One episode of self-play through a poker game's own rules, with the draws that episodes in lockstep make."""

from equipoise.games import TERMINAL
from tests.naive.lockstep import after_deals, dealt


def happens(stream, probability):
    return probability >= 1.0 or stream.draw() < probability


def play(game, values_of, policy_of, epsilon, anticipatory, stream):
    """Return each player's moves (key, action, key of the next one or None, reward), who responds, nodes touched."""
    state, board = dealt(game, stream)
    responds = [happens(stream, anticipatory) for _ in range(2)]
    made, touched = ([], []), 1
    while state.player != TERMINAL:
        who, actions = state.player, list(state.actions())
        if not responds[who]:
            place = stream.weighted(policy_of(state))
        elif happens(stream, epsilon):
            place = stream.index(len(actions))
        else:
            values = values_of(state)
            place = values.index(max(values))
        made[who].append((state.infoset_key(), actions[place]))
        state, deals = after_deals(state.child(actions[place]), board)
        touched += deals + 1
    moves = []
    for own, payoff in zip(made, (state.payoff(), -state.payoff()), strict=True):
        following = [key for key, _ in own[1:]] + [None]
        rewards = [0.0] * (len(own) - 1) + [payoff]
        moves.append([(*move, key, reward) for move, key, reward in zip(own, following, rewards, strict=False)])
    return moves, responds, touched
