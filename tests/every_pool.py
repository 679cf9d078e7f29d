"""The pools that every test of the contract runs over, and what those tests share."""

from itertools import pairwise

import numpy as np
import pytest
from naive_pools import explicit
from sklearn.base import clone
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier
from shareboost.pools import (
    Columns,
    Features,
    Groups,
    Hinges,
    Pieces,
    Products,
    Stumps,
    Templates,
    Union,
)

POOLS_TO_TEST = {
    "columns": Columns(),
    "columns, maxabs": Columns("maxabs"),
    "groups": Groups(np.arange(64) % 7),
    "groups, mean": Groups([f"row {j // 8}" for j in range(64)], scale="maxabs", score="mean"),
    "stumps": Stumps(),
    "stumps, paper": Stumps(scale="none"),
    "stumps, exact": Stumps(max_bins=None),
    "hinges": Hinges(),
    "hinges, few": Hinges(max_bins=5),
    "products": Products(),
    "products, squares, linear": Products(squares=True, linear=True),
    "products, maxabs": Products(scale="maxabs"),
    "pieces": Pieces(12, 6),
    "pieces, paper": Pieces(12, 6, form="paper"),
    "templates": Templates(5, patch_size=3, masks=2, sigma=2.0),
    "templates, one scale": Templates(5, patch_size=3, masks=2, sigma=2.0, scale="none"),
    "templates, sizes": Templates(4, patch_size=[3, (2, 5)], masks=2, sigma=2.0),
    "templates, colour": Templates(5, image_shape=(4, 8, 2), patch_size=3, masks=2, sigma=2.0),
    "templates, given": Templates(
        templates=[
            np.eye(3)[None] - np.eye(3)[::-1],
            np.random.default_rng(0).normal(size=(4, 2, 5)),
        ],
        masks=2,
        sigma=2.0,
    ),
    "union": Union([Columns(), Stumps(), Products(), Pieces(12, 6)]),
    "union, named": Union([("a", Columns()), ("b", Columns("maxabs"))], costs=[1.0, 3.0]),
}

# One of each kind, for ``small_images``. Pieces of very few rows would gain exactly alike.
SMALL_POOLS = {
    "columns": Columns(),
    "groups": Groups(np.arange(16) % 5),
    "stumps": Stumps(),
    "hinges": Hinges(8),
    "products": Products(squares=True),
    "pieces": Pieces(5, [0.2, 0.35, 0.5]),
    "templates": Templates(5, patch_size=2, masks=2, sigma=2.0),
    "union": Union([Columns(), Stumps(), Products(), Pieces(4, [0.3, 0.5])]),
}

# One pool of each kind: those that differ in how sums and columns are made.
KINDS = ["columns", "groups", "stumps", "hinges", "products", "pieces", "templates", "union"]

every_pool = pytest.mark.parametrize("name", POOLS_TO_TEST)
every_kind = pytest.mark.parametrize("name", KINDS)


def every_pool_with(**axes):
    """Parametrise a test over the pools, each with the next value of every axis.

    The pools of a kind stand beside each other, so that a kind meets more than one value.
    """
    cases = []
    for number, name in enumerate(POOLS_TO_TEST):
        values, turn = [], number
        for of_axis in axes.values():
            values.append(of_axis[turn % len(of_axis)])
            turn //= len(of_axis)
        cases.append(pytest.param(name, *values, id="-".join(map(str, [name, *values]))))
    return pytest.mark.parametrize(("name", *axes), cases)


class NotExported(Features):
    """Features of a pool that is not ours."""

    def __init__(self, ids):
        self.ids = ids

    def columns(self, X):
        return X[:, self.ids]

    def names(self, input_names):
        return [str(name) for name in self.ids]

    def take(self, places):
        return NotExported(self.ids[places])


