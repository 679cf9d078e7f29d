"""Python's values as JavaScript writes them, safe inside an HTML script element too."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_EXACT = 2**53 - 1  # of the integers that a JavaScript number holds exactly
FEW = 64  # numbers


def string(text: str) -> str:
    r"""Return a string literal in ASCII.

    No ``<`` is left in it, so that nothing in it ends or comments out a script element.
    """
    return json.dumps(str(text)).replace("<", "\\u003c")


def strings(texts: Iterable[str]) -> str:
    """Return an array of string literals."""
    return f"[{', '.join(map(string, texts))}]"


def label(value: Any) -> str:
    """Return the literal of a class label: a string, a boolean, a number or a BigInt.

    Raises
    ------
    TypeError
        For labels of another type.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) <= LARGEST_EXACT else f"{value}n"
    if isinstance(value, float):
        return number(value)
    raise TypeError(
        f"The class label {value!r} is a {type(value).__name__}: only strings, numbers and "
        "booleans can be exported."
    )


def label_type(values: NDArray[Any]) -> str:
    """Return the type of the labels in TypeScript's words, a union where there are several."""
    types = {str: "string", bool: "boolean", float: "number"}
    found = [
        types.get(type(value), "bigint" if label(value).endswith("n") else "number")
        for value in values.tolist()
    ]
    return " | ".join(dict.fromkeys(found))


def number(value: float) -> str:
    """Return the shortest literal that is the same number."""
    return repr(float(value)).removesuffix(".0")


def integers(values: NDArray[np.integer[Any]]) -> str:
    """Return an array of integers."""
    return f"[{', '.join(map(str, values.tolist()))}]"


def floats(values: NDArray[np.floating[Any]]) -> str:
    """Return a typed array of the numbers, exactly.

    Few are written in decimal digits, to be read; many in whichever way is shorter. Digits
    with their commas take about 13 characters a float32 and 21 a float64; base64 takes 5.3
    and 10.7, in a call of ``float32`` or ``float64``, which the module has to define.
    """
    bits = 8 * values.itemsize
    flat = values.ravel()
    digits = [str(value).removesuffix(".0") for value in flat]
    decimal = f"new Float{bits}Array([{', '.join(digits)}])"
    if flat.size <= FEW:
        return decimal
    little_endian = flat.astype(flat.dtype.newbyteorder("<"))
    packed = f'float{bits}("{base64.b64encode(little_endian.tobytes()).decode()}")'
    return min(decimal, packed, key=len)
