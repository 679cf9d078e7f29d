"""Figure 3, below: ShareBoost and JointBoost on stumps, error and time against features."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import train_test_split

from .. import ShareBoostClassifier
from ..comparison import error_curve
from ..datasets import Dataset
from ..rivals import JointBoostClassifier
from .drawing import curve, labelled, panels
from .experiment import Claim, Experiment, Row, verdict
from .lab import Lab

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATA = {"satimage": "Statlog", "pendigits": "Pendigits", "isolet": "Isolet"}
PLAIN, PENALISED, JOINTBOOST = METHODS = ("ShareBoost", "ShareBoost, penalised", "JointBoost")
STYLES = {PLAIN: (0, "-"), PENALISED: (2, "--"), JOINTBOOST: (1, "-.")}
SPARSE = (5, 10, 20, 40)  # numbers of features at which errors are compared
TIMED = 50  # features: without a penalty, ShareBoost may have no use for many more
MUCH = 2.0  # "much faster" is twice as fast at least


def measure(lab: Lab) -> list[Row]:
    """Return the error and the seconds of every model."""
    n_features, repeats, n_rows = (25, 1, 400) if lab.quick else (200, 3, None)
    rows: list[Row] = []
    for name in DATA:
        data = _sample(lab.load(name), n_rows)
        runs = [
            lab.part(f"{name}, run {repeat}", partial(_run, lab, data, n_features, repeat))
            for repeat in range(repeats)
        ]
        for method in METHODS:
            paths = [run[method] for run in runs]
            seconds = np.array([path["seconds"] for path in paths])  # (runs, models)
            columns = [paths[0][key] for key in ("features", "fractions", "errors")]
            rows += [
                {
                    "data": DATA[name],
                    "method": method,
                    "features": features,
                    "fraction": fraction,
                    "error": error,
                    "seconds": float(np.median(times)),
                    "fastest": float(times.min()),
                    "slowest": float(times.max()),
                    "test_rows": len(data.y_test),
                }
                for features, fraction, error, times in zip(*columns, seconds.T, strict=True)
            ]
    return rows


def _sample(data: Dataset, n_rows: int | None) -> Dataset:
    """Return a data set of so many training and test rows, or as it is."""
    if n_rows is None:
        return data
    X, _, y, _ = train_test_split(
        data.X_train, data.y_train, train_size=n_rows, stratify=data.y_train, random_state=0
    )
    X_test, _, y_test, _ = train_test_split(
        data.X_test, data.y_test, train_size=n_rows, stratify=data.y_test, random_state=0
    )
    return Dataset(X, y, X_test, y_test)


def _classifier(
    lab: Lab, method: str, n_features: int
) -> ShareBoostClassifier | JointBoostClassifier:
    if method == JOINTBOOST:
        return JointBoostClassifier(n_features, search="forward")
    if method == PLAIN:  # the paper's: sparsity alone limits the model
        return ShareBoostClassifier(n_features, pool="stumps", alpha=0, device=lab.device)
    return ShareBoostClassifier(n_features, pool="stumps", device=lab.device)


def _run(lab: Lab, data: Dataset, n_features: int, repeat: int) -> dict[str, dict[str, Any]]:
    """Return each method's path; who is first changes from run to run."""
    small = _sample(data, min(300, len(data.y_test) - 100))
    for method in METHODS:  # compiles, which is not training
        _classifier(lab, method, 2).fit(small.X_train, small.y_train)
    paths = {}
    for method in np.roll(METHODS, repeat).tolist():
        clf = _classifier(lab, method, n_features)
        started = perf_counter()
        clf.fit(data.X_train, data.y_train)
        # All that is not rounds (binning, for the most part) comes before any model.
        before = perf_counter() - started - clf.path_.seconds[-1]
        errors = error_curve(clf, data.X_test, data.y_test)
        paths[method] = {
            "features": errors.n_features.tolist(),
            "fractions": errors.fractions.tolist(),
            "errors": errors.errors.tolist(),
            "seconds": (before + clf.path_.seconds).tolist(),
        }
    return paths


