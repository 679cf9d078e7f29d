"""The parameters of a classifier as JSON: plain values, and pools and penalties by name."""

from __future__ import annotations

import inspect
import math
from functools import cache
from typing import Any

import numpy as np

from .. import penalties
from ..penalties import Penalty
from ..pools import KINDS
from ..pools.base import Pool
from .fields import Fields, checked_text, labels_from_plain, labels_to_plain
from .text import MOST_AXES, TYPES, ModelFormatError, array_from_plain, array_to_plain, shown

# All that a file can name; to read one makes nothing else.
POOLS: dict[str, type[Pool]] = {kind.__name__: kind for kind in KINDS}
PENALTIES: dict[str, type[Penalty]] = {kind.__name__: kind for kind in penalties.PENALTIES.values()}
# Lists in lists, and unions in unions.
DEEPEST = 16


class _NotPlainError(Exception):
    """A value that a file cannot hold."""


def parameters_to_plain(
    parameters: dict[str, Any], prefix: str = ""
) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters that a file can hold, and the names of the others.

    A pool of the user's own is a TypeError.
    """
    plain: dict[str, Any] = {}
    left_out: list[str] = []
    for name, value in parameters.items():
        left: list[str] = []
        try:
            plain[name] = _plain(value, prefix + name, left)
        except _NotPlainError:
            left = [prefix + name]
        left_out += left
    return plain, left_out


def _plain(value: Any, name: str, left_out: list[str]) -> Any:
    """Return a value as a file holds it; numbers, text and null as they are."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and abs(value) < 1 << 63:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if type(value) in (list, tuple):
        return {type(value).__name__: [_plain(item, name, left_out) for item in value]}
    if type(value) is dict:
        pairs = [(_plain(k, name, left_out), _plain(v, name, left_out)) for k, v in value.items()]
        if any(isinstance(key, dict) for key, _ in pairs):  # neither text nor a number
            raise _NotPlainError
        return {"dict": pairs}
    if type(value) is np.ndarray:
        if 1 < value.ndim <= MOST_AXES and value.dtype.str in TYPES:
            return {"array": array_to_plain(value, value.dtype)}
        try:
            return {"labels": labels_to_plain(value, name)}
        except TypeError:
            raise _NotPlainError from None
    kind = type(value)
    if isinstance(value, Pool):
        if POOLS.get(kind.__name__) is not kind:
            told = f"{name} is a {kind.__name__}, a pool that is not shareboost's"
            raise TypeError(f"{told}: a model file takes {', '.join(POOLS)} alone.")
        arguments, left = parameters_to_plain(value.get_params(deep=False), f"{name}.")
        if _names(kind)[1] - arguments.keys():  # which the pool cannot do without
            raise _NotPlainError
        left_out += left
        return {"pool": kind.__name__, "parameters": arguments}
    if kind in PENALTIES.values():
        arguments = {key: _plain(item, name, left_out) for key, item in vars(value).items()}
        return {"penalty": kind.__name__, "parameters": arguments}
    raise _NotPlainError


@cache
def _names(kind: type) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of a class's arguments, and of those that have no default."""
    arguments = inspect.signature(kind).parameters.values()
    needed = (argument.name for argument in arguments if argument.default is argument.empty)
    return frozenset(argument.name for argument in arguments), frozenset(needed)


def parameters_from_plain(value: Any, name: str, kind: type, depth: int = 0) -> dict[str, Any]:
    """Return the parameters of a class of estimators, pools or penalties."""
    known, needed = _names(kind)
    fields = Fields(value, name, needed, known)
    return {key: _value(fields[key], fields.named(key), depth + 1) for key in value}


def _value(value: Any, name: str, depth: int) -> Any:
    """Return what a value of a file stands for."""
    if depth > DEEPEST:
        raise ModelFormatError(f"{name} is nested too deeply")
    if isinstance(value, str):
        return checked_text(value, name)
    if (
        value is None
        or isinstance(value, int)
        or (isinstance(value, float) and abs(value) < math.inf)
    ):
        return value
    key = next(iter(value), None) if isinstance(value, dict) else None
    if key in ("list", "tuple", "labels", "array", "dict"):
        return _collection(key, Fields(value, name, (key,)), depth)
    if key in ("pool", "penalty"):
        fields = Fields(value, name, (key, "parameters"))
        kinds: dict[str, Any] = POOLS if key == "pool" else PENALTIES
        kind, inner = fields.one_of(key, kinds), fields.named("parameters")
        arguments = parameters_from_plain(fields["parameters"], inner, kind, depth)
        try:
            return kind(**arguments)
        except (TypeError, ValueError) as error:  # penalties check theirs
            raise ModelFormatError(f"{name} is not valid: {error}") from None
    raise ModelFormatError(f"{name} is {shown(value)}: it takes a plain value, a pool or a penalty")


def _collection(key: str, fields: Fields, depth: int) -> Any:
    """Return the list, tuple, dict or array that is under the one key of an object."""
    name = fields.name
    if key == "labels":
        return labels_from_plain(fields[key], name)
    if key == "array":
        array = Fields(fields[key], name, ("dtype", "shape", "base64"))
        dtype, n_axes = array.one_of("dtype", TYPES), len(array.list("shape"))
        if not 2 <= n_axes <= MOST_AXES:
            raise ModelFormatError(
                f"{name} is an array of {n_axes} axes: it takes 2 to {MOST_AXES}"
            )
        return array_from_plain(array, name, dtype, (None,) * n_axes)
    items = fields.list(key)
    if key != "dict":
        values = [_value(item, name, depth + 1) for item in items]
        return values if key == "list" else tuple(values)
    values_by_key = {}
    for pair in items:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ModelFormatError(f"{name} takes pairs of a key and a value")
        one, value = (_value(item, name, depth + 1) for item in pair)
        # Tuples and longer integers could be made to hash alike, and a dict of thousands of such
        # keys takes minutes.
        is_long = isinstance(one, int) and abs(one) >= 1 << 63
        if is_long or not (one is None or isinstance(one, (str, int, float))):
            raise ModelFormatError(f"{name} has a key that is no text and no number")
        values_by_key[one] = value
    return values_by_key
