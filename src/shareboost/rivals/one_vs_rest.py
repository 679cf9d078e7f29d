"""The 1-vs-rest approach of section 7.1: the same greedy algorithm, for every class on its own."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..algorithm import Run, Stopping
from ..classifier import ShareBoostClassifier
from ..dataset import Sample
from ..losses import BinaryLogisticLoss
from ..penalties import PENALTIES, Penalty
from ..pools import Pool
from ..pools.by_name import new_pool
from ..rows import Rows
from ..selection.pricing import Terms
from ..selection.rules import Selector
from ..solvers import Refit
from .base import Rival
from .ovr_path import SPENDS, ClassTurns

# Parameters that mean for one class what they mean in ShareBoost for all.
SHARED = (
    "pool",
    "rule",
    "shortlist",
    "penalty",
    "alpha",
    "solver",
    "tol",
    "refit_tol",
    "max_iter",
    "margin",
    "fit_intercept",
    "class_weight",
    "verbose",
)


class OneVsRestGreedyClassifier(Rival):
    """A classifier of one greedy binary classifier a class, each with features of its own.

    Every class against the rest is a binary problem. Its logistic loss is minimised by the
    algorithm of ``ShareBoostClassifier``: choose the best feature by the ``rule``, refit the
    weights of all that were chosen, repeat. What the classifier uses is the union over
    classes, and that grows with the number of classes: what sharing is measured against in
    section 7.1 of Shalev-Shwartz, Wexler and Shashua, "ShareBoost: Efficient Multiclass
    Learning with Feature Sharing", 2011.

    Parameters
    ----------
    n_features : int, default=20
        How many different features all classes together may use at most. A class may add a
        feature that another one uses already for nothing.
    pool : {"columns", "stumps", "products", "pieces", "templates"} or Pool, \
            default="columns"
        The candidates, as in ``ShareBoostClassifier``.
    spend : {"largest", "in_turn"}, default="largest"
        Which class adds its best feature next: the one whose best feature has the largest
        score by the ``rule`` (the first of equals), or one class after the other. A class
        that has nothing to gain is passed over.
    rule, shortlist, penalty, alpha, solver, max_iter, margin, fit_intercept, class_weight
        As in ``ShareBoostClassifier``, for the weights of every class on their own. So
        ``alpha`` weighs the penalty of a class against its binary average loss. Class weights
        are weights of rows, in the problems of all classes.
    tol : float, default=1e-4
        A class has nothing to gain once no feature has a gradient above ``tol``. The last
        refits end when every feature is below ``tol / 10``.
    refit_tol : float, default=0.05
        The refit of a step ends once the gradient of every feature of the class is below this
        fraction of the one that the step's feature had when it was chosen.
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
    weights_ : ndarray of shape (n_classes, n_columns)
        Weights of the features' columns, in the order of ``selected_`` and the units of X;
        zero where a class does not use a feature. Two classes have two rows.
    feature_importances_ : ndarray of shape ``(n_features_in_,)``
        Share of each column of X in the scaled weights, for features of any pool; sums to 1.
    selected_ : ndarray of shape (n_selected,)
        The features that any class uses, in the order of their first use.
    path_ : RivalPath
        Every step: ``n_features``, ``losses`` (the mean over classes of their average binary
        losses), ``seconds``, ``at(t)``, ``stop_reason``, and ``to_frame()``, which also tells
        the index of the ``class`` that added an ``atom``, and its ``score``. The first step
        is that of the intercepts alone, with -1 for both.
    columns_ : ndarray
        The columns of X that the classifier reads, in order.
    cost_ : float
        Its number of features.
    n_iter_ : int
        Iterations of all refits.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Where X had string column names.

    Notes
    -----
    The steps end where ``n_features`` are in use and the class whose turn it is would bring
    another; nobody else adds anything then, not even what is in use already. They end too
    where no class has anything to gain or to choose.

    The class of the highest score is predicted. Probabilities are the sigmoids of the scores
    divided by their sum, as scikit-learn has them for one-vs-rest.

    The problems of two classes are each other's mirror images, so both choose alike.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shareboost.rivals import OneVsRestGreedyClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = OneVsRestGreedyClassifier(n_features=2).fit(X, y)
    >>> list(clf.get_feature_names_out())
    ['petal length (cm)', 'petal width (cm)']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "spend": [StrOptions(set(SPENDS))],
        **{name: ShareBoostClassifier._parameter_constraints[name] for name in SHARED},
    }

    n_features: int

    def __init__(
        self,
        n_features: int = 20,
        *,
        pool: str | Pool = "columns",
        spend: str = "largest",
        rule: str = "gradient",
        shortlist: int | None = 10,
        penalty: str | Penalty = "frobenius",
        alpha: float = 3e-5,
        solver: str = "lbfgs",
        tol: float = 1e-4,
        refit_tol: float = 0.05,
        max_iter: int = 1000,
        margin: float = 1.0,
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int = 0,
    ):
        self.n_features = n_features
        self.pool = pool
        self.spend = spend
        self.rule = rule
        self.shortlist = shortlist
        self.penalty = penalty
        self.alpha = alpha
        self.solver = solver
        self.tol = tol
        self.refit_tol = refit_tol
        self.max_iter = max_iter
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.verbose = verbose

    def _new_pool(self) -> Pool:
        return new_pool(self.pool)

    def _engine(self, sample: Sample, pool: Pool, n_classes: int) -> ClassTurns:
        penalty = PENALTIES[self.penalty]() if isinstance(self.penalty, str) else self.penalty
        loss = BinaryLogisticLoss(self.margin)
        refit = Refit(loss, penalty, self.alpha, self.solver, self.max_iter)
        stopping = Stopping(self.n_features, self.tol, self.refit_tol)
        terms = Terms(np.ones(pool.n_atoms_))

        def new_run(rows: Rows) -> Run:
            selector = Selector(rows, terms, self.rule, self.shortlist)
            return Run(rows, refit, stopping, selector)

        return ClassTurns(
            sample, pool, n_classes, self.fit_intercept, new_run, self.n_features, self.spend
        )

    @property
    def _sigmoid_slope(self) -> float:
        return 1.0
