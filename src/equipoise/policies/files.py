"""Policy files (``*.npz``): a zip of NumPy arrays, readable by ``numpy.load`` without pickle (see docs/formats.md).

``header`` is UTF-8 JSON as bytes: ``format``, ``version``, ``game``, ``fingerprint`` of its rules and what is known of
its ``origin``, and what a kind of policy has to say besides. The other arrays are those of the kind.
"""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.errors import DamagedFile, EquipoiseError, NotFound, damage
from equipoise.files import write_atomically
from equipoise.games import StoredText
from equipoise.memory import require

LISTED = "equipoise-policy"  # probabilities by infoset
SPOT = "equipoise-spot-policy"
HOLDEM = "equipoise-holdem-policy"
VERSION = 1
_TOLD = {"algorithm": str, "iterations": int, "exploitability": float}  # of a policy's origin, to people


class Parts(NamedTuple):
    """What a policy can be opened from."""

    header: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def policy_header(
    format_name: str, game: str, fingerprint: str | None, origin: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """Return the header of a policy file."""
    told = {"format": format_name, "version": VERSION, "game": game, "fingerprint": fingerprint}
    return {**told, **more, "origin": dict(origin)}


def text_array(text: str) -> npt.NDArray[np.uint8]:
    """Return a text as an array."""
    return np.frombuffer(text.encode(), np.uint8)


def write_parts(path: str | Path, parts: Parts, *, compressed: bool) -> None:
    """Write a policy to a file, all of it or nothing; large ones as they are, so that they are read at once."""
    save = np.savez_compressed if compressed else np.savez
    with write_atomically(path) as file:
        save(file, header=text_array(json.dumps(parts.header)), **parts.arrays)  # type: ignore[arg-type]


def require_room(path: str | Path) -> None:
    """Refuse a file of arrays that would not fit in memory once it is unpacked: a small one may hold many zeros."""
    try:
        with zipfile.ZipFile(path) as packed:
            unpacked = sum(member.file_size for member in packed.infolist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return  # whoever reads it will say what is wrong
    require(unpacked, what=f"reading {path}")


def read_parts(path: str | Path, *, header_only: bool = False) -> Parts:
    """Read a policy file, or say what is wrong with it. What its arrays mean is not looked at yet."""
    require_room(path)
    try:
        with np.load(path, allow_pickle=False) as arrays:
            header = json.loads(arrays["header"].tobytes())
            _check(header, path)
            names = [] if header_only else [name for name in arrays.files if name != "header"]
            return Parts(header, {name: arrays[name] for name in names})
    except FileNotFoundError:
        raise NotFound(f"{path}: there is no such file or run") from None
    except EquipoiseError:
        raise
    except Exception as error:  # a damaged zip file can fail in many ways (zlib, zipfile, numpy, json)
        raise DamagedFile(f"{path} is not a policy file, or is damaged ({damage(error)})") from None


def game_named_in(path: str | Path) -> str:
    """Return the game that a policy file names, without reading the policy."""
    return StoredText(read_parts(path, header_only=True).header["game"])


def _check(header: Any, path: str | Path) -> None:
    """Refuse a header without what every kind of policy says."""
    said = header.get("format")
    if not isinstance(said, str) or not said.startswith("equipoise-") or not said.endswith("policy"):
        raise DamagedFile(f"{path} is not a policy file: it says '{said}', not '{LISTED}'")
    if header.get("version") != VERSION:
        told = header.get("version")
        raise DamagedFile(f"{path} is a policy file of version {told}; this equipoise reads version {VERSION}")
    game, fingerprint, origin = header["game"], header.get("fingerprint"), header["origin"]
    right = isinstance(game, str) and isinstance(fingerprint, str | None) and isinstance(origin, dict)
    if not right or not all(isinstance(origin.get(name, kinds()), kinds) for name, kinds in _TOLD.items()):
        raise ValueError("its header makes no sense")
