r"""Gambit's extensive-form files (.efg): reading one as a game, and writing any game as one.

``load_efg("poker.efg")`` reads all of the format ``EFG 2 R`` (or ``D``): definitions that are left out once made,
outcomes at inner nodes, rationals and decimals. Numbers stay exact until a path's payoffs are added up and checked.
Neither direction recurses, so depth is bounded by memory only.

Gambit's labels are printable ASCII without spaces at the ends or twice in a row. What an infoset key has beyond that is
written as ``\u{XX}`` and read back from it, so that Gambit opens what we write and we lose nothing.
"""

import os
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import IO

from equipoise.errors import InvalidGame, NotFound
from equipoise.files import write_atomically
from equipoise.games.game import CHANCE, TERMINAL, Game, State
from equipoise.games.referee import BrokenRules, Position, Referee

Payoffs = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Infoset:
    """What the nodes of one infoset share. Chance has infosets too; all ends of the game share one of no player."""

    player: int
    number: int
    key: str = ""
    names: tuple[str, ...] = ()
    probabilities: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class EfgGame(Game):
    """A game tree from a file, as tables over its nodes in the order of the file; node 0 is the root."""

    max_depth = max_nodes = inf
    path: str
    infosets: tuple[Infoset, ...]
    infoset_of: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    payoffs: tuple[float, ...]

    @property
    def name(self) -> str:
        return f"efg:{self.path}"

    def root(self) -> "EfgState":
        return EfgState(self, 0)

    def chip_unit(self) -> str:
        return "units"


@dataclass(frozen=True, slots=True)
class EfgState(State):
    """A node of the file's tree. Action ``a`` is the branch at place ``a``, from 0."""

    game: EfgGame
    node: int

    def _infoset(self) -> Infoset:
        return self.game.infosets[self.game.infoset_of[self.node]]

    @property
    def player(self) -> int:
        return self._infoset().player

    def actions(self) -> Sequence[int]:
        return range(len(self.game.children[self.node]))

    def child(self, action: int) -> "EfgState":
        return EfgState(self.game, self.game.children[self.node][action])

    def infoset_key(self) -> str:
        return self._infoset().key

    def payoff(self) -> float:
        return self.game.payoffs[self.node]

    def chance_probabilities(self) -> Sequence[float]:
        return self._infoset().probabilities

    def action_name(self, action: int) -> str:
        return self._infoset().names[action]


# A backslash escapes a quote and nothing else, as in Gambit; two backslashes are two. Possessive, so that an escaped
# quote is never taken for the end of a string whose own end is missing.
_TOKEN = re.compile(
    r"""\s*(?:"(?P<text>(?:[^"\\]++|\\"?)*+)"
    | (?P<number>[+-]?(?:[0-9]+/[0-9]+ | (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?=[\s"{},]|\Z))
    | (?P<symbol>[{},]|[^\s"{},]+) | (?P<quote>") | (?P<end>\Z))""",
    re.VERBOSE,
)
_ESCAPED = re.compile(r'\\(?:(")|u\{((?:10|[0-9a-f])?[0-9a-f]{1,4})\})')
_UNSAFE = re.compile(r"[^ -~]|\\|\A | \Z|(?<= ) ")


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: match[1] or chr(int(match[2], 16)), text)


def _quote(text: str) -> str:
    safe = _UNSAFE.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)
    return '"' + safe.replace('"', '\\"') + '"'


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else f"{line[:37]}..."


@lru_cache(maxsize=4096)
def _fraction(word: str) -> Fraction | None:
    """Return the number, if it can be worked with: Fraction spells out all the zeros of 1e-999999999."""
    with suppress(ValueError, ZeroDivisionError):
        if not re.search("[eE][+-]?[0-9]{4}", word) and abs(value := Fraction(word)) < 10**300:
            return value
    return None


@lru_cache(maxsize=4096)
def _balance(payoffs: Payoffs) -> tuple[Fraction, bool]:
    """Return the sum of two payoffs, and whether it is 0 but for rounding in the file."""
    total = payoffs[0] + payoffs[1]
    return total, abs(total) <= max(abs(payoffs[0]), abs(payoffs[1])) / 10**9


