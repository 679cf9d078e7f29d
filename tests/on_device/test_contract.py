"""What every pool's form on a device must answer by itself, against explicit columns."""

from itertools import pairwise

import numpy as np
import pytest
from every_pool import POOLS_TO_TEST, every_pool, some_digits
from naive_pools import explicit, naive_scales
from sklearn.base import clone

torch = pytest.importorskip("torch")

from shareboost.on_device import Device  # noqa: E402

blocks = pytest.mark.parametrize("edges", [[0, 120], [0, 1, 50, 119, 120]], ids=str)
types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@pytest.fixture(scope="module")
def data():
    return some_digits()


@pytest.fixture
def place(device):
    place = Device(torch.device(device))
    with place.settled():
        yield place


def fitted(place, name, X, weight=None, centred=True):
    """The form of the pool, and the rows it was fitted on as a tensor."""
    rows = place.rows(X)
    return place.form(clone(POOLS_TO_TEST[name])).fit(rows, weight, centred), rows


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


def scaled_columns(name, form, X, weight):
    """All explicit columns over their scales, (columns, n)."""
    atoms = explicit(truth_of(name, form), X, X, weight)
    assert len(atoms) == form.n_atoms_
    return np.vstack([columns / form.scales(i)[:, None] for i, columns in enumerate(atoms)])


def rounding(name, Z):
    """What each scaled column is wrong by at most in the sums: see the tests of the pools."""
    range_ = np.ptp(Z, axis=1, keepdims=True)
    return (0.0022 if "templates" in name else 2e-6) * range_ + 1e-5 * np.abs(Z) + 3e-7


def by_part(form, place, X, rows, edges, squares=False):
    """Yield every part with its statistic, summed over rows in blocks, each added to ``out``."""
    rows = place.asarray(rows)
    for part in form.parts(len(rows)):
        stats = None
        for a, b in pairwise(edges):
            block = form.encode(X, slice(a, b))
            found = form.stats(block, form.prepare(rows[:, a:b]), part, stats, squares)
            assert stats is None or found is stats
            stats = place.wide(found)
        yield part, stats


def all_correlations(form, place, X, R, edges):
    found = [form.correlations(stats, part) for part, stats in by_part(form, place, X, R, edges)]
    assert all(own.dtype == torch.float64 and own.device == X.device for own in found)
    return np.hstack([place.numpy(own) for own in found])


def all_moments(form, place, X, V, edges):
    found = [form.moments(s, part) for part, s in by_part(form, place, X, V, edges, True)]
    return tuple(
        np.hstack([place.numpy(own) for own in of_parts]) for of_parts in zip(*found, strict=True)
    )


def columns_of(form, atoms):
    """A mask of columns from one of atoms, or None for all."""
    widths = form.features(range(form.n_atoms_)).widths
    return np.repeat(np.ones(form.n_atoms_, dtype=bool) if atoms is None else atoms, widths)


@every_pool
@blocks
@types
@pytest.mark.parametrize("centred", [True, False])
def test_correlations_are_sums_over_explicit_columns(name, edges, dtype, centred, place, data):
    X, _, R, weight = data
    form, rows = fitted(place, name, X.astype(dtype), weight, centred)
    found = all_correlations(form, place, rows, R, edges)
    Z = scaled_columns(name, form, X, weight)
    assert found.shape == (10, len(Z))
    assert (np.abs(found - R @ Z.T) <= np.abs(R) @ rounding(name, Z).T).all()


@every_pool
@blocks
def test_moments_give_the_curvature_of_centred_columns(name, edges, place, data):
    X, _, _, weight = data
    form, rows = fitted(place, name, X, weight)
    V = weight * np.random.default_rng(1).uniform(0.01, 0.25, size=(10, 120))
    first, second = all_moments(form, place, rows, V, edges)
    mean = all_moments(form, place, rows, weight[None], edges)[0] / weight.sum()
    found = second - 2 * mean * first + mean**2 * V.sum(axis=1, keepdims=True)
    Z = scaled_columns(name, form, X, weight)
    about = Z - (Z @ weight / weight.sum())[:, None]
    wrong = rounding(name, Z)
    close = np.abs(found - V @ (about**2).T) <= V @ (wrong * (2 * np.abs(about) + wrong)).T
    assert found.shape == (10, len(Z))
    assert close[:, columns_of(form, form.choosable)].all()


@every_pool
def test_moments_are_about_zero_where_columns_are(name, place, data):
    X, _, _, weight = data
    form, rows = fitted(place, name, X, weight, centred=False)
    V = weight * np.random.default_rng(1).uniform(0.01, 0.25, size=(10, 120))
    found = all_moments(form, place, rows, V, [0, 50, 120])
    Z = scaled_columns(name, form, X, weight)
    wrong = 2.0 * rounding(name, Z)  # sums of float32 over a tile, of numbers of either sign
    choosable = columns_of(form, form.choosable)
    for sums, power, slope in zip(found, (1, 2), (1.0, 2 * np.abs(Z) + wrong), strict=True):
        close = np.abs(sums - V @ (Z**power).T) <= V @ (wrong * slope).T
        assert close[:, choosable].all()


