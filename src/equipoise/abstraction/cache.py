"""Tables that take minutes to make, kept on disk for the next run.

A file is named after what its tables depend on: the deck, the kind of abstraction and its parameters, and the sources
of the code that makes them. It is a zip of NumPy arrays, whose checksums show damage; a damaged one is made again.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.errors import CannotWrite
from equipoise.files import cache_home, make_folder, write_atomically

Arrays = dict[str, npt.NDArray[Any]]

_PACKAGE = Path(__file__).parent.parent
_SOURCES = (
    *sorted(Path(__file__).parent.glob("*.py")),
    *(_PACKAGE / "games" / f for f in ("suits.py", "hand_ranks.py")),
)


def cached(name: str, key: object, make: Callable[[], Arrays], on_complaint: Callable[[str], None]) -> Arrays:
    """Return arrays from the cache, or make them and keep them there."""
    digest = hashlib.sha256(repr(key).encode())
    for source in _SOURCES:
        digest.update(source.read_bytes())
    try:
        file = cache_home() / "buckets" / f"{name}-{digest.hexdigest()[:20]}.npz"
    except OSError as error:
        on_complaint(f"the tables cannot be kept for the next run: {error}")
        return make()
    if file.exists():
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return {entry: arrays[entry] for entry in arrays.files}
        except Exception as error:  # a damaged zip file can fail in many ways (zlib, zipfile, numpy)
            on_complaint(f"{file} is damaged ({error}); its tables are made again")
    made = make()
    try:
        make_folder(file.parent)
        with write_atomically(file) as target:
            np.savez(target, **made)  # type: ignore[arg-type]
    except CannotWrite as error:
        on_complaint(f"the tables cannot be kept for the next run: {error}")
    return made
