"""JointBoost as a scikit-learn classifier, section 7.3 of the paper."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from ..dataset import Sample
from ..pools import Pool, Stumps
from .base import Rival
from .class_sets import MOST_CLASSES_EXHAUSTIVE, SEARCHES
from .gentleboost import GentleRounds


class JointBoostClassifier(Rival):
    r"""JointBoost: boosted stumps, each shared by a set of classes.

    Every round chooses one stump ``1[v <= threshold]`` and one set S of classes, and adds to
    the scores H of the classes in S the same ``b`` where the stump is 1 and ``a`` where it is
    0, and to that of each other class a constant [2]_. With the signs z, 1 for an example's
    own class and -1 for all others, and the weights ``w = exp(-z H)`` of GentleBoost, it is
    the round of the least ``J = sum over classes and examples of w (z - h)^2``. So the column
    of a stump that is chosen once has two values, 0 and ``b - a``, where ShareBoost's may have
    any (sections 2 and 7.3 of [1]_), and no earlier round is ever refit.

    Parameters
    ----------
    n_features : int, default=100
        How many different stumps the classifier may use at most. A stump may be chosen again,
        by other classes perhaps, which counts as no further one.
    search : {"forward", "exhaustive"}, default="forward"
        How the set of classes is found that shares a round's stump:

        - ``"forward"``: the best-first heuristic of [2]_. A set grows from none to all classes,
          each time by the class for which J is then lowest over all stumps; the best of these
          ``n_classes`` sets is taken.
        - ``"exhaustive"``: all sets are tried, ``2^n_classes - 1`` of them. For up to 12
          classes.
    max_bins : int or None, default=256
        The most bins that a column is cut into, as in ``shareboost.pools.Stumps``.
    max_iter : int, default=1000
        The most rounds; ``path_.stop_reason`` tells where they were too few.
    tol : float, default=1e-6
        The rounds stop once the best of them would lower the loss by no more than this, to
        second order: nothing is left to gain. The loss is 1 at the start, and bounds the share
        of pairs of an example and a class whose score has the wrong sign, so a gain of 1e-6
        is one pair of a million. 0 runs on until nothing at all is gained.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as everywhere in scikit-learn.
    verbose : int, default=0
        1 shows a progress bar with the loss.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    weights_ : ndarray of shape (n_classes, n_selected)
        Weights of the chosen stumps, in the order of ``selected_``: of each, the sum of
        ``b - a`` over the rounds that chose it for the class.
    intercept_ : ndarray of shape (n_classes,) or (1,)
        Sums of ``a``, and of the constants of rounds whose stump the class has no share in. For
        two classes, that of the second less that of the first.
    feature_importances_ : ndarray of shape ``(n_features_in_,)``
        Share of each column of X in the scaled weights, for features of any pool; sums to 1.
    selected_ : ndarray of shape (n_selected,)
        The chosen stumps in the order they were first chosen; ``path_.features`` has the
        column and the threshold of each.
    path_ : RivalPath
        The model of no stump, and that after every round: ``losses`` (the average over
        examples, by weight, and classes of ``exp(-z H)``), ``n_features``, ``seconds``,
        ``stop_reason``, ``at(t)`` and ``to_frame()``, which tells of each round its stump, the
        ``atom`` and its ``name``, the ``classes`` that share it, by their places in
        ``classes_``, and its ``gain``, what the loss was to fall by to second order.
    columns_ : ndarray
        The columns of X that the classifier reads, in order.
    cost_ : float
        The number of stumps.
    n_iter_ : int
        The number of rounds.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Where X had string column names.

    Notes
    -----
    Stumps are cut at quantiles where a column has more than ``max_bins`` values. NaN in X is
    allowed and lies above all thresholds.

    For k classes and B thresholds of all columns together, a round makes one pass over the
    data, which adds up weights for each threshold, ``2 k`` additions for every entry of X, and
    then compares sets: ``B k (k + 1) / 2`` sums of the forward search, ``B 2^k`` of the
    exhaustive one. The sums take ``16 k B`` bytes, and each example 32 bytes a class.

    Rounds never raise the loss: it falls by 0.56 times the round's gain at least, as every h
    is a least-squares fit to signs and so within -1 and 1.

    Among rounds that are tied the lowest stump is taken, and of its sets the one that the
    search met first; the exhaustive search meets smaller sets first. Errors J that differ by
    less than 1e-9 of that of h = 0 are tied: sums are made in float64.

    The exponential loss is least where ``H = log(p / (1 - p)) / 2``, p being the probability
    of the class against all others. So ``predict_proba`` gives the sigmoids of ``2 H``, over
    their sum. Of two classes both scores are estimates of the same log-odds, one of them with
    the sign turned; their mean makes it the sigmoid of their difference.

    References
    ----------
    .. [1] S. Shalev-Shwartz, Y. Wexler and A. Shashua, "ShareBoost: Efficient Multiclass
       Learning with Feature Sharing", 2011.
    .. [2] A. Torralba, K. Murphy and W. Freeman, "Sharing Visual Features for Multiclass and
       Multiview Object Detection", IEEE Transactions on Pattern Analysis and Machine
       Intelligence 29 (5), 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shareboost.rivals import JointBoostClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = JointBoostClassifier(n_features=2).fit(X, y)
    >>> list(clf.get_feature_names_out())
    ['petal length (cm) ≤ 2.45', 'petal length (cm) ≤ 4.75']
    >>> [step.details["classes"] for step in clf.path_.steps[1:4]]  # that share the stump
    [(0,), (2,), (0,)]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "search": [StrOptions(set(SEARCHES))],
        "max_bins": [Interval(Integral, 2, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, np.inf, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "verbose": ["verbose"],
    }

    n_features: int

    def __init__(
        self,
        n_features: int = 100,
        *,
        search: str = "forward",
        max_bins: int | None = 256,
        max_iter: int = 1000,
        tol: float = 1e-6,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int = 0,
    ):
        self.n_features = n_features
        self.search = search
        self.max_bins = max_bins
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.verbose = verbose

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the sigmoids of twice the scores over their sum, (n_samples, n_classes).

        For two classes, that of the second is the sigmoid of the decision function.
        """
        return super().predict_proba(X)

    def _new_pool(self) -> Pool:
        return Stumps(max_bins=self.max_bins, scale="none")

    def _centred(self) -> bool:
        """Return True: every round adds constants, so that a constant stump is of no use."""
        return True

    def _engine(self, sample: Sample, pool: Pool, n_classes: int) -> GentleRounds:
        return GentleRounds(
            sample, pool.widen(), n_classes, self.search, self.n_features, self.max_iter, self.tol
        )

    def _check(self, n_classes: int) -> None:
        if self.search == "exhaustive" and n_classes > MOST_CLASSES_EXHAUSTIVE:
            raise ValueError(
                f"search='exhaustive' is not valid for {n_classes} classes: it tries every set "
                f"of them, and takes at most {MOST_CLASSES_EXHAUSTIVE} classes. Take "
                "search='forward', the heuristic, instead."
            )

    def _takes_nan(self) -> bool:
        return True

    @property
    def _sigmoid_slope(self) -> float | None:
        return None if self.classes_.size == 2 else 2.0
