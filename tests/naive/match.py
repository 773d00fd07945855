"""The sums of a match from the hands that were played, through the rules: what the compiled simulation adds up."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from equipoise.evaluation.hands import Hand


def sums_of(hands: Iterable[Hand], corrections: Mapping[str, Sequence[float]], observer: int) -> np.ndarray:
    """Return the sums over pairs of hands; corrections by key count where the observer (0: A, 1: B) acts."""
    samples = []
    for hand in hands:
        corrected = 0.0
        for state, action in hand.decisions():
            if (0 if state.player == hand.seat_of_a else 1) == observer:
                corrected += corrections[state.infoset_key()][list(state.actions()).index(action)]
        samples.append((hand.payoff_to_a(), corrected))
    found = []
    for kind in range(2):
        seats = np.array(samples)[:, kind].reshape(-1, 2)
        columns = np.column_stack([seats, seats.mean(axis=1)])
        found += [columns.sum(axis=0), (columns**2).sum(axis=0)]
    return np.concatenate(found)