class Models:
    """The models of one method on one data set, in the order of its path."""

    def __init__(self, rows: list[Row], data: str, method: str):
        own = [row for row in rows if (row["data"], row["method"]) == (data, method)]
        self.features = np.array([row["features"] for row in own])
        self.fractions = np.array([row["fraction"] for row in own])
        self.errors = np.array([row["error"] for row in own])
        self.seconds = np.array([row["seconds"] for row in own])
        self.test_rows = own[0]["test_rows"]

    def _last(self, n_features: int) -> int:
        """Return the place of the last model with at most so many features."""
        return max(int(np.searchsorted(self.features, n_features, side="right")) - 1, 0)

    def error(self, n_features: int) -> float:
        """Return the error with at most so many features."""
        return float(self.errors[self._last(n_features)])

    def time(self, n_features: int) -> float:
        """Return the seconds of training up to so many features."""
        return float(self.seconds[self._last(n_features)])

    def needed(self, error: float) -> int | None:
        """Return the fewest features with at most that error; None where no model has it."""
        enough = self.features[self.errors <= error]
        return int(enough.min()) if enough.size else None

    @property
    def rise(self) -> float:
        """The error of the last model over the least of any."""
        return float(self.errors[-1] - self.errors.min())

    @property
    def overfits(self) -> bool:
        """Whether that is more than twice the standard error of such a difference.

        Of two independent test sets, which is more than that of one and the same.
        """
        both = np.array([self.errors[-1], self.errors.min()])
        deviation = np.sqrt((both * (1 - both)).sum() / self.test_rows)
        return bool(self.rise > 2 * deviation)


def _models(rows: list[Row]) -> dict[str, dict[str, Models]]:
    """Return the models by data set and method."""
    names = dict.fromkeys(row["data"] for row in rows)
    return {name: {method: Models(rows, name, method) for method in METHODS} for name in names}


def draw(lab: Lab, rows: list[Row]) -> Mapping[str, Figure]:
    """Return the paper's panels, and the seconds against features in another figure."""
    models = _models(rows)
    figure, times = panels(1, len(models)), panels(1, len(models))
    for ax, below, (name, own) in zip(figure.axes, times.axes, models.items(), strict=True):
        for method, (colour, style) in STYLES.items():
            some = own[method]
            x, y = some.fractions.tolist(), some.errors.tolist()
            curve(ax, x, y, method, colour, style)
            curve(below, some.features.tolist(), some.seconds.tolist(), method, colour, style)
        labelled(ax, name, "fraction of features used", "test error")
        ax.ticklabel_format(axis="x", style="sci", scilimits=(0, 0))
        labelled(below, name, "features", "seconds of training")
    return {"jointboost": figure, "jointboost-seconds": times}


def judge(rows: list[Row]) -> list[Claim]:
    """Return the paper's claims."""
    models = _models(rows)
    lower = {name: _lower(own) for name, own in models.items()}
    factors = {name: _saved(own) for name, own in models.items()}
    overfit = {name: own[PLAIN].overfits for name, own in models.items()}
    prevented = {name: not own[PENALISED].overfits for name, own in models.items()}
    mended = [prevented[name] for name in models if overfit[name]]
    faster = {name: _time_ratio(own) for name, own in models.items()}
    much = [factor >= MUCH for factor in factors.values()]
    return [
        Claim(
            "ShareBoost decreases the error much faster: lower with "
            f"{', '.join(map(str, SPARSE[:-1]))} and {SPARSE[-1]} stumps, and JointBoost needs "
            f"{MUCH:g} times as many for the same error",
            "a curve, no number",
            "; ".join(
                f"{name}: {_errors(own)}, at least {factors[name]:.2f} times as many for the same"
                for name, own in models.items()
            ),
            verdict(all(lower.values()) and all(much), any(lower.values())),
        ),
        Claim(
            "When more features are allowed, ShareBoost starts to overfit",
            "a curve, no number",
            _rises(models, PLAIN),
            verdict(all(overfit.values()), any(overfit.values())),
        ),
        Claim(
            "Regularization prevents this overfitting",
            "said, not shown",
            _rises(models, PENALISED),
            # Where nothing overfits, there is nothing to prevent, and so nothing to tell.
            verdict(bool(mended) and all(prevented.values()), any(mended) or not mended),
        ),
        Claim(
            f"Training ShareBoost takes much less time than JointBoost: {MUCH:g} times less",
            "said, not shown",
            "; ".join(_times(name, own) for name, own in models.items()),
            verdict(
                all(ratio >= MUCH for ratio in faster.values()),
                any(ratio > 1 for ratio in faster.values()),
            ),
        ),
    ]


