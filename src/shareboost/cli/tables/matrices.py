"""Tables that come as a matrix: NPZ, and svmlight, which stays sparse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import CommandError, listed
from .sources import Source

# Arrays of an NPZ file, by what the table is for: the first that is there.
TRAINING = ("", "_train")
OTHERS = ("", "_test")


class Matrix(NamedTuple):
    """A matrix, perhaps sparse, with the labels of its rows and the names of its columns."""

    X: Any
    y: NDArray[Any] | None
    names: list[str] | None


def read_matrix(
    source: Source, target: str | None, ends: tuple[str, ...], labelled: bool = True
) -> Matrix:
    """Return the matrix in an NPZ or svmlight file.

    Parameters
    ----------
    source : Source
    target : str, optional
        The name of the labels in an NPZ file, for instance ``y_train``: X is then
        ``X_train``. Without, ``y`` or the y of ``ends``.
    ends : tuple of str
        ``TRAINING`` or ``OTHERS``.
    labelled : bool, default=True
        Whether labels are wanted.
    """
    if source.format == "npz":
        return _npz(source, target, ends, labelled)
    if target is not None:
        raise CommandError(
            f"{source.name} is svmlight, whose labels come first: leave out --target."
        )
    return _svmlight(source)


def _npz(source: Source, target: str | None, ends: tuple[str, ...], labelled: bool) -> Matrix:
    with source.seekable() as file:
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return _matrix(arrays, source.name, target, ends, labelled)
        except (CommandError, MemoryError):
            raise
        except Exception as error:  # NumPy, zipfile and zlib raise many kinds for a damaged file
            raise CommandError(
                f"{source.name} is no NPZ file that can be read: {error}."
            ) from error


def _matrix(
    arrays: Any, name: str, target: str | None, ends: tuple[str, ...], labelled: bool
) -> Matrix:
    there = list(arrays)
    if target is None:
        ends = tuple(end for end in ends if f"X{end}" in there)
        X_name, y_name = (f"X{ends[0]}", f"y{ends[0]}") if ends else ("X", "y")
    else:
        X_name, y_name = f"X{target[1:]}" if target.startswith("y") else "X", target
    wanted = [X_name, y_name] if labelled else [X_name]
    if missing := [key for key in wanted if key not in there]:
        raise CommandError(
            f"{name} has no array {listed(missing)}, but {listed(there)}: it takes X and y, or "
            "X_train and y_train; --target names y."
        )
    X = arrays[X_name]
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise CommandError(
            f"{X_name} of {name} is of shape {X.shape} and type {X.dtype}: it takes "
            "a matrix of numbers."
        )
    names = [str(column) for column in arrays["names"]] if "names" in there else None
    if names is not None and (len(names) != X.shape[1] or len(set(names)) < len(names)):
        raise CommandError(f"names of {name} takes {X.shape[1]} different names, one a column.")
    y = arrays[y_name] if labelled else None
    if y is not None and y.shape != (len(X),):
        raise CommandError(f"{y_name} of {name} is of shape {y.shape}: it takes {len(X)} labels.")
    return Matrix(X, y, names)


def _svmlight(source: Source) -> Matrix:
    """Read a sparse file. Column i of X is the index i of the file, whether it counts from 0 or 1.

    So nothing is guessed: where it counts from 1, column 0 is empty and never chosen.
    """
    from sklearn.datasets import load_svmlight_file

    with source.seekable() as file:
        try:
            X, y = load_svmlight_file(file, zero_based=True)
        except (ValueError, UnicodeDecodeError, OverflowError) as error:
            raise CommandError(f"{source.name} is no svmlight file: {error}.") from None
    if not X.shape[0] or not X.shape[1]:
        raise CommandError(f"{source.name} is empty: svmlight takes a label and values a row.")
    whole = y.astype(np.int64)
    return Matrix(X, whole if np.array_equal(whole, y) else y, None)


def with_columns(X: Any, n: int) -> Any:
    """Return a sparse matrix with n columns: indices beyond are left out, missing ones are 0."""
    if X.shape[1] == n:
        return X
    X = sp.csr_matrix(X, copy=True)
    X.resize((X.shape[0], n))
    return X
