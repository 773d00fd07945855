"""Games of OpenSpiel, played through its own implementation: ``load_open_spiel("leduc_poker")``.

Simultaneous moves become turns in which the second player does not see the first's choice. OpenSpiel is an optional
dependency, imported only when one of its games is asked for.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Any

from equipoise.errors import InvalidGame, MissingPackage, UnknownGame, nearest
from equipoise.games.game import CHANCE, TERMINAL, Game, State

# OpenSpiel prints every error on stderr before raising it, and some bad parameters corrupt memory or crash the process
# (goofspiel with no cards). So a game is first tried in a process of its own: loaded, and played once with the first
# action each time, if it is of a kind that is solved here at all.
_TRIAL = """
import sys
import pyspiel

try:
    game = pyspiel.load_game(sys.argv[1])
    kind, kinds = game.get_type(), pyspiel.GameType
    zero_sum = game.num_players() == 2 and kind.utility == kinds.Utility.ZERO_SUM
    if zero_sum and kind.chance_mode != kinds.ChanceMode.SAMPLED_STOCHASTIC:
        if kind.dynamics == kinds.Dynamics.SIMULTANEOUS:
            game = pyspiel.convert_to_turn_based(game)
        state = game.new_initial_state()
        for _ in range(200):
            if state.is_terminal():
                break
            actions = state.legal_actions()
            if not actions:
                raise ValueError("a state of the game has no legal action")
            state = state.child(actions[0])
except Exception as error:
    print(error)
    sys.exit(1)
"""
_TRIAL_SECONDS = 60


@dataclass(frozen=True, eq=False)
class OpenSpielGame(Game):
    """A two-player zero-sum game of OpenSpiel; ``game`` is the ``pyspiel.Game``, with moves in turns."""

    max_depth = max_nodes = inf
    text: str
    game: Any

    @property
    def name(self) -> str:
        return f"open_spiel:{self.text}"

    def root(self) -> "OpenSpielState":
        return OpenSpielState(self.game.new_initial_state())

    def open_spiel_name(self) -> str:
        return str(self.game)

    def chip_unit(self) -> str:
        return "units"


@dataclass(frozen=True, slots=True, eq=False)
class OpenSpielState(State):
    """A ``pyspiel.State``, never changed: :meth:`child` asks OpenSpiel for a new one."""

    state: Any

    @property
    def player(self) -> int:
        player = int(self.state.current_player())
        if player >= 0:
            return player
        return TERMINAL if self.state.is_terminal() else CHANCE  # OpenSpiel has other numbers for these

    def actions(self) -> Sequence[int]:
        if self.state.is_chance_node():
            return [action for action, _ in self.state.chance_outcomes()]
        actions: list[int] = self.state.legal_actions()
        return actions

    def child(self, action: int) -> "OpenSpielState":
        return OpenSpielState(self.state.child(action))

    def infoset_key(self) -> str:
        return str(self.state.information_state_string())

    def payoff(self) -> float:
        return float(self.state.returns()[0])

    def chance_probabilities(self) -> Sequence[float]:
        return [probability for _, probability in self.state.chance_outcomes()]

    def action_name(self, action: int) -> str:
        return str(self.state.action_to_string(action))


def load_open_spiel(text: str) -> OpenSpielGame:
    """Return OpenSpiel's game ``text``, such as ``goofspiel(num_cards=4)``, or say why it cannot be solved here."""
    try:
        import pyspiel  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise MissingPackage(
            f"open_spiel:{text} needs OpenSpiel, which is not installed: pip install 'equipoise[spiel]'"
        ) from None
    text = text.strip()
    _check_text(text, pyspiel.registered_names())
    _try_out(text)
    game = pyspiel.load_game(text)
    _refuse_unless_solvable(pyspiel, text, game)
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    return OpenSpielGame(text, game)


def _check_text(text: str, registered: Sequence[str]) -> None:
    # OpenSpiel answers an unknown name with a list of all its games, and ignores what follows the brackets.
    if not re.fullmatch(r"\w+(\(.*\))?", text, re.DOTALL):
        raise UnknownGame(
            f"'open_spiel:{text}' is not a game: write open_spiel:NAME or open_spiel:NAME(parameter=value,...)"
        )
    for name in re.findall(r"(?:^|[(,]game=)(\w+)", text):  # the game itself, and games as parameters of games
        if name not in registered:
            hint = nearest(name, registered) or "; `pyspiel.registered_names()` lists its games"
            raise UnknownGame(f"OpenSpiel has no game '{name}'{hint}")


@lru_cache(maxsize=256)
def _try_out(text: str) -> None:
    search_path = os.pathsep.join(filter(None, sys.path))  # the trial must find the OpenSpiel that we have found
    try:
        trial = subprocess.run(
            [sys.executable, "-c", _TRIAL, text],
            env={**os.environ, "PYTHONPATH": search_path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TRIAL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        reason = f"OpenSpiel takes more than {_TRIAL_SECONDS} s to start it"
    else:
        if trial.returncode == 0:
            return
        said = " ".join(trial.stdout.split())
        said = re.sub(r"^\S+\.(?:cc|h):\d+ ", "", said)  # a place in OpenSpiel's source says nothing to its user
        said = said if len(said) <= 300 else f"{said[:297]}..."
        reason = said or f"OpenSpiel crashes on it (exit code {trial.returncode}); check its parameters"
    raise InvalidGame(f"open_spiel:{text} cannot be loaded: {reason}")


def _refuse_unless_solvable(pyspiel: Any, text: str, game: Any) -> None:
    kind, kinds = game.get_type(), pyspiel.GameType
    players = game.num_players()
    reason = ""
    if kind.dynamics == kinds.Dynamics.MEAN_FIELD:
        reason = "is a mean-field game"
    elif players != 2:
        reason = f"has {players} player{'s' * (players != 1)}"
    elif kind.utility != kinds.Utility.ZERO_SUM:
        reason = f"is not zero-sum but {kind.utility.name.lower().replace('_', '-')}"
    elif kind.chance_mode == kinds.ChanceMode.SAMPLED_STOCHASTIC:
        reason = "samples its chance events without giving their probabilities"
    elif not kind.provides_information_state_string:
        reason = "has no information states"
        if kind.provides_observation_string:
            reason += " but only observations, which may forget what a player has seen"
    if reason:
        raise InvalidGame(
            f"open_spiel:{text} {reason}; equipoise solves two-player zero-sum games with known chances and information"
        )
