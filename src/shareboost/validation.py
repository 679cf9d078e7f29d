"""Checks of labels and weights; each error names the argument, its value and what it takes."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from .losses import Labels


def check_labels_of_one_type(y: Any) -> None:
    """Raise where y has gaps or mixes text and numbers, which NumPy turns into text silently."""
    array = getattr(y, "to_numpy", lambda: y)()
    if isinstance(array, np.ndarray) and array.dtype != object:
        return
    if not isinstance(array, Iterable) or isinstance(array, str):
        return
    if len(types := set(map(type, array))) == 1 and type(None) not in types:
        return  # the common case, without a look at every label
    kinds = {_kind(label) for label in array}
    if "missing" in kinds:
        raise ValueError("y has missing labels (None or NaN): it takes a label for every row.")
    if kinds >= {"text", "number"}:
        raise ValueError(
            "y mixes labels of several types, text and numbers: it takes labels that are "
            "all text or all numbers."
        )


def _kind(label: Any) -> str:
    if isinstance(label, (str, bytes)):
        return "text"
    if label is None or type(label).__name__ == "NAType" or label is np.nan:
        return "missing"
    return "number" if isinstance(label, Number) else "other"


def encode_labels(y: NDArray[Any]) -> tuple[NDArray[Any], Labels]:
    """Return the sorted classes and the index of each label among them."""
    check_classification_targets(y)
    classes, index = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"y has only one class, {classes[0].item()!r}: a classifier takes labels of at "
            "least 2 classes."
        )
    return classes, index.astype(np.intp)


def check_weights(
    sample_weight: Any,
    X: Any,
    class_weight: dict[Any, float] | str | None,
    classes: NDArray[Any],
    index: Labels,
) -> NDArray[np.float64]:
    """Return the weight of every row: sample weight times class weight, in float64."""
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, allow_all_zero_weights=True)
    if weight.min() < 0:
        raise ValueError(
            f"sample_weight has negative values, the lowest {weight.min():g}: it takes "
            "non-negative numbers."
        )
    if class_weight is not None:
        weight = (
            weight
            * compute_class_weight(
                class_weight, classes=classes, y=classes[index], sample_weight=weight
            )[index]
        )
        if weight.min() < 0:
            raise ValueError(
                f"class_weight={class_weight!r} has negative values: it takes non-negative numbers."
            )
    if not weight.max() > 0:
        raise ValueError(
            "sample_weight is zero for every row (class weights included): at least one "
            "row must have a positive weight."
        )
    weighted = np.unique(index[weight > 0])
    if weighted.size < 2:
        raise ValueError(
            f"y has only one class of positive weight, {classes[weighted[0]].item()!r}: it takes "
            "at least 2."
        )
    return weight
