"""How many features? Cross-validation of the whole curve, one run a fold."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context, clone
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.parallel import Parallel, delayed

from .classifier import ShareBoostClassifier, check_alpha
from .cv_folds import (
    Curve,
    FoldClassifier,
    Scorer,
    Split,
    checked_splits,
    chosen,
    curve,
    cv_results,
)
from .dataset import GivenSample
from .inputs import input_of
from .predictor import Predictor
from .progress import progress_bars, track
from .validation import check_weights, encode_labels, jobs

if TYPE_CHECKING:
    from .path import Path
    from .pools import Pool


class ShareBoostCV(Predictor):
    """A ShareBoostClassifier whose number of features is chosen by cross-validation.

    One run on the training rows of a fold gives the classifier of every number of features,
    and so the whole curve of its scores on the held-out rows: there is no grid. The number
    of the best mean curve is chosen, and a classifier of as many is fitted to all rows.

    Parameters
    ----------
    estimator : ShareBoostClassifier or None, default=None
        The classifier to cross-validate; it stays as it is. None is one with its defaults. Its
        ``verbose`` shows a progress bar of the folds, then those of the fit to all rows, which
        alone has its ``checkpoint``. Its ``groups`` are those of the *columns* of X; those of
        rows, for the splitter, are an argument of ``fit``.
    n_features : int or None, default=None
        The most features to try. None: as many as the estimator may use.
    alpha : float, str, list of them or None, default=None
        Weight of the penalty, as in ``ShareBoostClassifier``. Of a list, such as
        ``["0.2*auto", "auto", "5*auto"]``, the best is chosen along with the number of features:
        each fold has a run for each weight, which chooses its own features and starts from
        nothing, not from the run with another weight. None: the estimator's.
    cv : int, splitter, iterable of (train, test) or None, default=None
        The folds. An integer (None: 5) makes as many stratified ones.
    scoring : str, callable or None, default=None
        What to maximise on the held-out rows: a name that scikit-learn knows, or a callable
        ``scorer(estimator, X, y)``. None is accuracy.
    choice : {"best", "one_se"}, default="best"
        Which number is chosen: that of the highest mean score, the fewest features of
        equals; or the fewest whose mean score is within one standard error of the highest,
        which is the deviation over folds (``ddof=1``) over the root of their number.
    n_jobs : int or None, default=None
        How many folds run at once. The result is the same for any number. Of Dask's rows one
        at a time, on all workers.

    Attributes
    ----------
    best_n_features_ : int
        The number chosen. ``selected_`` has fewer only where the run on all rows ended
        before, for one of the reasons in ``path_.stop_reason``.
    best_alpha_ : float or str
        The weight of the penalty chosen.
    best_score_ : float
        Mean held-out score of that number of features.
    cv_results_ : dict of ndarrays
        One entry for each number of features: "n_features"; "mean_test_score",
        "std_test_score" (``ddof=0``) and "split0_test_score", ... of the held-out rows; and
        "mean_fit_time", the seconds that a fold took to get there. It begins with 1, or with
        as many as ``include`` names. A run that ended early keeps its last score. "alpha" is
        the weight of the penalty; for a list the entries of each weight follow one another.
    n_splits_ : int
        Number of folds.
    classes_, coef_, intercept_, weights_, feature_importances_, selected_, path_, groups_, \
    columns_, cost_, n_iter_, n_features_in_, feature_names_in_
        Of the classifier fitted to all rows, as in ``ShareBoostClassifier``.

    Notes
    -----
    ``score`` is the accuracy, whatever ``scoring`` is.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from shareboost import ShareBoostCV
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> clf = ShareBoostCV(n_features=10, choice="one_se").fit(X, y)
    >>> clf.best_n_features_ == len(clf.get_feature_names_out())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [ShareBoostClassifier, None],
        "n_features": ShareBoostClassifier._parameter_constraints["n_features"],
        "alpha": [*ShareBoostClassifier._parameter_constraints["alpha"], "array-like", None],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "choice": [StrOptions({"best", "one_se"})],
        "n_jobs": [Integral, None],
    }

    path_: Path
    best_n_features_: int
    best_alpha_: Any
    best_score_: float
    cv_results_: dict[str, NDArray[Any]]
    n_splits_: int

    def __init__(
        self,
        estimator: ShareBoostClassifier | None = None,
        *,
        n_features: int | None = None,
        alpha: float | str | Sequence[float | str] | None = None,
        cv: Any = None,
        scoring: str | Scorer | None = None,
        choice: str = "best",
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.n_features = n_features
        self.alpha = alpha
        self.cv = cv
        self.scoring = scoring
        self.choice = choice
        self.n_jobs = n_jobs

    @property
    def pool(self) -> str | Pool:  # type: ignore[override]
        """That of the estimator, which tells what the rows may hold."""
        return self._estimator.pool

    @property
    def device(self) -> Any:
        """That of the estimator."""
        return self._estimator.device

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose the number of features, then the features, and fit their weights.

        Parameters
        ----------
        X : array, sparse matrix, frame or tensor of shape (n_samples, n_features_in)
            Real or integer numbers; NaN where the pool allows it, as stumps do. Torch tensors
            and CuPy arrays are computed on their device, Dask's arrays and frames on their
            cluster, the scorer's part on the host.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, for training as in ``ShareBoostClassifier`` and, where the
            scorer takes ``sample_weight`` (as accuracy does), for the held-out scores. The
            mean over folds is not weighted.
        groups : array-like of shape (n_samples,), optional
            Groups of the *rows*, for splitters such as ``GroupKFold``. Those of the columns
            are a parameter of the estimator.

        Returns
        -------
        self
            A fit that fails, or is interrupted (Ctrl-C) among the folds, leaves an earlier
            fit as it was. One that is interrupted after them leaves the finished rounds.
        """
        clf = self._classifier()
        scorer = check_scoring(self, self.scoring or "accuracy")
        jobs(self.n_jobs, X)  # raises for what cannot be
        rows = _checked_rows(clf, X, y, sample_weight)
        splits = checked_splits(self.cv, rows, groups, 2 if self.choice == "one_se" else 1)
        alphas = _alphas(clf.alpha if self.alpha is None else self.alpha)
        curves = [self._curves(clf, alpha, rows, splits, scorer) for alpha in alphas]
        results, scores_of = zip(*map(cv_results, curves, alphas), strict=True)
        table = {name: np.concatenate([one[name] for one in results]) for name in results[0]}
        scores = np.concatenate(scores_of, axis=1)
        place = chosen(scores, table["n_features"], self.choice)
        best, best_alpha = int(table["n_features"][place]), table["alpha"][place]
        chosen_by = {
            "best_n_features_": best,
            "best_alpha_": best_alpha,
            "best_score_": float(table["mean_test_score"][place]),
            "cv_results_": table,
            "n_splits_": len(splits),
        }
        clf.set_params(n_features=best, alpha=best_alpha)
        try:
            clf.fit(*rows)
        finally:  # at Ctrl-C too, which leaves the finished rounds
            if hasattr(clf, "weights_"):
                fitted = {name: value for name, value in vars(clf).items() if name.endswith("_")}
                self._set_fitted(fitted | chosen_by)
        return self

    @property
    def _estimator(self) -> ShareBoostClassifier:
        return ShareBoostClassifier() if self.estimator is None else self.estimator

    def _classifier(self) -> ShareBoostClassifier:
        """Return a new classifier to cross-validate."""
        clf = clone(self._estimator)
        return clf if self.n_features is None else clf.set_params(n_features=self.n_features)

    def _chosen(self) -> ShareBoostClassifier:
        """Return the classifier that was chosen, or that of ``at(t)``, not fitted."""
        clf, most = self._classifier(), self.best_n_features_
        return clf.set_params(n_features=min(most, clf.n_features or most), alpha=self.best_alpha_)

    def _curves(
        self,
        clf: ShareBoostClassifier,
        alpha: Any,
        rows: GivenSample,
        splits: list[Split],
        scorer: Scorer,
    ) -> list[Curve]:
        """Return the curve of every fold with one weight of the penalty."""
        parameters = clf.get_params(deep=False) | clf._of_one_fit | {"alpha": alpha}
        fold = FoldClassifier(**parameters)
        curves = Parallel(n_jobs=jobs(self.n_jobs, rows.X), return_as="generator")(
            delayed(curve)(fold, rows, split, scorer) for split in splits
        )
        with progress_bars(bool(clf.verbose)):
            return list(track(curves, "folds", len(splits)))


def _alphas(given: Any) -> list[Any]:
    """Return the weights of the penalty to compare."""
    alphas: list[Any] = np.asarray(given, dtype=object).ravel().tolist()
    if not alphas:
        raise ValueError("alpha is an empty list: it takes at least one weight to try.")
    for alpha in alphas:
        check_alpha(alpha)
    return alphas


def _checked_rows(clf: ShareBoostClassifier, X: Any, y: Any, sample_weight: Any) -> GivenSample:
    """Return the rows; raise for rows or parameters that the classifier does not take."""
    clf._validate_params()
    rows = input_of(X).given_sample(clf, X, y, sample_weight)
    classes, index = encode_labels(rows.y)
    check_weights(rows.weight, rows.y[:, None], clf.class_weight, classes, index)
    return rows
