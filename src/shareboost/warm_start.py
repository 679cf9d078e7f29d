"""The fitted path that a further fit goes on from, and what may have changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .path_of_one import PathOfOne
from .selection.pricing import ROUNDING

if TYPE_CHECKING:
    from .path import Path


def path_of(clf: Any, n_columns: int, classes: NDArray[Any]) -> Path | None:
    """Return the path to go on from, if there is one and it fits the data."""
    if not clf.warm_start or not hasattr(clf, "path_"):
        return None
    if n_columns != clf.n_features_in_ or not np.array_equal(classes, clf.classes_):
        raise ValueError(
            f"warm_start=True goes on from a fit on {clf.n_features_in_} columns and the "
            f"classes {clf.classes_.tolist()}; X has {n_columns} columns and y the classes "
            f"{classes.tolist()}. Fit the same data, or set warm_start=False."
        )
    path: Path = clf.path_
    if isinstance(path, PathOfOne):
        raise ValueError(
            "warm_start=True goes on from the rounds of an earlier fit, and this classifier is "
            "reduced or was loaded from a file without them. Save it with whole_path=True, or set "
            "warm_start=False."
        )
    if clf.n_features is not None and clf.n_features < len(path):
        raise ValueError(
            f"n_features={clf.n_features} is below the {len(path)} features already chosen: "
            f"warm_start=True takes at least as many. Use at({clf.n_features}) for fewer."
        )
    return path


def check_shape(path: Path, shaped_by: dict[str, str], budget: float | None) -> None:
    """Raise where the path's rounds would be others now; ``shaped_by`` holds digests."""
    other = [name for name, now in shaped_by.items() if path.shaped_by.get(name, now) != now]
    if other:
        names = ", ".join("the pool (or its random state)" if n == "pool" else n for n in other)
        raise ValueError(
            f"warm_start=True goes on from an earlier fit, and what shaped its rounds changed: "
            f"{names}. Fit in the same way, or set warm_start=False."
        )
    spent = path.last.cost
    if budget is not None and spent > budget * (1.0 + ROUNDING):
        raise ValueError(
            f"budget={budget:g} is below what the fitted path has spent, {spent:g}: "
            "warm_start=True takes at least as much."
        )
