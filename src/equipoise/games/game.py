"""What a game is here: rules only. Who acts, what is legal, who sees what, who is paid.

To add a game, subclass :class:`Game` and :class:`State` in one file (see ``examples/own_game.py``); everything else
(the compiled tree, every solver, exploitability, runs, export) follows from these methods. Games have two players, 0
and 1, and are zero-sum: a payoff is always the payoff *to player 0*.
"""

import bisect
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

CHANCE = -1
TERMINAL = -2


def pick(probabilities: Sequence[float], draw: float) -> int:
    """Return the place that a draw from [0, 1) falls on, each place having its probability."""
    last = max(place for place, probability in enumerate(probabilities) if probability > 0)
    sums = list(itertools.accumulate(probabilities))
    return min(bisect.bisect_right(sums, draw * sums[-1]), last)  # rounding may go beyond


class State(ABC):
    """A history of the game. States are immutable: :meth:`child` returns a new one."""

    __slots__ = ()

    @property
    @abstractmethod
    def player(self) -> int:
        """Return who acts: 0, 1, ``CHANCE`` or ``TERMINAL``."""

    @abstractmethod
    def actions(self) -> Sequence[int]:
        """Return the legal actions, or the possible outcomes at a chance node, in a fixed order."""

    @abstractmethod
    def child(self, action: int) -> "State":
        """Return the state after ``action``."""

    @abstractmethod
    def infoset_key(self) -> str:
        """Return all that the acting player knows, as text. Histories with one key are one infoset."""

    @abstractmethod
    def payoff(self) -> float:
        """Return the payoff to player 0 (terminal states only)."""

    def chance_probabilities(self) -> Sequence[float]:
        """Return the probabilities of :meth:`actions` at a chance node; uniform unless a game says otherwise."""
        count = len(self.actions())
        return [1.0 / count] * count

    def sample_outcome(self, random: Callable[[], float]) -> int:
        """Return one of :meth:`actions` at a chance node, drawn; ``random`` gives numbers from [0, 1)."""
        return self.actions()[pick(self.chance_probabilities(), random())]

    def action_name(self, action: int) -> str:
        """Return the action as a person would write it."""
        return str(action)


class Game(ABC):
    """A two-player zero-sum game with perfect recall.

    ``max_depth`` (actions in a history, those of chance included) and ``max_nodes`` (histories) bound what is walked
    of rules, so that an endless game is refused. A class of one's own raises them where its game is larger.
    """

    max_depth: float = 1000
    max_nodes: float = 5_000_000
    _loaded_from: str | None = None

    @property
    def name(self) -> str:
        """Return what people call this game; what loads it again, unless it says otherwise."""
        return self._loaded_from or type(self).__name__

    @property
    def address(self) -> str:
        """Return what files call this game: the text that ``load_game`` made it from, else its name."""
        return self._loaded_from or self.name

    @abstractmethod
    def root(self) -> State:
        """Return the state before anything has happened."""

    def open_spiel_name(self) -> str | None:
        """Return OpenSpiel's text for the same game with actions in the same order, if it has the game."""
        return None

    def chip_unit(self) -> str:
        """Return the unit of payoffs, for printed numbers."""
        return "chips"

    def mbb_per_chip(self) -> float | None:
        """Return how many thousandths of a big blind (mbb) a chip is, for games that are measured in them."""
        return None
