"""Tables that take minutes to make, kept on disk for the next run.

A file is named after what its tables depend on: the deck, the kind of abstraction and its parameters, and the sources
of the code that makes them. It is a zip of NumPy arrays, whose checksums show damage; a damaged one is made again.
What was made of tables until somebody stopped is kept next to them (``Parts``), and used when they are wanted again.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.errors import CannotWrite
from equipoise.files import cache_home, make_folder, write_atomically
from equipoise.work import Report, Stopped, silent

Arrays = dict[str, npt.NDArray[Any]]

_PACKAGE = Path(__file__).parent.parent
_SOURCES = (
    *sorted(Path(__file__).parent.glob("*.py")),
    *(_PACKAGE / "games" / f for f in ("suits.py", "hand_ranks.py")),
)


def cached(name: str, key: object, make: Callable[[], Arrays], on_complaint: Callable[[str], None]) -> Arrays:
    """Return arrays from the cache, or make them and keep them there."""
    try:
        file = _file(name, key)
    except OSError as error:
        on_complaint(f"the tables cannot be kept for the next run: {error}")
        return make()
    found = _read(file, on_complaint)
    if found is not None:
        return found
    made = make()
    _write(file, made, on_complaint)
    return made


def _file(name: str, key: object) -> Path:
    digest = hashlib.sha256(repr(key).encode())
    for source in _SOURCES:
        digest.update(source.read_bytes())
    return cache_home() / "buckets" / f"{name}-{digest.hexdigest()[:20]}.npz"


def _read(file: Path, on_complaint: Callable[[str], None]) -> Arrays | None:
    if not file.exists():
        return None
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return {entry: arrays[entry] for entry in arrays.files}
    except Exception as error:  # a damaged zip file can fail in many ways (zlib, zipfile, numpy)
        on_complaint(f"{file} is damaged ({error}); its tables are made again")
        return None


def _write(file: Path, arrays: Arrays, on_complaint: Callable[[str], None]) -> None:
    try:
        make_folder(file.parent)
        with write_atomically(file) as target:
            np.savez(target, **arrays)  # type: ignore[arg-type]
    except CannotWrite as error:
        on_complaint(f"the tables cannot be kept for the next run: {error}")


STEPS = 200  # parts of a long loop; after each, progress is told, and the loop may be left
WORTH_KEEPING = 5.0  # seconds that a piece of work took, from which its result is kept before the whole is done


class Parts:
    """The work of making tables, piece by piece: what is done outlives an interruption."""

    def __init__(
        self,
        report: Report = silent,
        file: Path | None = None,
        on_complaint: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._report = report
        self._file = file  # of the tables
        self._on_complaint = on_complaint

    @classmethod
    def of(cls, name: str, key: object, report: Report, on_complaint: Callable[[str], None]) -> "Parts":
        """Return the parts of the tables that are cached under a name and key."""
        try:
            return cls(report, _file(name, key), on_complaint)
        except OSError:  # no cache: said where the tables are to be kept
            return cls(report)

    def loop(self, what: str, count: int, *written: npt.NDArray[Any]) -> Iterator[tuple[int, int]]:
        """Go through ``count`` boards, some at a time, of which a loop writes all it finds to some arrays.

        Whoever stops has the arrays kept, and the next time the loop goes on from there.
        """
        done = 0
        kept = self.kept(what)
        if kept is not None:
            done = int(kept["done"])
            for number, array in enumerate(written):
                array[...] = kept[f"array{number}"]
        began = time.perf_counter()
        for begin, end in pairwise(sorted({count * step // STEPS for step in range(STEPS + 1)})):
            if end <= done:
                continue
            yield begin, end
            arrays = {"done": np.array(end), **{f"array{number}": array for number, array in enumerate(written)}}
            self.tell(what, end / count, arrays)
            if end == count and time.perf_counter() - began > WORTH_KEEPING:
                self.keep(what, arrays)

    def tell(self, what: str, share: float, arrays: Arrays) -> None:
        """Report progress; keep ``arrays``, from which the work can go on, if it is told to stop."""
        try:
            self._report(what, share)
        except Stopped:
            self.keep(what, arrays)
            raise

    def kept(self, what: str) -> Arrays | None:
        """Return what is kept of a piece of work, if anything."""
        return None if self._file is None else _read(self._part(what), self._on_complaint)

    def forget(self) -> None:
        """Remove all parts: the tables are whole."""
        for part in self._file.parent.glob(f"{self._file.stem}.part-*.npz") if self._file is not None else ():
            part.unlink(missing_ok=True)

    def keep(self, what: str, arrays: Arrays) -> None:
        """Keep what a piece of work can go on from."""
        if self._file is not None:
            _write(self._part(what), arrays, self._on_complaint)

    def _part(self, what: str) -> Path:
        assert self._file is not None
        named = "".join(letter if letter.isalnum() else "-" for letter in what)
        return self._file.with_name(f"{self._file.stem}.part-{named}.npz")
