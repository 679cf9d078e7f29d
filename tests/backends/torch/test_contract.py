"""What every pool's form on a device must answer by itself, against explicit columns."""

from itertools import pairwise

import numpy as np
import pytest
from every_pool import (
    POOLS_TO_TEST,
    columns_of,
    every_kind,
    every_pool_with,
    rounding,
    scaled_columns,
    some_digits,
)
from naive_pools import explicit, naive_scales
from pairs import covering
from sklearn.base import clone

torch = pytest.importorskip("torch")

from shareboost.arrays import to_float64  # noqa: E402
from shareboost.backends.torch import TorchBackend  # noqa: E402


@pytest.fixture(scope="module")
def data():
    return some_digits()


@pytest.fixture
def backend(device):
    backend = TorchBackend(torch.device(device))
    with backend.deterministic():
        yield backend


def fitted(backend, name, X, weight=None, centred=True):
    """The form of the pool, and the rows it was fitted on as a tensor."""
    rows = backend.rows(X)
    return backend.form(clone(POOLS_TO_TEST[name])).fit(rows, weight, centred), rows


def truth_of(name, form):
    """The pool of which the form is one, with what the form learned of data."""
    pool = clone(POOLS_TO_TEST[name])
    for attribute, value in vars(form).items():
        if attribute.endswith("_"):
            setattr(pool, attribute, value)
    if hasattr(pool, "pools"):
        named = [own if isinstance(own, tuple) else ("", own) for own in pool.pools]
        pool.pools_ = []
        for (_, own), learned in zip(named, form.pools_, strict=True):
            plain = clone(own)
            for attribute, value in vars(learned).items():
                if attribute.endswith("_"):
                    setattr(plain, attribute, value)
            pool.pools_.append(plain)
    return pool


def by_part(form, backend, X, rows, edges, squares=False):
    """Yield every part with its statistic, summed over rows in blocks, each added to ``out``."""
    rows = backend.asarray(rows)
    for part in form.parts(len(rows)):
        stats = None
        for a, b in pairwise(edges):
            block = form.encode(X, slice(a, b))
            found = form.stats(block, form.prepare(rows[:, a:b]), part, stats, squares)
            assert stats is None or found is stats
            stats = to_float64(found)
        yield part, stats


def all_correlations(form, backend, X, R, edges):
    found = [form.correlations(stats, part) for part, stats in by_part(form, backend, X, R, edges)]
    assert all(own.dtype == torch.float64 and own.device == X.device for own in found)
    return np.hstack([backend.numpy(own) for own in found])


def all_moments(form, backend, X, V, edges):
    found = [form.moments(s, part) for part, s in by_part(form, backend, X, V, edges, True)]
    return tuple(
        np.hstack([backend.numpy(own) for own in of_parts]) for of_parts in zip(*found, strict=True)
    )


@covering(
    name=list(POOLS_TO_TEST),
    dtype=["f4", "f8"],
    edges=[[0, 120], [0, 1, 50, 119, 120]],
    centred={"centred": True, "about zero": False},
)
def test_statistics_are_sums_over_explicit_columns(name, dtype, edges, centred, backend, data):
    X, _, R, weight = data
    form, rows = fitted(backend, name, X.astype(dtype), weight, centred)
    before, pool = rows.clone(), truth_of(name, form)
    scales = [form.scales(atom) for atom in range(form.n_atoms_)]
    for atom, truth in enumerate(naive_scales(pool, X, weight, centred)):
        assert type(scales[atom]) is np.ndarray
        assert np.allclose(scales[atom], truth, rtol=1e-3), atom

    Z = scaled_columns(pool, X, weight, scales, centred)
    wrong = rounding(name, Z)
    found = all_correlations(form, backend, rows, R, edges)
    assert found.shape == (10, len(Z))
    assert (np.abs(found - R @ Z.T) <= np.abs(R) @ wrong.T).all()

    V = weight * np.random.default_rng(1).uniform(0.01, 0.25, size=(10, 120))
    first, second = all_moments(form, backend, rows, V, edges)
    choosable = columns_of(form, form.usable_)
    if centred:
        mean = all_moments(form, backend, rows, weight[None], edges)[0] / weight.sum()
        second += mean**2 * V.sum(axis=1, keepdims=True) - 2 * mean * first
        Z = Z - (Z @ weight / weight.sum())[:, None]
    else:
        wrong = 2.0 * wrong  # sums of float32 over a tile, of numbers of either sign
        assert (np.abs(first - V @ Z.T) <= V @ wrong.T)[:, choosable].all()
    off = np.abs(second - V @ (Z**2).T) - V @ (wrong * (2 * np.abs(Z) + wrong)).T
    assert off[:, choosable].max() <= 0
    assert torch.equal(rows, before)


