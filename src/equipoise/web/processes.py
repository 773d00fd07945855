"""What the page starts: processes of their own, which outlive the page and the server.

A process has a folder below the page's: ``started.json`` (the command), ``output.txt`` and ``messages.txt`` (its
standard output and error). The messages are locked for as long as the process has them open, so anybody can see whether
it is still running, after a restart of the server too, and nobody has to remember it.
"""

import contextlib
import datetime
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.errors import EquipoiseError, NotFound, RunBusy, TooLarge
from equipoise.files import make_folder, write_text
from equipoise.runs.lock import has_open, is_held

MOST_AT_A_TIME = 4
MOST_MESSAGES = 20_000  # bytes that are read of what a process says


@dataclass(frozen=True)
class Process:
    """A process that the page has started, now or in the past."""

    folder: Path
    told: dict[str, Any]  # started.json

    @property
    def is_running(self) -> bool:
        """Return whether it has not ended."""
        return is_held(self._messages)

    @property
    def _messages(self) -> Path:
        return self.folder / "messages.txt"

    def last_line(self) -> str:
        """Return what it said last."""
        lines = [line.strip() for line in _tail(self._messages).splitlines()]
        return next((line for line in reversed(lines) if line), "")

    def output(self) -> str:
        """Return what it has printed."""
        return _tail(self.folder / "output.txt")

    def stop(self) -> None:
        """Ask it to end: a run then writes a checkpoint."""
        pid = self.told.get("pid")
        if not self.is_running:
            return
        if not isinstance(pid, int) or not has_open(pid, self._messages):
            raise EquipoiseError(f"it is not known which process writes {self._messages}; stop it in its terminal")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)

    def forget(self) -> None:
        """Remove what is kept of it."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _tail(file: Path) -> str:
    try:
        with open(file, "rb") as opened:
            opened.seek(max(0, os.fstat(opened.fileno()).st_size - MOST_MESSAGES))
            return opened.read(MOST_MESSAGES).decode(errors="replace")
    except OSError:
        return ""


def start(folder: Path, arguments: Sequence[str], **told: Any) -> Process:
    """Start ``equipoise`` with some arguments, as a process that nothing here can end by ending."""
    running = sum(1 for each in started_in(folder.parent) if each.is_running)
    if running >= MOST_AT_A_TIME:
        raise RunBusy(f"{running} things started here are still running; stop one of them, or wait")
    try:
        make_folder(folder.parent)
        folder.mkdir()
    except FileExistsError:
        raise RunBusy(f"{folder.name} has been started already") from None
    command = [sys.executable, "-m", "equipoise", *arguments]
    if sum(len(each.encode()) + 1 for each in command) > 100_000:
        raise TooLarge("this is too long for a command; shorten the ranges")
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with open(folder / "output.txt", "wb") as output, open(folder / "messages.txt", "wb") as messages:
        fcntl.flock(messages, fcntl.LOCK_EX | fcntl.LOCK_NB)  # kept by the process, which inherits the open file
        begun = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=messages,
            start_new_session=True,
            env=environment,
        )
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    content = {"arguments": list(arguments), "pid": begun.pid, "started": now, **told}
    write_text(folder / "started.json", json.dumps(content) + "\n")
    _REAPED.append(begun)
    _REAPED[:] = [each for each in _REAPED if each.poll() is None]
    return Process(folder, content)


_REAPED: list["subprocess.Popen[bytes]"] = []  # our children: asked now and then, so that none stays as a zombie


def free_folder(folder: Path, name: str) -> Path:
    """Return a folder for a process that none has had yet: NAME, NAME.2, ..."""
    number, free = 1, folder / name
    while free.exists():
        number += 1
        free = folder / f"{name}.{number}"
    return free


def started_in(folder: Path) -> list[Process]:
    """Return all processes that were started in a folder, the latest first."""
    found = []
    for file in folder.glob("*/started.json"):
        with contextlib.suppress(EquipoiseError):
            found.append(read_process(file.parent))
    return sorted(found, key=lambda each: str(each.told.get("started")), reverse=True)


def read_process(folder: Path) -> Process:
    """Return a process that was started."""
    try:
        told = json.loads((folder / "started.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        raise NotFound(f"{folder.name} was not started here") from None
    if not isinstance(told, dict):
        raise NotFound(f"{folder.name} was not started here")
    return Process(folder, told)
