"""Writing files so that a reader sees all of the old one or all of the new one, whenever the power goes."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from equipoise.errors import EquipoiseError

_DISK_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def cache_home() -> Path:
    """Return where things are kept that can be made again: ``$XDG_CACHE_HOME`` or ``~/.cache``, under equipoise."""
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(given) / "equipoise" if given else Path.home() / ".cache" / "equipoise"
    except RuntimeError as error:  # neither $HOME nor an entry for this user
        raise OSError(errno.ENOENT, str(error)) from None


@contextmanager
def write_atomically(path: str | Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file beside ``path`` for writing; when all went well, flush it to disk and put it in place."""
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise EquipoiseError(f"cannot write {target}: {error.strerror}") from None
    try:
        with os.fdopen(handle, mode) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _DISK_FAULTS:
            raise EquipoiseError(f"cannot write {target}: {error.strerror}") from None
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically."""
    with write_atomically(path, "w") as file:
        file.write(text)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
