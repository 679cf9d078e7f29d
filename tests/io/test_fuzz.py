"""Whatever a file holds, it is refused by one error or gives a model that predicts."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from attacks.cases import check_cases
from mutated_files import documents, file_of, mutated
from sklearn.base import clone

from shareboost import ModelFormatError, load_model
from shareboost.cli.tables.encoding import Inputs
from shareboost.path import PathOfOne


def exercise(clf, thoroughly):
    """Ask a loaded model for all that it can tell; its numbers may be nonsense."""
    n_inputs = clf.n_features_in_
    X = (
        np.linspace(-1, 2, 3 * n_inputs).reshape(3, -1)
        if n_inputs < 1000
        else sp.csr_array((3, n_inputs))
    )
    if hasattr(clf, "levels_in_"):
        read = Inputs.of_model(clf).columns(range(n_inputs))
        assert sum(map(len, read.values())) == n_inputs
    if hasattr(clf, "feature_names_in_"):
        del clf.feature_names_in_
    n_classes = clf.classes_.size
    assert clf.predict(X).shape == (3,)
    assert clf.predict_proba(X).shape == (3, n_classes)
    clf.path_.at(clf.selected_.size)
    if not thoroughly:
        return
    assert clf.decision_function(X).shape == ((3,) if n_classes == 2 else (3, n_classes))
    assert clf.transform(X).shape == (3, clf._features_out().n_columns)
    if n_inputs < 1000:
        assert len(clf.get_feature_names_out()) == clf._features_out().n_columns
    assert len(list(clf.staged_predict(X))) == len(clf.path_)
    assert len(clf.path_.to_frame()) == len(clf.path_)
    alone = isinstance(clf.path_, PathOfOne)
    for t in [clf.selected_.size] if alone else range(len(clf.path_) + 1):
        assert clf.at(t).predict(X).shape == (3,)
    assert repr(clf.path_).startswith("<Path of")
    assert repr(clone(clf)) == repr(clf)


@pytest.mark.fuzz
def test_a_changed_file_is_refused_or_predicts(tmp_path):
    path = tmp_path / "model.json"

    def loads(rng):
        path.write_bytes(mutated(rng))
        try:
            clf = load_model(path)
        except ModelFormatError:
            return False
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            exercise(clf, thoroughly=rng.random() < 0.1)
        return True

    # Files are both loaded and refused, else the cases test nothing.
    assert set(check_cases("model files", 2000, loads)) == {True, False}


def test_the_files_that_are_changed_load_before(tmp_path):
    for document in documents():
        (tmp_path / "model.json").write_bytes(file_of(document))
        exercise(load_model(tmp_path / "model.json"), thoroughly=True)
