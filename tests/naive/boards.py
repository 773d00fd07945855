"""Showdowns and folds by the definition: every hand against every other that shares no card with it."""


def numbers(hands, strengths, reach, own):
    """Return (won minus lost, reach in all) of one hand against hands with the given reach."""
    difference = total = 0.0
    for hand, strength, weight in zip(hands, strengths, reach, strict=True):
        if not set(hand) & set(hands[own]):
            difference += weight * ((strengths[own] > strength) - (strengths[own] < strength))
            total += weight
    return difference, total
