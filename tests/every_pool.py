"""The pools that every test of the contract runs over, and what those tests share."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier
from shareboost.pools import Columns, Pieces, Products, Stumps, Templates, Union

POOLS_TO_TEST = {
    "columns": Columns(),
    "columns, maxabs": Columns("maxabs"),
    "stumps": Stumps(),
    "stumps, paper": Stumps(scale="none"),
    "stumps, exact": Stumps(max_bins=None),
    "products": Products(),
    "products, squares, linear": Products(squares=True, linear=True),
    "products, maxabs": Products(scale="maxabs"),
    "pieces": Pieces(12, 6),
    "pieces, paper": Pieces(12, 6, form="paper"),
    "templates": Templates(5, patch_size=3, masks=2, sigma=2.0),
    "templates, one scale": Templates(5, patch_size=3, masks=2, sigma=2.0, scale="none"),
    "templates, sizes": Templates(4, patch_size=[3, (2, 5)], masks=2, sigma=2.0),
    "templates, colour": Templates(5, image_shape=(4, 8, 2), patch_size=3, masks=2, sigma=2.0),
    "union": Union([Columns(), Stumps(), Products(), Pieces(12, 6)]),
    "union, named": Union([("a", Columns()), ("b", Columns("maxabs"))], costs=[1.0, 3.0]),
}

every_pool = pytest.mark.parametrize("name", POOLS_TO_TEST)


def some_digits():
    """Some digits, their labels and a residual as after a loose refit: (X, y, R, weight)."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:120], y[:120]
    rng = np.random.default_rng(0)
    R = rng.normal(size=(10, 120))
    return X, y, R, rng.uniform(0.5, 2.0, size=120)


def fitted(name, X, weight=None, centred=True):
    return clone(POOLS_TO_TEST[name]).fit(X, weight, centred)


def classifier(n_features, name, **parameters):
    """With a penalty that settles refits of more columns than rows, as pieces make here."""
    return ShareBoostClassifier(n_features, pool=POOLS_TO_TEST[name], alpha=1e-3, **parameters)


def all_scores(pool, X, R, edges):
    """Scores of all atoms, part by part, the rows in blocks."""
    scores = []
    for part in pool.parts(10):
        stats = None
        for a, b in pairwise(edges):
            block = pool.encode(X, slice(a, b))
            stats = pool.stats(block, pool.prepare(R[:, a:b]), part, stats)
            stats = stats.astype(np.float64)
        scores.append(pool.scores(stats, part))
    return np.concatenate(scores)
