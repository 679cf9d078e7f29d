import numpy as np
import pytest
import scipy.sparse as sp

from shareboost import ShareBoostClassifier
from shareboost.pools import Templates
from shareboost.pools.patches import random_patches
from shareboost.pools.templates import gaussians


def bars(n=400, seed=0, channels=1):
    """12 x 10 images of noise with a bar: upright or flat, in the upper or lower half."""
    rng = np.random.default_rng(seed)
    images = rng.uniform(0, 0.3, size=(n, 12, 10, channels))
    y = np.arange(n) % 4
    for image, label in zip(images, y, strict=True):
        top, left = rng.integers(0, 2) + 6 * (label // 2), rng.integers(0, 5)
        if label % 2:
            image[top : top + 4, left + 2, 0] = 1.0
        else:
            image[top + 2, left : left + 4, 0] = 1.0
    return images.reshape(n, -1), y


@pytest.mark.parametrize("channels", [1, 3])
def test_templates_learn_shapes_and_where_they_are(channels):
    X, y = bars(channels=channels)
    X_new, y_new = bars(200, seed=1, channels=channels)
    pool = Templates(20, image_shape=(12, 10, channels), patch_size=4, masks=2, sigma=3.0)
    clf = ShareBoostClassifier(6, pool=pool).fit(X, y)
    assert clf.score(X_new, y_new) > 0.95
    assert ShareBoostClassifier(6).fit(X, y).score(X_new, y_new) < 0.8


def test_names_tell_the_template_and_the_centre_of_its_mask():
    X, y = bars()
    pool = Templates(7, image_shape=(12, 10), patch_size=[3, (2, 4)], masks=2, sigma=3.0)
    clf = ShareBoostClassifier(4, pool=pool).fit(X, y)
    # Two masks a side: the middles of the halves of the places of a patch's centre.
    expected = {
        (3, 3, 1): {(3, 2), (3, 6), (8, 2), (8, 6)},
        (2, 4, 1): {(3, 3), (3, 6), (8, 3), (8, 6)},
    }
    chosen = zip(clf.get_feature_names_out(), clf.path_.features.templates, strict=True)
    for name, template in chosen:
        number, place = name.removeprefix("template ").split(" at ")
        assert (int(number) < 7) == (template.shape == (3, 3, 1))
        assert tuple(map(int, place.strip("()").split(", "))) in expected[template.shape]


def test_masks_are_gaussians_on_an_even_grid():
    weights, centres = gaussians(28, 7, 4, 6.0)
    assert weights.shape == (4, 22)
    assert np.allclose(centres, [5.25, 10.75, 16.25, 21.75])
    assert weights[1, 7] == pytest.approx(np.exp(-(0.75**2) / 72))
    assert np.allclose(weights[0], weights[3, ::-1])


def test_patches_are_of_zero_mean_and_unit_norm_and_vary():
    X, _ = bars()
    X[:, :60] = 0.2  # the upper half is flat
    rng = np.random.RandomState(0)
    patches = random_patches(X, (12, 10, 1), (3, 3), 500, 0.1, rng)
    assert patches.shape == (500, 9)
    assert np.allclose(patches.mean(axis=1), 0, atol=1e-6)
    assert np.allclose(np.linalg.norm(patches, axis=1), 1, atol=1e-5)


def test_few_images_give_each_of_their_patches_once():
    images = np.random.default_rng(0).uniform(size=(3, 20))  # 4 x 5
    patches = random_patches(images, (4, 5, 1), (3, 3), 1000, 0.0, np.random.RandomState(0))
    assert len(patches) == 3 * 2 * 3
    assert len(np.unique(patches.round(5), axis=0)) == 18
    first = images[0].reshape(4, 5)[:3, :3].ravel()
    first = (first - first.mean()) / np.linalg.norm(first - first.mean())
    assert (np.abs(patches - first).max(axis=1) < 1e-5).sum() == 1


def test_columns_are_exact_where_codes_are_not():
    X, _ = bars()
    pool = Templates(10, image_shape=(12, 10), patch_size=3, masks=2).fit(X)
    block = pool.encode(X, slice(0, 400))
    exact = pool.features([13]).columns(X)[:, 0]
    assert np.array_equal(pool.columns(block, 13)[0], exact)
    coded = block.codes[13] * pool.step_[13] + pool.low_[13]
    assert 0 < np.abs(coded - exact).max() <= pool.step_[13]


def test_training_and_prediction_compute_the_same_numbers():
    X, y = bars()
    pool = Templates(10, image_shape=(12, 10), patch_size=3, masks=2)
    clf = ShareBoostClassifier(5, pool=pool).fit(X, y)
    together = clf.transform(X)
    alone = np.vstack([clf.transform(X[i : i + 1]) for i in range(50)])
    assert np.array_equal(together[:50], alone)
    assert np.array_equal(clf.transform(sp.csr_array(X)), together)


def test_the_brightness_of_images_does_not_matter():
    X, y = bars()
    pool = Templates(10, image_shape=(12, 10), patch_size=3, masks=2)
    plain = ShareBoostClassifier(5, pool=pool).fit(X, y)
    bright = ShareBoostClassifier(5, pool=pool).fit(X * 200, y)
    assert np.array_equal(plain.selected_, bright.selected_)
    assert (bright.predict(X * 200) == plain.predict(X)).mean() > 0.99


def test_progress_is_shown(capsys):
    X, y = bars()
    pool = Templates(10, image_shape=(12, 10), patch_size=3)
    ShareBoostClassifier(3, pool=pool, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    for what in ("clustering patches", "encoding rows", "rounds"):
        assert what in shown


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"image_shape": (11, 10)}, r"image_shape=\(11, 10\) does not fit the 120 columns of X"),
        ({"image_shape": None}, "120 columns, not a square number"),
        ({"image_shape": "12x10"}, "image_shape='12x10' does not fit"),
        ({"sigma": -1.0}, "sigma=-1.0 is not valid for Templates: it takes .* above 0"),
        ({"sigma": 0}, "sigma=0 is not valid for Templates"),
        ({"sigma": np.nan}, "sigma=nan is not valid for Templates"),
        ({"n_templates": 0}, "n_templates=0 is not valid for Templates"),
        ({"n_templates": 10**6}, "n_templates=1000000 is more than the .* patches of size 3 x 3"),
        ({"masks": 0}, "masks=0 is not valid for Templates"),
        ({"n_patches": 0}, "n_patches=0 is not valid for Templates"),
        ({"min_deviation": -0.1}, "min_deviation=-0.1 is not valid for Templates"),
        ({"patch_size": 11}, "patch_size=11 is not valid for Templates: .* 12 x 10"),
        ({"patch_size": 0}, "patch_size=0 is not valid for Templates"),
        ({"patch_size": 1}, "patch_size=1 is not valid for Templates"),
        ({"patch_size": []}, r"patch_size=\[\] is not valid for Templates"),
        ({"patch_size": [3, 3]}, "unlike sizes"),
        ({"patch_size": (3, 3, 3)}, "a pair"),
    ],
)
def test_bad_arguments_are_named(parameters, message):
    X, _ = bars(50)
    pool = Templates(**{"n_templates": 5, "image_shape": (12, 10), "patch_size": 3, **parameters})
    with pytest.raises(ValueError, match=message):
        pool.fit(X)


def test_images_without_any_contrast_are_refused():
    with pytest.raises(ValueError, match="more than the 0 patches"):
        Templates(5, patch_size=3).fit(np.ones((20, 64)))
