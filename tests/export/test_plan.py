"""A plan computes what its model does, whatever the pool."""

import naive_plan
import numpy as np
import pytest
from every_pool import NotExported, some_digits
from exported_pools import ALL_POOLS
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from shareboost import ShareBoostClassifier, load_model
from shareboost.export.plan import plan_of
from shareboost.export.primitives import Matches, Reads, Thresholds
from shareboost.pools import Templates


@pytest.mark.parametrize("name", ALL_POOLS)
def test_a_plan_has_the_scores_of_its_model(name, fitted_model, digits):
    X = digits[0][:15]
    for t in (0, 1, len(fitted_model(name).path_)):
        clf = fitted_model(name).at(t)
        plan = plan_of(clf)
        np.testing.assert_allclose(
            naive_plan.scores(plan, X), clf.decision_function(X), rtol=1e-4, atol=1e-5
        )
        places = np.concatenate([np.empty(0, int), *(part.places for part in plan.parts)])
        np.testing.assert_array_equal(np.sort(places), np.arange(plan.offsets.size))


def test_a_union_of_templates_dissolves_into_its_parts(fitted_model):
    plan = plan_of(fitted_model("union, templates"))
    assert {type(part) for part in plan.parts} == {Reads, Matches}


def test_templates_and_masks_are_listed_once():
    X, y, _, _ = some_digits()
    pool = Templates(2, patch_size=3, masks=2, sigma=2.0)
    (part,) = plan_of(ShareBoostClassifier(8, pool=pool, alpha=1e-3).fit(X, y)).parts
    assert part.template.size == 8
    assert len(part.templates) == len(part.masks_down) == len(part.masks_across) == 2


def test_columns_far_from_zero_are_read_less_their_centre():
    X, y, _, _ = some_digits()
    X = X.copy()
    X[:, ::2] += 10_000.0
    clf = ShareBoostClassifier(10).fit(X, y)
    plan = plan_of(clf)
    far = clf.selected_ % 2 == 0
    assert far.any()
    assert not far.all()
    np.testing.assert_array_equal(plan.offsets != 0, far)
    np.testing.assert_allclose(naive_plan.scores(plan, X), clf.decision_function(X), rtol=1e-6)


@pytest.mark.parametrize("change", [1e4, 1e25, 1e308, np.inf])
@pytest.mark.parametrize("whole_path", [False, True])
def test_centres_do_not_change_the_scores(change, whole_path, tmp_path):
    """They are those of training: ``predict`` of a loaded model does without them."""
    X, y, _, _ = some_digits()
    X = X.copy()
    X[:, ::2] += 1000.0
    ShareBoostClassifier(10).fit(X, y).save(tmp_path / "model.json", whole_path=whole_path)
    clf = load_model(tmp_path / "model.json")
    clf.path_.centers = clf.path_.centers + change
    found = naive_plan.scores(plan_of(clf), X)
    np.testing.assert_allclose(found, clf.decision_function(X), rtol=1e-6)


@given(st.floats(-1e38, 1e38))
@example(1e-50)
@example(-1e-50)
@example(16777217.0)
def test_float32_thresholds_test_float32_numbers_alike(threshold):
    tests = Thresholds(np.arange(1), np.arange(1), np.array([threshold]))
    near = np.float32(threshold)
    for x in (
        np.nextafter(near, np.float32(-np.inf)),
        near,
        np.nextafter(near, np.float32(np.inf)),
    ):
        assert (x <= tests.single[0]) == (np.float64(x) <= threshold)


def test_what_has_no_plan_is_refused():
    X, y, _, _ = some_digits()
    with pytest.raises(NotFittedError):
        plan_of(ShareBoostClassifier())
    with pytest.raises(TypeError, match="LogisticRegression"):
        plan_of(LogisticRegression())

    clf = ShareBoostClassifier(2).fit(X, y)
    clf.path_.features = NotExported(clf.selected_)
    with pytest.raises(TypeError, match="NotExported cannot be exported"):
        plan_of(clf)
