import numpy as np
import pytest
import scipy.sparse as sp

from shareboost import ShareBoostClassifier
from shareboost.pools import Templates
from shareboost.pools.patches import gaussians, random_patches
from shareboost.pools.templates import MANY_TEMPLATES


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
        (3, 3, 1): {(3, 3), (3, 7), (8, 3), (8, 7)},
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


def test_masks_vanish_nowhere_and_are_no_more_than_places():
    weights, centres = gaussians(28, 7, 99, 0.01)
    assert weights.shape == (22, 22)
    assert np.allclose(centres, np.arange(22) + 3)
    assert weights.min() > 0.0


def test_patches_are_of_zero_mean_and_unit_norm_and_vary():
    X, _ = bars()
    X[:, :60] = 0.2  # the upper half is flat
    rng = np.random.RandomState(0)
    patches = random_patches(X, (12, 10, 1), (3, 3), 500, 0.1, 1.0, rng)
    assert patches.shape == (500, 9)
    assert np.allclose(patches.mean(axis=1), 0, atol=1e-6)
    assert np.allclose(np.linalg.norm(patches, axis=1), 1, atol=1e-5)


def test_few_images_give_each_of_their_patches_once():
    images = np.random.default_rng(0).uniform(size=(3, 20))  # 4 x 5
    patches = random_patches(images, (4, 5, 1), (3, 3), 1000, 0.0, 1.0, np.random.RandomState(0))
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


def test_many_features_together_equal_each_alone_to_the_last_bit():
    X, _ = bars()
    pool = Templates(40, image_shape=(12, 10), patch_size=[3, 4], masks=1).fit(X)
    atoms = np.random.default_rng(0).permutation(np.repeat(np.arange(80), 2))
    assert atoms.size >= 2 * MANY_TEMPLATES
    together = pool.features(atoms).columns(X)
    for place, atom in enumerate(atoms):
        assert np.array_equal(together[:, place], pool.features([atom]).columns(X)[:, 0])


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
        ({"scale": "std"}, "scale='std' is not valid for Templates"),
        ({"patch_size": 11}, "patch_size=11 is not valid for Templates: .* 12 x 10"),
        ({"patch_size": 0}, "patch_size=0 is not valid for Templates"),
        ({"patch_size": 1}, "patch_size=1 is not valid for Templates"),
        ({"patch_size": []}, r"patch_size=\[\] is not valid for Templates"),
        ({"patch_size": [3, 3]}, "unlike sizes"),
        ({"patch_size": (3, 3, 3)}, "a pair"),
        ({"templates": np.ones((3, 3))}, r"shape \(3, 3\), .* takes \(n, rows"),
        ({"templates": np.ones((0, 3, 3))}, "array with 0 sample"),
        ({"templates": [[["a"]]]}, "could not convert string"),
        ({"templates": []}, r"templates=\[\] is not valid"),
        ({"templates": np.ones((2, 13, 3))}, "does not fit images of 12 x 10 and 1 channels"),
        ({"templates": np.ones((2, 3, 3, 2))}, "does not fit images"),
        ({"templates": np.full((2, 3, 3), np.nan)}, "templates contains NaN"),
        (
            {"templates": np.full((2, 3, 3), 1e300)},
            "templates contains infinity or a value too large",
        ),
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


def test_patches_come_from_all_images_alike():
    X = np.zeros((2000, 8, 8))
    X[:1000, ::2] = 1.0  # flat bars
    X[1000:, :, ::2] = 1.0  # upright bars
    rng = np.random.RandomState(0)
    patches = random_patches(X.reshape(2000, -1), (8, 8, 1), (3, 3), 1000, 0.1, 1.0, rng)
    flat = np.abs(np.diff(patches.reshape(-1, 3, 3), axis=2)).max(axis=(1, 2)) < 1e-6
    assert 400 < flat.sum() < 600


def test_patches_of_low_contrast_are_left_out():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 0.05, size=(300, 64))
    X[:30, 20:40] = rng.uniform(0, 1, size=(30, 20))
    patches = [
        random_patches(X, (8, 8, 1), (3, 3), 10**6, least, 1.0, np.random.RandomState(0))
        for least in (0.0, 0.1)
    ]
    assert len(patches[0]) == 300 * 36
    assert 0 < len(patches[1]) <= 30 * 36


