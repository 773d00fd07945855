"""Spots: their texts and files, the betting in them, and what is refused."""

from importlib import resources

import pytest

from equipoise import spot
from equipoise.errors import EquipoiseError
from equipoise.games import CHANCE, TERMINAL, load_game
from equipoise.games.betting import apply_action, legal_actions, raise_totals
from equipoise.games.notation import read_betting
from equipoise.games.poker import Deck

SPOTS = resources.files("equipoise.bench") / "spots"
TURN = "spot(board=Td9d6hQc,pot=200,stack=900,first=66+|A8s+,second=QQ-22|AJo:0.5,bets=1-allin)"


def names(game, betting):
    """Return the actions after some betting."""
    state = read_betting(game.betting, betting)
    return [game.betting_action_name(state, action) for action in legal_actions(game.betting, state)]


def test_one_line():
    game = load_game(TURN)
    assert (game.pot, game.stack, game.rounds) == (200, 900, 2)
    assert game.deck.text(game.board) == "Td9d6hQc"
    assert load_game(game.name) == game
    assert load_game(game.name).name == game.name


def test_the_same_from_python():
    made = spot(board="Td9d6hQc", pot=200, stack=900, first="66+,A8s+", second="QQ-22,AJo:0.5", bets="1-allin")
    assert made == load_game(TURN)


@pytest.mark.parametrize("file", sorted(path.name for path in SPOTS.iterdir() if path.name.endswith(".txt")))
def test_reference_files(file):
    game = load_game(f"spot:{SPOTS / file}")
    assert load_game(game.name) == game


def test_pot_sizes():
    game = load_game(TURN)
    assert names(game, "") == ["check", "bet 200", "bet 900 (all-in)"]
    assert names(game, "r200") == ["fold", "call", "raise to 800", "raise to 900 (all-in)"]
    assert names(game, "r200r800") == ["fold", "call", "raise to 900 (all-in)"]
    assert names(game, "r900") == ["fold", "call"]
    assert names(game, "r200c/") == ["check", "bet 600", "bet 700 (all-in)"]
    assert names(game, "cc/c") == ["check", "bet 200", "bet 900 (all-in)"]


def test_raises_and_rounds_have_sizes_of_their_own():
    game = spot("Td9d6h", pot=100, stack=2000, bets="0.5/1-allin/75%", raises="1/none/allin")
    assert names(game, "") == ["check", "bet 50"]
    assert names(game, "r50") == ["fold", "call", "raise to 250"]  # the pot after the call is 200
    assert names(game, "r50c/") == ["check", "bet 200", "bet 1950 (all-in)"]
    assert names(game, "r50c/r250") == ["fold", "call"]
    assert names(game, "r50c/r250c/") == ["check", "bet 450"]
    assert names(game, "r50c/r250c/r700") == ["fold", "call", "raise to 1750 (all-in)"]
    assert load_game(game.name) == game


def test_sizes_are_rounded_half_up_and_raise_at_least_by_the_last_bet():
    game = spot("KsTh7s4d2s", pot=25, stack=1000, bets="0.5-3", raises="0.1")
    assert raise_totals(game.betting, read_betting(game.betting, "")) == [13, 75]
    assert raise_totals(game.betting, read_betting(game.betting, "r75")) == [150]


def test_a_hand_by_the_rules():
    deck = Deck(ranks=tuple("23456"), suits=("c", "d"))
    game = spot("2c3c4c5d", pot=10, stack=10, first="66", second="2d3d,6c4d:0.5", bets="1", deck=deck)
    state = game.root()
    assert state.player == CHANCE
    (aces,) = state.actions()
    state = state.child(aces)
    assert state.chance_probabilities() == [1.0]  # 6c4d shares a card
    state = state.child(state.actions()[0])
    assert state.player == 0
    assert state.infoset_key() == "6d6c/2c3c4c5d|"
    state = state.child(2).child(1)  # a bet of 10 is all-in; called
    assert state.player == CHANCE
    assert {state.action_name(card) for card in state.actions()} == {"4d", "5c"}
    state = state.child(state.actions()[0])
    assert state.player == TERMINAL
    assert state.payoff() == 15.0  # half the pot and the call: a straight to the six


