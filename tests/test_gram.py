import numpy as np
import pytest

from shareboost.gram import Gram

EPS = np.finfo(np.float64).eps


def grown(A, sizes, ridge):
    """The Gram of A's rows, given in steps of some rows, with a factor made at each step."""
    gram, stop = Gram(EPS), 0
    for size in sizes:
        start, stop = stop, stop + size
        gram.extend(A[start:stop] @ A[:stop].T)
        gram.factor(np.full(stop, ridge))
    return gram


@pytest.mark.parametrize("sizes", [[12], [1] * 12, [1, 5, 5, 1]])
def test_borders_give_what_the_whole_gives(sizes):
    A = np.random.default_rng(0).normal(size=(12, 40))
    gram = grown(A, sizes, 0.25)
    assert np.allclose(gram.matrix, A @ A.T)
    assert np.allclose(
        gram.factor(np.full(12, 0.25)), np.linalg.cholesky(A @ A.T + 0.25 * np.eye(12))
    )


def test_a_factor_is_made_anew_where_the_ridge_changed_much():
    A = np.random.default_rng(0).normal(size=(6, 40))
    gram = grown(A, [3, 3], 0.25)
    kept = gram.factor(np.full(6, 0.3))
    assert np.allclose(kept @ kept.T, A @ A.T + 0.25 * np.eye(6))
    anew = gram.factor(np.full(6, 60.0))
    assert np.allclose(anew @ anew.T, A @ A.T + 64.0 * np.eye(6))


def test_a_factor_does_not_depend_on_when_it_was_asked_for():
    A = np.random.default_rng(0).normal(size=(40, 90))
    often, once = grown(A, [1, 13, 13, 13], 0.25), Gram(EPS)
    for start, stop in [(0, 1), (1, 14), (14, 27), (27, 40)]:
        once.extend(A[start:stop] @ A[:stop].T)
    ridge = np.full(40, 0.25)
    assert np.array_equal(often.factor(ridge), once.factor(ridge))


def test_collinear_columns_have_a_factor():
    A = np.repeat(np.random.default_rng(0).normal(size=(1, 40)), 30, axis=0)
    A = (A * np.linspace(0.1, 1e3, 30)[:, None]).astype(np.float32)
    gram = Gram(float(np.finfo(np.float32).eps))
    for stop in range(1, 31):
        gram.extend((A[stop - 1 : stop] @ A[:stop].T).astype(np.float64))
        assert np.isfinite(gram.factor(np.zeros(stop))).all()
