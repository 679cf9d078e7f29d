"""Chosen features of every kind as JSON and back. A kind is a name in one table, never code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..pools import (
    ColumnFeatures,
    Features,
    GroupFeatures,
    PieceFeatures,
    ProductFeatures,
    StumpFeatures,
    TemplateFeatures,
    UnionFeatures,
)
from ..pools.piece_features import Coordinates
from . import labels
from .arrays import FLOATS, INTEGERS, SINGLES, to_plain
from .errors import ModelFormatError
from .fields import LARGEST_INTEGER, Fields

MOST_ATOMS = 100_000
DEEPEST_UNION = 8
FLOAT_TYPES = {name: np.dtype(name) for name in ("float32", "float64")}
# Digits of a number in a name.
MOST_DIGITS = 17
# Where the centre of a mask may be, in pixels from the image's corner.
FARTHEST = 1 << 24

Plain = dict[str, Any]


class Kind(NamedTuple):
    """How features of one class are written and read."""

    name: str
    features: type[Features]
    keys: tuple[str, ...]
    write: Callable[[Any], Plain]
    read: Callable[[Fields, int, int], Features]  # fields, columns of X, depth in unions


def features_to_plain(features: Features) -> Plain:
    """Return features as a file holds them.

    Raises
    ------
    TypeError
        For features of a pool that is not one of shareboost's.
    """
    for kind in KINDS.values():
        if type(features) is kind.features:
            return {"kind": kind.name, **kind.write(features)}
    raise TypeError(
        f"Features of the type {type(features).__name__} cannot be saved: a model file takes those "
        "of Columns, Stumps, Products, Pieces, Templates, Groups and Unions of them."
    )


def features_from_plain(value: Any, name: str, n_inputs: int, depth: int = 0) -> Features:
    """Return the features of rows of ``n_inputs`` columns."""
    if depth > DEEPEST_UNION:
        raise ModelFormatError(f"{name} is a union inside {DEEPEST_UNION} others: no deeper")
    told = value.get("kind") if isinstance(value, dict) else None
    kind = KINDS.get(told) if isinstance(told, str) else None
    if kind is None:
        raise ModelFormatError(f"{name} has no kind that is one of {', '.join(KINDS)}")
    return kind.read(Fields(value, name, ("kind", *kind.keys)), n_inputs, depth)


def _ids(fields: Fields, key: str = "ids", high: int = LARGEST_INTEGER) -> NDArray[np.intp]:
    """Return the numbers of the atoms."""
    return fields.unlike(key, high, MOST_ATOMS)


def _write_columns(features: ColumnFeatures) -> Plain:
    return {"columns": to_plain(features.ids, INTEGERS)}


def _read_columns(fields: Fields, n_inputs: int, depth: int) -> ColumnFeatures:
    return ColumnFeatures(_ids(fields, "columns", n_inputs - 1))


def _write_groups(features: GroupFeatures) -> Plain:
    return {
        "ids": to_plain(features.ids, INTEGERS),
        "labels": labels.to_plain(features.labels, "the labels of groups"),
        "sizes": to_plain(features.widths, INTEGERS),
        "columns": to_plain(features.flat.ids, INTEGERS),
    }


def _read_groups(fields: Fields, n_inputs: int, depth: int) -> GroupFeatures:
    ids = _ids(fields, high=n_inputs - 1)
    columns = fields.unlike("columns", n_inputs - 1)
    sizes = fields.integers("sizes", ids.size, 1, columns.size)
    own = labels.from_plain(fields["labels"], fields.named("labels"))
    if sizes.sum() != columns.size or own.size != ids.size:
        raise ModelFormatError(f"{fields.name} has sizes, labels and columns that do not fit")
    members = np.split(columns, np.cumsum(sizes)[:-1]) if ids.size else []
    return GroupFeatures(ids, own, [np.array(member) for member in members])


def _write_stumps(features: StumpFeatures) -> Plain:
    return {
        "ids": to_plain(features.ids, INTEGERS),
        "columns": to_plain(features.column, INTEGERS),
        "thresholds": to_plain(features.threshold, FLOATS),
        "digits": to_plain(features.digits, INTEGERS),
    }


def _read_stumps(fields: Fields, n_inputs: int, depth: int) -> StumpFeatures:
    ids = _ids(fields)
    return StumpFeatures(
        ids,
        fields.integers("columns", ids.size, 0, n_inputs - 1),
        fields.floats("thresholds", (ids.size,)),
        fields.integers("digits", ids.size, 1, MOST_DIGITS),
    )


def _write_products(features: ProductFeatures) -> Plain:
    return {
        "ids": to_plain(features.ids, INTEGERS),
        "left": to_plain(features.left, INTEGERS),
        "right": to_plain(features.right, INTEGERS),
        "float": features.dtype.name,
    }


def _read_products(fields: Fields, n_inputs: int, depth: int) -> ProductFeatures:
    ids = _ids(fields)
    left = fields.integers("left", ids.size, -1, n_inputs - 1)
    right = fields.integers("right", ids.size, 0, n_inputs - 1)
    if (left > right).any():
        raise ModelFormatError(f"{fields.name} has a left column beyond the right one")
    return ProductFeatures(ids, left, right, fields.one_of("float", FLOAT_TYPES))


def _write_pieces(features: PieceFeatures) -> Plain:
    return {
        "ids": to_plain(features.ids, INTEGERS),
        "numbers": to_plain(features.numbers, INTEGERS),
        "centres": to_plain(features.centres, SINGLES),
        "squared_radii": to_plain(features.squared_radii, SINGLES),
        "digits": to_plain(features.digits, INTEGERS),
        "mean": to_plain(features.coordinates.mean, FLOATS),
        "unit": features.coordinates.unit,
        "form": features.form,
    }


def _read_pieces(fields: Fields, n_inputs: int, depth: int) -> PieceFeatures:
    ids = _ids(fields)
    return PieceFeatures(
        ids,
        fields.integers("numbers", ids.size),
        fields.floats("centres", (ids.size, n_inputs), SINGLES),
        fields.positive("squared_radii", (ids.size,), SINGLES),
        fields.integers("digits", ids.size, 1, MOST_DIGITS),
        Coordinates(fields.floats("mean", (n_inputs,)), fields.number("unit", above=0.0)),
        fields.one_of("form", {form: form for form in ("smooth", "paper")}),
    )


def _write_templates(features: TemplateFeatures) -> Plain:
    plain: Plain = {
        "ids": to_plain(features.ids, INTEGERS),
        "numbers": to_plain(features.numbers, INTEGERS),
        "image_shape": list(map(int, features.image_shape)),
        "unit": features.unit,
        "centres": to_plain(features.centres, FLOATS),
    }
    for key, index, listed in (
        ("templates", "template", features.templates),
        ("masks_down", "down", features.down),
        ("masks_across", "across", features.across),
    ):
        stacks, which = _stacked(listed)
        plain[key] = [to_plain(stack, SINGLES) for stack in stacks]
        plain[index] = to_plain(which, INTEGERS)
    return plain


def _read_templates(fields: Fields, n_inputs: int, depth: int) -> TemplateFeatures:
    ids = _ids(fields)
    shape = _image_shape(fields, n_inputs)
    height, width, channels = shape
    templates = _unstacked(fields, "templates", "template", ids.size, (None, None, channels))
    down = _unstacked(fields, "masks_down", "down", ids.size, (None,))
    across = _unstacked(fields, "masks_across", "across", ids.size, (None,))
    for template, rows, columns in zip(templates, down, across, strict=True):
        places = (height - template.shape[0] + 1, width - template.shape[1] + 1)
        if not template.size or (rows.size, columns.size) != places or min(places) < 1:
            raise ModelFormatError(
                f"{fields.name} has a template or a mask that does not fit images of {height} x "
                f"{width}"
            )
    if any(mask.min(initial=0.0) < 0.0 for mask in (*down, *across)):
        raise ModelFormatError(f"{fields.name} has a mask below zero")
    centres = fields.floats("centres", (ids.size, 2))
    if np.abs(centres).max(initial=0.0) > FARTHEST:
        raise ModelFormatError(f"{fields.named('centres')} takes numbers up to {FARTHEST:,}")
    numbers = fields.integers("numbers", ids.size)
    unit = fields.number("unit", above=0.0)
    return TemplateFeatures(ids, numbers, shape, unit, templates, down, across, centres)


def _image_shape(fields: Fields, n_inputs: int) -> tuple[int, int, int]:
    told = fields["image_shape"]
    if (
        not isinstance(told, list)
        or len(told) != 3
        or not all(type(side) is int and side > 0 for side in told)
        or math.prod(told) != n_inputs
    ):
        raise ModelFormatError(
            f"{fields.named('image_shape')} takes three integers whose product is {n_inputs}"
        )
    height, width, channels = told
    return height, width, channels


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


def _unstacked(
    fields: Fields, key: str, index: str, n: int, shape: tuple[int | None, ...]
) -> list[NDArray[np.float32]]:
    """Return the array of each of n features: of which it is, over all stacks."""
    different: list[NDArray[np.float32]] = []
    stacks = {str(number): stack for number, stack in enumerate(fields.list(key))}
    numbered = Fields(stacks, fields.named(key), stacks)
    for number in stacks:
        stack = numbered.floats(number, (None, *shape), SINGLES)
        if len(different) + len(stack) > n:
            raise ModelFormatError(f"{fields.named(key)} has more arrays than there are features")
        different += list(stack)
    return [different[place] for place in fields.integers(index, n, 0, len(different) - 1)]


def _write_union(features: UnionFeatures) -> Plain:
    return {
        "ids": to_plain(features.ids, INTEGERS),
        "which": to_plain(features.which, INTEGERS),
        "names": list(features.pool_names),
        "members": [features_to_plain(member) for member in features.members],
    }


def _read_union(fields: Fields, n_inputs: int, depth: int) -> UnionFeatures:
    ids = _ids(fields)
    names, plain = fields.texts("names"), fields.list("members")
    if not plain or len(names) != len(plain):
        raise ModelFormatError(f"{fields.name} takes a name for each member, and at least one")
    which = fields.integers("which", ids.size, 0, len(plain) - 1)
    members = [
        features_from_plain(member, f"{fields.named('members')}[{i}]", n_inputs, depth + 1)
        for i, member in enumerate(plain)
    ]
    sizes = [member.ids.size for member in members]
    if not np.array_equal(np.bincount(which, minlength=len(members)), sizes):
        raise ModelFormatError(f"{fields.name} has members of other sizes than which tells")
    return UnionFeatures(ids, which, names, members)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("columns", ColumnFeatures, ("columns",), _write_columns, _read_columns),
        Kind(
            "groups",
            GroupFeatures,
            ("ids", "labels", "sizes", "columns"),
            _write_groups,
            _read_groups,
        ),
        Kind(
            "stumps",
            StumpFeatures,
            ("ids", "columns", "thresholds", "digits"),
            _write_stumps,
            _read_stumps,
        ),
        Kind(
            "products",
            ProductFeatures,
            ("ids", "left", "right", "float"),
            _write_products,
            _read_products,
        ),
        Kind(
            "pieces",
            PieceFeatures,
            ("ids", "numbers", "centres", "squared_radii", "digits", "mean", "unit", "form"),
            _write_pieces,
            _read_pieces,
        ),
        Kind(
            "templates",
            TemplateFeatures,
            (
                *("ids", "numbers", "image_shape", "unit", "centres", "templates", "template"),
                *("masks_down", "down", "masks_across", "across"),
            ),
            _write_templates,
            _read_templates,
        ),
        Kind(
            "union", UnionFeatures, ("ids", "which", "names", "members"), _write_union, _read_union
        ),
    )
}
