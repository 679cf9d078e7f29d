"""How stable the choice of columns is: fits to resamples of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_feature_names_in

from ..arrays import pandas_for
from ..classifier import ShareBoostClassifier
from ..dataset import GivenSample
from ..inputs import input_of
from ..progress import progress_bars, track
from ..validation import at_least, encode_labels, is_number, jobs
from .comparison import NORMAL_QUANTILE, check_has_path

if TYPE_CHECKING:
    import pandas as pd

    from ..predictor import Predictor

    Stratum = tuple[NDArray[np.intp], int]  # the rows of a class, and how many a resample holds


@dataclass(frozen=True, repr=False, eq=False)
class Stability:
    """Which columns were chosen in each resample: how often each, and how stably all.

    References
    ----------
    Nogueira, Sechidis and Brown, "On the Stability of Feature Selection Algorithms",
    JMLR 18(174), 2018: Definition 4 for the index, Corollary 9 for the interval.
    """

    selections: NDArray[np.bool_]  # (n_resamples, n_columns): whether the model reads a column
    names: NDArray[Any]  # (n_columns,)

    def __repr__(self) -> str:
        n, d = self.selections.shape
        low, high = self.interval
        return (
            f"<Stability over {n} resamples: index {self.index:.2f} ({low:.2f} to {high:.2f}), "
            f"{self.n_features.mean():.1f} of {d} columns on average>"
        )

    @cached_property
    def frequencies(self) -> NDArray[np.float64]:
        """Fraction of the resamples that chose each column."""
        return self.selections.mean(axis=0)

    @cached_property
    def n_features(self) -> NDArray[np.intp]:
        """How many columns each resample chose, (n_resamples,)."""
        return self.selections.sum(axis=1)

    @cached_property
    def index(self) -> float:
        """Agreement of the sets beyond chance: 1 - mean_f(s_f^2) / (q (1 - q)).

        It is 1 where all sets are the same and 0 on average where they are drawn at random; above
        0.75 is commonly called excellent, below 0.4 poor. s_f^2 is the unbiased variance of column
        f's choice over resamples, and q the mean fraction chosen. Of sets that are all empty or
        full it is 1.
        """
        if (by_chance := self._by_chance) == 0:
            return 1.0
        return float(1 - self.selections.var(axis=0, ddof=1).mean() / by_chance)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval of the index, asymptotic: too narrow for few resamples.

        It tells what many more resamples of *these* rows would give, not what other rows would.
        """
        if (by_chance := self._by_chance) == 0:
            return self.index, self.index
        n, d = self.selections.shape
        q, share = self.selections.mean(), self.n_features / d  # share: k_i / d
        overlap = self.selections @ self.frequencies / d
        influence = overlap - q * share + self.index / 2 * (2 * q * share - share - q + 1)
        # The standard error by the delta method.
        reach = NORMAL_QUANTILE * float(2 * np.sqrt(influence.var() / n) / by_chance)
        return self.index - reach, min(1.0, self.index + reach)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a column of X as a pandas frame, the most frequent first."""
        pd, order = pandas_for("names and frequencies"), self.order
        columns = {"feature": self.names[order], "frequency": self.frequencies[order]}
        return pd.DataFrame(columns, index=pd.Index(order, name="column"))

    @property
    def order(self) -> NDArray[np.intp]:
        """The columns by falling frequency, those of equal frequency in their own order."""
        return np.argsort(-self.frequencies, kind="stable")

    @property
    def _by_chance(self) -> float:
        """The variance q (1 - q) of a random choice."""
        q = self.selections.mean()
        return float(q * (1 - q))


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

    A column is chosen where the fitted model reads it. Resamples share rows, and their accidents:
    labels that no column tells can still give an index of 0.1 or 0.2 at the default ``fraction``.

    Parameters
    ----------
    clf : ShareBoostClassifier or ShareBoostCV
        A clone is fitted to every resample, without ``checkpoint``, ``warm_start``, ``verbose``.
    X, y : array-like
    n_resamples : int, default=50
    fraction : float, default=0.5
        How much of every class a resample holds, in (0, 1]; at least one row of each.
    replace : bool, default=False
        Whether rows are drawn with replacement; with ``fraction=1`` that is the bootstrap. Where
        ``clf`` holds rows out, a row may then be in training and its copy held out.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in the fits, not in the draws. Rows of weight zero are left out.
    n_jobs : int, optional
        How many processes fit at once. To Dask's rows one fit at a time, on all workers.
    random_state : int, RandomState or None, default=0
        Seeds the draws, and the clones' own ``random_state`` where it is None.
    verbose : int, default=0
        1 shows a progress bar over the resamples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shareboost import ShareBoostClassifier, selection_stability
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> stability = selection_stability(ShareBoostClassifier(1), X, y, n_resamples=10)
    >>> list(stability.names[stability.frequencies >= 0.9])
    ['petal length (cm)']
    """
    check_has_path(clf, fitted=False)
    n_resamples = at_least("n_resamples", n_resamples, 2, "selection_stability")
    parallel = Parallel(n_jobs=jobs(n_jobs, X), return_as="generator")
    unfitted = clone(clf)  # light to send
    rows = input_of(X).given_sample(unfitted, X, y, sample_weight)
    names = np.asarray(_check_feature_names_in(unfitted), dtype=object)
    chosen = partial(_chosen_columns, unfitted, rows, _strata(rows, fraction, replace), replace)
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_resamples)
    with progress_bars(bool(verbose)):
        done = track(parallel(map(delayed(chosen), seeds.tolist())), "resamples", n_resamples)
        selections = [np.isin(np.arange(names.size), columns) for columns in done]
    return Stability(np.array(selections), names)


def _strata(rows: GivenSample, fraction: Any, replace: bool) -> list[Stratum]:
    """Return the rows of positive weight by class, and how many of them to draw."""
    if not is_number(fraction) or not 0 < fraction <= 1:
        raise ValueError(
            f"fraction={fraction!r} is not valid for selection_stability: it takes a number above "
            "0 and up to 1."
        )
    index = np.where(rows.counted, encode_labels(rows.y)[1], -1)
    by_class = [np.flatnonzero(index == label) for label in np.unique(index[index >= 0])]
    strata = [(members, max(1, round(fraction * members.size))) for members in by_class]
    if not replace and all(members.size == size for members, size in strata):
        raise ValueError(
            f"fraction={fraction!r} without replacement takes every row of every class, so that "
            "all resamples are the same: it takes a smaller number, or replace=True."
        )
    return strata


def _chosen_columns(
    clf: Predictor, rows: GivenSample, strata: list[Stratum], replace: bool, seed: int
) -> NDArray[np.intp]:
    """Return the columns that a clone reads, with its open seeds set, fitted to a resample."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(members, size, replace=replace) for members, size in strata]
    unfitted: Any = clone(clf)
    changed: dict[str, Any] = {}
    for path, value in unfitted.get_params(deep=True).items():
        name = path.rpartition("__")[2]
        if name in ShareBoostClassifier._of_one_fit:
            changed[path] = ShareBoostClassifier._of_one_fit[name]
        elif name == "random_state" and value is None:
            changed[path] = seed
    fitted = unfitted.set_params(**changed).fit(*rows.take(np.sort(np.concatenate(drawn))))
    reads = fitted._model().features.reads(fitted.n_features_in_)
    if reads is None:
        raise ValueError(
            f"pool={clf.pool!r} has features that read every column of X: there is no choice of "
            "columns to count. selection_stability takes pools such as columns, stumps and "
            "products."
        )
    return np.unique(reads.indices)
