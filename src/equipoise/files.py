"""The one way to write a file: whole or not at all, into whatever the user named, and without harm to what is there.

A file is written under another name in the same folder and then put in place, so that a reader sees all of the old one
or all of the new one, whenever the power goes. What a user names may be something else than a file of its own: a
symbolic link stays and its target is replaced; a device or a pipe is written to as a stream, and ``-`` is standard
output; a file keeps its permissions and its owner; a file with several names (hard links) keeps them all.
"""

import errno
import fcntl
import io
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

from equipoise.errors import CannotWrite, DamagedFile, NotFound

STANDARD_OUTPUT = "-"
_DISK_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
_DESCRIPTOR = re.compile(r"/(?:dev/fd|proc/self/fd)/(\d+)")
_MOST_LINKS = 40  # one after the other


def cache_home() -> Path:
    """Return where things are kept that can be made again: ``$XDG_CACHE_HOME`` or ``~/.cache``, under equipoise."""
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(given) / "equipoise" if given else Path.home() / ".cache" / "equipoise"
    except RuntimeError as error:  # neither $HOME nor an entry for this user
        raise OSError(errno.ENOENT, str(error)) from None


@contextmanager
def write_atomically(path: str | Path, mode: Literal["w", "wb"] = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open what ``path`` names for writing; a file is put in place when all went well, else it stays as it was."""
    if "b" not in mode:
        options = {"encoding": "utf-8", **options}
    part = None
    try:
        stream = _stream(path, mode, options)
        if stream is None:
            target, before = _target(path)
            part, in_place = _make_part(target, before)
    except OSError as error:
        raise _cannot_write(path, error) from None
    try:
        if stream is not None:
            with stream:
                yield stream
            return
        assert part is not None
        with open(part, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if in_place:
            _copy_into(part, target)
        else:
            os.replace(part, target)
    except OSError as error:
        if error.errno in _DISK_FAULTS:
            raise _cannot_write(path, error) from None
        raise
    finally:
        if part is not None:
            with suppress(OSError):  # it is still there only if it was copied, or something went wrong
                os.unlink(part)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file."""
    with write_atomically(path, "w") as file:
        file.write(text)


def read_text(path: str | Path, *, expected: str) -> str:
    """Return what is in a text file, or say why it cannot be read; ``expected`` is what it should be."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except UnicodeDecodeError as error:
        raise DamagedFile(f"{path} is not {expected}: {error}") from None
    except (OSError, ValueError) as error:  # a ValueError is a path that no system takes
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise NotFound(f"cannot read {path}: {reason}") from None


def make_folder(path: str | Path) -> None:
    """Make a folder, and those above it, where there are none."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"cannot make the folder {path}: {error.strerror}") from None


_HELD = "held"  # in a folder of a process: a file that it keeps locked for as long as it lives


class ScratchFolder:
    """A folder for what a process needs while it lives; what killed processes left behind goes when one is made."""

    def __init__(self, prefix: str, within: str | None = None) -> None:
        try:
            self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
            _remove_abandoned(self.path.parent, prefix)
            unlocked = self.path / f"{_HELD}.new"
            self._handle = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with suppress(OSError):  # a file system without locks: nothing is removed there
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                unlocked.rename(self.path / _HELD)  # never seen unlocked
        except OSError as error:
            raise _cannot_write(within or tempfile.gettempdir(), error) from None
        self._remove = weakref.finalize(self, _remove_folder, self.path, self._handle)

    def remove(self) -> None:
        """Remove the folder now."""
        self._remove()


def _remove_folder(path: Path, handle: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(handle)


def _remove_abandoned(within: Path, prefix: str) -> None:
    """Remove folders of processes that ended without doing so."""
    for held in within.glob(f"{prefix}*/{_HELD}"):
        with suppress(OSError):
            handle = os.open(held, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(held.parent, ignore_errors=True)
            finally:
                os.close(handle)


def is_standard_output(path: str | Path | None) -> bool:
    """Return whether what is written to ``path`` comes out where messages do."""
    return path is not None and _open_descriptor(path) == 1


def same_output(first: str | Path, second: str | Path) -> bool:
    """Return whether two names of outputs stand for one."""
    if (descriptor := _open_descriptor(first)) is not None:
        return descriptor == _open_descriptor(second)
    return os.path.realpath(first) == os.path.realpath(second)


def _cannot_write(path: str | Path, error: OSError) -> CannotWrite:
    where = "to standard output" if is_standard_output(path) else path
    return CannotWrite(f"cannot write {where}: {error.strerror or error}")


def _open_descriptor(path: str | Path) -> int | None:
    """Return the number of the open file that ``-``, ``/dev/stdout``, ``/dev/fd/3`` or a link to one stands for."""
    text = str(path)
    if text == STANDARD_OUTPUT:
        return 1
    for _ in range(_MOST_LINKS):
        if found := _DESCRIPTOR.fullmatch(text):
            return int(found[1])
        try:
            text = os.path.join(os.path.dirname(text), os.readlink(text))
        except OSError:  # not a link
            return None
    return None


class _OneWay(io.RawIOBase):
    """A stream that nobody can go back in: a file that is appended to (``>>``) must be written from front to back."""

    def __init__(self, beneath: Any, *, closes: bool) -> None:
        self._beneath, self._closes = beneath, closes

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        count: int = self._beneath.write(content)
        return count

    def close(self) -> None:
        if not self.closed:
            self._beneath.flush()
            if self._closes:
                self._beneath.close()
        super().close()


def _stream(path: str | Path, mode: str, options: dict[str, Any]) -> IO[Any] | None:
    """Return a stream to an open file, a device or a pipe; None for what is (or will be) a file."""
    descriptor = _open_descriptor(path)
    if descriptor == 1:
        sys.stdout.flush()
        beneath = getattr(sys.stdout, "buffer", None)
        if beneath is None:  # as in notebooks
            raise OSError(errno.EINVAL, "standard output is no stream of bytes here; give the name of a file")
        raw = _OneWay(beneath, closes=False)
    elif descriptor is not None:
        raw = _OneWay(io.FileIO(os.dup(descriptor), "wb"), closes=True)
    else:
        try:
            kind = os.stat(path).st_mode
        except FileNotFoundError:
            return None
        if stat.S_ISREG(kind):
            return None
        if stat.S_ISDIR(kind):
            raise OSError(errno.EISDIR, "it is a folder; give the name of a file")
        if stat.S_ISBLK(kind):
            raise OSError(errno.EPERM, "it is a disk, and what is on it would be lost; give the name of a file")
        raw = _OneWay(io.FileIO(path, "wb"), closes=True)
    buffered = io.BufferedWriter(raw)
    return buffered if "b" in mode else io.TextIOWrapper(buffered, **options)


def _target(path: str | Path) -> tuple[Path, os.stat_result | None]:
    """Return the file behind a path, links followed, and what is known of it if there is one."""
    target = Path(os.path.realpath(path))
    try:
        return target, os.stat(target)
    except FileNotFoundError:
        if str(path).endswith("/"):
            raise OSError(errno.EISDIR, "it is a folder; give the name of a file") from None
        return target, None


def _make_part(target: Path, before: os.stat_result | None) -> tuple[str, bool]:
    """Make the file that is written first; return its name, and whether its content must then be copied.

    A copy is needed where the file that is there cannot be replaced without loss: it has other names, or an owner that
    we cannot give to a new file, or it stands in a folder in which we cannot make one.
    """
    name = target.parent / f".{target.name[:100]}.{secrets.token_hex(6)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    if before is not None and not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        handle = os.open(name, flags, 0o666)
    except PermissionError:
        if before is None:
            raise
        return _aside(), True
    in_place = False
    try:
        if before is not None:
            in_place = before.st_nlink > 1
            if not in_place:
                made = os.fstat(handle)
                try:
                    if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
                        os.fchown(handle, before.st_uid, before.st_gid)
                    os.fchmod(handle, stat.S_IMODE(before.st_mode))
                except PermissionError:
                    in_place = True
    finally:
        os.close(handle)
    return str(name), in_place


def _aside() -> str:
    handle, name = tempfile.mkstemp(prefix="equipoise.", suffix=".part")
    os.close(handle)
    return name


def _copy_into(part: str, target: Path) -> None:
    """Put the content of a file into one that stays; room for it is made before anything is lost."""
    size = os.path.getsize(part)
    with open(part, "rb") as source, open(target, "r+b") as file:
        before = os.fstat(file.fileno()).st_size
        if size > before:
            try:
                os.posix_fallocate(file.fileno(), before, size - before)
            except OSError:
                os.ftruncate(file.fileno(), before)
                raise
        shutil.copyfileobj(source, file)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
