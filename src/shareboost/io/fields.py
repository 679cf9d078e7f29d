"""The fields of a JSON object, each checked as it is read, and labels of any type."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .text import FLAGS, FLOATS, INTEGERS, ModelFormatError, Shape, array_from_plain, shown

LARGEST_INTEGER = (1 << 62) - 1
# Integers of an array that may be of any length.
MOST_INTEGERS = 1 << 21
# Types of labels, by NumPy's names of them. Objects are text or plain numbers.
_TYPES = re.compile(
    r"\|b1|\|[iu]1|[<>][iu][248]|[<>]f[248]|[<>|]U\d{1,7}|\|O"
    r"|[<>][mM]8(?:\[(?:[1-9]\d{0,3})?(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?"
)
# Characters that all labels of text may take together, at the width of their type.
MOST_CHARACTERS = 1 << 22

Value = TypeVar("Value")


class Fields(dict[str, Any]):
    """The fields of one object of a file, which has ``keys``, perhaps ``others``, and no more.

    ``name`` is what errors call the object; empty for the whole file.
    """

    def __init__(self, value: Any, name: str, keys: Iterable[str], others: Iterable[str] = ()):
        self.name = name
        if not isinstance(value, dict):
            raise ModelFormatError(f"{name} is {shown(value)}: it takes an object")
        keys = set(keys)
        if missing := keys - value.keys():
            raise ModelFormatError(f"{name or 'the file'} has no {min(missing)}")
        if unknown := value.keys() - keys - set(others):
            told = f"{name or 'the file'} has a key {shown(min(unknown))}"
            raise ModelFormatError(f"{told} that this version does not know")
        super().__init__(value)

    def named(self, key: str) -> str:
        """Return what errors call a field."""
        return f"{self.name}.{key}" if self.name else key

    def bad(self, key: str, takes: str) -> ModelFormatError:
        """Return the error of a field that is not what it takes."""
        return ModelFormatError(f"{self.named(key)} is {shown(self[key])}: it takes {takes}")

    def optional(self, key: str, read: Callable[[str], Value]) -> Value | None:
        """Return what ``read`` makes of a field, None for null."""
        return None if self[key] is None else read(key)

    def flag(self, key: str) -> bool:
        """Return true or false."""
        if not isinstance(self[key], bool):
            raise self.bad(key, "true or false")
        return bool(self[key])

    def integer(self, key: str, low: int = 0, high: int = LARGEST_INTEGER) -> int:
        """Return an integer of the range."""
        value = self[key]
        if type(value) is not int or not low <= value <= high:
            raise self.bad(key, f"an integer from {low} to {high}")
        return value

    def number(self, key: str, above: float = -math.inf) -> float:
        """Return a finite number."""
        value = self[key]
        if type(value) not in (int, float) or not above < value < math.inf:
            least = "" if above == -math.inf else f" above {above:g}"
            raise self.bad(key, f"a finite number{least}")
        return float(value)

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        return [checked_text(item, f"an item of {self.named(key)}") for item in self.list(key)]

    def list(self, key: str) -> list[Any]:
        """Return a list."""
        if not isinstance(self[key], list):
            raise self.bad(key, "a list")
        return list(self[key])

    def one_of(self, key: str, known: Mapping[str, Value]) -> Value:
        """Return what a name stands for in a table."""
        value = self[key]
        if not isinstance(value, str) or value not in known:
            raise self.bad(key, f"one of {', '.join(known)}")
        return known[value]

    def integers(
        self,
        key: str,
        n: int | None,
        low: int = 0,
        high: int = LARGEST_INTEGER,
        most: float = MOST_INTEGERS,
        distinct: bool = False,
    ) -> NDArray[np.intp]:
        """Return an array of n integers of the range, (n,), or up to ``most`` where n is None."""
        array = array_from_plain(self[key], self.named(key), INTEGERS, (n,))
        if n is None and array.size > most:
            raise ModelFormatError(f"{self.named(key)} has {array.size} integers: at most {most:,}")
        if array.size and not (low <= array.min() and array.max() <= high):
            raise ModelFormatError(f"{self.named(key)} takes integers from {low} to {high}")
        if distinct and np.unique(array).size < array.size:
            raise ModelFormatError(f"{self.named(key)} has an integer that comes twice")
        return array.astype(np.intp, copy=False)

    def floats(
        self,
        key: str,
        shape: Shape,
        dtype: np.dtype[Any] = FLOATS,
        finite: bool = True,
        positive: bool = False,
    ) -> NDArray[Any]:
        """Return an array of numbers, finite ones unless NaN and infinities are allowed."""
        array = array_from_plain(self[key], self.named(key), dtype, shape)
        if finite and not np.isfinite(array).all():
            raise ModelFormatError(f"{self.named(key)} has NaN or infinity")
        if positive and not (array > 0).all():
            raise ModelFormatError(f"{self.named(key)} takes numbers above 0")
        return array

    def flags(self, key: str, n: int) -> NDArray[np.bool_]:
        """Return an array of n booleans, (n,)."""
        array = array_from_plain(self[key], self.named(key), FLAGS, (n,))
        if array.max(initial=0) > 1:
            raise ModelFormatError(f"{self.named(key)} takes bytes of 0 and 1")
        return array.astype(bool)


def checked_text(value: Any, name: str) -> str:
    """Return a value that is text, and whole: half of a pair of surrogates is none."""
    if not isinstance(value, str):
        raise ModelFormatError(f"{name} is {shown(value)}: it takes text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ModelFormatError(f"{name} has half of a surrogate pair") from None
    return value


def labels_to_plain(labels: NDArray[Any], name: str) -> dict[str, Any]:
    """Return labels as a file holds them; TypeError for those that it cannot hold."""
    dtype = labels.dtype
    if labels.ndim != 1 or _TYPES.fullmatch(dtype.str) is None:
        told = f"{name} has the type {dtype}, which a model file cannot hold"
        raise TypeError(f"{told}: it takes numbers, booleans, text and dates.")
    if dtype.kind in "mM":
        values = labels.astype(dtype.newbyteorder("=")).view(np.int64).tolist()
    elif dtype.kind == "O":
        values = [label.item() if isinstance(label, np.generic) else label for label in labels]
    else:
        values = labels.tolist()
    if not all(map(_test_of(dtype), values)):
        told = f"{name} has a value that a model file cannot hold"
        raise TypeError(f"{told}: it takes text, booleans, finite numbers and dates.")
    return {"dtype": dtype.str, "values": values}


def labels_from_plain(value: Any, name: str, least: int = 0) -> NDArray[Any]:
    """Return the labels, (n,): where ``least`` > 0 at least so many, unlike and in rising order."""
    fields = Fields(value, name, ("dtype", "values"))
    text = fields["dtype"]
    if not isinstance(text, str) or _TYPES.fullmatch(text) is None:
        raise fields.bad("dtype", "NumPy's name of a type of labels")
    dtype, values = np.dtype(text), fields.list("values")
    if not all(map(_test_of(dtype), values)):
        raise ModelFormatError(f"{name} has values that its type {dtype.str} does not hold")
    for item in values:
        if isinstance(item, str):
            checked_text(item, f"an item of {name}")
    if dtype.kind == "U" and dtype.itemsize // 4 * len(values) > MOST_CHARACTERS:
        raise ModelFormatError(f"{name} takes at most {MOST_CHARACTERS:,} characters")
    if dtype.kind in "mM":
        labels = np.array(values, dtype=np.int64).view(dtype.newbyteorder("=")).astype(dtype)
    else:
        labels = np.array(values, dtype=dtype)
    with suppress(TypeError):  # text beside numbers
        if not least or (labels.size >= least and (labels[:-1] < labels[1:]).all()):
            return labels
    raise ModelFormatError(
        f"{name} takes at least {least} labels, no two alike and in rising order"
    )


def _test_of(dtype: np.dtype[Any]) -> Callable[[Any], bool]:
    """Return what tells whether a JSON value is one of the type."""
    kinds: dict[str, tuple[type, ...]] = {"b": (bool,), "f": (int, float), "U": ()}
    kinds["O"] = (bool, int, float)
    integers = np.iinfo(dtype if dtype.kind in "iu" else np.int64)
    low = integers.min + (dtype.kind in "mM")  # the lowest of dates is none
    most = float(np.finfo(dtype if dtype.kind == "f" else float).max)

    def is_one(value: Any) -> bool:
        if isinstance(value, str):
            return dtype.kind == "O" or (dtype.kind == "U" and 4 * len(value) <= dtype.itemsize)
        if type(value) not in kinds.get(dtype.kind, (int,)):
            return False
        return abs(value) <= most and (isinstance(value, float) or low <= value <= integers.max)

    return is_one
