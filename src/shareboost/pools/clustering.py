"""Centres of points: k-means, the same for any number of threads."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ..inputs import backend_module
from ..progress import track
from ..threads import single_threaded_blas

# Lloyd's steps, some at a time so that progress can be shown. Centres of patches or of
# digits hardly move after these.
STAGES = 5
# Centres that are compared with all others at a time.
CHUNK_CENTRES = 256
STEPS = 5


def cluster(
    points: Any,
    n_centres: int,
    rng: np.random.RandomState,
    what: str,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float32]:
    """Return up to ``n_centres`` distinct centres of the points, by k-means.

    Begins at random points and takes 25 of Lloyd's steps, where the points are: scikit-learn's
    in float32 NumPy, our own on a torch device. Centres that differ by no more than rounding
    are one.
    """
    first = rng.choice(len(points), n_centres, replace=False)
    seed = rng.randint(2**31)
    if isinstance(points, np.ndarray):
        centres = _by_sklearn(points, points[first], seed, what, weight)
    else:
        lloyd = backend_module(points, "kernels").lloyd
        centres = lloyd(points, first, STAGES * STEPS, what, weight)
    return centres[_distinct(centres)]


def _by_sklearn(
    points: NDArray[np.float32],
    centres: NDArray[np.float32],
    seed: int,
    what: str,
    weight: NDArray[np.float64] | None,
) -> NDArray[np.float32]:
    """Return the centres after all steps."""
    from sklearn.cluster import KMeans  # a heavy import

    # With several threads scikit-learn adds their sums in the order they end.
    with single_threaded_blas, threadpool_limits(1, user_api="openmp"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of centres that are one, see below
        for _ in track(range(STAGES), what, STAGES):
            means = KMeans(
                len(centres), init=centres, n_init=1, max_iter=STEPS, tol=0.0, random_state=seed
            )
            centres = means.fit(points, sample_weight=weight).cluster_centers_
    return centres


def _distinct(centres: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return all centres but those that equal an earlier one up to rounding."""
    wide = centres.astype(np.float64)
    squares = np.square(wide).sum(axis=1)
    kept: list[int] = []
    for start in range(0, len(wide), CHUNK_CENTRES):
        some = slice(start, start + CHUNK_CENTRES)
        sizes = squares[some, None] + squares
        alike = sizes - 2.0 * (wide[some] @ wide.T) <= 1e-10 * sizes
        for i, own in enumerate(alike, start=start):
            if not own[:i].any() or not own[kept].any():
                kept.append(i)
    return np.array(kept, dtype=np.intp)
