"""The waterfall of one row: bars, names and numbers are those of ``explain``."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine

from shareboost import ShareBoostClassifier
from shareboost.inspection.plots import plot_explanation
from shareboost.rivals import MixedNormClassifier


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def clf(wine):
    return ShareBoostClassifier(6).fit(*wine)


def bars(ax):
    """Where each bar begins and ends, the topmost first, in the direction of its number."""
    found = []
    for bar, number in zip(ax.patches, ax.texts, strict=True):
        x, width = bar.get_x(), bar.get_width()
        left, right = min(x, x + width), max(x, x + width)
        found.append((right, left) if number.get_text().startswith("-") else (left, right))
    return found[::-1]


def names(ax):
    return [tick.get_text() for tick in ax.get_yticklabels()][::-1]


def test_bars_lead_from_the_intercept_to_the_score_the_largest_on_top(clf, wine):
    X, _ = wine
    ax = plot_explanation(clf, X.iloc[70])
    q = clf.predict(X)[70]
    own = clf.explain(X).loc[70, q]
    order = own.abs().sort_values(ascending=False).index
    found = bars(ax)
    np.testing.assert_allclose([stop - start for start, stop in found[:-1]], own[order])
    assert names(ax) == [*(f"{name} = {X.loc[70, name]:.4g}" for name in order), "intercept"]
    assert found[0][1] == pytest.approx(clf.decision_function(X)[70, q])
    assert found[-1] == pytest.approx((0.0, clf._model().intercept[q]))
    for above, below in pairwise(found):
        assert above[0] == pytest.approx(below[1])
    assert ax.get_title() == f"class {q}, score {found[0][1]:.3g}"


def test_all_but_the_largest_are_added_up(clf, wine):
    X, _ = wine
    all_bars, some = plot_explanation(clf, X[:1]), plot_explanation(clf, X[:1], n_features=4)
    assert names(some) == [*names(all_bars)[:4], "2 other features", "intercept"]
    np.testing.assert_allclose(bars(some)[0], bars(all_bars)[0])
    np.testing.assert_allclose(bars(some)[4], (bars(all_bars)[5][0], bars(all_bars)[4][1]))
    assert names(plot_explanation(clf, X[:1], n_features=5))[-2] == "1 other feature"


def test_a_class_of_interest_is_drawn_instead_of_the_predicted_one(clf, wine):
    X, _ = wine
    for q in clf.classes_:
        ax = plot_explanation(clf, X[:1], class_of_interest=q)
        assert bars(ax)[0][1] == pytest.approx(clf.decision_function(X[:1])[0, q])
    with pytest.raises(ValueError, match=r"class_of_interest=3 is not a valid label.*\[0, 1, 2\]"):
        plot_explanation(clf, X[:1], class_of_interest=3)


def test_two_classes_have_opposite_bars():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], np.array(["b", "c"])[y[50:] - 1]
    clf = ShareBoostClassifier(3).fit(X, y)
    scores = clf.decision_function(X)
    for row in (0, 60):
        predicted = bars(plot_explanation(clf, X[row]))
        assert predicted[0][1] == pytest.approx(abs(scores[row]))
        for label, sign in (("b", -1), ("c", 1)):
            found = bars(plot_explanation(clf, X[row], class_of_interest=label))
            np.testing.assert_allclose(found, sign * np.sign(scores[row]) * np.array(predicted))


def test_with_a_background_bars_begin_at_its_mean_score(clf, wine):
    X, _ = wine
    ax = plot_explanation(clf, X.iloc[3], class_of_interest=1, background=X)
    scores, E = clf.decision_function(X)[:, 1], clf.explain(X)[1]
    found = bars(ax)
    assert names(ax)[-1] == "mean score"
    assert found[-1] == pytest.approx((0.0, scores.mean()))
    assert found[0][1] == pytest.approx(scores[3])
    own = (E.loc[3] - E.mean()).abs().sort_values(ascending=False)
    np.testing.assert_allclose([abs(stop - start) for start, stop in found[:-1]], own)


def test_a_row_may_be_given_in_any_form(clf, wine):
    X, y = wine
    expected = bars(plot_explanation(clf, X.iloc[5]))
    mixed = X.astype({name: object for name in X.columns[::2]})
    for row in (X[5:6], pl.from_pandas(X)[5], mixed.iloc[5]):
        assert bars(plot_explanation(clf, row)) == expected
    plain = ShareBoostClassifier(6).fit(X.to_numpy(), y)
    expected = bars(plot_explanation(plain, X.to_numpy()[5]))
    rows = sp.csr_array(X.to_numpy())
    for row in (X.to_numpy()[5].tolist(), X.to_numpy()[5:6], rows[[5]], rows[5]):
        assert bars(plot_explanation(plain, row)) == expected


def test_rows_of_dask_and_torch_are_drawn_too(wine):
    torch = pytest.importorskip("torch")
    da = pytest.importorskip("dask.array")
    X, y = wine[0].to_numpy(), wine[1]
    clf = ShareBoostClassifier(6).fit(X, y)
    expected = bars(plot_explanation(clf, X[5], background=X))
    for rows in (torch.tensor(X), da.from_array(X, chunks=(50, -1))):
        assert bars(plot_explanation(clf, rows[5], background=rows)) == expected


def test_long_names_lose_their_middle_and_no_name_is_a_formula(wine):
    X, y = wine
    X = X.set_axis([f"${'a column of a long name ' * 3}{j}^" for j in range(13)], axis=1)
    ax = plot_explanation(ShareBoostClassifier(3).fit(X, y), X[:1])
    ax.figure.canvas.draw()
    for name in names(ax)[:3]:
        shown, _, _ = name.rpartition(" = ")
        assert len(shown.replace(r"\$", "$")) == 32
        assert shown.startswith(r"\$a column of")
        assert shown.endswith("^")
    assert len(set(names(ax))) == 4


def test_a_feature_of_several_columns_has_no_value(fitted_model, digits):
    clf = fitted_model("pieces")
    ax = plot_explanation(clf, digits[0][3])
    assert not any(" = " in name.partition(")")[2] for name in names(ax))
    assert set(names(ax)) <= {*clf.path_.names(clf.selected_), "intercept"}


def test_a_model_without_features_has_the_intercept_alone():
    X, y = np.tile([0.0, 1.0], 10)[:, None], np.repeat([0, 1], 10)
    clf = MixedNormClassifier(path=3).fit(X, y).at(0)
    ax = plot_explanation(clf, [0.0])
    assert names(ax) == ["intercept"]
    assert bars(ax) == [(0.0, 0.0)]


def test_it_takes_one_row_of_a_fitted_classifier(clf, wine):
    X, _ = wine
    with pytest.raises(ValueError, match=r"x has the shape \(2, 13\).*one row"):
        plot_explanation(clf, X[:2])
    with pytest.raises(ValueError, match="n_features=0 is not valid for plot_explanation"):
        plot_explanation(clf, X[:1], n_features=0)
    with pytest.raises(TypeError, match="clf is a DataFrame"):
        plot_explanation(pd.DataFrame(), X[:1])
