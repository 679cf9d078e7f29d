"""Accuracy that the package promises on real data; time and memory live in benchmarks/.

The errors of the non-linear pools on all of MNIST are in docs/paper; here they run on some
thousand rows, with limits that leave room for what fewer rows cost.
"""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from shareboost import ShareBoostClassifier
from shareboost.pools import Pieces, Products, Stumps, Templates


def test_isolet_with_50_of_617_columns(data_set):
    data = data_set("isolet")
    clf = ShareBoostClassifier(50).fit(data.X_train, data.y_train)
    assert 1 - clf.score(data.X_test, data.y_test) <= 0.08
    clf.set_params(rule="gradient", alpha=3e-5).fit(data.X_train, data.y_train)
    assert clf.path_.losses[-1] <= 0.15


def test_pendigits_with_50_of_120_products(data_set):
    data = data_set("pendigits")
    clf = ShareBoostClassifier(50, pool="products").fit(data.X_train, data.y_train)
    assert 1 - clf.score(data.X_test, data.y_test) <= 0.034


def test_products_equal_their_explicit_matrix_on_pendigits(data_set):
    data = data_set("pendigits")
    i, j = np.triu_indices(16, 1)
    matrix = data.X_train[:, i].astype(np.float32) * data.X_train[:, j].astype(np.float32)
    settings = {"margin": 1.0, "refit_tol": 1e-3}
    explicit = ShareBoostClassifier(10, **settings).fit(matrix, data.y_train)
    implicit = ShareBoostClassifier(10, pool=Products(), **settings)
    implicit.fit(data.X_train, data.y_train)
    assert np.array_equal(implicit.selected_, explicit.selected_)
    assert np.allclose(implicit.path_.losses, explicit.path_.losses, rtol=1e-3)


@pytest.fixture
def some_mnist(data_set):
    """4,000 training and 2,000 test digits of MNIST."""
    data = data_set("mnist")
    return data._replace(
        X_train=data.X_train[:4000],
        y_train=data.y_train[:4000],
        X_test=data.X_test[:2000],
        y_test=data.y_test[:2000],
    )


def test_mnist_with_60_stumps(some_mnist):
    clf = ShareBoostClassifier(60, pool=Stumps()).fit(some_mnist.X_train, some_mnist.y_train)
    assert 1 - clf.score(some_mnist.X_test, some_mnist.y_test) <= 0.20
    exact = ShareBoostClassifier(60, pool=Stumps(max_bins=None))
    exact.fit(some_mnist.X_train, some_mnist.y_train)
    assert np.array_equal(exact.selected_, clf.selected_)  # a pixel has 256 values at most


def test_mnist_with_60_templates(some_mnist):
    pool = Templates(n_templates=100, n_patches=20_000)
    clf = ShareBoostClassifier(60, pool=pool).fit(some_mnist.X_train, some_mnist.y_train)
    assert 1 - clf.score(some_mnist.X_test, some_mnist.y_test) <= 0.04


@pytest.mark.slow
def test_mnist_with_30_pieces(some_mnist):
    pca = PCA(50, random_state=0).fit(some_mnist.X_train / np.float32(255))
    X_train, X_test = (
        pca.transform(X / np.float32(255)) for X in (some_mnist.X_train, some_mnist.X_test)
    )
    errors = {}
    for form in ("smooth", "paper"):
        pool = Pieces(n_centres=200, radii=20, form=form)
        clf = ShareBoostClassifier(30, pool=pool, alpha=2e-4).fit(X_train, some_mnist.y_train)
        errors[form] = 1 - clf.score(X_test, some_mnist.y_test)
    assert errors["smooth"] <= 0.08
    assert errors["smooth"] < errors["paper"]
