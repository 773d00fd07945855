"""What a game is here: rules only. Who acts, what is legal, who sees what, who is paid.

To add a game, subclass :class:`Game` and :class:`State` in one file (see ``examples/own_game.py``); everything else
(the compiled tree, every solver, exploitability, runs, export) follows from these methods. Games have two players, 0
and 1, and are zero-sum: a payoff is always the payoff *to player 0*.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

CHANCE = -1
TERMINAL = -2


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

    def action_name(self, action: int) -> str:
        """Return the action as a person would write it."""
        return str(action)


class Game(ABC):
    """A two-player zero-sum game with perfect recall."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the text from which ``load_game`` makes this game again, such as ``"nl_leduc(stack=5)"``."""

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
