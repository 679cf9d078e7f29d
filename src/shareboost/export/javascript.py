"""A fitted classifier as one JavaScript module, for browsers and Node alike."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..input_columns import are_numbered
from ..io.files import write_whole
from .fragments import fragments
from .literals import floats, label, label_type, number, strings
from .literals import string as quoted
from .plan import Plan, plan_of, sigmoid_slope
from .primitives.base import Call


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
    code = {name: f"{text}\n" for name, text in fragments("module.js").items()}
    calls = [call for part in plan.parts for call in part.calls()]
    data = _data(plan, calls)
    yield _head(plan)
    yield _constants(plan, names)
    yield data
    yield code["finite_or_nan" if plan.allows_nan else "finite"]
    yield code["predictor"].replace("LABELS", label_type(plan.classes))
    yield code["softmax"] if slope is None else code["sigmoids"].replace("SLOPE", number(slope))
    yield from dict.fromkeys(f"{call.source}\n" for call in calls)
    if any(part.by_input for part in plan.parts):
        yield code["piece_names"]
    yield from (code[decoder] for decoder in ("float32", "float64") if f"{decoder}(" in data)
    yield code["check"]


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
    starts = {int(start) for part in plan.parts if part.by_input for start in part.places[::width]}
    place = 0
    while place < len(names):
        if place in starts:
            place += width
            yield f"...ofPiece({quoted(names[place - 1])})"
        else:
            place += 1
            yield quoted(names[place - 1])


def _data(plan: Plan, calls: list[Call]) -> str:
    """Return the constants of the model."""
    written = []
    for call in calls:
        all_fields = {"compute": call.function, **call.fields}
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
