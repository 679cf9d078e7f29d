"""The bytes of a model file as a JSON document and back, within limits that hold for any file.

Arrays are base64 text under the key ``base64``. They are taken out of the bytes before JSON is
parsed and put back as views, so that the parser sees little text however large the arrays, and
no byte of them is copied before its place is known to be right.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Any, NoReturn

FORMAT = "shareboost model"
VERSION = 1

# What a file may hold. Whatever its content, reading one then takes less than 200 MB.
LARGEST_FILE = 64 << 20  # bytes
LARGEST_TEXT = 8 << 20  # bytes of all but the arrays
MOST_ARRAYS = 10_000
MOST_VALUES = 500_000
LONGEST_INTEGER = 20  # digits and sign: a 64-bit integer

_ARRAY_KEY = b'"base64"'
_ARRAY_VALUE = re.compile(rb'"base64"[ \t\r\n]*:[ \t\r\n]*(?P<quote>")?')

Document = dict[str, Any]


class ModelFormatError(ValueError):
    """A model file that is torn, damaged, of a newer version, or that no model could have made."""


def to_bytes(document: Document) -> bytes:
    """Return the file of a document: format, version and checksum in the first line."""
    lines = [f"{json.dumps(key)}:{_dumps(value)}" for key, value in document.items()]
    rest = (",\n".join(lines) + "\n}\n").encode("ascii")
    head = _dumps({"format": FORMAT, "version": VERSION, "crc32": f"{zlib.crc32(rest):08x}"})
    return head[:-1].encode("ascii") + b",\n" + rest


def from_bytes(content: bytes) -> Document:
    """Return the document in a file, its arrays as views of their base64 text.

    Raises
    ------
    ModelFormatError
        For what is no JSON object of this format and version, or beyond the limits.
    """
    check_size(len(content))
    if not content.isascii():
        raise ModelFormatError("the file has bytes that are not ASCII, as all of a model file are")
    text, arrays = _without_arrays(content)
    document = _parsed(text, arrays)
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        raise ModelFormatError(f'the file has no "format": "{FORMAT}": it is no model')
    _check_version(document.pop("version", None))
    _check_sum(content, document.pop("crc32", None))
    return document


def check_size(n_bytes: int) -> None:
    """Raise where a file is too large."""
    if n_bytes > LARGEST_FILE:
        raise ModelFormatError(
            f"the file has {n_bytes:,} bytes: a model file has at most {LARGEST_FILE:,}"
        )


def _dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _check_version(version: Any) -> None:
    if type(version) is not int or version < 1:
        raise ModelFormatError(f"version is {shown(version)}: it takes an integer of at least 1")
    if version > VERSION:
        raise ModelFormatError(
            f"the file has version {version} of the format, and this shareboost reads up to "
            f"{VERSION}: a newer shareboost can read it"
        )


def _check_sum(content: bytes, told: Any) -> None:
    """Raise where the bytes after the first line are not those that were written."""
    if told is None:
        return
    rest = memoryview(content)[content.find(b"\n") + 1 :]
    if told != f"{zlib.crc32(rest):08x}":
        raise ModelFormatError(
            "the checksum crc32 is not that of the bytes after the first line: they were changed"
        )


def _without_arrays(content: bytes) -> tuple[str, list[memoryview | None]]:
    """Return the text with a number for each array's base64 text, and views of those."""
    if content.count(_ARRAY_KEY) > MOST_ARRAYS:
        raise ModelFormatError(f"the file has more than {MOST_ARRAYS:,} arrays")
    pieces: list[bytes] = []
    arrays: list[memoryview | None] = []
    length = done = 0

    def keep(stop: int) -> None:
        nonlocal length
        length += stop - done
        if length > LARGEST_TEXT:
            raise ModelFormatError(
                f"the file has more than {LARGEST_TEXT:,} bytes beside its arrays: names, labels "
                "and parameters may take so many"
            )
        pieces.append(content[done:stop])

    start = content.find(_ARRAY_KEY)
    while start >= 0:
        found = _ARRAY_VALUE.match(content, start)
        if found is None:  # a text that is no key
            start = content.find(_ARRAY_KEY, start + len(_ARRAY_KEY))
            continue
        stop = content.find(b'"', found.end())
        if found["quote"] is None or stop < 0:
            raise ModelFormatError("the file has an array whose base64 is no text, or not whole")
        keep(found.start("quote"))
        pieces.append(b"%d" % len(arrays))
        arrays.append(memoryview(content)[found.end() : stop])
        done = stop + 1
        start = content.find(_ARRAY_KEY, done)
    keep(len(content))
    return b"".join(pieces).decode("ascii"), arrays


def _parsed(text: str, arrays: list[memoryview | None]) -> Any:
    """Return the JSON value; raise for all that JSON or a model file does not have."""
    if sum(map(text.count, "[{,:")) > MOST_VALUES:
        raise ModelFormatError(f"the file has more than {MOST_VALUES:,} values beside its arrays")

    def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ModelFormatError("the file has an object with a key that comes twice")
        if "base64" in found:
            found["base64"] = _taken(arrays, found["base64"])
        return found

    try:
        return json.loads(
            text,
            object_pairs_hook=as_object,
            parse_int=_integer,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise ModelFormatError(
            f"the file is not valid JSON, it is cut short or was changed: {error.msg}"
        ) from None
    except RecursionError:
        raise ModelFormatError("the file has values nested too deeply") from None


def _taken(arrays: list[memoryview | None], number: Any) -> memoryview:
    """Return an array's text, once: no two arrays of a file are one."""
    if type(number) is int and 0 <= number < len(arrays):
        view, arrays[number] = arrays[number], None
        if view is not None:
            return view
    raise ModelFormatError("the file has an array whose base64 is no text")


def _integer(text: str) -> int:
    if len(text) > LONGEST_INTEGER:
        raise ModelFormatError(f"the file has an integer of {len(text)} digits")
    return int(text)


def _refuse_constant(text: str) -> NoReturn:
    raise ModelFormatError(f"the file has the number {text}, which JSON does not have")


def shown(value: Any) -> str:
    """Return a value as an error names it, short whatever it is."""
    if isinstance(value, (dict, list, memoryview)):
        return {dict: "an object", list: "a list"}.get(type(value), "base64 text")
    text = json.dumps(value[:60] if isinstance(value, str) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."
