"""Forms of pools that were fitted in NumPy: their statistics add to those of the pools."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from every_pool import KINDS, every_pool_with, fitted, some_digits
from sklearn.base import clone

torch = pytest.importorskip("torch")

from shareboost.arrays import to_float64  # noqa: E402
from shareboost.backends import NUMPY  # noqa: E402
from shareboost.backends.torch import TorchBackend  # noqa: E402
from shareboost.losses import LogisticLoss  # noqa: E402
from shareboost.pools import Columns, Groups, Hinges, Stumps, Union  # noqa: E402
from shareboost.rows import Rows  # noqa: E402


@pytest.fixture(scope="module")
def data():
    return some_digits()


@pytest.fixture
def backend(device):
    backend = TorchBackend(torch.device(device))
    with backend.deterministic():
        yield backend


def statistic(backend, form, X, rows, part, squares):
    """That of one block in NumPy, by the form, for a part of the plain pool."""
    block = form.encode(X, slice(0, X.shape[0]))
    found = form.stats(block, form.prepare(backend.asarray(rows)), part, None, squares)
    return backend.numpy(to_float64(found))


def scored(pool, stats, part, squares):
    """What the plain pool makes of a statistic: it may write to it."""
    return pool.moments(stats.copy(), part) if squares else (pool.correlations(stats.copy(), part),)


def assert_alike(found, truth):
    assert type(found) is np.ndarray
    assert found.shape == truth.shape
    assert np.allclose(found, truth, rtol=0.0, atol=1e-4 * np.abs(truth).max())


@every_pool_with(dtype=["f4", "f8"], centred=[True, False])
def test_a_form_computes_what_its_pool_computes(name, dtype, centred, backend, data):
    X, _, R, weight = data
    X = X.astype(dtype)
    pool = fitted(name, X, weight, centred)
    members = [pool, *getattr(pool, "pools_", ())]
    before = [dict(vars(own)) for own in members]
    if isinstance(pool, Hinges):  # on a device they learn anew, and their columns are written out
        with pytest.raises(ValueError, match="with what it has learned in NumPy"):
            backend.form(pool)
        return
    form, there = backend.form(pool), backend.rows(X)
    for part, squares in product(pool.parts(10), (False, True)):
        rows = np.abs(R) if squares else R
        truth = scored(pool, statistic(NUMPY, pool, X, rows, part, squares), part, squares)
        mine = statistic(NUMPY, pool, X[:50], rows[:, :50], part, squares)
        theirs = statistic(backend, form, backend.rows(X[50:]), rows[:, 50:], part, squares)
        assert mine.dtype == theirs.dtype == np.float64
        assert mine.shape == theirs.shape
        for found, own in zip(scored(pool, mine + theirs, part, squares), truth, strict=True):
            assert_alike(found, own)

        stats = None
        for some in (slice(0, 50), slice(50, 120)):
            prepared = form.prepare(backend.asarray(rows[:, some]))
            stats = form.stats(form.encode(there, some), prepared, part, stats, squares)
        assert_alike(
            backend.numpy(to_float64(stats)),
            statistic(backend, form, there, rows, part, squares),
        )
        found = form.moments(stats, part) if squares else (form.correlations(stats, part),)
        for own, expected in zip(found, truth, strict=True):
            assert_alike(backend.numpy(own), expected)

    assert (form.n_atoms_, form.dtype_) == (pool.n_atoms_, pool.dtype_)
    mine, theirs = pool.encode(X, slice(30, 90)), form.encode(there, slice(30, 90))
    for atom in range(0, pool.n_atoms_, max(1, pool.n_atoms_ // 20)):
        found, truth = backend.numpy(form.columns(theirs, atom)), pool.columns(mine, atom)
        assert np.allclose(found, truth, rtol=1e-4, atol=1e-4)
        assert np.array_equal(form.scales(atom), pool.scales(atom))

    form = form.widen()
    form.encode(there, slice(0, 120))
    assert form.dtype_ == np.float64
    for own, known in zip(members, before, strict=True):  # the pool stays as it was
        assert vars(own).keys() == known.keys()
        assert all(vars(own)[key] is value for key, value in known.items())


@pytest.mark.parametrize(
    ("pool", "squares"),
    [(Columns(), True), (Columns("maxabs"), False), (Groups(np.arange(64) % 7), True)],
    ids=["columns, squares", "maxabs", "groups, squares"],
)
def test_compressed_rows_give_what_a_sparse_matrix_gives(
    pool, squares, backend, data, torch_has_warned
):
    X, _, R, weight = data
    X = X * (X > 8)
    X[:, 8:24] = 0.0  # whole parts without an entry
    X = sp.csr_array(X)
    pool = clone(pool).fit(X, weight)
    form, rows = backend.form(pool), np.abs(R) if squares else R
    if type(pool) is Columns:
        assert len(pool.parts(10)) == 8
    for part in pool.parts(10):
        found = statistic(backend, form, backend.rows(X), rows, part, squares)
        assert_alike(found, statistic(NUMPY, pool, X, rows, part, squares))
    mine, theirs = pool.encode(X, slice(0, 120)), form.encode(backend.rows(X), slice(0, 120))
    for atom in range(pool.n_atoms_):
        found = backend.numpy(form.columns(theirs, atom))
        assert np.allclose(found, pool.columns(mine, atom))


@pytest.mark.parametrize(
    ("squares", "nan"),
    [(False, True), (True, False), (True, True)],
    ids=["nan", "sparse, squares", "nan, squares"],
)
def test_stumps_of_codes_that_are_mostly_left_out_are_counted(squares, nan, backend, data):
    X, _, R, weight = data
    X = X * (X > 12)
    X[:, 5] = 0.0  # a column without stumps, between others
    if nan:
        X[::7, 3] = np.nan
    pool = Stumps().fit(X if nan else sp.csr_array(X), weight)
    assert pool.stored_
    form = backend.form(pool)
    rows = np.abs(R) if squares else R
    for part in pool.parts(10):
        mine = statistic(NUMPY, pool, X[:60], rows[:, :60], part, squares)
        theirs = statistic(backend, form, backend.rows(X[60:]), rows[:, 60:], part, squares)
        truth = statistic(NUMPY, pool, X, rows, part, squares)
        for found, own in zip(
            scored(pool, mine + theirs, part, squares),
            scored(pool, truth, part, squares),
            strict=True,
        ):
            assert_alike(found, own)


@pytest.mark.parametrize(("name", "squares"), [("templates", True), ("templates, sizes", False)])
def test_codes_that_do_not_fit_are_made_for_a_part_alone(name, squares, backend, data, monkeypatch):
    X, _, R, weight = data
    monkeypatch.setattr("shareboost.pools.templates.PART_ATOMS", 7)
    pool = fitted(name, X, weight)
    form, rows = backend.form(pool), np.abs(R) if squares else R
    kept = [statistic(backend, form, backend.rows(X), rows, p, squares) for p in pool.parts(10)]
    monkeypatch.setattr(backend.memory, "fits", lambda *_: False)
    for part, truth in zip(pool.parts(10), kept, strict=True):
        assert truth.shape[2] == part.stop - part.start + 1
        assert_alike(statistic(backend, form, backend.rows(X), rows, part, squares), truth)


def test_unions_of_unions_have_the_forms_of_all_members(backend, data):
    X, _, R, weight = data
    inner = Union([Stumps(), Columns()], costs=[1.0, 2.0])
    pool = Union([Columns("maxabs"), inner]).fit(X, weight)
    form = backend.form(pool)
    assert np.array_equal(form.divisors_, pool.divisors_)
    for part in pool.parts(10):
        found = statistic(backend, form, backend.rows(X), R, part, False)
        assert_alike(found, statistic(NUMPY, pool, X, R, part, False))


def test_numpy_has_the_pool_itself(data):
    pool = fitted("stumps", data[0])
    assert NUMPY.form(pool) is pool


def test_a_pool_of_another_kind_is_refused(backend):
    class Own(Columns):
        pass

    with pytest.raises(ValueError, match="The pool Own cannot be computed on"):
        backend.form(Own().fit(np.eye(3)))


@pytest.mark.parametrize(
    ("name", "intercept"),
    [(name, number % 2 == 0) for number, name in enumerate(KINDS) if name != "hinges"],
)
def test_rows_of_a_device_evaluate_and_prepare_as_those_in_numpy(name, intercept, backend, data):
    X, y, _, weight = data
    pool = fitted(name, X, weight, centred=intercept)
    loss = LogisticLoss()
    with (
        Rows(X, y, weight, pool, 10, intercept) as mine,
        Rows(backend.rows(X), y, weight, backend.form(pool), 10, intercept, backend) as theirs,
    ):
        for atom in (0, pool.n_atoms_ // 2, pool.n_atoms_ - 1):
            mine.append(atom)
            theirs.append(atom)
        W = 0.1 * np.random.default_rng(2).normal(size=(10, mine.n_columns))
        value, gradient = mine.evaluate(W, loss)
        found, its_gradient = theirs.evaluate(W, loss)
        assert float(found) == pytest.approx(float(value), rel=1e-4)
        assert_alike(backend.numpy(its_gradient), gradient)
        sums, its_sums = mine._prepare(True), theirs._prepare(True)
        assert_alike(backend.numpy(its_sums), sums)
        (block,), (its_block,) = mine.shard.blocks, theirs.shard.blocks
        assert_alike(backend.numpy(its_block.residual), block.residual)
        for part in pool.parts(10):
            for squares, prepared in ((False, "prepared"), (True, "curvature")):
                truth = pool.stats(block.data, getattr(block, prepared), part, None, squares)
                own = getattr(its_block, prepared)
                stats = theirs.pool.stats(its_block.data, own, part, None, squares)
                here = backend.numpy(to_float64(stats))
                for left, right in zip(
                    scored(pool, here, part, squares),
                    scored(pool, truth, part, squares),
                    strict=True,
                ):
                    assert_alike(left, right)
