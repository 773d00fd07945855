"""Which boards a turn works on, in games over boards."""

import numpy as np

from equipoise.errors import InvalidParameter
from equipoise.trees.board_form import BoardForm
from equipoise.trees.treeplex import Float, Int64


class BoardSample:
    """Which boards a turn works on: all of them, or some, each as often as its weight asks for.

    Systematic sampling from a shuffled list: a fixed number of different boards, where board b is among them with
    probability count x weight(b) / all raw boards, so that a sum over boards is estimated without bias.
    """

    def __init__(
        self, form: BoardForm, count: int | None, seed: int, *, name: str = "boards", otherwise: str = ""
    ) -> None:
        self._seed, self._count = seed, count
        self._all = np.arange(form.num_boards)
        if count is not None:
            weight = form.cards.board_weight
            self._inclusion = count * weight / weight.sum()
            if count < 1 or self._inclusion.max() > 1.0:
                most = int(weight.sum() // weight.max())
                raise InvalidParameter(f"{name}={count} is not valid; give 1 to {most}{otherwise}")

    def draw(self, iteration: int, turn: int) -> tuple[Int64, Float]:
        """Return the boards of a turn, and one over the chance that each had to be among them."""
        if self._count is None:
            return self._all, np.ones(len(self._all))
        random = np.random.default_rng([self._seed, iteration, turn])
        shuffled = random.permutation(self._all)
        ends = np.cumsum(self._inclusion[shuffled])
        marks = np.arange(self._count) + random.random()
        places = np.minimum(np.searchsorted(ends, marks, side="right"), len(ends) - 1)
        boards = np.sort(shuffled[places])
        return boards, 1.0 / self._inclusion[boards]