@every_pool_with(dtype=["f4", "f8"])
def test_a_form_has_the_atoms_of_its_pool_with_their_explicit_columns(name, dtype, backend, data):
    X, _, _, weight = data
    form, rows = fitted(backend, name, X.astype(dtype), weight)
    pool = clone(POOLS_TO_TEST[name]).fit(X.astype(dtype), weight)
    inputs = [f"x{j}" for j in range(64)]
    assert form.n_atoms_ == pool.n_atoms_
    assert form.dtype_ == pool.dtype_
    every = range(form.n_atoms_)
    assert form.features(every).atom_names(inputs) == pool.features(every).atom_names(inputs)
    for mine, theirs in ((form.usable_, pool.usable_), (form.divisors_, pool.divisors_)):
        assert (mine is None) == (theirs is None)
        assert mine is None or np.array_equal(mine, theirs)

    truth = explicit(truth_of(name, form), X, X, weight)
    block = form.encode(rows, slice(30, 90))
    some = range(0, form.n_atoms_, max(1, form.n_atoms_ // 20))
    for atom in some:
        columns = form.columns(block, atom)
        assert columns.device == rows.device
        assert columns.shape == (form.scales(atom).size, 60)
        assert np.allclose(backend.numpy(columns), truth[atom][:, 30:90], rtol=1e-4, atol=1e-4)
    features = form.features(some)
    found, truth = backend.columns(features, rows), features.columns(X.astype(dtype))
    assert backend.numpy(found).dtype == truth.dtype
    assert np.allclose(backend.numpy(found), truth, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["columns", "stumps", "products"])
def test_a_weight_of_a_row_is_that_many_rows(name, backend, data):
    """For the pools that draw no patches or centres among the rows that there are."""
    X = data[0]
    times = 1 + np.arange(120) % 3
    weighted, _ = fitted(backend, name, X, times.astype(float))
    repeated, _ = fitted(backend, name, np.repeat(X, times, axis=0))
    assert weighted.n_atoms_ == repeated.n_atoms_
    for atom in range(0, weighted.n_atoms_, 7):
        assert np.allclose(weighted.scales(atom), repeated.scales(atom))


@every_kind
def test_many_parts_cover_every_atom_once_and_give_what_few_give(name, backend, data, monkeypatch):
    X, _, R, weight = data
    form, rows = fitted(backend, name, X, weight)
    V = np.abs(R)
    few = all_correlations(form, backend, rows, R, [0, 120])
    few_moments = all_moments(form, backend, rows, V, [0, 120])
    for module in ("columns", "pieces", "stumps"):
        monkeypatch.setattr(f"shareboost.backends.torch.{module}.PART_BYTES", 1 << 15)
    parts = form.parts(10)
    if name in ("stumps", "products", "pieces", "union"):
        assert len(parts) > 1
    assert parts[0].start == 0
    assert parts[-1].stop == form.n_atoms_
    assert all(a.stop == b.start for a, b in pairwise(parts))
    for part in parts:
        widths = [form.scales(atom).size for atom in range(part.start, part.stop)]
        assert form.starts(part).tolist() == np.cumsum([0, *widths[:-1]]).tolist()
    assert np.allclose(all_correlations(form, backend, rows, R, [0, 120]), few, atol=1e-4)
    for many, own in zip(all_moments(form, backend, rows, V, [0, 120]), few_moments, strict=True):
        assert np.allclose(many, own, rtol=1e-5, atol=1e-4)
