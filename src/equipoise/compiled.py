"""How kernels are compiled: one typed door to Numba, so that every kernel has the same options.

No kernel uses ``fastmath``: additions keep their written order, so results are bit-identical between the serial and the
parallel build of a kernel, and between runs.
"""

import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import prange

__all__ = ["inlined", "kernel", "kernel_pair", "prange", "set_threads"]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile ``function`` to native code; the result is cached on disk, so that only the first call is slow."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """Compile a small piece of a kernel so that it disappears into its caller: calls with many arrays are costly."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function))


def kernel_pair(function: F) -> tuple[F, F]:
    """Compile one body twice: with ``prange`` as a plain loop, and with ``prange`` shared out over threads."""
    # Numba's on-disk cache is keyed by the qualified name but not by the compile options, so the twin needs a name of
    # its own; without it the serial build would be loaded in place of the parallel one.
    twin = types.FunctionType(
        function.__code__,
        function.__globals__,
        f"{function.__name__}_parallel",
    )
    twin.__qualname__ = f"{function.__qualname__}_parallel"
    twin.__module__ = function.__module__
    return kernel(function), cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", parallel=True)(twin))


def set_threads(count: int) -> int:
    """Let parallel kernels use ``count`` threads (at most the cores there are); return the number granted."""
    granted = max(1, min(count, int(numba.config.NUMBA_NUM_THREADS)))  # type: ignore[attr-defined]
    numba.set_num_threads(granted)
    return granted