def test_folds_pay_half_the_pot_and_what_was_put_in():
    game = load_game(TURN)
    state = game.root()
    for _ in range(2):
        state = state.child(state.actions()[0])
    folded = state.child(2).child(0)
    assert folded.payoff() == 100.0
    state = state.child(2).child(2).child(0)
    assert state.payoff() == -300.0


def test_winnings_with_rake():
    game = spot("KsTh7s4d2s", pot=100, stack=250, rake=0.05, cap=12)
    ended = apply_action(game.betting, read_betting(game.betting, "r100"), 1)
    assert game.winnings(ended) == (150 - 12, 150)
    assert load_game(game.name) == game
    with pytest.raises(EquipoiseError, match="rake"):
        game.root().child(0).child(1200).child(1).child(1).payoff()


BASE = {"board": "Td9d6hQc", "pot": 200, "stack": 900}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"board": "Td9dTdQc"}, "Td twice"),
        ({"board": "Td9d"}, "2 cards"),
        ({"board": "TdXd6h"}, "cannot read the cards 'TdXd6h' at 'Xd6h'"),
        ({"first": "TdTd"}, "first: range part 'TdTd' has the card Td twice"),
        ({"first": "TdTh,Td9h"}, "blocks every hand of the first"),
        ({"first": "AhAs", "second": "AhKh,AsKs"}, "block each other"),
        ({"pot": 0}, "pot=0"),
        ({"pot": -5}, "pot=-5"),
        ({"stack": 0}, "stack=0"),
        ({"stack": 50, "bets": "0.5-1"}, "stack=50 is below the smallest bet of 100"),
        ({"bets": "1-2-x"}, "bets=1-2-x"),
        ({"bets": "0-1"}, "bets=0-1"),
        ({"bets": "1/2/3"}, "3 rounds, and the spot has 2 (turn/river)"),
        ({"raises": ""}, "raises="),
        ({"rake": 1.5}, "rake=1.5"),
        ({"rake": float("nan")}, "rake=nan"),
        (
            {"board": "Td9d6h", "pot": 2, "stack": 100_000, "bets": "0.1-0.2-0.3-0.4-0.5-0.75-1-1.5-allin"},
            "give fewer",
        ),
    ],
)
def test_bad_spots_are_refused_in_one_line(changes, says):
    with pytest.raises(EquipoiseError) as error:
        spot(**{**BASE, **changes})
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("spot(pot=200,stack=900)", "board is missing"),
        ("spot(board=Td9d6hQc,pot=0,stack=900)", "pot=0"),
        ("spot(board=Td9d6hQc,pot=1e3,stack=900)", "pot=1e3"),
        ("spot(board=Td9d6hQc,pot=200,stack=900,first=66+,A8s+)", "bars"),
        ("spot(board=Td9d6hQc,pot=200,stack=900,frist=66+)", "did you mean 'first'"),
        ("spot(board=Td9d6hQc,pot=200,pot=200,stack=900)", "twice"),
        ("spot(board=Td9d6hQc,pot=200,stack=900,rake=x)", "rake=x"),
        ("spot:nowhere.txt", "there is no file nowhere.txt"),
        ("spot:\ud800.txt", "cannot read"),  # a name that no system has
    ],
)
def test_bad_texts_are_refused_in_one_line(text, says):
    with pytest.raises(EquipoiseError) as error:
        load_game(text)
    assert says in str(error.value)


def test_bad_files_say_where(tmp_path):
    file = tmp_path / "spot.txt"
    file.write_text("board Td9d6hQc\n# a comment\npott 200\n")
    with pytest.raises(EquipoiseError, match="line 3: spot has no parameter 'pott'; did you mean 'pot'"):
        load_game(f"spot:{file}")
    file.write_text("board Td9d6hQc\npot\n")
    with pytest.raises(EquipoiseError, match="line 2"):
        load_game(f"spot:{file}")
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EquipoiseError, match="is not a spot's text file"):
        load_game(f"spot:{file}")
