"""Rules are checked wherever they are walked or played, answer by answer, so that no solver sees a broken game.

:class:`Referee` asks a state for what it knows and looks at each answer. What is wrong becomes a :class:`BrokenRules`
without a place; whoever walks knows the way there, and makes one sentence of both by :meth:`Referee.refusal`.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from numbers import Real
from operator import index
from typing import NoReturn

from equipoise.errors import InvalidGame, one_line
from equipoise.games.game import CHANCE, TERMINAL, Game, State, pick

LARGEST_PAYOFF = 1e100  # sums of squares of payoffs stay finite
SUM_TOLERANCE = 1e-6  # of a chance node's probabilities
LONGEST_SHOWN = 12  # actions of a history in a message

Position = tuple[int, Sequence[int], Sequence[float], float]  # player, actions, chance's probabilities, payoff

_PLAYERS = frozenset((0, 1, CHANCE, TERMINAL))
_NO_CHANCES: tuple[float, ...] = ()


class BrokenRules(Exception):
    """What is wrong with the answer of a rule, without the history."""


class Referee:
    """Asks a game's rules, and refuses answers that no game can give."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._state_types: set[type] = set()

    def root(self) -> State:
        """Return the state before anything has happened."""
        try:
            state = self.game.root()
        except Exception as error:
            _raised("root()", error)
        return self._state(state, "root()")

    def position(self, state: State) -> Position:
        """Return who acts, the actions, chance's probabilities (elsewhere none) and the payoff (elsewhere 0)."""
        asked = "player"
        try:
            player = state.player
            if type(player) is not int or player not in _PLAYERS:
                player = _player(player)
            asked = "actions()"
            actions = state.actions()
            count = len(actions)
            if player >= 0 and count:
                return player, actions, _NO_CHANCES, 0.0
            if player == TERMINAL:
                if count:
                    raise BrokenRules(
                        f"the game is over (player is TERMINAL), but actions() has {count}: an end has no actions"
                    )
                asked = "payoff()"
                payoff = state.payoff()
                if type(payoff) is not float or not -LARGEST_PAYOFF <= payoff <= LARGEST_PAYOFF:
                    payoff = _payoff(payoff)
                return player, actions, _NO_CHANCES, payoff
            if not count:
                who = "chance" if player == CHANCE else f"player {player}"
                raise BrokenRules(f"{who} is to act, but actions() is empty: only the end of a game has no actions")
            require_distinct(actions)
            asked = "chance_probabilities()"
            return player, actions, _chances(state.chance_probabilities(), count), 0.0
        except BrokenRules:
            raise
        except Exception as error:
            _raised(asked, error)

    def key(self, state: State) -> str:
        """Return the infoset's key as the rules have it; :meth:`require_text` looks at one that is new."""
        try:
            key = state.infoset_key()
        except Exception as error:
            _raised("infoset_key()", error)
        if not isinstance(key, str):
            raise BrokenRules(f"infoset_key() is {_short(key)}, {_kind(key)}: a key is text (str)")
        return key

    def require_text(self, key: str) -> None:
        """Refuse a key that cannot be written to files."""
        if "\0" in key:
            raise BrokenRules(f"infoset_key() is {_short(key)}: a key cannot contain NUL, which ends keys in files")
        if not _can_be_written(key):
            raise BrokenRules(f"infoset_key() is {_short(key)}, which is not valid Unicode text")

    def action_names(self, state: State, actions: Sequence[int]) -> tuple[str, ...]:
        """Return the names of a state's actions; no two of a player's actions are the same, and no two of its names."""
        try:
            require_distinct(actions)
            names = tuple([state.action_name(action) for action in actions])
        except BrokenRules:
            raise
        except Exception as error:
            _raised("action_name()", error)
        for action, name in zip(actions, names, strict=True):
            if not isinstance(name, str):
                raise BrokenRules(f"action_name({action!r}) is {_short(name)}, {_kind(name)}: a name is text (str)")
            if not _can_be_written(name):
                raise BrokenRules(f"action_name({action!r}) is {_short(name)}, which is not valid Unicode text")
        if len(set(names)) != len(names) and state.player != CHANCE:
            raise BrokenRules(f"two actions have one name: {_short(list(names))}; policies tell actions by their names")
        return names

    def child(self, state: State, action: int) -> State:
        """Return the state after an action."""
        try:
            child = state.child(action)
        except Exception as error:
            _raised(f"child({action!r})", error)
        if child is state:
            raise BrokenRules(
                f"child({action!r}) is the state itself: it must be a new state, and leave the old as it was"
            )
        return child if type(child) in self._state_types else self._state(child, f"child({action!r})")

    def children(self, state: State, actions: Sequence[int]) -> list[State]:
        """Return the states after all actions."""
        known = self._state_types
        try:
            children = [state.child(action) for action in actions]
        except Exception:
            return [self.child(state, action) for action in actions]  # says which of them is broken
        for child in children:
            if child is state or type(child) not in known:
                return [self.child(state, action) for action in actions]
        return children

    def _state(self, state: State, asked: str) -> State:
        if not isinstance(state, State):
            raise BrokenRules(f"{asked} is {_short(state)}, {_kind(state)}: it must be an equipoise.State")
        self._state_types.add(type(state))
        return state

    def player(self, state: State) -> int:
        """Return who acts."""
        try:
            return _player(state.player)
        except BrokenRules:
            raise
        except Exception as error:
            _raised("player", error)

    def drawn(self, state: State, random: Callable[[], float]) -> int:
        """Return one of a chance node's actions, drawn."""
        if type(state).sample_outcome is State.sample_outcome:
            _, actions, chances, _ = self.position(state)
            return actions[pick(chances, random())]
        try:
            return state.sample_outcome(random)
        except Exception as error:
            _raised("sample_outcome()", error)

    def too_deep(self) -> BrokenRules:
        """Return what is wrong with a history that is longer than the game allows."""
        limit = self.game.max_depth
        return BrokenRules(
            f"the game is not over after {limit:,} actions: is it endless? If it is meant to be so long, "
            f"set max_depth (now {limit}) in class {type(self.game).__name__}"
        )

    def too_many(self) -> BrokenRules:
        """Return what is wrong with a tree that is larger than the game allows."""
        limit = self.game.max_nodes
        return BrokenRules(
            f"the game has more than {limit:,} histories: is it endless? If it is meant to be so large, "
            f"set max_nodes (now {limit}) in class {type(self.game).__name__}"
        )

    def names_on_way(self, places: Sequence[int]) -> list[str]:
        """Return the names of the actions on the way to a history; ``places`` say which of each state's was taken."""
        names: list[str] = []
        state = None
        with suppress(Exception):  # rules that answered before may not answer now, and names may be what is broken
            for place in places:
                state = self.game.root() if state is None else state.child(action)  # noqa: F821
                action = state.actions()[place]
                names.append(name_of(state, action))
        return names + [f"action {place + 1}" for place in places[len(names) :]]

    def refusal(self, way: Sequence[str], fault: BrokenRules) -> InvalidGame:
        """Return the error people see: the game, the names of the actions that lead there, and what is wrong."""
        return InvalidGame(f"{self.game.name}, {_shown(list(way))}: {fault}")


