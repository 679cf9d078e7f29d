"""A model that was saved alone tells of itself, and says that it is alone."""

import numpy as np
import pytest
from every_pool import some_digits
from model_files import assert_same_attributes, assert_same_bits

from shareboost import ShareBoostClassifier, load_model
from shareboost.inspection.comparison import error_curve

X, Y, _, _ = some_digits()


@pytest.fixture(scope="module")
def clf():
    return ShareBoostClassifier(5, pool="stumps").fit(X, Y)


@pytest.fixture(params=[0, 3, 5])
def pair(request, clf, tmp_path):
    model = clf.at(request.param)
    model.save(tmp_path / "model.json", whole_path=False)
    return model, load_model(tmp_path / "model.json")


def test_it_has_the_last_round_alone(pair):
    model, loaded = pair
    n = model.selected_.size
    assert len(loaded.path_) == 1
    assert loaded.path_.best == n
    assert_same_bits(loaded.path_.selected, model.selected_)
    step = model.path_.step(n)
    assert loaded.path_.losses.tolist() == [step.loss]
    assert loaded.path_.seconds.tolist() == [step.seconds]
    assert loaded.path_.costs.tolist() == [step.cost]
    assert loaded.path_.stop_reason is model.path_.stop_reason
    assert loaded.path_.training["losses"].tolist() == model.path_.losses.tolist()
    assert repr(loaded.path_).startswith(f"<Path of {n} features, loss ")


def test_its_frame_has_the_last_row(pair):
    model, loaded = pair
    frame = loaded.path_.to_frame()
    assert frame.index.tolist() == [model.selected_.size]
    assert frame.index.name == "n_features"
    if model.selected_.size:
        assert frame.equals(model.path_.to_frame().iloc[-1:])


def test_stages_are_the_one_model(pair):
    _, loaded = pair
    (scores,) = loaded.staged_decision_function(X)
    np.testing.assert_allclose(scores, loaded.decision_function(X), rtol=1e-12, atol=1e-12)
    (labels,) = loaded.staged_predict(X)
    np.testing.assert_array_equal(labels, loaded.predict(X))
    curve = error_curve(loaded, X, Y)
    assert curve.n_features.tolist() == [loaded.selected_.size]
    assert curve.errors == pytest.approx([1.0 - loaded.score(X, Y)])


def test_at_takes_its_own_number_of_features_alone(pair):
    model, loaded = pair
    n = model.selected_.size
    again = loaded.at(n)
    assert_same_attributes(again, model)
    assert_same_bits(again.predict_proba(X), model.predict_proba(X))
    assert_same_bits(loaded.path_.at(n).weights, model.weights_)
    for t in (n + 1, n - 1, 1.0 * n, "1"):
        with pytest.raises(ValueError, match=rf"was saved without its path, and takes t={n}, "):
            loaded.at(t)


def test_it_is_saved_as_it_is_where_the_whole_path_is_asked_for(pair, tmp_path):
    _, loaded = pair
    loaded.save(tmp_path / "again.json", whole_path=True)
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_a_warm_start_says_what_is_missing(pair):
    _, loaded = pair
    with pytest.raises(ValueError, match="from a file without them. Save it with whole_path"):
        loaded.set_params(warm_start=True, n_features=9).fit(X, Y)
    loaded.set_params(warm_start=False, n_features=2).fit(X, Y)
    assert loaded.selected_.size == 2
