"""Whole vectors of a processor in a compiled loop.

Where a loop over classes is short, the compiler unrolls it and then does not see that its
steps could be one: these say so.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from . import WIDTH


def _add_vector(typing_context: Any, to: Any, i: Any, source: Any, j: Any) -> Any:
    """Add ``source[j : j + WIDTH]`` to ``to[i : i + WIDTH]``, both one-dimensional.

    Of one type of floats, or the source of a narrower one.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def place(kind: Any, array: Any, offset: Any) -> tuple[Any, Any, int]:
            number = context.get_value_type(kind.dtype)
            data = context.make_array(kind)(context, builder, array).data
            vector = ir.VectorType(number, WIDTH)
            pointer = builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())
            return pointer, vector, kind.dtype.bitwidth // 8

        target, wide, align = place(to, arguments[0], arguments[1])
        origin, narrow, own_align = place(source, arguments[2], arguments[3])
        added = builder.load(origin, align=own_align)
        if narrow != wide:
            added = builder.fpext(added, wide)
        total = builder.fadd(builder.load(target, align=align), added)
        builder.store(total, target, align=align)
        return context.get_dummy_value()

    return types.void(to, types.uintp, source, types.uintp), build


def _in_python(to: Any, i: int, source: Any, j: int) -> None:
    to[i : i + WIDTH] += source[j : j + WIDTH]


# Called as add_vector(to, i, source, j), from Python where NUMBA_DISABLE_JIT is set.
add_vector: Any = _in_python if config.DISABLE_JIT else intrinsic(_add_vector)  # type: ignore[attr-defined]
