"""The bytes of a file as a JSON document with arrays and back, within limits for any file.

Arrays are base64 text under the key ``base64``. They are taken out of the bytes before JSON is
parsed and put back as views, so that the parser sees little text however large the arrays.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import zlib
from collections.abc import Callable
from itertools import chain
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

FORMAT = "shareboost model"
VERSION = 1

# What a file may hold. Whatever its content, reading one then takes less than 200 MB.
LARGEST_FILE = 64 << 20  # bytes; a checkpoint, which is nobody else's, may have more
LARGEST_TEXT = 8 << 20  # bytes of all but the arrays
MOST_ARRAYS = 10_000
MOST_VALUES = 500_000
LONGEST_INTEGER = 20  # digits and sign: a 64-bit integer

# The types of arrays, all little-endian: booleans are bytes of 0 and 1.
INTEGERS = np.dtype("<i8")
FLOATS = np.dtype("<f8")
SINGLES = np.dtype("<f4")
FLAGS = np.dtype("|u1")
TYPES: dict[str, np.dtype[Any]] = {t.str: t for t in (INTEGERS, FLOATS, SINGLES, FLAGS)}
NAMES = dict(zip(TYPES.values(), ("integers", "floats", "singles", "flags"), strict=True))
MOST_AXES = 4

_ARRAY_NUMBER = re.compile(rb'(?<="base64":)\d+')  # as texts never have: they escape their quotes
_ARRAY_START = re.compile(rb'"base64"[ \t\r\n]*+:[ \t\r\n]*+(")?')

Shape = tuple[int | None, ...]


class ModelFormatError(ValueError):
    """A model file that is torn, damaged, of a newer version, or that no model could have made."""


def to_bytes(document: dict[str, Any], format_: str = FORMAT) -> bytes:
    """Return the file of a document: format, version and checksum in the first line."""
    arrays: list[bytes] = []  # put in at the end: the encoder looks at every character

    def number(text: bytes) -> int:
        arrays.append(text)
        return len(arrays)

    lines = [f"{_dumps(key)}:{_dumps(value, number)}" for key, value in document.items()]
    pieces = _ARRAY_NUMBER.split((",\n".join(lines) + "\n}\n").encode())
    rest = b'"'.join(chain(pieces[:1], *zip(arrays, pieces[1:], strict=True)))
    return first_line(format_, zlib.crc32(rest)) + rest


def first_line(format_: str, crc32: int) -> bytes:
    """Return the first line of a file whose other bytes have that checksum."""
    head = _dumps({"format": format_, "version": VERSION, "crc32": f"{crc32:08x}"})
    return head[:-1].encode() + b",\n"


def from_bytes(content: bytes, format_: str = FORMAT) -> dict[str, Any]:
    """Return the document in a file, its arrays as views of their base64 text."""
    if not content.isascii():
        raise ModelFormatError("the file has bytes that are not ASCII, as all of a model file are")
    text, arrays = _without_arrays(content)
    document = _parsed(text, arrays)
    if not isinstance(document, dict) or document.pop("format", None) != format_:
        raise ModelFormatError(f'the file has no "format": "{format_}": it is something else')
    version = document.pop("version", None)
    if type(version) is not int or version < 1:
        raise ModelFormatError(f"version is {shown(version)}: it takes an integer of at least 1")
    if version > VERSION:
        told = f"the file has version {version} of the format, and this shareboost reads up to"
        raise ModelFormatError(f"{told} {VERSION}: a newer shareboost can read it")
    rest = memoryview(content)[content.find(b"\n") + 1 :]
    if (crc32 := document.pop("crc32", None)) not in (None, f"{zlib.crc32(rest):08x}"):
        told = f"the bytes after the first line do not have the checksum {shown(crc32)}"
        raise ModelFormatError(f"{told}: they were changed")
    return document


def array_to_plain(array: ArrayLike, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return an array as a file holds it, in one of the types above."""
    exact = np.ascontiguousarray(array, dtype=dtype)
    text = base64.b64encode(exact.data)
    return {"dtype": dtype.str, "shape": list(exact.shape), "base64": text}


