"""``shareboost fit --pool templates``: its options and what it refuses."""

import numpy as np
import pytest

from shareboost import ShareBoostClassifier, load_model
from shareboost.pools import Templates


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Images of 8 x 10, with a bar that lies or stands."""
    rng = np.random.default_rng(0)
    pixels = rng.uniform(0, 0.2, size=(80, 8, 10))
    y = np.arange(80) % 2
    for image, lies, place in zip(pixels, y, rng.integers(2, 6, size=80), strict=True):
        image[(place, slice(1, 7)) if lies else (slice(1, 7), place)] += 1
    X = pixels.reshape(80, -1)
    path = tmp_path_factory.mktemp("images") / "bars.npz"
    np.savez(path, X=X, y=y)
    return path, X, y


def test_templates_take_their_options(run, images, tmp_path):
    path, X, y = images
    found = run(
        *("fit", path, "--pool", "templates", "--image-shape", "8x10", "--patch-size", 3),
        *("--sigma", 2.5, "--templates", 6, "--features", 2, "--out", tmp_path / "m.json"),
    )
    assert found.exit_code == 0, found.stderr
    pool = Templates(6, image_shape=(8, 10), patch_size=3, sigma=2.5)
    own = ShareBoostClassifier(2, pool=pool).fit(X, y)
    clf = load_model(tmp_path / "m.json")
    assert clf.selected_.tolist() == own.selected_.tolist()
    assert np.array_equal(clf.weights_, own.weights_)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ((), ("80 columns", "--image-shape: ", "square images")),
        (("--image-shape", "8x9"), ("--image-shape: ", "(8, 9)", "80 columns")),
        (("--image-shape", "8,10"), ("--image-shape 8,10", "HxWxC")),
        (("--image-shape", "8x10", "--patch-size", 9), ("--patch-size: patch_size=9", "8 x 10")),
        (("--image-shape", "8x10", "--sigma", 0), ("--sigma: sigma=0", "above 0")),
        (("--image-shape", "8x10", "--patch-size", 3, "--templates", 10**6), ("--templates",)),
    ],
)
def test_options_that_do_not_fit_the_images_are_one_line(
    run, images, tmp_path, refused, words, parts
):
    given = ("fit", images[0], "--pool", "templates", *words, "--out", tmp_path / "m.json")
    refused(run(*given), *parts)


@pytest.mark.parametrize(
    "words",
    [("--image-shape", "8x10"), ("--patch-size", 3), ("--sigma", 1), ("--templates", 9)],
)
def test_options_of_templates_are_for_no_other_pool(run, images, tmp_path, refused, words):
    found = run("fit", images[0], "--pool", "stumps", *words, "--out", tmp_path / "m.json")
    refused(found, words[0], "--pool templates")
