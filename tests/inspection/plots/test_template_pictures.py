"""Templates are found wherever they are among features."""

import numpy as np
from every_pool import NotExported, classifier, some_digits

from shareboost import ShareBoostClassifier
from shareboost.inspection.plots.images import image_shape_of, side_by_side, template_pictures
from shareboost.pools import Columns, Templates, Union


def test_templates_of_all_sizes_come_in_the_order_of_the_features():
    X, y, *_ = some_digits()
    features = classifier(6, "templates, sizes").fit(X, y).path_.features
    found = template_pictures(features)
    assert [one.place for one in found] == list(range(6))
    for one, template, down, across in zip(
        found, features.templates, features.down, features.across, strict=True
    ):
        np.testing.assert_array_equal(one.template, template)
        np.testing.assert_array_equal(one.down, down)
        np.testing.assert_array_equal(one.across, across)
    assert image_shape_of(features) == (8, 8, 1)


def test_places_are_those_among_all_features_of_a_union():
    X, y, *_ = some_digits()
    pool = Union([Columns(), Templates(5, patch_size=3, masks=2, sigma=2.0)])
    clf = ShareBoostClassifier(
        5, pool=pool, include=["columns: x10", "templates: template 1 at (2, 2)"]
    )
    features = clf.fit(X, y).path_.features
    places = [one.place for one in template_pictures(features)]
    names = features.atom_names([f"x{j}" for j in range(64)])
    assert places == [i for i, name in enumerate(names) if name.startswith("templates: ")]


def test_other_features_have_none():
    X, y, *_ = some_digits()
    features = classifier(2, "stumps").fit(X, y).path_.features
    assert template_pictures(features) == []
    assert image_shape_of(features) is None
    assert image_shape_of(NotExported(features.ids)) is None


def test_channels_are_laid_out_in_a_grid():
    template = np.arange(2 * 2 * 3, dtype=np.float32).reshape(2, 2, 3)
    sheet = side_by_side(template)
    assert sheet.shape == (5, 5)
    np.testing.assert_array_equal(sheet[:2, :2], template[:, :, 0])
    np.testing.assert_array_equal(sheet[:2, 3:], template[:, :, 1])
    np.testing.assert_array_equal(sheet[3:, :2], template[:, :, 2])
    assert np.isnan(sheet[2]).all()
    assert np.isnan(sheet[3:, 3:]).all()
