"""One classifier, fitted once in a process of its own: prints what it took and what it reached.

    python contestants.py NAME DATA.npz OPTIONS

DATA has X_train, y_train (0 to k - 1), X_test and y_test; OPTIONS is a JSON object. Runs in any
environment that has the peer: nothing of shareboost is imported but by its own entry. The fit
alone is metered; for all alike the loss is the plain logistic loss of the training rows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np


class Meter:
    """Seconds by the clock and of the processors, and the peak of memory, from here to ``read``."""

    def __init__(self):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self.resident = megabytes("VmRSS")
        self.began, self.used = perf_counter(), process_time()

    def read(self):
        seconds, used = perf_counter() - self.began, process_time() - self.used
        return {
            "seconds": seconds,
            "processors": used,
            "megabytes": megabytes("VmHWM"),
            "megabytes before": self.resident,
        }


def megabytes(name):
    """What Linux says of this process; a process starts with the peak of the one that made it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise KeyError(name)


def log_loss(scores, y):
    scores = scores - scores.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(y.size), y]))


def log_loss_of(shares, y):
    """The same from probabilities."""
    return float(-np.mean(np.log(np.maximum(shares[np.arange(y.size), y], 1e-300))))


def standardised(data):
    """Training and test rows by the training rows' mean and deviation, in float64."""
    X, X_test = (data[name].astype(np.float64) for name in ("X_train", "X_test"))
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0] = 1.0
    return (X - mean) / deviation, (X_test - mean) / deviation


def linear(taken, coef, intercept, X, X_test, data):
    """What a linear classifier took and reached; coef (d, k)."""
    wrong = (X_test @ coef + intercept).argmax(axis=1) != data["y_test"]
    return taken | {
        "loss": log_loss(X @ coef + intercept, data["y_train"]),
        "error": float(wrong.mean()),
        "features": int(np.any(coef != 0, axis=1).sum()),
    }


def shareboost(data, n_features, pool="columns", dtype=None, **parameters):
    from shareboost import ShareBoostClassifier, pools
    from shareboost.selection.rules import Selector

    made = pools.Pieces(30, 10) if pool == "pieces" else pool
    X, y = data["X_train"], data["y_train"]
    X = X.astype(dtype or X.dtype, copy=False)
    first = np.random.default_rng(0).permutation(y.size)[: 200 * (y.max() + 1)]
    ShareBoostClassifier(2, pool=made, **parameters).fit(X[first], y[first])  # compiles
    selections, original = [], Selector.best

    def best(*arguments):
        began = perf_counter()
        found = original(*arguments)
        selections.append(perf_counter() - began)
        return found

    Selector.best = best
    clf = ShareBoostClassifier(n_features, pool=made, **parameters)
    meter = Meter()
    clf.fit(X, y)
    taken = meter.read()
    return taken | {
        "loss": log_loss_of(clf.predict_proba(X), y),
        "error": float(np.mean(clf.predict(data["X_test"]) != data["y_test"])),
        "features": len(clf.selected_),
        "round": median(selections),
    }


def abess(data, n_features, threads):
    from abess import MultinomialRegression

    X, X_test = standardised(data)
    model = MultinomialRegression(
        support_size=range(1, n_features + 1), ic_type="loss", thread=threads
    )
    meter = Meter()
    model.fit(X, data["y_train"])
    return linear(meter.read(), model.coef_, model.intercept_, X, X_test, data)


