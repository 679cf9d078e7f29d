"""Rivals have files too: their path, of the same class and parameters."""

import json

import jsonschema
import numpy as np
import pytest
from every_pool import some_digits
from model_files import assert_same_answers, changed, document_of, file_of

from shareboost import ShareBoostClassifier, load_model
from shareboost.io import ModelFormatError, file_schema
from shareboost.io.model_file import model_of
from shareboost.penalties import SmoothL1
from shareboost.pools import Pieces, Products
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier

VALIDATOR = jsonschema.Draft202012Validator(file_schema())
X, Y, _, _ = some_digits()
RIVALS = [
    OneVsRestGreedyClassifier(4, pool="stumps", penalty=SmoothL1(), class_weight={1: 2.0}),
    OneVsRestGreedyClassifier(1, pool=Pieces(12, 6), alpha=1e-3, tol=1e-3),
    MixedNormClassifier("l21", pool=Products(), n_features=30, path=5, tol=1e-3),
    MixedNormClassifier(path=np.array([0.2, 0.1]), refit=True),
    JointBoostClassifier(6, max_bins=8),
]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: type(rival).__name__)
def test_a_loaded_rival_is_the_saved_one(rival, n_classes, tmp_path):
    rows = n_classes > Y
    if isinstance(rival, OneVsRestGreedyClassifier) and rival.class_weight:
        rival.set_params(class_weight={int(Y[rows][0]): 2.0})
    clf = rival.fit(X[rows], Y[rows])
    for whole_path in (True, False):
        n_models = len(clf.path_) if whole_path else 1
        clf.save(tmp_path / "model.json", whole_path=whole_path, overwrite=True)
        loaded = load_model(tmp_path / "model.json")
        assert type(loaded) is type(clf)
        assert len(loaded.path_) == n_models
        assert_same_answers(clf, loaded, X)
        assert loaded.intercept_.tolist() == clf.intercept_.tolist()
        assert (loaded.cost_, loaded.n_iter_) == (clf.cost_, clf.n_iter_)
        VALIDATOR.validate(json.loads((tmp_path / "model.json").read_bytes()))
        loaded.save(tmp_path / "again.json", overwrite=True)
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    clf.save(tmp_path / "whole.json")
    loaded = load_model(tmp_path / "whole.json")
    assert repr(loaded.path_) == repr(clf.path_)
    for t in range(int(clf.path_.n_features.max()) + 1):
        assert_same_answers(clf.at(t), loaded.at(t), X)
    for one, two in zip(clf.staged_predict(X), loaded.staged_predict(X), strict=True):
        assert np.array_equal(one, two)
    frames = [model.path_.to_frame() for model in (clf, loaded)]
    assert np.array_equal(*(frame[["n_features", "loss", "seconds"]] for frame in frames))
    again = loaded.fit(X[rows], Y[rows])  # by the parameters of the file
    assert np.array_equal(again.weights_, clf.weights_)
    assert len(again.path_) == len(clf.path_)


def test_a_file_of_another_class_is_refused():
    document = document_of(JointBoostClassifier(3, max_bins=8).fit(X, Y))
    assert document["classifier"] == "JointBoostClassifier"
    with pytest.raises(ModelFormatError, match="classifier is .*Own.*: it takes one of JointBoost"):
        model_of(file_of(changed(document, "classifier", "Own")))
    assert "classifier" not in document_of(ShareBoostClassifier(3).fit(X, Y))
    grouped = ShareBoostClassifier(2, groups=np.arange(X.shape[1]) % 9).fit(X, Y)
    ours = document_of(grouped, whole_path=False)
    ours |= {"parameters": {}, "classifier": "MixedNormClassifier"}
    with pytest.raises(ModelFormatError, match="groups are of no MixedNormClassifier"):
        model_of(file_of(ours))
