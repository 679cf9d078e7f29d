"""A penalty's weight is chosen on training rows alone."""

import numpy as np
import pytest

from paper.penalty import chosen_alpha
from shareboost.datasets import Dataset

Y = np.repeat([0, 1, 2], 20)
X = np.arange(60)[:, None]
ALPHAS = (1e-3, 1e-2, 1e-1)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [((0.3, 0.1, 0.2), 1e-2), ((0.1, 0.2, 0.3), 1e-3), ((0.1, 0.1, 0.2), 1e-2)],
)
def test_the_least_error_decides_and_of_equals_the_largest_weight(errors, expected):
    by_alpha = dict(zip(ALPHAS, errors, strict=True))
    data = Dataset(X, Y, X, Y)
    assert chosen_alpha(data, 0.3, ALPHAS, lambda held, alpha: by_alpha[alpha]) == expected


def test_held_out_rows_are_the_same_training_rows_for_every_weight():
    seen = []

    def error(held, alpha):
        seen.append(held)
        return alpha

    chosen_alpha(Dataset(X, Y, X + 1000, Y), 0.3, ALPHAS, error)
    assert len(seen) == len(ALPHAS)
    for held in seen:
        np.testing.assert_array_equal(held.X_test, seen[0].X_test)
        both = np.concatenate([held.X_train, held.X_test])
        np.testing.assert_array_equal(np.sort(both, axis=0), X)
        np.testing.assert_array_equal(np.bincount(held.y_test), [6, 6, 6])
        np.testing.assert_array_equal(Y[held.X_test[:, 0]], held.y_test)
