"""A fitted model as one C99 header."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...io.files import write_whole
from ...validation import at_least, one_of
from ..plan import Plan, plan_of
from .header import header_of
from .layout import layout_of, with_bounds
from .step import INPUT_TYPES, LANES, LARGEST_CODE, Form
from .text import identifier


def to_c(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "shareboost",
    weights: str = "float32",
    early_exit: bool = False,
    input_type: str = "float32",
    input_range: Any = None,
    data: tuple[Any, Any] | None = None,
    lanes: int = LANES,
    overwrite: bool = False,
) -> str:
    """Return a fitted classifier as one C99 header, and write it where a path is given.

    The header needs nothing but itself: no allocation, no recursion, no mathematical library.
    It computes only the chosen features. ``NAME_predict(x)`` takes a row of X, or an image, and
    returns the place of its class in ``classes_``; ``NAME_scores(x, scores)`` writes the scores.

    Parameters
    ----------
    model : fitted classifier
        ShareBoostClassifier, ShareBoostCV or a rival; ``clf.at(t)`` for fewer features.
    path : str or path-like, optional
        The file to write.
    name : str, default="shareboost"
        What all names of the header begin with.
    weights : {"float32", "int16", "int8"}, default="float32"
        The type of weights, of the centres of pieces and of templates. Integers come with a
        scale for each feature and template; ``quantization_loss`` measures what they lose.
    early_exit : bool, default=False
        Whether ``NAME_predict`` stops once no feature that is left can change the winner. It
        gives the same class for every row within ``input_range``.
    input_type : {"float32", "uint8"}, default="float32"
        The type of x in C.
    input_range : (low, high), optional
        The least and the most that inputs can be, numbers or arrays of one for each column.
        Early exit needs it for columns and products; bytes are from 0 to 255 anyway.
    data : (X, y), optional
        Held-out rows: the header states how quantised weights do on them.
    lanes : int, default=112
        Templates whose responses are computed side by side, at most. With early exit, fewer
        leave out more multiply-adds, but take more steps for each: on x86 so many are fastest.
    overwrite : bool, default=False
        Whether a file that is there already may be replaced.

    Returns
    -------
    str
        The header.

    Raises
    ------
    ValueError
        For an argument that is not valid, and for early exit without a range.
    FileExistsError
        Where there is a file already.
    """
    plan = plan_of(model)
    form = Form(
        identifier(name),
        one_of("weights", weights, LARGEST_CODE, "to_c"),
        one_of("input_type", input_type, INPUT_TYPES, "to_c"),
        bool(early_exit),
        at_least("lanes", lanes, 1, "to_c"),
    )
    layout = layout_of(plan, form)
    if not isinstance(early_exit, (bool, np.bool_)):
        raise ValueError(f"early_exit={early_exit!r} is not valid for to_c: it takes a boolean.")
    if early_exit:
        layout = with_bounds(layout, *_range(plan, input_type, input_range))
    text = header_of(layout, _notes(model, plan, form, data))
    if path is not None:
        write_whole(path, text.encode("ascii"), overwrite)
    return text


def _range(
    plan: Plan, input_type: str, input_range: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the most that each input can be; NaN where that does not matter."""
    if input_range is None and input_type == "uint8":
        input_range = (0.0, 255.0)
    if input_range is None:
        if any(part.of_any_size for part in plan.parts):
            raise ValueError(
                "early_exit=True needs input_range for a model of columns or products: it takes "
                "(low, high), numbers or arrays of one for each column, between which all inputs "
                "will be."
            )
        return (np.full(plan.n_inputs, np.nan),) * 2
    try:
        low, high = (
            np.broadcast_to(np.asarray(side, dtype=np.float64), plan.n_inputs)
            for side in input_range
        )
    except (TypeError, ValueError):
        low, high = np.ones(1), np.zeros(1)
    if not (np.all(np.isfinite(low) & np.isfinite(high)) and np.all(low <= high)):
        raise ValueError(
            f"input_range={input_range!r} is not valid for to_c: it takes (low, high), finite "
            f"numbers or arrays of {plan.n_inputs} of them, none of low above that of high."
        )
    return low, high


def _notes(model: Any, plan: Plan, form: Form, data: tuple[Any, Any] | None) -> list[str]:
    """Return what the header tells of its model, line by line."""
    notes = [
        f"Features: {model.selected_.size}. Weights: {form.weights}. "
        f"Early exit: {'yes' if form.early_exit else 'no'}."
    ]
    read = [part.columns_read for part in plan.parts]
    columns = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *read]))
    if columns.size and columns.size < plan.n_inputs:
        notes.append("Columns that are read one by one:")
        notes += [f"  x[{column}] {plan.input_names[column]}" for column in columns.tolist()]
    if data is not None:
        from ..quantization import quantization_loss

        if not isinstance(data, (tuple, list)) or len(data) != 2:
            raise ValueError(
                f"data is a {type(data).__name__}: it takes (X, y), held-out rows and their labels."
            )
        X, y = data
        notes.append(str(quantization_loss(model, X, y, weights=form.weights)))
    return ["", *notes]
