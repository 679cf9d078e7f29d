"""A fitted model as one C99 header, and what small integers for its weights cost in accuracy."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from ..arrays import dense, ranges
from ..inputs import on_host
from ..io.files import write_whole
from ..validation import at_least, one_of
from .layout import ROUNDING, Layout, layout_of, with_bounds
from .plan import Plan, plan_of
from .primitives.base import INPUT_TYPES, LANES, LARGEST_CODE, Form, Step
from .text import comment_text, fragments, functions, string_literal, table

HEADER, EARLY_EXIT, PRUNING = "header.c", "early_exit.c", "primitives/pruning.c"
# Rows that are scored at a time.
CHUNK_ROWS = 4096


def to_c(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "shareboost",
    weights: str = "float32",
    early_exit: bool = False,
    input_type: str = "float32",
    input_range: Any = None,
    lanes: int = LANES,
    overwrite: bool = False,
) -> str:
    """Return a fitted classifier as one C99 header, and write it where a path is given.

    The header needs nothing but itself: no allocation, no recursion, no mathematical library.
    It computes only the chosen features. ``NAME_predict(x)`` takes a row of X, or an image, and
    returns the place of its class in ``classes_``; ``NAME_scores(x, scores)`` writes the scores.

    Parameters
    ----------
    model : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted; ``clf.at(t)`` for fewer features.
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
    lanes : int, default=112
        Templates whose responses are computed side by side, at most. With early exit, fewer
        leave out more multiply-adds, but take more steps for each: on x86 so many are fastest.
    overwrite : bool, default=False
        Whether a file that is there already may be replaced.
    """
    plan, form = plan_of(model), _form(name, weights, input_type, early_exit, lanes)
    layout = layout_of(plan, form)
    if early_exit and layout.steps:
        layout = with_bounds(layout, *_range(plan, input_type, input_range))
    text = _header(layout, _notes(model, plan, form))
    if path is not None:
        write_whole(path, text.encode("ascii"), overwrite)
    return text


def _form(name: Any, weights: Any, input_type: Any, early_exit: Any, lanes: Any) -> Form:
    """Return what a header is asked to be, checked."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z](_?[A-Za-z0-9])*_?", name):
        told = f"name={name!r} is not valid for to_c"
        raise ValueError(f"{told}: it takes a letter, then letters, digits and single underscores.")
    one_of("weights", weights, LARGEST_CODE, "to_c")
    one_of("input_type", input_type, INPUT_TYPES, "to_c")
    return Form(name, weights, input_type, early_exit, at_least("lanes", lanes, 1, "to_c"))


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
        sides = (np.asarray(side, dtype=float) for side in input_range)
        low, high = (np.broadcast_to(side, plan.n_inputs) for side in sides)
    except (TypeError, ValueError):
        low, high = np.ones(1), np.zeros(1)
    if not (np.all(np.isfinite(low) & np.isfinite(high)) and np.all(low <= high)):
        raise ValueError(
            f"input_range={input_range!r} is not valid for to_c: it takes (low, high), finite "
            f"numbers or arrays of {plan.n_inputs} of them, none of low above that of high."
        )
    return low, high


def _notes(model: Any, plan: Plan, form: Form) -> list[str]:
    """Return what the header tells of its model, line by line."""
    notes = [
        "",
        f"Features: {model.selected_.size}. Weights: {form.weights}. "
        f"Early exit: {'yes' if form.early_exit else 'no'}.",
    ]
    columns = sorted({column for part in plan.parts for column in part.columns_read.tolist()})
    if columns and len(columns) < plan.n_inputs:
        notes.append("Columns that are read one by one:")
        notes += [f"  x[{column}] {plan.input_names[column]}" for column in columns]
    return notes


