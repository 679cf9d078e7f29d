"""What is compared with what, and what ratio is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shareboost.datasets import load_dataset


class Rows(NamedTuple):
    """A data set with labels 0 to k - 1."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


def stored(name: str, change: Callable[[Any], Any] = np.asarray) -> Rows:
    data = load_dataset(name)
    classes = np.unique(data.y_train)
    labels = (np.searchsorted(classes, y) for y in (data.y_train, data.y_test))
    y_train, y_test = labels
    return Rows(change(data.X_train), y_train, change(data.X_test), y_test)


def products(X: Any) -> Any:
    i, j = np.triu_indices(X.shape[1], 1)
    return X[:, i].astype(np.float64) * X[:, j]


def floats(X: Any) -> Any:
    return X.astype(np.float32)


DATA: dict[str, Callable[[], Rows]] = {
    "isolet": lambda: stored("isolet"),
    "pendigits": lambda: stored("pendigits", floats),
    "pendigits-products": lambda: stored("pendigits", products),
    "mnist": lambda: stored("mnist"),
}

# Environments, by name: the extra "bench" is in that of shareboost.
OWN, OLDER = "own", "older"


@dataclass(frozen=True)
class Runner:
    """A classifier and how it is called; ``older`` ones need an older NumPy."""

    name: str  # of the program
    options: dict[str, Any]
    title: str
    environment: str = OWN
    asked: str = ""
    most: int = 100  # repeats


@dataclass(frozen=True)
class Match:
    """Some work, done by ours and by peers in turns, each time in a fresh process."""

    name: str
    work: str
    data: str
    runners: tuple[Runner, ...]  # the first is ours, by which the others' times are divided
    repeats: int = 3


@dataclass(frozen=True)
class Limit:
    """A single step beside what the machine can do at all, in turns in one process."""

    name: str
    work: str
    against: str
    asked: str
    repeats: int = 15


LIMITS = (
    Limit(
        "dense",
        "`Columns` selection from the residual, 60000 x 2000 float32, 10 classes",
        "`X.sum()` on two threads",
        "at most 3 times its time",
    ),
    Limit(
        "sparse",
        "the same, sparse 100000 x 20000, 5% filled, 50 classes",
        "SciPy's `X.T @ R`",
        "at most 1/4 of its time",
        repeats=7,
    ),
    Limit(
        "refit",
        "evaluation of a refit, 60000 x 200, 10 classes",
        "one `A @ W` and one `A.T @ P` in float32 BLAS",
        "at most 1.5 times their time",
    ),
    Limit(
        "predict",
        "`predict`, 100000 rows of 20 columns, float32",
        "scikit-learn's LogisticRegression",
        "not slower",
    ),
    Limit(
        "predict_float64",
        "the same, float64",
        "scikit-learn's LogisticRegression",
        "not slower",
    ),
)


def matches(quick: bool) -> tuple[Match, ...]:
    """Return the comparisons with peers; the quick ones take paths to 10 features, once."""
    size, repeats = (10, 1) if quick else (50, 3)
    path, threads = {"n_features": size}, {"threads": 2}

    def ours(title: str = "", **options: Any) -> Runner:
        return Runner("shareboost", options, f"**shareboost**{title}")

    def peer(name: str, title: str, asked: str = "", **more: Any) -> Runner:
        return Runner(name, path | threads, title, asked="" if quick else asked, **more)

    fastcan = peer("fastcan", "fastcan and logistic regression")
    saga = peer("saga", "scikit-learn's saga, l1", most=1)
    rfe = peer("rfe", "RFE, logistic regression", most=1)
    abess = ("abess", "abess 0.4.11")
    trees = {"rounds": 20} | threads | ({"rate": 0.5} if quick else {})  # else tuned
    return (
        Match(
            "isolet",
            f"Isolet, 617 columns, path to {size}",
            "isolet",
            (
                ours(**path),
                ours(", float64", **path, dtype="float64"),
                ours(
                    ", float64, `margin=0, alpha=0`", **path, dtype="float64", margin=0.0, alpha=0.0
                ),
                peer(*abess, "at least 35 times ours, higher loss", environment=OLDER),
                peer(
                    "adelie",
                    "adelie 1.1.52, grouped multinomial",
                    "at least 50 times ours, higher error",
                    environment=OLDER,
                ),
                fastcan,
                *(() if quick else (saga,)),
            ),
            repeats,
        ),
        Match(
            "pendigits-products",
            f"Pendigits, 120 products as columns, path to {size}",
            "pendigits-products",
            (
                ours(**path),
                ours(", `margin=0, alpha=0, tol=1e-5`", **path, margin=0.0, alpha=0.0, tol=1e-5),
                peer(*abess, "at least 20 times ours, loss not lower", environment=OLDER, most=1),
                fastcan,
                *(() if quick else (saga, rfe)),
            ),
            repeats,
        ),
        Match(
            "stumps",
            "MNIST, 200 stumps shared by all classes, or 20 a class",
            "mnist",
            (
                ours(", 200 stumps", n_features=200, pool="stumps"),
                ours(", `refit_tol=0.5`", n_features=200, pool="stumps", refit_tol=0.5),
                Runner(
                    "lightgbm",
                    trees,
                    "LightGBM, 20 rounds of 10 one-split trees",
                    asked="not less than ours; ours at most 0.6 of its error",
                ),
                Runner("xgboost", trees, "XGBoost, 20 rounds of 10 one-split trees"),
            ),
            repeats,
        ),
        Match(
            "pieces",
            "Pendigits, 40 pieces of 30 centres, 10 radii",
            "pendigits",
            (ours(n_features=40, pool="pieces"), Runner("svm", {}, "RBF SVM, C=10")),
            repeats,
        ),
    )
