"""A fitted classifier as one JavaScript module, for browsers and Node alike."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from string import Template
from typing import TYPE_CHECKING, Any

from ..input_columns import are_numbered
from ..io.files import write_whole
from .plan import Plan, plan_of
from .text import floats, fragments, label, label_type, literal, quoted

if TYPE_CHECKING:
    from .primitives.base import Primitive


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
    FileExistsError
        Where there is a file and it may not be replaced.
    """
    plan = plan_of(model)
    names = [str(name) for name in model._model().features.names(model.path_.input_names)]
    text = "\n".join(_sections(plan, names, model._sigmoid_slope))
    if path is not None:
        write_whole(path, text.encode("ascii"), overwrite)
    return text


def _sections(plan: Plan, names: list[str], slope: float | None) -> Iterator[str]:
    """Yield the pieces of a module, in their order."""
    from .. import __version__

    code = fragments("module.js")
    if are_numbered(plan.input_names):
        input_names = code["numbered"]
    else:
        input_names = f"[{', '.join(map(quoted, plan.input_names))}]"
    numbers = {
        "weights": floats(plan.weights.T),
        "offsets": floats(plan.offsets) if plan.offsets.any() else code["no_offsets"],
        "intercept": floats(plan.intercept),
        "parts": "".join(map(_calls, plan.parts)),
    }
    words = numbers | {
        "k": plan.classes.size,
        "n_inputs": plan.n_inputs,
        "version": __version__,
        "label_type": label_type(plan.classes),
        "classes": ", ".join(map(label, plan.classes.tolist())),
        "input_names": input_names,
        "feature_names": ", ".join(_names(plan, names)),
        "slope": literal(slope or 0.0),
    }
    sections = [
        "head",
        "finite_or_nan" if all(part.allows_nan for part in plan.parts) else "finite",
        "predictor",
        "softmax" if slope is None else "sigmoids",
    ]
    yield from (f"{Template(code[name]).safe_substitute(words)}\n" for name in sections)
    yield from dict.fromkeys(f"{part.source('js')}\n" for part in plan.parts)
    sections = ["piece_names"] if any(part.by_input for part in plan.parts) else []
    for decoder in ("float32", "float64"):
        if any(f"{decoder}(" in text for text in numbers.values()):
            sections.append(decoder)
    yield from (f"{code[name]}\n" for name in [*sections, "check"])


def _calls(part: Primitive) -> str:
    """Return the calls that compute the values of a part, each with what it reads."""
    (function,) = re.findall(r"^function (\w+)", part.source("js"), re.MULTILINE)
    text = ""
    for arguments in part.calls():
        lines = "".join(f"    {name}: {literal(value)},\n" for name, value in arguments.items())
        text += f"  {{\n    compute: {function},\n{lines}  }},\n"
    return text


def _names(plan: Plan, names: list[str]) -> Iterator[str]:
    """Yield the names of all values as literals; those of a piece as a call that makes them."""
    width = plan.n_inputs + 1
    starts = {int(start) for part in plan.parts if part.by_input for start in part.places[::width]}
    place = 0
    while place < len(names):
        in_piece = place in starts
        place += width if in_piece else 1
        name = quoted(names[place - 1])
        yield f"...ofPiece({name})" if in_piece else name
