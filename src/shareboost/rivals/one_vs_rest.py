"""The 1-vs-rest approach of section 7.1: the same greedy algorithm, for every class on its own."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..algorithm import Run, Stopping
from ..classifier import ShareBoostClassifier
from ..losses import BinaryLogisticLoss, Labels
from ..path import StopReason
from ..penalties import PENALTIES, Penalty
from ..pools.base import Pool, rounding_of
from ..rows import Rows
from ..selection.pricing import Pricing
from ..selection.rules import Choice, Selector, tied_with_best
from ..solvers import Refit
from .base import Engine, Matrix, Rival, RivalStep, late_refit

# Parameters that mean for one class what they mean in ShareBoost for all.
SHARED = (
    *("pool", "rule", "shortlist", "penalty", "alpha", "solver", "tol", "refit_tol", "max_iter"),
    *("margin", "fit_intercept", "class_weight", "verbose"),
)


class OneClass:
    """One class against the rest: its rounds, and what it would choose next."""

    def __init__(self, run: Run):
        self.run = run
        self.rounds = [run.start()]  # and every further refit
        self.next: Choice | StopReason = StopReason.NO_GAIN  # until it has looked

    def look(self) -> None:
        """Choose what to add next."""
        self.next, last = self.run.choose(self.rounds[-1])
        if last is not self.rounds[-1]:
            self.rounds.append(last)

    def add(self, choice: Choice) -> None:
        """Add an atom, refit the weights and look again."""
        self.rounds.append(self.run.round_after(self.rounds[-1], choice))
        self.look()

    def finish(self) -> None:
        """Refit the weights as those of a last round."""
        if self.rounds[-1].atoms:  # the start is refit so far already
            self.rounds.append(self.run.finished(self.rounds[-1])[1])


class OvrPath(Engine):
    """A run on the binary problem of every class, one atom of one class per step.

    The rows are encoded once. Classes know nothing of each other: a step changes the weights
    and the next choice of one of them only.
    """

    rival: OneVsRestGreedyClassifier

    def steps(self) -> Iterator[RivalStep]:
        """Yield the intercepts alone, then the classifier after every turn."""
        clf, (X, y, weight, *_) = self.rival, self.sample
        penalty = PENALTIES[clf.penalty]() if isinstance(clf.penalty, str) else clf.penalty
        loss = BinaryLogisticLoss(clf.margin)
        refit = Refit(loss, penalty, clf.alpha, clf.solver, clf.max_iter)
        stopping = Stopping(clf.n_features, clf.tol, clf.refit_tol)
        pricing = Pricing(np.ones(self.pool.n_atoms_))
        labels = [(y == q).astype(np.intp) for q in range(self.n_classes)]
        with Rows(X, labels[0], weight, self.pool, 1, clf.fit_intercept) as first:
            self._started, self._counted = perf_counter(), 0
            rows = [first, *(relabelled(first, of_class) for of_class in labels[1:])]
            selectors = [Selector(each, pricing, clf.rule, clf.shortlist) for each in rows]
            runs = zip(rows, selectors, strict=True)
            self._classes = [OneClass(Run(each, refit, stopping, by)) for each, by in runs]
            step = self._step({"class": -1, "atom": -1, "score": np.nan})
            yield step
            for one in self._classes:
                one.look()
            turn = self._turn(-1)
            while turn is not None:
                q, choice = turn
                self._classes[q].add(choice)
                chosen = rows[q].chosen[-1]
                self.units.setdefault(choice.atom, (chosen.centers, chosen.scales))
                step = self._step({"class": q, "atom": choice.atom, "score": choice.score})
                turn = self._turn(q)
                if turn is not None:
                    yield step
            if self.units:
                yield from self._finish(step)
            for q, one in enumerate(self._classes):
                for last in (each for each in one.rounds if not each.status.converged):
                    which = f"class {q}, by its place in classes_, with {len(last.atoms)} features"
                    self.late.append(late_refit(f"The refit of {which}", last.status))

    def _turn(self, last: int) -> tuple[int, Choice] | None:
        """Return which class adds what after the last one; None, and say why, where none does."""
        choices = [one.next for one in self._classes]
        scores = np.array([c.score if isinstance(c, Choice) else -np.inf for c in choices])
        if np.isneginf(scores).all():
            gainless = StopReason.NO_GAIN in choices
            self.stop_reason = StopReason.NO_GAIN if gainless else StopReason.EXHAUSTED
            return None
        if self.rival.spend == "largest":
            q = int(tied_with_best(scores, rounding_of(self.pool))[0])
        else:
            after = np.roll(np.arange(self.n_classes), -1 - last)
            q = int(after[scores[after] > -np.inf][0])
        choice = choices[q]
        assert isinstance(choice, Choice)
        if len(self.units) >= self.rival.n_features and choice.atom not in self.units:
            self.stop_reason = StopReason.N_FEATURES
            return None
        return q, choice

    def _finish(self, step: RivalStep) -> Iterator[RivalStep]:
        """Yield the last step, the weights of all classes refit tightly."""
        try:
            for one in self._classes:
                one.finish()
        except KeyboardInterrupt:
            yield step
            raise
        self._counted -= step.status.iterations
        yield self._step(step.details)

    def _step(self, details: dict[str, Any]) -> RivalStep:
        """Return the step after the last rounds of all classes."""
        iterations = sum(each.status.iterations for one in self._classes for each in one.rounds)
        before, self._counted = self._counted, iterations
        loss = float(np.mean([one.rounds[-1].loss for one in self._classes]))
        seconds, atoms = perf_counter() - self._started, tuple(self.units)
        return RivalStep.of(atoms, self._weights(), loss, seconds, iterations - before, details)

    def _weights(self) -> Matrix:
        """Return the weights of all classes, zero where one has no use for an atom."""
        first = int(self.rival.fit_intercept)
        edges = np.cumsum([first, *(scales.size for _, scales in self.units.values())])
        columns = dict(zip(self.units, map(np.arange, edges[:-1], edges[1:]), strict=True))
        W = np.zeros((self.n_classes, edges[-1]))
        for row, one in zip(W, self._classes, strict=True):
            last = one.rounds[-1]
            row[np.concatenate([np.arange(first), *(columns[a] for a in last.atoms)])] = last.W[0]
        return W


def relabelled(rows: Rows, y: Labels) -> Rows:
    """Return the same rows, encoded once, with other labels and nothing chosen."""
    twin = rows.fork()
    edges = np.cumsum([block.y.size for block in twin.shard.blocks])
    for block, labels in zip(twin.shard.blocks, np.split(y, edges[:-1]), strict=True):
        block.y = labels
    return twin


class OneVsRestGreedyClassifier(Rival):
    """A classifier of one greedy binary classifier per class, each with features of its own.

    Every class against the rest is a binary problem, whose logistic loss is minimised by the
    algorithm of ``ShareBoostClassifier``. What the classifier uses is the union over classes, which
    grows with their number: what sharing is measured against in section 7.1 of the paper.

    Parameters
    ----------
    n_features : int, default=20
        How many different features all classes together may use at most. A class may add a
        feature that another one uses already for nothing.
    spend : {"largest", "in_turn"}, default="largest"
        Which class adds its best feature next: the one whose best feature has the largest
        score by the ``rule`` (the first of equals), or one class after the other. A class
        that has nothing to gain is passed over.
    pool, rule, shortlist, penalty, alpha, solver, tol, refit_tol, max_iter, margin
        As in ``ShareBoostClassifier``, for the problem of every class on its own. So ``alpha``
        weighs the penalty of a class against its binary average loss, and a class has nothing
        to gain once no feature has a gradient above ``tol``.
    fit_intercept, class_weight, verbose
        As in ``ShareBoostClassifier``. Class weights are weights of rows, in all problems.

    Attributes
    ----------
    classes_, coef_, intercept_, feature_importances_, columns_, n_features_in_, feature_names_in_
        As in ``ShareBoostClassifier``.
    selected_, weights_, cost_, n_iter_
        As in ``ShareBoostClassifier``, for the features that any class uses, in the order of
        their first use. The weight is zero where a class does not use a feature.
    path_ : RivalPath
        Every step, that of the intercepts first: ``n_features``, ``losses`` (the mean over classes
        of their average binary losses), ``seconds``, ``at(t)``, ``stop_reason``, and
        ``to_frame()``, which also tells the index of the ``class`` that added an ``atom``, both -1
        at first, and its ``score``.

    Notes
    -----
    The steps end where ``n_features`` are in use and the class whose turn it is would bring
    another, or where no class has anything to gain. The last step refits the weights of all
    classes until every gradient is below ``tol / 10``. Probabilities are the sigmoids of the
    scores divided by their sum, as scikit-learn has them for one-vs-rest. The problems of two
    classes are each other's mirror images, so both choose alike.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shareboost.rivals import OneVsRestGreedyClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = OneVsRestGreedyClassifier(n_features=2).fit(X, y)
    >>> list(clf.get_feature_names_out())
    ['petal length (cm)', 'petal width (cm)']
    """

    _engine = OvrPath
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "spend": [StrOptions({"largest", "in_turn"})],
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

    @property
    def _sigmoid_slope(self) -> float:
        return 1.0
