"""How kernels are compiled: one typed door to Numba, so that every kernel has the same options.

Compiled kernels are kept on disk, each under a name that stands for all it is made of (``kernel_cache``).

No kernel uses ``fastmath``: additions keep their written order, so results are bit-identical between the serial and the
parallel build of a kernel, and between runs.

Most of the time of a first run goes into compiling, so nothing is compiled that nobody calls. A *piece* is called by
kernels only: it gets no entrance for Python and never becomes machine code by itself, for it ends up in those kernels.
If Python calls it all the same, it is compiled once more, as a kernel.
"""

import functools
import gc
import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import prange
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

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

_EVERY_KERNEL: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

_ENTRANCE = "_ZN7cpython"  # how names of functions begin that Python calls

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile ``function`` to native code; the result is cached on disk, so that only the first call is slow."""
    return _compiled(function)


def inlined(function: F) -> F:
    """Return a small piece of a kernel that disappears into its caller: calls with many arrays are costly."""
    return _piece(function, forceinline=True)


def kernel_pair(function: F) -> tuple[F, F]:
    """Compile one body twice: with ``prange`` as a plain loop, and with ``prange`` shared out over threads.

    The body must not make arrays: its callers own all buffers.
    """
    return uncounted(_clone(function, "serial", {})), uncounted(_clone(function, "parallel", {}), parallel=True)


def calling_pairs(function: F, *shared: Callable[..., Any]) -> tuple[F, F]:
    """Compile one body twice: calling some functions with ``prange`` as a plain loop, then shared out over threads."""
    serial = {part.__name__: _piece(_clone(part, "serial", {})) for part in shared}
    parallel = {part.__name__: uncounted(_clone(part, "parallel", {}), parallel=True) for part in shared}
    return uncounted(_clone(function, "serial", serial)), uncounted(_clone(function, "parallel", parallel))


def uncounted(function: F, **options: bool) -> F:
    """Compile a piece of a kernel that stays a function of its own; it must not make arrays."""
    return _compiled(function, **_UNCOUNTED, **options)


def _compiled(function: F, **options: Any) -> F:
    every = {**_EVERY_KERNEL, **options}
    dispatcher = numba.njit(**every, pipeline_class=_KernelCompiler)(function)
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        dispatcher._cache = KernelCache(cast(types.FunctionType, function), every)
    return cast(F, dispatcher)


def _piece(function: F, **options: Any) -> F:
    every = {**_EVERY_KERNEL, **_UNCOUNTED, **options, "no_cpython_wrapper": True}
    dispatcher = numba.njit(**every, pipeline_class=_PieceCompiler)(function)
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        # Nothing is inserted into the list of what Python can call, so that a call from Python asks for a compilation.
        dispatcher._insert = lambda *compiled, **named: None
        whole = functools.cache(lambda: _compiled(function, **_UNCOUNTED, **options))
        dispatcher._compile_for_args = lambda *arguments, **named: whole()
    return cast(F, dispatcher)


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel. Its entrance for Python, which is long and used once a call, is not optimised twice."""

    def _optimize_functions(self, ll_module: Any) -> None:
        if any(function.name.startswith(_ENTRANCE) for function in ll_module.functions):
            ll_module.data_layout = self._codegen._data_layout
        else:
            super()._optimize_functions(ll_module)  # type: ignore[no-untyped-call]


class _PieceLibrary(_KernelLibrary):
    """The code of a piece, as it was written: waiting to be linked into kernels."""

    @property
    def codegen(self) -> Any:
        """Return what `get_executable` needs of the code generator, which has no machine code of a piece."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Do nothing: constants that are Python objects, which an environment holds, do not occur in pieces."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return that there is no machine code."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


class _KernelCompiler(Compiler):
    """Numba's compiler, without the search for garbage: it makes millions of objects, and keeps them."""

    library_class: type[JITCodeLibrary] = _KernelLibrary

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        if library is None:
            library = self.library_class(target.codegen(), "kernel")
            library.enable_object_caching()
        super().__init__(typing, target, library, *rest)  # type: ignore[no-untyped-call]

    def compile_extra(self, function: Any) -> Any:
        """Compile a function."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(function)  # type: ignore[no-untyped-call]
        finally:
            if collecting:
                gc.enable()


class _PieceCompiler(_KernelCompiler):
    """The same, up to the code that LLVM is given."""

    library_class = _PieceLibrary


def _clone(function: F, suffix: str, names: dict[str, Any]) -> F:
    """Return a copy of a function under another name, with other meanings for some global names."""
    copy = types.FunctionType(function.__code__, {**function.__globals__, **names}, f"{function.__name__}_{suffix}")
    copy.__qualname__ = f"{function.__qualname__}_{suffix}"
    copy.__module__ = function.__module__
    return cast(F, copy)
