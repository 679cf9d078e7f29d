"""Arrays of numbers as JSON: type, shape, and the little-endian bytes in base64."""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .text import LARGEST_FILE, ModelFormatError, shown

# The types that a file has, all little-endian: booleans are bytes of 0 and 1.
INTEGERS = np.dtype("<i8")
FLOATS = np.dtype("<f8")
SINGLES = np.dtype("<f4")
FLAGS = np.dtype("|u1")
TYPES = {dtype.str: dtype for dtype in (INTEGERS, FLOATS, SINGLES, FLAGS)}
# What arrays of a type are called in the schema, and in words.
NAMES: dict[np.dtype[Any], tuple[str, str]] = {
    INTEGERS: ("integers", "64-bit integers"),
    FLOATS: ("floats", "64-bit floating-point numbers"),
    SINGLES: ("singles", "32-bit floating-point numbers"),
    FLAGS: ("flags", "Bytes of 0 and 1"),
}
MOST_AXES = 4

# Characters of base64 that are decoded at a time.
CHUNK = 1 << 20

Shape = tuple[int | None, ...]


def to_plain(array: NDArray[Any], dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return an array as a file holds it, in one of the types above."""
    exact = np.ascontiguousarray(array, dtype=dtype)
    return {
        "dtype": dtype.str,
        "shape": list(np.shape(array)),
        "base64": base64.b64encode(exact.data).decode("ascii"),
    }


def from_plain(value: Any, name: str, dtype: np.dtype[Any], shape: Shape) -> NDArray[Any]:
    """Return the array of that type and shape; None stands for any length.

    Nothing is allocated before the text is known to be as long as the shape asks for.
    """
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "base64"}:
        raise ModelFormatError(f"{name} is no array: it takes dtype, shape and base64")
    if value["dtype"] != dtype.str:
        raise ModelFormatError(f"{name} has dtype {shown(value['dtype'])}: it takes {dtype.str!r}")
    told = value["shape"]
    if (
        not isinstance(told, list)
        or len(told) != len(shape)
        or not all(type(length) is int and length >= 0 for length in told)
        or any(asked not in (None, length) for length, asked in zip(told, shape, strict=True))
    ):
        takes = ", ".join("any" if length is None else str(length) for length in shape)
        raise ModelFormatError(f"{name} has not the shape ({takes}) that it takes")
    # An array without any number has lengths too, which NumPy multiplies.
    if math.prod(length or 1 for length in told) * dtype.itemsize > LARGEST_FILE:
        raise ModelFormatError(f"{name} has a shape that no file has room for")
    n_bytes = math.prod(told) * dtype.itemsize
    text = value["base64"]
    if len(text) != -(-n_bytes // 3) * 4:
        raise ModelFormatError(
            f"{name} has {len(text)} characters of base64, not as many as its shape takes"
        )
    return _decoded(text, name, np.empty(told, dtype=dtype)).astype(
        dtype.newbyteorder("="), copy=False
    )


def array_schema(dtype: np.dtype[Any], n_axes: int) -> dict[str, Any]:
    """Return the schema of an array: a reference to one of ``array_definitions``."""
    name, _ = NAMES[dtype]
    return {"$ref": f"#/$defs/{name}" + (f"_{n_axes}d" if n_axes > 1 else "")}


def array_definitions() -> dict[str, Any]:
    """Return the definition of arrays of every type and number of axes in JSON Schema."""
    found = {}
    for dtype, (_, words) in NAMES.items():
        for n_axes in range(1, MOST_AXES + 1):
            name = array_schema(dtype, n_axes)["$ref"].rpartition("/")[2]
            length = {"type": "integer", "minimum": 0}
            sides = {"type": "array", "items": length, "minItems": n_axes, "maxItems": n_axes}
            found[name] = object_schema(
                {
                    "dtype": {"const": dtype.str},
                    "shape": sides,
                    "base64": {"$ref": "#/$defs/base64"},
                },
                description=f"{words}, of {n_axes} axes." if n_axes > 1 else f"{words}.",
            )
    return found


def object_schema(properties: dict[str, Any], **about: str) -> dict[str, Any]:
    """Return the schema of an object of these properties, no more and no fewer."""
    return {
        **about,
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _decoded(text: memoryview, name: str, out: NDArray[Any]) -> NDArray[Any]:
    """Return the array, filled with the bytes of the text, chunk by chunk."""
    target = out.reshape(-1).view(np.uint8).data
    try:
        for start in range(0, len(text), CHUNK):
            found = binascii.a2b_base64(text[start : start + CHUNK], strict_mode=True)
            place = start // 4 * 3
            if len(target) - place < len(found) or (
                len(found) < CHUNK // 4 * 3 and place + len(found) != len(target)
            ):
                raise ModelFormatError(f"{name} has base64 of another length than its shape takes")
            target[place : place + len(found)] = found
    except binascii.Error as error:
        raise ModelFormatError(f"{name} has base64 that is not valid: {error}") from None
    return out
