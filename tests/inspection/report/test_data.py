"""The data of a report are what the classifier says of the rows."""

import json

import numpy as np
import pytest
from exported_pools import every_form
from sklearn.datasets import load_wine
from sklearn.metrics import confusion_matrix

from shareboost import ShareBoostClassifier, ShareBoostCV, load_model
from shareboost.export import cost_report
from shareboost.inspection.comparison import error_curve
from shareboost.inspection.report import report_data
from shareboost.model import sharing
from shareboost.pools import Templates
from shareboost.rivals import OneVsRestGreedyClassifier

SMALL = {"n_templates": 12, "patch_size": 3, "masks": 2, "sigma": 2.0, "n_patches": 2000}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    names = np.array(["red", "white", "green"])[y]
    return X[::2], names[::2], X[1::2], names[1::2]


@pytest.fixture(scope="module")
def clf(wine):
    return ShareBoostClassifier(5).fit(*wine[:2])


@pytest.fixture(scope="module")
def data(clf, wine):
    return report_data(clf, *wine[2:], X_train=wine[0], y_train=wine[1], title="Wines")


def test_it_is_plain(data):
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_errors_are_those_of_the_error_curve(data, clf, wine):
    found = [model["error"] for model in data["models"]]
    np.testing.assert_allclose(found, error_curve(clf, *wine[2:]).errors)
    train = [model["train_error"] for model in data["models"]]
    np.testing.assert_allclose(train, error_curve(clf, *wine[:2]).errors)
    for model in data["models"]:
        low, high = model["interval"]
        assert 0 <= low <= model["error"] <= high <= 1


def test_confusions_are_scikit_learns(data, clf, wine):
    assert data["classes"] == ["green", "red", "white"]
    for model, found in zip(data["models"], clf.staged_predict(wine[2]), strict=True):
        np.testing.assert_array_equal(model["confusion"], confusion_matrix(wine[3], found))


def test_features_tell_what_their_rounds_saved(data, clf):
    path = clf.path_
    assert [one["name"] for one in data["features"]] == clf.path_.names(clf.selected_)
    assert [one["round"] for one in data["features"]] == [1, 2, 3, 4, 5]
    saved = -np.diff([path.start.loss, *path.losses])
    np.testing.assert_allclose([one["loss_saved"] for one in data["features"]], saved)
    assert [model["features"] for model in data["models"]] == [list(range(t)) for t in range(1, 6)]


def test_weights_and_costs_are_those_of_every_model(data, clf):
    costs = cost_report(clf)
    for t, model in enumerate(data["models"], start=1):
        np.testing.assert_allclose(
            model["weights"], sharing(clf.path_, clf.path_.step(t)), rtol=1e-3
        )
        assert model["n_features"] == model["n_inputs_read"] == t
        assert model["costs"]["multiply_adds"] == costs.multiply_adds[t]
        assert model["costs"]["flash"] == costs.flash[t]
        assert model["costs"]["ram"] == costs.ram[t]
    assert data["images"] is None


def test_labels_that_the_model_does_not_know_are_errors(clf, wine):
    y = wine[3].astype(object)
    y[:7] = "orange"
    data = report_data(clf, wine[2], y)
    last = data["models"][-1]
    assert data["n_unknown"] == 7
    assert np.sum(last["confusion"]) == len(y) - 7
    assert last["wrong"] == np.sum(clf.predict(wine[2]) != y)


def test_the_chosen_model_need_not_be_the_last(wine):
    clf = ShareBoostClassifier(8, n_iter_no_change=2, random_state=0).fit(*wine[:2])
    data = report_data(clf, *wine[2:])
    chosen = data["models"][data["chosen"]]
    assert chosen["n_features"] == clf.selected_.size < len(data["models"])
    assert chosen["wrong"] == np.sum(clf.predict(wine[2]) != wine[3])
    found = ShareBoostCV(n_features=6, cv=3, choice="one_se").fit(*wine[:2])
    data = report_data(found, *wine[2:])
    assert data["models"][data["chosen"]]["n_features"] == found.selected_.size


def test_a_model_without_its_path_has_one_entry(clf, wine, tmp_path):
    clf.save(tmp_path / "model.json", whole_path=False)
    data = report_data(load_model(tmp_path / "model.json"), *wine[2:])
    (only,) = data["models"]
    assert only["n_features"] == 5
    assert [one["loss_saved"] for one in data["features"]] == [None] * 5
    assert [one["round"] for one in data["features"]] == [1, 2, 3, 4, 5]
    assert only["wrong"] == np.sum(clf.predict(wine[2]) != wine[3])


