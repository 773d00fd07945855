"""Gambit files: all of the grammar, every complaint with its line, and the way out and back for real games."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import EquipoiseError
from equipoise.games import load_game
from equipoise.games.efg import EfgGame, EfgState, load_efg, write_efg
from equipoise.games.game import CHANCE, TERMINAL, Game, State
from equipoise.games.goofspiel import Goofspiel
from equipoise.games.poker import kuhn_poker, leduc_poker, one_card_poker_game

HEAD = 'EFG 2 R "a game" { "one" "two" }\n'  # line 1


def read(tmp_path: Path, text: str) -> EfgGame:
    path = tmp_path / "game.efg"
    path.write_text(text, encoding="utf-8")
    return load_efg(path)


def complaint(tmp_path: Path, text: str) -> str:
    """Return what is said of a wrong file, without the path that it must begin with."""
    with pytest.raises(EquipoiseError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    path = str(tmp_path / "game.efg")
    assert message.startswith(path)
    assert "\n" not in message
    return message.removeprefix(path)


def follow(state: State, *actions: int) -> State:
    for action in actions:
        state = state.child(action)
    return state


def preorder(game: Game) -> Iterator[State]:
    stack = [game.root()]
    while stack:
        state = stack.pop()
        yield state
        if state.player != TERMINAL:
            stack.extend(state.child(action) for action in reversed(state.actions()))


def same_tree(game: Game, copy: EfgGame, *, names: bool = True) -> int:
    """Check that both trees agree node by node, and return the number of nodes."""
    count = 0
    for mine, theirs in zip(preorder(game), preorder(copy), strict=True):
        count += 1
        assert mine.player == theirs.player
        if mine.player == TERMINAL:
            assert theirs.payoff() == mine.payoff()
            continue
        assert len(mine.actions()) == len(theirs.actions())
        if names:
            assert [mine.action_name(a) for a in mine.actions()] == [theirs.action_name(a) for a in theirs.actions()]
        if mine.player == CHANCE:
            assert list(theirs.chance_probabilities()) == pytest.approx(list(mine.chance_probabilities()), abs=1e-15)
        else:
            assert theirs.infoset_key() == f"P{mine.player}:{mine.infoset_key()}"
    return count


EVERYTHING = r"""
  EFG 2 D "All of \"it\""
  { "first player"
    "second" } "a comment
over two lines"

c "deal" 1 "cards" { "high" 1/3 "low" .5 "" 1.66666666666666666666667e-1 } 1 "ante" { 1/2, -5e-1 }
  p "" 1 7 "I \"hold\" x" { "bet" "bet" "" } 0
    t "end" 2 "won" { 2 -2 }
    p "" 2 7 "II" { "call" "fold" } 3 "extra" { +0.25 , -0.25 , }
      t "" 2
      t "" 1
    t "" 0
  p "" 1 7 0 t"" 2"won"{2.0 -2e0} p "" 2 7 "II" { "call" "fold" } 3 t "" 2 t "" 0 t "" 1 "ante"
  p "" 2 8 { "left" } 0
    c "" 1 0
      t "" 0 t "" 2 t "" 0

