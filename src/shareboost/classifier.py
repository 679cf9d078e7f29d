"""The scikit-learn classifier."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from . import assembly
from .dataset import checked_sample
from .identity import Digests, check_shape, path_to_go_on_from, shape_of
from .inputs import backend_of
from .losses import LogisticLoss
from .model import fitted_attributes
from .path import Path, StopReason
from .penalties import PENALTIES, Penalty
from .pools import POOLS, Pool, as_published, new_pool
from .predictor import Predictor
from .progress import FitCallbacks, RoundsBar, progress_bars
from .selection.constraints import GROUP_CHOICES, checked_constraints
from .selection.rules import RULES
from .solvers import SOLVERS, auto_factor, not_an_alpha
from .validation import is_number

# With a smaller tolerance pools compute in float64 where they can, whatever the type of X.
FLOAT32_REFIT_TOL = 1e-4

_AT_LEAST_1 = Interval(Integral, 1, None, closed="left")


class ShareBoostClassifier(CallbackSupportMixin, Predictor):
    """A multiclass classifier that looks at few features, the same few for all classes.

    Each round chooses one feature by the ``rule``, then refits the weights of all chosen
    features (Algorithm 1 of Shalev-Shwartz, Wexler and Shashua, "ShareBoost: Efficient
    Multiclass Learning with Feature Sharing", 2011). One run gives the classifier of every
    number of features up to ``n_features``. The defaults of ``rule``, ``alpha`` and ``margin``
    generalise better than the paper's; ``as_published`` follows the paper exactly.

    Parameters
    ----------
    n_features : int or None, default=20
        How many features ("atoms" of the pool; groups, where ``groups`` are chosen whole)
        the classifier may use at most. A smaller pool is used up; ``path_.stop_reason``
        tells. None leaves the end to ``budget``.
    pool : {"columns", "stumps", "hinges", "products", "pieces", "templates"} or Pool, \
            default="columns"
        The candidates: the columns of X, all stumps, hinges or pairwise products of them,
        local linear pieces, or image templates. An object of ``shareboost.pools`` sets
        their parameters, or ``set_params(pool__max_bins=16)`` does, for a name too, and
        ``Union`` joins several.
    rule : {"orthogonal", "gradient", "newton", "line_search", "column", "refit"}, \
            default="orthogonal"
        How the next feature is chosen:

        - ``"gradient"``: by the l1 norm over classes of its column of the gradient. This is
          the rule of the paper's Algorithm 1. The others, except ``"orthogonal"``, are those
          of its section 3.1.
        - ``"orthogonal"``: by the same norm, but for the part of the column that the chosen
          features do not explain, relative to the curvature of the loss along it. The
          ``shortlist`` of the best features by gradient is compared. Beyond 256 columns
          (fewer with hundreds of classes), chosen and candidates together, the shortlist
          shrinks, and in the end the gradient decides.
        - ``"newton"``: the second-order estimate of what ``"column"`` gains, for every
          feature at once. It does not depend on the columns' scales.
        - ``"line_search"``, ``"column"``, ``"refit"``: what the loss falls by in one step,
          exactly, along the feature's gradient, over its own weights, or over the weights
          of all chosen features. Costly: only the ``shortlist`` is tried.
    shortlist : int, "auto" or None, default="auto"
        How many features, the best by their gradient, a rule compares in a round. ``"auto"``
        is 100 for ``"orthogonal"``, 50 with swaps, or 5 if the pool has templates, whose
        columns are slow to compute; and 10 for the costly rules. None: all features.
    swap : bool, default=False
        Whether a round ends by exchanging features that later ones made useless for better
        ones, as long as the loss falls. ``at(t)`` then has features of its own, not the
        first t of ``selected_``; a run takes 2 to 4 times as long (docs/choosing.md).
    groups : array-like of shape (n_features_in,) or dict, optional
        The label of each column's group, or a dict of them by column name. Groups are
        chosen whole, section 3.2 of the paper, among columns only; ``selected_`` then holds
        places in ``groups_``.
    group_choice : {"sum", "mean", "each"}, default="sum"
        A group is chosen by the score of its columns together, which is the sum of their
        scores with ``rule="gradient"``, or by that score per column. ``"each"`` chooses
        columns one by one, from any pool: groups then only share a price.
    costs : array-like, dict or callable, optional
        What features cost: a number above 0 for each column of X, or for each of ``groups``
        in the order of ``groups_``, as an array or a dict by name or label. A column or a
        group is paid for once, by the first feature that reads it. A callable gets all atoms
        as plain arrays (as ``path_.features``) and returns a number for each. Features are
        then chosen by their score per cost; what is paid for already counts as a tenth of
        the cheapest that is not. ``path_.costs`` tells what was spent. None: 1 each.
    budget : float, optional
        The most that all features may cost together. None: no limit.
    include : list of int or str, optional
        Features that are owned already: in from the start, for nothing. A column by index
        or name, a group by label, an atom of another pool by its number in ``selected_`` or
        its name in ``get_feature_names_out``. They count among ``n_features``.
    exclude : list of int or str, optional
        Features that are never chosen, named likewise. The name of a column stands for all
        atoms that read it.
    penalty : {"frobenius", "l1", "linf1"} or Penalty, default="frobenius"
        What is added to the loss, on the weights of the scaled columns and never on
        the intercept: the sum of squares, or the smooth norms of section 3.3.
        ``shareboost.penalties.SmoothLinf1(beta=...)`` sets the smoothness.
    alpha : float or str, default="auto"
        Weight of the penalty against the *average* loss. With ``"auto"`` the training rows
        decide, in every round anew, by the evidence of a Bayesian model whose prior is the
        penalty (docs/mathematics.md); ``path_.alphas`` tells the weights. ``"0.5*auto"`` counts
        every row twice there, which about halves the weight, and so on. Rows count by their
        weight, as given: a row of weight 2 counts as two rows. Penalties other than
        ``"frobenius"`` get ``0.002 * k * t / m`` with k classes, t columns of chosen features
        and m rows; from 512 columns on the weight stays as it is. 0 is the paper's Algorithm 1.
    solver : {"lbfgs", "nesterov", "newton"}, default="lbfgs"
        How the weights are refit: L-BFGS, the paper's accelerated gradient, or
        truncated Newton. All seek the same minimum and stop by the same rule, not at
        the same point, so late in a run they may come to choose other features.
    tol : float, default=1e-4
        The rounds stop once no atom has a gradient with an l1 norm over classes (and
        columns, where it has several) above ``tol``, whatever the rule: nothing is left to
        gain. The last
        refit ends when every chosen atom is below ``tol / 10``.
    refit_tol : float, default=0.05
        The refit of a round ends once the gradient of every chosen atom is below
        this fraction of the one that the round's feature had when it was chosen. Smaller
        follows the exact algorithm more closely and takes longer; below 1e-4 the pool
        computes in float64 where it can (the sums of pieces and templates cannot).
    max_iter : int, default=1000
        Most iterations of a refit. A refit that needs more raises a
        ``ConvergenceWarning`` and goes on with what it has.
    margin : float, default=0.0
        How far the score of the true class must lead in eq. (3). 0 is the softmax
        cross-entropy of logistic regression, whose probabilities are calibrated. The paper's
        margin of 1 makes them too confident.
    fit_intercept : bool, default=True
        Whether every class has an intercept, which counts as no feature.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as everywhere in scikit-learn. They multiply the weights of
        rows, so with ``alpha="auto"`` their scale matters too.
    validation_fraction : float, optional
        Share of every class's rows that is held out of training, drawn by
        ``random_state``: ``path_.validation_scores`` has their accuracy after every round.
        None: no rows, or a tenth where ``n_iter_no_change`` is given without ``eval_set``.
    n_iter_no_change : int, optional
        The rounds stop once so many in a row have brought no better held-out accuracy than
        the best before, and the classifier is that of the best round, with the fewest
        features of equals. ``path_`` keeps all of them. None: all rounds are run, and the
        last is the classifier.
    warm_start : bool, default=False
        Whether a further ``fit``, on the same data with a larger ``n_features``, goes
        on from the fitted path. It chooses what one longer run chooses.
    checkpoint : str or path-like, optional
        A file to keep every finished round in. The same call again, after a crash, goes on
        from there and ends with the same path, bit for bit. A file of other data, other
        parameters or another program is refused and never overwritten; delete it to begin
        anew.
    device : str, torch.device or None, default=None
        Where to compute: ``"cuda"``, ``"cuda:1"``, ... (the extra ``shareboost[gpu]``), or
        ``"cpu"``, torch's processor. None: where X is, if it is a torch tensor or a CuPy
        array, else in NumPy. The fitted model is of NumPy's arrays in any case. See
        docs/gpu.md.
    random_state : int, RandomState or None, default=None
        Of ``validation_fraction``. Pools have their own.
    verbose : int, default=0
        1 shows a progress bar with the loss and the time left.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape ``(n_classes, n_features_in_)`` or ``(1, n_features_in_)``
        Weights of the columns of X, zero for those that are not read, such that
        ``X @ coef_.T + intercept_`` is ``decision_function(X)``. Two classes have one row. Only
        where the features are columns of X or groups of them.
    intercept_ : ndarray of shape (n_classes,) or (1,)
    weights_ : ndarray of shape (n_classes, n_columns)
        Weights of the columns of the chosen atoms of any pool, in the order of ``selected_``
        and in the units of X: one column per atom, except for groups and pieces. Two classes
        have two rows. ``path_.at(len(selected_))`` has the intercepts that go with them.
    feature_importances_ : ndarray of shape ``(n_features_in_,)``
        Share of each column of X in the scaled weights, for features of any pool; sums to 1.
    selected_ : ndarray of shape (n_selected,)
        The chosen atoms in the order they were chosen; for columns, their indices.
    groups_ : ndarray of shape (n_groups,) or None
        The sorted labels of the groups, where there are any.
    path_ : Path
        Every round: ``losses``, ``scores``, ``costs``, ``validation_scores``, ``seconds``,
        ``selected``, ``best``, ``stop_reason``, ``at(t)`` and ``to_frame()``; and
        ``features``, the atoms of all rounds as plain arrays: the columns and thresholds of
        stumps, the two columns of products, the centres and radii of pieces, the templates
        and masks.
    columns_ : ndarray
        The columns of X that the classifier reads, in order.
    cost_ : float
        What its features cost, by ``costs``.
    n_iter_ : int
        Iterations of the refits that gave the weights of the path.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Where X had string column names.
    cluster_ : ClusterRun
        After a fit on Dask's rows: where weights were ``refit``, and whether the workers held
        the ``rows`` (docs/scaling.md).

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
    ['petal length (cm)', 'petal width (cm)']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [_AT_LEAST_1, None],
        "pool": [StrOptions(set(POOLS)), Pool],
        "rule": [StrOptions(set(RULES))],
        "shortlist": [_AT_LEAST_1, StrOptions({"auto"}), None],
        "swap": ["boolean"],
        "groups": ["array-like", dict, None],
        "group_choice": [StrOptions(set(GROUP_CHOICES))],
        "costs": ["array-like", dict, callable, None],
        "budget": [Interval(Real, 0, np.inf, closed="neither"), None],
        "include": ["array-like", None],
        "exclude": ["array-like", None],
        "penalty": [StrOptions(set(PENALTIES)), Penalty],
        "alpha": [Interval(Real, 0, np.inf, closed="left"), str],
        "solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, np.inf, closed="neither")],
        "refit_tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [_AT_LEAST_1],
        "margin": [Interval(Real, 0, np.inf, closed="left")],
        "fit_intercept": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "n_iter_no_change": [_AT_LEAST_1, None],
        "warm_start": ["boolean"],
        "checkpoint": [str, os.PathLike, None],
        "device": [object],  # checked by torch
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # What identifies a run. For a checkpoint every parameter counts, except those of one fit, which
    # do not change what is found: a fit that is one of many has the values below. For a warm start
    # those count that shape a round; of the others, some only end the rounds, and some change the
    # loss, which shows anyway. Resolved parameters count by what they come to with the data
    # (``Constraints.resolved``), and ``device``, for a checkpoint, by what computes there.
    _of_one_fit: ClassVar[dict[str, Any]] = {"checkpoint": None, "warm_start": False, "verbose": 0}
    _resolved: ClassVar[tuple[str, ...]] = ("groups", "costs", "include", "exclude", "device")
    _shaping: ClassVar[tuple[str, ...]] = (
        *("pool", "rule", "shortlist", "swap", "group_choice"),
        *("penalty", "alpha", "solver", "refit_tol"),
    )

    path_: Path

    def __init__(
        self,
        n_features: int | None = 20,
        *,
        pool: str | Pool = "columns",
        rule: str = "orthogonal",
        shortlist: int | str | None = "auto",
        swap: bool = False,
        groups: ArrayLike | dict[str, Any] | None = None,
        group_choice: str = "sum",
        costs: ArrayLike | dict[Any, float] | Callable[[Any], ArrayLike] | None = None,
        budget: float | None = None,
        include: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
        penalty: str | Penalty = "frobenius",
        alpha: float | str = "auto",
        solver: str = "lbfgs",
        tol: float = 1e-4,
        refit_tol: float = 0.05,
        max_iter: int = 1000,
        margin: float = 0.0,
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        validation_fraction: float | None = None,
        n_iter_no_change: int | None = None,
        warm_start: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        device: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_features = n_features
        self.pool = pool
        self.rule = rule
        self.shortlist = shortlist
        self.swap = swap
        self.groups = groups
        self.group_choice = group_choice
        self.costs = costs
        self.budget = budget
        self.include = include
        self.exclude = exclude
        self.penalty = penalty
        self.alpha = alpha
        self.solver = solver
        self.tol = tol
        self.refit_tol = refit_tol
        self.max_iter = max_iter
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def as_published(
        cls,
        n_features: int | None = 20,
        *,
        pool: str | Pool = "columns",
        solver: str = "lbfgs",
        **parameters: Any,
    ) -> Self:
        """Return the paper's Algorithm 1, to which its theorems apply.

        Margin 1, no intercept, no penalty, unscaled features as the paper defines them, chosen
        by the gradient without swaps, and weights refit to the minimum. The defaults of the
        class generalise better (docs/defaults.md).

        Parameters
        ----------
        n_features : int or None, default=20
        pool : str or Pool, default="columns"
            Taken in the paper's form: nothing is scaled, all thresholds of stumps are tried,
            and columns, groups, products and pieces refuse an X with columns outside [-1, 1].
        solver : {"lbfgs", "nesterov", "newton"}, default="lbfgs"
            ``"nesterov"`` is the accelerated gradient that the paper names; all seek the same
            minimum.
        **parameters
            Other parameters of the class, such as ``verbose``.

        Returns
        -------
        ShareBoostClassifier
            Not fitted.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.preprocessing import MaxAbsScaler
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = ShareBoostClassifier.as_published(2).fit(MaxAbsScaler().fit_transform(X), y)
        >>> clf.selected_.tolist()
        [3, 1]
        """
        exact = {"tol": 1e-6, "refit_tol": 1e-5, "max_iter": 100_000}
        fixed = {"rule": "gradient", "alpha": 0.0, "margin": 1.0, "fit_intercept": False}
        parameters = {**fixed, **exact, **parameters}
        return cls(n_features, pool=as_published(pool), solver=solver, **parameters)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        eval_set: tuple[Any, ...] | None = None,
    ) -> Self:
        """Choose features and fit their weights.

        Parameters
        ----------
        X : array, sparse matrix, frame or tensor of shape (n_samples, n_features_in)
            Real or integer numbers; NaN where the pool allows it, as stumps do. Torch tensors
            and CuPy arrays are computed on their device, Dask's arrays and frames on the
            cluster of the connected client (the extra ``shareboost[dask]``).
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights. A row of weight 2 counts as two rows; except for
            ``alpha="auto"``, only the ratios of weights matter. A weight of zero equals
            leaving the row out, except that ``classes_`` still holds its label.
        eval_set : tuple (X, y) or (X, y, sample_weight), optional
            Held-out rows, instead of ``validation_fraction``.

        Returns
        -------
        self
            A fit that fails leaves an earlier fit as it was. A fit that is interrupted
            (Ctrl-C) raises ``KeyboardInterrupt`` and leaves the finished rounds.
        """
        check_alpha(self.alpha)
        pool = new_pool(self.pool)
        backend = backend_of(X, self.device)
        checked, classes, names, all_rows = checked_sample(
            self, X, y, sample_weight, pool.allows_nan
        )
        constraints, pool = checked_constraints(self, names, pool)
        pool = backend.form(pool)
        backend.check(pool, self.penalty, all_rows.X)
        checked.groups_ = constraints.labels
        sample, held_out = assembly.samples(checked, all_rows, eval_set, classes, pool, backend)
        checkpoint = assembly.saved_run(self, sample, held_out, eval_set, classes.size, backend)
        warm = path_to_go_on_from(self, checked.n_features_in_, classes)
        fitted = partial(self._fitted, checked, classes)
        path = None
        with progress_bars(bool(self.verbose)), ExitStack() as stack:
            sample = sample.fitted(pool, backend, self.fit_intercept)
            stack.callback(sample.release)
            if self.refit_tol < FLOAT32_REFIT_TOL:
                pool.widen()
            pricing = constraints.pricing(pool)
            shaped_by = shape_of(self, constraints, pricing, sample.weight_unit)
            most = min(self.n_features or pool.n_atoms_, pool.n_atoms_)
            rows = sample.rows(pool, classes.size, self.fit_intercept, backend, most)
            earlier = None
            if checkpoint:
                resolved = {**Digests(constraints.resolved(pricing)), **rows.identity}
                earlier = checkpoint.path(pool, classes.size, resolved)
            if earlier is None and warm is not None:
                check_shape(warm, shaped_by, self.budget)
                earlier = warm
            done = len(earlier or ())
            most = max(done, most)
            callbacks = FitCallbacks(self, most - done, X, y, sample_weight)
            with rows:
                loss = LogisticLoss(self.margin)
                run = assembly.run(self, rows, loss, sample.weight_unit, pricing, held_out)
                if isinstance(self.alpha, str):
                    _warn_of_small_weights(sample.weight_unit * rows.total_weight, sample.n_rows)
                if (placement := rows.placement) is not None:
                    checked.cluster_ = placement
                bar = RoundsBar(most, done, "" if placement is None else placement.refit)
                try:
                    path = run.begin() if earlier is None else run.resume(earlier)
                    path.input_names, path.shaped_by = tuple(names), shaped_by
                    path.n_atoms, path.n_rows = pool.n_atoms_, sample.n_rows
                    for round_ in run.rounds(path):
                        if checkpoint:
                            checkpoint.save(path)
                        bar.advance(round_)
                        if callbacks.round_ended(partial(fitted, path)):
                            path.stop_reason = StopReason.CALLBACK
                            break
                    run.finish(path)
                    bar.end(len(path), path.last.loss, path.stop_reason)
                except KeyboardInterrupt:
                    if path:
                        path.stop_reason = StopReason.INTERRUPTED
                        self._set_fitted(fitted(path))
                    raise
        _warn_where_not_converged(path)
        self._set_fitted(fitted(path))
        callbacks.fit_ended(partial(fitted, path))
        return self

    def _fitted(self, checked: Self, classes: NDArray[Any], path: Path) -> dict[str, Any]:
        """Return the fitted attributes: those of the last round, or of the best held-out one."""
        t = len(path) if self.n_iter_no_change is None else path.best
        return fitted_attributes(checked, classes, path, path.step(t))


def check_alpha(alpha: Any) -> None:
    """Raise for what is no weight of a penalty."""
    if isinstance(alpha, str):
        auto_factor(alpha)
    elif not is_number(alpha) or not 0 <= alpha < np.inf:
        raise not_an_alpha(alpha)


def _warn_of_small_weights(total: float, n_rows: int) -> None:
    """Warn if the weights say that there are far fewer rows than there are."""
    if total < 0.1 * n_rows:
        warnings.warn(
            f"The weights of {n_rows} rows sum to {total:.3g}, and alpha='auto' takes that for the "
            "number of rows: the penalty is strong. Scale sample_weight (or class_weight) to a "
            "mean of 1, or give alpha as a number.",
            UserWarning,
            stacklevel=4,
        )


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
