r"""Gambit's extensive-form files (.efg): reading one as a game, and writing any game as one.

``load_efg("poker.efg")`` reads all of the format ``EFG 2 R`` (or ``D``): definitions that are left out once made,
outcomes at inner nodes, rationals and decimals. Numbers stay exact until a path's payoffs are added up and checked.
Neither direction recurses, so depth is bounded by memory only.

Gambit's labels are printable ASCII without spaces at the ends or twice in a row. What an infoset key has beyond that is
written as ``\uXXXX`` and read back from it, so that Gambit opens what we write and we lose nothing.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import TextIO

from equipoise.errors import EquipoiseError
from equipoise.games.game import CHANCE, TERMINAL, Game, State

Payoffs = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Move:
    """What the nodes of one infoset share: who acts, the infoset's key, the actions, and chance's probabilities."""

    player: int
    key: str = ""
    names: tuple[str, ...] = ()
    probabilities: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class EfgGame(Game):
    """A game tree from a file, as flat tables over nodes in the order of the file; node 0 is the root."""

    path: str
    title: str
    moves: tuple[Move, ...]
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

    @property
    def player(self) -> int:
        return self.game.moves[self.node].player

    def actions(self) -> Sequence[int]:
        return range(len(self.game.children[self.node]))

    def child(self, action: int) -> "EfgState":
        return EfgState(self.game, self.game.children[self.node][action])

    def infoset_key(self) -> str:
        return self.game.moves[self.node].key

    def payoff(self) -> float:
        return self.game.payoffs[self.node]

    def chance_probabilities(self) -> Sequence[float]:
        return self.game.moves[self.node].probabilities

    def action_name(self, action: int) -> str:
        return self.game.moves[self.node].names[action]


# A backslash escapes a quote and nothing else, as in Gambit; two backslashes are two. Possessive, so that an escaped
# quote is never taken for the end of a string whose own end is missing.
_TOKEN = re.compile(
    r"""\s*(?:"(?P<text>(?:[^"\\]++|\\"?)*+)"
    | (?P<number>[+-]?(?:[0-9]+/[0-9]+ | (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))
    | (?P<symbol>[{},]|[^\s"{},]+) | (?P<quote>") | (?P<end>\Z))""",
    re.VERBOSE,
)
_ESCAPED = re.compile(r'\\(?:(")|u([0-9a-f]{4})|U(00(?:0[0-9a-f]|10)[0-9a-f]{4}))')
_UNSAFE = re.compile(r"[^ -~]|\\|\A | \Z|(?<= ) ")


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: match[1] or chr(int(match[2] or match[3], 16)), text) if "\\" in text else text


def _quote(text: str) -> str:
    def code(match: re.Match[str]) -> str:
        point = ord(match[0])
        return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"

    return '"' + _UNSAFE.sub(code, text).replace('"', '\\"') + '"'


class _Tokens:
    """The file's text, one token at a time; ``kind`` is ``text``, ``number``, ``symbol`` or ``end``."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self._text = path, text
        self._next = 0
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self._text, self._next)
        assert match is not None and match.lastgroup is not None  # the pattern has a group for every character
        self.kind, self.value = match.lastgroup, match[match.lastgroup]
        self.start, self._next = match.start(match.lastgroup), match.end()
        if self.kind == "quote":
            raise self.error("a string is not closed; expected another double quote")

    def error(self, what: str, at: int | None = None) -> EquipoiseError:
        position = self.start if at is None else at
        # The end of the file is told by the line of the last token: the lines after it are empty.
        line = self._text.count("\n", 0, min(position, len(self._text.rstrip()))) + 1
        return EquipoiseError(f"{self.path}, line {line}: {what}")

    def unexpected(self, expected: str) -> EquipoiseError:
        if self.kind == "end":
            return self.error(f"unexpected end of the file; expected {expected}")
        shown = " ".join(self.value.split())
        shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
        return self.error(f"found {'the string ' if self.kind == 'text' else ''}'{shown}'; expected {expected}")

    def take(self, kind: str, expected: str, *values: str) -> str:
        """Return the token and go on, if it is of this kind and one of ``values``, where given."""
        if self.kind != kind or (values and self.value not in values):
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

    def number(self, expected: str) -> Fraction:
        at = self.start
        word = self.take("number", expected)
        try:
            # Fraction would spell out the zeros of 1e-999999999, so what a float cannot hold is refused before.
            if not 1 <= len(re.split("[eE][+-]?0*", word)[-1]) <= 400:
                raise ValueError
            value = Fraction(word)
            float(value)
        except (ValueError, ZeroDivisionError, OverflowError):
            raise self.error(f"'{word[:40]}' is not a number that can be used; expected {expected}", at) from None
        return value

    def index(self, expected: str) -> int:
        if self.kind == "number" and not re.fullmatch("[0-9]{1,18}", self.value):
            raise self.unexpected(f"{expected} (a whole number)")
        return int(self.take("number", expected))