def adelie(data, n_features, threads):
    import adelie as ad

    X, X_test = standardised(data)
    X = np.asfortranarray(X)
    k = int(data["y_train"].max()) + 1

    def enough(state):
        """Whether so many columns have weights that are not all zero."""
        if not state.betas.shape[0]:
            return False
        last = state.betas[-1]
        return np.unique(last.indices[last.data != 0] // k).size >= n_features

    meter = Meter()
    state = ad.grpnet(
        ad.matrix.dense(X, method="naive", n_threads=threads),
        ad.glm.multinomial(np.eye(k)[data["y_train"]]),
        early_exit=False,
        exit_cond=enough,
        progress_bar=False,
        n_threads=threads,
    )
    taken = meter.read()
    coef = state.betas[-1].toarray().reshape(X.shape[1], k)
    return linear(taken, coef, state.intercepts[-1], X, X_test, data)


def saga(data, n_features, threads):
    """The l1 path of scikit-learn's saga, each C from the one before, until enough are in use."""
    from sklearn.linear_model import LogisticRegression

    X, X_test = standardised(data)
    model = LogisticRegression(
        l1_ratio=1.0,
        solver="saga",
        C=1e-3,
        tol=1e-3,
        max_iter=1000,
        warm_start=True,
        random_state=0,
    )
    meter = Meter()
    while not np.any(model.fit(X, data["y_train"]).coef_, axis=0).sum() >= n_features:
        model.C *= 1.3
    return linear(meter.read(), model.coef_.T, model.intercept_, X, X_test, data)


def on_chosen(chosen, meter, X, X_test, data):
    """What a logistic regression on some columns reached, its own time counted."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, max_iter=10_000).fit(X[:, chosen], data["y_train"])
    taken = meter.read()
    coef = np.zeros((X.shape[1], len(model.classes_)))
    coef[chosen] = model.coef_.T
    return linear(taken, coef, model.intercept_, X, X_test, data)


def fastcan(data, n_features, threads):
    from fastcan import FastCan

    X, X_test = standardised(data)
    one_hot = np.eye(int(data["y_train"].max()) + 1)[data["y_train"]]
    meter = Meter()
    model = FastCan(n_features, verbose=0).fit(X, one_hot)
    return on_chosen(model.indices_, meter, X, X_test, data)


def rfe(data, n_features, threads):
    from sklearn.feature_selection import RFE
    from sklearn.linear_model import LogisticRegression

    X, X_test = standardised(data)
    meter = Meter()
    model = RFE(LogisticRegression(max_iter=10_000), n_features_to_select=n_features, step=1)
    model.fit(X, data["y_train"])
    return on_chosen(np.flatnonzero(model.support_), meter, X, X_test, data)


RATES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4)


def best_rate(train, error, data):
    """The learning rate of the lowest error on a sixth of the training rows, held out."""
    order = np.random.default_rng(0).permutation(data["y_train"].size)
    held, kept = np.split(order, [order.size // 6])
    X, y = data["X_train"], data["y_train"]
    errors = [error(train(X[kept], y[kept], rate), X[held], y[held]) for rate in RATES]
    return RATES[int(np.argmin(errors))]


def lightgbm(data, rounds, threads, rate=None):
    """One-split trees, as many as classes a round."""
    import lightgbm as lgb

    k = int(data["y_train"].max()) + 1
    fixed = {"objective": "multiclass", "num_class": k, "num_leaves": 2, "max_depth": 1}
    fixed |= {"num_threads": threads, "verbose": -1}

    def train(X, y, rate):
        return lgb.train(fixed | {"learning_rate": rate}, lgb.Dataset(X, y), rounds)

    def error(booster, X, y):
        return float(np.mean(booster.predict(X).argmax(axis=1) != y))

    rate = rate or best_rate(train, error, data)
    X, y = data["X_train"], data["y_train"]
    parameters = fixed | {"learning_rate": rate}
    meter, each = Meter(), []
    booster = lgb.Booster(parameters, lgb.Dataset(X, y, params=parameters))
    for _ in range(rounds):
        began = perf_counter()
        booster.update()
        each.append(perf_counter() - began)
    taken = meter.read()
    return taken | {
        "loss": log_loss_of(booster.predict(X), y),
        "error": error(booster, data["X_test"], data["y_test"]),
        "features": len(each) * k,
        "round": median(each),
        "rate": rate,
    }


def xgboost(data, rounds, threads, rate=None):
    import xgboost as xgb

    k = int(data["y_train"].max()) + 1
    fixed = {"objective": "multi:softprob", "num_class": k, "max_depth": 1, "nthread": threads}

    def train(X, y, rate):
        return xgb.train(fixed | {"eta": rate}, xgb.QuantileDMatrix(X, y, nthread=threads), rounds)

    def error(booster, X, y):
        return float(np.mean(booster.predict(xgb.DMatrix(X)).argmax(axis=1) != y))

    rate = rate or best_rate(train, error, data)
    meter = Meter()
    booster = train(data["X_train"], data["y_train"], rate)
    taken = meter.read()
    return taken | {
        "loss": log_loss_of(booster.predict(xgb.DMatrix(data["X_train"])), data["y_train"]),
        "error": error(booster, data["X_test"], data["y_test"]),
        "features": rounds * k,
        "rate": rate,
    }


def svm(data, C=10.0):
    """An RBF machine on standardised columns; its features are support vectors."""
    from sklearn.svm import SVC

    X, X_test = standardised(data)
    meter = Meter()
    model = SVC(C=C).fit(X, data["y_train"])
    taken = meter.read()
    return taken | {
        "error": float(np.mean(model.predict(X_test) != data["y_test"])),
        "features": len(model.support_),
    }


CONTESTANTS = {
    each.__name__: each
    for each in (shareboost, abess, adelie, saga, fastcan, rfe, lightgbm, xgboost, svm)
}


def main(name, source, options):
    with np.load(source) as stored:
        data = {key: stored[key] for key in stored.files}
    print(json.dumps(CONTESTANTS[name](data, **json.loads(options))))


if __name__ == "__main__":
    main(*sys.argv[1:])
