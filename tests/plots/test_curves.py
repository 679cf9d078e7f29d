"""Curves hold the numbers of the path."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from shareboost import ShareBoostClassifier
from shareboost.export import cost_report
from shareboost.plots import plot_cost, plot_path
from shareboost.rivals import OneVsRestGreedyClassifier


@pytest.fixture(scope="module")
def halves(digits):
    X, y = digits
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def clf(halves):
    return ShareBoostClassifier(6).fit(*halves[:2])


@pytest.fixture(scope="module")
def rival(halves):
    return OneVsRestGreedyClassifier(4).fit(*halves[:2])


def staged_errors(clf, X, y):
    return [100 * np.mean(found != y) for found in clf.staged_predict(X)]


def test_errors_and_losses_are_drawn_against_features(clf, halves):
    ax = plot_path(clf, *halves[2:])
    twin = next(other for other in ax.figure.axes if other is not ax)
    x, errors = ax.lines[0].get_data()
    np.testing.assert_array_equal(x, np.arange(1, 7))
    np.testing.assert_allclose(errors, staged_errors(clf, *halves[2:]))
    np.testing.assert_array_equal(twin.lines[0].get_ydata(), clf.path_.losses)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("features", "error, %")


def test_without_rows_the_loss_is_drawn_alone(clf):
    ax = plot_path(clf)
    assert ax.figure.axes == [ax]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), clf.path_.losses)


def test_several_models_come_in_one(clf, rival, halves):
    own = Figure().subplots()
    ax = plot_path({"shared": clf, "one by one": rival}, *halves[2:], loss=False, ax=own)
    assert ax is own
    assert [line.get_label() for line in ax.lines] == ["shared, error", "one by one, error"]
    for line, model in zip(ax.lines, (clf, rival), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), model.path_.n_features)
        np.testing.assert_allclose(line.get_ydata(), staged_errors(model, *halves[2:]))
    assert len(ax.get_legend().get_texts()) == 2


def test_what_cannot_be_drawn_is_refused(clf, halves):
    with pytest.raises(ValueError, match="both or neither"):
        plot_path(clf, halves[2])
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_path(clf, loss=False)
    with pytest.raises(TypeError, match="clf holds a list"):
        plot_path({"a": [clf]})
    with pytest.raises(ValueError, match="clf is an empty dict: plot_path takes"):
        plot_path({})
    with pytest.raises(ValueError, match="clf is an empty dict: plot_cost takes"):
        plot_cost({}, *halves[2:])


def test_errors_are_drawn_against_multiply_adds(clf, halves):
    ax = plot_cost(clf, *halves[2:])
    x, errors = ax.lines[0].get_data()
    np.testing.assert_array_equal(x, cost_report(clf).multiply_adds[1:])
    np.testing.assert_allclose(errors, staged_errors(clf, *halves[2:]))
    assert ax.get_xscale() == "log"
