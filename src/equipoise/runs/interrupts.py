"""Ctrl-C, answered at once.

Python runs a signal handler only between two steps of the interpreter, and a kernel may run for a minute between these.
So signals are also read from a wake-up file descriptor, which the operating system's handler writes to, by a thread of
its own: the answer is on the screen at once, whatever the main thread does. The first Ctrl-C (or SIGTERM) is a request
that work looks at where it can be left; the second raises KeyboardInterrupt, and nothing more is saved.
"""

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

ANSWER = "stopping after this step; again to stop now"
SECOND_ANSWER = "stopping now"
GRACE = 1.0  # seconds that the main thread has to act on a second Ctrl-C before a program may end itself

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

# What a program does if it is stuck in a kernel after a second Ctrl-C. A program that is nothing but this run may exit;
# a notebook or a script of somebody else's may not, and waits for the kernel.
on_overdue: list[Callable[[], None]] = []

AskedToStop = Callable[[], bool]


def never() -> bool:
    """Say that nobody asked to stop."""
    return False


@contextlib.contextmanager
def interrupts() -> Iterator[AskedToStop]:
    """Turn the first Ctrl-C into a question that work asks, and answer it; other threads than the main one get none."""
    if threading.current_thread() is not threading.main_thread():
        yield never
        return
    heard = _Heard()
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    handlers = {number: signal.signal(number, heard.handle) for number in _SIGNALS}
    wakeup = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=heard.listen, args=(reading, wakeup), daemon=True, name="interrupts")
    thread.start()
    try:
        yield heard.asked
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        heard.over.set()
        writing.close()  # ends the listener's wait
        thread.join()
        reading.close()


class _Heard:
    """The signals of one run."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self._read = 0  # by the listener
        self._handled = 0  # by the interpreter, which may take two for one

    def asked(self) -> bool:
        return self._read > 0 or self._handled > 0

    def handle(self, number: int, frame: object) -> None:
        """Do what is due between two steps of the interpreter."""
        self._handled += 1
        if self._handled > 1 or self._read > 1:
            raise KeyboardInterrupt

    def listen(self, reading: socket.socket, others: int) -> None:
        """Answer signals until the run is over; ``others`` is where signals were written to before."""
        while numbers := reading.recv(64):
            for number in numbers:
                if number not in _SIGNALS:
                    if others >= 0:
                        with contextlib.suppress(OSError):
                            os.write(others, bytes([number]))
                    continue
                self._read += 1
                if self._read <= 2:
                    _say(ANSWER if self._read == 1 else SECOND_ANSWER)
                if self._read == 2 and on_overdue:
                    threading.Thread(target=self._end_when_overdue, daemon=True).start()

    def _end_when_overdue(self) -> None:
        if not self.over.wait(GRACE):
            for end in on_overdue:
                end()


def _say(text: str) -> None:
    # A live bar has taken the place of standard error, and prints lines above itself.
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
