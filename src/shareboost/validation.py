"""Checks of rows, labels and weights; errors name the argument, its value and what it takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from copy import copy
from functools import partial
from numbers import Complex, Number, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_array, validate_data

from .inputs import input_of

if TYPE_CHECKING:
    from .losses import Labels

# Sparse formats kept as they come; any other becomes the first.
SPARSE = ("csr", "csc")

ClassWeight = dict[Any, float] | str | None


def is_number(value: Any) -> bool:
    """Return whether the value is a real number, NaN included."""
    return isinstance(value, Real)


def check_data(
    estimator: Any, X: Any, y: Any, allows_nan: bool = False
) -> tuple[Any, NDArray[Any]]:
    """Return X and y as arrays; the estimator learns the number and names of columns."""
    finite = "allow-nan" if allows_nan else True
    _check_indices(X)
    _check_frame(X)
    try:
        data, labels = validate_data(
            estimator, X, y, accept_sparse=SPARSE, ensure_all_finite=finite
        )
        return _as_numbers(data, finite), labels
    except ValueError as error:
        raise in_our_words(error) from None


def _check_indices(X: Any) -> None:
    """Raise where a compressed sparse matrix stores entries outside its shape.

    SciPy takes such indices unseen, and compiled code would read foreign memory with them.
    """
    if not sp.issparse(X) or X.format not in SPARSE or X.ndim != 2:
        return
    try:
        copy(X).check_format()  # of a copy, which shares the arrays: it changes what it checks
        if (np.diff(X.indptr) < 0).any():  # which SciPy overlooks where the last is 0
            raise ValueError("indptr must be a non-decreasing sequence")
    except ValueError as error:
        raise ValueError(f"X is not a valid {X.format.upper()} matrix: {error}.") from None


def in_our_words(error: ValueError) -> ValueError:
    """Return what scikit-learn finds wrong with X and y so that it names them, and what to do."""
    text = str(error)
    if text.startswith("Input X contains NaN"):
        return ValueError(
            "Input X contains NaN, which this pool does not take. Fill the gaps, or choose "
            "among stumps, which take NaN for 'not <='."
        )
    if "inconsistent numbers of samples" in text:
        return ValueError(f"X and y differ in length: {text}. y takes a label a row.")
    if re.search(r"\b[Xy]\b", text) or "eature names" in text:
        return error
    return ValueError(f"X is not valid: {text}")


def _check_frame(X: Any) -> None:
    """Raise for a frame of pandas or polars with a column that does not hold numbers."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    for place, (name, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
        if not _is_numeric(dtype, partial(_safe_indexing, X, place, axis=1)):
            raise ValueError(
                f"X has the column {name!r} of type {dtype}: it takes numbers and booleans. Leave "
                "the column out, or convert it to numbers: text, for example, by "
                "sklearn.preprocessing.OneHotEncoder."
            )


def _is_numeric(dtype: Any, column: Callable[[], Any]) -> bool:
    """Return whether a column of a frame, of that type, holds numbers, gaps included."""
    if hasattr(dtype, "is_numeric"):  # a type of polars
        return bool(dtype.is_numeric()) or str(dtype) in ("Boolean", "Null")
    categories = getattr(dtype, "categories", None)
    kind = getattr(dtype if categories is None else categories.dtype, "kind", "O")
    if kind != "O":
        return kind in "biufc"  # scikit-learn refuses complex numbers in its own words
    values = column() if categories is None else categories
    return all(_kind(value) in ("number", "missing") for value in np.asarray(values, dtype=object))


def _as_numbers(data: Any, finite: Any) -> Any:
    """Return rows that scikit-learn has checked in a type that is computed with.

    That is float64 for decimals and for long doubles. Values beyond float64 are refused.
    """
    kind = data.dtype.kind
    if kind in "biu" or (kind == "f" and data.dtype.itemsize <= 8):
        return data
    if kind not in "fO":
        raise ValueError(f"X has the type {data.dtype}: it takes numbers and booleans.")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        numbers = data.astype(np.float64)
    if kind == "O":
        return check_array(numbers, accept_sparse=SPARSE, ensure_all_finite=finite, input_name="X")
    before, after = (part.data if sp.issparse(part) else part for part in (data, numbers))
    size = "large" if np.isinf(after).any() else "small"
    if size == "large" or (before.any() and not after.any()):
        raise FloatingPointError(
            f"X has values of type {data.dtype} that are too {size} for float64. Divide the "
            "columns of X by their largest magnitudes first."
        )
    return numbers


