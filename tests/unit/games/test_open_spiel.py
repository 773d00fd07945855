"""OpenSpiel's games: the same rules behind our interface, and one line for each reason to refuse."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from equipoise.errors import EquipoiseError
from equipoise.games import load_game, open_spiel
from equipoise.games.efg import load_efg, write_efg
from equipoise.games.game import CHANCE, TERMINAL, Game, State
from equipoise.games.open_spiel import OpenSpielGame, load_open_spiel
from equipoise.games.poker import kuhn_poker, leduc_poker

pyspiel = pytest.importorskip("pyspiel")


def histories(game: Game) -> Iterator[tuple[State, float]]:
    """Yield every state with the probability that chance and uniformly random players give it."""
    stack = [(game.root(), 1.0)]
    while stack:
        state, reach = stack.pop()
        yield state, reach
        if state.player == TERMINAL:
            continue
        actions = state.actions()
        shares = state.chance_probabilities() if state.player == CHANCE else [1.0 / len(actions)] * len(actions)
        assert sum(shares) == pytest.approx(1.0, abs=1e-12)
        stack.extend((state.child(a), reach * p) for a, p in zip(actions, shares, strict=True))


def random_value(game: Game) -> float:
    return sum(reach * state.payoff() for state, reach in histories(game) if state.player == TERMINAL)


def infosets(game: Game) -> set[tuple[int, str]]:
    return {(state.player, state.infoset_key()) for state, _ in histories(game) if state.player >= 0}


def test_kuhn_poker_step_by_step() -> None:
    root = load_open_spiel("kuhn_poker").root()
    assert root.player == CHANCE
    assert list(root.actions()) == [0, 1, 2]
    assert list(root.chance_probabilities()) == pytest.approx([1 / 3] * 3)
    assert root.action_name(2) == "Deal:2"
    second = root.child(2)
    assert list(second.actions()) == [0, 1]
    assert list(second.chance_probabilities()) == pytest.approx([0.5, 0.5])
    mine = second.child(0)
    assert mine.player == 0
    assert mine.infoset_key() == "2"
    assert [mine.action_name(a) for a in mine.actions()] == ["Pass", "Bet"]
    theirs = mine.child(1)
    assert theirs.player == 1
    assert theirs.infoset_key() == "0b"
    assert theirs.child(1).player == TERMINAL
    assert list(theirs.child(1).actions()) == []
    assert theirs.child(1).payoff() == 2.0
    assert theirs.child(0).payoff() == 1.0
    assert root.player == CHANCE  # no step has changed the state it was taken from


@pytest.mark.parametrize("ours", [kuhn_poker(), leduc_poker()], ids=lambda game: game.name)
def test_games_that_both_have_agree(ours: Game) -> None:
    theirs = load_open_spiel(ours.name)
    assert len(infosets(ours)) == len(infosets(theirs))
    assert sum(1 for _ in histories(ours)) == sum(1 for _ in histories(theirs))
    assert random_value(ours) == pytest.approx(random_value(theirs), abs=1e-12)


def test_names() -> None:
    game = load_game("open_spiel:leduc_poker")
    assert isinstance(game, OpenSpielGame)
    assert game.name == "open_spiel:leduc_poker"
    assert game.open_spiel_name() == "leduc_poker()"
    assert load_open_spiel(" kuhn_poker(players=2) ").name == "open_spiel:kuhn_poker(players=2)"


def test_a_deterministic_game_with_perfect_information() -> None:
    game = load_open_spiel("mnk(m=2,n=2,k=2)")
    assert game.root().player == 0
    assert len(game.root().actions()) == 4
    payoffs = {state.payoff() for state, _ in histories(game) if state.player == TERMINAL}
    assert payoffs == {1.0}  # on this board the first player's second stone always wins
    assert all(state.player != CHANCE for state, _ in histories(game))


def test_simultaneous_moves_become_secret_turns() -> None:
    game = load_open_spiel("matrix_mp")
    assert game.name == "open_spiel:matrix_mp"
    assert game.open_spiel_name() == "turn_based_simultaneous_game(game=matrix_mp())"
    root = game.root()
    assert root.player == 0
    heads, tails = (root.child(a) for a in root.actions())
    assert heads.player == tails.player == 1
    assert heads.infoset_key() == tails.infoset_key() != root.infoset_key()
    assert [[s.child(a).payoff() for a in s.actions()] for s in (heads, tails)] == [[1.0, -1.0], [-1.0, 1.0]]


def test_parameters_of_a_simultaneous_game_arrive() -> None:
    game = load_open_spiel("goofspiel(num_cards=3,imp_info=true,points_order=descending)")
    assert len(game.root().actions()) == 3
    assert random_value(game) == pytest.approx(0.0, abs=1e-12)
    assert "\n" in game.root().infoset_key()  # kept as it is, on several lines
    again = pyspiel.load_game(game.open_spiel_name())
    assert again.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
    assert str(again) == game.open_spiel_name()


def test_keys_on_several_lines_survive_a_gambit_file(tmp_path: Path) -> None:
    game = load_open_spiel("goofspiel(num_cards=3,imp_info=true,points_order=descending)")
    write_efg(game, tmp_path / "goofspiel.efg")
    copy = load_efg(tmp_path / "goofspiel.efg")
    assert infosets(copy) == {(player, f"P{player}:{key}") for player, key in infosets(game)}
    import pygambit

    gambit = pygambit.read_efg(tmp_path / "goofspiel.efg")
    assert sum(len(gambit.get_infosets(player)) for player in gambit.players) == len(infosets(game))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("kuhn_poker(players=3)", "open_spiel:kuhn_poker(players=3) has 3 players; equipoise solves two-player"),
        ("catch", "has 1 player;"),
        ("matrix_pd", "is not zero-sum but general-sum;"),
        ("bargaining", "is not zero-sum but general-sum;"),
        ("matrix_coordination", "is not zero-sum but identical;"),
        ("mfg_crowd_modelling", "is a mean-field game;"),
        ("backgammon", "has no information states but only observations, which may forget"),
        ("leduc_pokr", "OpenSpiel has no game 'leduc_pokr'; did you mean 'leduc_poker'?"),
        ("zzzzzzzzzz", "OpenSpiel has no game 'zzzzzzzzzz'; `pyspiel.registered_names()` lists its games"),
        ("misere(game=kuhn_pokr())", "OpenSpiel has no game 'kuhn_pokr'; did you mean 'kuhn_poker'?"),
        ("kuhn_poker(cards=3)", "open_spiel:kuhn_poker(cards=3) cannot be loaded: Unknown parameter 'cards'"),
        ("kuhn_poker(players=two)", "cannot be loaded: Wrong type for parameter players"),
        ("liars_dice(dice_sides=-1)", "cannot be loaded: dice_sides_ >= 1 dice_sides_ = -1"),
        ("misere", "cannot be loaded: "),
        ("nfg_game", "cannot be loaded: "),
        ("efg_game(filename=missing.efg)", "cannot be loaded: "),
        ("goofspiel(num_cards=-1)", "cannot be loaded: "),  # these two can crash the process that plays them
        ("goofspiel(num_cards=0)", "cannot be loaded: "),
        ("liars_dice(numdice=0)", "cannot be loaded: "),
        ("kuhn_poker(players=2", "is not a game: write open_spiel:NAME"),
        ("kuhn_poker(players=2)x", "is not a game: write open_spiel:NAME"),
        ("", "is not a game: write open_spiel:NAME"),
    ],
)
def test_what_cannot_be_solved_is_refused_in_one_line(
    text: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EquipoiseError) as caught:
        load_open_spiel(text)
    message = str(caught.value)
    assert reason in message
    assert "\n" not in message
    assert len(message) < 400
    assert capfd.readouterr().err == ""  # OpenSpiel's own chatter stays away


def test_sampled_chance_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # None of the two-player zero-sum games of OpenSpiel samples by default, so one is made to say that it does.
    class Sampled:
        def __init__(self, game: object) -> None:
            self._game = game

        def __getattr__(self, name: str) -> object:
            return getattr(self._game, name)

        def get_type(self) -> object:
            class Type:
                chance_mode = pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC
                dynamics = pyspiel.GameType.Dynamics.SEQUENTIAL
                utility = pyspiel.GameType.Utility.ZERO_SUM
                provides_information_state_string = True

            return Type()

    load = pyspiel.load_game
    monkeypatch.setattr(pyspiel, "load_game", lambda text: Sampled(load(text)))
    with pytest.raises(EquipoiseError, match="samples its chance events"):
        load_open_spiel("kuhn_poker")


@pytest.mark.parametrize(
    ("trial", "reason"),
    [
        ("import os; os.abort()", "OpenSpiel crashes on it (exit code -6); check its parameters"),
        ("import time; time.sleep(60)", "OpenSpiel takes more than 0.2 s to start it"),
    ],
)
def test_a_trial_that_dies_or_hangs_is_told(monkeypatch: pytest.MonkeyPatch, trial: str, reason: str) -> None:
    monkeypatch.setattr(open_spiel, "_TRIAL", trial)
    monkeypatch.setattr(open_spiel, "_TRIAL_SECONDS", 0.2 if "sleep" in trial else 60)
    with pytest.raises(EquipoiseError, match=re.escape(reason)):
        load_open_spiel("kuhn_poker( )")  # a text that no other test has tried, as good trials are remembered


def test_without_open_spiel_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(EquipoiseError, match=r"pip install 'equipoise\[spiel\]'"):
        load_open_spiel("kuhn_poker")
