"""A hash of arrays and what holds them: whether two layouts are the same, in a few letters."""

import hashlib
from typing import Any

import numpy as np


def digest(*parts: Any) -> str:
    """Return a hash of numbers, texts, arrays, and tuples of these; arrays count by type, shape and content."""
    found = hashlib.sha256()
    for part in _flat(parts):
        if isinstance(part, np.ndarray):
            found.update(f"{part.dtype.str}{part.shape}".encode())
            found.update(np.ascontiguousarray(part).ravel().view(np.uint8).data)
        else:
            found.update(f"{type(part).__name__} {part!r}\0".encode())
    return found.hexdigest()[:32]


def _flat(parts: tuple[Any, ...]) -> Any:
    for part in parts:
        if isinstance(part, tuple):
            yield len(part)
            yield from _flat(part)
        else:
            yield part
