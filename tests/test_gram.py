import numpy as np
import pytest

from shareboost.backends import NUMPY
from shareboost.gram import PANEL_COLUMNS

EPS = np.finfo(np.float64).eps


def grown(A, sizes, ridge):
    """The Gram of A's rows, given in steps of some rows, with a factor made at each step."""
    gram, stop = NUMPY.gram(EPS), 0
    for size in sizes:
        start, stop = stop, stop + size
        gram.extend(A[start:stop] @ A[:stop].T)
        gram.factor(np.full(stop, ridge))
    return gram


def dense(factor, n):
    return factor.times(np.eye(n))


@pytest.mark.parametrize("sizes", [[80], [1] * 80, [1, 5, 40, 30, 4], [1, 31, 31, 17]])
def test_borders_give_what_the_whole_gives(sizes):
    A = np.random.default_rng(0).normal(size=(80, 200))
    C = dense(grown(A, sizes, 0.25).factor(np.full(80, 0.25)), 80)
    assert np.allclose(C, np.linalg.cholesky(A @ A.T + 0.25 * np.eye(80)))


@pytest.mark.parametrize("sizes", [[1, 5], [1] * 70, [1, 40, 40]])
def test_a_factor_multiplies_and_divides(sizes):
    n = sum(sizes)
    A, W = (
        np.random.default_rng(0).normal(size=(n, 200)),
        np.random.default_rng(1).normal(size=(3, n)),
    )
    factor = grown(A, sizes, 0.25).factor(np.full(n, 0.25))
    C = dense(factor, n)
    assert np.allclose(factor.times(W), W @ C)
    assert np.allclose(factor.divide(W) @ C, W)
    assert np.allclose(factor.divide_transposed(W) @ C.T, W)


def test_a_factor_stays_what_it_was_when_columns_are_added():
    A = np.random.default_rng(0).normal(size=(6, 40))
    gram = grown(A[:3], [3], 0.25)
    factor = gram.factor(np.full(3, 0.25))
    before = dense(factor, 3)
    gram.extend(A[3:] @ A.T)
    gram.factor(np.full(6, 0.25))
    assert np.array_equal(dense(factor, 3), before)


def test_a_factor_is_made_anew_where_the_ridge_changed_much():
    A = np.random.default_rng(0).normal(size=(60, 90))
    gram = grown(A, [3, 37, 20], 0.25)
    kept = dense(gram.factor(np.full(60, 0.3)), 60)
    assert np.allclose(kept @ kept.T, A @ A.T + 0.25 * np.eye(60))
    anew = dense(gram.factor(np.full(60, 60.0)), 60)
    assert np.allclose(anew @ anew.T, A @ A.T + 64.0 * np.eye(60))


def test_a_factor_does_not_depend_on_when_it_was_asked_for():
    A = np.random.default_rng(0).normal(size=(100, 190))
    sizes = [1] * 20 + [13, 13, 13, 41]
    often, once, stop = grown(A, sizes, 0.25), NUMPY.gram(EPS), 0
    for size in sizes:
        start, stop = stop, stop + size
        once.extend(A[start:stop] @ A[:stop].T)
    ridge = np.full(100, 0.25)
    assert np.array_equal(dense(often.factor(ridge), 100), dense(once.factor(ridge), 100))


def test_collinear_columns_have_a_factor():
    A = np.repeat(np.random.default_rng(0).normal(size=(1, 40)), 60, axis=0)
    A = (A * np.linspace(0.1, 1e3, 60)[:, None]).astype(np.float32)
    gram = NUMPY.gram(float(np.finfo(np.float32).eps))
    for stop in range(1, 61):
        gram.extend((A[stop - 1 : stop] @ A[:stop].T).astype(np.float64))
        C = dense(gram.factor(np.zeros(stop)), stop)
        assert np.allclose(C @ C.T, A[:stop].astype(np.float64) @ A[:stop].T, rtol=1e-3)


