"""Who counts the nodes that are touched: whoever walks; others pass the number on."""

from typing import Protocol


class Walking(Protocol):
    """Traversals or episodes, which count."""

    nodes_touched: int


class NodesOf:
    """The count of something that walks, as one's own."""

    def __init__(self, walking: Walking) -> None:
        self._walking = walking

    @property
    def nodes_touched(self) -> int:
        """Return how many nodes have been visited in all."""
        return self._walking.nodes_touched

    @nodes_touched.setter
    def nodes_touched(self, count: int) -> None:
        self._walking.nodes_touched = count
