"""The scikit-learn classifier."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from . import rounds
from .callbacks import FitCallbacks
from .losses import LogisticLoss
from .model import Model
from .path import Path, StopReason
from .penalties import PENALTIES, Penalty
from .pools import POOLS, Pool, new_pool, takes_nan
from .progress import progress_bars, rounds_bar
from .refit import SOLVERS, Refit
from .rows import Rows
from .threads import single_threaded_blas
from .validation import (
    SPARSE,
    check_data,
    check_labels_of_one_type,
    check_weights,
    encode_labels,
)


class ShareBoostClassifier(CallbackSupportMixin, ClassifierMixin, TransformerMixin, BaseEstimator):
    """A multiclass classifier that looks at few features, the same few for all classes.

    Each round chooses the feature whose column of the loss's gradient has the largest
    l1 norm over classes, then refits the weights of all chosen features (Algorithm 1
    of Shalev-Shwartz, Wexler and Shashua, "ShareBoost: Efficient Multiclass Learning
    with Feature Sharing", 2011). One run gives the classifier of every number of
    features up to ``n_features``.

    Parameters
    ----------
    n_features : int, default=20
        How many features ("atoms" of the pool) the classifier may use at most. A
        smaller pool is used up; ``path_.stop_reason`` tells.
    pool : {"columns", "stumps", "products", "pieces", "templates"} or Pool, \
            default="columns"
        The candidates: the columns of X, all stumps or all pairwise products of them,
        local linear pieces, or image templates. An object of ``shareboost.pools`` sets
        their parameters, and ``Union`` joins several.
    penalty : {"frobenius", "l1", "linf1"} or Penalty, default="frobenius"
        What is added to the loss, on the weights of the scaled columns and never on
        the intercept: the sum of squares, or the smooth norms of section 3.3.
        ``shareboost.penalties.SmoothLinf1(beta=...)`` sets the smoothness.
    alpha : float, default=3e-5
        Weight of the penalty against the *average* loss. 0 is the paper's Algorithm 1.
    solver : {"lbfgs", "nesterov", "newton"}, default="lbfgs"
        How the weights are refit: L-BFGS, the paper's accelerated gradient, or
        truncated Newton. All seek the same minimum and stop by the same rule, not at
        the same point, so late in a run they may come to choose other features.
    tol : float, default=1e-4
        The rounds stop once no atom has a gradient with an l1 norm over classes (and
        columns, where it has several) above ``tol``: nothing is left to gain. The last
        refit ends when every chosen atom is below ``tol / 10``.
    refit_tol : float, default=0.05
        The refit of a round ends once the gradient of every chosen atom is below
        this fraction of the score by which the round's feature was chosen. Smaller
        follows the exact algorithm more closely and takes longer.
    max_iter : int, default=1000
        Most iterations of a refit. A refit that needs more raises a
        ``ConvergenceWarning`` and goes on with what it has.
    margin : float, default=1.0
        How far the score of the true class must lead in eq. (3). 0 gives the plain
        softmax cross-entropy, and with it probabilities that are calibrated as those
        of logistic regression are.
    fit_intercept : bool, default=True
        Whether every class has an intercept, which counts as no feature.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as everywhere in scikit-learn.
    warm_start : bool, default=False
        Whether a further ``fit``, on the same data with a larger ``n_features``, goes
        on from the fitted path. It chooses what one longer run chooses.
    verbose : int, default=0
        1 shows a progress bar with the loss and the time left.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_columns)
        Weights of the chosen atoms' columns, in the order of ``selected_`` and the units
        of X: one column an atom, but for pieces. It has no entry for what was not chosen.
    intercept_ : ndarray of shape (n_classes,)
    selected_ : ndarray of shape (n_selected,)
        The chosen atoms in the order they were chosen; for columns, their indices.
    path_ : Path
        Every round: ``losses``, ``scores``, ``seconds``, ``selected``, ``stop_reason``,
        ``at(t)`` and ``to_frame()``; and ``features``, the chosen atoms as plain arrays:
        the columns and thresholds of stumps, the two columns of products, the centres and
        radii of pieces, the templates and masks.
    n_iter_ : int
        Iterations of the refits that gave the weights of the path.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X had string column names.

    Notes
    -----
    Where the chosen features separate the classes and ``alpha`` is 0, the loss has no
    minimum: it falls to zero as the weights grow without bound. The refit then ends
    like any other once the gradient is small, at finite weights, and the rounds stop
    with "nothing left to gain".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shareboost import ShareBoostClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = ShareBoostClassifier(n_features=2).fit(X, y)
    >>> list(clf.get_feature_names_out())
    ['petal length (cm)', 'sepal length (cm)']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "pool": [StrOptions(set(POOLS)), Pool],
        "penalty": [StrOptions(set(PENALTIES)), Penalty],
        "alpha": [Interval(Real, 0, np.inf, closed="left")],
        "solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, np.inf, closed="neither")],
        "refit_tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "margin": [Interval(Real, 0, np.inf, closed="left")],
        "fit_intercept": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_features: int = 20,
        *,
        pool: str | Pool = "columns",
        penalty: str | Penalty = "frobenius",
        alpha: float = 3e-5,
        solver: str = "lbfgs",
        tol: float = 1e-4,
        refit_tol: float = 0.05,
        max_iter: int = 1000,
        margin: float = 1.0,
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        self.n_features = n_features
        self.pool = pool
        self.penalty = penalty
        self.alpha = alpha
        self.solver = solver
        self.tol = tol
        self.refit_tol = refit_tol
        self.max_iter = max_iter
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose features and fit their weights.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features_in)
            Real or integer numbers; NaN where the pool allows it, as stumps do.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, of which only the ratios count. A weight of zero equals
            leaving the row out, except that ``classes_`` still holds its label.

        Returns
        -------
        self
            A fit that fails leaves an earlier fit as it was. A fit that is interrupted
            (Ctrl-C) raises ``KeyboardInterrupt`` and leaves the finished rounds.
        """
        check_labels_of_one_type(y)
        pool = new_pool(self.pool)
        # Validation writes attributes: on a copy, so that a failed fit changes nothing.
        checked = copy.copy(self)
        data, labels = check_data(checked, X, y, pool.allows_nan)
        classes, index = encode_labels(labels)
        weight = check_weights(sample_weight, data, self.class_weight, classes, index)
        earlier = self._earlier_path(data.shape[1], classes)
        if weight.min() == 0:
            kept = np.flatnonzero(weight)
            data, index, weight = data[kept], index[kept], weight[kept]
        fitted = partial(_fitted_attributes, checked, classes)
        refit, stopping = self._refit(), self._stopping()
        path = None
        with progress_bars(bool(self.verbose)):
            with single_threaded_blas:  # whose sums depend on its threads
                pool.fit(data, weight, centred=self.fit_intercept)
            n_rounds = max(0, min(self.n_features, pool.n_atoms_) - len(earlier or ()))
            callbacks = FitCallbacks(self, n_rounds, X, y, sample_weight)
            with Rows(data, index, weight, pool, classes.size, self.fit_intercept) as rows:
                advance = rounds_bar(n_rounds)
                try:
                    if earlier is None:
                        path = rounds.begin(rows, refit, stopping)
                    else:
                        path = rounds.resume(rows, refit, earlier)
                    for round_ in rounds.run(rows, refit, stopping, path):
                        advance(round_)
                        if callbacks.round_ended(partial(fitted, path)):
                            path.stop_reason = StopReason.CALLBACK
                            break
                    rounds.finish(rows, refit, stopping, path)
                except KeyboardInterrupt:
                    if path:
                        path.stop_reason = StopReason.INTERRUPTED
                        self._set_fitted(fitted(path))
                    raise
        _warn_where_not_converged(path)
        self._set_fitted(fitted(path))
        callbacks.fit_ended(partial(fitted, path))
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores, (n_samples, n_classes).

        For two classes, that of the second less that of the first, (n_samples,).
        """
        return _decision(self._model().scores(self._check_rows(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the highest score for each row; ties go to the first class."""
        scores = self._model().scores(self._check_rows(X))
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the softmax of the scores, (n_samples, n_classes).

        With ``margin=0`` these are the probabilities of logistic regression. A margin
        trains for the decision: the order of classes is right, the values are not
        calibrated.
        """
        return softmax(self._model().scores(self._check_rows(X)), axis=1)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of ``predict_proba``, (n_samples, n_classes)."""
        return log_softmax(self._model().scores(self._check_rows(X)), axis=1)

    def transform(self, X: Any) -> Any:
        """Return the columns of the chosen atoms, (n_samples, n_columns), in the order chosen."""
        model = self._model()
        return model.features.columns(self._check_rows(X))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the chosen columns, in the order chosen."""
        model = self._model()
        names = _check_feature_names_in(self, input_features)
        return np.asarray(model.features.names(names), dtype=object)

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield the decision function of the first 1, 2, ... features."""
        yield from (_decision(scores) for scores in self._staged_scores(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the predictions of the first 1, 2, ... features."""
        yield from (self.classes_[scores.argmax(axis=1)] for scores in self._staged_scores(X))

    def at(self, t: int) -> Self:
        """Return the classifier of the first ``t`` features, from the same run.

        Its weights are those of round t, refit to ``refit_tol`` of its score; only the
        last round's are refit to ``tol / 10``.
        """
        check_is_fitted(self)
        path = self.path_.first(t)
        shorter = copy.copy(self).set_params(n_features=max(1, int(t)))
        shorter.__dict__.update(_fitted_attributes(self, self.classes_, path))
        return shorter

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = takes_nan(self.pool)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _refit(self) -> Refit:
        penalty = PENALTIES[self.penalty]() if isinstance(self.penalty, str) else self.penalty
        return Refit(LogisticLoss(self.margin), penalty, self.alpha, self.solver, self.max_iter)

    def _stopping(self) -> rounds.Stopping:
        return rounds.Stopping(self.n_features, self.tol, self.refit_tol)

    def _earlier_path(self, n_columns: int, classes: NDArray[Any]) -> Path | None:
        """Return the path to go on from, if there is one and it fits the data."""
        if not self.warm_start or not hasattr(self, "path_"):
            return None
        if n_columns != self.n_features_in_ or not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start=True goes on from a fit on {self.n_features_in_} columns and the "
                f"classes {self.classes_.tolist()}; X has {n_columns} columns and y the classes "
                f"{classes.tolist()}. Fit the same data, or set warm_start=False."
            )
        if self.n_features < len(self.path_):
            raise ValueError(
                f"n_features={self.n_features} is below the {len(self.path_)} features already "
                f"chosen: warm_start=True takes at least as many. Use at({self.n_features}) for "
                "fewer."
            )
        return self.path_

    def _set_fitted(self, attributes: dict[str, Any]) -> None:
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(attributes)

    def _model(self) -> Model:
        check_is_fitted(self)
        return Model(self.path_.features.first(self.selected_.size), self.coef_, self.intercept_)

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        finite = "allow-nan" if self.path_.features.allows_nan else True
        return validate_data(self, X, accept_sparse=SPARSE, reset=False, ensure_all_finite=finite)

    def _staged_scores(self, X: Any) -> Iterator[NDArray[np.float64]]:
        check_is_fitted(self)
        columns = self.path_.features.columns(self._check_rows(X))
        if sp.issparse(columns):
            columns = columns.toarray()
        for t in range(1, len(self.path_) + 1):
            model = self.path_.at(t)
            yield columns[:, : model.coef.shape[1]] @ model.coef.T + model.intercept


def _decision(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores as scikit-learn wants them: a difference for two classes."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def _fitted_attributes(
    checked: ShareBoostClassifier, classes: NDArray[Any], path: Path
) -> dict[str, Any]:
    """Return all that a fitted classifier holds, by attribute name.

    ``checked`` holds what validation learned of X.
    """
    model = path.at(len(path))
    inputs = ("n_features_in_", "feature_names_in_")
    return {
        **{name: getattr(checked, name) for name in inputs if hasattr(checked, name)},
        "classes_": classes,
        "path_": path.copy(),  # a run may go on from here without this fit
        "selected_": path.selected,
        "coef_": model.coef,
        "intercept_": model.intercept,
        "n_iter_": path.n_iter,
    }


def _warn_where_not_converged(path: Path) -> None:
    """Warn once of all refits that ended above their tolerance."""
    late = [(t, r.status) for t, r in enumerate([path.start, *path]) if not r.status.converged]
    if not late:
        return
    t, status = late[-1]
    others = f" Rounds that ended so too: {[t for t, _ in late[:-1]]}." if len(late) > 1 else ""
    which = f"round {t}" if t else "round 0, the intercept alone,"
    warnings.warn(
        f"The refit of {which} ended with a gradient of {status.gradient:.2g} where "
        f"{status.tolerance:.2g} was asked for.{others} {status.advice}",
        ConvergenceWarning,
        stacklevel=4,
    )
