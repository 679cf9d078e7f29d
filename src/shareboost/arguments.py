"""Checks of single arguments; errors name the argument, what it got and what it takes."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from .inputs import input_of
from .validation import is_number


def at_least(argument: str, value: Any, lowest: int, owner: str = "") -> int:
    """Return the value if it is an integer of at least the lowest."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < lowest:
        raise ValueError(
            f"{argument}={value!r} is not valid{_for(owner)}: it takes an integer of at least "
            f"{lowest}."
        )
    return int(value)


def from_zero(argument: str, value: Any, below: float = math.inf, owner: str = "") -> float:
    """Return the value if it is a number from 0 to below the given one."""
    if not is_number(value) or not 0 <= value < below:
        limit = "" if below == math.inf else f" below {below:g}"
        raise ValueError(
            f"{argument}={value!r} is not valid{_for(owner)}: it takes a finite, non-negative "
            f"number{limit}."
        )
    return float(value)


def positive(argument: str, value: Any, owner: str = "") -> float:
    """Return the value if it is a finite number above 0."""
    if not is_number(value) or not 0 < value < math.inf:
        raise ValueError(
            f"{argument}={value!r} is not valid{_for(owner)}: it takes a finite number above 0."
        )
    return float(value)


def one_of(argument: str, value: Any, known: Collection[str], owner: str = "") -> str:
    """Return the value if it is among the known ones."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(
            f"{argument}={value!r} is not valid{_for(owner)}: it takes one of {tuple(known)}."
        )
    return str(value)


def jobs(n_jobs: int | None, X: Any) -> int | None:
    """Return how many fits may run at once: of Dask's rows one, on all workers."""
    if not input_of(X).fits_one_by_one:
        return n_jobs
    if n_jobs not in (None, 1):
        raise ValueError(
            f"n_jobs={n_jobs!r} is not valid for Dask's rows: it takes None or 1, as fits run one "
            "after the other, each on all workers."
        )
    return 1


def image_shape_of_rows(n_columns: int, image_shape: Any, rows: str) -> tuple[int, int, int]:
    """Return (height, width, channels) of images in rows of so many columns.

    None takes them for square images of one channel.
    """
    if image_shape is None:
        side = math.isqrt(n_columns)
        if side * side != n_columns:
            raise ValueError(
                f"image_shape=None takes rows for square images of one channel, and {rows} has "
                f"{n_columns} columns, not a square number: it takes (height, width) or "
                "(height, width, channels)."
            )
        return side, side, 1
    if (
        not isinstance(image_shape, (tuple, list))
        or len(image_shape) not in (2, 3)
        or not all(isinstance(side, (int, np.integer)) and side > 0 for side in image_shape)
        or math.prod(image_shape) != n_columns
    ):
        raise ValueError(
            f"image_shape={image_shape!r} does not fit the {n_columns} columns of {rows}: it takes "
            "(height, width) or (height, width, channels) with that product."
        )
    height, width, *channels = map(int, image_shape)
    return height, width, (channels[0] if channels else 1)


def _for(owner: str) -> str:
    return f" for {owner}" if owner else ""
