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
from ..path import Round, StopReason
from ..penalties import PENALTIES, Penalty
from ..pools.base import Pool, rounding_of
from ..rows import Rows
from ..selection.pricing import Pricing
from ..selection.rules import Choice, Selector, tied_with_best
from ..solvers import Refit
from .base import Engine, Matrix, Rival, RivalStep, ended_late

# Whose turn it is: that of the class with the best feature, or of one class after the other.
SPENDS = ("largest", "in_turn")

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

    @property
    def last(self) -> Round:
        """The last round."""
        return self.rounds[-1]

    @property
    def score(self) -> float:
        """Of what it would add; -inf where there is nothing."""
        return self.next.score if isinstance(self.next, Choice) else -np.inf

    def look(self) -> None:
        """Choose what to add next."""
        self.next, last = self.run.choose(self.last)
        if last is not self.last:
            self.rounds.append(last)

    def add(self, choice: Choice) -> None:
        """Add an atom, refit the weights and look again."""
        self.rounds.append(self.run.round_after(self.last, choice))
        self.look()

    def finish(self) -> None:
        """Refit the weights as those of a last round."""
        if self.last.atoms:  # the start is refit so far already
            self.rounds.append(self.run.finished(self.last)[1])


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

        def one_class(rows: Rows) -> OneClass:
            selector = Selector(rows, pricing, clf.rule, clf.shortlist)
            return OneClass(Run(rows, refit, stopping, selector))

        labels = ((y == q).astype(np.intp) for q in range(self.n_classes))
        with Rows(X, next(labels), weight, self.pool, 1, self.intercept) as first:
            self._started, self._counted = perf_counter(), 0
            rows = [first, *(relabelled(first, of_class) for of_class in labels)]
            self._classes = [one_class(of_class) for of_class in rows]
            step = self._step(-1, -1, np.nan)
            yield step
            for one in self._classes:
                one.look()
            turn = self._turn(step)
            while turn is not None:
                q, choice = turn
                self._classes[q].add(choice)
                chosen = rows[q].chosen[-1]
                self.units.setdefault(choice.atom, (chosen.centers, chosen.scales))
                step = self._step(q, choice.atom, choice.score)
                turn = self._turn(step)
                yield from [step] if turn is not None else self._finish(step)
            all_rounds = [(q, each) for q, one in enumerate(self._classes) for each in one.rounds]
            late = [(q, each) for q, each in all_rounds if not each.status.converged]
            if late:
                q, last = late[-1]
                which = f"class {q}, by its place in classes_, with {len(last.atoms)} features"
                self.trouble = ended_late(
                    f"The refit of {which}", [each.status for _, each in late]
                )

    def _turn(self, step: RivalStep) -> tuple[int, Choice] | None:
        """Return which class adds what after the step; None, and say why, where it is the last."""
        scores = np.array([one.score for one in self._classes])
        if np.isneginf(scores).all():
            gainless = any(one.next is StopReason.NO_GAIN for one in self._classes)
            self.stop_reason = StopReason.NO_GAIN if gainless else StopReason.EXHAUSTED
            return None
        if self.rival.spend == "largest":
            q = int(tied_with_best(scores, rounding_of(self.pool))[0])
        else:
            after = np.roll(np.arange(self.n_classes), -1 - step.details["class"])
            q = int(after[scores[after] > -np.inf][0])
        choice = self._classes[q].next
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
        self._counted -= step.iterations
        yield self._step(*step.details.values())

    def _step(self, class_: int, atom: int, score: float) -> RivalStep:
        """Return the step in which a class, -1 for none, has added an atom."""
        rounds = [round_ for one in self._classes for round_ in one.rounds]
        iterations = sum(round_.status.iterations for round_ in rounds)
        before, self._counted = self._counted, iterations
        loss = float(np.mean([one.last.loss for one in self._classes]))
        seconds = perf_counter() - self._started
        details = {"class": class_, "atom": atom, "score": score}
        atoms = tuple(self.units)
        return RivalStep(atoms, self._weights(), loss, seconds, iterations - before, details)

    def _weights(self) -> Matrix:
        """Return the weights of all classes, zero where one has no use for an atom."""
        first = int(self.intercept)
        edges = np.cumsum([first, *(scales.size for _, scales in self.units.values())])
        columns = dict(zip(self.units, map(np.arange, edges[:-1], edges[1:]), strict=True))
        W = np.zeros((self.n_classes, edges[-1]))
        for row, one in zip(W, self._classes, strict=True):
            used = [np.arange(first), *(columns[atom] for atom in one.last.atoms)]
            row[np.concatenate(used)] = one.last.W[0]
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
    algorithm of ``ShareBoostClassifier``. What the classifier uses is the union over classes,
    and that grows with the number of classes: what sharing is measured against in section 7.1
    of Shalev-Shwartz, Wexler and Shashua, "ShareBoost: Efficient Multiclass Learning with
    Feature Sharing", 2011.

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
        Every step: ``n_features``, ``losses`` (the mean over classes of their average binary
        losses), ``seconds``, ``at(t)``, ``stop_reason``, and ``to_frame()``, which also tells
        the index of the ``class`` that added an ``atom``, and its ``score``. The first step
        is that of the intercepts alone, with -1 for both.

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

    @property
    def _sigmoid_slope(self) -> float:
        return 1.0