def _header(layout: Layout, notes: list[str]) -> str:
    """Return the whole header; the notes go into its first comment, a line each."""
    plan, form, steps = layout.plan, layout.form, layout.steps
    code, k = fragments(HEADER), plan.classes.size
    searched, bounded = layout.searched, bool(layout.bounds)
    includes = "includes"
    if searched:
        includes = "includes_of_bounds" if bounded else "includes_of_search"
    words: dict[str, Any] = {
        "name": form.name,
        "input": "uint8_t" if form.input_type == "uint8" else "float",
        "k": k,
        "n_inputs": plan.n_inputs,
        "notes": "".join(f" * {comment_text(note)}".rstrip() + "\n" for note in notes),
        "includes": code[includes],
        "weight": f"{'' if form.weights == 'float32' else '(float)'}{form.name}_weights[column][q]",
        "labels": ",\n".join(f"        {string_literal(label)}" for label in plan.classes.tolist()),
        "every": layout.checked_every,
        "checks": len(layout.bounds.get(f"{form.name}_rest", ())) // k,
        "rounding": f"{ROUNDING * (layout.starts[-1] + 1):.8g}f",
    }
    starts = dict(zip([step.prefix for step in steps], layout.starts, strict=False))

    def filled(step: Step, text: str) -> str:
        """Return a text with the words of a step."""
        scale = f"{step.prefix}_scales[i]"
        of_step = {
            "prefix": step.prefix,
            "start": starts[step.prefix],
            "n": step.n,
            "scaled": "" if step.scales is None else f" * {scale}",
            "one": "1.0f" if step.scales is None else scale,
        }
        return Template(Template(text).safe_substitute(step.words)).safe_substitute(words | of_step)

    calls = [filled(s, code["call_of_search" if s.part.searched else "call"]) for s in steps]
    words["calls"] = "\n".join(calls or [code["unread"]])
    text = code["head"] + "\n\n"
    text += "\n".join(table(name, values) for name, values in layout.tables.items())
    text += functions(HEADER, "best", *(["add"] if steps else []))
    if bounded:
        text += functions(EARLY_EXIT, "settled")
        text += functions(PRUNING, "root") if searched else ""
    text += "".join(filled(step, step.code) for step in steps) + functions(HEADER, "scores")
    text += _early_exit(steps, filled, calls) if bounded else functions(HEADER, "predict")
    return Template(text + functions(HEADER, "label")).substitute(words)


def _early_exit(steps: list[Step], filled: Callable[[Step, str], str], calls: list[str]) -> str:
    """Return the function that predicts; ``calls`` has the call of each step's function."""
    early, pruning = fragments(EARLY_EXIT), fragments(PRUNING)
    searched = [step for step in steps if step.part.searched]
    declared = [early["declared_of_search" if searched else "declared"]]
    if searched:
        declared = [*(filled(step, pruning["declared"]) for step in searched), *declared]
        body = [call for call, step in zip(calls, steps, strict=True) if not step.part.searched]
        body += [early["margin"], *(filled(step, pruning["bounded"]) for step in searched)]
        for place, step in enumerate(searched):
            later = [filled(other, f"\n{pruning['later']}") for other in searched[place + 1 :]]
            body.append(filled(step, pruning["search"].replace("\n$later", "".join(later))))
    else:
        body = [filled(step, early["static"]) for step in steps]
    return Template(functions(EARLY_EXIT, "predict")).safe_substitute(
        declared="".join(f"\n{text}" for text in declared),
        body="".join(f"\n{text}" for text in body),
    )


@dataclass(frozen=True)
class QuantizationLoss:
    """How a model with quantised weights compares with the model itself."""

    weights: str
    n_samples: int
    accuracy: float  # of the model
    quantized_accuracy: float
    changed: int  # answers that differ

    @property
    def loss(self) -> float:
        """The accuracy that is lost; negative where some is won."""
        return self.accuracy - self.quantized_accuracy

    def __str__(self) -> str:
        return (
            f"{self.weights}: accuracy {self.quantized_accuracy:.2%} instead of "
            f"{self.accuracy:.2%} on {self.n_samples} rows, {self.changed} answers changed"
        )


def quantization_loss(model: Any, X: Any, y: Any, weights: str = "int8") -> QuantizationLoss:
    """Return what ``to_c(model, weights=weights)`` loses on rows, held out ones at best.

    Parameters
    ----------
    model : fitted classifier
    X, y : array-like
        Rows, as ``predict`` takes them on the host, and their labels.
    weights : {"int8", "int16", "float32"}, default="int8"

    Returns
    -------
    QuantizationLoss
        With ``accuracy``, ``quantized_accuracy``, ``loss`` and ``changed``.
    """
    one_of("weights", weights, LARGEST_CODE, "quantization_loss")
    layout = layout_of(plan_of(model), Form("shareboost", weights, "float32"))
    predicted, y = on_host(model.predict(X)), column_or_1d(on_host(y))
    check_consistent_length(predicted, y)
    n = len(predicted)
    X = X.tocsr() if hasattr(X, "tocsr") else X
    chunks = [np.asarray(dense(X[rows])) for rows in ranges(n, CHUNK_ROWS)]
    best = [layout.scores(rows).argmax(axis=1) for rows in chunks]
    quantized = model.classes_[np.concatenate(best)]
    return QuantizationLoss(
        weights,
        n,
        float(np.mean(predicted == y)),
        float(np.mean(quantized == y)),
        int(np.sum(quantized != predicted)),
    )
