"""Mixed norms, eq. (5) of the paper: one alpha after the other, each from the minimum before."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from ..classifier import ShareBoostClassifier
from ..losses import LogisticLoss
from ..path import StopReason
from ..penalties import Frobenius
from ..pools.base import Pool
from ..pools.templates import Templates
from ..rows import Rows
from ..solvers import Refit
from .active_atoms import ActiveAtoms, Minimum
from .base import Engine, Matrix, Rival, RivalStep, Vector, late_refit
from .proximal import NORMS

# Where the next alpha of a path would use too many features, so many are tried between.
BISECTIONS = 10

# The refit without the norm ends at this gradient, as a run of ShareBoost does by default. A
# Frobenius penalty too small to be felt settles what the data leave open.
REFIT_TOL, LEAST_REFIT_ALPHA = 1e-5, 1e-9

# Parameters that mean what they mean in ShareBoost.
SHARED = ("pool", "margin", "fit_intercept", "class_weight", "verbose")


class NormPath(Engine):
    """A run over falling weights of the norm."""

    rival: MixedNormClassifier

    def __init__(self, *run: Any):
        super().__init__(*run)
        self.pool.widen()
        self.n_steps = 1 + self.rival._alphas(1.0).size
        limit = self.rival.n_features if self.rival.alpha is None else None
        self._most = np.inf if limit is None else limit
        self._refitted: tuple[Matrix, float] | None = None  # the last weights and their loss

    def steps(self) -> Iterator[RivalStep]:
        """Yield the intercept alone, for the least alpha that needs no feature, then the path."""
        clf, loss = self.rival, LogisticLoss(self.rival.margin)
        with Rows(*self.sample[:3], self.pool, self.n_classes, clf.fit_intercept) as rows:
            self._started = perf_counter()
            problem = ActiveAtoms(rows, loss, NORMS[clf.norm], clf.tol, clf.max_iter)
            self._problem, self.units = problem, problem.units
            refit_alpha = max(clf.refit_alpha, LEAST_REFIT_ALPHA)
            self._refit = Refit(loss, Frobenius(), refit_alpha, "lbfgs", clf.max_iter)
            self._refit_rows = rows.fork()
            minimum = problem.without_atoms()
            yield self._step(minimum)
            varies = minimum.alpha > 0.0  # some atom
            self.stop_reason = StopReason.LAST_ALPHA if varies else StopReason.EXHAUSTED
            for alpha in clf._alphas(minimum.alpha).tolist() if varies else []:
                following = problem.at(alpha, minimum)
                if following.atoms.size > self._most:
                    self.stop_reason = StopReason.N_FEATURES
                    break
                minimum = following
                yield self._step(minimum)
            between = self.stop_reason is StopReason.N_FEATURES and not np.ndim(clf.path)
            for _ in range(BISECTIONS if between else 0):
                if minimum.atoms.size == self._most:
                    break
                middle = problem.at(float(np.sqrt(minimum.alpha * following.alpha)), minimum)
                if middle.atoms.size > self._most:
                    following = middle
                else:
                    minimum = middle
                    yield self._step(minimum)
            if self.stop_reason is StopReason.N_FEATURES and not minimum.atoms.size:
                self.late.append(
                    "The first minimum that uses any features uses more than "
                    f"n_features={clf.n_features}: the classifier uses none. Give larger alphas, "
                    "or allow more features."
                )

    def _step(self, minimum: Minimum) -> RivalStep:
        """Return the step of a minimum, its weights refit where asked for."""
        clf, tol, missed = self.rival, self._problem.tol, minimum.violation
        atoms, W, loss = tuple(minimum.atoms.tolist()), minimum.weights.T, minimum.loss
        iterations = minimum.iterations
        if clf.refit:
            W, loss, more = self._debias(minimum)
            atoms, iterations = self._refit_rows.atoms, iterations + more
        if not missed <= tol:
            self.late.append(
                f"The minimum for alpha={minimum.alpha:.3g} misses its conditions by {missed:.2g}, "
                f"where {tol:.2g} was asked for. Raise max_iter={clf.max_iter} or tol, or end the "
                "path at a larger alpha."
            )
        details = {"alpha": minimum.alpha, "norm": minimum.size, "violation": missed}
        seconds = perf_counter() - self._started
        return RivalStep.of(atoms, W, loss, seconds, iterations, details)

    def _debias(self, minimum: Minimum) -> tuple[Matrix, float, int]:
        """Return weights of the same atoms that no norm shrinks, their loss and the iterations.

        They are sought from the minimum's, in the order of the rows' atoms; the same atoms as
        those before have the same ones again.
        """
        rows, first, atoms = self._refit_rows, int(self.rival.fit_intercept), minimum.atoms.tolist()
        if self._refitted is not None and set(atoms) == set(rows.atoms):
            return *self._refitted, 0
        for atom in set(rows.atoms) - set(atoms):
            rows.remove(rows.atoms.index(atom))
        for atom in [atom for atom in atoms if atom not in rows.atoms]:
            rows.append(atom)
        edges = first + self._problem.starts(atoms)
        weights = dict(zip(atoms, np.split(minimum.weights, edges)[1:], strict=True))
        start = [minimum.weights[:first], *(weights[atom] for atom in rows.atoms)]
        W, status = self._refit(rows, np.concatenate(start).T, REFIT_TOL)
        if not status.converged:
            self.late.append(late_refit("A refit without the norm", status))
        self._refitted = W, status.loss
        return W, status.loss, status.iterations


class MixedNormClassifier(Rival):
    r"""A linear classifier whose weights have a small mixed norm, and so few columns.

    It minimises ``L(W) + alpha * sum over features j of norm(W_j)``, with L the average of
    ShareBoost's loss and ``W_j`` the weights of a feature for all classes: eq. (5) of the paper,
    the convex neighbour of what ShareBoost does greedily. One fit gives the minima for a whole
    path of falling alphas; the smaller alpha, the more features have weights.

    Parameters
    ----------
    norm : {"linf1", "l21"}, default="linf1"
        Norm of a feature's weights: the largest magnitude, that of the paper's section 7.2
        [1]_, with which all classes may have a weight once one has; or the Euclidean norm, as
        in the group lasso of glmnet and adelie.
    pool : str or Pool, default="columns"
        The candidates, as in ``ShareBoostClassifier``, but no templates. The norm is of weights of
        scaled columns. Some numbers are held of every candidate.
    alpha : float or None, default=None
        The weight of the norm, without any ``path`` or ``n_features``. None: a path.
    path : int or array-like, default=50
        Values of alpha: how many, evenly spaced on a logarithmic scale from the least that needs no
        feature; or the values themselves. The classifier is the minimiser for the smallest.
    path_ratio : float, default=0.01
        The smallest alpha of the path over the largest, where ``path`` is a number.
    n_features : int or None, default=None
        Where the path ends: before the first minimiser that uses more features. Where ``path``
        is a number, up to 10 alphas between the last two are then tried, to come nearer to as many
        as are allowed. Where the smallest alpha needs fewer, lower ``path_ratio``.
    refit : bool, default=False
        Whether the weights of the features that a minimiser uses are fit again without the
        norm, which also shrinks weights that it does not remove.
    refit_alpha : float, default=0.0
        The weight of a Frobenius penalty in the refit, as ShareBoost's ``alpha``.
    tol : float, default=1e-6
        Every minimum meets its conditions to this: the gradient of L is within ``tol`` of
        what the norm's subdifferential allows, for every feature of the pool. Where the least
        alpha that needs no feature is below 0.1, it is 10 ``tol`` times that.
    max_iter : int, default=10000
        The most iterations of one search for a minimum; an alpha may take a few searches.
    margin, fit_intercept, class_weight, verbose
        As in ``ShareBoostClassifier``. With ``margin=0`` the loss is that of multinomial
        logistic regression. The intercept is not penalised.

    Attributes
    ----------
    classes_, coef_, intercept_, feature_importances_, columns_, n_features_in_, feature_names_in_
        As in ``ShareBoostClassifier``.
    selected_, weights_, cost_, n_iter_
        As in ``ShareBoostClassifier``, for the features that have weights.
    path_ : RivalPath
        The minimum for every alpha, that of no feature first: ``n_features``, ``losses``
        (averages, without the norm), ``seconds``, ``at(t)``, ``stop_reason``, and
        ``to_frame()``, which tells also ``alpha``, the ``norm`` of the minimiser, before any
        refit, and the ``violation`` of its conditions.

    Notes
    -----
    Minima are found by accelerated proximal gradients with restart, in float64. Where the pool has
    divisors (``Union`` with ``costs``, ``Groups`` with ``score="mean"``), the norm of a feature
    counts so many times. The weights of a group, or of a piece, have one norm together.

    References
    ----------
    .. [1] J. Duchi and Y. Singer, "Boosting with Structural Sparsity", 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from shareboost.rivals import MixedNormClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> clf = MixedNormClassifier(n_features=3).fit(X, y)
    >>> list(clf.get_feature_names_out())
    ['alcohol', 'od280/od315_of_diluted_wines', 'proline']
    """

    _engine = NormPath
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "norm": [StrOptions(set(NORMS))],
        "alpha": [Interval(Real, 0, np.inf, closed="neither"), None],
        "path": [Interval(Integral, 2, None, closed="left"), "array-like"],
        "path_ratio": [Interval(Real, 0, 1, closed="neither")],
        "n_features": [Interval(Integral, 1, None, closed="left"), None],
        "refit": ["boolean"],
        "refit_alpha": [Interval(Real, 0, np.inf, closed="left")],
        "tol": [Interval(Real, 0, np.inf, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        **{name: ShareBoostClassifier._parameter_constraints[name] for name in SHARED},
    }

    n_features: int | None

    def __init__(
        self,
        norm: str = "linf1",
        *,
        pool: str | Pool = "columns",
        alpha: float | None = None,
        path: int | ArrayLike = 50,
        path_ratio: float = 0.01,
        n_features: int | None = None,
        refit: bool = False,
        refit_alpha: float = 0.0,
        tol: float = 1e-6,
        max_iter: int = 10000,
        margin: float = 1.0,
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int = 0,
    ):
        self.norm = norm
        self.pool = pool
        self.alpha = alpha
        self.path = path
        self.path_ratio = path_ratio
        self.n_features = n_features
        self.refit = refit
        self.refit_alpha = refit_alpha
        self.tol = tol
        self.max_iter = max_iter
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.verbose = verbose

    def _new_pool(self) -> Pool:
        pool = super()._new_pool()
        if any(isinstance(each, Templates) for each in (pool, *pool.get_params().values())):
            raise ValueError(
                "pool is not valid for MixedNormClassifier: Templates sums codes of one byte, "
                "which are too coarse for its conditions. Give the columns of templates as X: "
                "Templates(...).fit(X).features(range(n)).columns(X)."
            )
        return pool

    def _alphas(self, first: float) -> Vector:
        """Return the weights of the norm, falling, after the first, that of no feature."""
        if self.alpha is not None:
            return np.array([self.alpha], dtype=np.float64)
        if isinstance(self.path, (int, np.integer)):
            return first * np.geomspace(1.0, self.path_ratio, self.path)[1:]
        alphas = np.asarray(self.path)
        numbers = alphas.ndim == 1 and alphas.size and alphas.dtype.kind in "iuf"
        if not numbers or not (np.isfinite(alphas) & (alphas > 0)).all():
            raise ValueError(
                f"path={self.path!r} is not valid: it takes the number of alphas, at least 2, or a "
                "list of them, finite and above 0."
            )
        return np.unique(alphas.astype(np.float64))[::-1]
