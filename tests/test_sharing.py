"""Columns of W by feature."""

import numpy as np
import pytest
from every_pool import POOLS_TO_TEST, classifier, every_pool, some_digits

from shareboost.model import sharing


@pytest.fixture(scope="module")
def rows():
    X, y, *_ = some_digits()
    return X, y


@every_pool
def test_every_feature_has_the_weights_of_its_columns(name, rows):
    assert name in POOLS_TO_TEST
    clf = classifier(3, name).fit(*rows)
    path = clf.path_
    for t in (1, 3):
        step = path.step(t)
        found = sharing(path, step)
        assert found.shape == (t, 10)
        start = 1
        for atom, weights in zip(step.atoms, found, strict=True):
            width = path.features.widths[path.features.ids.tolist().index(atom)]
            own = step.W[:, start : start + width]  # of the scaled columns
            own = own - own.mean(axis=0)
            expected = own[:, 0] if width == 1 else np.linalg.norm(own, axis=1)
            np.testing.assert_allclose(weights, expected, rtol=1e-9, atol=1e-12)
            start += width


def test_a_model_without_features_shares_nothing(rows):
    path = classifier(2, "columns").fit(*rows).path_
    assert sharing(path, path.start).shape == (0, 10)
