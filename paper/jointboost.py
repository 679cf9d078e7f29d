"""Fig. 3, bottom: ShareBoost and JointBoost on stumps, error and time against features."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from shareboost import ShareBoostClassifier
from shareboost.datasets import Dataset
from shareboost.inspection.comparison import error_curve
from shareboost.rivals import JointBoostClassifier

from .drawing import COLOUR_OF, curve, labelled, panels
from .experiment import Claim, Experiment, Row, together, verdict
from .lab import Lab
from .model_curves import DATA, MUCH, SPARSE, Models, Race, listed, overfitting, wrong_rows
from .published import MOST_FEATURES, PUBLISHED, STEPS, TUNED, published
from .samples import sample

if TYPE_CHECKING:
    from matplotlib.figure import Figure

JOINTBOOST = "JointBoost"
PLAIN, PENALISED = "ShareBoost, no penalty", "ShareBoost, default penalty"
TAKING_TURNS = (PLAIN, PENALISED, JOINTBOOST)  # and timed
STYLES = {PUBLISHED: "-", PLAIN: "-", PENALISED: "-", JOINTBOOST: "--"}
TIMED = 50  # features: without a penalty, ShareBoost may have no use for many more


def measure(lab: Lab) -> list[Row]:
    """Return the error and the seconds of every model."""
    n_features, repeats, n_rows = (25, 1, 400) if lab.quick else (200, 3, None)
    rows: list[Row] = []
    for name in DATA:
        data = lab.load(name)
        if n_rows is not None:
            data = sample(data, n_rows, n_rows)
        runs = [
            lab.part(
                f"{name}, run {repeat}",
                partial(_run, data, n_features, repeat),
                settings=(n_features, n_rows, SPARSE),
            )
            for repeat in range(repeats)
        ]
        for method in TAKING_TURNS:
            rows += _rows_of([run[method] for run in runs], DATA[name], method, len(data.y_test))
        most = min(n_features, MOST_FEATURES)
        once = lab.part(
            f"{name}, as published", partial(_published, data, most), (most, n_rows, SPARSE)
        )
        rows += _rows_of([once], DATA[name], PUBLISHED, len(data.y_test))
    return rows


def _rows_of(paths: list[dict[str, Any]], name: str, method: str, test_rows: int) -> list[Row]:
    """Return a row a model: the times of all runs, and all else as in the first."""
    # Sums of threads may differ in the last digits, and so may the round that gains nothing.
    n_models = min(len(path["seconds"]) for path in paths)
    seconds = np.array([path["seconds"][:n_models] for path in paths])  # (runs, models)
    columns = [paths[0][key][:n_models] for key in ("features", "fractions", "errors")]
    wrong = paths[0]["wrong"]
    return [
        {
            "data": name,
            "method": method,
            "features": features,
            "fraction": fraction,
            "error": error,
            "seconds": float(np.median(times)),
            "fastest": float(times.min()),
            "slowest": float(times.max()),
            "test_rows": test_rows,
            **({"wrong": wrong[str(place)]} if str(place) in wrong else {}),
        }
        for place, (features, fraction, error, times) in enumerate(
            zip(*columns, seconds.T, strict=True)
        )
    ]


def _classifier(method: str, n_features: int) -> ShareBoostClassifier | JointBoostClassifier:
    """Return a method; whatever the lab's device, on the CPU, the only one of JointBoost."""
    if method == JOINTBOOST:
        return JointBoostClassifier(n_features, search="forward")
    if method == PLAIN:
        return ShareBoostClassifier(n_features, pool="stumps", **TUNED | {"alpha": 0})
    return ShareBoostClassifier(n_features, pool="stumps", **TUNED)


def _run(data: Dataset, n_features: int, repeat: int) -> dict[str, dict[str, Any]]:
    """Return each method's path; who is first changes from run to run."""
    small = sample(data, 300, 0)
    for method in TAKING_TURNS:  # compiles, which is not training
        _classifier(method, 2).fit(small.X_train, small.y_train)
    return {
        method: _path(_classifier(method, n_features), data)
        for method in np.roll(TAKING_TURNS, repeat).tolist()
    }


def _published(data: Dataset, n_features: int) -> dict[str, Any]:
    """Return the path of the paper's Algorithm 1, to which stumps of any columns are in [0, 1]."""
    return _path(published(n_features, pool="stumps"), data)


def _path(clf: Any, data: Dataset) -> dict[str, Any]:
    """Return a method's errors and seconds along its path."""
    started = perf_counter()
    clf.fit(data.X_train, data.y_train)
    # All that is not rounds (binning, for the most part) comes before any model.
    before = perf_counter() - started - clf.path_.seconds[-1]
    errors = error_curve(clf, data.X_test, data.y_test)
    wrong = wrong_rows(clf, data.X_test, data.y_test)
    return {
        "features": errors.n_features.tolist(),
        "fractions": errors.fractions.tolist(),
        "errors": errors.errors.tolist(),
        "seconds": (before + clf.path_.seconds).tolist(),
        "wrong": {str(place): rows for place, rows in wrong.items()},
    }


def _models(rows: list[Row]) -> dict[str, dict[str, Models]]:
    """Return the models by data set and method."""
    names = dict.fromkeys(row["data"] for row in rows)
    return {name: {method: Models(rows, name, method) for method in STYLES} for name in names}


