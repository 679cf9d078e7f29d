"""Classifiers go through joblib and cloudpickle and answer as before, to the last bit."""

import pickle

import cloudpickle
import joblib
import numpy as np
import pytest

from shareboost import ShareBoostClassifier, ShareBoostCV
from shareboost.pools import Columns, Stumps, Union
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier

ESTIMATORS = [
    ShareBoostClassifier(3, pool=Union([Columns(), Stumps()])),
    ShareBoostCV(n_features=2, cv=2),
    OneVsRestGreedyClassifier(3),
    MixedNormClassifier(path=3),
    JointBoostClassifier(5, max_bins=8, max_iter=20),
]


@pytest.mark.parametrize("clf", ESTIMATORS, ids=lambda clf: type(clf).__name__)
def test_joblib_keeps_classifiers_and_can_map_their_arrays(clf, named, tmp_path):
    X, y = named
    clf.fit(X, y)
    joblib.dump(clf, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert loaded.get_feature_names_out().tolist() == clf.get_feature_names_out().tolist()
    for mine, theirs in zip(
        clf.staged_decision_function(X), loaded.staged_decision_function(X), strict=True
    ):
        assert np.array_equal(mine, theirs)


def test_joblib_fits_in_other_processes(shifted):
    X, y = shifted
    clf = ShareBoostClassifier(2)
    (there,) = joblib.Parallel(n_jobs=2)([joblib.delayed(clf.fit)(X, y)])
    assert np.array_equal(there.predict_proba(X), clf.fit(X, y).predict_proba(X))


def test_cloudpickle_keeps_functions_too(shifted):
    X, y = shifted
    clf = ShareBoostClassifier(2, costs=lambda atoms: np.where(atoms.ids == 5, 1e6, 1.0)).fit(X, y)
    with pytest.raises((pickle.PicklingError, AttributeError), match="pickle"):
        pickle.dumps(clf)
    loaded = cloudpickle.loads(cloudpickle.dumps(clf))
    assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert 5 not in loaded.selected_
    assert loaded.fit(X, y).selected_.tolist() == clf.selected_.tolist()
