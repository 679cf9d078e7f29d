"""The Gram matrix on a device, against that in NumPy and against its definition."""

import numpy as np
import pytest

from shareboost.backends import NUMPY

torch = pytest.importorskip("torch")

from shareboost.backends.torch import TorchBackend  # noqa: E402

EPS = float(np.finfo(np.float64).eps)


@pytest.fixture
def here(device):
    """A function that takes NumPy's numbers to the device."""
    return lambda array: torch.tensor(np.asarray(array), device=device)


def grown(A, sizes, ridge, here, rounding=EPS):
    """The Gram of A's rows, given in steps of some rows, with a factor made at each step."""
    gram, stop = TorchBackend(here(A).device).gram(rounding), 0
    for size in sizes:
        start, stop = stop, stop + size
        gram.extend(here(A[start:stop] @ A[:stop].T))
        gram.factor(np.full(stop, ridge))
    return gram


def dense(factor, n, here):
    return factor.times(here(np.eye(n))).cpu().numpy()


def some_rows(n, n_examples=200, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_examples))


@pytest.mark.parametrize("sizes", [[1] * 80, [1, 5, 40, 30, 4]], ids=["one by one", "blocks"])
def test_borders_give_what_the_whole_gives(sizes, here):
    A = some_rows(80)
    C = dense(grown(A, sizes, 0.25, here).factor(np.full(80, 0.25)), 80, here)
    assert np.allclose(C @ C.T, A @ A.T + 0.25 * np.eye(80))
    assert np.allclose(C, np.linalg.cholesky(A @ A.T + 0.25 * np.eye(80)))


@pytest.mark.parametrize("sizes", [[1] * 70, [1, 40, 40]], ids=["one by one", "blocks"])
def test_a_factor_multiplies_and_divides_as_in_numpy(sizes, here):
    n = sum(sizes)
    A, W = some_rows(n), some_rows(3, n, seed=1)
    factor = grown(A, sizes, 0.25, here).factor(np.full(n, 0.25))
    host = NUMPY.gram(EPS)
    host.extend(A @ A.T)
    truth = host.factor(np.full(n, 0.25))
    for step in ("times", "divide", "divide_transposed"):
        found = getattr(factor, step)(here(W)).cpu().numpy()
        assert np.allclose(found, getattr(truth, step)(W)), step


def test_multiplication_and_division_undo_each_other(here):
    factor = grown(some_rows(30), [1, 9, 20], 0.25, here).factor(np.full(30, 0.25))
    W = here(some_rows(3, 30, seed=1))
    C = here(dense(factor, 30, here))
    assert torch.allclose(factor.divide(factor.times(W)), W)
    assert torch.allclose(factor.times(factor.divide(W)), W)
    assert torch.allclose(factor.divide_transposed(W) @ C.T, W)


def test_a_factor_stays_what_it_was_when_columns_are_added(here):
    A = some_rows(6, 40)
    gram = grown(A[:3], [3], 0.25, here)
    factor = gram.factor(np.full(3, 0.25))
    before = dense(factor, 3, here)
    gram.extend(here(A[3:] @ A.T))
    gram.factor(np.full(6, 0.25))
    assert np.array_equal(dense(factor, 3, here), before)


def test_a_factor_is_made_anew_where_the_ridge_changed_much(here):
    A = some_rows(60, 90)
    gram = grown(A, [3, 37, 20], 0.25, here)
    kept = dense(gram.factor(np.full(60, 0.3)), 60, here)
    assert np.allclose(kept @ kept.T, A @ A.T + 0.25 * np.eye(60))
    anew = dense(gram.factor(np.full(60, 60.0)), 60, here)
    assert np.allclose(anew @ anew.T, A @ A.T + 64.0 * np.eye(60))


