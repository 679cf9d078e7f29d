"""The heat map holds the weights of the model."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from shareboost import ShareBoostClassifier
from shareboost.inspection.plots import plot_sharing


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def clf(wine):
    return ShareBoostClassifier(5).fit(*wine)


def test_weights_are_those_of_columns_in_deviations(clf, wine):
    drawn = plot_sharing(clf, relative=False).images[0].get_array()
    W = clf.weights_.T * wine[0][clf.path_.names(clf.selected_)].std(ddof=0).to_numpy()[:, None]
    np.testing.assert_allclose(drawn, W - W.mean(axis=1, keepdims=True), rtol=1e-2)


def test_every_feature_is_over_its_largest_weight(clf):
    drawn = plot_sharing(clf).images[0].get_array()
    assert drawn.shape == (5, 3)
    np.testing.assert_allclose(np.abs(drawn).max(axis=1), 1.0)
    plain = plot_sharing(clf, relative=False).images[0].get_array()
    np.testing.assert_array_equal(np.sign(drawn), np.sign(plain))


def test_features_and_classes_are_named(clf):
    ax = plot_sharing(clf, n_features=3)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(
        clf.path_.names(clf.selected_)[:3]
    )
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1", "2"]


def test_a_name_is_no_formula(wine):
    X, y = wine
    X = X.rename(columns={name: f"${name}^" for name in X.columns})
    ax = plot_sharing(ShareBoostClassifier(2).fit(X, y))
    ax.figure.canvas.draw()


def test_a_feature_of_several_columns_has_the_norm_of_its_weights(fitted_model):
    clf = fitted_model("pieces")
    drawn = plot_sharing(clf, relative=False).images[0].get_array()
    W = clf.path_.finish.W[:, 1:]
    W = W - W.mean(axis=0)
    assert len(drawn) == 12
    for place, row in enumerate(drawn):
        own = W[:, 65 * place : 65 * (place + 1)]  # 64 columns and a constant
        np.testing.assert_allclose(row, np.linalg.norm(own, axis=1))