class _Reader:
    """The file's text one token at a time (``kind`` is text, number, symbol or end), and the grammar over it."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.source, self.position = path, text, 0
        self.infosets: list[Infoset] = [Infoset(TERMINAL, 0)]
        self.infoset_ids: dict[tuple[int, int], int] = {}
        self.outcomes: dict[int, Payoffs] = {0: (Fraction(0), Fraction(0))}
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.source, self.position)
        assert match is not None  # the pattern has a group for every character
        assert match.lastgroup is not None
        self.kind, self.value = match.lastgroup, match[match.lastgroup]
        self.start, self.position = match.start(match.lastgroup), match.end()
        if self.kind == "quote":
            raise self.error("a string is not closed; expected another double quote")

    def error(self, what: str, at: int | None = None) -> InvalidGame:
        end = len(self.source.rstrip())  # an early end is told by the last line that has something on it
        line = self.source.count("\n", 0, min(self.start if at is None else at, end)) + 1
        return InvalidGame(f"{self.path}, line {line}: {what}")

    def unexpected(self, expected: str) -> InvalidGame:
        if self.kind == "end":
            return self.error(f"unexpected end of the file; expected {expected}")
        return self.error(f"found {'the string ' * (self.kind == 'text')}'{_short(self.value)}'; expected {expected}")

    def take(self, kind: str, expected: str, pattern: str = "") -> str:
        """Return the token and go on, if it is of this kind and pattern."""
        if self.kind != kind or (pattern and not re.fullmatch(pattern, self.value)):
            raise self.unexpected(expected)
        value = self.value
        self.advance()
        return value

    def accept(self, symbol: str) -> bool:
        """Go past ``symbol`` if it is next, and return whether it was."""
        found = self.kind == "symbol" and self.value == symbol
        if found:
            self.advance()
        return found

    def text(self, expected: str) -> str:
        return _unescape(self.take("text", f"{expected} in double quotes"))

    def index(self, expected: str) -> int:
        return int(self.take("number", f"{expected} (a whole number)", "[0-9]{1,18}"))

    def number(self, expected: str) -> Fraction:
        at, word = self.start, self.take("number", expected)
        value = _fraction(word)
        if value is None:
            raise self.error(f"'{_short(word)}' is not a number that can be used; expected {expected}", at)
        return value

    def game(self) -> EfgGame:
        self.take("symbol", "a Gambit extensive-form game, which begins with EFG 2 R", "EFG")
        self.take("number", "format version 2", "2")
        self.take("symbol", "the number type R or D", "[RD]")
        self.text("the game's title")
        at, players = self.start, 0
        self.take("symbol", "'{' and the players' names", "[{]")
        while not self.accept("}"):
            self.text("'}' or a player's name")
            players += 1
        if players != 2:
            raise self.error(f"the game has {players} players; equipoise solves two-player games", at)
        if self.kind == "text":  # the optional comment
            self.advance()
        return self.tree()

    def tree(self) -> EfgGame:
        infoset_of: list[int] = []
        children: list[tuple[int, ...]] = []
        payoffs: list[float] = []
        # The path to the present node: each node with its number of actions, children so far, and payoffs up to it.
        path: list[tuple[int, int, list[int], Payoffs]] = []
        first: Fraction | None = None  # the sum of the payoffs at the first end
        constant, unbalanced = True, None
        while not infoset_of or path:
            at, node = self.start, len(infoset_of)
            kind = self.take("symbol", "a node: c (chance), p (player) or t (terminal)", "[cpt]")
            self.text("the node's name")
            infoset = 0 if kind == "t" else self.infoset(kind)
            total = self.outcome()
            if path:
                path[-1][2].append(node)
                before = path[-1][3]
                total = (before[0] + total[0], before[1] + total[1]) if any(before) else total
            infoset_of.append(infoset)
            children.append(())
            payoffs.append(float(total[0]) if kind == "t" else 0.0)
            if kind != "t":
                path.append((node, len(self.infosets[infoset].names), [], total))
                continue
            balance, is_zero = _balance(total)
            first = balance if first is None else first
            constant = constant and balance == first
            unbalanced = unbalanced or (None if is_zero else (at, total))
            while path and len(path[-1][2]) == path[-1][1]:
                done, _, branches, _ = path.pop()
                children[done] = tuple(branches)
        if self.kind != "end":
            raise self.unexpected("the end of the file, as the tree is complete")
        if unbalanced is not None:
            at, (mine, theirs) = unbalanced
            sums = f"payoffs {float(mine):g} and {float(theirs):g} sum to {float(mine + theirs):g}"
            sums += ", as at every end (a constant-sum game: subtract half of it from each payoff)" * constant
            raise self.error(f"{sums}; equipoise solves zero-sum games, whose payoffs sum to 0", at)
        return EfgGame(self.path, self.named(), tuple(infoset_of), tuple(children), tuple(payoffs))

    def infoset(self, kind: str) -> int:
        at = self.start
        player = CHANCE if kind == "c" else self.index("the player's number") - 1
        if kind == "p" and player not in (0, 1):
            raise self.error(f"there is no player {player + 1}; expected player 1 or 2", at)
        number = self.index("the infoset's number")
        what = f"infoset {number} of {'chance' if kind == 'c' else f'player {player + 1}'}"
        place = self.infoset_ids.setdefault((player, number), len(self.infosets))
        if place == len(self.infosets):
            self.infosets.append(Infoset(player, number))
        known = self.infosets[place]
        name = self.text("the infoset's name") if self.kind == "text" else ""
        if not self.accept("{"):
            if not known.names:
                raise self.error(f"{what} has no definition; expected its actions in braces", at)
            return place
        names: list[str] = []
        chances: list[Fraction] = []
        while not names or not self.accept("}"):
            names.append(self.text("'}' or an action's name" if names else "an action's name"))
            if kind == "c":
                chances.append(self.number(f"the probability of '{_short(names[-1])}'"))
        total = sum(chances, Fraction(0))
        if kind == "c" and (min(chances) < 0 or abs(total - 1) > Fraction(1, 10**6)):
            wrong = "a negative probability" if min(chances) < 0 else f"probabilities of sum {float(total):.9g}"
            raise self.error(f"{what} has {wrong}; expected numbers from 0 to 1 that sum to 1", at)
        here = Infoset(player, number, known.key or name, tuple(names), tuple(float(chance) for chance in chances))
        if known.names and len(known.names) != len(names):
            counts = f"{len(names)} actions here and {len(known.names)} where it was defined"
            raise self.error(f"{what} has {counts}; expected the same number", at)
        if known.names and (known.names, known.probabilities) != (here.names, here.probabilities):
            raise self.error(f"{what} was defined with other actions or probabilities; expected the same ones", at)
        self.infosets[place] = here
        return place

    def outcome(self) -> Payoffs:
        at, number = self.start, self.index("the outcome's number, 0 for none")
        if self.kind == "text":
            self.advance()
        if not self.accept("{"):
            if number not in self.outcomes:
                raise self.error(f"outcome {number} has no definition; expected its payoffs in braces", at)
            return self.outcomes[number]
        values: list[Fraction] = []
        while not self.accept("}"):
            values.append(self.number("'}' or a payoff"))
            self.accept(",")
        if len(values) != 2:
            raise self.error(f"outcome {number} has {len(values)} payoffs; expected 2, one for each player", at)
        payoffs = values[0], values[1]
        if self.outcomes.setdefault(number, payoffs) != payoffs:
            wanted = "those of its first definition" if number else "none, as 0 stands for no outcome"
            raise self.error(f"outcome {number} has other payoffs here; expected {wanted}", at)
        return payoffs

    def named(self) -> tuple[Infoset, ...]:
        """Return the infosets with keys and action names that are never empty and never shared."""
        for player in (CHANCE, 0, 1):
            own = [infoset for infoset in self.infosets if infoset.player == player]
            keys = _unique([s.key or str(s.number) for s in own], [s.number for s in own])
            for infoset, key in zip(own, keys, strict=True):
                places = range(1, len(infoset.names) + 1)
                names = _unique([name or str(i) for i, name in zip(places, infoset.names, strict=True)], places)
                place = self.infoset_ids[player, infoset.number]
                self.infosets[place] = replace(infoset, key=f"P{player}:{key}", names=tuple(names))
        return tuple(self.infosets)


def _unique(names: Sequence[str], numbers: Sequence[int]) -> list[str]:
    """Return the names, with the number appended to each that is not the only one of its kind."""
    counts, taken = Counter(names), set(names)
    result = []
    for name, number in zip(names, numbers, strict=True):
        unique = name
        while counts[name] > 1 and unique in taken:
            unique += f"#{number}"
        taken.add(unique)
        result.append(unique)
    return result


def load_efg(path: str | Path) -> EfgGame:
    """Return the game in a Gambit .efg file, or raise :class:`EquipoiseError` saying what is wrong on which line."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidGame(f"{path}, line {line}: not a text file; expected a Gambit .efg file in UTF-8") from None
    except (OSError, ValueError) as error:  # a ValueError is a path that no system takes, with a null in it
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise NotFound(f"{path}: cannot be read ({reason}); expected a Gambit .efg file") from None
    return _Reader(os.path.abspath(path), text).game()


