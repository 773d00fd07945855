"""A run directory: everything needed to look at a run, to go on with it, and to make it again.

    config.json           the resolved configuration: game, algorithm, parameters, seed, stop, versions
    log.jsonl             one line per evaluation, each with its checksum
    checkpoints/N.npz     the solver's state after iteration N; the last two are kept
    policy.npz            the final policy
    result.json           the last evaluation, once the run has ended
    lock                  held by the process that writes; says which one

Every file but the log is written atomically. Checkpoints are zip files, whose checksums show damage; a damaged or
foreign one is passed over for the one before it. What is damaged is never removed: a log with damaged lines is kept
under another name.
"""

import json
import math
import os
import re
import shutil
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.errors import CannotWrite, DamagedFile, NotFound, TooLarge, damage
from equipoise.files import make_folder, write_atomically, write_text
from equipoise.games import StoredText
from equipoise.memory import readable_bytes
from equipoise.runs import lock
from equipoise.runs.background import Background, fits
from equipoise.runs.lock import Lock
from equipoise.runs.settings import fault_in

FORMAT = "equipoise-run"
VERSION = 1
KEPT_CHECKPOINTS = 2
CHECKSUM = "crc32"  # of the rest of a log's line


class Checkpoint(NamedTuple):
    """A solver's state, and how far it had come."""

    iteration: int
    seconds: float
    core_seconds: float
    state: dict[str, npt.NDArray[Any]]
    spent: Mapping[str, float] = MappingProxyType({})  # seconds by kind of work; what is not known is empty