"""


def test_everything_the_grammar_allows(tmp_path: Path) -> None:
    game = read(tmp_path, EVERYTHING)
    root = game.root()
    assert isinstance(root, EfgState)
    assert root.player == CHANCE
    assert list(root.actions()) == [0, 1, 2]
    assert [root.action_name(a) for a in root.actions()] == ["high", "low", "3"]
    assert list(root.chance_probabilities()) == pytest.approx([1 / 3, 1 / 2, 1 / 6], abs=1e-15)
    high, low, empty = (root.child(a) for a in root.actions())
    assert high.player == 0
    assert high.infoset_key() == low.infoset_key() == 'P0:I "hold" x'
    assert [high.action_name(a) for a in high.actions()] == ["bet#1", "bet#2", "3"]
    assert high.child(1).player == 1
    assert high.child(1).infoset_key() == low.child(1).infoset_key() == "P1:II"
    assert empty.infoset_key() == "P1:8"
    assert empty.child(0).player == CHANCE
    assert list(empty.child(0).chance_probabilities()) == list(root.chance_probabilities())
    # Payoffs add up on the path: the ante of 1/2 at the root, the extra 1/4 at an inner node, then the end's own.
    ends = {(0, 0): 2.5, (0, 1, 0): 2.75, (0, 1, 1): 1.25, (0, 2): 0.5, (1, 0): 2.5, (1, 1, 0): 2.75, (1, 1, 1): 0.75}
    for path, payoff in ({**ends, (1, 2): 1.0, (2, 0, 0): 0.5, (2, 0, 1): 2.5, (2, 0, 2): 0.5}).items():
        end = follow(root, *path)
        assert end.player == TERMINAL
        assert list(end.actions()) == []
        assert end.payoff() == payoff


def test_the_name_loads_the_game_again(tmp_path: Path) -> None:
    game = read(tmp_path, EVERYTHING)
    assert game.name == f"efg:{tmp_path / 'game.efg'}"
    again = load_game(game.name)
    assert isinstance(again, EfgGame)
    assert (again.infosets, again.payoffs, again.children) == (game.infosets, game.payoffs, game.children)
    assert load_efg(str(tmp_path / "game.efg")).name == game.name


def test_states_are_light_values(tmp_path: Path) -> None:
    game = read(tmp_path, EVERYTHING)
    first, second = game.root().child(0), game.root().child(0)
    assert first == second
    assert hash(first) == hash(second)
    assert not hasattr(first, "__dict__")
    with pytest.raises(AttributeError):
        first.node = 3  # type: ignore[misc]


def test_a_game_of_one_end(tmp_path: Path) -> None:
    game = read(tmp_path, HEAD + 't "" 1 "" { 3 -3 }')
    assert game.root().player == TERMINAL
    assert game.root().payoff() == 3.0


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "game.efg"
    path.write_bytes(b"\xef\xbb\xbf" + EVERYTHING.replace("\n", "\r\n").encode())
    assert len(load_efg(path).payoffs) == 18


def test_infosets_that_share_a_name_have_keys_of_their_own(tmp_path: Path) -> None:
    tree = 'p "" 1 1 "x" { "a" "b" } 0\np "" 1 2 "x" { "a" } 0 t "" 0\np "" 1 3 { "a" } 0\n'
    tree += 'p "" 1 4 "3" { "a" } 0 p "" 2 1 "x" { "a" } 0 p "" 1 5 "x#1" { "a" } 0 t "" 0'
    game = read(tmp_path, HEAD + tree)
    keys = [state.infoset_key() for state in preorder(game) if state.player != TERMINAL]
    assert keys == ["P0:x#1#1", "P0:x#2", "P0:3#3", "P0:3#4", "P1:x", "P0:x#1"]


def test_a_name_may_come_with_a_later_node(tmp_path: Path) -> None:
    game = read(tmp_path, HEAD + 'p "" 1 1 { "a" "b" } 0 p "" 2 1 "" { "a" } 0 t "" 0 p "" 2 1 "late" { "a" } 0 t "" 0')
    assert game.root().child(0).infoset_key() == game.root().child(1).infoset_key() == "P1:late"


def test_backslashes_escape_quotes_only(tmp_path: Path) -> None:
    game = read(tmp_path, HEAD + r'p "" 1 1 "a\b\"c\\\"d" { "x" } 0 t "" 0')
    assert game.root().infoset_key() == r'P0:a\b"c\\"d'


def test_a_tree_deeper_than_the_recursion_limit(tmp_path: Path) -> None:
    depth = 5000
    lines = [
        f'p "" {1 + i % 2} {i} "" {{ "stop" "on" }} 0\nt "" {1 + i % 2} "" {{ {i % 2}, {-(i % 2)} }}'
        for i in range(depth)
    ]
    game = read(tmp_path, HEAD + "\n".join(lines) + '\nt "" 0\n')
    assert follow(game.root(), *[1] * (depth - 1), 0).payoff() == 1.0
    write_efg(game, tmp_path / "copy.efg")
    assert same_tree(game, load_efg(tmp_path / "copy.efg")) == 2 * depth + 1


COIN = 'c "" 1 "" { "h" 1/2 "t" 1/2 } 0\n'
MINE = 'p "" 1 1 "" { "l" "r" } 0\n'
END = 't "" 1 "" { 1 -1 }\n'


@pytest.mark.parametrize(
    ("text", "line", "found", "expected"),
    [
        ("", 1, "unexpected end", "EFG 2 R"),
        ('NFG 1 R "x" { "a" "b" }', 1, "'NFG'", "EFG 2 R"),
        ("\n\nhello", 3, "'hello'", "EFG 2 R"),
        ('EFG 3 R "x" { "a" "b" }', 1, "'3'", "version 2"),
        ('EFG 2\nQ "x" { "a" "b" }', 2, "'Q'", "R or D"),
        ("EFG 2 R\n{", 2, "'{'", "title in double quotes"),
        ('EFG 2 R "x" "y"', 1, "the string 'y'", "'{'"),
        ('EFG 2 R "x" { "a" 2 }', 1, "'2'", "player's name"),
        ('EFG 2 R "x" { "a" "b"', 1, "unexpected end", "player's name"),
        ('EFG 2 R "x" { "a" "b" }\n"comment"\n\n', 2, "unexpected end", "a node: c (chance), p (player) or t"),
        (HEAD + '\n"comment\n\nt "" 0', 5, "not closed", "another double quote"),
        (HEAD + 'p "" 1 1 "open\\"', 2, "not closed", "another double quote"),
        (HEAD + 'x "" 1 1', 2, "'x'", "a node: c (chance), p (player) or t"),
        (HEAD + MINE + END + 'q "" 1', 4, "'q'", "a node: c"),
        (HEAD + MINE + "7", 3, "'7'", "a node: c"),
        (HEAD + "t 1", 2, "'1'", "node's name in double quotes"),
        (HEAD + MINE + END, 3, "unexpected end", "a node: c"),
        (HEAD + 'p ""', 2, "unexpected end", "player's number"),
        (HEAD + 'p "" 1.5 1', 2, "'1.5'", "whole number"),
        (HEAD + 'p "" 3 1 "" { "a" } 0', 2, "no player 3", "player 1 or 2"),
        (HEAD + 'p "" 0 1 "" { "a" } 0', 2, "no player 0", "player 1 or 2"),
        (HEAD + 'p "" 1 "name"', 2, "the string 'name'", "infoset's number"),
        (HEAD + MINE + 'p "" 1 2 0', 3, "infoset 2 of player 1 has no definition", "actions in braces"),
        (HEAD + MINE + 'p "" 2 1 0', 3, "infoset 1 of player 2 has no definition", "actions in braces"),
        (HEAD + COIN + 'c "" 9 "n" 0', 3, "infoset 9 of chance has no definition", "actions in braces"),
        (HEAD + 'p "" 1 1 "" { } 0', 2, "'}'", "an action's name"),
        (HEAD + 'p "" 1 1 "" { "a", "b" } 0', 2, "','", "an action's name"),
        (HEAD + 'p "" 1 1 "" { "a" "b"', 2, "unexpected end", "an action's name"),
        (HEAD + MINE + 'p "" 1 1 "" { "l" } 0', 3, "has 1 actions here and 2 where", "same number"),
        (HEAD + MINE + '\np "" 1 1 "" { "r" "l" } 0', 4, "other actions", "the same ones"),
        (HEAD + COIN + 'c "" 1 "" { "h" 1/4 "t" 3/4 } 0', 3, "other actions or probabilities", "the same ones"),
        (HEAD + 'c "" 1 "" { "h" "t" } 0', 2, "the string 't'", "probability of 'h'"),
        (HEAD + 'c "" 1 "" { "h" 0.3 "t" 0.6 } 0', 2, "probabilities of sum 0.9", "sum to 1"),
        (HEAD + 'c "" 1 "" { "h" 0.5 "t" 0.500002 } 0', 2, "probabilities of sum 1.000002", "sum to 1"),
        (HEAD + 'c "" 1 "" { "h" 1.5 "t" -1/2 } 0', 2, "a negative probability", "from 0 to 1"),
        (HEAD + 'c "" 1 "" { "h" 1/0 "t" 1 } 0', 2, "'1/0' is not a number", "probability of 'h'"),
        (HEAD + 't ""', 2, "unexpected end", "outcome's number"),
        (HEAD + 't "" -1', 2, "'-1'", "outcome's number"),
        (HEAD + MINE + END + 't "" 4', 4, "outcome 4 has no definition", "payoffs in braces"),
        (HEAD + 't "" 1 "name"', 2, "outcome 1 has no definition", "payoffs in braces"),
        (HEAD + 't "" 1 "" { 1 }', 2, "outcome 1 has 1 payoffs", "2, one for each player"),
        (HEAD + 't "" 1 "" { 1 -1 0 }', 2, "outcome 1 has 3 payoffs", "2, one for each player"),
        (HEAD + 't "" 1 "" { 1 minus }', 2, "'minus'", "a payoff"),
        (HEAD + 't "" 1 "" { 1.2.3 -1 }', 2, "'1.2.3'", "a payoff"),
        (HEAD + 't "" 1 "" { 1,, -1 }', 2, "','", "a payoff"),
        (HEAD + 't "" 1 "" { 1e999999999 -1 }', 2, "'1e999999999' is not a number that can be used", "a payoff"),
        (HEAD + 't "" 1 "" { 1e-999999999 -1 }', 2, "'1e-999999999' is not a number that can be used", "a payoff"),
        (HEAD + 't "" 1 "" { 1e400 -1e400 }', 2, "'1e400' is not a number that can be used", "a payoff"),
        (HEAD + 't "" 1 "" { ' + "9" * 5000 + " 0 }", 2, "9...' is not a number that can be used", "a payoff"),
        (HEAD + MINE + END + 't "" 1 "" { 2 -2 }', 4, "outcome 1 has other payoffs", "first definition"),
        (HEAD + 't "" 0 "" { 2 -2 }', 2, "outcome 0 has other payoffs", "no outcome"),
        (HEAD + MINE + END + END + "\n" + END, 6, "'t'", "the end of the file"),
        (HEAD + MINE + END + END + "}", 5, "'}'", "the end of the file"),
    ],
)
def test_wrong_files_are_told_apart_by_line(tmp_path: Path, text: str, line: int, found: str, expected: str) -> None:
    message = complaint(tmp_path, text)
    assert message.startswith(f", line {line}: "), message
    what, _, wanted = message.partition("; expected ")
    assert found in what, message
    assert expected in wanted, message


def test_long_tokens_are_cut_short_in_complaints(tmp_path: Path) -> None:
    message = complaint(tmp_path, HEAD + "t " + '"' + "many\nlines " * 1000 + '" "x"')
    assert message == ", line 1002: found the string 'x'; expected the outcome's number, 0 for none (a whole number)"
    assert len(complaint(tmp_path, HEAD + '"comment" "' + "many\nlines " * 1000 + '"')) < 150


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError, match=r"missing\.efg: cannot be read \(No such file or directory\)"):
        load_efg(tmp_path / "missing.efg")


@pytest.mark.parametrize("path", ["", ".", "nul\0l"])
def test_paths_that_are_not_files(path: str) -> None:
    with pytest.raises(EquipoiseError, match="cannot be read"):
        load_efg(path)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "game.efg"
    path.write_bytes(b'EFG 2 R\n"\xff\xfe"')
    with pytest.raises(EquipoiseError, match="line 2: not a text file"):
        load_efg(path)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_other_than_two_players_are_refused(tmp_path: Path, count: int) -> None:
    message = complaint(tmp_path, 'EFG 2 R "x"\n{ ' + '"p" ' * count + '}\nt "" 0')
    assert message == f", line 2: the game has {count} players; equipoise solves two-player games"


def test_a_game_that_is_not_zero_sum_is_refused_at_the_first_such_end(tmp_path: Path) -> None:
    message = complaint(tmp_path, HEAD + MINE + END + 't "" 2 "" { 3 1 }')
    assert message.startswith(", line 4: payoffs 3 and 1 sum to 4; equipoise solves zero-sum games")


def test_a_constant_sum_game_is_refused_with_its_constant(tmp_path: Path) -> None:
    message = complaint(tmp_path, HEAD + MINE + 't "" 1 "" { 3/2 1 }\nt "" 2 "" { -1 7/2 }')
    assert ", line 3: payoffs 1.5 and 1 sum to 2.5, as at every end (a constant-sum game" in message
    almost = complaint(tmp_path, HEAD + MINE + 't "" 1 "" { 3/2 1 }\nt "" 2 "" { -1 3 }')
    assert "constant" not in almost


def test_only_whole_paths_must_sum_to_zero(tmp_path: Path) -> None:
    tree = 'p "" 1 1 "" { "l" "r" } 1 "" { 5 0 }\nt "" 2 "" { 0 -5 }\nt "" 3 "" { -7 2 }'
    game = read(tmp_path, HEAD + tree)
    assert [game.root().child(a).payoff() for a in (0, 1)] == [5.0, -2.0]


@pytest.mark.parametrize(("theirs", "accepted"), [("-0.3333333333", True), ("-0.333333", False)])
def test_zero_sum_is_judged_to_a_relative_tolerance(tmp_path: Path, theirs: str, accepted: bool) -> None:
    for scale in ("", "e-30", "e30"):
        text = f'{HEAD}t "" 1 "" {{ 0.33333333333333333{scale} {theirs}{scale} }}'
        if accepted:
            assert read(tmp_path, text).root().payoff() > 0
        else:
            assert "zero-sum" in complaint(tmp_path, text)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_no_damage_to_a_file_gives_anything_but_a_complaint(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(EVERYTHING)))
    end = data.draw(st.integers(start, min(len(EVERYTHING), start + 30)))
    pieces = st.lists(
        st.sampled_from(["{", "}", '"', "\\", ",", "t", "p", "c", "1", "0", "-", "1/2", "\n", " "]), max_size=4
    )
    damaged = EVERYTHING[:start] + "".join(data.draw(pieces)) + EVERYTHING[end:]
    path = tmp_path_factory.mktemp("damaged") / "game.efg"
    path.write_text(damaged, encoding="utf-8")
    message = ""
    try:
        load_efg(path)
    except EquipoiseError as error:  # nothing else may come out of it; small damage may leave a good file
        message = str(error)
    assert not message or re.fullmatch(rf"{re.escape(str(path))}, line \d+: [^\n]+", message)


def test_a_third_is_written_as_a_third(tmp_path: Path) -> None:
    write_efg(kuhn_poker(), tmp_path / "kuhn.efg")
    lines = (tmp_path / "kuhn.efg").read_text().splitlines()
    assert lines[0] == 'EFG 2 R "kuhn_poker" { "P0" "P1" }'
    assert lines[3] == 'c "" 1 "" { "J" 1/3 "Q" 1/3 "K" 1/3 } 0'
    assert lines[4] == 'c "" 2 "" { "Q" 1/2 "K" 1/2 } 0'
    assert lines[5] == 'p "" 1 1 "J|" { "pass" "bet" } 0'
    assert lines[6] == 'p "" 2 1 "Q|c" { "pass" "bet" } 0'
    assert lines[7] == 't "" 1 "-1" { -1, 1 }'


@pytest.mark.parametrize(
    ("game", "nodes"),
    [(kuhn_poker(), 58), (one_card_poker_game(4), 113), (leduc_poker(), 9457), (Goofspiel(3), 67)],
    ids=lambda value: value.name if isinstance(value, Game) else None,
)
def test_a_game_comes_back_as_it_was(tmp_path: Path, game: Game, nodes: int) -> None:
    write_efg(game, tmp_path / "copy.efg")
    copy = load_efg(tmp_path / "copy.efg")
    assert same_tree(game, copy) == len(copy.payoffs) == nodes
    assert list(tmp_path.iterdir()) == [tmp_path / "copy.efg"]


@dataclass(frozen=True)
class Odd(Game):
    """Chance, then player 0, then an end; with whatever names, numbers and counts of actions a test wants."""

    keys: tuple[str, ...] = ("a", "b")
    label: str = "x"
    chances: tuple[float, ...] = (0.5, 0.5)
    payoffs: tuple[float, ...] = (1.0, 2.0)
    counts: tuple[int, ...] = (1, 1)

    @property
    def name(self) -> str:
        return "odd"

    def root(self) -> "OddState":
        return OddState(self, ())


@dataclass(frozen=True, slots=True)
class OddState(State):
    game: Odd
    moves: tuple[int, ...]

    @property
    def player(self) -> int:
        return (CHANCE, 0, TERMINAL)[len(self.moves)]

    def actions(self) -> list[int]:
        if self.player == TERMINAL:
            return []
        return list(range(len(self.game.keys) if not self.moves else self.game.counts[self.moves[0]]))

    def child(self, action: int) -> "OddState":
        return OddState(self.game, (*self.moves, action))

    def infoset_key(self) -> str:
        return self.game.keys[self.moves[0]]

    def payoff(self) -> float:
        return self.game.payoffs[self.moves[0]]

    def chance_probabilities(self) -> tuple[float, ...]:
        return self.game.chances

    def action_name(self, action: int) -> str:
        return self.game.label if action == 0 else f"{self.game.label}{action}"


@settings(max_examples=200, deadline=None)
@given(
    keys=st.lists(
        st.text(st.one_of(st.sampled_from('" \\\nu{}2'), st.characters()), min_size=1), min_size=2, max_size=2
    ),
    label=st.text(st.sampled_from('"\\ \n{a'), min_size=1),
    payoffs=st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=2),
    chance=st.floats(0, 1),
)
def test_any_text_and_any_number_come_back(
    tmp_path_factory: pytest.TempPathFactory, keys: list[str], label: str, payoffs: list[float], chance: float
) -> None:
    game = Odd(keys=tuple(keys), label=label, payoffs=tuple(payoffs), chances=(chance, 1 - chance))
    path = tmp_path_factory.mktemp("odd") / "odd.efg"
    write_efg(game, path)
    copy = load_efg(path)
    assert same_tree(game, copy, names=False) == 5
    assert copy.root().child(0).action_name(0) == label


def test_probabilities_without_a_short_fraction_stay_exact(tmp_path: Path) -> None:
    chances = (0.1234567890123457, 0.8765432109876543)
    write_efg(Odd(chances=chances), tmp_path / "odd.efg")
    assert tuple(load_efg(tmp_path / "odd.efg").root().chance_probabilities()) == chances


def test_actions_may_come_as_an_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_efg(Odd(), tmp_path / "listed.efg")
    actions = type(Odd().root()).actions
    monkeypatch.setattr(type(Odd().root()), "actions", lambda state: np.array(actions(state), int))
    write_efg(Odd(), tmp_path / "array.efg")
    assert (tmp_path / "array.efg").read_text() == (tmp_path / "listed.efg").read_text()


def test_a_tiny_probability_is_not_written_as_none(tmp_path: Path) -> None:
    write_efg(Odd(chances=(1e-16, 1.0)), tmp_path / "odd.efg")
    assert tuple(load_efg(tmp_path / "odd.efg").root().chance_probabilities()) == (1e-16, 1.0)


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        (Odd(payoffs=(1.0, float("nan"))), "odd, after [x1, x]: payoff() is nan"),
        (Odd(payoffs=(1.0, float("inf"))), "odd, after [x1, x]: payoff() is inf"),
        (
            Odd(keys=("a", "a"), counts=(1, 2)),
            "odd, after [x1]: infoset 'a' has 2 actions here and 1 in another history",
        ),
    ],
)
def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path, game: Game, reason: str) -> None:
    target = tmp_path / "old.efg"
    target.write_text("old")
    with pytest.raises(EquipoiseError, match=re.escape(reason)):
        write_efg(game, target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError, match="cannot write"):
        write_efg(kuhn_poker(), tmp_path / "nowhere" / "kuhn.efg")
    with pytest.raises(EquipoiseError, match="cannot write"):
        write_efg(kuhn_poker(), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "game", [kuhn_poker(), one_card_poker_game(4), leduc_poker(), Goofspiel(3)], ids=lambda game: game.name
)
def test_gambit_reads_what_we_write(tmp_path: Path, game: Game) -> None:
    import pygambit

    write_efg(game, tmp_path / "game.efg")
    theirs = pygambit.read_efg(tmp_path / "game.efg")
    keys: tuple[set[str], set[str]] = (set(), set())
    ends = 0
    for state in preorder(game):
        if state.player >= 0:
            keys[state.player].add(state.infoset_key())
        ends += state.player == TERMINAL
    assert [len(theirs.get_infosets(player)) for player in theirs.players] == [len(own) for own in keys]
    written = theirs.to_efg().splitlines()
    assert sum(line.startswith("t ") for line in written) == ends
    for player, own in enumerate(keys):
        labels = {line.split('"')[3] for line in written if line.startswith(f'p "" {player + 1} ')}
        assert labels == own
    assert theirs.is_const_sum
    assert theirs.is_perfect_recall


def test_gambit_solves_what_we_write(tmp_path: Path) -> None:
    import pygambit

    write_efg(kuhn_poker(), tmp_path / "kuhn.efg")
    theirs = pygambit.read_efg(tmp_path / "kuhn.efg")
    equilibrium = pygambit.nash.lp_solve(theirs, rational=True).equilibrium
    assert equilibrium.payoffs["P0"] == pygambit.Rational(-1, 18)


def test_gambit_reads_keys_that_its_labels_do_not_allow(tmp_path: Path) -> None:
    import pygambit

    keys = (' two  lines\nand "quotes" ', "a back\\slash, \u00e9 and \\")
    write_efg(Odd(keys=keys, label="é ", payoffs=(1.5e-7, 1e22), chances=(0.25, 0.75)), tmp_path / "odd.efg")
    theirs = pygambit.read_efg(tmp_path / "odd.efg")
    assert sum(len(theirs.get_infosets(player)) for player in theirs.players) == 2
    paid = [theirs.get_outcome_payoffs(outcome) for outcome in theirs.get_outcomes()]
    assert {float(payoffs[player]) for payoffs in paid for player in theirs.players} == {1.5e-7, -1.5e-7, 1e22, -1e22}


def test_we_read_what_gambit_writes(tmp_path: Path) -> None:
    import pygambit

    write_efg(leduc_poker(), tmp_path / "leduc.efg")
    (tmp_path / "theirs.efg").write_text(pygambit.read_efg(tmp_path / "leduc.efg").to_efg())
    ours = load_efg(tmp_path / "theirs.efg")
    assert same_tree(leduc_poker(), ours) == 9457
