"""The two examples of the paper's section 6, and the data sets of its experiments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..validation import at_least


def make_shared_bits(
    n_classes: int, n_repeats: int = 2
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the first example of section 6: rows ``[bin(y), 2 log2(k) e^y]``.

    ``bin(y)`` is y in binary with the alphabet {-1, 1}, the highest bit first; ``e^y`` the
    indicator of the class. The ``ceil(log2(k))`` shared bits suffice for a perfect predictor, but
    penalties of the l1 and l2 norm use all k indicators, whose norms are smaller.

    Parameters
    ----------
    n_classes : int
        k, at least 2.
    n_repeats : int, default=2
        How often the rows of all classes are repeated.

    Returns
    -------
    X : ndarray of shape (n_repeats * k, ceil(log2(k)) + k)
    y : ndarray of shape (n_repeats * k,)
        The classes 0 to k - 1; 0 is the paper's class k.
    """
    y = np.arange(at_least("n_classes", n_classes, 2))
    X = np.hstack([_binary(y, n_classes), 2.0 * np.log2(n_classes) * np.eye(n_classes)])
    n_repeats = at_least("n_repeats", n_repeats, 1)
    return np.tile(X, (n_repeats, 1)), np.tile(y, n_repeats)


def make_redundant_blocks(
    n_blocks: int,
    n_classes: int,
    n_samples: int = 1000,
    zeroed: float = 0.1,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the second example of section 6: the same bits over and over.

    A row of class y is ``n_blocks`` copies of ``bin(y)``. In a share ``zeroed`` of the rows, one
    random block is set to zero. One block suffices except for the rows that lost it; the mixed
    l-infinity/l1 norm spreads over all of them.

    Parameters
    ----------
    n_blocks : int
        s, at least 1.
    n_classes : int
        k, at least 2.
    n_samples : int, default=1000
        m; the classes come in turn.
    zeroed : float, default=0.1
        The paper's epsilon, from 0 to 1.
    random_state : int, RandomState or None, default=None
        Draws the rows and the blocks set to zero.

    Returns
    -------
    X : ndarray of shape (n_samples, n_blocks * ceil(log2(n_classes)))
    y : ndarray of shape (n_samples,)
    """
    at_least("n_blocks", n_blocks, 1)
    at_least("n_classes", n_classes, 2)
    at_least("n_samples", n_samples, 1)
    if not 0 <= zeroed <= 1:
        raise ValueError(f"zeroed={zeroed!r} is not valid: it takes a number from 0 to 1.")
    random = check_random_state(random_state)
    y = np.arange(n_samples) % n_classes
    bits = _binary(y, n_classes)
    X = np.repeat(bits[:, None, :], n_blocks, axis=1)  # (m, s, bits)
    rows = random.permutation(n_samples)[: round(zeroed * n_samples)]
    X[rows, random.randint(n_blocks, size=rows.size)] = 0.0
    return X.reshape(n_samples, -1), y


def _binary(y: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Return y in binary over {-1, 1}, (m, ceil(log2(k))), the highest bit first."""
    shifts = np.arange(max(1, (n_classes - 1).bit_length()))[::-1]
    return np.where((y[:, None] >> shifts) & 1, 1.0, -1.0)


class Dataset(NamedTuple):
    """A data set with its official split."""

    X_train: NDArray[Any]
    y_train: NDArray[Any]
    X_test: NDArray[Any]
    y_test: NDArray[Any]


# The number there, the rows of the official training part, which come first, all rows, the dtype.
# Chars74K is not on OpenML.
_ON_OPENML = {
    "mnist": (554, 60_000, 70_000, np.uint8),
    "pendigits": (32, 7_494, 10_992, np.uint8),
    "satimage": (182, 4_435, 6_435, np.uint8),
    "isolet": (300, 6_238, 7_797, np.float32),
}
NAMES = (*_ON_OPENML, "chars", "chars_img")


def load_dataset(name: str, folder: str | Path | None = None) -> Dataset:
    """Return a data set of the paper's experiments, nothing scaled or centred.

    Reads ``<folder>/<name>.npz`` where that exists (arrays ``X_train``, ``y_train``,
    ``X_test``, ``y_test``), else fetches from OpenML and caches as scikit-learn does.

    Parameters
    ----------
    name : {"mnist", "pendigits", "satimage", "isolet", "chars", "chars_img"}
    folder : path, optional
        None takes ``$SHAREBOOST_DATA``.
    """
    if name not in NAMES:
        raise ValueError(f"name={name!r} is not a known data set: it takes one of {NAMES}.")
    folder = os.environ.get("SHAREBOOST_DATA") if folder is None else folder
    if folder and (file := Path(folder) / f"{name}.npz").exists():
        with np.load(file) as arrays:
            return Dataset(*(arrays[field] for field in Dataset._fields))
    if name not in _ON_OPENML:
        raise FileNotFoundError(
            f"{name}.npz is not in $SHAREBOOST_DATA (now {folder!r}), and {name!r} is not on "
            "OpenML: set SHAREBOOST_DATA to a folder that holds the file."
        )
    from sklearn.datasets import fetch_openml

    data_id, n, n_rows, dtype = _ON_OPENML[name]
    X, y = fetch_openml(data_id=data_id, as_frame=False, return_X_y=True, parser="liac-arff")
    if len(X) != n_rows:
        raise ValueError(
            f"OpenML's {name} has {len(X)} rows instead of {n_rows}, so its official split "
            "is unknown: put the npz file into $SHAREBOOST_DATA instead."
        )
    X, y = X.astype(dtype), y.astype(float).astype(np.uint8)
    return Dataset(X[:n], y[:n], X[n:], y[n:])
