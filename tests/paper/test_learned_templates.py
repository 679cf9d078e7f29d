"""Templates that follow the gradient of the loss."""

import numpy as np
import pytest

from paper.images import edges
from paper.learned_templates import Lessons, Network, learn
from shareboost import ShareBoostClassifier
from shareboost.pools import Templates

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def bars():
    """Noisy images of 12 x 12 with a bar that stands, lies or leans, labelled by letters."""
    random = np.random.default_rng(0)
    X = random.integers(0, 200, size=(600, 12, 12)).astype(np.uint8)
    y = np.arange(600) % 3
    for image, label in zip(X, y, strict=True):
        i, j = random.integers(0, 5, size=2)
        part = image[i : i + 6, j : j + 6]
        if label == 0:
            part[:, 2] = 200
        elif label == 1:
            part[2] = 200
        else:
            part[np.arange(6), np.arange(6)] = 200
    return X.reshape(600, -1), np.array(list("abc"))[y]


@pytest.fixture(scope="module")
def model(bars):
    X, y = bars
    pool = Templates(6, patch_size=[3, 5], masks=2, sigma=4.0, n_patches=2000)
    return ShareBoostClassifier(3, pool=pool, alpha=1e-3).fit(X[:300], y[:300])


def test_the_network_has_the_models_scores(bars, model):
    X, _ = bars
    with torch.no_grad():
        scores = Network.of(model, None).scores(torch.as_tensor(X)).numpy()
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-4, atol=1e-4)


def test_the_network_takes_images_of_several_channels(bars):
    X, y = bars
    X = edges(X[:200], 3)
    pool = Templates(5, image_shape=(12, 12, 3), patch_size=[3, 4], masks=2, n_patches=2000)
    model = ShareBoostClassifier(4, pool=pool, alpha=1e-3).fit(X, y[:200])
    with torch.no_grad():
        scores = Network.of(model, None).scores(torch.as_tensor(X)).numpy()
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-4, atol=1e-4)


def test_dropped_features_are_left_out_and_the_others_make_up_for_them(bars, model):
    X, _ = bars
    net = Network.of(model, None)
    images = torch.as_tensor(X[:2])
    torch.manual_seed(0)
    with torch.no_grad():
        some = torch.stack([net.scores(images, 0.5) for _ in range(4000)])
        whole = net.scores(images)
    spread = some.std(dim=0)
    assert spread.min() > 0
    assert ((some.mean(dim=0) - whole).abs() < 5 * spread / 4000**0.5).all()


def test_lessons_leave_sizes_and_lower_the_loss_of_a_model_of_the_same_features(bars, model):
    X, y = bars
    lessons = Lessons(
        start=3, epochs=40, batch=250, dropped=0.0, deformation={"elastic_alpha": 0.0}
    )
    found = learn(model, X[:300], y[:300], lessons, 0, None)
    features = model.path_.at(3).features
    assert sum(len(some) for some in found.templates) == 3
    assert {some.shape[1:] for some in found.templates} == {t.shape for t in features.templates}
    pool = Templates(masks=2, sigma=4.0, templates=found.templates)
    again = ShareBoostClassifier(3, pool=pool, alpha=1e-3).fit(X[:300], y[:300])
    assert again.path_.losses[-1] < 0.8 * model.path_.losses[-1]
    assert again.score(X[300:], y[300:]) >= model.score(X[300:], y[300:])


def test_learned_templates_keep_their_masks(bars, model):
    X, y = bars
    found = learn(model, X[:300], y[:300], Lessons(epochs=0), 0, None)  # nothing is learned
    pool = Templates(masks=2, sigma=4.0, templates=found.templates)
    again = ShareBoostClassifier(3, pool=pool, alpha=1e-3, include=found.atoms).fit(
        X[:300], y[:300]
    )
    mine, other = model.transform(X), again.transform(X)
    np.testing.assert_array_equal(np.sort(mine, axis=1), np.sort(other, axis=1))


def test_a_seed_names_the_lessons(bars, model):
    X, y = bars
    lessons = Lessons(epochs=1, batch=100)
    first, again, other = (
        learn(model, X[:200], y[:200], lessons, seed, None).templates for seed in (0, 0, 1)
    )
    for mine, same, unlike in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(mine, same)
        assert not np.array_equal(mine, unlike)


def test_images_are_prepared_copies_too(bars, model):
    X, y = bars
    seen = []

    def prepare(images):
        seen.append(images.shape)
        return images

    learn(model, X[:100], y[:100], Lessons(epochs=2), 0, None, prepare)
    assert seen == [(200, 144), (200, 144)]
