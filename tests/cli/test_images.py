"""``shareboost fit --pool templates``: its options and what it refuses."""

import numpy as np
import pytest

from shareboost import ShareBoostClassifier, load_model
from shareboost.pools import Templates


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Images of 8 x 10, with a bar that lies or stands."""
    rng = np.random.default_rng(0)
    pixels = rng.uniform(0, 0.2, size=(160, 8, 10))
    y = np.arange(160) % 2
    for image, lies, place in zip(pixels, y, rng.integers(2, 6, size=160), strict=True):
        image[(place, slice(1, 7)) if lies else (slice(1, 7), place)] += 1
    X = pixels.reshape(160, -1)
    path = tmp_path_factory.mktemp("images") / "bars.npz"
    np.savez(path, X=X, y=y)
    return path, X, y


def test_templates_take_the_shape_of_images(run, images, tmp_path):
    path, X, y = images
    words = ("--pool", "templates", "--image-shape", "8x10", "--features", 2)
    found = run("fit", path, *words, "--out", tmp_path / "m.json")
    assert found.exit_code == 0, found.stderr
    own = ShareBoostClassifier(2, pool=Templates(image_shape=(8, 10))).fit(X, y)
    clf = load_model(tmp_path / "m.json")
    assert clf.selected_.tolist() == own.selected_.tolist()
    assert np.array_equal(clf.weights_, own.weights_)


def test_a_pool_takes_its_parameters(run, images, tmp_path):
    path, X, y = images
    options = ("n_templates=6", "patch_size=[3, 4]", "scale=none")
    words = [word for option in options for word in ("--pool-option", option)]
    shape = ("--pool", "templates", "--image-shape", "8x10", "--features", 2)
    run("fit", path, *shape, *words, "--out", tmp_path / "m.json")
    pool = Templates(6, image_shape=(8, 10), patch_size=[3, 4], scale="none")
    own = ShareBoostClassifier(2, pool=pool).fit(X, y)
    assert np.array_equal(load_model(tmp_path / "m.json").weights_, own.weights_)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("--pool-option", "patch=3"), ("--pool-option patch=3", "patch_size")),
        (("--pool-option", "masks"), ("--pool-option masks", "NAME=VALUE")),
        (("--image-shape", "8x10", "--pool-option", "masks=x"), ("masks='x'", "integer")),
        ((), ("80 columns", "image_shape=None", "square images")),
        (("--image-shape", "8x9"), ("image_shape=(8, 9)", "80 columns")),
        (("--image-shape", "8,10"), ("--image-shape 8,10", "HxWxC")),
    ],
)
def test_what_does_not_fit_the_images_or_the_pool_is_one_line(
    run, images, tmp_path, refused, words, parts
):
    given = ("fit", images[0], "--pool", "templates", *words, "--out", tmp_path / "m.json")
    refused(run(*given), *parts)


def test_a_shape_of_images_is_for_no_other_pool(run, images, tmp_path, refused):
    words = ("--pool", "stumps", "--image-shape", "8x10", "--out", tmp_path / "m.json")
    refused(run("fit", images[0], *words), "--image-shape", "--pool templates")