def _lower(own: Mapping[str, Models]) -> bool:
    """Return whether ShareBoost has the lower error with each of the sparse numbers of stumps."""
    return all(own[PLAIN].error(t) < own[JOINTBOOST].error(t) for t in SPARSE)


def _saved(own: Mapping[str, Models]) -> float:
    """Return JointBoost's stumps over ShareBoost's for the same error, a geometric mean.

    Where JointBoost has no model as good, it counts with all its stumps, which is too few.
    """
    ratios: list[float] = []
    for t in SPARSE:
        ours = own[PLAIN].needed(own[PLAIN].error(t)) or t
        theirs = own[JOINTBOOST].needed(own[PLAIN].error(t))
        ratios.append((own[JOINTBOOST].features.max() if theirs is None else theirs) / ours)
    return float(np.exp(np.log(np.maximum(ratios, 1e-9)).mean()))


def _shared_number(own: Mapping[str, Models]) -> int:
    """Return the number of features that times are compared at, which all methods reach."""
    return int(min(TIMED, *(some.features.max() for some in own.values())))


def _time_ratio(own: Mapping[str, Models]) -> float:
    """Return JointBoost's seconds over ShareBoost's, for the same number of features."""
    t = _shared_number(own)
    return own[JOINTBOOST].time(t) / own[PLAIN].time(t)


def _errors(own: Mapping[str, Models]) -> str:
    """Return errors against each other in words, in the end too, where the paper claims nothing."""
    most = int(own[JOINTBOOST].features.max())
    return ", ".join(
        f"{own[PLAIN].error(t):.1%} against {own[JOINTBOOST].error(t):.1%} with {t}"
        for t in dict.fromkeys((*(t for t in SPARSE if t < most), most))
    )


def _rises(models: Mapping[str, Mapping[str, Models]], method: str) -> str:
    """Return how the error ends against the least in words."""
    return "; ".join(
        f"{name}: from {own[method].errors.min():.1%} to {own[method].errors[-1]:.1%} with "
        f"{own[method].features[-1]} stumps, {'beyond' if own[method].overfits else 'within'} "
        "chance"
        for name, own in models.items()
    )


def _times(name: str, own: Mapping[str, Models]) -> str:
    """Return times against each other in words."""
    t = _shared_number(own)
    most = int(min(own[PENALISED].features.max(), own[JOINTBOOST].features.max()))
    return (
        f"{name}: {own[PLAIN].time(t):.1f} s against {own[JOINTBOOST].time(t):.1f} s for {t} "
        f"stumps, ratio {_time_ratio(own):.1f} (penalised, {own[PENALISED].time(most):.1f} s "
        f"against {own[JOINTBOOST].time(most):.1f} s for {most})"
    )


EXPERIMENT = Experiment(
    title="Figure 3, below: ShareBoost and JointBoost on stumps",
    shows="On Statlog (Satimage), Pendigits and Isolet, both methods choose decision stumps. The "
    "paper plots the test error against the fraction of features used, and says that ShareBoost "
    "trains much faster than JointBoost.",
    measure=measure,
    draw=draw,
    judge=judge,
    chosen="""\
Both choose among the same stumps, up to 255 thresholds a column. ShareBoost is without a penalty
(`alpha=0`), as the paper's, and with its default one; JointBoost finds sets of classes by the
best-first search (`search="forward"`). Everything else is a default: they were chosen on held-out
training rows, of these data among others, for other pools than stumps; test errors of Isolet and
Pendigits had been seen by then (docs/defaults.md). Models use up to 200 stumps, and without a
penalty ShareBoost ends early where nothing is left to gain. The official splits are taken and
no method draws anything at random, so errors have no spread over seeds; a rise of the error counts
as overfitting beyond twice its standard error. Times are medians of three runs in which the
methods take turns, compiled before; both are of this library, where the paper ran JointBoost's
published code.""",
)