@dataclass(slots=True)
class _Infoset:
    """An infoset while its file is read: its name and actions come with its first definition."""

    player: int
    number: int
    name: str = ""
    labels: list[str] = field(default_factory=list)
    probabilities: list[Fraction] = field(default_factory=list)


def _unique(names: Iterable[str], numbers: Iterable[int]) -> list[str]:
    """Return names with their numbers appended where names repeat."""
    names = list(names)
    counts = Counter(names)
    taken = set(names)
    result = []
    for name, number in zip(names, numbers, strict=True):
        unique = name
        while counts[name] > 1 and unique in taken:
            unique += f"#{number}"
        taken.add(unique)
        result.append(unique)
    return result


class _Parser:
    """The grammar: a prologue, then the nodes in preorder."""

    def __init__(self, tokens: _Tokens) -> None:
        self.tokens = tokens
        self.infosets: dict[tuple[int, int], _Infoset] = {}
        self.outcomes: dict[int, Payoffs] = {0: (Fraction(0), Fraction(0))}

    def game(self) -> EfgGame:
        title = self._prologue()
        sets, children, payoffs = self._tree()
        moves = self._moves()
        leaf = Move(TERMINAL)
        by_node = tuple(moves[s.player, s.number] if s else leaf for s in sets)
        return EfgGame(self.tokens.path, title, by_node, tuple(children), tuple(payoffs))

    def _prologue(self) -> str:
        tokens = self.tokens
        if tokens.value != "EFG" or tokens.kind != "symbol":
            raise tokens.unexpected("a Gambit extensive-form game, which begins with EFG 2 R")
        tokens.advance()
        tokens.take("number", "format version 2", "2")
        tokens.take("symbol", "the number type R or D", "R", "D")
        title = tokens.text("the game's title")
        at = tokens.start
        tokens.take("symbol", "'{' and the players' names", "{")
        players = 0
        while not tokens.accept("}"):
            tokens.text("a player's name or '}', the name")
            players += 1
        if players != 2:
            raise tokens.error(f"the game has {players} players; equipoise solves two-player games", at)
        if tokens.kind == "text":  # the optional comment
            tokens.advance()
        return title

    def _tree(self) -> tuple[list[_Infoset | None], list[tuple[int, ...]], list[float]]:
        tokens = self.tokens
        sets: list[_Infoset | None] = []
        children: list[tuple[int, ...]] = []
        payoffs: list[float] = []
        # The path to the present node: each node with its actions, its children so far and the payoffs up to it.
        path: list[tuple[int, int, list[int], Payoffs]] = []
        first_sum: Fraction | None = None
        constant = True
        unbalanced: tuple[int, Payoffs] | None = None
        while True:
            node, at = len(sets), tokens.start
            kind = tokens.take("symbol", "a node: c (chance), p (player) or t (terminal)", "c", "p", "t")
            tokens.text("the node's name")
            infoset = None if kind == "t" else self._infoset(kind)
            total = self._outcome()
            if path:
                path[-1][2].append(node)
                before = path[-1][3]
                total = (before[0] + total[0], before[1] + total[1]) if any(before) else total
            sets.append(infoset)
            children.append(())
            payoffs.append(float(total[0]))
            if infoset is not None:
                path.append((node, len(infoset.labels), [], total))
                continue
            balance, scale = total[0] + total[1], max(abs(total[0]), abs(total[1]))
            if abs(balance) > scale / 10**9 and unbalanced is None:
                unbalanced = (at, total)
            first_sum = balance if first_sum is None else first_sum
            constant = constant and abs(balance - first_sum) <= scale / 10**9
            while path and len(path[-1][2]) == path[-1][1]:
                done, _, branches, _ = path.pop()
                children[done] = tuple(branches)
            if not path:
                break
        if tokens.kind != "end":
            raise tokens.unexpected("the end of the file, as the tree is complete")
        if unbalanced is not None:
            at, (mine, theirs) = unbalanced
            sums = f"payoffs {float(mine):g} and {float(theirs):g} sum to {float(mine + theirs):g}"
            if constant:
                sums += " as at every end (constant-sum); subtract half of it from every payoff"
            raise tokens.error(f"{sums}; equipoise solves zero-sum games, whose payoffs sum to 0", at)
        return sets, children, payoffs

    def _infoset(self, kind: str) -> _Infoset:
        tokens = self.tokens
        at = tokens.start
        player = CHANCE if kind == "c" else tokens.index("the number of the player") - 1
        if kind == "p" and player not in (0, 1):
            raise tokens.error(f"there is no player {player + 1}; expected player 1 or 2", at)
        at = tokens.start
        number = tokens.index("the number of the infoset")
        owner = "chance" if player == CHANCE else f"player {player + 1}"
        infoset = self.infosets.setdefault((player, number), _Infoset(player, number))
        if tokens.kind == "text":
            name = tokens.text("the infoset's name")
            infoset.name = infoset.name or name
        if tokens.accept("{"):
            self._actions(infoset, f"infoset {number} of {owner}", at)
        elif not infoset.labels:
            raise tokens.error(f"infoset {number} of {owner} has no definition; expected its actions in braces", at)
        return infoset

    def _actions(self, infoset: _Infoset, what: str, at: int) -> None:
        tokens = self.tokens
        labels: list[str] = []
        probabilities: list[Fraction] = []
        while not labels or not tokens.accept("}"):
            labels.append(tokens.text("an action's name" if not labels else "an action's name or '}', the name"))
            if infoset.player == CHANCE:
                probabilities.append(tokens.number(f"the probability of action '{labels[-1]}'"))
                if probabilities[-1] < 0:
                    raise tokens.error(f"{what} has a negative probability; expected numbers from 0 to 1", at)
        if not infoset.labels:
            infoset.labels, infoset.probabilities = labels, probabilities
            if infoset.player == CHANCE and abs(sum(probabilities) - 1) > Fraction(1, 10**6):
                total = float(sum(probabilities))
                raise tokens.error(f"the probabilities of {what} sum to {total:.9g}; expected 1", at)
        elif len(labels) != len(infoset.labels):
            counts = f"{len(labels)} actions here and {len(infoset.labels)} where it was defined"
            raise tokens.error(f"{what} has {counts}; expected the same actions", at)
        elif labels != infoset.labels or probabilities != infoset.probabilities:
            differ = "actions" if labels != infoset.labels else "probabilities"
            raise tokens.error(f"{what} has other {differ} here than where it was defined; expected the same", at)

    def _outcome(self) -> Payoffs:
        tokens = self.tokens
        at = tokens.start
        number = tokens.index("the number of the outcome, 0 for none,")
        named = tokens.kind == "text"
        if named:
            tokens.advance()
        if not tokens.accept("{"):
            if number not in self.outcomes:
                raise tokens.error(f"outcome {number} has no definition; expected its payoffs in braces", at)
            return self.outcomes[number]
        values: list[Fraction] = []
        while not tokens.accept("}"):
            values.append(tokens.number("a payoff or '}'"))
            tokens.accept(",")
        if len(values) != 2:
            raise tokens.error(f"outcome {number} has {len(values)} payoffs; expected 2, one for each player", at)
        payoffs = values[0], values[1]
        if self.outcomes.setdefault(number, payoffs) != payoffs:
            first = "none, as outcome 0 is no outcome" if number == 0 else "those of its first definition"
            raise tokens.error(f"outcome {number} has other payoffs here; expected {first}", at)
        return payoffs

    def _moves(self) -> dict[tuple[int, int], Move]:
        moves = {}
        for player in (CHANCE, 0, 1):
            infosets = [infoset for infoset in self.infosets.values() if infoset.player == player]
            keys = _unique((s.name or str(s.number) for s in infosets), (s.number for s in infosets))
            for infoset, key in zip(infosets, keys, strict=True):
                places = range(1, len(infoset.labels) + 1)
                labels = (label or str(place) for label, place in zip(infoset.labels, places, strict=True))
                moves[player, infoset.number] = Move(
                    player,
                    f"P{player}:{key}",
                    tuple(_unique(labels, places)),
                    tuple(float(probability) for probability in infoset.probabilities),
                )
        return moves


