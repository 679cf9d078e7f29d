"""Mixed norms as a scikit-learn classifier, eq. (5) of the paper."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from ..classifier import ShareBoostClassifier
from ..dataset import Sample
from ..losses import LogisticLoss
from ..pools import Pool
from ..pools.by_name import new_pool
from .base import Rival
from .norm_path import NormPath, Plan
from .norms import NORMS

# Every alpha takes passes over all atoms, and numbers for each of them.
MOST_ATOMS = 1_000_000

# Parameters that mean what they mean in ShareBoost.
SHARED = ("pool", "margin", "fit_intercept", "class_weight", "verbose")


class MixedNormClassifier(Rival):
    r"""A linear classifier whose weights have a small mixed norm, and so few columns.

    It minimises ``L(W) + alpha * sum over features j of norm(W_j)``, with L the average of
    ShareBoost's loss and ``W_j`` the weights of a feature for all classes: eq. (5) of [1]_.
    That is the convex neighbour of what ShareBoost does greedily. The larger alpha, the
    fewer features have weights at all. One fit gives the minima for a whole path of falling
    alphas.

    Parameters
    ----------
    norm : {"linf1", "l21"}, default="linf1"
        Norm of a feature's weights:

        - ``"linf1"``: the largest magnitude, the norm of the paper's section 7.2 [2]_. Once
          a class has a weight, all others may have one as large for nothing.
        - ``"l21"``: the Euclidean norm, as in the group lasso of glmnet and adelie.
    pool : {"columns", "stumps", "products", "pieces", "templates"} or Pool, default="columns"
        The candidates, as in ``ShareBoostClassifier``, fewer than a million. The norm is of
        weights of scaled columns.
    alpha : float or None, default=None
        The weight of the norm. The classifier is the minimiser for it; ``path`` and
        ``n_features`` do not count then. None: a path.
    path : int or array-like, default=50
        Values of alpha: how many, evenly spaced on a logarithmic scale from the least for
        which no feature is needed; or the values themselves. The classifier is the minimiser
        for the smallest.
    path_ratio : float, default=0.01
        The smallest alpha of the path over the largest, where ``path`` is a number.
    n_features : int or None, default=None
        Where the path ends: before the first minimiser that uses more features. Where ``path``
        is a number, up to 10 more alphas are then tried between the last two, to come nearer
        to as many as are allowed. It ends with fewer where the smallest alpha needs no more:
        then lower ``path_ratio``. None: at the smallest alpha.
    refit : bool, default=False
        Whether the weights of the features that a minimiser uses are fit again without the
        norm, which also shrinks weights that it does not remove. The minima themselves stay
        what they are.
    refit_alpha : float, default=0.0
        The weight of a Frobenius penalty in the refit, as ShareBoost's ``alpha``. With 0,
        where the features separate the classes, weights grow until the gradient is below 1e-5.
    tol : float, default=1e-6
        Every minimum meets its conditions to this: the gradient of L is within ``tol`` of
        what the norm's subdifferential allows, for every feature of the pool. Where the least
        alpha that needs no feature is below 0.1, it is 10 ``tol`` times that.
    max_iter : int, default=10000
        The most iterations of one search for a minimum; of an alpha there may be a few, as
        features join.
    margin, fit_intercept, class_weight
        As in ``ShareBoostClassifier``. With ``margin=0`` the loss is that of multinomial
        logistic regression. The intercept is not penalised.
    verbose : int, default=0
        1 shows a progress bar with the loss.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape ``(n_classes, n_features_in_)`` or ``(1, n_features_in_)``
        Weights of the columns of X, zero for those that are not read, such that
        ``X @ coef_.T + intercept_`` is ``decision_function(X)``. Two classes have one row. Only
        where the features are columns of X.
    intercept_ : ndarray of shape (n_classes,) or (1,)
    weights_ : ndarray of shape (n_classes, n_selected_columns)
        Weights of the features in use, in the order of ``selected_`` and the units of X. Two
        classes have two rows.
    feature_importances_ : ndarray of shape ``(n_features_in_,)``
        Share of each column of X in the scaled weights, for features of any pool; sums to 1.
    selected_ : ndarray of shape (n_selected,)
        The features that have weights.
    path_ : RivalPath
        The minimum for every alpha, that of no feature first: ``n_features``, ``losses``
        (averages, without the norm), ``seconds``, ``at(t)``, ``stop_reason``, and
        ``to_frame()``, which tells also ``alpha``, the ``norm`` of the minimiser, before any
        refit, and the ``violation`` of its conditions. The number of features need not rise
        from one alpha to the next.
    columns_ : ndarray
        The columns of X that the classifier reads, in order.
    cost_ : float
        Its number of features.
    n_iter_ : int
        Iterations for the whole path.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Where X had string column names.

    Notes
    -----
    The method is that of accelerated proximal gradients with restart, in float64. The step
    for the largest magnitude is the projection on an l1 ball. Only features that are in use or
    may come into use are looked at in an iteration; for every alpha a pass over the whole
    pool checks all others.

    Where the pool has divisors (``Union`` with ``costs``, ``Groups`` with ``score="mean"``),
    the norm of a feature counts so many times. The weights of a group, or of a piece, have
    one norm together.

    References
    ----------
    .. [1] S. Shalev-Shwartz, Y. Wexler and A. Shashua, "ShareBoost: Efficient Multiclass
       Learning with Feature Sharing", 2011.
    .. [2] J. Duchi and Y. Singer, "Boosting with Structural Sparsity", 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from shareboost.rivals import MixedNormClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> clf = MixedNormClassifier(n_features=3).fit(X, y)
    >>> list(clf.get_feature_names_out())
    ['alcohol', 'od280/od315_of_diluted_wines', 'proline']
    """

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
        return new_pool(self.pool)

    def _check(self, n_classes: int) -> None:
        self._alphas()

    def _engine(self, sample: Sample, pool: Pool, n_classes: int) -> NormPath:
        if pool.n_atoms_ >= MOST_ATOMS:
            raise ValueError(
                f"pool has {pool.n_atoms_} features here: MixedNormClassifier takes fewer than "
                f"{MOST_ATOMS}. ShareBoostClassifier takes any number."
            )
        plan = Plan(
            loss=LogisticLoss(self.margin),
            norm=NORMS[self.norm],
            alphas=self._alphas(),
            ratio=self.path_ratio,
            most=np.inf if self.n_features is None or self.alpha is not None else self.n_features,
            tol=self.tol,
            max_iter=self.max_iter,
            refit=self.refit_alpha if self.refit else None,
        )
        return NormPath(sample, pool.widen(), n_classes, self.fit_intercept, plan)

    def _alphas(self) -> NDArray[np.float64] | int:
        """Return the weights of the norm, falling, or how many of them."""
        if self.alpha is not None:
            return np.array([self.alpha], dtype=np.float64)
        if isinstance(self.path, (int, np.integer)):
            return int(self.path)
        try:
            alphas = np.asarray(self.path, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"path={self.path!r} is not valid: {error}.") from None
        if alphas.ndim != 1 or not alphas.size or not (np.isfinite(alphas) & (alphas > 0)).all():
            raise ValueError(
                f"path={self.path!r} is not valid: it takes the number of alphas, at least 2, or a "
                "list of them, finite and above 0."
            )
        return np.unique(alphas)[::-1]
