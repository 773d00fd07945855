"""Matches of hold'em, and hands on paper: our own readers and PokerKit read what was written."""

import json
import tomllib
from pathlib import Path

import pokerkit
import pytest

from equipoise.cli import app
from equipoise.errors import EquipoiseError
from equipoise.evaluation.hand_logs import hand_history, log_line, read_log, writing_hands
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


def test_a_log_is_read_summed_up_and_written_in_the_other_format(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    line = "STATE:{}:cr200c/r400c/cc/cc:QsQd|AhKd/2c7d9s/Th/3c:400|-400:{}"
    text = "# a match\n" + line.format(0, "Bob|Ada") + "\n" + line.format(1, "Ada|Bob") + "\n"
    Path("a.log").write_text(text + line.format(2, "Bob|Ada") + "\nSCORE:400|-400:Bob|Ada\n")
    command = ["hands", "nolimit_holdem(actions=full)"]
    app([*command, "a.log", "--phh", "b.phhs", "--json"], result_action="return_value")
    summed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert not summed["deals_come_twice"]
    assert [(each["name"], each["hands"], each["chips"]) for each in summed["players"]] == [
        ("Bob", 3, 400),
        ("Ada", 3, -400),
    ]
    app([*command, "b.phhs", "--log", "c.log"], result_action="return_value")
    assert "1333.3" in capsys.readouterr().out  # mbb/g of Bob: 400 chips of 100 in three hands
    assert Path("c.log").read_text().splitlines() == Path("a.log").read_text().splitlines()[1:-1]


@pytest.mark.parametrize("game", ["limit_holdem", "leduc_poker"])
def test_the_interval_of_a_match_log_is_that_of_the_match(tmp_path, monkeypatch, capsys, game):
    monkeypatch.chdir(tmp_path)
    with writing_hands(NAMES, log=Path("log")) as write:
        result = play_match("uniform", "always-call", game=game, hands=60, on_hand=write)
    app(["hands", game, "log", "--json"], result_action="return_value")
    summed = json.loads(capsys.readouterr().out)
    [me] = [each for each in summed["players"] if each["name"] == "me"]
    assert summed["deals_come_twice"] and me["mean"] == pytest.approx(result.duplicate.mean)
    assert me["interval_95"] == pytest.approx(list(result.duplicate.interval))
    assert me["interval_95"] != pytest.approx(list(result.plain.interval))
    Path("log").write_text("\n".join(Path("log").read_text().splitlines()[1:]))
    app(["hands", game, "log"], result_action="return_value")
    assert "take the hands to be independent" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no hands"),
        ("STATE:0:f:QsQd|AhKd:9|-9:B|A", "line 1: hand 0: the log pays"),
        ("STATE:0:f:QsQd|AhKd:50|-50:B|A\nnonsense", "line 2: 'nonsense' is not an ACPC line"),
        ("[1]\nvariant = 'NT'\n", "antes is None"),
    ],
)
def test_a_log_that_is_not_of_the_game_is_refused_with_the_place(tmp_path, content, said):
    path = tmp_path / "a.log"
    path.write_text(content)
    with pytest.raises(EquipoiseError, match=said):
        read_log(load_game("nolimit_holdem(actions=full)"), path)
