"""Checks of Dask's rows, labels and weights; most of them on the workers, in one pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import (
    _check_feature_names,
    _check_feature_names_in,
    _check_n_features,
)

from ...dataset import CheckedSample
from ...inputs import backend_name
from ...validation import (
    ClassWeight,
    check_classes,
    check_labels,
    check_weighted_classes,
    class_weights,
)
from .block_preparer import Recipe, Survey, survey
from .blocks import Blocks, aligned
from .dataset import SpreadSample
from .executor import Fleet
from .given_rows import lengths_of
from .tables import check_columns, check_table
from .tensors import let_tensors_travel

SMALLEST_WEIGHT = float(np.finfo(np.float32).tiny)  # of the largest, 1


def checked_sample(
    checked: Any, X: Any, y: Any, sample_weight: Any, allows_nan: bool
) -> CheckedSample[Any]:
    """Return the rows to fit an estimator to; ``checked`` learns the columns of X."""
    learn_columns(checked, X)
    fleet = Fleet()
    if backend_name(X._meta) == "torch":
        let_tensors_travel(fleet.client)
    blocks = aligned(X, y, sample_weight)
    surveys = surveyed(checked, fleet, blocks, allows_nan)
    classes = _classes(surveys)
    recipe, own = _recipes(checked, surveys, classes, checked.class_weight)
    whole = (None,) * len(blocks)
    sample = SpreadSample(fleet, blocks, surveys, recipe, own, checked.device, whole)
    return CheckedSample(checked, classes, _check_feature_names_in(checked), sample)


def evaluation_sample(
    checked: Any, eval_set: Sequence[Any], classes: NDArray[Any], allows_nan: bool
) -> SpreadSample:
    """Return held-out rows, checked against the training data."""
    X, y, *weights = eval_set
    try:
        check_columns(checked, X)
        fleet = Fleet()
        blocks = aligned(X, y, weights[0] if weights else None)
        surveys = surveyed(checked, fleet, blocks, allows_nan)
    except ValueError as error:
        raise ValueError(f"eval_set is not valid: {error}") from None
    known = set(classes.tolist())
    for one in surveys:
        if unknown := sorted(set(one.labels.tolist()) - known, key=str):
            raise ValueError(
                f"eval_set has the label {unknown[0]!r}, which y does not hold: it takes the "
                f"labels {classes.tolist()}."
            )
    _, own = _recipes(checked, surveys, classes, None)
    whole = (None,) * len(blocks)
    return SpreadSample(fleet, blocks, surveys, own, own, checked.device, whole)


def learn_columns(checked: Any, X: Any) -> None:
    """Have an estimator learn the number and names of columns."""
    check_table(X)
    if not hasattr(checked, "device"):
        raise ValueError(
            f"X is Dask's, and {type(checked).__name__} computes in NumPy: give X.compute()."
        )
    _check_feature_names(checked, X._meta, reset=True)
    _check_n_features(checked, X, reset=True)


def with_known_rows(checked: Any, X: Any) -> tuple[Any, int]:
    """Return the rows in blocks of known lengths, and how many; an estimator learns the columns."""
    learn_columns(checked, X)
    if isinstance(X, da.Array) and math.isnan(X.shape[0]):
        X = X.compute_chunk_sizes()
    return X, sum(lengths_of(X))


def surveyed(checked: Any, fleet: Fleet, blocks: Blocks, allows_nan: bool) -> tuple[Survey, ...]:
    """Return what the blocks hold; raise for what cannot be trained on."""
    finite = "allow-nan" if allows_nan else True
    ask = partial(survey, _light(checked), finite)
    tasks, keys = fleet.tasks("check", [ask] * len(blocks), blocks.keys)
    found: tuple[Survey, ...] = tuple(fleet.each(blocks.graph | tasks, keys))
    filled = [one for one in found if one.n_rows]
    if not filled:
        raise ValueError("X has no rows: it takes at least one row of each of 2 classes.")
    kinds = {one.kind for one in filled}
    if len(kinds) > 1:
        raise ValueError(
            f"X has blocks of unlike kinds, {' and '.join(sorted(kinds))}: it takes blocks of one."
        )
    return found


def _light(checked: Any) -> Any:
    """Return an estimator that knows the columns and nothing else."""
    light = type(checked)()
    light.n_features_in_ = checked.n_features_in_
    if hasattr(checked, "feature_names_in_"):
        light.feature_names_in_ = checked.feature_names_in_
    return light


def _classes(surveys: Sequence[Survey]) -> NDArray[Any]:
    """Return the sorted labels of all blocks."""
    labels = [one.labels for one in surveys if one.n_rows]
    if len({own.dtype.kind in "OUST" for own in labels}) > 1:
        raise ValueError(
            "y mixes text and numbers: it takes labels that are all text or all numbers."
        )
    classes = np.unique(np.concatenate(labels))
    # As many as there are rows, up to twice the classes: of more, scikit-learn asks nothing else.
    n_rows = sum(one.n_rows for one in surveys)
    check_labels(np.resize(classes, min(n_rows, 2 * classes.size)))
    check_classes(classes)
    return classes


def _recipes(
    checked: Any, surveys: Sequence[Survey], classes: NDArray[Any], class_weight: ClassWeight
) -> tuple[Recipe, Recipe]:
    """Return how blocks become rows, with the weights of classes and without."""
    k = classes.size
    sums, largest = np.zeros(k), np.zeros(k)
    for one in surveys:
        place = np.searchsorted(classes, one.labels)
        sums[place] += one.weights
        largest[place] = np.maximum(largest[place], one.largest)
    most = float(largest.max())
    if not most > 0:
        raise ValueError(
            "sample_weight is zero for every row: at least one row must have a positive weight."
        )
    dtype = np.result_type(*(one.dtype for one in surveys if one.n_rows))
    own = Recipe(_light(checked), dtype, classes, most, np.ones(k), 1.0, 0.0)
    found = replace(own, limit=SMALLEST_WEIGHT)
    if class_weight is not None:
        factors = class_weights(class_weight, classes, np.arange(k), sums / sums.max())
        top = float((largest / most * factors).max())
        found = replace(found, factors=factors, top=top)
    weighted = np.flatnonzero(found.of_class(largest) >= SMALLEST_WEIGHT)
    check_weighted_classes(classes, weighted)
    return found, own
