"""Between policies as dictionaries (infoset key to probabilities) and a compiled game's flat strategy arrays."""

import numpy as np

from equipoise.trees.sequence_form import SequenceForm
from tests.naive.values import Policy

Arrays = tuple[np.ndarray, np.ndarray]

_layouts: dict[int, tuple[SequenceForm, list[list[tuple[str, np.ndarray]]]]] = {}


def layout(form: SequenceForm) -> list[list[tuple[str, np.ndarray]]]:
    """Return, per player and infoset, the key and the sequences of its actions in order."""
    if id(form) not in _layouts:
        players = []
        for player, plex in enumerate(form.treeplexes):
            places = zip(plex.first_sequences(), plex.strides(), plex.num_actions(), strict=True)
            sequences = [first + stride * np.arange(actions) for first, stride, actions in places]
            players.append(list(zip(form.keys(player), sequences, strict=True)))
        _layouts[id(form)] = (form, players)  # the form is kept, so that its id stays its own
    return _layouts[id(form)][1]


def to_strategies(form: SequenceForm, policy: Policy) -> Arrays:
    strategies = (np.ones(form.treeplexes[0].num_sequences), np.ones(form.treeplexes[1].num_sequences))
    for strategy, infosets in zip(strategies, layout(form), strict=True):
        for key, sequences in infosets:
            strategy[sequences] = policy[key]
    return strategies


def to_policy(form: SequenceForm, arrays: Arrays) -> Policy:
    """Return numbers per sequence (a strategy, regrets, sums) by infoset key."""
    return {
        key: array[sequences].tolist()
        for array, infosets in zip(arrays, layout(form), strict=True)
        for key, sequences in infosets
    }


def random_policy(form: SequenceForm, seed: int) -> Policy:
    """Return a policy without pattern, in which about a fifth of the probabilities are zero."""
    random = np.random.default_rng(seed)
    policy: Policy = {}
    for infosets in layout(form):
        for key, sequences in infosets:
            weights = random.random(len(sequences)) * (random.random(len(sequences)) > 0.2)
            weights += not weights.any()
            policy[key] = (weights / weights.sum()).tolist()
    return policy


def largest_difference(first: Policy, second: Policy) -> float:
    assert first.keys() == second.keys()
    return max(float(np.max(np.abs(np.subtract(first[key], second[key])))) for key in first)