def name_of(state: State, action: int) -> str:
    """Return an action's name, whatever the rules say."""
    try:
        return str(state.action_name(action))
    except Exception:
        return repr(action)


def _shown(names: list[str]) -> str:
    if not names:
        return "at the start"
    if len(names) > LONGEST_SHOWN:
        names = [*names[: LONGEST_SHOWN - 4], f"... {len(names) - LONGEST_SHOWN + 1} more ...", *names[-3:]]
    return f"after [{_one_line(', '.join(names))}]"


def _player(player: object) -> int:
    if not isinstance(player, bool) and hasattr(player, "__index__") and index(player) in _PLAYERS:
        return index(player)
    raise BrokenRules(
        f"player is {_short(player)}: it must be 0, 1, CHANCE ({CHANCE}) or TERMINAL ({TERMINAL}), as a whole number"
    )


def _payoff(payoff: object) -> float:
    if not isinstance(payoff, Real):
        raise BrokenRules(f"payoff() is {_short(payoff)}, {_kind(payoff)}: it must be a number, paid to player 0")
    try:
        number = float(payoff)
    except OverflowError:
        number = float("inf")
    if not abs(number) <= LARGEST_PAYOFF:
        raise BrokenRules(f"payoff() is {_short(payoff)}: it must be a finite number of at most {LARGEST_PAYOFF:g}")
    return number


def require_distinct(actions: Sequence[int]) -> None:
    """Refuse an action that is there twice."""
    if len(actions) > 1 and len(set(actions)) != len(actions):
        raise BrokenRules(f"actions() has an action twice: {_short(list(actions))}")


def _chances(chances: Sequence[float], count: int) -> list[float]:
    given = len(chances)
    if given != count:
        raise BrokenRules(f"chance_probabilities() has {given} number{'s' * (given != 1)} for {count} actions")
    numbers = [float(chance) for chance in chances]
    for number in numbers:
        if not 0.0 <= number <= 1.0 + SUM_TOLERANCE:
            raise BrokenRules(f"chance_probabilities() has {number:g}: probabilities are numbers from 0 to 1")
    total = sum(numbers)
    if not abs(total - 1.0) <= SUM_TOLERANCE:
        raise BrokenRules(f"chance_probabilities() sum to {total:.9g}, not to 1")
    return numbers


def _raised(asked: str, error: Exception) -> NoReturn:
    said = _one_line(str(error))
    raise BrokenRules(f"{asked} raised {type(error).__name__}{f': {said}' if said else ''}") from error


def _can_be_written(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"


def _short(value: object) -> str:
    try:
        said = _one_line(repr(value))
    except Exception:
        return f"a {type(value).__name__}"
    return said if len(said) <= 80 else f"{said[:77]}..."


def _one_line(text: str) -> str:
    """Return text on one line, with what would break a terminal's line written out."""
    return one_line(" ".join(text.split()))[:300]