def write_efg(game: Game, path: str | Path) -> None:
    """Write any game as a Gambit .efg file. The file appears whole or not at all.

    Infosets are named by their keys; a key that is empty is read back as the infoset's number.
    """
    with write_atomically(path, "w", encoding="ascii", newline="\n") as file:
        _write_nodes(game, file)


def _write_nodes(game: Game, file: IO[str]) -> None:
    file.write(f'EFG 2 R {_quote(game.name)} {{ "P0" "P1" }}\n""\n\n')
    referee, writer = Referee(game), _NodeWriter(game, file)
    # Each state comes with the way there: how many actions, which the last was, and the way before it.
    way: _Way = (0, 0, None)
    try:
        stack = [(referee.root(), way)]
        while stack:
            state, way = stack.pop()
            position = referee.position(state)
            writer.write(referee, state, position)
            actions = position[1]
            if len(actions) and way[0] == game.max_depth:  # an array has no truth value
                raise referee.too_deep()
            if writer.nodes + len(stack) + len(actions) > game.max_nodes:
                raise referee.too_many()
            children = referee.children(state, actions)
            stack += [(child, (way[0] + 1, place, way)) for place, child in enumerate(children)][::-1]
    except BrokenRules as fault:
        places: list[int] = []
        before: _Way | None = way
        while before is not None and before[2] is not None:
            places.append(before[1])
            before = before[2]
        raise referee.refusal(referee.names_on_way(places[::-1]), fault) from fault.__cause__


