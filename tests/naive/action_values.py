"""Values of actions by the rules: every history of an infoset, each action followed to all ends."""

from typing import NamedTuple

from equipoise.games import TERMINAL, Game, State
from tests.naive.values import Policy, children, histories


class Known(NamedTuple):
    own_reach: float
    others_reach: float
    values: list[float]
    best_values: list[float]
    belief: dict[str, float]  # by the names of a history's actions


def action_values(game: Game, own: Policy, theirs: Policy) -> dict[tuple[int, str], Known]:
    """Return what is known of each infoset of a player with strategy ``own`` that meets ``theirs``."""
    found = {}
    for player in range(2):
        found |= _of_player(game, player, own, theirs)
    return found


def _of_player(game: Game, player: int, own: Policy, theirs: Policy) -> dict[tuple[int, str], Known]:
    infosets: dict[str, list[tuple[State, float, float, str]]] = {}

    def walk(state: State, mine: float, others: float, way: tuple[str, ...]) -> None:
        if state.player == player:
            infosets.setdefault(state.infoset_key(), []).append((state, mine, others, ", ".join(way)))
        if state.player == TERMINAL:
            return
        for action, (child, p) in zip(state.actions(), children(state, policy(state)), strict=True):
            acts = state.player == player
            name = state.action_name(action)
            walk(child, mine * p if acts else mine, others if acts else others * p, (*way, name))

    def policy(state: State) -> Policy:
        return own if state.player == player else theirs

    def value(state: State, best: bool) -> float:
        if state.player == TERMINAL:
            return state.payoff() if player == 0 else -state.payoff()
        if best and state.player == player:
            return value(state.child(state.actions()[best_action(state.infoset_key())]), best)
        return sum(p * value(child, best) for child, p in children(state, policy(state)) if p > 0)

    chosen: dict[str, int] = {}

    def best_action(key: str) -> int:
        if key not in chosen:
            worth = weighted(key, best=True)
            chosen[key] = worth.index(max(worth))
        return chosen[key]

    def weighted(key: str, *, best: bool) -> list[float]:
        actions = infosets[key][0][0].actions()
        return [sum(others * value(s.child(a), best) for s, _, others, _ in infosets[key]) for a in actions]

    walk(game.root(), 1.0, 1.0, ())
    found = {}
    for key, held in infosets.items():
        reach = sum(others for _, _, others, _ in held)
        scale = reach or float("nan")
        found[player, key] = Known(
            own_reach=held[0][1],
            others_reach=reach,
            values=[worth / scale for worth in weighted(key, best=False)],
            best_values=[worth / scale for worth in weighted(key, best=True)],
            belief={way: others / scale for _, _, others, way in held if others > 0},
        )
    return found


def random_policy(game: Game, random, *, never: float = 0.2) -> Policy:
    """Return a policy without pattern, in which some actions are never played."""
    found: Policy = {}
    for state in histories(game):
        if state.player >= 0 and state.infoset_key() not in found:
            weights = [(0.0 if random.random() < never else random.random()) for _ in state.actions()]
            if sum(weights) == 0:
                weights[0] = 1.0
            found[state.infoset_key()] = [weight / sum(weights) for weight in weights]
    return found
