"""A run directory: everything needed to look at a run, to go on with it, and to make it again.

    config.json           the resolved configuration: game, algorithm, parameters, seed, stop, versions
    log.jsonl             one line per evaluation
    checkpoints/N.npz     the solver's state after iteration N; the last two are kept
    policy.npz            the final policy
    result.json           the last evaluation, once the run has ended

Every file but the log is written atomically. Checkpoints are zip files, whose checksums show damage; a damaged or
foreign one is passed over for the one before it.
"""

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.errors import EquipoiseError
from equipoise.files import write_atomically, write_text

FORMAT = "equipoise-run"
VERSION = 1
KEPT_CHECKPOINTS = 2


class Checkpoint(NamedTuple):
    """A solver's state, and how far it had come."""

    iteration: int
    seconds: float
    core_seconds: float
    state: dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class RunDirectory:
    """A run on disk."""

    path: Path
    config: dict[str, Any]

    @classmethod
    def create(cls, path: str | Path, config: Mapping[str, Any]) -> "RunDirectory":
        """Start a run in a new (or empty) directory."""
        folder = Path(path)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            holds = "a run; go on with it by `equipoise resume`" if (folder / "config.json").exists() else "other files"
            raise EquipoiseError(f"{folder} already holds {holds}, or give another --out")
        try:
            (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EquipoiseError(f"cannot make the run directory {folder}: {error.strerror}") from None
        full = {"format": FORMAT, "version": VERSION, **config}
        write_text(folder / "config.json", json.dumps(full, indent=2) + "\n")
        (folder / "log.jsonl").touch()
        return cls(folder, full)

    @classmethod
    def open(cls, path: str | Path) -> "RunDirectory":
        """Open an existing run."""
        folder = Path(path)
        file = folder / "config.json"
        if not file.exists():
            raise EquipoiseError(f"{folder} is not a run: it has no config.json")
        try:
            config = json.loads(file.read_text())
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise EquipoiseError(f"{file} is damaged ({error})") from None
        if not isinstance(config, dict) or config.get("format") != FORMAT:
            raise EquipoiseError(f"{file} is not the configuration of an equipoise run")
        if config.get("version") != VERSION:
            raise EquipoiseError(f"{file} has version {config.get('version')}; this equipoise reads version {VERSION}")
        return cls(folder, config)

    @property
    def policy_path(self) -> Path:
        """Return where the final policy is."""
        return self.path / "policy.npz"

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, then forget the oldest."""
        header = {"format": FORMAT, "run": self._identity(), "iteration": checkpoint.iteration}
        header |= {"seconds": checkpoint.seconds, "core_seconds": checkpoint.core_seconds}
        arrays = {name: np.asarray(array) for name, array in checkpoint.state.items()}
        header["arrays"] = sorted(checkpoint.state)
        written = self.path / "checkpoints" / f"{checkpoint.iteration:012d}.npz"
        with write_atomically(written) as file:
            np.savez(file, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)  # type: ignore[arg-type]
        # Files with later numbers are damaged or foreign (else the run would have gone on from them): left alone.
        for old in [file for file in self._checkpoint_files() if file <= written][:-KEPT_CHECKPOINTS]:
            old.unlink(missing_ok=True)

    def load_checkpoint(self, only: Collection[str] | None = None) -> tuple[Checkpoint | None, list[str]]:
        """Return the last good checkpoint (None: start anew), and a sentence for each file that was passed over.

        ``only`` names the arrays to read, where not all are wanted.
        """
        complaints = []
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
                return Checkpoint(header["iteration"], *times, state), complaints
            except Exception as error:  # a damaged zip file can fail in many ways (zlib, zipfile, numpy, json)
                complaints.append(f"{file} is damaged ({error}); passed over")
        return None, complaints

    def _checkpoint_files(self) -> list[Path]:
        return sorted((self.path / "checkpoints").glob("*.npz"))

    def _identity(self) -> dict[str, Any]:
        return {name: self.config.get(name) for name in ("game", "algorithm", "parameters", "seed", "created")}

    def append_log(self, record: Mapping[str, Any]) -> None:
        """Add one line to the log."""
        with open(self.path / "log.jsonl", "a") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def read_log(self) -> list[dict[str, Any]]:
        """Return the log; a last line that was cut off by a crash is left out."""
        file = self.path / "log.jsonl"
        records = []
        for line in file.read_text().splitlines() if file.exists() else []:
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return records

    def cut_log(self, iteration: int) -> list[dict[str, Any]]:
        """Forget what the log says after ``iteration``, because it is about to be run again."""
        records = [record for record in self.read_log() if record["iteration"] <= iteration]
        write_text(self.path / "log.jsonl", "".join(json.dumps(record) + "\n" for record in records))
        return records

    def save_result(self, result: Mapping[str, Any]) -> None:
        """Write the outcome of a run that has ended."""
        write_text(self.path / "result.json", json.dumps(result, indent=2) + "\n")
