"""Sixteen numbers at once, written out: vectors as values inside kernels.

A compiler makes vector code of a plain loop only if it can prove, or test at run time, that no array overlaps another;
in short loops over many arrays the tests cost more than the arithmetic. Here a kernel says what it means::

    total = zeros(regrets)
    for action in range(actions):
        total = total + positive(load(regrets, first + action * width + j))
    store(out, j, total)

``load`` and ``store`` move the sixteen neighbours from an index on (their owner sees to it that there are sixteen);
``+``, ``-`` and ``*`` work lane by lane, in the precision of the array. Nothing is reordered or contracted: the results
are those of plain loops, bit for bit. Without compilation a vector is a NumPy array of sixteen numbers.
"""

import operator
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

LANES = 16
CACHE_LINE = 64  # bytes
SMALLEST = 1e-30  # one over it is a number in single precision, and so is that times what is multiplied by it

Vector = Any  # sixteen numbers


class LanesType(types.Type):
    """The type of a vector inside kernels."""

    def __init__(self, dtype: types.Type) -> None:
        super().__init__(name=f"Lanes({dtype})")
        self.dtype = dtype


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: LanesType) -> None:
        element = manager.lookup(lanes.dtype).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(element, LANES))  # type: ignore[no-untyped-call]


def _register(function: Any, instruction: str) -> None:
    """Give vectors an operator."""

    class Template(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], LanesType) and args[0] == args[1]:
                return signature(args[0], *args)  # type: ignore[no-untyped-call]
            return None

    infer_global(function)(Template)  # type: ignore[no-untyped-call]

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)

    lower_builtin(function, LanesType, LanesType)(lower)  # type: ignore[no-untyped-call]


for _function, _instruction in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
    _register(_function, _instruction)


def _place(context: Any, builder: Any, array_type: Any, array: Any, index: Any, index_type: Any) -> Any:
    """Return the address of an array's element, as that of a vector."""
    struct = context.make_array(array_type)(context, builder, array)
    wide = context.cast(builder, index, index_type, types.intp)
    element = builder.gep(struct.data, [wide])
    vector = ir.VectorType(context.get_value_type(array_type.dtype), LANES)
    return builder.bitcast(element, vector.as_pointer())


def _splat(builder: Any, number: Any) -> Any:
    vector = ir.VectorType(number.type, LANES)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, first, mask)


def _constant(context: Any, lanes: LanesType, number: float) -> Any:
    element = context.get_value_type(lanes.dtype)
    exact = float(np.float32(number)) if lanes.dtype == types.float32 else number
    return ir.Constant(ir.VectorType(element, LANES), [exact] * LANES)


