"""Our classifiers inside pipelines that skl2onnx converts."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .onnx_model import LOWEST_OPSET, Nodes, add_label, add_probabilities, add_scores, label_values
from .plan import plan_of

# Imported once they are registered.
CLASSIFIERS = {
    "shareboost": ("ShareBoostClassifier", "ShareBoostCV"),
    "shareboost.rivals": (
        *("OneVsRestGreedyClassifier", "MixedNormClassifier", "JointBoostClassifier"),
    ),
}
# What skl2onnx lets one ask of a classifier.
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
    "raw_scores": [True, False],
}


def register_skl2onnx() -> None:
    """Let skl2onnx convert the classifiers of shareboost, alone or inside pipelines.

    Called once, before ``skl2onnx.to_onnx``; again it does no harm. Options are those of
    scikit-learn's own classifiers: ``{id(clf): {"zipmap": False}}`` gives probabilities as a
    tensor, ``"raw_scores"`` gives scores instead.

    Raises
    ------
    ImportError
        Where skl2onnx is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> from shareboost import ShareBoostClassifier
    >>> from shareboost.export import register_skl2onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> register_skl2onnx()
    >>> clf = ShareBoostClassifier(2).fit(X, y)
    >>> model = to_onnx(clf, X[:1].astype(np.float32), options={"zipmap": False})
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities']
    """
    try:
        from skl2onnx import update_registered_converter
        from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
    except ImportError as error:
        raise ImportError(
            "register_skl2onnx needs skl2onnx, which is not installed: "
            "pip install 'shareboost[onnx]'."
        ) from error
    shapes = calculate_linear_classifier_output_shapes
    for module, names in CLASSIFIERS.items():
        for name in names:
            kind = getattr(import_module(module), name)
            update_registered_converter(
                kind, f"ShareBoost{name}", shapes, _convert, options=OPTIONS
            )


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a classifier to what skl2onnx writes."""
    from onnx import TensorProto, helper
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    from skl2onnx.common.utils_classifier import get_label_classes

    model, (x,), (label, answer) = operator.raw_operator, operator.inputs, operator.outputs
    opset = container.target_opset_any_domain("")
    if opset < LOWEST_OPSET:
        raise ValueError(
            f"target_opset={opset} is not valid for {type(model).__name__}: it takes an integer "
            f"of at least {LOWEST_OPSET}."
        )
    plan = plan_of(model)
    nodes = Nodes(opset, scope.get_unique_variable_name)
    rows = x.full_name
    if not isinstance(x.type, (FloatTensorType, DoubleTensorType)):
        rows = nodes.cast(rows, np.float64)
    scores = add_scores(nodes, plan, rows)
    add_label(nodes, scores, label_values(get_label_classes(scope, model)), label.full_name)
    wanted = scores
    if not container.get_options(model, {"raw_scores": False})["raw_scores"]:
        wanted = add_probabilities(nodes, scores, model._sigmoid_slope)
    double = isinstance(answer.type, DoubleTensorType)
    nodes.cast(wanted, np.float64 if double else np.float32, answer.full_name)
    for name, values in nodes.constants.items():
        strings = values.dtype == object
        kind = TensorProto.STRING if strings else helper.np_dtype_to_tensor_dtype(values.dtype)
        container.add_initializer(name, kind, values.shape, values.ravel())
    for node in nodes.nodes:
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        inputs, outputs = list(node.input), list(node.output)
        container.add_node(node.op_type, inputs, outputs, name=node.name, **attributes)
