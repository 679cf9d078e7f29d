"""JointBoost, section 7.3 of the paper: GentleBoost with stumps that sets of classes share."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..losses import Labels
from ..path import StopReason
from ..pools.base import Pool
from ..pools.stumps import Stumps
from ..rows import Block, ByAtom, Rows, Totals
from ..shard import RESIDUAL
from .base import Engine, Matrix, Rival, RivalStep, Vector, of_blocks
from .class_sets import MOST_CLASSES_EXHAUSTIVE, SEARCHES, Part, Shared, Sums, best_shared, ratio

# Weights below this, the largest being 1, have no say in any sum.
NEGLIGIBLE = 1e-30


class Fit(NamedTuple):
    """What a round adds to the scores: ``constants + slopes * 1[v <= theta]``."""

    shared: Shared
    constants: Vector  # (k,): a for the classes that share the stump, k_c for each other
    slopes: Vector  # (k,): b - a for those that share it, else 0
    gain: float  # what the loss falls by to second order


class Margins:
    """The weights of all examples and classes, ``weight exp(-z H)``, and what is fit to them.

    They are kept as logarithms, and taken over the largest of them, so that none overflows.
    """

    def __init__(self, rows: Rows):
        self.rows = rows
        self.n_classes = rows.n_classes // 2
        # Of each block, (k, n).
        self._logs = of_blocks(rows, lambda b: np.tile(np.log(b.weight), (self.n_classes, 1)))
        self._weigh()

    @property
    def loss(self) -> float:
        """The average over examples, by weight, and classes of ``exp(-z H)``."""
        total = float(np.exp(self._largest) * self.weight.sum())
        return total / (self.n_classes * self.rows.total_weight)

    def _weigh(self) -> None:
        """Take the weights from their logarithms, and their sums over all examples."""
        self._largest = max(float(logs.max()) for logs in self._logs)

        @np.errstate(under="ignore")
        def weigh(block: Block, logs: Matrix) -> tuple[Matrix, Matrix]:
            weights = np.exp(logs - self._largest)
            weights[weights < NEGLIGIBLE] = 0.0
            both = np.concatenate([weights, _times_signs(weights, block.y)])
            block.prepared = self.rows.pool.prepare(both)
            return weights, both.sum(axis=1).reshape(2, -1)

        self._weights, sums = zip(*of_blocks(self.rows, weigh, self._logs), strict=True)
        self.weight, self.signed = np.sum(sums, axis=0)  # (k,) each

    def sums(self) -> Sums:
        """Return the sums of all stumps: the one pass over all columns of a round."""
        k = self.n_classes

        def below(pool: Pool, part: slice, totals: Totals, by_atom: ByAtom) -> Part:
            both = pool.correlations(totals.stats[0], part)
            return Part(part.start, both[:k], both[k:])

        parts = self.rows.over_parts([(RESIDUAL, False)], below)
        return Sums(self.weight, self.signed, parts, self.rows.shard.map)

    def fit(self, shared: Shared) -> Fit:
        """Return the least-squares fit of a stump to the signs of the classes that share it.

        Half of J, the weighted squared error, is the loss after the round to second order,
        up to a constant: what J falls by, of all weight, is twice what the loss falls by.
        """
        pool = self.rows.pool

        def by_side(block: Block, weights: Matrix) -> tuple[Matrix, Matrix]:
            passing = pool.columns(block.data, shared.atom)[0].astype(np.float64)
            sides = np.stack([passing, 1.0 - passing], axis=1)  # below and above the threshold
            return weights @ sides, _times_signs(weights, block.y) @ sides

        weight, signed = np.sum(of_blocks(self.rows, by_side, self._weights), axis=0)
        some = list(shared.classes)
        w, s = weight[some].sum(axis=0), signed[some].sum(axis=0)  # (2,)
        b, a = ratio(s, w)
        constants, slopes = ratio(self.signed, self.weight), np.zeros(self.n_classes)
        explained = constants * self.signed
        explained[some] = 0.0
        constants[some], slopes[some] = a, b - a
        fallen = float(explained.sum() + b * s[0] + a * s[1]) / float(self.weight.sum())
        return Fit(shared, constants, slopes, 0.5 * self.loss * fallen)

    def add(self, fit: Fit) -> None:
        """Add to the scores what a round has fit, and weigh anew."""

        def add(block: Block, logs: Matrix) -> None:
            passing = self.rows.pool.columns(block.data, fit.shared.atom)
            added = fit.constants[:, None] + fit.slopes[:, None] * passing
            logs -= _times_signs(added, block.y)

        of_blocks(self.rows, add, self._logs)
        self._weigh()


def _times_signs(numbers: Matrix, y: Labels) -> Matrix:
    """Return the numbers, (k, n), times the signs z: 1 for the class of an example, else -1."""
    signed = -numbers
    of_class = y, np.arange(y.size)
    signed[of_class] = numbers[of_class]
    return signed


class GentleBoost(Engine):
    """One run of JointBoost.

    The pool is widened: weights of boosting are positive and come in few sizes, so that the
    rounding of sums in float32 would not cancel. On Isolet it came to 1e-5 of a class's weight.
    """

    rival: JointBoostClassifier

    def steps(self) -> Iterator[RivalStep]:
        """Yield the model of no stump, and one after every round."""
        began, k = perf_counter(), self.n_classes
        if self.rival.search == "exhaustive" and k > MOST_CLASSES_EXHAUSTIVE:
            raise ValueError(
                f"search='exhaustive' is not valid for {k} classes: it tries every set, and takes "
                f"at most {MOST_CLASSES_EXHAUSTIVE} classes. Take search='forward'."
            )
        W = np.zeros((k, 1))

        def step(loss: float, atom: int, classes: tuple[int, ...], gain: float) -> RivalStep:
            details = {"atom": atom, "classes": classes, "gain": gain}
            seconds = perf_counter() - began
            return RivalStep.of(tuple(self.units), W, loss, seconds, int(atom >= 0), details)

        yield step(1.0, -1, (), np.nan)
        self.stop_reason = StopReason.EXHAUSTED
        if self.pool.n_atoms_ == 0:
            return
        X, y, weight, *_ = self.sample
        with Rows(X, y, weight, self.pool.widen(), 2 * k, intercept=False) as rows:
            margins = Margins(rows)
            for _ in range(self.rival.max_iter):
                fit = margins.fit(best_shared(margins.sums(), self.rival.search))
                atom = fit.shared.atom
                if not fit.gain > self.rival.tol:
                    self.stop_reason = StopReason.NO_GAIN
                    return
                if atom not in self.units and len(self.units) == self.rival.n_features:
                    self.stop_reason = StopReason.N_FEATURES
                    return
                margins.add(fit)
                # A matrix for each step, one column wider if the stump is new.
                W = np.pad(W, ((0, 0), (0, int(atom not in self.units))))
                self.units[atom] = np.zeros(1), np.ones(1)  # stumps are trained on as they are
                W[:, 0] += fit.constants
                W[:, 1 + list(self.units).index(atom)] += fit.slopes
                yield step(margins.loss, *fit.shared, fit.gain)
        self.stop_reason = StopReason.MAX_ITER


class JointBoostClassifier(Rival):
    r"""JointBoost: boosted stumps, each shared by a set of classes.

    Every round chooses one stump ``1[v <= threshold]`` and one set S of classes, and adds to
    the scores H of the classes in S the same ``b`` where the stump is 1 and ``a`` where it is
    0, and to that of each other class a constant [1]_. With the signs z, 1 for an example's
    own class and -1 for all others, and the weights ``w = exp(-z H)`` of GentleBoost, it is
    the round of the least ``J = sum over classes and examples of w (z - h)^2``. No earlier round
    is ever refit (sections 2 and 7.3 of the paper).

    Parameters
    ----------
    n_features : int, default=100
        How many different stumps the classifier may use at most. A stump that is chosen again,
        by other classes perhaps, counts once.
    search : {"forward", "exhaustive"}, default="forward"
        How the set of classes is found. ``"forward"`` is the best-first heuristic of [1]_: a set
        grows from none to all classes, each time by the class for which J is then lowest, and the
        best of these sets is taken. ``"exhaustive"`` tries all sets, for up to 12 classes.
    max_bins : int or None, default=256
        The most bins that a column is cut into, as in ``shareboost.pools.Stumps``.
    max_iter : int, default=1000
        The most rounds; ``path_.stop_reason`` tells where they were too few.
    tol : float, default=1e-6
        The rounds stop once the best of them would lower the loss by no more than this, to
        second order. The loss is 1 at the start, and bounds the share of pairs of an example
        and a class whose score has the wrong sign.
    class_weight, verbose
        As in ``ShareBoostClassifier``.

    Attributes
    ----------
    classes_, feature_importances_, columns_, n_features_in_, feature_names_in_
        As in ``ShareBoostClassifier``.
    selected_, weights_, cost_
        As in ``ShareBoostClassifier``, for the stumps in the order they were first chosen. Their
        weights are the sums of ``b - a`` over the rounds that chose a stump for a class.
    intercept_ : ndarray of shape (n_classes,) or (1,)
        Sums of ``a``, and of the constants of rounds whose stump the class has no share in. For
        two classes, that of the second less that of the first.
    path_ : RivalPath
        The model of no stump, and that after every round: ``losses`` (the average over
        examples, by weight, and classes of ``exp(-z H)``), ``n_features``, ``seconds``,
        ``stop_reason``, ``at(t)`` and ``to_frame()``, which tells of each round its stump, the
        ``atom``, the ``classes`` that share it, by their places in ``classes_``, and its
        ``gain``, what the loss was to fall by to second order.
    n_iter_ : int
        The number of rounds.

    Notes
    -----
    NaN in X is allowed and lies above all thresholds.

    For k classes and B thresholds, a round makes one pass over the data, and the forward search
    then takes ``B k (k + 1) / 2`` sums, the exhaustive one ``B 2^k``. The sums of the classes take
    ``16 k B`` bytes, and each example 32 bytes per class.

    The loss falls by 0.56 times a round's gain at least. Rounds whose J differ by less than 1e-9 of
    that of h = 0 are tied: the lowest stump is taken, and the set that was met first.

    The exponential loss is least where ``H = log(p / (1 - p)) / 2``, p being the probability
    of the class against all others. So ``predict_proba`` gives the sigmoids of ``2 H``, over
    their sum; for two classes the sigmoid of the difference of their scores.

    References
    ----------
    .. [1] A. Torralba, K. Murphy and W. Freeman, "Sharing Visual Features for Multiclass and
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
    """

    _engine = GentleBoost
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
    fit_intercept = True  # every round adds constants, so that a constant stump is of no use
    pool = "stumps"

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

    def _new_pool(self) -> Pool:
        return Stumps(max_bins=self.max_bins, scale="none")

    @property
    def _sigmoid_slope(self) -> float | None:
        return None if self.classes_.size == 2 else 2.0
