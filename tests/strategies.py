"""Between policies as dictionaries (infoset key to probabilities) and a compiled game's flat strategy arrays."""

import numpy as np

from equipoise.trees.sequence_form import SequenceForm
from tests.naive.values import Policy


def sequences_of(form: SequenceForm, player: int) -> list[np.ndarray]:
    """Return each infoset's sequences, in the order of its actions."""
    plex = form.treeplexes[player]
    starts = zip(plex.first_sequences(), plex.strides(), plex.num_actions(), strict=True)
    return [first + stride * np.arange(actions) for first, stride, actions in starts]


def to_strategies(form: SequenceForm, policy: Policy) -> tuple[np.ndarray, np.ndarray]:
    strategies = (np.ones(form.treeplexes[0].num_sequences), np.ones(form.treeplexes[1].num_sequences))
    for player in range(2):
        for key, sequences in zip(form.keys(player), sequences_of(form, player), strict=True):
            strategies[player][sequences] = policy[key]
    return strategies


def to_policy(form: SequenceForm, arrays: tuple[np.ndarray, np.ndarray]) -> Policy:
    """Return numbers per sequence (a strategy, regrets, sums) by infoset key."""
    return {
        key: arrays[player][sequences].tolist()
        for player in range(2)
        for key, sequences in zip(form.keys(player), sequences_of(form, player), strict=True)
    }


def random_policy(form: SequenceForm, seed: int) -> Policy:
    """Return a policy without pattern, in which about a fifth of the probabilities are zero."""
    random = np.random.default_rng(seed)
    policy: Policy = {}
    for player in range(2):
        for key, actions in zip(form.keys(player), form.treeplexes[player].num_actions(), strict=True):
            weights = random.random(actions) * (random.random(actions) > 0.2)
            weights += not weights.any()
            policy[key] = (weights / weights.sum()).tolist()
    return policy


def largest_difference(first: Policy, second: Policy) -> float:
    assert first.keys() == second.keys()
    return max(float(np.max(np.abs(np.subtract(first[key], second[key])))) for key in first)
