"""Early exit never changes an answer, and reads less."""

import copy
from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from compiled_c import compiled, needs_gcc
from exported_pools import assert_near, every_form
from hypothesis import given, settings
from hypothesis import strategies as st

from shareboost import ShareBoostClassifier
from shareboost.export import to_c
from shareboost.export.layout import layout_of
from shareboost.export.plan import plan_of
from shareboost.export.primitives.base import Form
from shareboost.pools import Columns, Products, Stumps, Templates


@needs_gcc
def test_early_exit_skips_features(digits, tmp_path):
    X, y = digits[0].astype(np.float32), digits[1]
    clf = ShareBoostClassifier(60, pool="stumps").fit(X[:900], y[:900])
    full, early = compiled(tmp_path, (clf, {}), (clf, {"early_exit": True}))
    counts = np.array([(early.count(row), full.count(row)) for row in X[900:1100]])
    assert np.all(counts[:, 0] <= counts[:, 1])
    assert counts[:, 0].mean() < 0.9 * counts[:, 1].mean()


@needs_gcc
def test_few_features_of_many_classes_are_checked_too(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 8))
    y = np.digitize(X[:, 0], [-0.5, 0.5]) + 3 * np.arange(1200) % 24
    clf = ShareBoostClassifier(8, alpha=1e-3).fit(X, y)
    early_exit = {"early_exit": True, "input_range": (-5, 5)}
    assert "_rest[" in to_c(clf, **early_exit)
    full, early = compiled(tmp_path, (clf, {}), (clf, early_exit))
    np.testing.assert_array_equal(full.predict(X), early.predict(X))


@needs_gcc
def test_bytes_need_no_range(fitted_model, digits, tmp_path):
    clf = fitted_model("columns")
    (early,) = compiled(tmp_path, (clf, {"early_exit": True, "input_type": "uint8"}))
    np.testing.assert_array_equal(early.predict(digits[0]), clf.predict(digits[0]))


def pairs(weights):
    """The weights of each class less those of each other, [column, p, q] for q less p."""
    return weights[:, None, :] - weights[:, :, None]


