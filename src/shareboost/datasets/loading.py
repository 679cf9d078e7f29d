"""The data sets of the paper's experiments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Dataset(NamedTuple):
    """A data set with its official split."""

    X_train: NDArray[Any]
    y_train: NDArray[Any]
    X_test: NDArray[Any]
    y_test: NDArray[Any]


class _OpenML(NamedTuple):
    data_id: int
    n_train: int  # the first rows are the official training part
    n_rows: int
    dtype: type


# Chars74K is not on OpenML.
_ON_OPENML = {
    "mnist": _OpenML(554, 60_000, 70_000, np.uint8),
    "pendigits": _OpenML(32, 7_494, 10_992, np.uint8),
    "satimage": _OpenML(182, 4_435, 6_435, np.uint8),
    "isolet": _OpenML(300, 6_238, 7_797, np.float32),
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

    source = _ON_OPENML[name]
    X, y = fetch_openml(data_id=source.data_id, as_frame=False, return_X_y=True, parser="liac-arff")
    if len(X) != source.n_rows:
        raise ValueError(
            f"OpenML's {name} has {len(X)} rows where {source.n_rows} are known: where its "
            "official split lies is not. Put the npz file into $SHAREBOOST_DATA instead."
        )
    X, y = X.astype(source.dtype), y.astype(float).astype(np.uint8)
    n = source.n_train
    return Dataset(X[:n], y[:n], X[n:], y[n:])
