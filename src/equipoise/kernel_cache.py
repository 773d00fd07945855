"""Where compiled kernels are kept between processes: one file per kernel and signature, named after what it is made of.

A kernel is made of its own code, the options it is compiled with, and every constant, type and other kernel that it
names, however deep. The name of its file is a hash of all that, so a file is either right or not found: editing a
page, a test or another kernel throws nothing away, and processes that compile the same kernel at once write the same
file. (Numba's own cache looks only at the file in which a kernel stands, and numbers its files: it goes on using a
kernel whose callees have changed, and two processes can give one number to two signatures.)

Files lie in a folder of their own below ``$NUMBA_CACHE_DIR``, ``$XDG_CACHE_HOME/equipoise`` or ``~/.cache/equipoise``.
A marker in it says who made it: nothing is ever removed from a folder without one, nor a file with another ending.
"""

import functools
import hashlib
import inspect
import os
import pickle
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import sigutils
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.serialize import dumps
from numba.core.types import BaseNamedTuple, ExternalFunction, Type

from equipoise.errors import EquipoiseWarning
from equipoise.files import cache_home
from equipoise.work import compiling

_MARKER = "made-by-equipoise"
_ENDING = ".kernel"
_DAY = 86_400.0
_FORGOTTEN_AFTER = 60 * _DAY  # kernels that nobody used for so long are of older versions

on_compile: list[Callable[[str], None]] = []  # called with a kernel's name before it is compiled,
on_compiled: list[Callable[[str], None]] = []  # and after; kernels that it calls are compiled in between


class KernelCache(_Cache):
    """The part of a Numba dispatcher that asks the disk before it compiles, and keeps what it compiled."""

    def __init__(self, function: types.FunctionType, options: dict[str, Any]) -> None:
        self._function = function
        self._options = options

    @functools.cached_property
    def ingredients(self) -> str:
        """Return the hash of all that the kernel is made of, at its first use: then every name it uses is defined."""
        digest = hashlib.sha256(repr(sorted(self._options.items())).encode())
        for piece in _pieces(self._function, {id(self._function)}):
            digest.update(piece.encode() + b"\0")
        return digest.hexdigest()

    @property
    def cache_path(self) -> str | None:
        """Return the folder in use, if any."""
        folder = _folder()
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel for a signature if it is kept, else None."""
        target_context.refresh()
        file = self._file(sig, target_context.codegen())
        if file is not None and file.exists():
            try:
                kept = pickle.loads(file.read_bytes())
                found = CompileResult._rebuild(target_context, *kept)  # type: ignore[no-untyped-call]
                if time.time() - file.stat().st_mtime > _DAY:
                    os.utime(file)
                return found
            except Exception:  # damaged, or just removed: compiled again, and written over
                pass
        compiling.begin()
        for listener in on_compile:
            listener(self._function.__qualname__)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel."""
        self._keep(sig, data)
        compiling.end()
        for listener in on_compiled:
            listener(self._function.__qualname__)

    def _keep(self, sig: Any, data: Any) -> None:
        file = self._file(sig, data.codegen)
        if file is None or data.library.has_dynamic_globals or any(not part.can_cache for part in data.lifted):
            return
        try:
            handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".part")
            with os.fdopen(handle, "wb") as part:
                part.write(dumps(data._reduce()))  # type: ignore[no-untyped-call]
            os.replace(temporary, file)
        except OSError as error:
            Path(temporary).unlink(missing_ok=True)
            _warn_once(file.parent, error.strerror or str(error))

    def enable(self) -> None:
        """Do nothing: a kernel's cache is always on."""

    def disable(self) -> None:
        """Do nothing: a kernel's cache is always on."""

    def flush(self) -> None:
        """Do nothing: files are named after what they hold, so none is ever out of date."""

    def _file(self, sig: Any, codegen: Any) -> Path | None:
        folder = _folder()
        if folder is None:
            return None
        arguments, result = sigutils.normalize_signature(sig)  # type: ignore[no-untyped-call]
        taken = [_type_text(argument) for argument in arguments], repr(result)
        versions = numba.__version__, np.__version__, codegen.magic_tuple()
        name = hashlib.sha256(f"{self.ingredients} {taken} {versions}".encode()).hexdigest()[:32]
        return folder / f"{self._function.__name__[:60]}-{name}{_ENDING}"


def _pieces(function: types.FunctionType, seen: set[int]) -> Iterator[str]:
    """List all that a function is made of, as text: its code, and the meaning of each name in it."""
    yield from _code_pieces(function.__code__)
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name
            yield from _meaning(function.__globals__[name], f"{function.__qualname__}: {name}", seen)
    for cell in function.__closure__ or ():
        yield from _meaning(cell.cell_contents, f"{function.__qualname__}: closure", seen)


def _code_pieces(code: types.CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_flags))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_pieces(constant)
        else:
            yield repr(constant)


def _names(code: types.CodeType) -> set[str]:
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*inner)


def _meaning(value: Any, where: str, seen: set[int]) -> Iterator[str]:
    """List what a global name stands for; a kernel that names what cannot be told apart is refused."""
    if isinstance(value, Dispatcher):
        value = value.py_func
    if isinstance(value, types.FunctionType) and not value.__module__.startswith(("numba.", "numpy.")):
        if id(value) not in seen:
            seen.add(id(value))
            yield from _pieces(value, seen)
    elif isinstance(value, bool | int | float | complex | str | bytes | type(None) | np.generic):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _meaning(item, where, seen)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    elif isinstance(value, type):
        yield f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
    elif isinstance(value, ExternalFunction):
        yield f"{value.symbol} {value.sig}"
    elif isinstance(value, _Intrinsic):  # its meaning is what its file lets the compiler write
        yield f"{value._name} {_file_hash(inspect.getfile(value._defn))}"
    elif isinstance(value, types.ModuleType) and not value.__name__.startswith("equipoise"):
        yield value.__name__
    elif isinstance(value, types.BuiltinFunctionType | types.FunctionType | np.ufunc | Type | np.dtype):
        yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
    else:
        raise TypeError(f"{where} is a {type(value).__name__}: it cannot be part of a kernel that is kept on disk")


@functools.cache
def _file_hash(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _type_text(argument: Any) -> str:
    fields = getattr(argument, "fields", "") if isinstance(argument, BaseNamedTuple) else ""
    return f"{argument!r} {fields}"


def are_kept() -> bool:
    """Return whether compiled kernels can be kept for later runs."""
    return _folder() is not None


@functools.cache
def _folder() -> Path | None:
    """Return the folder of kernels, made if need be and rid of what nobody uses; None if it cannot be written."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    folder: Path | str = "the home directory"
    try:
        folder = Path(given) / "equipoise-kernels" if given else cache_home() / "kernels"
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        if not (folder / _MARKER).exists():
            if any(folder.iterdir()):
                return folder  # somebody else's: used, but nothing is ever removed from it
            (folder / _MARKER).write_text("Compiled kernels of equipoise. The folder may be removed at any time.\n")
        for file in (*folder.glob(f"*{_ENDING}"), *folder.glob(".*.part")):
            if time.time() - file.stat().st_mtime > _FORGOTTEN_AFTER:
                file.unlink(missing_ok=True)
    except OSError as error:
        _warn_once(folder, error.strerror or str(error))
        return None
    return folder


@functools.cache
def _warn_once(folder: Path | str, reason: str) -> None:
    warnings.warn(
        f"compiled kernels cannot be kept in {folder} ({reason}): each run compiles them again; set "
        "NUMBA_CACHE_DIR to a folder that can be written",
        EquipoiseWarning,
        stacklevel=2,
    )