@dataclass(frozen=True)
class RunDirectory:
    """A run on disk. What ``create`` and ``open_to_write`` return holds the run's lock until it is closed."""

    path: Path
    config: dict[str, Any]
    _lock: Lock | None = field(default=None, compare=False, repr=False)
    _background: Background = field(default_factory=Background, compare=False, repr=False)

    @classmethod
    def create(cls, path: str | Path, config: Mapping[str, Any]) -> "RunDirectory":
        """Start a run in a new (or empty) directory."""
        folder = Path(path)
        require_new(folder)
        make_folder(folder)
        held = Lock(folder)
        require_new(folder)  # again: another process may have been quicker
        make_folder(folder / "checkpoints")
        full = {"format": FORMAT, "version": VERSION, **config}
        write_text(folder / "config.json", json.dumps(full, indent=2) + "\n")
        write_text(folder / "log.jsonl", "")
        return cls(folder, full, held)

    @classmethod
    def open(cls, path: str | Path) -> "RunDirectory":
        """Open an existing run to read it."""
        folder = Path(path)
        file = folder / "config.json"
        try:
            config = json.loads(file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"{folder} is not a run: it has no config.json") from None
        except OSError as error:
            raise NotFound(f"cannot read {file}: {error.strerror}") from None
        except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, numbers without end
            raise DamagedFile(f"{file} is damaged ({error})") from None
        if not isinstance(config, dict) or config.get("format") != FORMAT:
            raise DamagedFile(f"{file} is not the configuration of an equipoise run")
        if config.get("version") != VERSION:
            raise DamagedFile(f"{file} has version {config.get('version')}; this equipoise reads version {VERSION}")
        for name in ("game", "algorithm"):
            if not isinstance(config.get(name), str):
                raise DamagedFile(f"{file} is damaged: '{name}' is not a text")
        if (fault := fault_in(config)) is not None:
            raise DamagedFile(f"{file} is damaged: {fault}")
        config["game"] = StoredText(config["game"])  # not the user's word: no code runs for it
        return cls(folder, config)

    @classmethod
    def open_to_write(cls, path: str | Path) -> "RunDirectory":
        """Open an existing run to go on with it: nobody else may be writing to it."""
        run = cls.open(path)
        make_folder(run.path / "checkpoints")
        held = Lock(run.path)
        return cls(run.path, cls.open(path).config, held)

    def __enter__(self) -> "RunDirectory":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let others write to the run, when all is written."""
        try:
            self._background.wait()
        finally:
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def change(self, **settings: Any) -> None:
        """Write other settings to the configuration of a run that goes on, such as new limits."""
        self.config.update(settings)
        write_text(self.path / "config.json", json.dumps(self.config, indent=2) + "\n")

    @property
    def policy_path(self) -> Path:
        """Return where the final policy is."""
        return self.path / "policy.npz"

    def damaged(self, what: str) -> DamagedFile:
        """Return the error that says what is wrong with the configuration."""
        return DamagedFile(f"{self.path / 'config.json'} is damaged: {what}")

    # ---- checkpoints

    @property
    def is_writing(self) -> bool:
        """Return whether a checkpoint is still being written."""
        return self._background.busy

    def save_checkpoint(self, checkpoint: Checkpoint, *, meanwhile: bool = False) -> None:
        """Write a checkpoint, then forget the oldest.

        A large one may be written ``meanwhile``: the run goes on at once, and the file is there some time later.
        """
        self._background.wait()
        if meanwhile and fits(sum(np.asarray(array).nbytes for array in checkpoint.state.values())):
            self._background.start(lambda: self._write_checkpoint(checkpoint), self._release)
        else:
            self._write_checkpoint(checkpoint)

    def _write_checkpoint(self, checkpoint: Checkpoint) -> None:
        header = {"format": FORMAT, "run": self._identity(), "iteration": checkpoint.iteration}
        header |= {"seconds": checkpoint.seconds, "core_seconds": checkpoint.core_seconds}
        header["spent"] = dict(checkpoint.spent)
        arrays = {name: np.asarray(array) for name, array in checkpoint.state.items()}
        header["arrays"] = sorted(checkpoint.state)
        written = self.path / "checkpoints" / f"{checkpoint.iteration:012d}.npz"
        with write_atomically(written) as file:
            np.savez(file, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)  # type: ignore[arg-type]
        # Files with later numbers are damaged or foreign (else the run would have gone on from them): left alone.
        for old in [file for file in self._checkpoint_files() if file <= written][:-KEPT_CHECKPOINTS]:
            old.unlink(missing_ok=True)

    def load_checkpoint(self, only: Collection[str] | None = None) -> tuple[Checkpoint | None, list[str]]:
        """Return the last good checkpoint (None: there is none), and a sentence for each file that was passed over.

        ``only`` names the arrays to read, where not all are wanted.
        """
        complaints = []
        if self._lock is not None:  # else another process may be writing one
            for leftover in (self.path / "checkpoints").glob(".*.part"):  # of a write that was killed
                leftover.unlink(missing_ok=True)
        for file in reversed(self._checkpoint_files()):
            try:
                with np.load(file, allow_pickle=False) as arrays:
                    header = json.loads(arrays["header"].tobytes())
                    if header.get("run") != self._identity():
                        complaints.append(f"{file} belongs to another run; passed over")
                        continue
                    state = {name: arrays[name] for name in header["arrays"] if only is None or name in only}
                times = header["seconds"], header.get("core_seconds", header["seconds"])
                spent = header.get("spent", {"solving": header["seconds"]})
                numbers = [*times, *dict(spent).values()]
                if not (type(header["iteration"]) is int and header["iteration"] >= 0):
                    raise ValueError("its iteration is not a number")
                if not all(type(number) in (int, float) and 0 <= number < math.inf for number in numbers):
                    raise ValueError("its times are not numbers")
                return Checkpoint(header["iteration"], *times, state, spent), complaints
            except MemoryError:
                raise TooLarge(f"{file} does not fit in memory") from None
            except Exception as error:  # a damaged zip file can fail in many ways (zlib, zipfile, numpy, json)
                complaints.append(f"{file} is damaged ({damage(error)}); passed over")
        return None, complaints

    def newest_checkpoint(self) -> int:
        """Return the iteration of the newest checkpoint by its name, good or not; 0 if there is none."""
        return max((int(file.stem) for file in self._checkpoint_files()), default=0)

    def _checkpoint_files(self) -> list[Path]:
        return sorted(file for file in (self.path / "checkpoints").glob("*.npz") if file.stem.isdecimal())

    def _identity(self) -> dict[str, Any]:
        names = ["game", "algorithm", "parameters", "seed", "created"]
        names += ["layout"] if "layout" in self.config else []  # runs of earlier versions have none
        return {name: self.config.get(name) for name in names}

    # ---- the log

    def append_log(self, record: Mapping[str, Any]) -> None:
        """Add one line to the log: all of it or nothing."""
        file = self.path / "log.jsonl"
        line = _log_line(record).encode()
        try:
            with open(file, "ab", buffering=0) as log:
                before = os.fstat(log.fileno()).st_size
                try:
                    while line:
                        line = line[log.write(line) :]
                    os.fsync(log.fileno())
                except BaseException:
                    log.truncate(before)
                    raise
        except OSError as error:
            raise CannotWrite(f"cannot write {file}: {error.strerror}") from None

    def read_log(self) -> list[dict[str, Any]]:
        """Return the good lines of the log."""
        return self._read_log()[0]

    def cut_log(self, iteration: int) -> tuple[list[dict[str, Any]], list[str]]:
        """Forget what the log says after ``iteration``, because it is about to be run again.

        Returns what is left, and a sentence if lines were damaged: then the log as it was is kept under another name.
        """
        records, bad = self._read_log()
        complaints = []
        if bad:
            kept = self.put_aside("log.jsonl", "damaged")
            complaints.append(
                f"{self.path / 'log.jsonl'} has {bad} damaged line(s), which are left out; it is kept as {kept.name}"
            )
        records = [record for record in records if record["iteration"] <= iteration]
        write_text(self.path / "log.jsonl", "".join(map(_log_line, records)))
        return records, complaints

    def put_aside(self, name: str, why: str) -> Path:
        """Copy a file of the run to a new name that says why: ``NAME.WHY-1``, ``NAME.WHY-2``, ..."""
        number = 1
        while (aside := self.path / f"{name}.{why}-{number}").exists():
            number += 1
        try:
            shutil.copy2(self.path / name, aside)
        except OSError as error:
            with suppress(OSError):
                aside.unlink()
            raise CannotWrite(f"cannot write {aside}: {error.strerror}") from None
        return aside

    def _read_log(self) -> tuple[list[dict[str, Any]], int]:
        """Return the good lines, and how many are damaged; a last line that a crash cut off is neither."""
        file = self.path / "log.jsonl"
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return [], 0
        except OSError as error:
            raise DamagedFile(f"cannot read {file}: {error.strerror}") from None
        *lines, last = content.split(b"\n")
        cut_off = _log_record(last) is None and not _SUM.search(last)
        records: list[dict[str, Any]] = []
        bad = 0
        for line in lines if cut_off else [*lines, last]:
            record = _log_record(line)
            bad += record is None
            for found in _salvaged(line) if record is None else [record]:
                if not records or found["iteration"] > records[-1]["iteration"]:
                    records.append(found)
                else:
                    bad += 1
        return records, bad

    def save_result(self, result: Mapping[str, Any]) -> None:
        """Write the outcome of a run that has ended."""
        write_text(self.path / "result.json", json.dumps(result, indent=2) + "\n")


def _log_line(record: Mapping[str, Any]) -> str:
    content = json.dumps(record)
    return f'{content[:-1]}, "{CHECKSUM}": "{zlib.crc32(content.encode()):08x}"}}\n'


_SUM = re.compile(rb', "' + CHECKSUM.encode() + rb'": "([0-9a-f]{8})"\}')


def _log_record(line: bytes) -> dict[str, Any] | None:
    """Return what a line of a log says, or None if it is damaged. Lines of older versions have no checksum."""
    checked = False
    if (found := _SUM.search(line)) and found.end() == len(line):
        line = line[: found.start()] + b"}"
        checked = int(found[1], 16) == zlib.crc32(line)
        if not checked:
            return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("iteration"), int):
        return None
    return record if checked or all(isinstance(number, int | float) for number in record.values()) else None


def _salvaged(line: bytes) -> list[dict[str, Any]]:
    """Return the records in a line that has lost the line breaks between them."""
    records, start = [], 0
    for found in _SUM.finditer(line):
        begin = line.find(b"{", start, found.start())
        if begin >= 0 and (record := _log_record(line[begin : found.end()])) is not None:
            records.append(record)
        start = found.end()
    return records


def require_new(folder: Path) -> None:
    """Refuse what cannot become a run directory: a file, or a folder with something in it."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise CannotWrite(f"{folder} is a file; choose another --out")
    try:
        names = {file.name for file in folder.iterdir()} - {lock.NAME}
    except OSError as error:
        raise CannotWrite(f"cannot use {folder} as a run directory: {error.strerror}") from None
    if "config.json" in names:
        raise CannotWrite(f"{folder} already holds a run; continue it with `equipoise resume`, or choose another --out")
    if names:
        raise CannotWrite(f"{folder} is not empty; choose another --out")