def load_efg(path: str | Path) -> EfgGame:
    """Return the game in a Gambit .efg file, or raise :class:`EquipoiseError` saying what is wrong on which line."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise EquipoiseError(f"{path}, line {line}: not a text file; expected a Gambit .efg file in UTF-8") from None
    except FileNotFoundError:
        raise EquipoiseError(f"{path}: there is no such file; expected a Gambit .efg file") from None
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise EquipoiseError(f"{path}: cannot be read ({reason}); expected a Gambit .efg file") from None
    return _Parser(_Tokens(str(path), text)).game()


def write_efg(game: Game, path: str | Path) -> None:
    """Write any game as a Gambit .efg file. The file appears whole or not at all.

    Infosets are named by their keys; a key that is empty is read back as the infoset's number.
    """
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")  # beside the target: a rename stays on one disk
    try:
        try:
            with draft.open("w", encoding="ascii", newline="\n") as file:
                _write_nodes(game, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
    except OSError as error:
        raise EquipoiseError(f"{path}: cannot be written ({error.strerror or error})") from None


def _write_nodes(game: Game, file: TextIO) -> None:
    file.write(f'EFG 2 R {_quote(game.name)} {{ "P0" "P1" }}\n""\n\n')
    infosets: tuple[dict[str, tuple[int, str]], ...] = ({}, {})  # by player: the definition, its number of actions
    outcomes: dict[str, int] = {}
    chance_nodes = 0
    stack = [game.root()]
    while stack:
        state = stack.pop()
        player = state.player
        if player == TERMINAL:
            mine, theirs = _decimal(state.payoff(), game), _decimal(-state.payoff(), game)
            number = outcomes.setdefault(mine, len(outcomes) + 1)
            file.write(f't "" {number} "{mine}" {{ {mine}, {theirs} }}\n')
            continue
        actions = state.actions()
        if player == CHANCE:
            chance_nodes += 1
            names = (_quote(state.action_name(action)) for action in actions)
            numbers = _probabilities(state.chance_probabilities(), game)
            listed = " ".join(f"{name} {number}" for name, number in zip(names, numbers, strict=True))
            file.write(f'c "" {chance_nodes} "" {{ {listed} }} 0\n')
        else:
            key, known = state.infoset_key(), infosets[player]
            if key not in known:
                # Named at the first visit only: Gambit refuses an infoset whose labels differ between its nodes.
                listed = " ".join(_quote(state.action_name(action)) for action in actions)
                known[key] = (len(actions), f"{player + 1} {len(known) + 1} {_quote(key)} {{ {listed} }}")
            count, definition = known[key]
            if count != len(actions):
                raise EquipoiseError(
                    f"{game.name}: infoset '{key}' has {count} actions in one history and {len(actions)} in another"
                )
            file.write(f'p "" {definition} 0\n')
        stack.extend(state.child(action) for action in reversed(actions))


def _decimal(value: float, game: Game) -> str:
    """Return the number in full: Gambit does not read a point and an exponent together."""
    if not isfinite(value):
        raise EquipoiseError(f"{game.name}: {value} cannot be written to an .efg file; expected a finite number")
    return str(int(value)) if float(value).is_integer() else format(Decimal(repr(float(value))), "f")


def _probabilities(values: Sequence[float], game: Game) -> list[str]:
    """Return fractions where they are what was meant: a third is 1/3. Gambit wants a sum of exactly 1."""
    fractions = [Fraction(value).limit_denominator(10**6) for value in values]
    exact = all(abs(float(fraction) - value) <= 1e-15 for fraction, value in zip(fractions, values, strict=True))
    return [str(f) for f in fractions] if exact and sum(fractions) == 1 else [_decimal(v, game) for v in values]
