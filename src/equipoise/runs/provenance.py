"""Where a run comes from: versions, the commit of a checkout, the machine and its devices. All goes to config.json."""

import datetime
import os
import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("equipoise", "numpy", "numba", "llvmlite", "scipy")
_SECONDS_FOR_GIT = 5.0


def versions() -> dict[str, str]:
    """Return the versions that results may depend on; PyTorch's and CUDA's once PyTorch is loaded, as networks do."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from the sources, without an installation
            continue
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = str(torch.__version__)
        if torch.version.cuda is not None:
            found["cuda"] = str(torch.version.cuda)
    return found


@cache
def commit(package: Path = Path(__file__).parents[1]) -> str | None:
    """Return the commit of a checkout that the package runs from, with ``-dirty`` for changes; None elsewhere."""
    top = package.parents[1]
    if package.parent.name != "src" or not (top / ".git").exists():  # installed, maybe inside somebody else's checkout
        return None
    command = ["git", "--no-optional-locks", "-C", str(top), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(
            [*command, "--exclude=*"], capture_output=True, text=True, timeout=_SECONDS_FOR_GIT, check=True
        )
    except (OSError, subprocess.SubprocessError):  # no git, or not our repository
        return None
    return done.stdout.strip() or None


def now() -> str:
    """Return the time, as files have it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")


def of_data() -> dict[str, Any]:
    """Return what every data file says of where it comes from: versions, commit, machine and date."""
    return {"versions": versions(), "commit": commit(), "machine": machine(), "date": now()}


def machine() -> dict[str, Any]:
    """Return what the run is made on: processor, cores, memory, system, and the devices that PyTorch sees."""
    found: dict[str, Any] = {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
    }
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        found["devices"] = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return found


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "Model"):
                return value.strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine()
