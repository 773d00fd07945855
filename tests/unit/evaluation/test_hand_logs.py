"""Matches of hold'em, and hands on paper: our own readers and PokerKit read what was written."""

import tomllib

import pokerkit
import pytest

from equipoise.errors import EquipoiseError
from equipoise.evaluation.hand_logs import hand_history, log_line, writing_hands
from equipoise.evaluation.match import play_match
from equipoise.games import CHANCE, load_game
from equipoise.games.hand_histories import read_acpc_line, read_phhs

HOLDEM = ["flop_holdem", "limit_holdem", "nolimit_holdem(stack=2000)"]
NAMES = ("me", "you")


def played(game, a="uniform", b="always-call", hands=60):
    found = []
    return play_match(a, b, game=game, hands=hands, on_hand=found.append), found


@pytest.mark.parametrize("game", HOLDEM)
def test_holdem_is_played_in_lockstep(game):
    result, hands = played(game, "uniform", "always-raise")
    assert result.through == "lockstep" and result.aivat is None and len(hands) == 60
    for first, second in zip(hands[::2], hands[1::2], strict=True):
        dealt = [[a for state, a in hand.events() if state.player == CHANCE] for hand in (first, second)]
        short = min(map(len, dealt))
        assert short >= 2 and dealt[0][:short] == dealt[1][:short]
    won = [hand.payoff_to_a() for hand in hands]
    assert result.plain.mean == pytest.approx(sum(won) / 60, abs=1e-9)
    assert result.seats[1] == pytest.approx(sum(won[1::2]) / 30, abs=1e-9)
    again, _ = played(game, "uniform", "always-raise")
    assert (again.plain, again.duplicate) == (result.plain, result.duplicate)


def test_players_who_never_look_at_their_cards_win_back_in_the_other_seat_what_they_lost():
    result, _ = played("limit_holdem", "always-raise", "always-call")
    assert result.duplicate.standard_deviation == 0.0 < 100.0 < result.plain.standard_deviation
    assert result.duplicate.mean == 0.0 and result.seats[0] == -result.seats[1] != 0.0


@pytest.mark.parametrize("text", [*HOLDEM, "leduc_poker", "kuhn_poker"])
def test_logs_of_poker_are_acpc_lines_that_read_back(text):
    _, hands = played(text)
    game = load_game(text)
    for hand in hands:
        found = read_acpc_line(game, log_line(hand, NAMES))
        assert (found.number, found.state, found.names) == (hand.number, hand.end, hand.seats(NAMES))
        assert found.payoffs[hand.seat_of_a] == hand.payoff_to_a()


@pytest.mark.parametrize("text", HOLDEM)
def test_pokerkit_plays_the_hand_histories(text):
    _, hands = played(text, hands=16)
    shown = 0
    for hand in hands:
        written = hand_history(hand, NAMES)
        [history] = pokerkit.HandHistory.loads_all(written)
        *_, last = history
        [fields] = tomllib.loads(written).values()
        assert fields["players"] == list(hand.seats(NAMES)[::-1])  # the big blind first
        if text != "flop_holdem":  # the format has no game that ends after the flop
            assert last.stacks == fields["finishing_stacks"] and not last.status
            shown += not any(" f" in action for action in fields["actions"])
        assert fields["finishing_stacks"][1 - hand.seat_of_a] - fields["starting_stacks"][0] == hand.payoff_to_a()
        assert [read.state for read in read_phhs(load_game(text), written)] == [hand.end]
    assert shown > 0 or text == "flop_holdem"


def test_files(tmp_path):
    with writing_hands(NAMES, log=tmp_path / "log", phh=tmp_path / "hands.phhs") as write:
        play_match("uniform", "always-call", game="flop_holdem", hands=6, on_hand=write)
    assert [line.split(":")[1] for line in (tmp_path / "log").read_text().splitlines()] == list("012345")
    with (tmp_path / "hands.phhs").open("rb") as file:
        histories = list(pokerkit.HandHistory.load_all(file))
    assert [history.hand for history in histories] == list(range(6))
    with writing_hands(NAMES) as write:
        assert write is None


def test_other_games_have_a_readable_line(tmp_path):
    _, hands = played("goofspiel(cards=3)", "uniform", "uniform")
    lines = [log_line(hand, NAMES) for hand in hands]
    assert lines[1].startswith("HAND:1:bid ") and lines[1].endswith(":you|me")
    assert {tuple(map(float, line.split(":")[3].split("|"))) for line in lines} >= {(1.0, -1.0), (-1.0, 1.0)}
    assert all(len(line.split(":")[2].split(", ")) == 4 for line in lines)
    with pytest.raises(EquipoiseError, match="which is for hold'em; use --log instead"):
        hand_history(hands[0], NAMES)
