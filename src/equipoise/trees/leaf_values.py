"""The seam at the closings of a round: what follows a deal of board cards is asked here, and nowhere else."""

from typing import Protocol, TypeVar

from equipoise.trees.treeplex import Float

Entering = TypeVar("Entering", contravariant=True)


class LeafValues(Protocol[Entering]):
    """What the closings of a round are worth: solved on, checked down, by a network, nothing.

    How players enter is the form's: rows of plans on a spot's board, vectors of hands in a look-ahead. Values are
    counterfactual, and may keep from iteration to iteration what they need.
    """

    def closings(self, entering: Entering, player: int, iteration: int) -> Float:
        """Return what a player's hands are worth at each closing, [closings, hands]."""