def draw(lab: Lab, rows: list[Row]) -> Mapping[str, Figure]:
    """Return the paper's panels, and the seconds against features in another figure."""
    models = _models(rows)
    figure, times = panels(1, len(models)), panels(1, len(models))
    for ax, below, (name, own) in zip(figure.axes, times.axes, models.items(), strict=True):
        for method, style in STYLES.items():
            some, colour = own[method], COLOUR_OF[method]
            curve(ax, some.features, 100 * some.errors, method, colour, style)
            if method in TAKING_TURNS:
                curve(below, some.features, some.column("seconds"), method, colour, style)
        labelled(ax, name, "stumps", "test error, %")
        labelled(below, name, "features", "seconds of training")
    return {"jointboost": figure, "jointboost-seconds": times}


def judge(rows: list[Row]) -> list[Claim]:
    """Return the paper's claims."""
    models = _models(rows)
    faster = [_time_ratio(own) for own in models.values()]
    return [
        *(_faster(models, method) for method in (PUBLISHED, PLAIN)),
        *overfitting(
            {name: own[PLAIN] for name, own in models.items()},
            {name: own[PENALISED] for name, own in models.items()},
        ),
        Claim(
            f"Training ShareBoost takes much less time than JointBoost: {MUCH:g} times less",
            "said, not shown",
            "; ".join(_times(name, own) for name, own in models.items()),
            verdict(all(ratio >= MUCH for ratio in faster), any(ratio > 1 for ratio in faster)),
        ),
    ]


def _faster(models: Mapping[str, Mapping[str, Models]], method: str) -> Claim:
    """Whether ShareBoost's error falls much faster than JointBoost's."""
    races = {name: Race(own[method], own[JOINTBOOST]) for name, own in models.items()}
    return Claim(
        f"{method}, decreases the error much faster: lower with {listed(SPARSE)} stumps, and "
        f"JointBoost needs {MUCH:g} times as many for the same error",
        "a curve, no number",
        ". ".join(f"{name}: {race}; {_end(race)}" for name, race in races.items()),
        together(race.much for race in races.values()),
    )


def _end(race: Race) -> str:
    """Return the errors with as many stumps as both have, where the paper claims nothing."""
    return f"in the end {race.against(min(race.ours.most, race.theirs.most))}"


def _shared_number(own: Mapping[str, Models]) -> int:
    """Return the number of features that times are compared at, which all methods reach."""
    return min(TIMED, *(own[method].most for method in TAKING_TURNS))


def _time_ratio(own: Mapping[str, Models]) -> float:
    """Return JointBoost's seconds over ShareBoost's, for the same number of features."""
    t = _shared_number(own)
    return own[JOINTBOOST].at(t, "seconds") / own[PLAIN].at(t, "seconds")


def _times(name: str, own: Mapping[str, Models]) -> str:
    """Return times against each other in words."""
    t = _shared_number(own)
    most = min(own[PENALISED].most, own[JOINTBOOST].most)
    return (
        f"{name}: {_seconds(own, PLAIN, t)} for {t} stumps, ratio {_time_ratio(own):.1f} "
        f"(penalised, {_seconds(own, PENALISED, most)} for {most})"
    )


def _seconds(own: Mapping[str, Models], method: str, t: int) -> str:
    """Return a method's time against JointBoost's in words."""
    ours, theirs = (own[some].at(t, "seconds") for some in (method, JOINTBOOST))
    return f"{ours:.1f} s against {theirs:.1f} s"


EXPERIMENT = Experiment(
    title="Fig. 3, bottom: ShareBoost and JointBoost on stumps",
    shows="On StatLog (Satimage), Pendigits and Isolet, both methods choose decision stumps. The "
    "paper plots the test error against the fraction of features used, and says that ShareBoost "
    "trains much faster than JointBoost.",
    measure=measure,
    draw=draw,
    judge=judge,
    captions={
        "jointboost": "Test error against the number of stumps on StatLog, Pendigits and Isolet, "
        "for ShareBoost and JointBoost.",
        "jointboost-seconds": "Seconds of training against the number of stumps, for ShareBoost "
        "and JointBoost.",
    },
    chosen=f"""\
ShareBoost *as published* is the paper's Algorithm 1, `as_published` ({STEPS}), with all thresholds
and for at most {MOST_FEATURES} stumps. The other methods choose among the same stumps, up to 255
thresholds a column: ShareBoost without a penalty (`alpha=0`) and with `alpha=3e-5`; JointBoost
finds sets of classes by the best-first search (`search="forward"`). Everything else is a default:
they were chosen on held-out training rows, of these data among others, for other pools than stumps;
test errors of Isolet and Pendigits had been seen by then (docs/defaults.md). Models use up to 200
stumps, and without a penalty ShareBoost ends early where nothing is left to gain. The official
splits are taken and no method draws anything at random, so errors have no spread over seeds. Two
methods are compared row by row (McNemar's exact test, at 5%); a rise of the error counts as
overfitting beyond twice its standard error. Times are medians of three runs in which the methods
take turns, compiled before, on the CPU whatever the device: JointBoost knows no other. Both methods
are of this library, where the paper ran JointBoost's published code.""",
)
