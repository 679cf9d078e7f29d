import naive
import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from shareboost.backends import numpy as host_module
from shareboost.losses import LogisticLoss
from shareboost.pools import Columns
from shareboost.rows import Rows


def make_rows(X, y, weight=None, scale="maxabs", intercept=True):
    weight = np.ones(len(y)) if weight is None else weight
    pool = Columns(scale).fit(X, weight)
    return Rows(X, y, weight, pool, int(y.max()) + 1, intercept)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(host_module, "BLOCK_ROWS", 40)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.coo_array], ids=str)
def test_evaluate_equals_the_naive_loss_and_gradient(problem, intercept, make, small_blocks):
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    with make_rows(make(X), y, weight, intercept=intercept) as rows:
        assert len(rows.shard.blocks) > 1
        rows.append(3)
        rows.append(0)
        W = np.random.default_rng(1).normal(size=(4, rows.n_columns))
        value, gradient = rows.evaluate(W, LogisticLoss())
    A = X[:, [3, 0]] / np.abs(X[:, [3, 0]]).max(axis=0)
    if intercept:
        A = np.hstack([np.ones((len(y), 1)), A - weight @ A / weight.sum()])
    S = A @ W.T
    assert value == pytest.approx(naive.average_loss(S, y, weight, 1.0) * weight.sum())
    assert np.allclose(gradient, (weight[:, None] * naive.residual(S, y, 1.0)).T @ A)


def test_totals_are_the_same_to_the_last_bit_for_any_number_of_threads(digits):
    X, y = digits
    X, y = np.tile(X, (6, 1)), np.tile(y, 6)
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads), make_rows(X, y) as rows:
            for atom in (20, 21, 36):
                rows.append(atom)
            W = np.random.default_rng(0).normal(size=(10, 4))
            found.append(rows.evaluate(W, LogisticLoss()))
    for value, gradient in found[1:]:
        assert value == found[0][0]
        assert np.array_equal(gradient, found[0][1])


def test_the_limit_on_blas_ends_with_the_rows(problem):
    from threadpoolctl import ThreadpoolController

    def limits():
        return [lib["num_threads"] for lib in ThreadpoolController().select(user_api="blas").info()]

    before = limits()
    with make_rows(*problem):
        assert set(limits()) <= {1}
    assert limits() == before


def test_fits_that_overlap_in_threads_share_the_limit(problem):
    from threadpoolctl import ThreadpoolController

    def limits():
        return [lib["num_threads"] for lib in ThreadpoolController().select(user_api="blas").info()]

    before = limits()
    first, second = make_rows(*problem), make_rows(*problem)
    first.__enter__()
    second.__enter__()
    first.__exit__()
    assert set(limits()) <= {1}
    second.__exit__()
    assert limits() == before


def test_appended_columns_are_scaled_and_centred_in_float32_too(problem):
    X, y = problem
    X = (X * 5 + 1000).astype(np.float32)
    with make_rows(X, y, scale="deviation") as rows:
        rows.append(2)
    column = np.concatenate([block.columns[1] for block in rows.shard.blocks])
    assert column.dtype == np.float32
    assert np.allclose(column.mean(), 0, atol=1e-6)
    assert np.allclose(column.std(), 1, atol=1e-3)


def test_float32_and_integer_rows_are_not_copied(problem):
    X, y = problem
    for dtype in (np.float32, np.float64, np.int32, np.uint8):
        data = np.round(X * 100).astype(dtype)
        with make_rows(data, y) as rows:
            assert all(np.shares_memory(block.data, data) for block in rows.shard.blocks)


@pytest.mark.parametrize("intercept", [True, False])
def test_prepared_residuals_correlate_as_with_centred_columns(problem, intercept, small_blocks):
    X, y = problem
    X = X + 5.0
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    with make_rows(X, y, weight, intercept=intercept) as rows:
        rows.evaluate(np.ones((4, rows.n_columns)), LogisticLoss())
        rows._prepare(False)
        found = np.hstack([block.prepared for block in rows.shard.blocks]) @ X
        residual = np.hstack([block.residual for block in rows.shard.blocks])
    if intercept:
        assert np.abs(residual.sum(axis=1)).max() > 1.0  # so that centring matters
        X = X - weight @ X / weight.sum()
    assert np.allclose(found, residual @ X)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_gram_matrix_grows_with_the_columns(problem, intercept, small_blocks):
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    with make_rows(X, y, weight, intercept=intercept) as rows:
        for atom in (3, 0, 7):
            rows.append(atom)
        A = np.hstack([block.columns[: rows.n_columns] for block in rows.shard.blocks])
    C = rows.gram.factor(np.zeros(rows.n_columns)).times(np.eye(rows.n_columns))
    assert np.allclose(C @ C.T, (A * weight) @ A.T / weight.sum())


def test_a_failed_encoding_gives_the_threads_back(problem):
    from threadpoolctl import ThreadpoolController

    X, y = problem
    before = [lib["num_threads"] for lib in ThreadpoolController().info()]
    rows = make_rows(X, y)
    rows.pool = None
    with pytest.raises(AttributeError), rows:
        pass
    assert [lib["num_threads"] for lib in ThreadpoolController().info()] == before


