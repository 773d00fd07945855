"""Games with faulty rules: at some histories, some methods answer what no game can answer, or raise."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from equipoise.errors import EquipoiseError
from equipoise.games import CHANCE, TERMINAL, Game, State
from tests.random_games import RandomGame, RandomState


class Raises:
    """Stands for an answer that is an exception."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __repr__(self) -> str:
        return f"Raises({self.error!r})"


ERRORS = [
    Raises(error)
    for error in (
        *(
            ValueError("two\nlines"),
            KeyError("x"),
            IndexError(),
            StopIteration(),
            RecursionError(),
            ZeroDivisionError(),
        ),
        *(AssertionError(), EquipoiseError("two\nlines"), MemoryError(), OSError(2, "gone"), NotImplementedError()),
        UnicodeEncodeError("utf-8", "\ud800", 0, 1, "x"),
    )
]
NAN, INF = float("nan"), float("inf")
ANSWERS: dict[str, list[object]] = {
    "player": [2, -3, 7, 10**20, None, "0", 1.0, True, NAN, np.int8(1), np.array([0, 1]), CHANCE, TERMINAL, 0, 1],
    "actions": [
        [],
        [0, 0],
        None,
        [None],
        ["a"],
        [2**70],
        [-1],
        range(10**9),
        {0, 1},
        "01",
        5,
        [0.5],
        np.arange(2),
        [[]],
    ],
    "chance_probabilities": [[], [-1, 2], [NAN], None, [0.5], "ab", [1.0, INF], [1e-300], ["a"], [1.0], np.ones(2) / 2],
    "infoset_key": [None, "\0", "\ud800", "", 5, b"a", "a" * 100_000, "\n", " ", "same"],
    "payoff": [NAN, INF, -INF, None, "1", 1e300, 10**400, Fraction(1, 3), np.float32(1), 1j, [1.0], True, 1e-320],
    "child": [None, "x", 0, State, []],
    "action_name": [None, "", "\0", "\ud800", 7, "\n", "same", "a" * 100_000],
    "root": [None, 0, "x"],
    "name": [None, "", "two\nlines", "\0", "\ud800", 7, "kuhn_poker", "a" * 500],
    "max_depth": [0, -1, None, 10**12, "9", 1.5, NAN],
    "max_nodes": [0, -1, None, 3, "9", 1.5, NAN],
}


@dataclass(frozen=True)
class Fault:
    method: str
    answer: object
    one_in: int  # of this many histories, about

    def hits(self, game: RandomGame, history: tuple[int, ...]) -> bool:
        return game.draw(self.method, history).randrange(self.one_in) == 0


class FaultyGame(Game):
    """A random game of which some rules are broken."""

    def __init__(self, seed: int, depth: int, faults: tuple[Fault, ...]) -> None:
        self.right = RandomGame(seed, depth)
        self.faults = {fault.method: fault for fault in faults}

    def __repr__(self) -> str:
        return f"FaultyGame({self.right.seed}, {self.right.depth}, {tuple(self.faults.values())})"

    @property
    def name(self) -> Any:
        return self.answer("name", (), lambda: self.right.name)

    @property
    def max_depth(self) -> Any:
        return self.answer("max_depth", (), lambda: Game.max_depth)

    @property
    def max_nodes(self) -> Any:
        return self.answer("max_nodes", (), lambda: Game.max_nodes)

    def answer(self, method: str, history: tuple[int, ...], right: Callable[[], Any]) -> Any:
        fault = self.faults.get(method)
        if fault is None or not fault.hits(self.right, history):
            return right()
        if isinstance(fault.answer, Raises):
            raise fault.answer.error
        return fault.answer

    def root(self) -> Any:
        return self.answer("root", (), lambda: FaultyState(self, self.right.root()))


class FaultyState(State):
    def __init__(self, game: FaultyGame, right: RandomState) -> None:
        self.game, self.right = game, right

    def _answer(self, method: str, right: Callable[[], Any]) -> Any:
        return self.game.answer(method, self.right.history, right)

    @property
    def player(self) -> Any:
        return self._answer("player", lambda: self.right.player)

    def actions(self) -> Any:
        return self._answer("actions", self.right.actions)

    def chance_probabilities(self) -> Any:
        return self._answer("chance_probabilities", self.right.chance_probabilities)

    def child(self, action: int) -> Any:
        return self._answer("child", lambda: FaultyState(self.game, self.right.child(action)))

    def infoset_key(self) -> Any:
        return self._answer("infoset_key", self.right.infoset_key)

    def payoff(self) -> Any:
        return self._answer("payoff", self.right.payoff)

    def action_name(self, action: int) -> Any:
        return self._answer("action_name", lambda: str(action))


@st.composite
def faults(draw: Any) -> Fault:
    method = draw(st.sampled_from(sorted(ANSWERS)))
    return Fault(method, draw(st.sampled_from([*ANSWERS[method], *ERRORS])), draw(st.sampled_from([1, 2, 5, 20])))


def faulty_games() -> st.SearchStrategy[FaultyGame]:
    return st.builds(FaultyGame, st.integers(0, 1000), st.integers(0, 5), st.lists(faults(), max_size=3).map(tuple))
