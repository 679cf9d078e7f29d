"""Support vector machines on images, one against one, rivals of the paper's table 1.

What scikit-learn's ``SVC`` finds on unit rows, in a fraction of its time: the kernel of each pair
of classes is a product of matrices before its ``SVC`` begins, and all pairs share one such product
when they predict.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from .parallel import in_threads

Array = NDArray[Any]

DEGREE = 9
_ROWS = 1000  # of a kernel at a time
_MOST_THREADS = 4  # a pair of MNIST's classes takes 2 GB


class Kernel(NamedTuple):
    """A kernel of rows of the length 1; it is 1 for a row with itself.

    "poly": ``((x'z + shape) / (1 + shape))^9``; "rbf": ``exp(-shape |x - z|^2)``.
    """

    kind: str
    shape: float

    def values(self, A: Array, B: Array) -> Array:
        """Return the kernel of all rows of A with all rows of B."""
        products = A @ B.T
        if self.kind == "rbf":  # |x - z|^2 = 2 - 2 x'z
            products -= 1
            products *= 2 * self.shape
            return np.exp(products, out=products)
        products += self.shape
        products /= 1 + self.shape
        cubes = products * products
        cubes *= products
        np.multiply(cubes, cubes, out=products)
        products *= cubes
        return products

    def __str__(self) -> str:
        if self.kind == "rbf":
            return f"exp(-{self.shape:g} |x - z|^2)"
        return f"((x'z + {self.shape:g}) / {1 + self.shape:g})^{DEGREE}"


class Machine(NamedTuple):
    """What is needed to predict."""

    kernel: Kernel
    classes: Array  # (k,)
    support: Array  # (s,), places of the distinct support vectors among the training rows
    vectors: Array  # (s, d), of the length 1
    weights: Array  # (s, pairs): 0 where a vector is of neither class or supports nothing
    intercepts: Array  # (pairs,), in the order of ``combinations``

    def predict(self, X: Array) -> Array:
        """Return the classes of rows of any length, the lowest among those with most votes."""
        decisions = self.kernel.values(unit_rows(X), self.vectors) @ self.weights + self.intercepts
        votes = np.zeros((len(X), len(self.classes)), dtype=np.intp)
        for pair, (low, high) in enumerate(combinations(range(len(self.classes)), 2)):
            votes[:, high] += decisions[:, pair] > 0
            votes[:, low] += decisions[:, pair] <= 0
        return self.classes[votes.argmax(axis=1)]

    @property
    def multiply_adds(self) -> int:
        """How many one row takes; a vector counts in the pairs of its own class."""
        s, d = self.vectors.shape
        return int(s * (d + len(self.classes) - 1))


def unit_rows(X: Array) -> Array:
    """Return the rows as float32 of the length 1; a row of zeros stays."""
    X = X.astype(np.float32)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.float32(1e-12))


def fit(X: Array, y: Array, kernel: Kernel, C: float) -> Machine:
    """Return the support vector machine of all pairs of classes.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows of any length; they are made unit rows.
    y : ndarray of shape (n,)
    kernel : Kernel
    C : float
        As in ``SVC``.
    """
    X = unit_rows(X)
    classes = np.unique(y)
    pairs = list(combinations(classes, 2))

    def of_pair(pair: Sequence[Any]) -> tuple[Array, Array, float]:
        places = np.flatnonzero((y == pair[0]) | (y == pair[1]))
        rows = X[places]
        gram = np.empty((len(rows), len(rows)))
        for start in range(0, len(rows), _ROWS):
            gram[start : start + _ROWS] = kernel.values(rows[start : start + _ROWS], rows)
        found = SVC(kernel="precomputed", C=C, cache_size=1000).fit(gram, y[places])
        return places[found.support_], found.dual_coef_[0], float(found.intercept_[0])

    found = in_threads(of_pair, pairs, _MOST_THREADS)
    support = np.unique(np.concatenate([places for places, _, _ in found]))
    weights = np.zeros((len(support), len(pairs)), dtype=np.float32)
    for pair, (places, coefficients, _) in enumerate(found):
        weights[np.searchsorted(support, places), pair] = coefficients
    intercepts = np.array([intercept for _, _, intercept in found])
    return Machine(kernel, classes, support, X[support], weights, intercepts)


def choose(
    kernels: Sequence[tuple[Kernel, float]], X: Array, y: Array
) -> tuple[tuple[Kernel, float], list[int]]:
    """Return the kernel and C with the fewest errors on the last quarter, and all their errors.

    The first three quarters train; the first of equals wins.
    """
    n = len(X) * 3 // 4
    wrong = [
        int((fit(X[:n], y[:n], kernel, C).predict(X[n:]) != y[n:]).sum()) for kernel, C in kernels
    ]
    return kernels[int(np.argmin(wrong))], wrong


def with_shifts(images: Array) -> Array:
    """Return images (n, height, width), then all one pixel down, up, right and left: (5 n, ...).

    DeCoste and Schoelkopf train again on the support vectors, shifted so.

    References
    ----------
    D. DeCoste, B. Schoelkopf, "Training invariant support vector machines", Machine Learning 46
    (2002).
    """
    height, width = images.shape[1:]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    shifts = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
    return np.concatenate(
        [padded[:, 1 - down :, 1 - right :][:, :height, :width] for down, right in shifts]
    )
