"""Numbers, names and labels as C text that means the same to every C99 and C++ compiler."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH = 100  # of a line

# Characters that mean themselves within a string; others are written by their octal numbers.
SAFE = frozenset(string.ascii_letters + string.digits + " _-+.,:()")
# What a comment shows for signs that names of products bear and ASCII has not.
SPELLED = str.maketrans({"·": "*", "²": "^2"})


def float_literal(value: float) -> str:
    """Return the shortest literal of a float32."""
    text = str(np.float32(value))
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa.removesuffix(".0") if exponent else mantissa.removesuffix("0")
    mantissa = re.sub(r"^(-?)0\.(?=\d)", r"\1.", mantissa)
    return f"{mantissa}e{int(exponent)}f" if exponent else f"{mantissa}f"


def integer_type(largest: int) -> str:
    """Return the narrowest unsigned type that holds the numbers up to the largest."""
    return "uint8_t" if largest < 1 << 8 else "uint16_t" if largest < 1 << 16 else "uint32_t"


def type_of(values: NDArray[Any]) -> str:
    """Return the C type of a table of these numbers."""
    if values.dtype == np.float32:
        return "float"
    if values.dtype in (np.int8, np.int16):
        return f"{values.dtype}_t"
    return integer_type(int(values.max(initial=0)))


def table(name: str, values: NDArray[Any]) -> str:
    """Return the definition of a constant table of one or two dimensions."""
    sides = "".join(f"[{side}]" for side in values.shape)
    rows = values if values.ndim == 2 else values[None]
    literal = float_literal if values.dtype == np.float32 else str
    bodies = [_wrapped(map(literal, row.tolist())) for row in rows]
    body = bodies[0] if values.ndim == 1 else ",\n".join(f"{{{body}}}" for body in bodies)
    return f"static const {type_of(values)} {name}{sides} = {{\n{body}}};\n"


def table_bytes(values: NDArray[Any]) -> int:
    """Return what a table takes."""
    sizes = {"float": 4, "int8_t": 1, "int16_t": 2, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4}
    return int(values.size) * sizes[type_of(values)]


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
    """Return a text that can neither end a comment nor go on to the next line."""
    plain = str(text).translate(SPELLED)
    shown = "".join(c if " " <= c <= "~" and c != "\\" else "?" for c in plain)
    # "? ?" starts no trigraph; a comment ends at no "* /".
    return re.sub(r"\?(?=\?)", "? ", shown).replace("*/", "* /").replace("/*", "/ *")


def string_literal(text: object) -> str:
    """Return a string literal of the text in UTF-8."""
    plain = [chr(byte) for byte in str(text).encode("utf-8", "backslashreplace")]
    return '"' + "".join(c if c in SAFE else f"\\{ord(c):03o}" for c in plain) + '"'


def identifier(name: Any) -> str:
    """Return the name if C and C++ take names that begin with it."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ValueError(
            f"name={name!r} is not valid for to_c: it takes a letter, then letters, digits and "
            "underscores."
        )
    if "__" in name:
        raise ValueError(
            f"name={name!r} is not valid for to_c: names with two underscores in a row belong to "
            "the compiler."
        )
    return name