def test_products_that_rounding_made_indefinite_have_a_factor_near_them():
    """Rounding to few digits gives a matrix with a negative eigenvalue, hence no exact factor."""
    A = np.random.default_rng(0).normal(size=(2, 12))
    A = np.array([[1, 0], [0, 1], [1, 1], [1, -1], [2, 1]]) @ A
    rounded = np.round(A @ A.T, 2)
    assert np.linalg.eigvalsh(rounded)[0] < -1e-4
    gram = NUMPY.gram(EPS)
    gram.extend(rounded)
    C = dense(gram.factor(np.zeros(5)), 5)
    assert np.abs(C @ C.T - rounded).max() < 0.02 * np.abs(rounded).max()


def test_how_far_collinear_columns_were_kept_apart_is_forgotten_with_them():
    gram = NUMPY.gram(EPS)
    gram.extend(np.diag([1.0, 2.0]))
    gram.extend(np.array([[1.0, 0.0, 0.9]]))  # no product of real columns: 0.9 is below 1.0
    gram.factor(np.zeros(3))
    gram.remove(1)
    C = dense(gram.factor(np.zeros(2)), 2)
    assert np.allclose(C @ C.T, np.diag([1.0, 2.0]), rtol=1e-12)


def test_a_column_of_zeros_has_a_factor():
    gram = NUMPY.gram(EPS)
    gram.extend(np.array([[4.0, 0.0], [0.0, 0.0]]))
    C = dense(gram.factor(np.zeros(2)), 2)
    assert np.allclose(C @ C.T, [[4.0, 0.0], [0.0, 0.0]])
    assert np.isfinite(gram.factor(np.zeros(2)).divide(np.eye(2))).all()


@pytest.mark.parametrize("sizes", [[1] * 100, [5] * 20, [1, 40, 3, 3, 30, 23]])
def test_panels_have_whole_atoms_and_no_more_than_make_them_full(sizes):
    """So that an atom more touches a block of constant size, and many share one BLAS call."""
    factor = grown(np.random.default_rng(0).normal(size=(100, 120)), sizes, 0.25).factor(
        np.full(100, 0.25)
    )
    edges, stops = np.cumsum(sizes).tolist(), [panel.stop for panel in factor.panels]
    assert stops[-1] == 100
    for panel in factor.panels:
        before_last = max([0, *(edge for edge in edges if edge < panel.stop)])
        assert panel.stop in edges
        assert before_last - panel.start < PANEL_COLUMNS
        assert panel.stop - panel.start >= PANEL_COLUMNS or panel.stop == 100


@pytest.mark.parametrize("place", [0, 3, 6])
def test_after_a_removal_all_is_as_if_the_atom_had_never_been_there(place):
    A = np.random.default_rng(0).normal(size=(70, 150))
    sizes = [1, 20, 9, 12, 5, 22, 1]
    gram = grown(A, sizes, 0.25)
    edges = np.cumsum([0, *sizes])
    kept = np.delete(np.arange(70), slice(edges[place], edges[place + 1]))
    before = gram.remove(place)
    ridge = np.full(kept.size, 0.25)
    C = dense(gram.factor(ridge), kept.size)
    assert np.allclose(C @ C.T, A[kept] @ A[kept].T + 0.25 * np.eye(kept.size))
    fresh = grown(A[kept], np.delete(sizes, place), 0.25)
    assert np.allclose(C, dense(fresh.factor(ridge), kept.size))
    whole = dense(before.factor(np.full(70, 0.25)), 70)
    assert np.array_equal(whole, dense(grown(A, sizes, 0.25).factor(np.full(70, 0.25)), 70))


@pytest.mark.parametrize("place", [0, 3, 6])
def test_after_a_swap_of_atoms_of_one_width_the_factor_is_that_of_the_new_columns(place):
    A = np.random.default_rng(0).normal(size=(80, 150))
    gram = grown(A[:70], [10] * 7, 0.25)
    swapped = np.delete(A, slice(10 * place, 10 * place + 10), axis=0)
    gram.remove(place)
    gram.extend(swapped[60:] @ swapped.T)
    assert np.array_equal(gram.border, swapped[60:] @ swapped.T)
    C = dense(gram.factor(np.full(70, 0.25)), 70)
    assert np.allclose(C @ C.T, swapped @ swapped.T + 0.25 * np.eye(70))
