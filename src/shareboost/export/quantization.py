"""What small integers instead of float32 cost in accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..inputs import on_host
from ..validation import one_of
from .c.layout import layout_of
from .c.step import LARGEST_CODE, Form
from .plan import plan_of

# Rows that are scored at a time.
CHUNK_ROWS = 4096


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
    predicted, y = on_host(model.predict(X)), on_host(y)
    n = len(predicted)
    if np.shape(y) != (n,):
        raise ValueError(f"y has the shape {np.shape(y)}: it takes a label for each of {n} rows.")
    X = X.tocsr() if sp.issparse(X) else X
    best = [
        layout.scores(_dense(X[start : start + CHUNK_ROWS])).argmax(axis=1)
        for start in range(0, n, CHUNK_ROWS)
    ]
    quantized = model.classes_[np.concatenate(best)]
    return QuantizationLoss(
        weights,
        n,
        float(np.mean(predicted == np.asarray(y))),
        float(np.mean(quantized == np.asarray(y))),
        int(np.sum(quantized != predicted)),
    )


def _dense(rows: Any) -> NDArray[Any]:
    """Return rows of an array, a frame or a sparse matrix as an array."""
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)
