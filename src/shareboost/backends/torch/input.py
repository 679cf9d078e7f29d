"""Input in tensors of torch and arrays of CuPy, which are computed on their device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_array,
    column_or_1d,
)

from ..input import ArrayInput
from . import place_of
from .tensors import as_tensor, checked_tensor, host_array, like, same_device, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from ..base import Backend


class TensorInput(ArrayInput):
    """Rows that torch computes."""

    def backend(self, X: Any, device: Any) -> Backend:
        return place_of(X, device)

    def on_host(self, values: Any) -> Any:
        return host_array(values)

    def take(self, X: Any, rows: NDArray[Any]) -> Any:
        return like(taken(as_tensor(X), rows), X)

    def check_rows(self, estimator: Any, X: Any, finite: Any) -> Tensor:
        _check_takes_tensors(estimator, X)
        data = checked_tensor(X, finite == "allow-nan")
        _check_n_features(estimator, data, reset=False)
        return data

    def check_data(
        self, estimator: Any, X: Any, y: Any, allows_nan: bool
    ) -> tuple[Any, NDArray[Any]]:
        _check_takes_tensors(estimator, X)
        data = checked_tensor(X, allows_nan)
        _check_feature_names(estimator, None, reset=True)
        _check_n_features(estimator, data, reset=True)
        if y is None:
            raise ValueError("y is None: it takes a label a row.")
        labels = column_or_1d(
            check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True
        )
        if len(labels) != data.shape[0]:
            raise ValueError(
                f"X and y differ in length: X has {data.shape[0]} rows, y {len(labels)} labels. y "
                "takes a label a row."
            )
        return data, labels

    def evaluation_sample(
        self, checked: Any, eval_set: Any, classes: NDArray[Any], finite: Any, backend: Backend
    ) -> Any:
        own, other = as_tensor(eval_set[0]).device, getattr(backend, "device", None)
        if other is None or not same_device(own, other):
            raise ValueError(
                f"eval_set is on {own}, and the fit on {other or 'no device'}: rows are not moved "
                "to another device. Move them, or give them in NumPy's arrays."
            )
        return super().evaluation_sample(checked, eval_set, classes, finite, backend)

    def like(self, result: Any, X: Any) -> Any:
        """Return a tensor as an array of X's kind, and what is NumPy's, such as text, as it is."""
        return result if isinstance(result, np.ndarray) else like(result, X)


def _check_takes_tensors(estimator: Any, X: Any) -> None:
    """Raise where an estimator computes in NumPy alone."""
    if not hasattr(estimator, "device"):
        raise ValueError(
            f"X is a {type(X).__module__.partition('.')[0]} array, and {type(estimator).__name__} "
            "computes in NumPy: it takes NumPy's arrays, SciPy's matrices and frames."
        )


INPUT = TensorInput()
