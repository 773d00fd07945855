"""The value of a game by linear programming on its sequence form (Koller, Megiddo and von Stengel 1996)."""

import numpy as np
from scipy.optimize import linprog

from equipoise.games import CHANCE, TERMINAL, Game, State

Sequence = tuple[str, int] | None  # a player's last infoset and action; None before the first


def game_value(game: Game) -> float:
    """Return the value to player 0: max over x of min over y of x'Ay, x and y realisation plans."""
    sequences: tuple[dict[Sequence, int], ...] = ({None: 0}, {None: 0})
    infosets: tuple[dict[str, tuple[Sequence, int]], ...] = ({}, {})
    payoffs: dict[tuple[int, int], float] = {}

    def walk(state: State, last: tuple[Sequence, Sequence], chance: float) -> None:
        if state.player == TERMINAL:
            pair = (sequences[0][last[0]], sequences[1][last[1]])
            payoffs[pair] = payoffs.get(pair, 0.0) + chance * state.payoff()
        elif state.player == CHANCE:
            for action, p in zip(state.actions(), state.chance_probabilities(), strict=True):
                walk(state.child(action), last, chance * p)
        else:
            player, key = state.player, state.infoset_key()
            infosets[player].setdefault(key, (last[player], len(state.actions())))
            for number, action in enumerate(state.actions()):
                sequences[player].setdefault((key, number), len(sequences[player]))
                after = ((key, number), last[1]) if player == 0 else (last[0], (key, number))
                walk(state.child(action), after, chance)

    walk(game.root(), (None, None), 1.0)

    def constraints(player: int) -> np.ndarray:
        """Return E with E x = (1, 0, ..., 0) for realisation plans x."""
        matrix = np.zeros((1 + len(infosets[player]), len(sequences[player])))
        matrix[0, 0] = 1.0
        for row, (key, (before, actions)) in enumerate(infosets[player].items(), start=1):
            matrix[row, sequences[player][before]] = -1.0
            for number in range(actions):
                matrix[row, sequences[player][key, number]] = 1.0
        return matrix

    matrix = np.zeros((len(sequences[0]), len(sequences[1])))
    for pair, payoff in payoffs.items():
        matrix[pair] = payoff
    own, theirs = constraints(0), constraints(1)
    # The inner minimum over y >= 0 with F y = f is, by duality, the maximum of f'q over F'q <= A'x.
    count, duals = len(sequences[0]), len(theirs)
    result = linprog(
        c=np.concatenate([np.zeros(count), [-1.0], np.zeros(duals - 1)]),
        A_ub=np.hstack([-matrix.T, theirs.T]),
        b_ub=np.zeros(len(sequences[1])),
        A_eq=np.hstack([own, np.zeros((len(own), duals))]),
        b_eq=np.eye(len(own))[0],
        bounds=[(0, None)] * count + [(None, None)] * duals,
        method="highs",
    )
    assert result.success, result.message
    return -result.fun