_Way = tuple[int, int, "_Way | None"]


class _NodeWriter:
    """Writes one line a node, and gives numbers to what it meets."""

    def __init__(self, game: Game, file: IO[str]) -> None:
        self.game, self.file = game, file
        self.infosets: tuple[dict[str, tuple[int, str]], ...] = ({}, {})  # by player and key: actions, definition
        self.outcomes: dict[str, int] = {}
        self.nodes = self.chance_nodes = 0

    def write(self, referee: Referee, state: State, position: Position) -> None:
        player, actions, chances, payoff = position
        self.nodes += 1
        if player == TERMINAL:
            mine, theirs = _decimal(payoff), _decimal(-payoff)
            number = self.outcomes.setdefault(mine, len(self.outcomes) + 1)
            self.file.write(f't "" {number} "{mine}" {{ {mine}, {theirs} }}\n')
        elif player == CHANCE:
            self.chance_nodes += 1
            names = map(_quote, referee.action_names(state, actions))
            listed = " ".join(f"{name} {number}" for name, number in zip(names, _probabilities(chances), strict=True))
            self.file.write(f'c "" {self.chance_nodes} "" {{ {listed} }} 0\n')
        else:
            key, known = referee.key(state), self.infosets[player]
            if key not in known:
                # Named at the first visit only: Gambit refuses an infoset whose labels differ between its nodes.
                listed = " ".join(map(_quote, referee.action_names(state, actions)))
                known[key] = (len(actions), f"{player + 1} {len(known) + 1} {_quote(key)} {{ {listed} }}")
            count, definition = known[key]
            if count != len(actions):
                raise BrokenRules(f"infoset '{key}' has {len(actions)} actions here and {count} in another history")
            self.file.write(f'p "" {definition} 0\n')


def _decimal(value: float) -> str:
    """Return the number in full: Gambit does not read a point and an exponent together."""
    return str(int(value)) if float(value).is_integer() else format(Decimal(repr(float(value))), "f")


def _probabilities(values: Sequence[float]) -> list[str]:
    """Return fractions where they are what was meant: a third is 1/3. Gambit wants a sum of exactly 1."""
    fractions = [Fraction(value).limit_denominator(10**6) for value in values]
    exact = all(abs(float(f) - value) <= 1e-15 * value for f, value in zip(fractions, values, strict=True))
    return [str(f) for f in fractions] if exact and sum(fractions) == 1 else [_decimal(v) for v in values]
