"""A fitted classifier as one JavaScript module, for browsers and Node alike."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import singledispatch
from typing import Any

from ..files import write_whole
from ..numbered_names import are_numbered
from . import javascript_code as code
from .link import sigmoid_slope
from .literals import floats, integers, label, label_type, number, strings
from .literals import string as quoted
from .plan import Balls, Matches, Part, Plan, Products, Reads, Thresholds, plan_of
from .template_sizes import SameSize, stacked_by_size

Fields = dict[str, str]  # of a part, as literals, by name


def to_js(
    model: Any, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> str:
    """Return a fitted classifier as an ES module without dependencies, and write it to a file.

    The module exports ``predict(row)``, ``predictIndex(row)``, ``scores(row)``,
    ``probabilities(row)``, ``features(row)``, ``contributions(row, index)`` and the constants
    ``classes``, ``nInputs``, ``inputNames`` and ``featureNames``, all documented for
    TypeScript by JSDoc. It computes the chosen features alone, in double precision.

    Parameters
    ----------
    model : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted; ``clf.at(t)`` for fewer features.
    path : str or path-like, optional
        Where to write the module, as ``.mjs`` or ``.js``; its folder must exist.
    overwrite : bool, default=False
        Whether a file that is there already may be replaced.

    Returns
    -------
    str
        The module, in ASCII. It may be put into an HTML ``<script type="module">`` as it is.

    Raises
    ------
    TypeError
        For another object than a classifier of shareboost, for features of a pool that has no
        exported form, and for class labels that are no strings, numbers or booleans.
    NotFittedError
    FileExistsError
        Where there is a file and it may not be replaced.
    OSError
        Where the file cannot be written. What was there stays.
    """
    plan = plan_of(model)
    names = [str(name) for name in model._model().features.names(model.path_.input_names)]
    text = "\n".join(_sections(plan, names, sigmoid_slope(model)))
    if path is not None:
        write_whole(path, text.encode("ascii"), overwrite)
    return text


def _sections(plan: Plan, names: list[str], slope: float | None) -> Iterator[str]:
    """Yield the pieces of a module, in their order."""
    parts = [made for part in plan.parts for made in _parts(part)]
    data = _data(plan, parts)
    yield _head(plan)
    yield _constants(plan, names)
    yield data
    yield code.FINITE_OR_NAN if plan.allows_nan else code.FINITE
    yield code.PREDICTOR.replace("LABELS", label_type(plan.classes))
    yield code.SOFTMAX if slope is None else code.SIGMOIDS.replace("SLOPE", number(slope))
    yield from dict.fromkeys(source for _, source, _ in parts)
    if any(isinstance(part, Balls) for part in plan.parts):
        yield code.PIECE_NAMES
    yield from (
        source
        for call, source in (("float32(", code.FLOAT32), ("float64(", code.FLOAT64))
        if call in data
    )
    yield code.CHECK


def _head(plan: Plan) -> str:
    """Return the comment that a module starts with."""
    from .. import __version__

    return f"""\
/**
 * A classifier of {plan.classes.size} classes, of rows of {plan.n_inputs} numbers.
 *
 *     import {{ predict }} from "./model.mjs";
 *     predict(row); // one of `classes`
 *
 * Written by shareboost {__version__}.
 *
 * @module
 */
"""


def _constants(plan: Plan, names: list[str]) -> str:
    """Return the exported constants."""
    classes = ", ".join(map(label, plan.classes.tolist()))
    inputs = (
        "Array.from({ length: nInputs }, (_, j) => `x${j}`)"
        if are_numbered(plan.input_names)
        else strings(plan.input_names)
    )
    return f"""\
/** The labels of the classes. @type {{readonly ({label_type(plan.classes)})[]}} */
export const classes = Object.freeze([{classes}]);

/** How many numbers a row has. */
export const nInputs = {plan.n_inputs};

/** Their names. @type {{readonly string[]}} */
export const inputNames = Object.freeze({inputs});

