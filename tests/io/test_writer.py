"""Files are written whole or not at all, and only for models that can be read again."""

import json
import os

import naive_model_file
import numpy as np
import pytest
from every_pool import some_digits
from model_files import document_of
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from shareboost import ShareBoostClassifier, ShareBoostCV, load_model
from shareboost.io import model_file, save_model
from shareboost.pools import Columns, Union
from shareboost.rivals import OneVsRestGreedyClassifier

X, Y, _, _ = some_digits()


@pytest.fixture(scope="module")
def clf():
    return ShareBoostClassifier(3).fit(X, Y)


def test_a_file_that_is_there_is_refused_unless_it_may_be_replaced(clf, tmp_path):
    path = tmp_path / "model.json"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        clf.save(path)
    assert path.read_text() == "mine"
    clf.save(path, overwrite=True)
    np.testing.assert_array_equal(load_model(path).selected_, clf.selected_)
    assert os.listdir(tmp_path) == ["model.json"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("whole_path", [False, True])
def test_a_file_tells_of_the_run_that_made_its_model(whole_path, tmp_path):
    """Also one that is written again by a classifier that was loaded without its path."""
    clf = ShareBoostClassifier(3, alpha=1e-9, max_iter=2, fit_intercept=False).fit(X, Y)
    rounds = [clf.path_.start, *clf.path_]  # the last with the final refit
    told = document_of(clf, whole_path)["training"]
    assert told["rows"] == len(X)
    assert told["seconds"] == rounds[-1].seconds > rounds[1].seconds
    late = [t for t, round_ in enumerate(rounds) if not round_.status.converged]
    assert told["not_converged"] == late
    assert late
    assert naive_model_file.numbers(told["losses"]) == clf.path_.losses.tolist()
    clf.save(tmp_path / "model.json", whole_path=whole_path)
    assert document_of(load_model(tmp_path / "model.json"), whole_path)["training"] == told


@pytest.mark.parametrize("estimator", [ShareBoostClassifier(), ShareBoostCV()])
def test_what_is_not_fitted_is_refused_and_the_file_stays(estimator, tmp_path):
    path = tmp_path / "model.json"
    path.write_text("mine")
    with pytest.raises(NotFittedError):
        estimator.save(path, overwrite=True)
    assert path.read_text() == "mine"


def test_other_models_are_refused(tmp_path):
    class Own(OneVsRestGreedyClassifier):
        pass

    with pytest.raises(TypeError, match="model is a Own, which a model file"):
        Own(2).fit(X, Y).save(tmp_path / "model.json")
    with pytest.raises(TypeError, match="model is a LogisticRegression"):
        save_model(LogisticRegression(), tmp_path / "model.json")
    assert not os.listdir(tmp_path)


class OwnColumns(Columns):
    """A pool of a user's own."""


class OwnFeatures:
    """Features of a pool of a user's own."""

    def __init__(self, ids):
        self.ids = ids
        self.widths = np.ones_like(ids)

    def take(self, places):
        return self


@pytest.mark.parametrize("pool", [OwnColumns(), Union([Columns(), ("mine", OwnColumns())])])
def test_pools_of_a_users_own_are_refused(pool, tmp_path):
    own = ShareBoostClassifier(2, pool=pool).fit(X, Y)
    with pytest.raises(TypeError, match="is a OwnColumns, a pool that is not shareboost's"):
        own.save(tmp_path / "model.json")
    assert not os.listdir(tmp_path)


def test_features_of_a_users_own_are_refused(tmp_path):
    own = ShareBoostClassifier(2).fit(X, Y)
    own.path_.features = OwnFeatures(own.selected_)
    with pytest.raises(TypeError, match="Features of the type OwnFeatures cannot be saved"):
        own.save(tmp_path / "model.json")


def test_a_model_too_large_for_a_file_is_refused_with_advice(clf, tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "LARGEST_FILE", 4000)
    clf.save(tmp_path / "alone.json", whole_path=False)
    with pytest.raises(
        ValueError, match="a model file has at most 4,000 bytes, .* whole_path=False"
    ):
        clf.save(tmp_path / "model.json", whole_path=True)
    monkeypatch.setattr(model_file, "LARGEST_FILE", 400)
    with pytest.raises(ValueError, match="at most 400 bytes, .* fewer features"):
        clf.save(tmp_path / "model.json", whole_path=False)
    assert os.listdir(tmp_path) == ["alone.json"]


def test_weights_that_no_file_holds_are_refused(tmp_path):
    broken = ShareBoostClassifier(2).fit(X, Y)
    broken.weights_ = broken.weights_ * np.nan
    with pytest.raises(ValueError, match=r"cannot hold this classifier: model.coef has NaN"):
        broken.save(tmp_path / "model.json")


def test_the_file_tells_of_the_training(clf):
    from shareboost import __version__

    for whole_path in (False, True):
        document = document_of(clf, whole_path)
        assert document["written_by"] == f"shareboost {__version__}"
        assert document["training"]["rows"] == len(X)
        assert document["training"]["seconds"] == clf.path_.seconds[-1]
        assert document["training"]["not_converged"] == []
        assert document["path"]["stop_reason"] == "reached n_features"
        assert document["parameters"]["alpha"] == clf.alpha
        assert document["training"]["losses"]["shape"] == [3]


def test_rounds_that_did_not_converge_are_told():
    with pytest.warns(UserWarning, match="ended with a gradient"):
        late = ShareBoostClassifier(3, max_iter=1).fit(X, Y)
    assert document_of(late)["training"]["not_converged"]


def test_a_file_is_ascii_and_its_first_line_tells_what_it_is(clf, tmp_path):
    clf.save(tmp_path / "model.json")
    first, rest = (tmp_path / "model.json").read_bytes().split(b"\n", 1)
    head = json.loads(first.rstrip(b",") + b"}")
    assert head.keys() == {"format", "version", "crc32"}
    assert rest.isascii()
