"""How much memory there is, and the refusal of work that would not fit in it."""

import os
from pathlib import Path

from equipoise.errors import TooLarge

MIB, GIB = 1 << 20, 1 << 30


def available_bytes() -> int:
    """Return the memory that a new computation may use now: free plus reclaimable, within this process's limits."""
    candidates = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                candidates.append(int(line.split()[1]) * 1024)
    if not candidates:
        candidates.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    limit = Path("/sys/fs/cgroup/memory.max")
    used = Path("/sys/fs/cgroup/memory.current")
    if limit.exists() and used.exists() and (text := limit.read_text().strip()) != "max":
        candidates.append(int(text) - int(used.read_text()))
    return max(0, min(candidates))


def require(needed_bytes: float, *, what: str, instead: str = "") -> None:
    """Refuse ``what`` before it starts when it needs more memory than there is."""
    available = available_bytes()
    if needed_bytes > available:
        raise TooLarge(
            f"{what} needs about {readable_bytes(needed_bytes)} of memory and {readable_bytes(available)} is available"
            + (f"; {instead}" if instead else "")
        )


def readable_bytes(count: float) -> str:
    """Return a size as people read it."""
    if count < 0.1 * GIB:
        return f"{count / MIB:.1f} MiB"
    return f"{count / GIB:.1f} GiB" if count < 1e4 * GIB else f"{count / GIB:.1e} GiB"
