"""Chosen features of every kind as JSON and back, and their schema, by what each kind declares.

A kind is a name in one table, never code.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import pools
from ..pools import features as declare
from ..pools.features import ATOMS, INPUTS, Declared, Features
from .fields import LARGEST_INTEGER, MOST_INTEGERS, Fields, labels_from_plain, labels_to_plain
from .text import FLOATS, INTEGERS, MOST_AXES, NAMES, SINGLES, ModelFormatError, array_to_plain

KINDS = {features.kind: features for features in pools.KINDS.values()}
MOST_ATOMS = 100_000
DEEPEST_UNION = 8

Plain = dict[str, Any]


def features_to_plain(features: Features) -> Plain:
    """Return features as a file holds them; TypeError for those of another's pool."""
    if type(features) not in KINDS.values():
        told = f"Features of the type {type(features).__name__} cannot be saved"
        known = ", ".join(pool.__name__ for pool in pools.KINDS)
        raise TypeError(f"{told}: a model file takes those of {known} alone.")
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
    attributes: dict[str, Any] = {}
    for attribute, declared in kind.declared().items():
        key = declared.key or attribute
        attributes[attribute] = _read(declared, key, fields, lengths, depth)
        if attribute == "ids":
            lengths[ATOMS] = len(attributes["ids"])
        elif isinstance(declared, declare.Members):
            lengths[key] = len(attributes[attribute])
    features = kind(**attributes)
    if (wrong := features.inconsistency(n_inputs)) is not None:
        raise ModelFormatError(f"{name} has {wrong}")
    return features


def keys_of(kind: type[Features]) -> list[str]:
    """Return the keys that features of a kind have in a file, besides ``kind``."""
    return [key for name, field in kind.declared().items() for key in _schema(field, name)]


def schemas() -> Plain:
    """Return the definitions of arrays, of features and of every kind of them in JSON Schema."""
    definitions: Plain = {
        "features": {
            "description": "Chosen features, all of one kind.",
            "oneOf": [{"$ref": f"#/$defs/{name}"} for name in KINDS],
        }
    }
    for name, kind in KINDS.items():
        properties: Plain = {"kind": {"const": name}}
        for attribute, declared in kind.declared().items():
            properties |= _schema(declared, attribute)
        definitions[name] = _object(properties)
    for dtype, n_axes in product(NAMES, range(1, MOST_AXES + 1)):
        length = {"type": "integer", "minimum": 0}
        sides = {"type": "array", "items": length, "minItems": n_axes, "maxItems": n_axes}
        text = {"$ref": "#/$defs/base64"}
        properties = {"dtype": {"const": dtype.str}, "shape": sides, "base64": text}
        definitions[_array(dtype, n_axes)["$ref"].rpartition("/")[2]] = _object(properties)
    return definitions


def _object(properties: Plain) -> Plain:
    """Return the schema of an object of these properties, no more and no fewer."""
    exactly = {"required": [*properties], "additionalProperties": False}
    return {"type": "object", "properties": properties, **exactly}


def _array(dtype: np.dtype[Any], n_axes: int) -> Plain:
    return {"$ref": f"#/$defs/{NAMES[dtype]}" + (f"_{n_axes}d" if n_axes > 1 else "")}


def _written(declared: Declared, key: str, value: Any) -> Plain:
    """Return a field as a file holds it, under one key or two."""
    match declared:
        case declare.Integers():
            return {key: array_to_plain(value, INTEGERS)}
        case declare.Reals(single=single):
            return {key: array_to_plain(value, SINGLES if single else FLOATS)}
        case declare.Stacks(index=index):
            stacks, which = _stacked(value)
            plain = [array_to_plain(stack, SINGLES) for stack in stacks]
            return {key: plain, index: array_to_plain(which, INTEGERS)}
        case declare.Labels():
            return {key: labels_to_plain(value, f"the {key} of features")}
        case declare.Members():
            return {key: [features_to_plain(member) for member in value]}
        case declare.Choice(by_name=by_name):
            return {key: next(name for name, choice in by_name.items() if choice == value)}
        case declare.ImageShape():
            return {key: list(map(int, value))}
    return {key: value}