def check_rows(estimator: Any, X: Any, finite: Any) -> Any:
    """Return rows for an estimator that knows the number and names of its columns."""
    _check_indices(X)
    _check_frame(X)
    data = validate_data(estimator, X, accept_sparse=SPARSE, reset=False, ensure_all_finite=finite)
    return _as_numbers(data, finite)


def check_labels_of_one_type(y: Any) -> None:
    """Raise for complex labels, gaps, and numbers among text, which NumPy turns into text."""
    dtype = getattr(y, "dtype", None)
    look = isinstance(y, (list, tuple)) or dtype == np.dtype(object)
    labels = list(y) if look else []
    types = set(map(type, labels))
    is_complex = [issubclass(one, Complex) and not issubclass(one, Real) for one in types]
    if getattr(dtype, "kind", "") == "c" or any(is_complex):
        raise ValueError(
            "Complex data not supported in y: it takes real numbers, text or booleans."
        )
    if not look or (len(types) == 1 and types <= {str, int, bool}):
        return  # the common case, without a look at every label
    kinds = {_kind(label): label for label in labels}
    if "missing" in kinds:
        raise ValueError("y has missing labels (None or NaN): it takes a label for every row.")
    if kinds.keys() >= {"text", "number"}:
        raise ValueError(
            f"y mixes text and numbers, {kinds['text']!r} and {kinds['number']!r} among them: it "
            "takes labels that are all text or all numbers."
        )


def _kind(label: Any) -> str:
    if isinstance(label, (str, bytes)):
        return "text"
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return "missing"
    if isinstance(label, Real) and math.isnan(label):
        return "missing"
    return "number" if isinstance(label, Number) else "other"


def encode_labels(y: NDArray[Any]) -> tuple[NDArray[Any], Labels]:
    """Return the sorted classes and the index of each label among them."""
    check_labels(y)
    classes, index = np.unique(y, return_inverse=True)
    check_classes(classes)
    return classes, index.astype(np.intp)


def check_labels(y: NDArray[Any]) -> None:
    """Raise for labels that are no classes, such as fractions."""
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise ValueError(f"y is not valid: {error}") from None


def check_classes(classes: NDArray[Any]) -> None:
    """Raise where there are fewer than two."""
    if classes.size < 2:
        raise ValueError(
            f"y has only one class, {classes.tolist()[0]!r}: a classifier takes labels of at "
            "least 2 classes."
        )


def check_weights(
    sample_weight: Any, X: Any, class_weight: ClassWeight, classes: NDArray[Any], index: Labels
) -> tuple[NDArray[np.float64], float]:
    """Return the weight of every row over the largest of them, and that largest weight.

    A row's weight is its sample weight times its class weight. A weight so small against the
    largest that float32 cannot hold it has no say in any sum and becomes zero. At least two
    classes must have some weight.
    """
    weight = checked_weights(sample_weight, X)
    unit = float(weight.max())
    weight = weight / unit
    if class_weight is not None:
        weight = weight * class_weights(class_weight, classes, index, weight)[index]
    top = float(weight.max())
    weight = weight / top
    weight[weight < np.finfo(np.float32).tiny] = 0.0
    check_weighted_classes(classes, np.unique(index[weight > 0]))
    return weight, top * unit


def check_weighted_classes(classes: NDArray[Any], weighted: NDArray[np.intp]) -> None:
    """Raise where fewer than two classes, by their numbers, have rows of positive weight."""
    if weighted.size < 2:
        raise ValueError(
            f"y has only one class of positive weight, {classes.tolist()[weighted[0]]!r}: it takes "
            "at least 2."
        )


