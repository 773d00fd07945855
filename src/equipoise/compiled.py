"""How kernels are compiled: one typed door to Numba, so that every kernel has the same options.

Compiled kernels are kept on disk, in a folder named after the state of all of the package's sources: Numba by itself
looks only at the file in which a kernel stands, and would go on using one whose callees have changed elsewhere.

No kernel uses ``fastmath``: additions keep their written order, so results are bit-identical between the serial and the
parallel build of a kernel, and between runs.
"""

import hashlib
import os
import queue
import shutil
import types
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import prange

from equipoise.errors import EquipoiseError

__all__ = [
    "calling_pairs",
    "inlined",
    "kernel",
    "kernel_pair",
    "on_threads",
    "prange",
    "require_threads",
    "set_threads",
    "uncounted",
]

# Without Numba's run-time memory manager a kernel cannot make arrays, and does not count references to those it is
# given: counting is atomic, and costs more than the arithmetic of a small node.
_UNCOUNTED: dict[str, Any] = {"_nrt": False}

F = TypeVar("F", bound=Callable[..., Any])
Item = TypeVar("Item")


_KEPT_CACHES = 4


def _use_cache_of_these_sources() -> None:
    package = Path(__file__).parent
    stamps = sorted(
        (path.relative_to(package).as_posix(), path.stat().st_mtime_ns, path.stat().st_size)
        for path in package.rglob("*.py")
    )
    state = hashlib.sha256(repr(stamps).encode()).hexdigest()[:16]
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        home = Path(given)
    elif os.access(package, os.W_OK):
        home = package / "__pycache__" / "kernels"
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equipoise" / "kernels"
    folder = home / state
    if not folder.exists():
        older = sorted(home.glob("?" * 16), key=lambda path: path.stat().st_mtime) if home.exists() else []
        for forgotten in older[: 1 - _KEPT_CACHES]:
            shutil.rmtree(forgotten, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]


_use_cache_of_these_sources()


def kernel(function: F) -> F:
    """Compile ``function`` to native code; the result is cached on disk, so that only the first call is slow."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """Compile a small piece of a kernel so that it disappears into its caller: calls with many arrays are costly."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True, **_UNCOUNTED)(function))


def kernel_pair(function: F) -> tuple[F, F]:
    """Compile one body twice: with ``prange`` as a plain loop, and with ``prange`` shared out over threads.

    The body must not make arrays: its callers own all buffers.
    """
    return uncounted(_clone(function, "serial", {})), uncounted(_clone(function, "parallel", {}), parallel=True)


def calling_pairs(function: F, **pairs: tuple[Callable[..., Any], Callable[..., Any]]) -> tuple[F, F]:
    """Compile one body twice: calling the serial, then the parallel halves of kernel pairs, by their names in it."""
    serial, parallel = ({name: pair[half] for name, pair in pairs.items()} for half in range(2))
    return uncounted(_clone(function, "serial", serial)), uncounted(_clone(function, "parallel", parallel))


def uncounted(function: F, **options: bool) -> F:
    """Compile a piece of a kernel that stays a function of its own; it must not make arrays."""
    every: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", **_UNCOUNTED, **options}
    return cast(F, numba.njit(**every)(function))


def _clone(function: F, suffix: str, names: dict[str, Any]) -> F:
    """Return a copy of a function under another name, with other meanings for some global names.

    Numba's on-disk cache is keyed by the qualified name, not by compile options or by what global names mean: without
    names of their own, one build would be loaded in place of the other.
    """
    copy = types.FunctionType(function.__code__, {**function.__globals__, **names}, f"{function.__name__}_{suffix}")
    copy.__qualname__ = f"{function.__qualname__}_{suffix}"
    copy.__module__ = function.__module__
    return cast(F, copy)


def require_threads(count: int) -> None:
    """Refuse a number of threads that is none."""
    if count < 1:
        raise EquipoiseError(f"threads={count} is not valid; give a number above 0")


def set_threads(count: int) -> int:
    """Let parallel kernels use ``count`` threads (at most the cores there are); return the number granted."""
    granted = max(1, min(count, int(numba.config.NUMBA_NUM_THREADS)))  # type: ignore[attr-defined]
    numba.set_num_threads(granted)
    return granted


def on_threads(threads: int, work: Callable[[int, Item], None], items: Iterable[Item]) -> None:
    """Call ``work(lane, item)`` for all items, on threads of their own; a lane is used by one thread at a time.

    For long kernels, which do not hold Python's lock: one build serves any number of threads (a parallel build of a
    long kernel takes several times as long to compile), and a thread that the machine holds up gets fewer items.
    """
    if threads == 1:
        for item in items:
            work(0, item)
        return
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for lane in range(threads):
        free.put(lane)

    def task(item: Item) -> None:
        lane = free.get()
        try:
            work(lane, item)
        finally:
            free.put(lane)

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(task, items):
            pass
