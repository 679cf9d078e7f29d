"""Means and spreads over seeds, and samples of rows."""

import numpy as np
import pytest

from paper.samples import sample
from paper.spread import in_words, spread
from shareboost.datasets import Dataset


def test_the_spread_is_that_of_a_sample():
    assert spread([1.0, 2.0, 3.0]) == pytest.approx(1.0)
    assert spread([5.0]) == 0.0


def test_words():
    assert in_words([1.66, 1.55, 1.62], unit="%") == "1.61% ± 0.06 over 3 seeds (1.66, 1.55, 1.62)"
    assert in_words([0.5], ".3f") == "0.500, one seed"


def test_a_sample_keeps_rows_with_their_labels():
    y = np.arange(300)
    X = np.tile(y[:, None], (1, 5))
    some = sample(Dataset(X, y, X[:50], y[:50]), 100, 80, n_columns=3)
    assert some.X_train.shape == (100, 3)
    assert some.X_test.shape == (50, 3)
    np.testing.assert_array_equal(some.X_train[:, 0], some.y_train)
    np.testing.assert_array_equal(some.X_test[:, 2], some.y_test)
    assert np.unique(some.y_train).size == 100
    other = sample(Dataset(X, y, X, y), 100, 80, seed=1)
    assert not np.array_equal(some.y_train, other.y_train)