def sample_weights(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    """Return the sample weights over the largest of them."""
    weight = checked_weights(sample_weight, X)
    return weight / weight.max()


def checked_weights(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    """Return the sample weights as they were given, or ones."""
    if sample_weight is not None and not isinstance(sample_weight, Number):
        try:
            sample_weight = np.asarray(sample_weight, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"sample_weight takes a number for every row: {error}.") from error
    rows = np.empty((_num_samples(X), 0))  # only their number counts
    weight = _check_sample_weight(
        sample_weight, rows, dtype=np.float64, allow_all_zero_weights=True
    )
    if weight.min() < 0:
        raise ValueError(
            f"sample_weight has negative values, the lowest {weight.min():g}: it takes "
            "non-negative numbers."
        )
    if not weight.max() > 0:
        raise ValueError(
            "sample_weight is zero for every row: at least one row must have a positive weight."
        )
    return weight


def class_weights(
    class_weight: dict[Any, float] | str,
    classes: NDArray[Any],
    index: Labels,
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weight of every class; 0 of one whose rows all weigh nothing."""
    counted = weight > 0
    present = np.unique(index[counted])
    factors = np.zeros(len(classes))
    if isinstance(class_weight, dict):
        for label, value in class_weight.items():
            if not is_number(value) or not 0 <= value < math.inf:
                raise ValueError(
                    f"class_weight has {value!r} for class {label!r}: it takes finite, "
                    "non-negative numbers."
                )
        factors[present] = compute_class_weight(class_weight, classes=classes, y=classes)[present]
    else:
        factors[present] = compute_class_weight(
            class_weight,
            classes=classes[present],
            y=classes[index[counted]],
            sample_weight=weight[counted],
        )
    if not factors[present].max() > 0:
        raise ValueError(
            f"class_weight={class_weight!r} is zero for every row of positive weight: at least "
            "one class must have a positive weight."
        )
    return factors


def at_least(argument: str, value: Any, lowest: int, owner: str = "") -> int:
    """Return the value if it is an integer of at least the lowest."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < lowest:
        raise _not_valid(argument, value, owner, f"an integer of at least {lowest}")
    return int(value)


def from_zero(argument: str, value: Any, below: float = math.inf, owner: str = "") -> float:
    """Return the value if it is a number from 0 to below the given one."""
    if not is_number(value) or not 0 <= value < below:
        limit = "" if below == math.inf else f" below {below:g}"
        raise _not_valid(argument, value, owner, f"a finite, non-negative number{limit}")
    return float(value)


def positive(argument: str, value: Any, owner: str = "") -> float:
    """Return the value if it is a finite number above 0."""
    if not is_number(value) or not 0 < value < math.inf:
        raise _not_valid(argument, value, owner, "a finite number above 0")
    return float(value)


def one_of(argument: str, value: Any, known: Collection[str], owner: str = "") -> str:
    """Return the value if it is among the known ones."""
    if not isinstance(value, str) or value not in known:
        raise _not_valid(argument, value, owner, f"one of {tuple(known)}")
    return str(value)


def _not_valid(argument: str, value: Any, owner: str, takes: str) -> ValueError:
    owner = f" for {owner}" if owner else ""
    return ValueError(f"{argument}={value!r} is not valid{owner}: it takes {takes}.")


def jobs(n_jobs: int | None, X: Any) -> int | None:
    """Return how many fits may run at once: of Dask's rows one, on all workers."""
    if not input_of(X).fits_one_by_one:
        return n_jobs
    if n_jobs not in (None, 1):
        raise ValueError(
            f"n_jobs={n_jobs!r} is not valid for Dask's rows: it takes None or 1, as fits run one "
            "after the other, each on all workers."
        )
    return 1


def image_shape_of_rows(n_columns: int, image_shape: Any, rows: str) -> tuple[int, int, int]:
    """Return (height, width, channels) of images in rows of so many columns.

    None takes them for square images of one channel.
    """
    if image_shape is None:
        side = math.isqrt(n_columns)
        if side * side != n_columns:
            raise ValueError(
                f"image_shape=None takes rows for square images of one channel, and {rows} has "
                f"{n_columns} columns, not a square number: it takes (height, width) or "
                "(height, width, channels)."
            )
        return side, side, 1
    if (
        not isinstance(image_shape, (tuple, list))
        or len(image_shape) not in (2, 3)
        or not all(isinstance(side, (int, np.integer)) and side > 0 for side in image_shape)
        or math.prod(image_shape) != n_columns
    ):
        raise ValueError(
            f"image_shape={image_shape!r} does not fit the {n_columns} columns of {rows}: it takes "
            "(height, width) or (height, width, channels) with that product."
        )
    height, width, *channels = map(int, image_shape)
    return height, width, (channels[0] if channels else 1)
