"""The one error type that people see: a sentence that says what is wrong and what to do about it."""

import difflib
from collections.abc import Iterable


class EquipoiseError(Exception):
    """A mistake that its user can mend. The command line prints it as one line and exits with code 2."""


class EquipoiseWarning(UserWarning):
    """Something that a user should know, and that does not keep the work from being done."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known word nearest to ``word``, or nothing when none is near."""
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean '{matches[0]}'?" if matches else ""
