"""The errors that people see: sentences that say what is wrong and what to do about it.

All of them are :class:`EquipoiseError`. Its kinds are for programs that want to tell them apart::

    try:
        solution = equipoise.solve(text)
    except equipoise.errors.TooLarge:
        ...
"""

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from operator import index
from typing import SupportsFloat, SupportsIndex


class EquipoiseError(Exception):
    """A mistake that its user can mend. The command line prints it as one line and exits with code 2."""

    def __str__(self) -> str:
        return one_line(Exception.__str__(self))  # a KeyError would put its sentence in quotes


def one_line(text: str) -> str:
    """Return a sentence as one line: what would break it, or steer a terminal, is written out.

    Sentences quote files and arguments, whose writer may not be the user.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class UnknownGame(EquipoiseError):
    """No game has this name."""


class UnknownAlgorithm(EquipoiseError):
    """No algorithm has this name."""


class UnknownInfoset(EquipoiseError, KeyError):
    """The game has no infoset with this key. Also a :class:`KeyError`, as ``policy[key]`` promises."""


class InvalidParameter(EquipoiseError):
    """A parameter or option does not exist, or has a value that makes no sense."""


class InvalidGame(EquipoiseError):
    """A game breaks the rules: not two-player zero-sum, no perfect recall, a faulty file, faulty rules."""


class InvalidNotation(EquipoiseError):
    """A text is not a card, a hand, a board, a betting line or a hand history."""


class NotSupported(EquipoiseError):
    """Two things that do not go together, such as an algorithm and a game that it cannot solve."""


class NotMeasurable(EquipoiseError):
    """The exact value, nash_conv or exploitability cannot be computed here."""


class TooLarge(EquipoiseError):
    """The work does not fit in memory, on the disk or in the numbers that hold it."""


class DamagedFile(EquipoiseError):
    """A file is damaged, or is not what it should be."""


class NotFound(EquipoiseError):
    """There is no such file or run."""


class CannotWrite(EquipoiseError):
    """A file or a run directory cannot be written."""


class RunBusy(EquipoiseError):
    """Another process is writing to the run directory."""


class GameChanged(EquipoiseError):
    """The rules are no longer those that a run or a policy was made with."""


class NotTrusted(EquipoiseError):
    """A file names a game whose rules are Python code, and nobody has said that the code may run."""


class MissingPackage(EquipoiseError):
    """An optional package, such as PyTorch or OpenSpiel, is not installed."""


class ClusterLost(EquipoiseError):
    """The cluster cannot be started or joined, is gone, or does not answer."""


class EquipoiseWarning(UserWarning):
    """Something that a user should know, and that does not keep the work from being done."""


def damage(error: Exception) -> str:
    """Return in plain words why a file of arrays could not be read."""
    if "pickle" in str(error):  # NumPy offers to load anything as Python objects, which would run code
        return "it is not a file of arrays"
    if isinstance(error, KeyError):
        missing = str(error.args[0]) if error.args else "something"
        return missing if " " in missing else f"{missing} is missing"
    return str(error) or type(error).__name__


def require_whole(name: str, value: object, *, low: int = 1, high: int | None = None) -> None:
    """Refuse what is not a whole number from ``low`` to ``high``."""
    # NumPy's integers are not ints, and a bool is one.
    number = index(value) if isinstance(value, SupportsIndex) and not isinstance(value, bool) else low - 1
    if number < low or (high is not None and number > high):
        wanted = f"of {low} or more" if high is None else f"from {low} to {high}"
        raise InvalidParameter(f"{name}={value} is not valid; give a whole number {wanted}")


def require_number(name: str, value: object, *, above: float | None = None, low: float = -math.inf) -> None:
    """Refuse what is not a finite number above ``above``, or of at least ``low``."""
    try:
        number = float(value) if isinstance(value, SupportsFloat) and not isinstance(value, bool) else math.nan
    except (OverflowError, TypeError):  # a whole number without end, an array of many
        number = math.nan
    if not (math.isfinite(number) and number >= low and (above is None or number > above)):
        wanted = f"of {low:g} or more" if above is None else f"above {above:g}"
        raise InvalidParameter(f"{name}={value} is not valid; give a finite number {wanted}")


HIGHEST_SEED = 2**64 - 1


def require_seed(seed: object) -> None:
    """Refuse what is not a seed."""
    require_whole("seed", seed, low=0, high=HIGHEST_SEED)


_OTHER_NAMES = {  # what people know something by from elsewhere
    "lr": ("rate",),
    "learningrate": ("rate",),
    "stepsize": ("rate",),
    "batchsize": ("minibatch", "batch"),
    "hidden": ("width",),
    "hiddensize": ("width",),
    "units": ("width",),
    "depth": ("layers",),
    "buffersize": ("capacity",),
    "vanilla": ("cfr",),
    "mccfr": ("es-mccfr",),
    "externalsampling": ("es-mccfr",),
    "outcomesampling": ("os-mccfr",),
    "robustsampling": ("rs-mccfr",),
    "discountedcfr": ("dcfr",),
    "linearcfr": ("lcfr",),
    "fictitiousplay": ("xfp",),
    "liarsdice": ("bluff",),
    "holdem": ("limit_holdem", "nolimit_holdem", "flop_holdem"),
    "texasholdem": ("limit_holdem", "nolimit_holdem", "flop_holdem"),
    "hulh": ("limit_holdem",),
    "hunl": ("nolimit_holdem",),
    "fhp": ("flop_holdem",),
}


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for what ``word`` most likely stands for, or nothing when none is near.

    Capital letters, punctuation and endings count less than letters: ``cfrplus`` is ``cfr+``, ``leduc`` is
    ``leduc_poker`` and not ``nl_leduc``.
    """
    likely = _likely(word, list(known))
    if not likely:
        return ""
    *others, last = (f"'{each}'" for each in likely)
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def _likely(word: str, known: Sequence[str]) -> list[str]:
    folded, bare = word.casefold(), _bare(word)
    others = [name for name in _OTHER_NAMES.get(bare, ()) if name in known]
    for same in (
        [name for name in known if name.casefold() == folded],
        [name for name in known if bare and _bare(name) == bare],
        others,
        [name for name in known if len(bare) > 1 and _bare(name).startswith(bare)],
    ):
        if same:
            return same if same is others else [min(same, key=len)]
    by_folded: dict[str, str] = {}
    for name in known:
        by_folded.setdefault(name.casefold(), name)
    return [by_folded[match] for match in difflib.get_close_matches(folded, by_folded, n=1, cutoff=0.5)]


def _bare(word: str) -> str:
    """Return a word's letters and digits; a plus is a word."""
    return re.sub(r"[\W_]", "", word.casefold().replace("+", "plus"))
