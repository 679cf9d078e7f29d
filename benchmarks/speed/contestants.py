"""One classifier, fitted once in a process of its own: prints what it took and what it reached.

    python contestants.py NAME DATA.npz OPTIONS

DATA has X_train, y_train (0 to k - 1), X_test and y_test; OPTIONS is a JSON object. Runs in any
environment that has the peer: nothing of shareboost is imported but by its own entry. Only the
fit is timed; for all alike the loss is the plain logistic loss of the training rows.
"""

from __future__ import annotations

import json
import resource
import sys
from statistics import median
from time import perf_counter

import numpy as np


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


def linear(seconds, coef, intercept, X, X_test, data):
    """What a linear classifier reached; coef (d, k)."""
    wrong = (X_test @ coef + intercept).argmax(axis=1) != data["y_test"]
    return {
        "seconds": seconds,
        "loss": log_loss(X @ coef + intercept, data["y_train"]),
        "error": float(wrong.mean()),
        "features": int(np.any(coef != 0, axis=1).sum()),
    }


def shareboost(data, n_features, pool="columns", compile_on=200, **parameters):
    from shareboost import ShareBoostClassifier, pools
    from shareboost.choice.select import Selector

    made = pools.Pieces(30, 10) if pool == "pieces" else pool
    X, y = data["X_train"], data["y_train"]
    first = np.random.default_rng(0).permutation(y.size)[: compile_on * (y.max() + 1)]
    ShareBoostClassifier(2, pool=made, **parameters).fit(X[first], y[first])  # compiles
    selections, original = [], Selector.best

    def best(*arguments):
        began = perf_counter()
        found = original(*arguments)
        selections.append(perf_counter() - began)
        return found

    Selector.best = best
    clf = ShareBoostClassifier(n_features, pool=made, **parameters)
    began = perf_counter()
    clf.fit(X, y)
    seconds = perf_counter() - began
    return {
        "seconds": seconds,
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
    began = perf_counter()
    model.fit(X, data["y_train"])
    seconds = perf_counter() - began
    return linear(seconds, model.coef_, model.intercept_, X, X_test, data)


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

    began = perf_counter()
    state = ad.grpnet(
        ad.matrix.dense(X, method="naive", n_threads=threads),
        ad.glm.multinomial(np.eye(k)[data["y_train"]]),
        early_exit=False,
        exit_cond=enough,
        progress_bar=False,
        n_threads=threads,
    )
    seconds = perf_counter() - began
    coef = state.betas[-1].toarray().reshape(X.shape[1], k)
    return linear(seconds, coef, state.intercepts[-1], X, X_test, data)


def saga(data, n_features, threads):
    """The l1 path of scikit-learn's saga, each C from the one before, until enough are in use."""
    from sklearn.linear_model import LogisticRegression

    X, X_test = standardised(data)
    model = LogisticRegression(
        l1_ratio=1.0, solver="saga", C=1e-3, tol=1e-3, max_iter=1000, warm_start=True
    )
    began = perf_counter()
    while not np.any(model.fit(X, data["y_train"]).coef_, axis=0).sum() >= n_features:
        model.C *= 1.3
    seconds = perf_counter() - began
    return linear(seconds, model.coef_.T, model.intercept_, X, X_test, data)


def on_chosen(chosen, seconds, began, X, X_test, data):
    """What a logistic regression on some columns reached, its own time counted."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, max_iter=10_000).fit(X[:, chosen], data["y_train"])
    seconds += perf_counter() - began
    coef = np.zeros((X.shape[1], len(model.classes_)))
    coef[chosen] = model.coef_.T
    return linear(seconds, coef, model.intercept_, X, X_test, data)


def fastcan(data, n_features, threads):
    from fastcan import FastCan

    X, X_test = standardised(data)
    one_hot = np.eye(int(data["y_train"].max()) + 1)[data["y_train"]]
    began = perf_counter()
    model = FastCan(n_features, verbose=0).fit(X, one_hot)
    return on_chosen(model.indices_, 0.0, began, X, X_test, data)


def rfe(data, n_features, threads):
    from sklearn.feature_selection import RFE
    from sklearn.linear_model import LogisticRegression

    X, X_test = standardised(data)
    began = perf_counter()
    model = RFE(LogisticRegression(max_iter=10_000), n_features_to_select=n_features, step=1)
    model.fit(X, data["y_train"])
    return on_chosen(np.flatnonzero(model.support_), 0.0, began, X, X_test, data)


RATES = (0.1, 0.2, 0.3, 0.5, 0.7)


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
    began = perf_counter()
    booster = lgb.Booster(parameters, lgb.Dataset(X, y, params=parameters))
    seconds, each = perf_counter() - began, []
    for _ in range(rounds):
        began = perf_counter()
        booster.update()
        each.append(perf_counter() - began)
    return {
        "seconds": seconds + sum(each),
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
    began = perf_counter()
    booster = train(data["X_train"], data["y_train"], rate)
    return {
        "seconds": perf_counter() - began,
        "loss": log_loss_of(booster.predict(xgb.DMatrix(data["X_train"])), data["y_train"]),
        "error": error(booster, data["X_test"], data["y_test"]),
        "features": rounds * k,
        "rate": rate,
    }


def svm(data, C=10.0):
    """An RBF machine on standardised columns; its features are support vectors."""
    from sklearn.svm import SVC

    X, X_test = standardised(data)
    began = perf_counter()
    model = SVC(C=C).fit(X, data["y_train"])
    return {
        "seconds": perf_counter() - began,
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
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = CONTESTANTS[name](data, **json.loads(options))
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["megabytes before"] = before / 1024
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
