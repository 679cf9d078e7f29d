"""A fitted classifier as an ONNX model.

All is computed in float64 but for images and their responses to templates, and rounded to float32
where Python does: of two classes whose scores are nearly alike the same one wins.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..input_columns import are_numbered
from ..io.files import write_whole
from .onnx_nodes import LOWEST_OPSET, Nodes
from .plan import Plan, plan_of, sigmoid_slope

if TYPE_CHECKING:
    import onnx

# Of ONNX 1.13: what most runtimes in use can read.
DEFAULT_OPSET = 18
OUTPUTS = ("label", "probabilities", "scores")


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    target_opset: int | None = None,
) -> onnx.ModelProto:
    """Return a fitted classifier as an ONNX model of standard operators, and write it to a file.

    Its input ``X`` is float32 of shape (N, n_inputs). Its outputs are ``label``, (N,), int64 or
    string; ``probabilities`` and ``scores``, float32 of shape (N, n_classes). There is a score
    for each class, for two classes too.

    Parameters
    ----------
    model : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted; ``clf.at(t)`` for fewer features. For a pipeline see ``register_skl2onnx``.
    path : str or path-like, optional
        Where to write the model; its folder must exist.
    overwrite : bool, default=False
        Whether a file that is there already may be replaced.
    target_opset : int, optional
        Version of the operators, from 13 to the latest that the installed onnx knows; None
        takes 18.

    Returns
    -------
    onnx.ModelProto
        ``metadata_props`` name the features, the inputs and the classes, each as JSON.

    Raises
    ------
    ImportError
        Where onnx is not installed.
    TypeError
        For another object than a classifier of shareboost, for features of a pool that has no
        exported form, and for class labels that are neither strings nor integers.
    ValueError
        For an opset out of range.
    NotFittedError
    FileExistsError
        Where there is a file and it may not be replaced.
    OSError
        Where the file cannot be written. What was there stays.
    """
    made = _made(model, _checked_opset(target_opset))
    if path is not None:
        write_whole(path, made.SerializeToString(), overwrite)
    return made


def _made(model: Any, opset: int) -> onnx.ModelProto:
    """Return the model, checked by onnx."""
    from onnx import checker, helper

    from .. import __version__

    plan = plan_of(model)
    labels = label_values(plan.classes)
    nodes = Nodes(opset, _Names({"X", *OUTPUTS}))
    scores = add_scores(nodes, plan, "X")
    add_label(nodes, scores, labels, "label")
    nodes.cast(add_probabilities(nodes, scores, sigmoid_slope(model)), np.float32, "probabilities")
    nodes.cast(scores, np.float32, "scores")
    opsets = [helper.make_opsetid("", opset)]
    made = helper.make_model(
        _graph(nodes, plan.n_inputs, labels),
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets),
        producer_name="shareboost",
        producer_version=__version__,
    )
    features = model._model().features.atom_names(plan.input_names)
    about = {"features": features, "classes": labels.tolist()}
    if not are_numbered(plan.input_names):
        about["inputs"] = list(plan.input_names)
    helper.set_model_props(made, {name: json.dumps(value) for name, value in about.items()})
    checker.check_model(made, full_check=True)
    return made


def _graph(nodes: Nodes, n_inputs: int, labels: NDArray[Any]) -> onnx.GraphProto:
    """Return the nodes as a graph, whose inputs and outputs have their shapes."""
    from onnx import TensorProto, helper, numpy_helper

    label = TensorProto.STRING if labels.dtype == object else TensorProto.INT64
    kinds = (label, TensorProto.FLOAT, TensorProto.FLOAT)
    shapes: list[list[str | int]] = [["N"], ["N", labels.size], ["N", labels.size]]
    return helper.make_graph(
        [
            helper.make_node(
                node.operator, node.inputs, [node.output], node.name, **node.attributes
            )
            for node in nodes.nodes
        ],
        "shareboost",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["N", n_inputs])],
        [
            helper.make_tensor_value_info(name, kind, shape)
            for name, kind, shape in zip(OUTPUTS, kinds, shapes, strict=True)
        ],
        [numpy_helper.from_array(values, name) for name, values in nodes.constants.items()],
    )


def add_scores(nodes: Nodes, plan: Plan, x: str) -> str:
    """Add the scores in float64, (rows, k), of rows of float32 or float64 numbers."""
    found = [scores for part in plan.parts for scores in part.add_scores(nodes, plan, x)]
    intercept = nodes.constant(plan.intercept, np.float64)
    if not found:
        rows = nodes.take(nodes.add("Shape", x), np.zeros(1, dtype=np.intp), axis=0)
        k = nodes.constant([plan.intercept.size], np.int64)
        return nodes.add("Expand", intercept, nodes.add("Concat", rows, k, axis=0))
    return nodes.add("Sum", *found, intercept)


def add_probabilities(nodes: Nodes, scores: str, slope: float | None) -> str:
    """Add the softmax of the scores, or their sigmoids over the sum of them, in float64."""
    if slope is None:
        return nodes.add("Softmax", scores, axis=1)
    # log sigmoid(s) = min(s, 0) - log(1 + exp(-|s|)), whose softmax cannot underflow to 0 / 0.
    zero, one = nodes.constant(0.0, np.float64), nodes.constant(1.0, np.float64)
    s = nodes.add("Mul", scores, nodes.constant(slope, np.float64))
    tail = nodes.add("Exp", nodes.add("Neg", nodes.add("Abs", s)))
    logarithm = nodes.add("Log", nodes.add("Add", one, tail))
    return nodes.add("Softmax", nodes.add("Sub", nodes.add("Min", s, zero), logarithm), axis=1)


def add_label(nodes: Nodes, scores: str, labels: NDArray[Any], out: str) -> None:
    """Add the label of the highest score, the first of equals, under a name."""
    best = nodes.add("ArgMax", scores, axis=1, keepdims=0)
    nodes.add("Gather", nodes.constant(labels, labels.dtype), best, out=out, axis=0)


def label_values(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the class labels as ONNX can hold them: int64, or strings as objects.

    Raises
    ------
    TypeError
        For labels that are neither.
    """
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    bounds = np.iinfo(np.int64)
    if all(
        isinstance(value, (int, float))
        and value == int(value)
        and bounds.min <= value <= bounds.max
        for value in values
    ):
        return np.array([int(value) for value in values], dtype=np.int64)
    raise TypeError(
        f"The class labels {values!r} cannot be exported to ONNX: it takes strings, or integers "
        "of 64 bits."
    )


def _checked_opset(opset: int | None) -> int:
    """Return the version of the operators to write."""
    try:
        from onnx import defs
    except ImportError as error:
        raise ImportError(
            "to_onnx needs onnx, which is not installed: pip install 'shareboost[onnx]'."
        ) from error
    if opset is None:
        return DEFAULT_OPSET
    latest = defs.onnx_opset_version()
    if not isinstance(opset, (int, np.integer)) or not LOWEST_OPSET <= opset <= latest:
        raise ValueError(
            f"target_opset={opset!r} is not valid for to_onnx: it takes an integer from "
            f"{LOWEST_OPSET} to {latest}, the latest of the installed onnx."
        )
    return int(opset)


class _Names:
    """Makes names that are not yet taken."""

    def __init__(self, taken: set[str]):
        self.taken = taken

    def __call__(self, word: str) -> str:
        number = 0
        while (name := f"{word}_{number}") in self.taken:
            number += 1
        self.taken.add(name)
        return name