def state(rows):
    """All that a run sees of the chosen columns, to the last bit."""
    n = rows.n_columns
    columns = np.concatenate([block.columns[:n] for block in rows.shard.blocks], axis=1)
    factor = rows.gram.factor(np.full(n, 0.25)).times(np.eye(n))
    return columns, factor


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("place", [0, 2, 4])
def test_an_atom_is_removed_and_put_back_to_the_last_bit(problem, intercept, place, small_blocks):
    X, y = problem
    atoms = [3, 0, 7, 5, 9]
    with make_rows(X, y, intercept=intercept) as rows:
        for atom in atoms:
            rows.append(atom)
        before = state(rows)
        removed = rows.remove(place)
        assert list(rows.atoms) == [atom for atom in atoms if atom != atoms[place]]
        without = state(rows)
        rows.restore(removed)
        assert list(rows.atoms) == atoms
        for one, two in zip(before, state(rows), strict=True):
            assert np.array_equal(one, two)
    with make_rows(X, y, intercept=intercept) as rows:
        for atom in atoms:
            if atom != atoms[place]:
                rows.append(atom)
        for one, two in zip(without, state(rows), strict=True):
            assert np.allclose(one, two)


def test_the_curvatures_add_up_to_the_diagonal_of_the_hessian(problem, small_blocks):
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    with make_rows(X, y, weight) as rows:
        W = np.random.default_rng(1).normal(size=(4, 1))
        rows.evaluate(W, LogisticLoss())
        sums = rows._prepare(True)
    rho = naive.residual(np.tile(W.T, (len(y), 1)), y, 1.0) + np.eye(4)[y]
    assert np.allclose(sums, weight @ (rho * (1 - rho)))


def test_a_twin_shares_the_encoding_and_nothing_else(problem, small_blocks):
    X, y = problem
    with make_rows(X, y) as rows:
        rows.append(5)
        W = np.random.default_rng(1).normal(size=(4, 2))
        before = rows.evaluate(W, LogisticLoss())
        twin = rows.fork()
        twin.append(7)
        twin.evaluate(np.ones((4, 2)), LogisticLoss())
        assert rows.atoms == (5,)
        for one, two in zip(rows.shard.blocks, twin.shard.blocks, strict=True):
            assert two.data is one.data
            assert two.weight is one.weight
            assert not np.shares_memory(one.columns, two.columns)
            assert not np.shares_memory(one.residual, two.residual)
        after = rows.evaluate(W, LogisticLoss())
    assert before[0] == after[0]
    assert np.array_equal(before[1], after[1])


@pytest.mark.parametrize("loss", [LogisticLoss(), LogisticLoss(0.0)])
def test_a_point_known_already_is_found_as_if_it_were_not(problem, small_blocks, loss):
    """To the last bit, whatever was evaluated before, with columns of weight zero or without."""
    X, y = problem
    rng = np.random.default_rng(0)
    with make_rows(X, y) as rows, make_rows(X, y) as fresh:
        for atom in (3, 0, 2):
            rows.append(atom)
            fresh.append(atom)
        W = rng.normal(size=(4, rows.n_columns))
        rows.evaluate(W, loss)
        for atom in (1, 4):
            rows.append(atom)
            fresh.append(atom)
        for width in (6, 5, 4):
            padded = np.pad(W, ((0, 0), (0, width - 4)))
            value, gradient = rows.evaluate(padded, loss)
            fresh.evaluate(rng.normal(size=(4, 6)), loss)  # forget
            again, same = fresh.evaluate(padded, loss)
            assert value == again
            assert np.array_equal(gradient, same)
            for one, two in zip(rows.shard.blocks, fresh.shard.blocks, strict=True):
                assert np.array_equal(one.residual, two.residual)


def test_what_changes_the_columns_or_the_residuals_is_evaluated_anew(problem, small_blocks):
    X, y = problem
    loss = LogisticLoss()
    with make_rows(X, y) as rows:
        for atom in (3, 0):
            rows.append(atom)
        W = np.random.default_rng(0).normal(size=(4, 3))
        value, gradient = rows.evaluate(W, loss)
        gradient[:] = 0.0  # the caller's own
        assert rows.evaluate(W, loss)[1].any()
        removed = rows.remove(0)
        assert rows.evaluate(W[:, :2], loss)[0] != value
        rows.restore(removed)
        assert rows.evaluate(W, loss)[0] == value
        assert rows.evaluate(W, LogisticLoss(0.5))[0] != value
        rows.reset((1, 2))
        assert rows.evaluate(W, loss)[0] != value


def test_trailing_zero_weights_of_nothing_at_all(problem):
    X, y = problem
    with make_rows(X, y, intercept=False) as rows:
        rows.append(3)
        value, gradient = rows.evaluate(np.zeros((4, 1)), LogisticLoss(0.0))
    assert value == pytest.approx(len(y) * np.log(4))
    assert gradient.any()


def test_blocks_hold_fewer_rows_where_there_are_many_classes():
    edges = host_module.NUMPY.edges
    assert len(edges(10_000, 10)) - 1 == 3
    for n_classes in (300, 1000, 5000):
        sizes = np.diff(edges(10_000, n_classes))
        assert sizes.sum() == 10_000
        assert 8 * n_classes * sizes.max() <= host_module.BLOCK_BYTES
    assert np.diff(edges(10_000, 10**6)).max() <= host_module.SMALLEST_BLOCK