@pytest.mark.parametrize("unit", [1.0, -3.0, 1e-9, 1e12])
def test_a_patch_counts_by_its_deviation_in_units_of_the_largest_pixel(unit):
    images = np.random.default_rng(0).uniform(size=(6, 4, 5))
    patches = [image[i : i + 2, j : j + 3] for image in images for i in range(3) for j in range(3)]
    deviations = np.sort([patch.std() / images.max() for patch in patches])
    for n in (1, 20, 53):
        least = deviations[-n - 1 : len(deviations) - n + 1].mean()  # n patches vary by more
        pool = Templates(999, (4, 5), (2, 3), min_deviation=least)
        with pytest.raises(ValueError, match=f"more than the {n} patches"):
            pool.fit(unit * images.reshape(6, 20))


def pixels(n_pixels, **options):
    """A pool whose columns are the pixels of 2 x 2 images: the patch has one place."""
    return Templates(templates=np.eye(4)[:n_pixels].reshape(-1, 2, 2), masks=1, **options)


@pytest.mark.parametrize("unit", [1.0, 2.0**-30, 2.0**30])
@pytest.mark.parametrize(("scale", "power"), [("root", 0.5), ("deviation", 1.0), ("none", 0.0)])
def test_scales_are_powers_of_the_deviation_but_never_vanish(unit, scale, power):
    X = np.random.default_rng(0).uniform(size=(50, 4)) * [1.0, 0.01, 0.0, 1e-6] + [0.2, 0, 0.5, 0.1]
    for centred in (True, False):
        about = X.std(axis=0) if centred else np.sqrt((X**2).mean(axis=0))
        typical = about.mean()
        truth = np.maximum(about, 0.01 * typical) ** power * typical ** (1 - power)
        pool = pixels(4, scale=scale).fit(unit * X, centred=centred)
        found = [pool.scales(atom)[0] for atom in range(4)]
        assert np.allclose(found, unit * truth, rtol=1e-5)


def test_codes_have_room_for_a_twentieth_of_the_range_on_either_side():
    X = np.zeros((100, 4))
    X[:, 0], X[:, 1] = np.linspace(2.0, 3.0, 100), 7.0
    pool = pixels(2).fit(X)
    new = np.zeros((5, 4))
    new[:, 0], new[:, 1] = [2.5, 1.955, 1.94, 3.045, 3.06], 7.0
    codes = pool.encode(new, slice(0, 5)).codes
    off = np.abs(codes * pool.step_[:, None] + pool.low_[:, None] - new[:, :2].T)
    half_step = 0.5 * 1.1 / 255
    assert (off[1] < 1e-5).all()
    assert (off[0, [0, 1, 3]] <= 1.001 * half_step).all()
    # Each lies 0.01 beyond the outermost code.
    assert np.allclose(off[0, [2, 4]], 0.01, rtol=1e-2)
    assert codes[0, 0] in (127, 128)


@pytest.mark.parametrize(("scale", "grey"), [("root", 0.3), ("deviation", 0.0), ("none", 1e9)])
def test_images_that_are_all_alike_give_finite_statistics(scale, grey):
    X = np.full((20, 4), grey)
    pool = pixels(4, scale=scale).fit(X)
    assert all(0.0 < pool.scales(atom)[0] < np.inf for atom in range(4))
    (part,) = pool.parts(3)
    stats = pool.stats(pool.encode(X, slice(0, 20)), pool.prepare(np.ones((3, 20))), part)
    assert np.allclose(pool.correlations(stats, part), 20 * grey / pool.scale_, rtol=1e-5)


def test_codes_are_fine_enough_to_tell_responses_apart():
    X, _ = bars()
    pool = Templates(10, image_shape=(12, 10), patch_size=3, masks=2).fit(X)
    block = pool.encode(X, slice(0, 400))
    exact = pool.features(range(pool.n_atoms_)).columns(X).T
    coded = block.codes * pool.step_[:, None] + pool.low_[:, None]
    spread = np.ptp(exact, axis=1)
    assert (np.abs(coded - exact).max(axis=1) < spread / 200).all()


