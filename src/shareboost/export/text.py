"""What exported text is made of: template files, and values as JavaScript and C write them.

A template file is one text, or several that begin with a line ``//@ name``; comments of ``//``
right after that line are not part of the text.
"""

from __future__ import annotations

import base64
import json
import re
import string
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MARK = re.compile(r"^//@ (\w+)\n(?://.*\n)*", re.MULTILINE)

LARGEST_EXACT = 2**53 - 1  # of the integers that a JavaScript number holds exactly
FEW = 64  # numbers

WIDTH = 100  # of a line of C
# Characters that mean themselves in a string of C; others are written by their octal numbers.
SAFE = frozenset(string.ascii_letters + string.digits + " _-+.,:()")
# What a comment in C shows for signs that names of products bear and ASCII has not.
SPELLED = str.maketrans({"·": "*", "²": "^2"})


@cache
def template(path: str) -> str:
    """Return the text of a file of this package, without the blank lines around it."""
    return (files(__package__) / path).read_text("ascii").strip("\n")


@cache
def fragments(path: str) -> dict[str, str]:
    """Return the texts of a file by their names."""
    _, *parts = _MARK.split(template(path))
    return {name: text.strip("\n") for name, text in zip(parts[::2], parts[1::2], strict=True)}


def functions(path: str, *names: str) -> str:
    """Return the named functions of a file in C, a blank line before each."""
    return "".join(f"\n{fragments(path)[name]}\n" for name in names)


def quoted(text: Any) -> str:
    r"""Return a JavaScript string in ASCII.

    No ``<`` is left in it, so that nothing in it ends or comments out a script element.
    """
    return json.dumps(str(text)).replace("<", "\\u003c")


def label(value: Any) -> str:
    """Return a class label in JavaScript: a string, a boolean, a number or a BigInt."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) <= LARGEST_EXACT else f"{value}n"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    raise TypeError(
        f"The class label {value!r} is a {type(value).__name__}: only strings, numbers and "
        "booleans can be exported."
    )


def label_type(values: NDArray[Any]) -> str:
    """Return the type of the labels in TypeScript's words, a union where there are several."""
    types = {str: "string", bool: "boolean", float: "number"}
    named = [
        types.get(type(value), "bigint" if label(value).endswith("n") else "number")
        for value in values.tolist()
    ]
    return " | ".join(dict.fromkeys(named))


def literal(value: Any) -> str:
    """Return an array of numbers, or a single value, in JavaScript."""
    if not isinstance(value, np.ndarray):
        return label(value)
    return f"[{', '.join(map(str, value.tolist()))}]" if value.dtype.kind == "i" else floats(value)


def floats(values: NDArray[np.floating[Any]]) -> str:
    """Return a typed array of JavaScript that holds the numbers exactly.

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


def float_literal(value: float) -> str:
    """Return the shortest literal of a float32 in C."""
    text = str(np.float32(value))
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa.removesuffix(".0") if exponent else mantissa.removesuffix("0")
    mantissa = re.sub(r"^(-?)0\.(?=\d)", r"\1.", mantissa)
    return f"{mantissa}e{int(exponent)}f" if exponent else f"{mantissa}f"


def table(name: str, values: NDArray[Any]) -> str:
    """Return the definition in C of a constant table of one or two dimensions."""
    sides = "".join(f"[{side}]" for side in values.shape)
    rows = values if values.ndim == 2 else values[None]
    literal = float_literal if values.dtype == np.float32 else str
    bodies = [_wrapped(map(literal, row.tolist())) for row in rows]
    body = bodies[0] if values.ndim == 1 else ",\n".join(f"{{{body}}}" for body in bodies)
    stored = _stored_type(values)
    c_type = "float" if stored == np.float32 else f"{stored}_t"
    return f"static const {c_type} {name}{sides} = {{\n{body}}};\n"


def table_bytes(values: NDArray[Any]) -> int:
    """Return what a table takes in C."""
    return values.size * _stored_type(values).itemsize


def _stored_type(values: NDArray[Any]) -> np.dtype[Any]:
    """Return the type of a table: of numbers without a sign the narrowest that holds them."""
    if values.dtype in (np.float32, np.int8, np.int16):
        return values.dtype
    return np.min_scalar_type(values.max(initial=0))


def _wrapped(words: Iterable[str]) -> str:
    """Return words with commas between them, in lines of limited width."""
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) + 1 > WIDTH:
            lines.append(line)
            line = ""
        line += f"{word},"
    return "\n".join([*lines, line]).removesuffix(",")


def comment_text(text: object) -> str:
    """Return a text that can neither end a comment in C nor go on to the next line."""
    plain = str(text).translate(SPELLED)
    shown = "".join(c if " " <= c <= "~" and c != "\\" else "?" for c in plain)
    # "? ?" starts no trigraph; a comment ends at no "* /".
    return re.sub(r"\?(?=\?)", "? ", shown).replace("*/", "* /").replace("/*", "/ *")


def string_literal(text: object) -> str:
    """Return a string in C, of the text in UTF-8."""
    plain = [chr(byte) for byte in str(text).encode("utf-8", "backslashreplace")]
    return '"' + "".join(c if c in SAFE else f"\\{ord(c):03o}" for c in plain) + '"'
