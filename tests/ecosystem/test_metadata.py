"""What estimators tell of themselves: tags, pages in a notebook, names and numbers of columns."""

import html
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from shareboost import ShareBoostClassifier, ShareBoostCV
from shareboost.pools import Columns, Stumps, Union
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier

ESTIMATORS = [
    ShareBoostClassifier(2),
    ShareBoostCV(n_features=2, cv=2),
    OneVsRestGreedyClassifier(2),
    MixedNormClassifier(path=3),
    JointBoostClassifier(2, max_bins=8, max_iter=5),
]
each_estimator = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__
)


@each_estimator
def test_tags_say_what_an_estimator_is(estimator):
    tags = get_tags(estimator)
    assert tags.estimator_type == "classifier"
    assert tags.classifier_tags.multi_class
    assert not tags.classifier_tags.multi_label
    assert not tags.classifier_tags.poor_score
    assert tags.regressor_tags is None
    assert tags.target_tags.required
    assert not tags.target_tags.multi_output
    assert tags.requires_fit
    assert not tags.non_deterministic
    assert not tags.no_validation
    assert not tags.array_api_support  # whose fitted attributes would be of X's namespace


@each_estimator
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_types_that_the_tags_name_are_preserved(estimator, dtype, shifted):
    X, y = shifted[0].astype(dtype), shifted[1]
    found = clone(estimator).fit(X, y).transform(X)
    assert np.dtype(dtype).name in get_tags(estimator).transformer_tags.preserves_dtype
    assert found.dtype == dtype


@pytest.mark.parametrize(
    ("estimator", "takes_nan"),
    [
        (ShareBoostClassifier(2), False),
        (ShareBoostClassifier(2, pool="stumps"), True),
        (ShareBoostClassifier(2, pool=Union([Stumps(), Stumps(8)])), True),
        (ShareBoostClassifier(2, pool=Union([Stumps(), Columns()])), False),
        (ShareBoostCV(ShareBoostClassifier(2, pool="stumps"), cv=2), True),
        (OneVsRestGreedyClassifier(2, pool="stumps"), True),
        (MixedNormClassifier(path=3), False),
        (JointBoostClassifier(2, max_bins=8, max_iter=5), True),
    ],
)
def test_tags_say_whether_gaps_are_taken(estimator, takes_nan, shifted):
    X, y = shifted[0].copy(), shifted[1]
    X[::9, 2] = np.nan
    assert get_tags(estimator).input_tags.allow_nan == takes_nan
    if takes_nan:
        assert estimator.fit(X, y).score(X, y) > 0.6
    else:
        with pytest.raises(ValueError, match="Input X contains NaN"):
            estimator.fit(X, y)


@pytest.mark.parametrize(
    ("pool", "device", "takes_sparse"),
    [
        ("stumps", None, True),
        ("columns", "cpu", True),
        ("stumps", "cpu", False),
        (Union([Columns()]), "cpu", False),
    ],
)
def test_tags_say_whether_sparse_rows_are_taken(pool, device, takes_sparse, shifted):
    X, y = sp.csr_array(np.maximum(shifted[0], 0)), shifted[1]
    clf = ShareBoostClassifier(2, pool=pool, device=device)
    assert get_tags(clf).input_tags.sparse == takes_sparse
    if takes_sparse:
        assert clf.fit(X, y).score(X, y) > 0.8
    else:
        with pytest.raises(ValueError, match="Sparse X cannot be computed on cpu"):
            clf.fit(X, y)


def test_tags_do_not_judge_parameters():
    for pool in ("trees", 3, Union([]), Union(3)):
        assert not get_tags(ShareBoostClassifier(pool=pool)).input_tags.allow_nan


@each_estimator
def test_a_notebook_shows_the_chosen_features(estimator, named):
    X, y = named
    clf = clone(estimator)
    assert not re.search(r"\d features?", visible(clf))
    names = clf.fit(X, y).get_feature_names_out()
    number = "1 feature" if len(names) == 1 else f"{len(names)} features"
    assert visible(clf).endswith(f"{number} {' '.join(names)}")


def test_a_notebook_shows_the_pool_and_the_chosen_features(named):
    clf = ShareBoostClassifier(2, pool=Union([Columns(), ("cut", Stumps())])).fit(*named)
    shown = visible(clf)
    assert "pool: Union" in shown
    assert shown.endswith(f"2 features {' '.join(clf.get_feature_names_out())}")


def visible(clf):
    """Return the text of an estimator's page in a notebook."""
    page = clf._repr_html_()
    diagram = page[page.index('<div class="sk-container"') : page.index("<script>")]
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", diagram)).split())


@each_estimator
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "transform"])
def test_too_few_columns_are_refused_in_scikit_learns_words(estimator, method, named):
    frame, y = named
    for X, fewer in [
        (frame, frame.drop(columns="c")),
        (frame.to_numpy(), frame.to_numpy()[:, :5]),
    ]:
        expected = said(LogisticRegression().fit(X, y).predict, fewer)
        assert said(getattr(clone(estimator).fit(X, y), method), fewer) == expected.replace(
            "LogisticRegression", type(estimator).__name__
        )


def said(call, X):
    with pytest.raises(ValueError, match="feature") as caught:
        call(X)
    return str(caught.value)


@each_estimator
def test_names_on_one_side_alone_are_warned_of_in_scikit_learns_words(estimator, named):
    X, y = named
    name = type(estimator).__name__
    clf = clone(estimator).fit(X, y)
    with pytest.warns(UserWarning, match=f"^X does not have valid feature names, but {name} was"):
        clf.predict(X.to_numpy())
    clf.fit(X.to_numpy(), y)
    assert not hasattr(clf, "feature_names_in_")
    with pytest.warns(UserWarning, match=f"^X has feature names, but {name} was fitted without"):
        clf.predict(X)
