"""Suit isomorphism by the definition: try every renaming of suits, keep the smallest."""

import itertools


def renamed(cards, permutation):
    suits = len(permutation)
    return tuple(sorted(card // suits * suits + permutation[card % suits] for card in cards))


def canonical(suits, *sets):
    """Return the smallest (last set first) of all that differ by a renaming of suits."""
    images = (
        tuple(renamed(cards, permutation) for cards in reversed(sets))
        for permutation in itertools.permutations(range(suits))
    )
    return min(images)


def deals(deck_size, sizes):
    """Yield every way to deal disjoint sets of the given sizes."""
    if not sizes:
        yield ()
        return
    for first in itertools.combinations(range(deck_size), sizes[0]):
        left = [card for card in range(deck_size) if card not in first]
        for rest in deals(len(left), sizes[1:]):
            yield (first, *(tuple(left[place] for place in cards) for cards in rest))
