"""A fitted classifier as an ONNX model.

All is computed in float64 but for images and their responses to templates, and rounded to float32
where Python does: of two classes whose scores are nearly alike the same one wins.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import ranges
from ..input_columns import are_numbered
from ..io.files import write_whole
from .plan import Plan, plan_of

if TYPE_CHECKING:
    import onnx

# Softmax and Squeeze got their present forms with this version of the operators.
LOWEST_OPSET = 13
# From this one on, all reductions take their axes as an input.
AXES_ARE_INPUTS = 18
# Of ONNX 1.13: what most runtimes in use can read.
DEFAULT_OPSET = 18
# About so many numbers a row are held between two nodes at most. Measured for 266 templates on
# MNIST: twice as many save 0.05 ms of 0.25 ms for one image, and take twice the memory of a batch.
MOST_NUMBERS = 8192


class Nodes:
    """Standard operators and constants, each named as it is added; methods return that name.

    ``new_name`` makes a name that is not yet taken from a word.
    """

    def __init__(self, opset: int, new_name: Callable[[str], str]):
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, NDArray[Any]] = {}  # by name; strings are objects
        self._new_name = new_name
        self._known: dict[tuple[Any, ...], str] = {}  # names of constants by content

    def add(self, operator: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        """Add a node of one output, which may be given its name."""
        from onnx import helper

        out = self._new_name(operator.lower()) if out is None else out
        name = self._new_name(operator)
        self.nodes.append(helper.make_node(operator, inputs, [out], name, **attributes))
        return out

    def constant(self, values: Any, dtype: Any) -> str:
        """Add a constant, once however often it is asked for; strings have the type object."""
        array = np.asarray(values, dtype=dtype, order="C")
        content = tuple(array.ravel()) if array.dtype == object else array.tobytes()
        key = (array.dtype, array.shape, content)
        if key not in self._known:
            self._known[key] = self._new_name("constant")
            self.constants[self._known[key]] = array
        return self._known[key]

    def cast(self, x: str, dtype: type[np.generic], out: str | None = None) -> str:
        """Convert to numbers of another type."""
        from onnx import helper

        return self.add("Cast", x, out=out, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def take(self, x: str, places: NDArray[np.intp], axis: int = 1) -> str:
        """Take some places along an axis."""
        return self.add("Gather", x, self.constant(places, np.int64), axis=axis)

    def reshape(self, x: str, *shape: int) -> str:
        """Reshape; a length of 0 stays what it was."""
        return self.add("Reshape", x, self.constant(shape, np.int64))

    def batches(self, n: int, numbers_each: int) -> list[slice]:
        """Return ranges of n things to compute at a time, each of so many numbers a row."""
        return ranges(n, max(1, MOST_NUMBERS // numbers_each))

    def reduce(self, operator: str, x: str, *axes: int) -> str:
        """Reduce axes away."""
        if self.opset >= AXES_ARE_INPUTS:
            return self.add(operator, x, self.constant(axes, np.int64), keepdims=0)
        return self.add(operator, x, axes=list(axes), keepdims=0)


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
    FileExistsError
        Where there is a file and it may not be replaced.
    """
    exported = _exported(model, _checked_opset(target_opset))
    if path is not None:
        write_whole(path, exported.SerializeToString(), overwrite)
    return exported


def _exported(model: Any, opset: int) -> onnx.ModelProto:
    """Return the model, checked by onnx."""
    from onnx import checker, helper

    from .. import __version__

    plan = plan_of(model)
    labels = label_values(plan.classes)
    numbers: defaultdict[str, count[int]] = defaultdict(count)
    nodes = Nodes(opset, lambda word: f"{word}_{next(numbers[word])}")
    scores = add_scores(nodes, plan, "X")
    add_label(nodes, scores, labels, "label")
    nodes.cast(add_probabilities(nodes, scores, model._sigmoid_slope), np.float32, "probabilities")
    nodes.cast(scores, np.float32, "scores")
    opsets = [helper.make_opsetid("", opset)]
    exported = helper.make_model(
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
    helper.set_model_props(exported, {name: json.dumps(value) for name, value in about.items()})
    checker.check_model(exported, full_check=True)
    return exported


def _graph(nodes: Nodes, n_inputs: int, labels: NDArray[Any]) -> onnx.GraphProto:
    """Return the nodes as a graph, whose inputs and outputs have their shapes."""
    from onnx import TensorProto, helper, numpy_helper

    info, real = helper.make_tensor_value_info, TensorProto.FLOAT
    label = TensorProto.STRING if labels.dtype == object else TensorProto.INT64
    outputs = [info("label", label, ["N"])]
    outputs += [info(name, real, ["N", labels.size]) for name in ("probabilities", "scores")]
    constants = [numpy_helper.from_array(values, name) for name, values in nodes.constants.items()]
    inputs = [info("X", real, ["N", n_inputs])]
    return helper.make_graph(nodes.nodes, "shareboost", inputs, outputs, constants)


def add_scores(nodes: Nodes, plan: Plan, x: str) -> str:
    """Add the scores in float64, (rows, k), of rows of float32 or float64 numbers."""
    terms = [scores for part in plan.parts for scores in part.add_scores(nodes, plan, x)]
    intercept = nodes.constant(plan.intercept, np.float64)
    if not terms:
        rows = nodes.take(nodes.add("Shape", x), np.zeros(1, dtype=np.intp), axis=0)
        k = nodes.constant([plan.intercept.size], np.int64)
        return nodes.add("Expand", intercept, nodes.add("Concat", rows, k, axis=0))
    return nodes.add("Sum", *terms, intercept)


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
    """Return the class labels as ONNX can hold them: int64, or strings as objects."""
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    if all(
        isinstance(value, (int, float)) and value == int(value) and -(2**63) <= value < 2**63
        for value in values
    ):
        return np.array(list(map(int, values)), dtype=np.int64)
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
