"""Support vector machines on images, one against one, rivals of the paper's table 1.

What scikit-learn's ``SVC`` finds on unit rows, in a fraction of its time: the kernel of each pair
of classes is a product of matrices before its ``SVC`` begins, and all pairs share one such product
when they predict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from .parallel import in_threads

Array = NDArray[Any]

DEGREE = 9
# Down and right, in pixels: all that are two steps away at most.
SHIFTS = sorted(
    ((i, j) for i in range(-2, 3) for j in range(-2, 3) if abs(i) + abs(j) <= 2),
    key=lambda shift: abs(shift[0]) + abs(shift[1]),
)
_ROWS = 1000  # of a kernel at a time
_MOST_BYTES = 12e9  # of the kernels of pairs that are trained at a time


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
    places = [np.flatnonzero((y == low) | (y == high)) for low, high in pairs]

    def of_pair(own: Array) -> tuple[Array, Array, float]:
        rows = X[own]
        gram = np.empty((len(rows), len(rows)))
        for start in range(0, len(rows), _ROWS):
            gram[start : start + _ROWS] = kernel.values(rows[start : start + _ROWS], rows)
        found = SVC(kernel="precomputed", C=C, cache_size=1000).fit(gram, y[own])
        return own[found.support_], found.dual_coef_[0], float(found.intercept_[0])

    largest = max(len(own) for own in places)
    found = in_threads(of_pair, places, max(1, int(_MOST_BYTES / (8 * largest**2))))
    support = np.unique(np.concatenate([own for own, _, _ in found]))
    weights = np.zeros((len(support), len(pairs)), dtype=np.float32)
    for pair, (own, coefficients, _) in enumerate(found):
        weights[np.searchsorted(support, own), pair] = coefficients
    intercepts = np.array([intercept for _, _, intercept in found])
    return Machine(kernel, classes, support, X[support], weights, intercepts)


def fit_virtual(first: Machine, X: Array, y: Array, C: float) -> tuple[Machine, int]:
    """Return a machine trained on the support vectors of another, moved; and their number.

    Each pair of classes has all support vectors of both, at all places of ``with_shifts``. DeCoste
    and Schoelkopf take those of the machine itself, which has one class against all others.

    Parameters
    ----------
    first : Machine
    X : ndarray of shape (n, height * width)
        The square images that it was trained on.
    y : ndarray of shape (n,)
    C : float

    References
    ----------
    D. DeCoste, B. Schoelkopf, "Training invariant support vector machines", Machine Learning 46
    (2002).
    """
    side = math.isqrt(X.shape[1])
    moved = with_shifts(X[first.support].reshape(-1, side, side)).reshape(-1, side * side)
    return fit(moved, np.tile(y[first.support], len(SHIFTS)), first.kernel, C), len(moved)


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
    """Return images (n, height, width), then all moved by one or two pixels: (13 n, ...).

    Down, up, right, left, and once along each diagonal.
    """
    height, width = images.shape[1:]
    padded = np.pad(images, ((0, 0), (2, 2), (2, 2)))
    return np.concatenate(
        [padded[:, 2 - down :, 2 - right :][:, :height, :width] for down, right in SHIFTS]
    )