@every_form
def test_no_feature_adds_more_than_its_bound(name, fitted_model, digits):
    layout = layout_of(plan_of(fitted_model(name)), Form("shareboost", "float32", "float32"))
    low, high = np.zeros(64), np.full(64, 16.0)
    for step in layout.steps:
        if step.part.searched:
            continue
        weights = step.decoded.reshape(step.n, len(step.weights) // step.n, -1)
        bounds = step.part.most_added(step, pairs(step.decoded), low, high)
        found = step.part.values(step, digits[0]).reshape(len(digits[0]), step.n, -1)
        added = np.einsum("inw,nwk->ink", found, weights)
        most = (added[:, :, None, :] - added[:, :, :, None]).max(axis=0)
        assert np.all(most <= bounds + 1e-5 * np.abs(added).max())


@pytest.mark.parametrize("pool", [Columns(), Stumps(), Products(squares=True, linear=True)])
def test_the_bounds_of_features_are_the_most_they_add_in_the_range(pool):
    """At a corner of the range, or at zero, where a square is least."""
    rng = np.random.default_rng(0)
    low, high = np.array([-1.0, 0.5, -2.0]), np.array([2.0, 3.0, -0.5])
    X = rng.uniform(low, high, size=(60, 3))
    clf = ShareBoostClassifier(9, pool=pool, alpha=1e-3).fit(X, np.digitize(X[:, 0], [0.2, 1.0]))
    (step,) = layout_of(plan_of(clf), Form("shareboost", "float32", "float32")).steps
    sides = [sorted({a, b, float(np.clip(0.0, a, b))}) for a, b in zip(low, high, strict=True)]
    added = step.part.values(step, np.array(list(product(*sides))))[:, :, None] * step.decoded
    most = (added[:, :, None, :] - added[:, :, :, None]).max(axis=0)
    found = step.part.most_added(step, pairs(step.decoded), low, high)
    np.testing.assert_allclose(found, most, rtol=1e-6, atol=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.floats(0.1, 4.0))
def test_the_bound_of_a_ball_is_reached_and_not_passed(seed, radius):
    """Against the best of many points along the steepest direction, where the most is found."""
    rng = np.random.default_rng(seed)
    slope, level = rng.normal(size=(2, 3)), rng.normal(size=2)
    clf = FakeBall(radius)
    more = np.concatenate([slope, level[:, None]], axis=1).T
    bounds = clf.part.most_added(clf, pairs(more), None, None)
    for p, q in ((0, 1), (1, 0)):
        way = slope[q] - slope[p]
        t = np.linspace(0.0, radius, 20_001)[:, None]
        points = t * way / np.linalg.norm(way)
        depth = 1.0 - (t[:, 0] / radius) ** 2
        reached = max(0.0, np.max(depth * (points @ way + level[q] - level[p])))
        np.testing.assert_allclose(bounds[0, p, q], reached, rtol=1e-5, atol=1e-7)


def with_weights(clf, weights, intercepts):
    """A copy of a classifier of two classes with other weights of its features."""
    clf = copy.copy(clf)
    clf.weights_, clf._intercepts_ = np.array(weights, float), np.array(intercepts, float)
    return clf


def one_overtaken_late(clf, gains):
    """Two models, in which one class leads until the last feature, by a hair less than all add.

    The gains are what each feature adds to the other class, the most that it can.
    """
    weights = np.sign(gains) * np.linspace(0.5, 1.5, len(gains))
    lead = (weights * gains).sum() * (1.0 - 1e-5)
    none = np.zeros_like(weights)
    return [
        with_weights(clf, [weights, none], [0.0, lead]),
        with_weights(clf, [none, weights], [lead, 0.0]),
    ]


@needs_gcc
@pytest.mark.parametrize("pool", ["columns", "stumps", "products"])
def test_a_class_may_overtake_by_all_that_the_bounds_allow(pool, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 2, size=(80, 8))
    clf = ShareBoostClassifier(8, pool=pool, alpha=1e-3).fit(X, (X[:, 0] * X[:, 1] > 0.5) * 1)
    sides = np.where(rng.random(8) < 0.5, -1.0, 2.0)
    row = {"columns": sides, "stumps": np.full(8, -1.0), "products": np.full(8, 2.0)}[pool][None]
    models = one_overtaken_late(clf, clf._model().features.columns(row)[0])
    early = {"early_exit": True, "input_range": (-1.0, 2.0)}
    headers = compiled(tmp_path, *((model, early) for model in models))
    for model, header, winner in zip(models, headers, (0, 1), strict=True):
        assert model.predict(row) == header.predict(row) == winner


@needs_gcc
def test_early_exit_allows_for_the_rounding_of_full_sums(tmp_path):
    """Each of 8 small weights is rounded up to the unit in the last place of the score."""
    X = np.random.default_rng(0).uniform(size=(80, 8))
    clf = ShareBoostClassifier(8, pool="stumps", alpha=1e-3).fit(X, (X[:, 0] > X[:, 1]) * 1)
    unit = 2.0**-10  # in the last place of float32 numbers from 2^13 to 2^14
    weights = np.full(clf.weights_.shape[1], 0.6 * unit)
    model = with_weights(clf, [weights, 0.0 * weights], [1e4, 1e4 + 6.0 * unit])
    row = np.full((1, 8), -1.0)
    full, early = compiled(tmp_path, (model, {}), (model, {"early_exit": True}))
    np.testing.assert_array_equal(full.scores(row)[0], [1e4 + 8.0 * unit, 1e4 + 6.0 * unit])
    assert full.predict(row) == early.predict(row) == 0


@pytest.fixture(scope="module")
def matched_exactly():
    """A classifier of eight templates, multiples of each other, and an image of their shape."""
    template = np.array([[1.0, 2.0], [-3.5, 0.5]])
    pool = Templates(templates=np.multiply.outer(2.0 ** np.arange(8), template), masks=1)
    X = np.random.default_rng(0).normal(size=(60, 4))
    clf = ShareBoostClassifier(8, pool=pool, alpha=1e-3, include=range(8))
    clf.fit(X, (X @ template.ravel() > 0) * 1)
    assert clf.selected_.size == 8
    return clf, template.reshape(1, -1)


@needs_gcc
def test_a_class_may_overtake_by_all_that_the_norms_of_templates_allow(matched_exactly, tmp_path):
    clf, image = matched_exactly
    models = one_overtaken_late(clf, clf._model().features.columns(image)[0])
    early = {"early_exit": True, "lanes": 1}
    headers = compiled(tmp_path, *((model, early) for model in models))
    for model, header, winner in zip(models, headers, (0, 1), strict=True):
        assert model.predict(image) == header.predict(image) == winner


@needs_gcc
def test_early_exit_on_templates_allows_for_the_rounding_of_full_sums(matched_exactly, tmp_path):
    clf, image = matched_exactly
    unit = 2.0**-10
    weights = 0.6 * unit / clf._model().features.columns(image)[0]
    model = with_weights(clf, [weights, 0.0 * weights], [1e4, 1e4 + 6.0 * unit])
    full, early = compiled(
        tmp_path, (model, {"lanes": 1}), (model, {"early_exit": True, "lanes": 1})
    )
    np.testing.assert_array_equal(full.scores(image)[0], [1e4 + 8.0 * unit, 1e4 + 6.0 * unit])
    assert full.predict(image) == early.predict(image) == 0


class FakeBall:
    """A step of one piece at the origin of three coordinates."""

    words: ClassVar = {"scale": 1.0}

    def __init__(self, radius):
        from shareboost.export.primitives import Balls

        centre, squared = np.zeros((1, 3), dtype=np.float32), np.array([radius**2])
        self.part = Balls(np.arange(4), centre, squared, np.zeros(3), 1.0, False)
        self.tables = {"centres": centre, "radii": squared}


def assert_places_are_skipped(clf, X, folder):
    """Check every class, with templates in many lanes and in one, and what one lane counts."""
    expected = clf.decision_function(X.astype(np.float32))
    headers = compiled(
        folder,
        *(
            (clf, {"input_type": "uint8", "early_exit": early_exit, "lanes": lanes})
            for early_exit, lanes in ((False, 112), (True, 112), (True, 1))
        ),
        flags=("-O2",),
    )
    for header in headers:
        np.testing.assert_array_equal(header.predict(X), expected.argmax(axis=1))
    full, _, one = (np.mean([header.count(row) for row in X[:100]]) for header in headers)
    assert_near(headers[-1].scores(X), expected)
    assert one < 0.8 * full


@needs_gcc
def test_places_of_large_images_are_skipped(digits, tmp_path):
    enlarged = np.kron(digits[0].reshape(-1, 8, 8), np.ones((3, 3))).reshape(-1, 24 * 24)
    pool = Templates(10, n_patches=1000)
    clf = ShareBoostClassifier(10, pool=pool, alpha=1e-3).fit(enlarged[:300], digits[1][:300])
    assert_places_are_skipped(clf, enlarged[900:1000], tmp_path)


@needs_gcc
@pytest.mark.slow
def test_every_answer_on_mnist_stays_and_places_are_skipped(data_set, tmp_path):
    data = data_set("mnist")
    pool = Templates(60, n_patches=5_000)
    clf = ShareBoostClassifier(25, pool=pool, alpha=1e-4)
    clf.fit(data.X_train[:600], data.y_train[:600])
    assert_places_are_skipped(clf, data.X_test, tmp_path)
