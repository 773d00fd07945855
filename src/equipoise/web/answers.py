"""Questions and answers: what the page asks, read as strictly as the command line is; JSON that browsers take."""

import json
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from equipoise.errors import (
    CannotWrite,
    EquipoiseError,
    InvalidParameter,
    NotFound,
    NotTrusted,
    RunBusy,
    TooLarge,
    nearest,
)
from equipoise.web.site import Site

Answer = dict[str, Any]

STATUSES: tuple[tuple[type[EquipoiseError], int], ...] = (
    (NotFound, 404),
    (NotTrusted, 403),
    (RunBusy, 409),
    (TooLarge, 413),
    (CannotWrite, 507),
)


@dataclass(frozen=True)
class Download:
    """An answer that is a file to keep."""

    path: Path
    name: str
    kind: str = "application/octet-stream"
    passing: bool = False  # made for this answer only: removed once it is sent


class Asked:
    """What a question says, by name: the query of a GET, or the JSON object of a POST."""

    def __init__(self, said: Mapping[str, Any], *, upload: Path | None = None) -> None:
        self._said = dict(said)
        self._read: set[str] = set()
        self.upload = upload  # the file that came with it

    def __contains__(self, name: str) -> bool:
        return self._get(name) not in (None, "")

    def _get(self, name: str) -> Any:
        self._read.add(name)
        return self._said.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text; without a default it must be there."""
        value = self._get(name)
        if value is None or value == "":
            if default is None:
                raise InvalidParameter(f"'{name}' is missing")
            return default
        if not isinstance(value, str) or not value.isprintable():
            raise InvalidParameter(f"'{name}' is not a text of one line")
        return value

    def texts(self, name: str, *, most: int) -> list[str]:
        """Return a list of texts, which may be empty."""
        value = self._get(name)
        listed = [] if value is None else value if isinstance(value, list) else [value]
        if len(listed) > most:
            raise InvalidParameter(f"'{name}' has {len(listed)} parts; at most {most} are taken")
        if not all(isinstance(each, str) and each.isprintable() for each in listed):
            raise InvalidParameter(f"'{name}' is not a list of texts")
        return listed

    def one_of(self, name: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """Return one of some words."""
        value = self.text(name, default)
        if value not in choices:
            raise InvalidParameter(
                f"{name}={value} is not valid; give one of {', '.join(choices)}{nearest(value, choices)}"
            )
        return value

    def whole(self, name: str, default: int | None = None, *, low: int = 0, high: int | None = None) -> int:
        """Return a whole number; without a default it must be there."""
        value = self.number(name, None if default is None else float(default), low=low)
        if not value.is_integer() or (high is not None and value > high):
            wanted = f"of {low} or more" if high is None else f"from {low} to {high:,}"
            raise InvalidParameter(f"{name}={value:g} is not valid; give a whole number {wanted}")
        return int(value)

    def number(self, name: str, default: float | None = None, *, low: float = -math.inf) -> float:
        """Return a number; without a default it must be there."""
        value = self._get(name)
        if value is None or value == "":
            if default is None:
                raise InvalidParameter(f"'{name}' is missing")
            return default
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not (math.isfinite(number) and number >= low):
            raise InvalidParameter(
                f"{name}={value!r:.40} is not valid; give a number"
                + (f" of {low:g} or more" if low > -math.inf else "")
            )
        return number

    def flag(self, name: str) -> bool:
        """Return whether something is wanted; by default it is not."""
        value = self._get(name)
        if value in (None, "", False, "false", "0"):
            return False
        if value in (True, "true", "1"):
            return True
        raise InvalidParameter(f"{name}={value!r:.40} is not valid; give true or false")

    def mapping(self, name: str, *, most: int = 100) -> dict[str, Any]:
        """Return an object whose values are texts, numbers or flags; empty by default."""
        value = self._get(name)
        if value is None:
            return {}
        plain = isinstance(value, dict) and all(isinstance(each, str | int | float | bool) for each in value.values())
        if not plain or len(value) > most:
            raise InvalidParameter(f"'{name}' is not an object of at most {most} plain values")
        return dict(value)

    def require_all_read(self) -> None:
        """Refuse what nothing has asked for: a misspelt name would be passed over in silence."""
        for name in self._said.keys() - self._read:
            raise InvalidParameter(f"there is no '{name}' here{nearest(name, self._read)}")


Answering = Callable[[Site, Asked], Answer | Download]
Watching = Callable[[Site, Asked], Callable[[], Answer | None]]  # asked again and again for what is new


@dataclass(frozen=True)
class Events:
    """An answer that goes on: each time there is something new, one more object is sent."""

    watch: Watching


@dataclass(frozen=True)
class Upload:
    """An answer to a file that is sent, of at most so many bytes."""

    answer: Answering
    most_bytes: int
    kinds: tuple[str, ...] = field(default=("application/octet-stream",))


Answers = Mapping[str, Answering | Events | Upload]  # by method and path: "GET /api/runs"
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


def status_of(error: EquipoiseError) -> int:
    """Return the status code that goes with a mistake."""
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 400)


def as_json(content: object) -> bytes:
    """Return JSON that every browser reads: what is not a finite number becomes null."""
    return json.dumps(
        _finite(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain
    ).encode()


def _finite(content: Any) -> Any:
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, Mapping):
        return {str(name): _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return content


def _plain(value: Any) -> Any:
    """Return what JSON has no word for: paths as texts, NumPy's arrays and numbers as lists and numbers."""
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return _finite(value.tolist())
    raise TypeError(f"{type(value).__name__} is not JSON")
