"""Some of the rows of a data set, for quick runs."""

from __future__ import annotations

import numpy as np

from shareboost.datasets import Dataset


def sample(
    data: Dataset, n_train: int, n_test: int, n_columns: int | None = None, seed: int = 0
) -> Dataset:
    """Return some of the examples, drawn at random, in the order of the draw.

    Parameters
    ----------
    data : Dataset
    n_train, n_test : int
        How many rows; all where there are fewer.
    n_columns : int, optional
        Only the first so many columns.
    seed : int, default=0
    """
    random = np.random.default_rng(seed)
    train = random.permutation(len(data.y_train))[:n_train]
    test = random.permutation(len(data.y_test))[:n_test]
    columns = slice(n_columns)
    return Dataset(
        data.X_train[train, columns],
        data.y_train[train],
        data.X_test[test, columns],
        data.y_test[test],
    )
