from dataclasses import replace

import numpy as np
import pytest

from shareboost.path import StopReason
from shareboost.pools.columns import ColumnFeatures
from shareboost.rivals.base import RivalPath, RivalStep


def step(atoms, alpha):
    W = np.arange(2.0 * (1 + len(atoms))).reshape(2, -1) + alpha
    return RivalStep.of(tuple(atoms), W, alpha, 1.0 - alpha, 3, {"alpha": alpha})


@pytest.fixture
def path():
    """Atoms leave and come back: 0, 2, 3, 2, 3 and 1 of them."""
    sets = [(), (4, 2), (4, 2, 7), (4, 7), (4, 7, 2), (7,)]
    steps = [step(atoms, 0.9 - 0.1 * place) for place, atoms in enumerate(sets)]
    centers, scales = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 8.0])
    features = ColumnFeatures(np.array([4, 2, 7]))
    names = tuple(f"c{j}" for j in range(9))
    return RivalPath(
        features,
        True,
        steps[0],
        centers,
        scales,
        steps[1:],
        stop_reason=StopReason.LAST_ALPHA,
        input_names=names,
        n_atoms=9,
    )


def test_the_model_of_t_features_is_the_last_of_at_most_so_many(path):
    assert [path.step(t).atoms for t in range(4)] == [(), (7,), (7,), (7,)]
    shorter = path.first(0)
    assert len(shorter) == 1
    before = replace(path, rounds=path.rounds[:-1])
    assert [before.step(t).atoms for t in range(4)] == [(), (), (4, 7), (4, 7, 2)]
    assert before.first(2).n_features.tolist() == [0, 2, 3, 2]


def test_what_is_no_number_of_features_is_refused(path):
    for t in (-1, 4, 1.0, "2", True, None):
        with pytest.raises(ValueError, match="not valid for at: .* features, from 0 to 3"):
            path.step(t)


def test_models_speak_of_the_units_of_x(path):
    model = path.model(path.steps[3])  # columns 4 and 7, of centres 1 and 3, scales 2 and 8
    W = path.steps[3].W
    assert model.features.ids.tolist() == [4, 7]
    X = np.random.default_rng(0).normal(size=(5, 9))
    Z = (X[:, [4, 7]] - [1.0, 3.0]) / [2.0, 8.0]
    assert np.allclose(model.scores(X), W[:, 0] + Z @ W[:, 1:].T)


def test_a_shorter_path_has_only_what_it_uses(path):
    shorter = replace(path, rounds=path.rounds[:-1]).first(0)
    assert shorter.features.ids.size == shorter.scales.size == shorter.centers.size == 0
    assert shorter.stop_reason == StopReason.N_FEATURES
    assert path.first(3) is path


def test_the_path_tells_of_itself(path):
    assert path.n_features.tolist() == [0, 2, 3, 2, 3, 1]
    assert path.n_iter == 18
    assert "6 models, up to 3 features: reached the last alpha" in repr(path)
    frame = path.to_frame()
    assert frame["alpha"].tolist() == [s.details["alpha"] for s in path]
    assert frame["atoms"][3] == (4, 7)
