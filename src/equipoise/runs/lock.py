"""One writer per run directory: a lock that the system lets go of when its process ends, however it ends."""

import datetime
import errno
import fcntl
import json
import os
import platform
import warnings
from pathlib import Path

from equipoise.errors import CannotWrite, EquipoiseWarning, RunBusy

NAME = "lock"


class Lock:
    """A run directory's lock, held from when it is made until it is released."""

    def __init__(self, folder: Path) -> None:
        """Take the lock, or say who holds it."""
        file = folder / NAME
        try:
            self._handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise CannotWrite(f"cannot write to the run directory {folder}: {error.strerror}") from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _described(os.pread(self._handle, 1000, 0))
            self.release()
            raise RunBusy(f"{folder} is being written by {holder}: wait until it ends, or stop it") from None
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
                self.release()
                raise CannotWrite(f"cannot lock the run directory {folder}: {error.strerror}") from None
            warnings.warn(
                f"{folder} cannot be locked on this file system ({error.strerror}): let only one process write to it",
                EquipoiseWarning,
                stacklevel=2,
            )
        since = datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        who = {"pid": os.getpid(), "host": platform.node(), "since": since}
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, json.dumps(who).encode() + b"\n", 0)
        except OSError as error:
            self.release()
            raise CannotWrite(f"cannot write to the run directory {folder}: {error.strerror}") from None

    def release(self) -> None:
        """Let others write; the file stays, for one that was removed could be locked by two."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self.release()


def _described(content: bytes) -> str:
    """Return who holds a lock, as its file says."""
    try:
        who = json.loads(content)
        return f"process {who['pid']} on {who['host']} since {who['since']}"
    except (ValueError, KeyError, TypeError):  # it is just being written
        return "another process"
