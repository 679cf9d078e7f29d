import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from pairs import covering

from shareboost import ShareBoostClassifier
from shareboost import model as model_module
from shareboost.model import Model
from shareboost.pools.columns import ColumnFeatures


def test_scores_are_the_chosen_columns_times_coef(digits):
    X, y = digits
    clf = ShareBoostClassifier(8).fit(X, y)
    assert clf.weights_.shape == (10, 8)
    assert clf.intercept_.shape == (10,)
    scores = X[:, clf.selected_] @ clf.weights_.T + clf.intercept_
    assert np.allclose(clf.decision_function(X), scores)
    assert np.allclose(X @ clf.coef_.T + clf.intercept_, scores)
    assert np.array_equal(clf.predict(X), clf.classes_[scores.argmax(axis=1)])
    probability = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert np.allclose(clf.predict_proba(X), probability)
    assert np.allclose(np.exp(clf.predict_log_proba(X)), probability)


def test_weights_speak_of_the_users_units(digits):
    X, y = digits
    units = np.random.default_rng(0).uniform(0.01, 100, size=64)
    shift = np.random.default_rng(1).normal(size=64) * units
    tight = {"alpha": 1e-3, "refit_tol": 1e-3, "tol": 1e-8}
    plain = ShareBoostClassifier(6, **tight).fit(X, y)
    other = ShareBoostClassifier(6, **tight).fit(X * units + shift, y)
    assert np.array_equal(plain.selected_, other.selected_)
    assert np.allclose(
        plain.weights_, other.weights_ * units[other.selected_], rtol=1e-4, atol=1e-6
    )
    decision = other.decision_function(X * units + shift)
    assert np.allclose(plain.decision_function(X), decision, atol=1e-5)


def test_the_model_keeps_no_training_data(digits):
    X, y = np.tile(digits[0], (20, 1)), np.tile(digits[1], 20)
    clf = ShareBoostClassifier(5).fit(X, y)
    assert len(pickle.dumps(clf)) < 20_000


@covering(
    dtype=["f4", "f8", "u1"],
    make={"C": np.asarray, "Fortran": np.asfortranarray, "sparse": sp.csr_array},
    n_chosen=[3, 20],  # few columns of X are taken out, of many all are read
)
def test_chunks_and_ways_of_reading_change_no_score(dtype, make, n_chosen, monkeypatch):
    monkeypatch.setattr(model_module, "CHUNK_ROWS", 7)
    monkeypatch.setattr(model_module, "CHUNK_BYTES", 1)
    rng = np.random.default_rng(0)
    X = make(rng.integers(0, 50, size=(40, 20)).astype(dtype))
    chosen = rng.permutation(20)[:n_chosen]
    coef, intercept = rng.normal(size=(4, n_chosen)), rng.normal(size=4)
    model = Model(ColumnFeatures(chosen), coef, intercept)
    dense = X.toarray() if sp.issparse(X) else X
    expected = dense[:, chosen].astype(float) @ coef.T + intercept
    scores = model.scores(X)
    assert scores.dtype == np.float64
    assert np.allclose(scores, expected)
    assert np.array_equal(model.best(X), scores.argmax(axis=1))


@pytest.mark.parametrize("k", [2, 256, 257, 300])
def test_the_best_class_is_the_first_of_equals_however_many_there_are(k):
    rng = np.random.default_rng(k)
    X = rng.integers(0, 3, size=(500, 4)).astype(float)
    coef = rng.integers(-2, 3, size=(k, 4)).astype(float)
    model = Model(ColumnFeatures(np.arange(4)), coef, np.zeros(k))
    scores = X @ coef.T
    assert (np.sort(scores, axis=1)[:, -1] == np.sort(scores, axis=1)[:, -2]).any()  # some tie
    assert np.array_equal(model.best(X), scores.argmax(axis=1))
    assert np.array_equal(model.best(X[:0]), np.empty(0))


def test_wide_atoms_are_computed_some_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(model_module, "MOST_BYTES", 8 * 30 * 5)
    seen = []

    class Seen(ColumnFeatures):
        def columns(self, X):
            seen.append(X.shape[0])
            return X[:, self.ids]

        @property
        def input_columns(self):
            return None

    model = Model(Seen(np.arange(30)), np.ones((2, 30)), np.zeros(2))
    assert model.scores(np.ones((12, 30))).tolist() == [[30.0, 30.0]] * 12
    assert seen == [5, 5, 2]
