"""Labels of classes and groups as JSON: NumPy's name of their type, and their values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fields import Fields, checked_text
from .text import ModelFormatError, shown

# Types of labels, by NumPy's names of them. Objects are text or plain numbers.
_TYPES = re.compile(
    r"\|b1|\|[iu]1|[<>][iu][248]|[<>]f(?:2|4|8|12|16)|[<>|]U\d{1,7}|\|O"
    r"|[<>][mM]8(?:\[\d{0,4}(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?"
)
# Characters that all labels of text may take together, at the width of their type.
MOST_CHARACTERS = 1 << 22


def to_plain(labels: NDArray[Any], name: str) -> dict[str, Any]:
    """Return labels as a file holds them.

    Raises
    ------
    TypeError, ValueError
        For a type, or values, that a file cannot hold.
    """
    dtype = labels.dtype
    if labels.ndim != 1 or _TYPES.fullmatch(dtype.str) is None:
        raise TypeError(
            f"{name} has the type {dtype}, which a model file cannot hold: it takes numbers, "
            "booleans, text and dates."
        )
    if dtype.kind in "mM":
        values = labels.astype(dtype.newbyteorder("=")).view(np.int64).tolist()
    elif dtype.kind == "f":
        values = [float(label) for label in labels]
        if any(value != label for value, label in zip(values, labels, strict=True)):
            raise ValueError(f"{name} has numbers that float64 does not hold, nor a model file.")
    elif dtype.kind == "O":
        values = [_plain(label) for label in labels]
    else:
        values = labels.tolist()
    if not all(map(_test_of(dtype), values)):
        raise TypeError(
            f"{name} has a value that a model file cannot hold: it takes text, booleans, finite "
            "numbers and dates."
        )
    return {"dtype": dtype.str, "values": values}


def from_plain(value: Any, name: str) -> NDArray[Any]:
    """Return the labels, (n,)."""
    fields = Fields(value, name, ("dtype", "values"))
    dtype = _dtype(fields)
    values = fields.list("values")
    if not all(map(_test_of(dtype), values)):
        raise ModelFormatError(f"{name} has values that its type {dtype.str} does not hold")
    if dtype.kind in "UO":
        for item in values:
            if isinstance(item, str):
                checked_text(item, f"an item of {name}")
    if dtype.kind == "U" and dtype.itemsize // 4 * len(values) > MOST_CHARACTERS:
        raise ModelFormatError(f"{name} takes at most {MOST_CHARACTERS:,} characters")
    if dtype.kind in "mM":
        return np.array(values, dtype=np.int64).view(dtype.newbyteorder("=")).astype(dtype)
    return np.array(values, dtype=dtype)


def check_sorted(labels: NDArray[Any], name: str, least: int) -> None:
    """Raise where labels are not unlike and in rising order, or too few."""
    try:
        rising = bool((labels[:-1] < labels[1:]).all())
    except TypeError:  # text beside numbers
        rising = False
    if not rising or labels.size < least:
        raise ModelFormatError(
            f"{name} takes at least {least} labels, no two alike and in rising order"
        )


def _dtype(fields: Fields) -> np.dtype[Any]:
    text = fields["dtype"]
    if not isinstance(text, str) or _TYPES.fullmatch(text) is None:
        raise ModelFormatError(
            f"{fields.named('dtype')} is {shown(text)}: it takes NumPy's name of a type of labels"
        )
    try:
        return np.dtype(text)
    except TypeError:
        raise ModelFormatError(
            f"{fields.named('dtype')} is {text}, a type that this machine does not have"
        ) from None


def _plain(label: Any) -> Any:
    """Return an object without NumPy's type."""
    if isinstance(label, str):
        return str(label)
    return label.item() if isinstance(label, np.generic) else label


def _test_of(dtype: np.dtype[Any]) -> Callable[[Any], bool]:
    """Return what tells whether a JSON value is one of the type."""
    if dtype.kind == "U":
        width = dtype.itemsize // 4
        return lambda value: isinstance(value, str) and len(value) <= width
    if dtype.kind == "b":
        return lambda value: isinstance(value, bool)
    if dtype.kind == "f":
        most = math.inf if dtype.itemsize > 8 else float(np.finfo(dtype).max)
        return lambda value: _is_plain_number(value) and abs(value) <= most
    if dtype.kind == "O":
        return lambda value: isinstance(value, (str, bool)) or _is_plain_number(value)
    bounds = np.iinfo(np.int64 if dtype.kind in "mM" else dtype)
    low, high = bounds.min + (dtype.kind in "mM"), bounds.max  # the lowest of dates is none
    return lambda value: type(value) is int and low <= value <= high


def _is_plain_number(value: Any) -> bool:
    if type(value) is int:
        return -(1 << 63) <= value < 1 << 63
    return type(value) is float and math.isfinite(value)