def _read(declared: Declared, key: str, fields: Fields, lengths: dict[str, int], depth: int) -> Any:
    """Return the value of a field; raise for all that it cannot be."""
    match declared:
        case declare.Integers(low=low, below=below, distinct=distinct):
            end = lengths[below] if isinstance(below, str) else below
            high = LARGEST_INTEGER if end is None else end - 1
            if not distinct:
                return fields.integers(key, lengths[ATOMS], low, high)
            most = MOST_ATOMS if declared.by_atom else MOST_INTEGERS
            return fields.integers(key, None, 0, high, most, distinct=True)
        case declare.Reals(single=single, positive=positive, largest=largest):
            shape = tuple(lengths[n] if isinstance(n, str) else n for n in declared.shape)
            array = fields.floats(key, shape, SINGLES if single else FLOATS, positive=positive)
            if largest is not None and np.abs(array).max(initial=0.0) > largest:
                raise ModelFormatError(f"{fields.named(key)} takes numbers up to {largest:,}")
            return array
        case declare.Stacks():
            return _unstacked(declared, key, fields, lengths[ATOMS])
        case declare.Labels():
            return labels_from_plain(fields[key], fields.named(key))
        case declare.Members(names=names):
            members, name = fields.list(key), fields.named(key)
            if not members or len(fields.list(names)) != len(members):
                raise ModelFormatError(
                    f"{fields.name} takes a name for each member, and at least one"
                )
            return [
                features_from_plain(member, f"{name}[{i}]", lengths[INPUTS], depth + 1)
                for i, member in enumerate(members)
            ]
        case declare.Choice(by_name=by_name):
            return fields.one_of(key, by_name)
        case declare.ImageShape():
            sides = fields.list(key)
            is_shape = len(sides) == 3 and all(type(side) is int and side > 0 for side in sides)
            if not is_shape or math.prod(sides) != lengths[INPUTS]:
                raise fields.bad(key, f"three integers whose product is {lengths[INPUTS]}")
            return tuple(sides)
        case declare.Positive():
            return fields.number(key, above=0.0)
        case declare.Texts():
            return fields.texts(key)
    raise TypeError(f"{type(declared).__name__} is no declaration of a field.")


def _schema(declared: Declared, attribute: str) -> Plain:
    """Return the schema of what is under each key of a field."""
    key = declared.key or attribute
    integers = _array(INTEGERS, 1)
    match declared:
        case declare.Integers():
            return {key: integers}
        case declare.Reals(shape=shape, single=single):
            return {key: _array(SINGLES if single else FLOATS, len(shape))}
        case declare.Stacks(index=index, ndim=ndim):
            stacks = {"type": "array", "items": _array(SINGLES, ndim + 1)}
            return {key: stacks, index: integers}
        case declare.Labels():
            return {key: {"$ref": "#/$defs/labels"}}
        case declare.Members():
            members = {"type": "array", "items": {"$ref": "#/$defs/features"}, "minItems": 1}
            return {key: members}
        case declare.Choice(by_name=by_name):
            return {key: {"enum": [*by_name]}}
        case declare.ImageShape():
            side = {"type": "integer", "minimum": 1}
            return {key: {"type": "array", "items": side, "minItems": 3, "maxItems": 3}}
        case declare.Positive():
            return {key: {"type": "number", "exclusiveMinimum": 0}}
    return {key: {"type": "array", "items": {"type": "string"}, "minItems": 1}}


def _stacked(
    arrays: list[NDArray[np.float32]],
) -> tuple[list[NDArray[np.float32]], NDArray[np.intp]]:
    """Return the different ones among some arrays, a stack for each shape, and which each is."""
    keys = [(array.shape, array.tobytes()) for array in arrays]
    by_shape: dict[tuple[int, ...], dict[bytes, NDArray[np.float32]]] = {}
    for array, (shape, content) in zip(arrays, keys, strict=True):
        by_shape.setdefault(shape, {})[content] = array
    order = [(shape, content) for shape, known in by_shape.items() for content in known]
    places = {key: place for place, key in enumerate(order)}
    stacks = [np.stack([*known.values()]) for known in by_shape.values()]
    return stacks, np.array([places[key] for key in keys], dtype=np.intp)


def _unstacked(
    declared: declare.Stacks, key: str, fields: Fields, n: int
) -> list[NDArray[np.float32]]:
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
