"""The columns of X that features read: which they are, and where a frame has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_feature_names, _get_feature_names

if TYPE_CHECKING:
    from .pools import Features

SHOWN, SHOWN_BY_SCIKIT_LEARN = 20, 5  # names in an error


def columns_read(features: Features, n_columns_in: int) -> NDArray[np.intp]:
    """Return the columns of X that the atoms read, in order."""
    reads = features.reads(n_columns_in)
    if reads is None:
        return np.arange(n_columns_in if features.ids.size else 0)
    return np.unique(reads.indices).astype(np.intp)


def columns_kept(features: Features, n_columns_in: int) -> NDArray[np.intp]:
    """Return the columns of X that rows for the atoms have, in order: those read, or the first.

    scikit-learn takes no rows without any column.
    """
    columns = columns_read(features, n_columns_in)
    return columns if columns.size else np.zeros(1, dtype=np.intp)


def places_among(columns: NDArray[np.intp], n_columns_in: int) -> NDArray[np.intp]:
    """Return the place of each column of X among some of them, -1 where it is none of them."""
    places = np.full(n_columns_in, -1, dtype=np.intp)
    places[columns] = np.arange(columns.size)
    return places


def has_other_names(estimator: Any, X: Any) -> bool:
    """Return whether X is a frame with other names than those of the fit, in whatever order.

    A frame with the names of the fit in another order is left to scikit-learn, which refuses it.
    """
    known = getattr(estimator, "feature_names_in_", None)
    if known is None or (names := _get_feature_names(X)) is None:
        return False
    return set(names) != set(known)


def columns_by_name(estimator: Any, X: Any, columns: NDArray[np.intp]) -> Any:
    """Return some columns of a frame, found by their names of the fit.

    Those that are missing are told in scikit-learn's words, and by name where these leave any out
    or list others, which nobody needs.
    """
    needed = estimator.feature_names_in_[columns].tolist()
    there = set(_get_feature_names(X))
    if missing := [name for name in needed if name not in there]:
        all_missing = set(estimator.feature_names_in_) - there
        try:
            _check_feature_names(estimator, X, reset=False)
        except ValueError as error:
            if len(all_missing) == len(missing) <= SHOWN_BY_SCIKIT_LEARN:
                raise
            raise ValueError(
                f"{error}The fitted {type(estimator).__name__} reads {len(needed)} of the columns, "
                f"and X lacks {len(missing)} of these: {', '.join(missing[:SHOWN])}."
            ) from None
    return _safe_indexing(X, needed, axis=1)


class NumberedNames(Sequence[str]):
    """The names x0, x1, ... of columns without any, none of them held."""

    def __init__(self, n: int):
        self._numbers = range(n)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        chosen = self._numbers[place]
        return [f"x{i}" for i in chosen] if isinstance(chosen, range) else f"x{chosen}"


def are_numbered(names: Sequence[str]) -> bool:
    """Return whether these are the names of columns without any."""
    return isinstance(names, NumberedNames) or all(name == f"x{j}" for j, name in enumerate(names))
