"""What is compared with what, and what ratio is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
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
    "isolet-float64": lambda: stored("isolet", lambda X: X.astype(np.float64)),
    "pendigits": lambda: stored("pendigits", floats),
    "pendigits-products": lambda: stored("pendigits", products),
    "mnist": lambda: stored("mnist"),
}

# Environments, by name: the extra "bench" is in that of shareboost.
OWN, OLDER = "own", "older"


@dataclass(frozen=True)
class Peer:
    """A peer and how it is called; ``older`` ones need an older NumPy."""

    name: str
    options: dict[str, Any]
    environment: str = OWN
    title: str = ""


@dataclass(frozen=True)
class Match:
    """Some work, ours and that of peers, run in turns, each run in a fresh process."""

    name: str
    work: str
    data: str
    ours: dict[str, Any]
    peers: tuple[Peer, ...]
    asked: dict[str, str] = field(default_factory=dict)  # of each peer, in words
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
        "`Columns` selection, 60000 x 2000 float32, 10 classes",
        "`X.sum()` on two threads",
        "at most 3 times its time",
    ),
    Limit(
        "sparse",
        "`Columns` selection, sparse 100000 x 20000, 5% filled, 50 classes",
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
    path = {"n_features": size}
    threads = {"threads": 2}
    older = [Peer("abess", path | threads, OLDER), Peer("adelie", path | threads, OLDER)]
    slow = [Peer("saga", path | threads), Peer("rfe", path | threads)]
    found = [
        Match(
            "isolet",
            f"Isolet, 617 columns, path to {size}",
            "isolet",
            path,
            (*older, Peer("fastcan", path | threads), *(() if quick else slow)),
            {"abess": "at least 35 times faster, lower loss", "adelie": "at least 50 times faster"},
            repeats,
        ),
        Match(
            "isolet-unpenalised",
            f"the same in float64, `margin=0, alpha=0` (what abess minimises), path to {size}",
            "isolet-float64",
            path | {"margin": 0.0, "alpha": 0.0},
            (older[0],),
            {"abess": "at least 35 times faster, lower loss"},
            1,
        ),
        Match(
            "pendigits-products",
            f"Pendigits, 120 products as columns, path to {size}",
            "pendigits-products",
            path,
            (older[0], Peer("fastcan", path | threads), *(() if quick else slow)),
            {"abess": "at least 20 times faster, loss not higher"},
            repeats,
        ),
        Match(
            "stumps",
            "MNIST, 200 shared stumps",
            "mnist",
            {"n_features": 200, "pool": "stumps"},
            (
                Peer("lightgbm", {"rounds": 20} | threads, title="LightGBM, 200 one-split trees"),
                Peer("xgboost", {"rounds": 20} | threads, title="XGBoost, 200 one-split trees"),
            ),
            {"lightgbm": "not slower, at most 0.6 of its test error"},
            repeats,
        ),
        Match(
            "stumps-loose",
            "the same, `refit_tol=0.5`",
            "mnist",
            {"n_features": 200, "pool": "stumps", "refit_tol": 0.5},
            (Peer("lightgbm", {"rounds": 20} | threads, title="LightGBM, 200 one-split trees"),),
            {"lightgbm": "not slower, at most 0.6 of its test error"},
            repeats,
        ),
        Match(
            "pieces",
            "Pendigits, 40 pieces of 30 centres",
            "pendigits",
            {"n_features": 40, "pool": "pieces"},
            (Peer("svm", {}, title="RBF SVM"),),
            {},
            repeats,
        ),
    ]
    return tuple(found)
