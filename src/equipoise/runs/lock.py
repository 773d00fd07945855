"""One writer per run directory: a lock that the system lets go of when its process ends, however it ends."""

import datetime
import errno
import fcntl
import json
import os
import platform
import shutil
import subprocess
import time
import warnings
from pathlib import Path
from typing import NamedTuple

from equipoise.errors import CannotWrite, EquipoiseWarning, RunBusy

NAME = "lock"
TRIES, PAUSE = 5, 0.01  # whoever asks whether a lock is held holds it for a moment


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
            _take(self._handle)
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


def _take(handle: int) -> None:
    """Lock an open file; raise BlockingIOError if another process keeps it."""
    for tries_left in reversed(range(TRIES)):
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not tries_left:
                raise
            time.sleep(PAUSE)
    return None


class Holder(NamedTuple):
    """Who holds a lock, as its file says; another machine's processes are not ours to signal."""

    pid: int
    host: str
    since: str


def is_held(file: Path) -> bool:
    """Return whether a process holds the lock that is this file."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(handle)
    return False


def holder(folder: Path) -> Holder | None:
    """Return who writes to a run directory at the moment; None if nobody does, or nobody knows who."""
    file = folder / NAME
    if not is_held(file):
        return None
    try:
        who = json.loads(file.read_bytes())
        return Holder(int(who["pid"]), str(who["host"]), str(who["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def has_open(pid: int, file: Path) -> bool:
    """Return whether a process of this machine has a file open. What a file says of a process may be anybody's word."""
    if pid <= 1:
        return False
    try:
        wanted = os.stat(file)
        if Path("/proc/self/fd").is_dir():
            for link in os.scandir(f"/proc/{pid}/fd"):
                try:
                    if os.path.samestat(os.stat(link.path), wanted):
                        return True
                except OSError:  # closed meanwhile, or no file
                    continue
            return False
        listing = shutil.which("lsof")
        if listing is None:
            return False
        found = subprocess.run(
            [listing, "-t", "--", str(file)], capture_output=True, text=True, timeout=10, check=False
        )
        return str(pid) in found.stdout.split()
    except (OSError, subprocess.SubprocessError):
        return False


def _described(content: bytes) -> str:
    """Return who holds a lock, as its file says."""
    try:
        who = json.loads(content)
        return f"process {who['pid']} on {who['host']} since {who['since']}"
    except (ValueError, KeyError, TypeError):  # it is just being written
        return "another process"
