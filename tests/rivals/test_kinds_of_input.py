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
    # Tight, so that no rounding of short numbers moves where a refit ends.
    "one-vs-rest": OneVsRestGreedyClassifier(6, alpha=1e-3, refit_tol=1e-3, tol=1e-6),
    "mixed norm": MixedNormClassifier(path=4, path_ratio=0.1),
    "refit": MixedNormClassifier("l21", path=4, refit=True, path_ratio=0.3),
    "jointboost": JointBoostClassifier(6),
}
every_rival = pytest.mark.parametrize("rival", RIVALS.values(), ids=RIVALS)


@every_rival
def test_other_numbers_and_sparse_rows_equal_float64(digits, rival):
    X, y = digits[0][:300], digits[1][:300]
    plain = clone(rival).fit(X, y)
    numbers = [X.astype(dtype) for dtype in (np.uint8, np.int64, np.float16, np.float32)]
    sparse = [sp.coo_array(X).asformat(format_) for format_ in ("csr", "csc", "lil")]
    for given in [*numbers, *sparse]:
        clf = clone(rival).fit(given, y)
        assert np.array_equal(clf.selected_, plain.selected_)
        assert np.allclose(clf.decision_function(given), plain.decision_function(X), atol=1e-2)


@every_rival
def test_booleans_are_features_too(rival):
    rng = np.random.default_rng(0)
    X = rng.random((300, 10)) < 0.5
    clf = clone(rival).fit(X, 2 * X[:, 3] + X[:, 8])
    assert set(clf.columns_) >= {3, 8}
    assert clf.score(X, 2 * X[:, 3] + X[:, 8]) == 1.0


@every_rival
def test_frames_carry_their_names(rival):
    X, y = load_iris(return_X_y=True, as_frame=True)
    for kind in (pd.DataFrame, pl.DataFrame):
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
    search = GridSearchCV(clone(rival), {"n_features": [1, 3]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.6


@every_rival
def test_units_of_x_do_not_matter(problem, rival):
    X, y = problem
    plain = clone(rival).fit(X, y)
    for unit in (1e-30, 1e30):
        clf = clone(rival).fit(X * unit, y)
        assert np.array_equal(clf.selected_, plain.selected_)
        assert np.allclose(clf.decision_function(X * unit), plain.decision_function(X), atol=1e-2)