def test_seeds_give_other_templates():
    X, _ = bars()
    pools = [Templates(8, (12, 10), 3, random_state=seed).fit(X) for seed in (0, 1, 0)]
    one, two, again = (pool.sizes_[0].templates for pool in pools)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, two)


@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e12, 1e30])
def test_units_far_from_one_do_no_harm(unit):
    X, y = bars(200)
    pool = Templates(10, image_shape=(12, 10), patch_size=4, masks=2)
    plain = ShareBoostClassifier(4, pool=pool).fit(X, y)
    moved = ShareBoostClassifier(4, pool=pool).fit(X * unit, y)
    assert (moved.predict(X * unit) == plain.predict(X)).mean() > 0.9


@pytest.mark.parametrize(
    ("unit", "dtype"), [(1e-12, "u1"), (1e12, "i1"), (1e-12, "i8"), (1e12, "?")]
)
def test_integers_are_taken_whatever_the_unit_in_training(unit, dtype):
    X, y = bars(200)
    pool = Templates(10, image_shape=(12, 10), patch_size=4, masks=2)
    clf = ShareBoostClassifier(4, pool=pool).fit(X * unit, y)
    whole = np.rint(X).astype(dtype)
    np.testing.assert_allclose(
        clf.decision_function(whole), clf.decision_function(whole.astype(float)), rtol=1e-5
    )


def test_a_patch_as_large_as_the_image_has_one_mask():
    X, _ = bars(60)
    assert Templates(5, image_shape=(12, 10), patch_size=(12, 10)).fit(X).n_atoms_ == 5
    assert Templates(5, image_shape=(12, 10), patch_size=(11, 9)).fit(X).n_atoms_ == 20


def test_a_pixel_of_several_channels_is_a_patch():
    X, y = bars(channels=3)
    pool = Templates(4, image_shape=(12, 10, 3), patch_size=1, masks=2)
    assert ShareBoostClassifier(3, pool=pool).fit(X, y).score(X, y) > 0.3


def test_columns_have_the_type_of_the_rows():
    X, y = bars()
    clf = ShareBoostClassifier(2, pool=Templates(5, (12, 10), 3)).fit(X, y)
    assert clf.transform(X).dtype == np.float64
    assert clf.transform(X.astype(np.float32)).dtype == np.float32


def test_given_templates_are_taken_as_they_are():
    X, y = bars()
    own = np.zeros((2, 4, 4))
    own[0, :, 2], own[1, 2, :] = 3.0, 0.5
    pool = Templates(image_shape=(12, 10), masks=2, sigma=3.0, templates=own)
    clf = ShareBoostClassifier(8, pool=pool).fit(X, y)
    assert clf.path_.n_atoms == 8
    assert clf.score(X, y) > 0.95
    # The largest response of the upright one, anywhere, under the first of its masks.
    column = clf.transform(X)[:, clf.selected_.tolist().index(0)]
    down, across = gaussians(12, 4, 2, 3.0)[0][0], gaussians(10, 4, 2, 3.0)[0][0]
    image = X[5].reshape(12, 10)
    expected = max(
        3.0 * image[i : i + 4, j + 2].sum() * down[i] * across[j]
        for i in range(9)
        for j in range(7)
    )
    assert column[5] == pytest.approx(expected, rel=1e-5)


def test_templates_of_another_pool_give_the_same_columns():
    X, _ = bars()
    shape = {"image_shape": (12, 10), "masks": 2, "sigma": 3.0}
    first = Templates(6, patch_size=[3, 4], **shape).fit(X)
    again = Templates(templates=[size.templates for size in first.sizes_], **shape).fit(X)
    assert again.n_atoms_ == first.n_atoms_ == 48
    for atom in (0, 17, 30, 47):
        mine, other = (pool.features(np.array([atom])).columns(X) for pool in (first, again))
        np.testing.assert_array_equal(mine, other)
