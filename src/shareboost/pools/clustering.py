"""Centres of points: k-means, the same for any number of threads."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ..progress import track
from ..threads import single_threaded_blas

# Lloyd's steps, some at a time so that progress can be shown. Centres of patches or of
# digits hardly move after these.
STAGES = 5
STEPS = 5


def cluster(
    points: NDArray[np.float32],
    n_centres: int,
    rng: np.random.RandomState,
    what: str,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float32]:
    """Return up to ``n_centres`` distinct centres of the points, by k-means.

    Begins at random points and takes 25 of Lloyd's steps. Centres that differ by no more
    than rounding are one.
    """
    from sklearn.cluster import KMeans  # a heavy import

    centres = points[rng.choice(len(points), n_centres, replace=False)]
    seed = rng.randint(2**31)
    # With several threads scikit-learn adds their sums in the order they end.
    with single_threaded_blas, threadpool_limits(1, user_api="openmp"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of centres that are one, see below
        for _ in track(range(STAGES), what, STAGES):
            means = KMeans(
                n_centres, init=centres, n_init=1, max_iter=STEPS, tol=0.0, random_state=seed
            )
            centres = means.fit(points, sample_weight=weight).cluster_centers_
    return centres[_distinct(centres)]


def _distinct(centres: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return all centres but those that equal an earlier one up to rounding."""
    wide = centres.astype(np.float64)
    squares = np.square(wide).sum(axis=1)
    kept: list[int] = []
    for i, centre in enumerate(wide):
        apart = squares[kept] - 2.0 * (wide[kept] @ centre) + squares[i]
        if not (apart <= 1e-10 * (squares[kept] + squares[i])).any():
            kept.append(i)
    return np.array(kept, dtype=np.intp)
