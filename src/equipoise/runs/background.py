"""Writing while a run goes on: a child process, which sees memory as it was when it was made, writes it.

The system shares memory between the two, and copies only the pages that the run changes meanwhile. The child does
nothing but write and end: it never returns to what the run was doing.
"""

import os
import signal
import sys
import warnings
import zipfile  # loaded before a child needs it: another thread may hold Python's lock on imports
from collections.abc import Callable

from equipoise.errors import CannotWrite
from equipoise.memory import available_bytes

__all__ = ["LEAST_BYTES", "Background", "fits"]
_LOADED = zipfile
LEAST_BYTES = 64 << 20  # less is written at once, faster than a child is made
ROOM = 1.25  # times what is written should be free, for the pages that change meanwhile
_MOST_TEXT = 2000


def fits(size: int) -> bool:
    """Return whether so many bytes are better written by a child, and can be."""
    return sys.platform == "linux" and size >= LEAST_BYTES and size * ROOM <= available_bytes()


class Background:
    """One child at a time that writes."""

    def __init__(self) -> None:
        self._child: tuple[int, int, Callable[[], None]] | None = None  # process, pipe, what it writes

    @property
    def busy(self) -> bool:
        """Return whether a child is still writing."""
        if self._child is None:
            return False
        process, status = os.waitpid(self._child[0], os.WNOHANG)
        if process == 0:
            return True
        self._ended(status)
        return False

    def start(self, write: Callable[[], None], release: Callable[[], None]) -> None:
        """Let a child write; first it lets go, by ``release``, of what is the run's alone."""
        self.wait()
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: the child starts none
            process = os.fork()
        if process:
            os.close(writing)
            self._child = process, reading, write
            return
        code = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.close(reading)
            release()
            write()
            code = 0
        except BaseException as error:
            os.write(writing, str(error).encode()[:_MOST_TEXT])
        finally:
            os._exit(code)

    def wait(self) -> None:
        """Return when nothing is being written; raise what went wrong."""
        if self._child is not None:
            self._ended(os.waitpid(self._child[0], 0)[1])

    def _ended(self, status: int) -> None:
        assert self._child is not None
        (_, reading, write), self._child = self._child, None
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read().decode(errors="replace")
        if os.WIFSIGNALED(status):  # killed, as when memory was short: written here after all
            write()
        elif os.waitstatus_to_exitcode(status) != 0:
            raise CannotWrite(said or "a checkpoint could not be written")
