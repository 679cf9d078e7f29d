"""Centres of points: k-means, the same for any number of threads."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
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
    random_state: Any,
    what: str,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float32]:
    """Return up to ``n_centres`` distinct centres of the points, by k-means.

    Begins at random points and takes 25 of Lloyd's steps. Fewer distinct points than
    centres give as many centres as there are points.
    """
    rng = (
        np.random.RandomState(random_state)
        if not hasattr(random_state, "randint")
        else random_state
    )
    distinct = np.unique(points, axis=0) if len(points) < 4 * n_centres else points
    if len(distinct) <= n_centres:
        return distinct
    centres = points[rng.choice(len(points), n_centres, replace=False)]
    seed = rng.randint(2**31)
    # With several threads scikit-learn adds their sums in the order they end.
    with single_threaded_blas, threadpool_limits(1, user_api="openmp"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points: taken care of
        for _ in track(range(STAGES), what, STAGES):
            means = KMeans(
                n_centres, init=centres, n_init=1, max_iter=STEPS, tol=0.0, random_state=seed
            )
            centres = means.fit(points, sample_weight=weight).cluster_centers_
    return np.unique(centres, axis=0)
