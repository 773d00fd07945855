"""Expected values and best responses by recursion. A policy is a dictionary from infoset key to probabilities."""

from collections.abc import Iterator

from equipoise.games import CHANCE, TERMINAL, Game, State

Policy = dict[str, list[float]]


def histories(game: Game) -> Iterator[State]:
    """Yield every history, depth first."""
    stack = [game.root()]
    while stack:
        state = stack.pop()
        yield state
        stack.extend(state.child(action) for action in state.actions())


def uniform_policy(game: Game) -> Policy:
    return {s.infoset_key(): [1 / len(s.actions())] * len(s.actions()) for s in histories(game) if s.player >= 0}


def children(state: State, policy: Policy) -> list[tuple[State, float]]:
    """Return the states that may follow, with the probability that chance or the policy gives them."""
    chances = state.chance_probabilities() if state.player == CHANCE else policy[state.infoset_key()]
    return [(state.child(action), p) for action, p in zip(state.actions(), chances, strict=True)]


def expected_value(state: State, policy: Policy) -> float:
    """Return the expected payoff to player 0 from here on."""
    if state.player == TERMINAL:
        return state.payoff()
    return sum(p * expected_value(child, policy) for child, p in children(state, policy) if p > 0)


def counterfactual_reach(game: Game, policy: Policy, player: int) -> list[tuple[State, float]]:
    """Return the histories in which ``player`` acts, with the probability that all others give them."""
    found = []

    def walk(state: State, reach: float) -> None:
        if state.player == player:
            found.append((state, reach))
        for child, p in children(state, policy) if state.player != TERMINAL else []:
            walk(child, reach if state.player == player else reach * p)

    walk(game.root(), 1.0)
    return found


def best_response_value(game: Game, policy: Policy, player: int) -> float:
    """Return what ``player`` wins against the policy by taking, in each infoset, the action that is best there."""
    infosets: dict[str, list[tuple[State, float]]] = {}
    for state, reach in counterfactual_reach(game, policy, player):
        infosets.setdefault(state.infoset_key(), []).append((state, reach))
    best: dict[str, int] = {}

    def best_action(key: str) -> int:
        if key not in best:
            actions = infosets[key][0][0].actions()
            worth = [sum(r * value(s.child(a)) for s, r in infosets[key] if r > 0) for a in actions]
            best[key] = actions[worth.index(max(worth))]
        return best[key]

    def value(state: State) -> float:
        if state.player == TERMINAL:
            return state.payoff() if player == 0 else -state.payoff()
        if state.player == player:
            return value(state.child(best_action(state.infoset_key())))
        return sum(p * value(child) for child, p in children(state, policy) if p > 0)

    return value(game.root())


def nash_conv(game: Game, policy: Policy) -> float:
    """Return the sum of what the two players could gain by a best response."""
    return best_response_value(game, policy, 0) + best_response_value(game, policy, 1)
