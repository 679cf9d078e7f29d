"""Accuracy that the package promises on real data; time and memory live in benchmarks/."""

import numpy as np

from shareboost import ShareBoostClassifier


def test_isolet_with_50_of_617_columns(data_set):
    data = data_set("isolet")
    clf = ShareBoostClassifier(50).fit(data.X_train, data.y_train)
    assert 1 - clf.score(data.X_test, data.y_test) <= 0.10
    assert clf.path_.losses[-1] <= 0.15


def test_pendigits_with_50_of_120_products(data_set):
    data = data_set("pendigits")
    i, j = np.triu_indices(16, 1)
    X_train, X_test = (
        X[:, i].astype(float) * X[:, j].astype(float) for X in (data.X_train, data.X_test)
    )
    clf = ShareBoostClassifier(50).fit(X_train, data.y_train)
    assert 1 - clf.score(X_test, data.y_test) <= 0.034
