"""Curves hold the numbers of the path."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from shareboost.export import cost_report
from shareboost.inspection.plots import plot_cost, plot_path
from shareboost.rivals import OneVsRestGreedyClassifier


@pytest.fixture(scope="module")
def held_out(digits):
    return [part[500:1000] for part in digits]


@pytest.fixture(scope="module")
def clf(fitted_model):
    return fitted_model("columns")


@pytest.fixture(scope="module")
def rival(digits):
    X, y = digits
    return OneVsRestGreedyClassifier(4).fit(X[:500], y[:500])


def staged_errors(clf, X, y):
    return [100 * np.mean(found != y) for found in clf.staged_predict(X)]


def test_errors_and_losses_are_drawn_against_features(clf, held_out):
    ax = plot_path(clf, *held_out)
    twin = next(other for other in ax.figure.axes if other is not ax)
    x, errors = ax.lines[0].get_data()
    np.testing.assert_array_equal(x, np.arange(1, 13))
    np.testing.assert_allclose(errors, staged_errors(clf, *held_out))
    np.testing.assert_array_equal(twin.lines[0].get_ydata(), clf.path_.losses)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("features", "error, %")


def test_without_rows_the_loss_is_drawn_alone(clf):
    ax = plot_path(clf)
    assert ax.figure.axes == [ax]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), clf.path_.losses)


def test_several_models_come_in_one(clf, rival, held_out):
    own = Figure().subplots()
    ax = plot_path({"shared": clf, "one by one": rival}, *held_out, loss=False, ax=own)
    assert ax is own
    assert [line.get_label() for line in ax.lines] == ["shared, error", "one by one, error"]
    for line, model in zip(ax.lines, (clf, rival), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), model.path_.n_features)
        np.testing.assert_allclose(line.get_ydata(), staged_errors(model, *held_out))
    assert len(ax.get_legend().get_texts()) == 2


def test_what_cannot_be_drawn_is_refused(clf, held_out):
    with pytest.raises(ValueError, match="both or neither"):
        plot_path(clf, held_out[0])
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_path(clf, loss=False)
    with pytest.raises(TypeError, match="clf is a list, which has no path"):
        plot_path({"a": [clf]})
    with pytest.raises(ValueError, match="clf is an empty dict: plot_path takes"):
        plot_path({})
    with pytest.raises(ValueError, match="clf is an empty dict: plot_cost takes"):
        plot_cost({}, *held_out)


def test_errors_are_drawn_against_multiply_adds(clf, held_out):
    ax = plot_cost(clf, *held_out)
    x, errors = ax.lines[0].get_data()
    np.testing.assert_array_equal(x, cost_report(clf).multiply_adds[1:])
    np.testing.assert_allclose(errors, staged_errors(clf, *held_out))
    assert ax.get_xscale() == "log"
