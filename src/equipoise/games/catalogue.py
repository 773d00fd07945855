"""From a line of text to a game: names, parameters with their types and ranges, and what each game is.

``load_game("nl_leduc(stack=5)")``, ``load_game("open_spiel:leduc_poker")``, ``load_game("efg:PATH")`` and
``load_game("python:PATH")`` (a file that defines one subclass of :class:`~equipoise.games.game.Game`).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from equipoise.errors import InvalidParameter, NotTrusted, UnknownGame, nearest
from equipoise.games import bluff, goofspiel, poker, spots
from equipoise.games.game import Game
from equipoise.games.python_file import checked_game, load_python_file


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of a game: how its text is read, and its default."""

    name: str
    default: str
    meaning: str
    read: Callable[[str], object]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A built-in game: its name, one line about it, its source and its parameters."""

    name: str
    about: str
    source: str
    parameters: tuple[Parameter, ...]
    make: Callable[..., Game]

    @property
    def usage(self) -> str:
        """Return the text that loads the game with its default parameters."""
        values = ",".join(f"{parameter.name}={parameter.default}" for parameter in self.parameters)
        return f"{self.name}({values})" if values else self.name


def _integer(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,6}", text) or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return read


def _dice(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([1-3])x([1-3])", text)
    if match is None:
        raise ValueError("the two players' dice as 1x1, 2x1, 1x2, 2x2, ... (up to 3 each)")
    return int(match[1]), int(match[2])


def _caps(rounds: int, example: str) -> Callable[[str], tuple[int, ...]]:
    def read(text: str) -> tuple[int, ...]:
        if not re.fullmatch(rf"\d(-\d){{{rounds - 1}}}", text):
            raise ValueError(f"the most bets and raises of each of {rounds} rounds, 0 to 9, as {example}")
        return tuple(map(int, text.split("-")))

    return read


def _actions(text: str) -> str:
    poker.action_sizes(text)
    return text


def _last_round(text: str) -> bool:
    if text not in ("automatic", "played"):
        raise ValueError("'automatic' or 'played'")
    return text == "played"


_NOLIMIT = (
    Parameter(name="stack", default="20000", meaning="chips a player, blinds included", read=_integer(100, 999999)),
    Parameter(
        name="actions",
        default="fcpa",
        meaning="raises: fcpa (pot, all-in), full (any), or fractions of the pot such as 0.5-1-2-allin",
        read=_actions,
    ),
)

CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            name="kuhn_poker",
            about="three cards, one bet: the smallest game with bluffing",
            source="Kuhn 1950",
            parameters=(),
            make=poker.kuhn_poker,
        ),
        Entry(
            name="one_card_poker",
            about="Kuhn poker with any number of cards",
            source="Gordon 2005; Double Neural CFR 2019",
            parameters=(Parameter(name="cards", default="5", meaning="cards in the deck", read=_integer(2, 1000)),),
            make=lambda cards: poker.one_card_poker_game(cards),
        ),
        Entry(
            name="leduc_poker",
            about="six cards, two rounds, limit bets",
            source="Southey et al. 2005; Deep CFR 2019",
            parameters=(),
            make=poker.leduc_poker,
        ),
        Entry(
            name="nl_leduc",
            about="Leduc with any whole bet up to all-in",
            source="Double Neural CFR 2019, 2020",
            parameters=(
                Parameter(
                    name="stack", default="5", meaning="chips a player, ante of 1 included", read=_integer(1, 30)
                ),
            ),
            make=lambda stack: poker.nl_leduc(stack),
        ),
        Entry(
            name="flop_holdem",
            about="limit hold'em that ends after the flop",
            source="Deep CFR 2019",
            parameters=(
                Parameter(
                    name="caps", default="3-4", meaning="most bets and raises of each round", read=_caps(2, "3-4")
                ),
            ),
            make=lambda caps: poker.flop_holdem(caps),
        ),
        Entry(
            name="limit_holdem",
            about="heads-up limit Texas hold'em",
            source="Gibson et al. 2012; Deep CFR 2019",
            parameters=(
                Parameter(
                    name="caps",
                    default="3-4-4-4",
                    meaning="most bets and raises of each round",
                    read=_caps(4, "3-4-4-4"),
                ),
            ),
            make=lambda caps: poker.limit_holdem(caps),
        ),
        Entry(
            name="nolimit_holdem",
            about="heads-up no-limit Texas hold'em, with an action abstraction",
            source="ACPC; Double Neural CFR 2020",
            parameters=_NOLIMIT,
            make=lambda stack, actions: poker.nolimit_holdem(stack, actions),
        ),
        Entry(
            name="nolimit_flop_holdem",
            about="no-limit hold'em that ends after the flop, with an action abstraction",
            source="ours: exact where no-limit hold'em is not",
            parameters=_NOLIMIT,
            make=lambda stack, actions: poker.nolimit_flop_holdem(stack, actions),
        ),
        Entry(
            name="goofspiel",
            about="secret bids for descending prizes, only the winner is announced",
            source="Gibson et al. 2012",
            parameters=(
                Parameter(name="cards", default="6", meaning="cards a hand", read=_integer(1, 13)),
                Parameter(
                    name="last_round",
                    default="automatic",
                    meaning="whether the forced last bid is 'automatic' or 'played'",
                    read=_last_round,
                ),
            ),
            make=lambda cards, last_round: goofspiel.Goofspiel(cards, last_round),
        ),
        Entry(
            name="bluff",
            about="liar's dice with wild sixes, rounds until a player has no dice",
            source="Gibson et al. 2012",
            parameters=(Parameter(name="dice", default="1x1", meaning="dice of the two players", read=_dice),),
            make=lambda dice: bluff.Bluff(dice),
        ),
    )
}

ADAPTERS = {
    "spot(board=...,pot=...,stack=...,first=...,second=...,bets=...)": "no-limit hold'em from a flop, turn or river on",
    "spot:PATH": "a spot from a file of lines such as 'board Td9d6h', 'pot 200', 'first 66+,A8s+'",
    "open_spiel:NAME(...)": "any two-player zero-sum game of OpenSpiel (needs the extra 'spiel')",
    "efg:PATH": "a Gambit .efg file",
    "python:PATH": "a Python file that defines one subclass of equipoise.Game",
}


class StoredText(str):
    """A game's text as a file has it. Whoever wrote the file is not the user, so it never causes code to run."""

    __slots__ = ()


