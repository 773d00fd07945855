"""Settings: every parameter of an algorithm is declared once, as a field of the frozen dataclass that it belongs to.

A field made by :func:`knob` carries a default, a kind (what values it may have), a meaning in plain English, the name
that papers have for it, and the variants that have it. Dataclasses nest (:func:`part`): an algorithm's settings hold
those of its scheme, its rule, its networks. From that one declaration come the names that ``--set`` takes, the
defaults, the ranges, what `equipoise algorithms` prints, and the objects that solvers are made from.

What a variant does not have cannot be given, and cannot be read: a setting is never ignored in silence.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, NoReturn, Protocol, TypeVar

from equipoise.errors import InvalidParameter, nearest

Values = Mapping[str, object]


@dataclass(frozen=True)
class Above:
    """Values that a condition asks for: all numbers above one."""

    bound: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and value > self.bound

    def __str__(self) -> str:
        return f" above {self.bound:g}"


@dataclass(frozen=True)
class Except:
    """Values that a condition asks for: all but one; also met where there is no such setting."""

    value: str

    def __contains__(self, value: object) -> bool:
        return value != self.value

    def __str__(self) -> str:
        return f" other than {self.value}"


# Names of other settings, each with the values that it must have.
Condition = Mapping[str, tuple[object, ...] | Above | Except]
GAME = "game"  # stands for the kind of game in a condition: one of GAMES
GAMES = {
    "listed": "games whose infosets can be listed",
    "codes": "games too large to list",
    "boards": "games solved board by board, such as flop_holdem",
    "spots": "spots",
    "holdem": "hold'em",
}


class Kind(Protocol):
    """What values a setting may have."""

    @property
    def wanted(self) -> str:
        """Return what to give, as in "give a whole number of 1 or more"."""

    def read(self, value: object) -> object:
        """Return a value given as text or number as it is kept, or raise ValueError."""

    def inside(self, value: Any) -> object:
        """Return a kept value as code takes it."""


class _TooMuch(ValueError):
    """A number of the right kind that no run could use up."""


MOST = 10**9  # where nothing else bounds a whole number: two of them still multiply in 64 bits


@dataclass(frozen=True)
class Whole:
    """A whole number; with a ``word``, that word stands for zero."""

    low: int = 1
    high: int | None = None
    word: str | None = None

    @property
    def wanted(self) -> str:
        span = f"of {self.low} or more" if self.high is None else f"from {self.low} to {self.high}"
        return f"a whole number {span}" + (f", or {self.word}" if self.word is not None else "")

    def read(self, value: object) -> object:
        if self.word is not None and value in (self.word, 0, "0"):
            return 0
        if isinstance(value, bool):
            raise ValueError
        number = float(str(value)) if not isinstance(value, int) else value
        if number != math.floor(number) or number < self.low or (self.high is not None and number > self.high):
            raise ValueError
        if number > MOST:
            raise _TooMuch
        return int(number)

    def inside(self, value: Any) -> object:
        return value


@dataclass(frozen=True)
class Number:
    """A finite number: from ``low`` or above ``above``, to ``high``."""

    low: float | None = None
    above: float | None = None
    high: float | None = None

    @property
    def wanted(self) -> str:
        if self.low is None and self.above is None:
            return "a number"
        if self.high is not None:
            return (
                f"a number from {self.low:g} to {self.high:g}"
                if self.low is not None
                else f"a number above {self.above:g}, at most {self.high:g}"
            )
        return f"a number of {self.low:g} or more" if self.low is not None else f"a number above {self.above:g}"

    def read(self, value: object) -> object:
        if isinstance(value, bool):
            raise ValueError
        number = float(str(value))
        if (
            not math.isfinite(number)
            or (self.low is not None and number < self.low)
            or (self.above is not None and number <= self.above)
            or (self.high is not None and number > self.high)
        ):
            raise ValueError
        return number

    def inside(self, value: Any) -> object:
        return value


@dataclass(frozen=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]

    @property
    def wanted(self) -> str:
        return ", ".join(self.words[:-1]) + f" or {self.words[-1]}"

    def read(self, value: object) -> object:
        if value not in self.words:
            raise ValueError
        return value

    def inside(self, value: Any) -> object:
        return value


@dataclass(frozen=True)
class YesNo:
    """Yes or no; true or false in code."""

    wanted: str = "yes or no"

    def read(self, value: object) -> object:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if value not in ("yes", "no"):
            raise ValueError
        return value

    def inside(self, value: Any) -> object:
        return value == "yes"


@dataclass(frozen=True)
class Text:
    """Words that only what uses them can check."""

    wanted: str = "a text"

    def read(self, value: object) -> object:
        return str(value)

    def inside(self, value: Any) -> object:
        return value


Instead = Callable[[Values], object]
SAME = object()  # no other default


@dataclass(frozen=True, kw_only=True)
class Knob:
    """A setting, as people see it."""

    name: str  # as --set takes it
    default: object
    unlisted: object  # the default in games too large to list
    kind: Kind
    meaning: str
    published: str = ""  # the papers' name for it
    when: tuple[Condition, ...] = ()  # the variants that have it: any of these; none: all variants
    instead: Instead | None = None  # the default that follows from settings before it; None there: as usual

    def belongs(self, chosen: Values) -> bool:
        """Return whether a variant has this setting."""
        return not self.when or any(holds(condition, chosen) for condition in self.when)

    def default_in(self, chosen: Values) -> object:
        """Return the default in a variant."""
        followed = self.instead(chosen) if self.instead is not None else None
        if followed is not None:
            return followed
        return self.unlisted if chosen.get(GAME) == "codes" else self.default

    def word_for(self, value: object) -> object:
        """Return a kept value as one would give it: zero may stand for a word."""
        word = self.kind.word if isinstance(self.kind, Whole) else None
        return word if word is not None and value == 0 else value

    def shown(self, value: object) -> str:
        """Return a kept value as one would write it."""
        return str(self.word_for(value))

    def read(self, value: object, owner: str) -> object:
        """Return a given value as it is kept, or say what is wrong with it."""
        try:
            return self.kind.read(value)
        except _TooMuch:
            raise InvalidParameter(f"{owner}: {self.name}={value} is too large; give at most {MOST:,}") from None
        except (ValueError, TypeError, OverflowError):
            self.refuse(value, owner)

    def refuse(self, value: object, owner: str) -> NoReturn:
        """Say what may be given instead."""
        raise InvalidParameter(f"{owner}: {self.name}={value} is not valid; give {self.kind.wanted}") from None

    @property
    def where(self) -> str:
        """Return which variants have it, in words."""
        return " or ".join(" and ".join(map(_in_words, each.items())) for each in self.when)


def _in_words(term: tuple[str, tuple[object, ...] | Above | Except]) -> str:
    name, values = term
    if isinstance(values, Above | Except):
        return f"{name}{values}"
    if name == GAME:
        return " or ".join(GAMES[str(value)] for value in values)
    return " or ".join(f"{name}={value}" for value in values)


def holds(condition: Condition, chosen: Values) -> bool:
    """Return whether chosen settings meet a condition. What a variant does not have meets none but "all except"."""
    return all(chosen.get(name, SAME) in values for name, values in condition.items())


def knob(
    default: object,
    kind: Kind,
    meaning: str,
    *,
    unlisted: object = SAME,
    published: str = "",
    when: Condition | Sequence[Condition] = (),
    instead: Instead | None = None,
) -> Any:
    """Declare a field of a dataclass as a setting."""
    conditions = (when,) if isinstance(when, Mapping) else tuple(when)
    described = Knob(
        name="",
        default=default,
        unlisted=default if unlisted is SAME else unlisted,
        kind=kind,
        meaning=meaning,
        published=published,
        when=conditions,
        instead=instead,
    )
    return field(default=kind.inside(default), metadata={"knob": described})


@dataclass(frozen=True, kw_only=True)
class Part:
    """Settings of a part, inside those of a whole."""

    owner: type[Any]
    prefix: str
    only: tuple[str, ...]  # names of fields; none: all
    changes: Mapping[str, Mapping[str, Any]]  # by name of a field: what is declared differently here


def part(
    owner: type[Any],
    *,
    prefix: str = "",
    only: tuple[str, ...] = (),
    **changes: object,
) -> Any:
    """Declare a field that holds the settings of a part; their names follow ``prefix``.

    ``changes`` gives some of its fields other defaults here: a value, or what :func:`other` returns.
    """
    differently = {name: value if isinstance(value, dict) else {"default": value} for name, value in changes.items()}
    return field(
        default_factory=owner,
        metadata={"part": Part(owner=owner, prefix=prefix, only=only, changes=differently)},
    )


def other(default: object, **changes: object) -> dict[str, object]:
    """Return what a part declares differently: its default, and ``unlisted``, ``instead``, ``meaning``, ..."""
    return {"default": default, **changes}


def knobs_of(owner: type[Any]) -> tuple[Knob, ...]:
    """Return all settings of a dataclass and its parts, by the names that people give."""
    return tuple(_knobs(owner, Part(owner=owner, prefix="", only=(), changes={})))


def _knobs(owner: type[Any], described: Part) -> Iterator[Knob]:
    for each in fields(owner):
        if described.only and each.name not in described.only:
            continue
        if "part" in each.metadata:
            yield from _knobs(each.metadata["part"].owner, each.metadata["part"])
        elif "knob" in each.metadata:
            known: Knob = each.metadata["knob"]
            changes = dict(described.changes.get(each.name, {}))
            if "default" in changes:
                changes.setdefault("unlisted", changes["default"])
            yield Knob(**{**vars(known), **changes, "name": described.prefix + each.name})


class _Missing:
    """Stands where a variant does not have a setting: whatever reads it is at fault."""

    def _refuse(self, *_: object) -> NoReturn:
        raise AssertionError("a setting was read that this variant does not have")

    def __repr__(self) -> str:
        return "(not a setting of this variant)"


# Whatever is done with it, it refuses.
for _operation in (
    *("eq", "ne", "lt", "le", "gt", "ge", "bool", "hash", "int", "float", "index", "format", "getitem"),
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "lshift"),
):
    setattr(_Missing, f"__{_operation}__", _Missing._refuse)
MISSING_HERE = _Missing()
Owner = TypeVar("Owner")


def made(owner: type[Owner], chosen: Values) -> Owner:
    """Return the dataclass, with its parts, that chosen settings describe."""
    return _made(owner, Part(owner=owner, prefix="", only=(), changes={}), chosen)


def _made(owner: type[Owner], described: Part, chosen: Values) -> Owner:
    values: dict[str, object] = {}
    for each in fields(owner):  # type: ignore[arg-type]
        if described.only and each.name not in described.only:
            continue
        if "part" in each.metadata:
            values[each.name] = _made(each.metadata["part"].owner, each.metadata["part"], chosen)
        elif "knob" in each.metadata:
            name = described.prefix + each.name
            known: Knob = each.metadata["knob"]
            values[each.name] = known.kind.inside(chosen[name]) if name in chosen else MISSING_HERE
    return owner(**values)


def check(settings: object) -> None:
    """Refuse values outside their ranges; dataclasses that are made by hand call it when they are made."""
    for each in fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, each.name)
        if "knob" in each.metadata and value is not MISSING_HERE and each.default is not MISSING:
            known: Knob = each.metadata["knob"]
            Knob(**{**vars(known), "name": each.name}).read(value, type(settings).__name__)


def resolve(
    knobs: Sequence[Knob],
    given: Values,
    preset: Values,
    *,
    owner: str,
    game: str = "listed",
) -> dict[str, object]:
    """Return all settings of the variant that is given: a given value, the preset's, or the default.

    Raise InvalidParameter for what does not exist, has a value that makes no sense, or would not be read.
    """
    names = [each.name for each in knobs]
    for name in given:
        if name not in names:
            has = f"; it has {', '.join(names)}" if names else "; it has none"
            raise InvalidParameter(f"{owner} has no parameter '{name}'{nearest(name, names) or has}")
    for each in knobs:
        word = each.kind.word if isinstance(each.kind, Whole) else None
        if word is not None and str(given.get(each.name)) == "0":  # zero is how the word is kept
            each.refuse(given[each.name], owner)
    chosen = completed(knobs, {**preset, **given}, owner=owner, game=game)
    for each in knobs:
        if each.name in given and each.name not in chosen:
            has = f"here {owner} has {', '.join(chosen)}" if chosen else f"here {owner} has no settings"
            raise InvalidParameter(
                f"{each.name}={given[each.name]} would change nothing: it is for {each.where}; {has}"
            )
    return chosen


def completed(knobs: Sequence[Knob], values: Values, *, owner: str, game: str) -> dict[str, object]:
    """Return a variant's settings from some of them; what the variant does not have is left out."""
    chosen: dict[str, object] = {GAME: game}
    for each in knobs:
        if each.belongs(chosen):
            has = each.name in values
            chosen[each.name] = each.read(values[each.name], owner) if has else each.default_in(chosen)
    del chosen[GAME]
    return chosen