def some_digits():
    """Some digits, their labels and a residual as after a loose refit: (X, y, R, weight)."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:120], y[:120]
    rng = np.random.default_rng(0)
    R = rng.normal(size=(10, 120))
    return X, y, R, rng.uniform(0.5, 2.0, size=120)


def small_images():
    """Rows of 4 x 4 whole numbers with some zeros and hardly a tie, for the pools of SMALL_POOLS.

    The rows of a fit, their labels, and new rows: (X, y, X_new).
    """
    (X, y), rng = load_digits(return_X_y=True), np.random.default_rng(0)
    X = X[:160].reshape(160, 4, 2, 4, 2).sum(axis=(2, 4)).reshape(160, 16)
    X = np.rint(3 * X + rng.uniform(1, 30, size=X.shape)) * (rng.random(X.shape) > 0.2)
    return X[:120], y[:120], X[120:]


def fitted(name, X, weight=None, centred=True):
    return clone(POOLS_TO_TEST[name]).fit(X, weight, centred)


def classifier(n_features, name, **parameters):
    """With a penalty that settles refits of more columns than rows, as pieces make here."""
    return ShareBoostClassifier(n_features, pool=POOLS_TO_TEST[name], alpha=1e-3, **parameters)


def scaled_columns(pool, X, weight, scales, centred=True):
    """All explicit columns of a fitted pool over the scales of its atoms, (columns, n)."""
    atoms = explicit(pool, X, X, weight, centred)
    return np.vstack([own / scale[:, None] for own, scale in zip(atoms, scales, strict=True)])


def rounding(name, Z):
    """What each scaled column is wrong by at most in the sums, (columns, n).

    A template's by that of its code, one of 255 in the column's range and a twentieth on
    either side; other pools compute in float32 or better.
    """
    range_ = np.ptp(Z, axis=1, keepdims=True)
    return (0.0022 if "templates" in name else 2e-6) * range_ + 1e-5 * np.abs(Z) + 3e-7


def columns_of(pool, atoms):
    """A mask of columns from one of atoms, or None for all."""
    widths = pool.features(range(pool.n_atoms_)).widths
    return np.repeat(np.ones(pool.n_atoms_, dtype=bool) if atoms is None else atoms, widths)


def by_part(pool, X, rows, edges, squares=False):
    """Yield every part with its statistic, summed over rows in blocks."""
    for part in pool.parts(10):
        stats = None
        for a, b in pairwise(edges):
            block = pool.encode(X, slice(a, b))
            stats = pool.stats(block, pool.prepare(rows[:, a:b]), part, stats, squares)
            stats = stats.astype(np.float64)
        yield part, stats


def all_correlations(pool, X, R, edges):
    """Correlations of the columns of all atoms, (k, columns)."""
    return np.hstack([pool.correlations(stats, part) for part, stats in by_part(pool, X, R, edges)])


def all_moments(pool, X, rows, edges):
    """First and second moments of the columns of all atoms, (k, columns) each."""
    found = [pool.moments(stats, part) for part, stats in by_part(pool, X, rows, edges, True)]
    return tuple(np.hstack(of_parts) for of_parts in zip(*found, strict=True))


def all_curvatures(pool, X, V, weight, edges):
    """Sums of V times the squares of the scaled columns about their means, (k, columns)."""
    first, second = all_moments(pool, X, V, edges)
    mean = all_moments(pool, X, weight[None], edges)[0] / weight.sum()
    return second - 2 * mean * first + mean**2 * V.sum(axis=1, keepdims=True)


def all_scores(pool, X, R, edges):
    """Scores of all atoms: their columns' l1 norms over classes, summed, over the divisors."""
    scores = np.concatenate(
        [
            np.add.reduceat(np.abs(pool.correlations(stats, part)).sum(axis=0), pool.starts(part))
            for part, stats in by_part(pool, X, R, edges)
        ]
    )
    if pool.divisors_ is not None:
        scores /= pool.divisors_
    if pool.usable_ is not None:
        scores[~pool.usable_] = -np.inf
    return scores