def load_game(text: str, *, trusted: bool = False) -> Game:
    """Return the game that ``text`` names, or raise :class:`EquipoiseError` saying what is wrong with it.

    ``python:PATH`` runs that file. A text that was read from a policy or a run (``policy.game``) does so only if
    ``trusted``.
    """
    stored = isinstance(text, StoredText)
    text = text.strip()
    if "\0" in text:
        raise UnknownGame(f"{text!r} has a NUL character in it, which the name of a game cannot have")
    scheme, _, rest = text.partition(":")
    if rest and scheme == "open_spiel":
        from equipoise.games.open_spiel import load_open_spiel

        return load_open_spiel(rest)
    if rest and scheme == "efg":
        from equipoise.games.efg import load_efg

        return load_efg(rest)
    if rest and scheme == "python":
        if stored and not trusted:
            raise NotTrusted(
                f"the run or policy names {text}, which is Python code, and no file may run code by itself: if you "
                "trust it, add --trust-game (trust_game=True), or name the game yourself with --game (game=...)"
            )
        return load_python_file(rest)
    if rest and scheme == "spot":
        return spots.load_spot_file(rest)
    match = re.fullmatch(r"(\w+)\s*(?:\((.*)\))?", text)
    if stored and (match is None or match[1] not in (*CATALOGUE, "spot")):
        raise UnknownGame(
            f"no game is called '{text}': if it was given as a Python object, give it again by game=..., or keep it in "
            "a file and give that by --game python:PATH"
        )
    if match is None:
        raise UnknownGame(f"'{text}' is not a game: write NAME or NAME(parameter=value,...), as in nl_leduc(stack=5)")
    name, arguments = match[1], match[2] or ""
    if name == "spot":
        return spots.load_spot_text(arguments)
    if name not in CATALOGUE:
        hint = nearest(name, (*CATALOGUE, "spot"))
        raise UnknownGame(f"unknown game '{name}'{hint or '; `equipoise games` lists them'}")
    return _make(CATALOGUE[name], arguments)


def _make(entry: Entry, arguments: str) -> Game:
    known = {parameter.name: parameter for parameter in entry.parameters}
    given: dict[str, str] = {}
    for piece in filter(None, (piece.strip() for piece in arguments.split(","))):
        key, equals, value = (part.strip() for part in piece.partition("="))
        if not equals:
            raise InvalidParameter(
                f"{entry.name}: '{piece}' is not a parameter; write it as name=value, as in {entry.usage}"
            )
        if key not in known:
            wanted = f"; it has {', '.join(known)}" if known else "; it has none"
            raise InvalidParameter(f"{entry.name} has no parameter '{key}'{nearest(key, known) or wanted}")
        if key in given:
            raise InvalidParameter(f"{entry.name}: parameter '{key}' is given twice")
        given[key] = value
    values = {}
    for parameter in entry.parameters:
        value = given.get(parameter.name, parameter.default)
        try:
            values[parameter.name] = parameter.read(value)
        except ValueError as error:
            raise InvalidParameter(f"{entry.name}: {parameter.name}={value} is not valid; give {error}") from None
    return entry.make(**values)


def as_game(game: Game | str) -> Game:
    """Return the game that a caller means by a text or by the game itself."""
    return load_game(game) if isinstance(game, str) else checked_game(game)


def stored_game(text: str, game: Game | str | None = None, *, trust_game: bool = False) -> Game:
    """Return the game of a file: the one given in its place, or the one it names if that needs no trust or has it."""
    return load_game(StoredText(text), trusted=trust_game) if game is None else as_game(game)