@every_pool
@types
def test_columns_of_an_atom_are_its_explicit_columns(name, dtype, place, data):
    X, _, _, weight = data
    form, rows = fitted(place, name, X.astype(dtype), weight)
    truth = explicit(truth_of(name, form), X, X, weight)
    block = form.encode(rows, slice(30, 90))
    for atom in range(0, form.n_atoms_, max(1, form.n_atoms_ // 20)):
        columns = form.columns(block, atom)
        assert columns.device == rows.device
        assert columns.shape == (form.scales(atom).size, 60)
        assert np.allclose(place.numpy(columns), truth[atom][:, 30:90], rtol=1e-4, atol=1e-4)


@every_pool
@types
def test_chosen_atoms_have_the_columns_that_numpy_gives(name, dtype, place, data):
    X = data[0].astype(dtype)
    form, rows = fitted(place, name, X)
    features = form.features(range(0, form.n_atoms_, max(1, form.n_atoms_ // 20)))
    found, truth = place.columns(features, rows), features.columns(X)
    assert place.numpy(found).dtype == truth.dtype
    assert np.allclose(place.numpy(found), truth, rtol=1e-4, atol=1e-4)


@every_pool
@pytest.mark.parametrize("centred", [True, False])
def test_scales_are_what_their_definition_says(name, centred, place, data):
    X, _, _, weight = data
    form, _ = fitted(place, name, X, weight, centred)
    expected = naive_scales(truth_of(name, form), X, weight, centred)
    found = [form.scales(atom) for atom in range(form.n_atoms_)]
    for atom, (own, truth) in enumerate(zip(found, expected, strict=True)):
        assert type(own) is np.ndarray
        assert np.allclose(own, truth, rtol=1e-3), atom


@every_pool
def test_the_form_has_the_atoms_of_its_pool(name, place, data):
    X, _, _, weight = data
    form, _ = fitted(place, name, X, weight)
    pool = clone(POOLS_TO_TEST[name]).fit(X, weight)
    inputs = [f"x{j}" for j in range(64)]
    assert form.n_atoms_ == pool.n_atoms_
    assert form.dtype_ == pool.dtype_
    every = range(form.n_atoms_)
    assert form.features(every).atom_names(inputs) == pool.features(every).atom_names(inputs)
    for mine, theirs in ((form.choosable, pool.choosable), (form.divisors, pool.divisors)):
        assert (mine is None) == (theirs is None)
        assert mine is None or np.array_equal(mine, theirs)


@every_pool
def test_a_weight_of_a_row_is_that_many_rows(name, place, data):
    X = data[0]
    times = 1 + np.arange(120) % 3
    if "templates" in name or "pieces" in name or name == "union":
        pytest.skip("draws patches or centres among the rows that there are")
    weighted, _ = fitted(place, name, X, times.astype(float))
    repeated, _ = fitted(place, name, np.repeat(X, times, axis=0))
    assert weighted.n_atoms_ == repeated.n_atoms_
    for atom in range(0, weighted.n_atoms_, 7):
        assert np.allclose(weighted.scales(atom), repeated.scales(atom))


@every_pool
def test_parts_cover_every_atom_once(name, place, data, monkeypatch):
    form, _ = fitted(place, name, data[0])
    for module in ("stumps", "products", "pieces"):
        monkeypatch.setattr(f"shareboost.on_device.{module}.PART_BYTES", 1 << 16)
    parts = form.parts(10)
    assert parts[0].start == 0
    assert parts[-1].stop == form.n_atoms_
    assert all(a.stop == b.start for a, b in pairwise(parts))
    for part in parts:
        widths = [form.scales(atom).size for atom in range(part.start, part.stop)]
        assert form.starts(part).tolist() == np.cumsum([0, *widths[:-1]]).tolist()


@every_pool
def test_many_parts_give_what_few_give(name, place, data, monkeypatch):
    X, _, R, weight = data
    form, rows = fitted(place, name, X, weight)
    V = np.abs(R)
    few = all_correlations(form, place, rows, R, [0, 120])
    few_moments = all_moments(form, place, rows, V, [0, 120])
    for module in ("stumps", "products", "pieces"):
        monkeypatch.setattr(f"shareboost.on_device.{module}.PART_BYTES", 1 << 15)
    if name in ("stumps", "products", "pieces", "union"):
        assert len(form.parts(10)) > 1
    assert np.allclose(all_correlations(form, place, rows, R, [0, 120]), few, atol=1e-4)
    for many, own in zip(all_moments(form, place, rows, V, [0, 120]), few_moments, strict=True):
        assert np.allclose(many, own, rtol=1e-5, atol=1e-4)


@every_pool
def test_rows_of_x_stay_as_they_are(name, place, data):
    X, _, R, weight = data
    form, rows = fitted(place, name, X.copy(), weight)
    before = rows.clone()
    all_correlations(form, place, rows, R, [0, 120])
    all_moments(form, place, rows, R, [0, 120])
    form.columns(form.encode(rows, slice(0, 120)), 0).add_(0.0)
    assert torch.equal(rows, before)
