"""A game whose states are made once and kept, so that naive recursion may pass over them many times."""

from functools import cached_property

from equipoise.games import Game, State


class Remembered(Game):
    """Any game, with the states of its tree kept in memory."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._root = RememberedState(game.root())

    def __repr__(self) -> str:
        return f"Remembered({self.game!r})"

    @property
    def name(self) -> str:
        return self.game.name

    def root(self) -> State:
        return self._root


class RememberedState(State):
    def __init__(self, state: State) -> None:
        self._state = state
        self._children: dict[int, RememberedState] = {}

    @cached_property
    def player(self) -> int:
        return self._state.player

    @cached_property
    def _actions(self) -> list[int]:
        return list(self._state.actions())

    @cached_property
    def _key(self) -> str:
        return self._state.infoset_key()

    @cached_property
    def _chances(self) -> list[float]:
        return list(self._state.chance_probabilities())

    @cached_property
    def _payoff(self) -> float:
        return self._state.payoff()

    def actions(self) -> list[int]:
        return self._actions

    def child(self, action: int) -> "RememberedState":
        if action not in self._children:
            self._children[action] = RememberedState(self._state.child(action))
        return self._children[action]

    def infoset_key(self) -> str:
        return self._key

    def chance_probabilities(self) -> list[float]:
        return self._chances

    def payoff(self) -> float:
        return self._payoff

    def action_name(self, action: int) -> str:
        return self._state.action_name(action)
