"""Hand strength by the definition: every hand of a group against one, on one board."""

from tests.naive.boards import numbers


def win_share(hands, strengths, group, own):
    """Return what a hand wins less what it loses, over all hands of a group that share no card with it."""
    difference, total = numbers(hands, strengths, [1.0 if inside else 0.0 for inside in group], own)
    return difference / total if total else 0.0
