"""How kernels are compiled: one typed door to Numba, so that every kernel has the same options.

Compiled kernels are kept on disk, each under a name that stands for all it is made of (``kernel_cache``).

No kernel uses ``fastmath``: additions keep their written order, so results are bit-identical between the serial and the
parallel build of a kernel, and between runs.
"""

import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import prange

from equipoise.kernel_cache import KernelCache

__all__ = [
    "calling_pairs",
    "inlined",
    "kernel",
    "kernel_pair",
    "prange",
    "uncounted",
]

# Without Numba's run-time memory manager a kernel cannot make arrays, and does not count references to those it is
# given: counting is atomic, and costs more than the arithmetic of a small node.
_UNCOUNTED: dict[str, Any] = {"_nrt": False}

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile ``function`` to native code; the result is cached on disk, so that only the first call is slow."""
    return _compiled(function)


def inlined(function: F) -> F:
    """Compile a small piece of a kernel so that it disappears into its caller: calls with many arrays are costly."""
    return _compiled(function, forceinline=True, **_UNCOUNTED)


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
    return _compiled(function, **_UNCOUNTED, **options)


def _compiled(function: F, **options: Any) -> F:
    every = {"nogil": True, "error_model": "numpy", **options}
    dispatcher = numba.njit(**every)(function)
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        dispatcher._cache = KernelCache(cast(types.FunctionType, function), every)
    return cast(F, dispatcher)


def _clone(function: F, suffix: str, names: dict[str, Any]) -> F:
    """Return a copy of a function under another name, with other meanings for some global names."""
    copy = types.FunctionType(function.__code__, {**function.__globals__, **names}, f"{function.__name__}_{suffix}")
    copy.__qualname__ = f"{function.__qualname__}_{suffix}"
    copy.__module__ = function.__module__
    return cast(F, copy)
