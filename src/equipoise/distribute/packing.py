"""What is sent between processes: packed here, so that arrays which arrive may be written to.

Ray hands out arrays in shared memory, read-only: kernels would be compiled once more for these. So arrays are copied
where they arrive. What never changes (a game's tree, what networks see) is sent to a process once, and stands in for
itself by its name from then on.
"""

import io
import pickle
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Constant(NamedTuple):
    """A thing that never changes; held on to, so that its identity stays its own."""

    thing: object


class Packed(NamedTuple):
    """A thing as it is sent."""

    text: bytes
    buffers: list[npt.NDArray[np.uint8]]  # of arrays
    constants: tuple[str, ...]  # names of what is sent apart

    @property
    def nbytes(self) -> int:
        """Return how many bytes are sent."""
        return len(self.text) + sum(buffer.nbytes for buffer in self.buffers)


def pack(thing: object, constants: Mapping[int, Constant]) -> Packed:
    """Return a thing as it is sent; of constants, by identity, there is the name only."""
    text, buffers, found = io.BytesIO(), list[npt.NDArray[np.uint8]](), dict[str, None]()

    class Pickler(_pickler()):  # type: ignore[misc]
        def persistent_id(self, each: object) -> str | None:
            if id(each) not in constants:
                return None
            found[name := str(id(each))] = None
            return name

    def apart(buffer: pickle.PickleBuffer) -> None:
        buffers.append(np.frombuffer(buffer.raw(), np.uint8))

    Pickler(text, protocol=5, buffer_callback=apart).dump(thing)
    return Packed(text.getvalue(), buffers, tuple(found))


def _pickler() -> Any:
    """Return Ray's pickler, which takes classes of notebooks, too, if Ray is in use.

    It is not loaded for that: it reads how to guard its ports when it is loaded, which a cluster has to tell it before.
    """
    return sys.modules["ray"].cloudpickle.CloudPickler if "ray" in sys.modules else pickle.Pickler


def unpacked(packed: Packed, constants: Mapping[str, object] | None = None) -> Any:
    """Return a thing that was sent, with arrays of its own."""

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, name: str) -> object:
            return (constants or {})[name]

    buffers = [bytearray(buffer) for buffer in packed.buffers]
    return Unpickler(io.BytesIO(packed.text), buffers=buffers).load()


_constants: dict[str, object] = {}  # of this process, by reference
_last: tuple[str, object] = ("", None)  # what was shared last, which the next part shares, too


def some_parts(
    function: Callable[[Any, int, Any], Any],
    out: Sequence[Any],
    names: Sequence[str],
    refs: Sequence[Any],
    specs: Sequence[Any],
) -> Packed:
    """Do parts, in a worker; return the seconds that they took, and what they brought.

    References come in lists, so that Ray leaves it to us when they are followed.
    """
    import ray

    global _last
    if _last[0] != out[0].hex():
        for ref in refs:
            if ref.hex() not in _constants:
                _constants[ref.hex()] = unpacked(ray.get(ref))
        known = {name: _constants[ref.hex()] for name, ref in zip(names, refs, strict=True)}
        _last = out[0].hex(), unpacked(ray.get(out[0]), known)
    began = time.perf_counter()
    results = [function(_last[1], 0, spec) for spec in specs]  # a worker has one lane
    return pack((time.perf_counter() - began, results), {})