/** The names of the chosen features, as `features` returns them. @type {{readonly string[]}} */
export const featureNames = Object.freeze([{", ".join(_names(plan, names))}]);
"""


def _names(plan: Plan, names: list[str]) -> Iterator[str]:
    """Yield the names of all values as literals; those of a piece as a call that makes them."""
    width = plan.n_inputs + 1
    starts = {
        int(start)
        for part in plan.parts
        if isinstance(part, Balls)
        for start in part.places[::width]
    }
    place = 0
    while place < len(names):
        if place in starts:
            place += width
            yield f"...ofPiece({quoted(names[place - 1])})"
        else:
            place += 1
            yield quoted(names[place - 1])


def _data(plan: Plan, parts: list[tuple[str, str, Fields]]) -> str:
    """Return the constants of the model."""
    written = []
    for compute, _, fields in parts:
        all_fields = {"compute": compute, **fields}
        lines = "".join(f"    {name}: {value},\n" for name, value in all_fields.items())
        written.append(f"  {{\n{lines}  }},\n")
    return f"""\
// What computes the features. Values are put at `places`.
const parts = [
{"".join(written)}];

// Feature after feature, a number a class.
const weights = {floats(plan.weights.T)};

// What is subtracted from each feature before it is weighted.
const offsets = {_offsets(plan)};

const intercept = {floats(plan.intercept)};
"""


def _offsets(plan: Plan) -> str:
    """Return the offsets, mostly zero."""
    if plan.offsets.any():
        return floats(plan.offsets)
    return "new Float64Array(featureNames.length)"


@singledispatch
def _parts(part: Part) -> list[tuple[str, str, Fields]]:
    """Return a part as calls: the function's name, its source and the fields it reads."""
    raise TypeError(f"A part of the type {type(part).__name__} has no form in JavaScript.")


@_parts.register
def _(part: Reads) -> list[tuple[str, str, Fields]]:
    fields = {"places": integers(part.places), "columns": integers(part.columns)}
    return [("reads", code.READS, fields)]


@_parts.register
def _(part: Thresholds) -> list[tuple[str, str, Fields]]:
    fields = {
        "places": integers(part.places),
        "columns": integers(part.columns),
        "thresholds": floats(part.thresholds),
    }
    return [("tests", code.THRESHOLDS, fields)]


@_parts.register
def _(part: Products) -> list[tuple[str, str, Fields]]:
    fields = {
        "places": integers(part.places),
        "left": integers(part.left),
        "right": integers(part.right),
        "single": label(part.single),
    }
    return [("products", code.PRODUCTS, fields)]


@_parts.register
def _(part: Balls) -> list[tuple[str, str, Fields]]:
    fields = {
        "hard": label(part.hard),
        "starts": integers(part.places[:: part.mean.size + 1]),
        "centres": floats(part.centres),
        "squaredRadii": floats(part.squared_radii),
        "mean": floats(part.mean),
        "unit": number(part.unit),
    }
    return [("balls", code.BALLS, fields)]


@_parts.register
def _(part: Matches) -> list[tuple[str, str, Fields]]:
    return [("matches", code.MATCHES, _matches(same)) for same in stacked_by_size(part)]


def _matches(part: SameSize) -> Fields:
    """Return the fields of templates of one size."""
    _, rows, columns, channels = part.templates.shape
    sizes = {
        "width": part.image_shape[1],
        "channels": channels,
        "rows": rows,
        "columns": columns,
        "nDown": part.masks_down.shape[1],
        "nAcross": part.masks_across.shape[1],
    }
    return {
        "places": integers(part.places),
        "unit": number(part.unit),
        **{name: str(size) for name, size in sizes.items()},
        "templates": floats(part.templates),
        "template": integers(part.template),
        "masksDown": floats(part.masks_down),
        "down": integers(part.down),
        "masksAcross": floats(part.masks_across),
        "across": integers(part.across),
    }