def largest_bytes(state: Mapping[str, npt.NDArray[Any]]) -> int:
    """Return how large a state can become: a part of a larger array, such as a memory that fills, counts as whole."""
    wholes = (array.base if isinstance(array.base, np.ndarray) else array for array in state.values())
    return sum(max(array.nbytes, whole.nbytes) for array, whole in zip(state.values(), wholes, strict=True))


def require_disk(folder: str | Path, checkpoint_bytes: int) -> int:
    """Return the disk space that checkpoints take, with one that is being written; refuse what does not fit."""
    needed = (KEPT_CHECKPOINTS + 1) * checkpoint_bytes
    there = Path(folder).absolute()
    kept = sum(file.stat().st_size for file in sorted((there / "checkpoints").glob("*.npz"))[-KEPT_CHECKPOINTS:])
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free + kept
    if needed > free:
        raise TooLarge(
            f"the run's checkpoints need {readable_bytes(needed)} of disk ({KEPT_CHECKPOINTS + 1} of "
            f"{readable_bytes(checkpoint_bytes)}), and {there} has {readable_bytes(free)}: make room, or choose a "
            "folder on another disk"
        )
    return needed


@contextmanager
def new_folder(base: Path, name: str) -> Iterator[Path]:
    """Make ``base/name``, or the next of ``base/name-2``, ...: one that nobody else has made. Empty, it is removed."""
    made_base = not base.exists()
    make_folder(base)
    number, folder = 1, base / name
    while True:
        try:
            folder.mkdir()
            break
        except FileExistsError:
            number += 1
            folder = base / f"{name}-{number}"
        except OSError as error:
            raise CannotWrite(f"cannot make the run directory {folder}: {error.strerror}") from None
    try:
        yield folder
    finally:
        with suppress(OSError):  # not empty: a run
            folder.rmdir()
            if made_base:
                base.rmdir()