def array_from_plain(value: Any, name: str, dtype: np.dtype[Any], shape: Shape) -> NDArray[Any]:
    """Return the array of that type and shape; None stands for any length."""
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "base64"}:
        raise ModelFormatError(f"{name} is no array: it takes dtype, shape and base64")
    if value["dtype"] != dtype.str:
        raise ModelFormatError(f"{name} has dtype {shown(value['dtype'])}: it takes {dtype.str!r}")
    lengths = value["shape"]
    if not (
        isinstance(lengths, list)
        and len(lengths) == len(shape)
        and all(type(n) is int and n >= 0 for n in lengths)
        and all(asked in (None, n) for n, asked in zip(lengths, shape, strict=True))
    ):
        takes = ", ".join("any" if length is None else str(length) for length in shape)
        raise ModelFormatError(f"{name} does not have the shape ({takes}) that it takes")
    n_bytes = math.prod(lengths) * dtype.itemsize
    # An array without any number has lengths too, which NumPy multiplies.
    if not n_bytes and math.prod(n or 1 for n in lengths) * dtype.itemsize > LARGEST_FILE:
        raise ModelFormatError(f"{name} has a shape that no file has room for")
    text = value["base64"]
    try:
        content = binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error as error:
        raise ModelFormatError(f"{name} has base64 that is not valid: {error}") from None
    if len(content) != n_bytes:
        raise ModelFormatError(
            f"{name} has {len(text)} characters of base64, not as many as its shape takes"
        )
    array: NDArray[Any] = np.ndarray(lengths, dtype, content)
    return array.astype(dtype.newbyteorder("="))  # which may be written to


def shown(value: Any) -> str:
    """Return a value as an error names it, short whatever it is."""
    if isinstance(value, (dict, list, memoryview)):
        return {dict: "an object", list: "a list"}.get(type(value), "base64 text")
    text = json.dumps(value[:60] if isinstance(value, str) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _dumps(value: Any, number: Callable[[bytes], int] | None = None) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False, default=number)


def _without_arrays(content: bytes) -> tuple[str, dict[int, memoryview]]:
    """Return the text with a number for each array's base64 text, and views of those."""
    if content.count(b'"base64"') > MOST_ARRAYS:
        raise ModelFormatError(f"the file has more than {MOST_ARRAYS:,} arrays")
    view = memoryview(content)
    pieces: list[memoryview | bytes] = []
    arrays: dict[int, memoryview] = {}
    done = 0
    while match := _ARRAY_START.search(content, done):
        start, stop = match.end(), content.find(b'"', match.end())
        if match[1] is None or stop < 0:
            raise ModelFormatError("the file has an array whose base64 is no text, or not whole")
        pieces += [view[done : start - 1], b"%d" % len(arrays)]
        arrays[len(arrays)] = view[start:stop]
        done = stop + 1
    if len(content) - sum(map(len, arrays.values())) > LARGEST_TEXT:
        raise ModelFormatError(f"the file has more than {LARGEST_TEXT:,} bytes beside its arrays")
    return b"".join([*pieces, view[done:]]).decode("ascii"), arrays


def _parsed(text: str, arrays: dict[int, memoryview]) -> Any:
    """Return the JSON value; raise for all that JSON or a model file does not have."""
    if sum(map(text.count, "[{,:")) > MOST_VALUES:
        raise ModelFormatError(f"the file has more than {MOST_VALUES:,} values beside its arrays")

    def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            raise ModelFormatError("the file has an object with a key that comes twice")
        if "base64" in value:
            number = value["base64"]
            if type(number) is not int or number not in arrays:
                raise ModelFormatError("the file has an array whose base64 is no text")
            value["base64"] = arrays.pop(number)  # no two arrays of a file are one
        return value

    try:
        return json.loads(
            text, object_pairs_hook=as_object, parse_int=_integer, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as error:
        told = f"the file is not valid JSON, it is cut short or was changed: {error.msg}"
        raise ModelFormatError(told) from None
    except RecursionError:
        raise ModelFormatError("the file has values nested too deeply") from None


def _integer(text: str) -> int:
    if len(text) > LONGEST_INTEGER:
        raise ModelFormatError(f"the file has an integer of {len(text)} digits")
    return int(text)


def _refuse_constant(text: str) -> NoReturn:
    raise ModelFormatError(f"the file has the number {text}, which JSON does not have")
