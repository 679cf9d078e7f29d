"""Kinds of X that the rivals take: what ShareBoost takes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier

RIVALS = {
    "one-vs-rest": OneVsRestGreedyClassifier(6),
    "mixed norm": MixedNormClassifier(path=6),
    "refit": MixedNormClassifier("l21", path=6, refit=True, path_ratio=0.3),
    "jointboost": JointBoostClassifier(6),
}
every_rival = pytest.mark.parametrize("rival", RIVALS.values(), ids=RIVALS)


@every_rival
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.int64, np.float16, np.float32])
def test_integers_and_short_floats_equal_float64(digits, rival, dtype):
    X, y = digits[0][:400], digits[1][:400]
    plain, clf = clone(rival).fit(X, y), clone(rival).fit(X.astype(dtype), y)
    assert np.array_equal(clf.selected_, plain.selected_)
    assert np.allclose(clf.decision_function(X), plain.decision_function(X), atol=0.02)


@every_rival
@pytest.mark.parametrize("format_", ["csr", "csc", "coo", "lil", "bsr"])
def test_sparse_input_of_any_format_equals_dense(digits, rival, format_):
    X, y = digits[0][:400], digits[1][:400]
    S = sp.coo_array(X).asformat(format_)
    dense, clf = clone(rival).fit(X, y), clone(rival).fit(S, y)
    assert np.array_equal(clf.selected_, dense.selected_)
    assert np.allclose(clf.decision_function(S), dense.decision_function(X), atol=1e-2)


@every_rival
def test_booleans_are_features_too(rival):
    rng = np.random.default_rng(0)
    X = rng.random((300, 10)) < 0.5
    clf = clone(rival).fit(X, 2 * X[:, 3] + X[:, 8])
    assert set(clf.columns_) >= {3, 8}
    assert clf.score(X, 2 * X[:, 3] + X[:, 8]) == 1.0


@every_rival
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_frames_carry_their_names(rival, kind):
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = clone(rival).fit(kind(X.to_dict("list")), y)
    assert clf.feature_names_in_.tolist() == X.columns.tolist()
    assert all(name.split(" (")[0] in str(X.columns) for name in clf.get_feature_names_out())
    out = clf.set_output(transform="pandas").transform(X)
    assert out.columns.tolist() == clf.get_feature_names_out().tolist()


@every_rival
def test_they_work_in_pipelines_and_searches(rival):
    X, y = load_iris(return_X_y=True)
    clf = make_pipeline(StandardScaler(), clone(rival), LogisticRegression())
    assert clf.fit(X, y).score(X, y) > 0.9
    search = GridSearchCV(clone(rival), {"n_features": [1, 3]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.6


@every_rival
@pytest.mark.parametrize("unit", [1e-30, 1e-6, 1e6, 1e30])
def test_units_of_x_do_not_matter(problem, rival, unit):
    X, y = problem
    plain, clf = clone(rival).fit(X, y), clone(rival).fit(X * unit, y)
    assert np.array_equal(clf.selected_, plain.selected_)
    assert np.allclose(clf.decision_function(X * unit), plain.decision_function(X), atol=1e-2)
