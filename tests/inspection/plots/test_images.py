"""Sheets hold the templates, masks and images themselves."""

import numpy as np
import pytest

from paper.images import edges
from shareboost import ShareBoostClassifier
from shareboost.inspection.plots import plot_errors, plot_sharing, plot_templates
from shareboost.pools import Templates

SMALL = {"n_templates": 6, "patch_size": 3, "masks": 2, "sigma": 2.0, "n_patches": 500}


@pytest.fixture(scope="module")
def clf(fitted_model):
    return fitted_model("templates")


def test_templates_are_beside_their_masks(clf):
    sheet = np.asarray(plot_templates(clf).images[0].get_array())
    features = clf.path_.features
    assert sheet.shape == (2 * 8, 12 * 8)  # masks of 6 x 6, and gaps of 2
    for place in range(12):
        top, left = 8 * (place // 6), 16 * (place % 6)
        template = features.templates[place][:, :, 0]
        enlarged = np.repeat(np.repeat(template, 2, axis=0), 2, axis=1)
        np.testing.assert_allclose(
            sheet[top : top + 6, left : left + 6], enlarged / np.abs(template).max(), rtol=1e-6
        )
        mask = np.outer(features.down[place], features.across[place])
        np.testing.assert_allclose(
            sheet[top : top + 6, left + 8 : left + 14], 2 * mask / mask.max() - 1, atol=1e-6
        )


def test_high_values_are_dark(clf):
    drawn = plot_templates(clf).images[0]
    low, high = drawn.to_rgba(np.array([-1.0, 1.0]))
    np.testing.assert_array_equal(low[:3], 1.0)
    np.testing.assert_array_equal(high[:3], 0.0)


def test_channels_are_side_by_side(digits):
    X, y = digits
    pool = Templates(**SMALL, image_shape=(8, 8, 8))
    clf = ShareBoostClassifier(2, pool=pool).fit(edges(X[:200]), y[:200])
    sheet = np.asarray(plot_templates(clf).images[0].get_array())
    template = clf.path_.features.templates[0]
    side = 3 * 3 + 2  # a grid of 3 x 3 channels, the last one empty
    assert sheet.shape == (side + 2, 4 * (side + 2))
    for channel in range(8):
        row, column = divmod(channel, 3)
        part = sheet[4 * row : 4 * row + 3, 4 * column : 4 * column + 3]
        np.testing.assert_allclose(
            part, template[:, :, channel] / np.abs(template).max(), rtol=1e-6
        )


def test_templates_of_a_union_are_found(fitted_model):
    clf = fitted_model("union, templates")
    sheet = plot_templates(clf, n_templates=1).images[0].get_array()
    features = clf.path_.features
    first = next(pool for pool in features.which if pool > 0)  # pool 0 are the columns
    expected = features.members[first].templates[0][:, :, 0]
    np.testing.assert_allclose(sheet[0:6:2, 0:6:2], expected / np.abs(expected).max(), rtol=1e-6)


def test_a_model_without_templates_is_refused(fitted_model):
    with pytest.raises(ValueError, match="no image templates"):
        plot_templates(fitted_model("columns"))


def test_another_object_is_refused(digits):
    for plot in (plot_templates, plot_sharing, lambda clf: plot_errors(clf, *digits)):
        with pytest.raises(TypeError, match="clf is a int, which has no path of models"):
            plot(3)


def test_misclassified_images_have_both_labels(clf, digits):
    X, y = (part[500:800] for part in digits)
    ax = plot_errors(clf, X, y, n_images=7)
    found = clf.predict(X)
    wrong = np.flatnonzero(found != y)[:7]
    assert [text.get_text() for text in ax.texts] == [f"{found[i]} ({y[i]})" for i in wrong]
    for image, i in zip(ax.images, wrong, strict=True):
        np.testing.assert_array_equal(image.get_array(), X[i].reshape(8, 8))


def test_where_nothing_is_misclassified_it_says_so(clf, digits):
    X = digits[0][:5]
    ax = plot_errors(clf, X, clf.predict(X))
    assert not ax.images
    assert ax.get_title() == "none is misclassified"


def test_images_of_columns_take_their_shape(digits):
    X, y = digits
    clf = ShareBoostClassifier(2).fit(X[:, :48], y)
    with pytest.raises(ValueError, match="not a square number"):
        plot_errors(clf, X[:, :48], y)
    ax = plot_errors(clf, X[:, :48], y, image_shape=(4, 4, 3), n_images=2)
    assert ax.images[0].get_array().shape == (4, 4, 3)
    assert ax.images[0].get_array().max() <= 1.0
