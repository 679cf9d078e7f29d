"""How stable the choice of columns is: fits to resamples of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_feature_names_in

from ..classifier import ShareBoostClassifier
from ..dataset import GivenSample, given_sample
from ..predictor import Predictor
from ..progress import progress_bars, track
from ..validation import at_least, encode_labels, is_number, jobs
from .agreement import Stability


def selection_stability(
    clf: Predictor,
    X: Any,
    y: ArrayLike,
    n_resamples: int = 50,
    *,
    fraction: float = 0.5,
    replace: bool = False,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> Stability:
    """Return how often each column of X is chosen when the rows are resampled.

    Parameters
    ----------
    clf : ShareBoostClassifier or ShareBoostCV
        Fitted or not; it stays as it is. A clone of it is fitted to every resample,
        without its ``checkpoint``, ``warm_start`` and ``verbose``.
    X : array, sparse matrix or frame of shape (n_samples, n_columns)
    y : array-like of shape (n_samples,)
    n_resamples : int, default=50
        At least 2.
    fraction : float, default=0.5
        How much of every class a resample holds, in (0, 1]; at least one row of each.
    replace : bool, default=False
        Whether rows are drawn with replacement; with ``fraction=1`` that is the bootstrap.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in the fits, not in the draws. Rows of weight zero are left out.
    n_jobs : int, optional
        How many processes fit at once, as everywhere in scikit-learn. To Dask's rows one fit
        at a time, on all workers.
    random_state : int, RandomState or None, default=0
        Seeds the draws, and the clones' own ``random_state`` where it is None. The result
        does not depend on ``n_jobs``.
    verbose : int, default=0
        1 shows a progress bar over the resamples.

    Returns
    -------
    Stability
        A column is chosen where the fitted model reads it: a stump reads the column it
        cuts, a product both factors, a group all of its columns.

    Notes
    -----
    Resamples share rows, and so the accidents of these rows: labels that no column tells
    can still give an index of 0.1 or 0.2 at the default ``fraction``, near 0 at a small one.

    With ``replace``, a row and its copy may come to be one in training and one held out,
    where ``clf`` holds rows out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shareboost import ShareBoostClassifier, selection_stability
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> stability = selection_stability(ShareBoostClassifier(1), X, y, n_resamples=10)
    >>> list(stability.names[stability.frequencies >= 0.9])
    ['petal length (cm)']
    """
    _check_classifier(clf)
    n_resamples = at_least("n_resamples", n_resamples, 2, "selection_stability")
    n_jobs = jobs(n_jobs, X)
    unfitted = clone(clf)  # light to send
    rows = given_sample(unfitted, X, y, sample_weight)
    names = np.asarray(_check_feature_names_in(unfitted), dtype=object)
    strata = _strata(rows, fraction, replace)
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_resamples)
    tasks = (
        delayed(_chosen_columns)(unfitted, rows, drawn, seed)
        for drawn, seed in _resamples(strata, replace, seeds)
    )
    selections = np.zeros((n_resamples, names.size), dtype=bool)
    with progress_bars(bool(verbose)):
        found = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
        for chosen, columns in zip(selections, track(found, "resamples", n_resamples), strict=True):
            chosen[columns] = True
    return Stability(selections, names)


class _Stratum(NamedTuple):
    """The rows of one class, and how many of them a resample holds."""

    rows: NDArray[np.intp]
    size: int


def _check_classifier(clf: Any) -> None:
    if not isinstance(clf, Predictor):
        raise TypeError(
            f"clf={clf!r} is not valid for selection_stability: it takes a classifier of "
            "shareboost itself. For one at the end of a Pipeline, give it the transformed rows."
        )


def _strata(rows: GivenSample, fraction: Any, replace: bool) -> list[_Stratum]:
    """Return the rows of positive weight by class, and how many of them to draw."""
    if not is_number(fraction) or not 0 < fraction <= 1:
        raise ValueError(
            f"fraction={fraction!r} is not valid for selection_stability: it takes a number above "
            "0 and up to 1."
        )
    _, index = encode_labels(rows.y)
    counted = np.flatnonzero(rows.counted)
    every = [counted[index[counted] == label] for label in np.unique(index[counted])]
    strata = [_Stratum(own, max(1, round(fraction * own.size))) for own in every]
    if not replace and all(stratum.size == stratum.rows.size for stratum in strata):
        raise ValueError(
            f"fraction={fraction!r} without replacement takes every row of every class, so that "
            "all resamples are the same: it takes a smaller number, or replace=True."
        )
    return strata


def _resamples(
    strata: list[_Stratum], replace: bool, seeds: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], int]]:
    """Yield the sorted rows of each resample, and its seed."""
    for seed in seeds.tolist():
        rng = np.random.default_rng(seed)
        drawn = [rng.choice(own.rows, own.size, replace=replace) for own in strata]
        yield np.sort(np.concatenate(drawn)), seed


def _chosen_columns(
    clf: Predictor, rows: GivenSample, drawn: NDArray[np.intp], seed: int
) -> NDArray[np.intp]:
    """Return the columns that the classifier reads once fitted to the drawn rows."""
    fitted = _one_of_many(clf, seed).fit(*rows.take(drawn))
    reads = fitted._model().features.reads(fitted.n_features_in_)
    if reads is None:
        raise ValueError(
            f"pool={clf.pool!r} has features that read every column of X: there is no choice of "
            "columns to count. selection_stability takes pools such as columns, stumps and "
            "products."
        )
    return np.unique(reads.indices)


def _one_of_many(clf: Predictor, seed: int) -> Any:
    """Return an unfitted clone without what belongs to one fit, its open seeds set."""
    own = clone(clf)
    changed: dict[str, Any] = {}
    for path, value in own.get_params(deep=True).items():
        name = path.rpartition("__")[2]
        if name in ShareBoostClassifier._of_one_fit:
            changed[path] = ShareBoostClassifier._of_one_fit[name]
        elif name == "random_state" and value is None:
            changed[path] = seed
    return own.set_params(**changed)
