"""What a fitted model computes, in the few kinds of steps that every exported form is made of.

A plan is a list of primitives. Unions and groups dissolve into these. Scores are
``sum over columns of weight * (value - offset) + intercept``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .primitives import PRIMITIVES
from .primitives.base import Primitive

if TYPE_CHECKING:
    from ..predictor import Predictor

# A column whose centre is further from zero, in deviations, is read less that centre: its score
# would lose digits in float32.
FAR = 16.0
# Of a model of centred columns, relative to its weights. Centres that are off by so many deviations
# cost three digits.
LARGEST_INTERCEPT = 1e3


@dataclass(frozen=True)
class Plan:
    """A model as parts and weights, in float64."""

    classes: NDArray[Any]
    n_inputs: int
    input_names: Sequence[str]
    parts: list[Primitive]
    weights: NDArray[np.float64]  # (k, columns)
    offsets: NDArray[np.float64]  # (columns,), mostly zero
    intercept: NDArray[np.float64]  # (k,), of values less their offsets


def plan_of(model: Any) -> Plan:
    """Return the plan of a fitted classifier, whose features have an exported form."""
    if not hasattr(type(model), "_sigmoid_slope"):  # which every Predictor has
        raise TypeError(
            f"model is a {type(model).__name__}: it takes a fitted classifier of shareboost, such "
            "as ShareBoostClassifier. Of a pipeline, export the last step, or convert all of it by "
            "skl2onnx after register_skl2onnx()."
        )
    check_is_fitted(model)
    path = model.path_
    places, columns = path.places(model.selected_)
    features = path.features.take(places).parts(np.arange(columns.size))
    parts = [PRIMITIVES[name].of(**fields) for name, fields in features if fields["places"].size]
    offsets = _offsets(model, columns, parts)
    return Plan(
        model.classes_,
        model.n_features_in_,
        path.input_names,
        parts,
        model.weights_,
        offsets,
        model._intercepts_ + model.weights_ @ offsets,
    )


def _offsets(
    model: Predictor, columns: NDArray[np.intp], parts: list[Primitive]
) -> NDArray[np.float64]:
    """Return what each value is read less: the centre of one of any size that is far from zero.

    Prediction uses no centres, so a file may hold wrong ones. They are used here only where they
    agree with the weights: right centres leave an intercept of about the size of the weights of
    the scaled columns.
    """
    path, weights = model.path_, model.weights_
    centers, scales = path.centers[columns], path.scales[columns]
    far = np.where(np.abs(centers) > FAR * np.abs(scales), centers, 0.0)
    offsets = np.zeros(columns.size)
    for part in parts:
        if part.of_any_size:
            offsets[part.places] = far[part.places]
    with np.errstate(over="ignore", invalid="ignore"):
        left = np.abs(model._intercepts_ + weights @ offsets)
        agree = left <= LARGEST_INTERCEPT * (1.0 + np.abs(weights) @ np.abs(scales))
    return offsets if agree.all() else np.zeros(columns.size)
