"""Chosen features of every kind as JSON and back, and their schema, by what each kind declares.

A kind is a name in one table, never code.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import pools
from ..pools.features import (
    ATOMS,
    INPUTS,
    Choice,
    Declared,
    Features,
    ImageShape,
    Integers,
    Labels,
    Members,
    Positive,
    Reals,
    Stacks,
    Texts,
)
from .fields import LARGEST_INTEGER, MOST_INTEGERS, Fields, labels_from_plain, labels_to_plain
from .text import (
    FLOATS,
    INTEGERS,
    SINGLES,
    ModelFormatError,
    array_schema,
    array_to_plain,
    object_schema,
)

KINDS = {features.kind: features for features in pools.KINDS.values()}
MOST_ATOMS = 100_000
DEEPEST_UNION = 8

Plain = dict[str, Any]


def features_to_plain(features: Features) -> Plain:
    """Return features as a file holds them.

    Raises
    ------
    TypeError
        For features of a pool that is not one of shareboost's.
    """
    if type(features) not in KINDS.values():
        raise TypeError(
            f"Features of the type {type(features).__name__} cannot be saved: a model file takes "
            f"those of {', '.join(pool.__name__ for pool in pools.KINDS)} alone."
        )
    plain: Plain = {"kind": features.kind}
    for name, declared in features.declared().items():
        plain |= _written(declared, declared.key or name, getattr(features, name))
    return plain


def features_from_plain(value: Any, name: str, n_inputs: int, depth: int = 0) -> Features:
    """Return the features of rows of ``n_inputs`` columns."""
    if depth > DEEPEST_UNION:
        raise ModelFormatError(f"{name} is a union inside {DEEPEST_UNION} others: no deeper")
    told = value.get("kind") if isinstance(value, dict) else None
    kind = KINDS.get(told) if isinstance(told, str) else None
    if kind is None:
        raise ModelFormatError(f"{name} has no kind that is one of {', '.join(KINDS)}")
    fields = Fields(value, name, ("kind", *keys_of(kind)))
    lengths = {INPUTS: n_inputs}
    found = {}
    for attribute, declared in kind.declared().items():
        key = declared.key or attribute
        found[attribute] = _read(declared, key, fields, lengths, depth)
        if attribute == "ids":
            lengths[ATOMS] = len(found["ids"])
        elif isinstance(declared, Members):
            lengths[key] = len(found[attribute])
    features = kind(**found)
    if (wrong := features.inconsistency(n_inputs)) is not None:
        raise ModelFormatError(f"{name} has {wrong}")
    return features


def keys_of(kind: type[Features]) -> list[str]:
    """Return the keys that features of a kind have in a file, besides ``kind``."""
    return [key for name, own in kind.declared().items() for key in _schema(own, own.key or name)]


def schemas() -> Plain:
    """Return the definitions of features and of every kind of them in JSON Schema."""
    found: Plain = {
        "features": {
            "description": "Chosen features, all of one kind.",
            "oneOf": [{"$ref": f"#/$defs/{name}"} for name in KINDS],
        }
    }
    for name, kind in KINDS.items():
        properties: Plain = {"kind": {"const": name}}
        for attribute, declared in kind.declared().items():
            properties |= _schema(declared, declared.key or attribute)
        found[name] = object_schema(properties)
    return found


def _written(declared: Declared, key: str, value: Any) -> Plain:
    """Return a field as a file holds it, under one key or two."""
    match declared:
        case Integers():
            return {key: array_to_plain(value, INTEGERS)}
        case Reals(single=single):
            return {key: array_to_plain(value, SINGLES if single else FLOATS)}
        case Stacks(index=index):
            stacks, which = _stacked(value)
            plain = [array_to_plain(stack, SINGLES) for stack in stacks]
            return {key: plain, index: array_to_plain(which, INTEGERS)}
        case Labels():
            return {key: labels_to_plain(value, f"the {key} of features")}
        case Members():
            return {key: [features_to_plain(member) for member in value]}
        case Choice(by_name=by_name):
            return {key: next(name for name, own in by_name.items() if own == value)}
        case ImageShape():
            return {key: list(map(int, value))}
    return {key: value}


def _read(declared: Declared, key: str, fields: Fields, lengths: dict[str, int], depth: int) -> Any:
    """Return the value of a field; raise for all that it cannot be."""
    match declared:
        case Integers():
            return _integers(declared, key, fields, lengths)
        case Reals():
            return _reals(declared, key, fields, lengths)
        case Stacks():
            return _unstacked(declared, key, fields, lengths[ATOMS])
        case Labels():
            return labels_from_plain(fields[key], fields.named(key))
        case Members():
            return _members(declared, key, fields, lengths[INPUTS], depth)
        case Choice(by_name=by_name):
            return fields.one_of(key, by_name)
        case ImageShape():
            return _image_shape(key, fields, lengths[INPUTS])
        case Positive():
            return fields.number(key, above=0.0)
        case Texts():
            return fields.texts(key)
    raise TypeError(f"{type(declared).__name__} is no declaration of a field.")


def _schema(declared: Declared, key: str) -> Plain:
    """Return the schema of what is under each key of a field."""
    integers = array_schema(INTEGERS, 1)
    match declared:
        case Integers():
            return {key: integers}
        case Reals(shape=shape, single=single):
            return {key: array_schema(SINGLES if single else FLOATS, len(shape))}
        case Stacks(index=index, ndim=ndim):
            stacks = {"type": "array", "items": array_schema(SINGLES, ndim + 1)}
            return {key: stacks, index: integers}
        case Labels():
            return {key: {"$ref": "#/$defs/labels"}}
        case Members():
            members = {"type": "array", "items": {"$ref": "#/$defs/features"}, "minItems": 1}
            return {key: members}
        case Choice(by_name=by_name):
            return {key: {"enum": [*by_name]}}
        case ImageShape():
            side = {"type": "integer", "minimum": 1}
            return {key: {"type": "array", "items": side, "minItems": 3, "maxItems": 3}}
        case Positive():
            return {key: {"type": "number", "exclusiveMinimum": 0}}
    return {key: {"type": "array", "items": {"type": "string"}, "minItems": 1}}


def _integers(
    declared: Integers, key: str, fields: Fields, lengths: dict[str, int]
) -> NDArray[np.intp]:
    below = declared.below
    if isinstance(below, str):
        below = lengths[below]
    high = LARGEST_INTEGER if below is None else below - 1
    if declared.distinct:
        most = MOST_ATOMS if declared.by_atom else MOST_INTEGERS
        return fields.unlike(key, high, most)
    return fields.integers(key, lengths[ATOMS], declared.low, high)


def _reals(declared: Reals, key: str, fields: Fields, lengths: dict[str, int]) -> NDArray[Any]:
    shape = tuple(lengths[own] if isinstance(own, str) else own for own in declared.shape)
    read = fields.positive if declared.positive else fields.floats
    found = read(key, shape, SINGLES if declared.single else FLOATS)
    if declared.largest is not None and np.abs(found).max(initial=0.0) > declared.largest:
        raise ModelFormatError(f"{fields.named(key)} takes numbers up to {declared.largest:,}")
    return found


def _members(
    declared: Members, key: str, fields: Fields, n_inputs: int, depth: int
) -> list[Features]:
    plain = fields.list(key)
    if not plain or len(fields.list(declared.names)) != len(plain):
        raise ModelFormatError(f"{fields.name} takes a name for each member, and at least one")
    return [
        features_from_plain(member, f"{fields.named(key)}[{i}]", n_inputs, depth + 1)
        for i, member in enumerate(plain)
    ]


def _image_shape(key: str, fields: Fields, n_inputs: int) -> tuple[int, ...]:
    told = fields[key]
    if (
        not isinstance(told, list)
        or len(told) != 3
        or not all(type(side) is int and side > 0 for side in told)
        or math.prod(told) != n_inputs
    ):
        raise ModelFormatError(
            f"{fields.named(key)} takes three integers whose product is {n_inputs}"
        )
    return tuple(told)


def _stacked(
    arrays: list[NDArray[np.float32]],
) -> tuple[list[NDArray[np.float32]], NDArray[np.intp]]:
    """Return the different ones among some arrays, a stack for each shape, and which each is."""
    by_shape: dict[tuple[int, ...], dict[bytes, int]] = {}
    places = []
    for array in arrays:
        known = by_shape.setdefault(array.shape, {})
        places.append((array.shape, known.setdefault(array.tobytes(), len(known))))
    starts, n = {}, 0
    for shape, known in by_shape.items():
        starts[shape] = n
        n += len(known)
    stacks = [
        np.stack([np.frombuffer(content, np.float32).reshape(shape) for content in known])
        for shape, known in by_shape.items()
    ]
    return stacks, np.array([starts[shape] + place for shape, place in places], dtype=np.intp)


def _unstacked(declared: Stacks, key: str, fields: Fields, n: int) -> list[NDArray[np.float32]]:
    """Return the array of each of n features: of which it is, over all stacks."""
    different: list[NDArray[np.float32]] = []
    stacks = {str(number): stack for number, stack in enumerate(fields.list(key))}
    numbered = Fields(stacks, fields.named(key), stacks)
    for number in stacks:
        stack = numbered.floats(number, (None,) * (declared.ndim + 1), SINGLES)
        if len(different) + len(stack) > n:
            raise ModelFormatError(f"{fields.named(key)} has more arrays than there are features")
        different += list(stack)
    return [different[place] for place in fields.integers(declared.index, n, 0, len(different) - 1)]