if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]

    def load(array: npt.NDArray[Any], index: int) -> Vector:
        """Return the sixteen numbers from an index on."""
        return array[int(index) : int(index) + LANES].copy()

    def store(array: npt.NDArray[Any], index: int, vector: Vector) -> None:
        """Write sixteen numbers from an index on."""
        array[int(index) : int(index) + LANES] = vector

    def zeros(array: npt.NDArray[Any]) -> Vector:
        """Return sixteen zeros in the precision of an array."""
        return np.zeros(LANES, array.dtype)

    def filled(array: npt.NDArray[Any], number: float) -> Vector:
        """Return one number sixteen times, in the precision of an array."""
        return np.full(LANES, number, array.dtype)

    def positive(vector: Vector) -> Vector:
        """Return what is above zero, and zero for the rest."""
        return np.where(vector > 0, vector, vector.dtype.type(0))

    def largest(first: Vector, second: Vector) -> Vector:
        """Return the larger numbers of two vectors."""
        return np.where(first > second, first, second)

    def over(first: Vector, second: Vector) -> Vector:
        """Return ``first / second`` where ``second`` is above ``SMALLEST``, and zero elsewhere."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(second > SMALLEST, first / second, second.dtype.type(0))

    def where_none(tested: Vector, chosen: Vector) -> Vector:
        """Return ``chosen`` where ``tested`` is not above ``SMALLEST``, and zero elsewhere."""
        return np.where(tested > SMALLEST, tested.dtype.type(0), chosen)

    def where_positive(tested: Vector, chosen: Vector, otherwise: Vector) -> Vector:
        """Return ``chosen`` where ``tested`` is above zero, and ``otherwise`` elsewhere."""
        return np.where(tested > 0, chosen, otherwise)

    def transpose(
        source: npt.NDArray[Any], starts: npt.NDArray[Any], number: int, offset: int, target: npt.NDArray[Any], to: int
    ) -> None:
        """Write sixteen lines of sixteen numbers as columns, side by side: lines of the target follow each other.

        The lines begin at ``starts[number]``, ``starts[number + 1]``, ..., each plus ``offset``.
        """
        at = [int(starts[int(number) + k]) + int(offset) for k in range(LANES)]
        block = np.stack([source[first : first + LANES] for first in at])
        target[int(to) : int(to) + LANES * LANES] = block.T.ravel()

    def transpose_back(source: npt.NDArray[Any], start: int, target: npt.NDArray[Any], to: int, step: int) -> None:
        """Write sixteen lines of sixteen numbers, which follow each other, as columns of lines ``step`` apart."""
        block = source[int(start) : int(start) + LANES * LANES].reshape(LANES, LANES)
        for k in range(LANES):
            target[int(to) + k * int(step) : int(to) + k * int(step) + LANES] = block[:, k]

else:

    @intrinsic
    def load(typing: Any, array: Any, index: Any) -> Any:
        """Return the sixteen numbers from an index on."""

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            place = _place(context, builder, sig.args[0], args[0], args[1], sig.args[1])
            return builder.load(place, align=array.dtype.bitwidth // 8)

        return LanesType(array.dtype)(array, index), lower

    @intrinsic
    def store(typing: Any, array: Any, index: Any, vector: Any) -> Any:
        """Write sixteen numbers from an index on."""

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            place = _place(context, builder, sig.args[0], args[0], args[1], sig.args[1])
            builder.store(args[2], place, align=array.dtype.bitwidth // 8)
            return context.get_dummy_value()

        return types.void(array, index, vector), lower

    @intrinsic
    def zeros(typing: Any, array: Any) -> Any:
        """Return sixteen zeros in the precision of an array."""

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _constant(context, sig.return_type, 0.0)

        return LanesType(array.dtype)(array), lower

    @intrinsic
    def filled(typing: Any, array: Any, number: Any) -> Any:
        """Return one number sixteen times, in the precision of an array."""

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _splat(builder, context.cast(builder, args[1], sig.args[1], array.dtype))

        return LanesType(array.dtype)(array, number), lower

    @intrinsic
    def positive(typing: Any, vector: Any) -> Any:
        """Return what is above zero, and zero for the rest."""

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            zero = _constant(context, sig.args[0], 0.0)
            return builder.select(builder.fcmp_ordered(">", args[0], zero), args[0], zero)

        return vector(vector), lower

    @intrinsic
    def largest(typing: Any, first: Any, second: Any) -> Any:
        """Return the larger numbers of two vectors."""

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", *args), *args)

        return first(first, second), lower

    @intrinsic
    def over(typing: Any, first: Any, second: Any) -> Any:
        """Return ``first / second`` where ``second`` is above ``SMALLEST``, and zero elsewhere."""

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            safe = builder.fcmp_ordered(">", args[1], _constant(context, sig.args[1], SMALLEST))
            return builder.select(safe, builder.fdiv(*args), _constant(context, sig.args[0], 0.0))

        return first(first, second), lower

    @intrinsic
    def where_none(typing: Any, tested: Any, chosen: Any) -> Any:
        """Return ``chosen`` where ``tested`` is not above ``SMALLEST``, and zero elsewhere."""

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            some = builder.fcmp_ordered(">", args[0], _constant(context, sig.args[0], SMALLEST))
            return builder.select(some, _constant(context, sig.args[1], 0.0), args[1])

        return chosen(tested, chosen), lower

    @intrinsic
    def where_positive(typing: Any, tested: Any, chosen: Any, otherwise: Any) -> Any:
        """Return ``chosen`` where ``tested`` is above zero, and ``otherwise`` elsewhere."""

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            above = builder.fcmp_ordered(">", args[0], _constant(context, sig.args[0], 0.0))
            return builder.select(above, args[1], args[2])

        return chosen(tested, chosen, otherwise), lower

    def _turned(builder: Any, lines: list[Any]) -> list[Any]:
        """Transpose sixteen vectors: halves of ever smaller blocks change places, upper right with lower left."""
        for half in (8, 4, 2, 1):
            low = [k if not k & half else k - half + LANES for k in range(LANES)]
            high = [k + half if not k & half else k + LANES for k in range(LANES)]
            masks = [ir.Constant(ir.VectorType(ir.IntType(32), LANES), mask) for mask in (low, high)]
            swapped = list(lines)
            for k in range(LANES):
                if not k & half:
                    pair = lines[k], lines[k + half]
                    swapped[k], swapped[k + half] = (builder.shuffle_vector(*pair, mask) for mask in masks)
            lines = swapped
        return lines

    @intrinsic
    def transpose(typing: Any, source: Any, starts: Any, number: Any, offset: Any, target: Any, to: Any) -> Any:
        """Write sixteen lines of sixteen numbers as columns, side by side: lines of the target follow each other.

        The lines begin at ``starts[number]``, ``starts[number + 1]``, ..., each plus ``offset``.
        """

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            align = source.dtype.bitwidth // 8
            word = context.get_value_type(types.intp)
            first, further, out = (context.cast(builder, args[k], sig.args[k], types.intp) for k in (2, 3, 5))
            listed = context.make_array(sig.args[1])(context, builder, args[1]).data
            lines = []
            for k in range(LANES):
                begin = builder.load(builder.gep(listed, [builder.add(first, ir.Constant(word, k))]))
                at = builder.add(context.cast(builder, begin, starts.dtype, types.intp), further)
                lines.append(builder.load(_place(context, builder, source, args[0], at, types.intp), align=align))
            for k, line in enumerate(_turned(builder, lines)):
                at = builder.add(out, ir.Constant(word, k * LANES))
                builder.store(line, _place(context, builder, target, args[4], at, types.intp), align=align)
            return context.get_dummy_value()

        return types.void(source, starts, number, offset, target, to), lower

    @intrinsic
    def transpose_back(typing: Any, source: Any, start: Any, target: Any, to: Any, step: Any) -> Any:
        """Write sixteen lines of sixteen numbers, which follow each other, as columns of lines ``step`` apart."""

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            align = source.dtype.bitwidth // 8
            word = context.get_value_type(types.intp)
            first, out, further = (context.cast(builder, args[k], sig.args[k], types.intp) for k in (1, 3, 4))
            lines = []
            for k in range(LANES):
                at = builder.add(first, ir.Constant(word, k * LANES))
                lines.append(builder.load(_place(context, builder, source, args[0], at, types.intp), align=align))
            for line in _turned(builder, lines):
                builder.store(line, _place(context, builder, target, args[2], out, types.intp), align=align)
                out = builder.add(out, further)
            return context.get_dummy_value()

        return types.void(source, start, target, to, step), lower


def aligned_zeros(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return zeros that begin where a cache line does: vectors then never straddle two."""
    kind = np.dtype(dtype)
    room = np.zeros(count * kind.itemsize + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + count * kind.itemsize].view(kind)