def test_a_factor_does_not_depend_on_when_it_was_asked_for(here):
    """To the last bit: a run that goes on from a checkpoint asks for all of it at once."""
    A = some_rows(100, 190)
    sizes = [1] * 20 + [13, 13, 13, 41]
    often, once, stop = grown(A, sizes, 0.25, here), TorchBackend(here(A).device).gram(EPS), 0
    for size in sizes:
        start, stop = stop, stop + size
        once.extend(here(A[start:stop] @ A[:stop].T))
    ridge = np.full(100, 0.25)
    assert np.array_equal(
        dense(often.factor(ridge), 100, here), dense(once.factor(ridge), 100, here)
    )


def test_a_ridge_may_differ_from_column_to_column(here):
    A, ridge = some_rows(5, 40), np.array([0.0, 1.0, 4.0, 0.25, 16.0])
    C = dense(grown(A, [5], 1.0, here).factor(ridge), 5, here)
    assert np.allclose(C @ C.T, A @ A.T + np.diag(ridge))


@pytest.mark.parametrize("ridge", [0.0, 0.25])
def test_collinear_columns_have_a_factor(ridge, here):
    A = np.repeat(some_rows(1, 40), 60, axis=0)
    A = (A * np.linspace(0.1, 1e3, 60)[:, None]).astype(np.float32)
    gram = TorchBackend(here(A).device).gram(float(np.finfo(np.float32).eps))
    for stop in range(1, 61):
        gram.extend(here((A[stop - 1 : stop] @ A[:stop].T).astype(np.float64)))
        factor = gram.factor(np.full(stop, ridge))
        C = dense(factor, stop, here)
        assert np.isfinite(C).all()
        assert np.isfinite(factor.divide(here(np.eye(stop))).cpu().numpy()).all()
        matrix = (A[:stop] @ A[:stop].T).astype(np.float64)
        assert np.allclose(C @ C.T, matrix, rtol=1e-2, atol=1.0)


def test_a_column_of_zeros_has_a_factor(here):
    A = some_rows(4, 40)
    A[2] = 0.0
    C = dense(grown(A, [1, 1, 1, 1], 0.0, here).factor(np.zeros(4)), 4, here)
    assert np.allclose(C @ C.T, A @ A.T)


def test_after_a_removal_all_is_as_if_the_atom_had_never_been_there(here):
    A = some_rows(70, 150)
    sizes = [1, 20, 9, 12, 5, 22, 1]
    edges = np.cumsum([0, *sizes])
    untouched = dense(grown(A, sizes, 0.25, here).factor(np.full(70, 0.25)), 70, here)
    for backend in (0, 3, 6):
        gram = grown(A, sizes, 0.25, here)
        kept = np.delete(np.arange(70), slice(edges[backend], edges[backend + 1]))
        before = gram.remove(backend)
        ridge = np.full(kept.size, 0.25)
        C = dense(gram.factor(ridge), kept.size, here)
        assert np.allclose(C @ C.T, A[kept] @ A[kept].T + 0.25 * np.eye(kept.size))
        fresh = grown(A[kept], np.delete(sizes, backend), 0.25, here)
        assert np.allclose(C, dense(fresh.factor(ridge), kept.size, here))
        assert np.array_equal(dense(before.factor(np.full(70, 0.25)), 70, here), untouched)


def test_what_was_removed_can_be_put_back_whatever_came_after(here):
    A, other = some_rows(8, 40), some_rows(9, 40, seed=2)
    gram = grown(A, [1, 3, 4], 0.25, here)
    before = gram.remove(1)
    kept = np.vstack([A[:1], A[4:]])
    gram.extend(here(other @ np.vstack([kept, other]).T))
    gram.factor(np.full(14, 0.25))
    C = dense(before.factor(np.full(8, 0.25)), 8, here)
    assert np.allclose(C @ C.T, A @ A.T + 0.25 * np.eye(8))


def test_the_border_is_that_of_the_last_atom(here):
    A = some_rows(6, 40)
    gram = grown(A, [1, 2, 3], 0.25, here)
    assert np.allclose(gram.border.cpu().numpy(), A[3:] @ A.T)
    gram.remove(1)
    assert np.allclose(gram.border.cpu().numpy(), A[3:] @ A[[0, 3, 4, 5]].T)