@every_form
def test_every_pool_is_told(fitted_model, digits, name):
    X, y = digits
    assert_told(fitted_model(name), X[500:600], y[500:600])


@pytest.mark.parametrize(
    "clf",
    [
        ShareBoostClassifier(4, swap=True),
        ShareBoostClassifier(3, pool="products", costs=lambda atoms: np.ones(atoms.ids.size)),
        OneVsRestGreedyClassifier(4),
    ],
    ids=["swaps", "costs", "a rival"],
)
def test_every_kind_of_path_is_told(clf, wine):
    X, y, X_test, y_test = (np.asarray(part) for part in wine)
    assert_told(clf.fit(X, y), X_test, y_test)


def assert_told(clf, X_test, y_test):
    data = json.loads(json.dumps(report_data(clf, X_test, y_test), allow_nan=False))
    assert len(data["models"]) == len(clf.path_)
    for model, found in zip(data["models"], clf.staged_predict(X_test), strict=True):
        assert model["wrong"] == np.sum(found != y_test)
        assert len(model["features"]) == len(model["weights"]) == model["n_features"]
    last = data["models"][-1]
    ids = clf.path_.features.ids[last["features"]]
    np.testing.assert_array_equal(ids, clf.selected_)


def test_of_a_long_path_some_models_are_told(wine, monkeypatch):
    monkeypatch.setattr("shareboost.inspection.report.data.MOST_MODELS", 5)
    X, y, X_test, y_test = wine
    clf = ShareBoostClassifier(12, n_iter_no_change=12, random_state=0).fit(X, y)
    data = report_data(clf, X_test, y_test, X_train=X, y_train=y)
    numbers = [model["n_features"] for model in data["models"]]
    assert 5 <= len(numbers) <= 6
    assert numbers[0] == 1
    assert numbers[-1] == len(clf.path_)
    assert numbers[data["chosen"]] == clf.selected_.size
    assert len(data["features"]) == len(clf.path_)
    for model in data["models"]:
        at = clf.at(model["n_features"])
        assert model["wrong"] == np.sum(at.predict(X_test) != y_test)
        assert model["train_error"] == np.mean(at.predict(X) != y)
        assert model["costs"]["multiply_adds"] == cost_report(at).multiply_adds[-1]


def test_images_are_kept_with_what_every_model_says(fitted_model, digits, monkeypatch):
    X, y = (part[500:800] for part in digits)
    clf = fitted_model("templates")
    data = report_data(clf, X, y)
    images = data["images"]
    assert images["shape"] == [8, 8, 1]
    staged = np.array(list(clf.staged_predict(X)))
    final = {i for i in range(300) if staged[-1][i] != y[i]}
    kept = {error["row"]: error for error in images["errors"]}
    assert final <= set(kept)
    for row, error in kept.items():
        np.testing.assert_array_equal(error["pixels"], X[row])
        assert error["label"] == str(y[row])
        np.testing.assert_array_equal(error["predicted"], staged[:, row])
    features = clf.path_.features
    for place, one in enumerate(images["templates"]):
        assert one["feature"] == place
        np.testing.assert_allclose(one["template"], features.templates[place], rtol=1e-3)
        np.testing.assert_allclose(one["down"], features.down[place], rtol=1e-3)
        np.testing.assert_allclose(one["across"], features.across[place], rtol=1e-3)
    # Of too many errors, those of the last model are kept before others.
    monkeypatch.setattr("shareboost.inspection.report.images.MOST_VALUES", 10 * 64)
    fewer = report_data(clf, X, y)["images"]["errors"]
    assert len(fewer) == 10
    assert {error["row"] for error in fewer} <= final


def test_images_of_several_channels_have_no_strokes(digits):
    X, y = digits
    pool = Templates(**SMALL, image_shape=(4, 8, 2))
    data = report_data(ShareBoostClassifier(2, pool=pool).fit(X[:200], y[:200]), X[:50], y[:50])
    assert data["images"]["strokes"] is None


def test_a_model_that_chose_nothing_is_refused():
    X, y = np.zeros((60, 4)), np.arange(60) % 3
    clf = ShareBoostClassifier(3).fit(X, y)
    assert clf.selected_.size == 0
    with pytest.raises(ValueError, match="chose no feature .* no model to report"):
        report_data(clf, X, y)


def test_what_cannot_be_told_is_refused(clf, wine):
    with pytest.raises(ValueError, match="both or neither"):
        report_data(clf, *wine[2:], X_train=wine[0])
    with pytest.raises(TypeError, match="clf is a list"):
        report_data([clf], *wine[2:])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        report_data(clf, wine[2], wine[3][:3])
