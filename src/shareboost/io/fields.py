"""The fields of a JSON object, each checked as it is read; errors name the field."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import arrays
from .text import ModelFormatError, shown

LARGEST_INTEGER = (1 << 62) - 1
# Integers of an array that may be of any length.
MOST_INTEGERS = 1 << 21

Value = TypeVar("Value")


class Fields:
    """The fields of one object of a file.

    Parameters
    ----------
    value : object
        What JSON gave.
    name : str
        What errors call it; empty for the whole file.
    keys : iterable of str
        The keys that it takes, no more and no fewer.

    Raises
    ------
    ModelFormatError
        As all methods, where the file has something else than they take.
    """

    def __init__(self, value: Any, name: str, keys: Iterable[str]):
        self.name = name
        if not isinstance(value, dict):
            raise ModelFormatError(f"{name} is {shown(value)}: it takes an object")
        keys = set(keys)
        if missing := keys - value.keys():
            raise ModelFormatError(f"{name or 'the file'} has no {min(missing)}")
        if unknown := value.keys() - keys:
            raise ModelFormatError(
                f"{name or 'the file'} has a key {shown(min(unknown))} that this version does not "
                "know"
            )
        self._values = value

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

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
            raise self.bad(
                key, "a finite number" + ("" if above == -math.inf else f" above {above:g}")
            )
        return float(value)

    def text(self, key: str) -> str:
        """Return a text."""
        return checked_text(self[key], self.named(key))

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
        self, key: str, n: int | None, low: int = 0, high: int = LARGEST_INTEGER
    ) -> NDArray[np.intp]:
        """Return an array of n integers of the range, (n,)."""
        found = arrays.from_plain(self[key], self.named(key), arrays.INTEGERS, (n,))
        if n is None and found.size > MOST_INTEGERS:
            raise ModelFormatError(f"{self.named(key)} has more than {MOST_INTEGERS:,} integers")
        if found.size and not (low <= found.min() and found.max() <= high):
            raise ModelFormatError(f"{self.named(key)} takes integers from {low} to {high}")
        return found.astype(np.intp, copy=False)

    def unlike(
        self, key: str, high: int = LARGEST_INTEGER, most: int = MOST_INTEGERS
    ) -> NDArray[np.intp]:
        """Return an array of up to so many integers from 0, no two of them alike, (n,)."""
        found = self.integers(key, None, 0, high)
        if found.size > most:
            raise ModelFormatError(f"{self.named(key)} has {found.size} integers: at most {most:,}")
        if any_twice(found):
            raise ModelFormatError(f"{self.named(key)} has an integer that comes twice")
        return found

    def floats(
        self,
        key: str,
        shape: arrays.Shape,
        dtype: np.dtype[Any] = arrays.FLOATS,
        finite: bool = True,
    ) -> NDArray[Any]:
        """Return an array of numbers, finite ones unless NaN and infinities are allowed."""
        found = arrays.from_plain(self[key], self.named(key), dtype, shape)
        if finite and not np.isfinite(found).all():
            raise ModelFormatError(
                f"{self.named(key)} has NaN or infinity: it takes finite numbers"
            )
        return found

    def positive(
        self, key: str, shape: arrays.Shape, dtype: np.dtype[Any] = arrays.FLOATS
    ) -> NDArray[Any]:
        """Return an array of finite numbers above 0."""
        found = self.floats(key, shape, dtype)
        if not (found > 0).all():
            raise ModelFormatError(f"{self.named(key)} takes numbers above 0")
        return found

    def flags(self, key: str, n: int) -> NDArray[np.bool_]:
        """Return an array of n booleans, (n,)."""
        found = arrays.from_plain(self[key], self.named(key), arrays.FLAGS, (n,))
        if found.max(initial=0) > 1:
            raise ModelFormatError(f"{self.named(key)} takes bytes of 0 and 1")
        return found.astype(bool)


def any_twice(integers: NDArray[np.integer]) -> bool:
    """Return whether an integer comes twice."""
    ordered = np.sort(integers)
    return bool((ordered[1:] == ordered[:-1]).any())


def checked_text(value: Any, name: str) -> str:
    """Return a value that is text, and whole: half of a pair of surrogates is none."""
    if not isinstance(value, str):
        raise ModelFormatError(f"{name} is {shown(value)}: it takes text")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ModelFormatError(f"{name} has half of a surrogate pair") from None
    return value
