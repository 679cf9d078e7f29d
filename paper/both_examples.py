"""What both examples of section 6 have in common: methods, and the features that they need."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shareboost import ShareBoostClassifier
from shareboost.pools import Columns

from .entrywise import Minimum, entrywise_path, first_alpha
from .experiment import Row
from .published import PUBLISHED
from .spread import spread

SHARE, L1, L2, MIXED = PUBLISHED, "l1", "l2", "l∞/l1"
STYLES = {L1: "s-", L2: "^--", MIXED: "D-", SHARE: "o-"}  # of the figure

# Weights of the penalty, l1's as shares of the least that needs no feature: from, to, how many.
ALPHAS = {L1: (0.9, 1e-2, 8), L2: (1.0, 1e-4, 8)}


def shareboost(n_features: int, scale: str, device: str | None) -> ShareBoostClassifier:
    """Return the paper's Algorithm 1, with columns over their largest magnitude or as they are."""
    clf = ShareBoostClassifier.as_published(n_features, device=device)
    return clf.set_params(pool=Columns(scale=scale))


def penalised(
    method: str, X: Any, y: NDArray[np.intp], weight: NDArray[np.float64] | None = None
) -> Iterable[Minimum]:
    """Return the minima of l1 or l2 for the weights in ``ALPHAS``."""
    alphas = np.geomspace(*ALPHAS[method])
    if method == L1:
        return entrywise_path(X, y, 1, first_alpha(X, y, weight) * alphas, weight)
    return entrywise_path(X, y, 2, alphas, weight)


def of_example(rows: list[Row], example: str) -> list[Row]:
    """Return the rows of one of the two examples."""
    return [row for row in rows if row["example"] == example]


def sizes(rows: Iterable[Row]) -> list[int]:
    """Return the sizes of an example."""
    return list(dict.fromkeys(row["size"] for row in rows))


def _by_size(rows: list[Row], method: str, kind: str | None) -> list[list[float]]:
    """Return the numbers of features of all seeds, for every size; NaN where none was enough."""
    own = [row for row in rows if (row["method"], row.get("rows")) == (method, kind)]
    return [
        [
            math.nan if row["features"] is None else float(row["features"])
            for row in own
            if row["size"] == size
        ]
        for size in sizes(own)
    ]


def means(rows: list[Row], method: str, kind: str | None = None) -> list[float]:
    """Return the mean number of features over the seeds, for every size of an example."""
    return [float(np.mean(of_size)) for of_size in _by_size(rows, method, kind)]


def spreads(rows: list[Row], method: str, kind: str | None = None) -> list[float]:
    """Return the spread of the number of features over the seeds, for every size."""
    return [spread(of_size) for of_size in _by_size(rows, method, kind)]


def listed(numbers: Iterable[float]) -> str:
    """Return numbers of features in words."""
    return ", ".join("none" if math.isnan(n) else f"{round(n, 1):g}" for n in numbers)
