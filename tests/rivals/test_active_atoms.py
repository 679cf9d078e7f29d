"""Minima over all atoms of a pool, whatever is held, left out, barred or rounded."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_problem
from naive_mixed_norm import violation
from pairs import covering

from shareboost.losses import LogisticLoss
from shareboost.pools import Columns, Groups, Products, Templates, Union
from shareboost.rivals import MixedNormClassifier, active_atoms
from shareboost.rivals.active_atoms import ActiveAtoms
from shareboost.rivals.proximal import NORMS
from shareboost.rows import Rows

both_norms = pytest.mark.parametrize("norm", sorted(NORMS))


def minima(pool, X, y, norm, shares, intercept=True, weight=None):
    """Return the alphas, in shares of the first, and the minima for them."""
    weight = np.ones(len(y)) if weight is None else weight
    pool = pool.fit(X, weight, intercept).widen()
    with Rows(X, y, weight, pool, y.max() + 1, intercept) as rows:
        problem = ActiveAtoms(rows, LogisticLoss(), NORMS[norm], 1e-6, 10**5)
        found = [problem.without_atoms()]
        for share in shares:
            found.append(problem.at(share * found[0].alpha, found[-1]))
    return found


def worst(pool, X, y, norm, found, intercept=True):
    """The largest violation of any minimum, by the definition, over all columns written out."""
    atoms = np.arange(pool.n_atoms_)
    data = pool.encode(X.tocsr() if sp.issparse(X) else X, slice(0, len(y)))
    columns = [np.asarray(pool.columns(data, a), dtype=np.float64) for a in atoms]
    groups = np.repeat(atoms, [len(own) for own in columns])
    Z = np.vstack(columns).T / np.concatenate([pool.scales(a) for a in atoms])
    if intercept:
        Z = Z - Z.mean(axis=0)
    if pool.usable_ is not None:
        Z[:, ~pool.usable_[groups]] = 0.0
    missed = []
    for each in found:
        own = np.concatenate([np.empty(0, int), *(np.flatnonzero(groups == a) for a in each.atoms)])
        W, b = np.zeros((y.max() + 1, Z.shape[1])), 0.0
        W[:, own] = each.weights[int(intercept) :].T
        if intercept:
            b = each.weights[0]
        arguments = (Z, y, np.ones(len(y)), W, b, norm, each.alpha)
        missed.append(violation(*arguments, groups=groups, intercept=intercept))
    return max(missed)


@covering(norm=sorted(NORMS), shares=[[0.05], [0.9, 0.8, 0.7], [0.1, 0.5], [1.5, 0.2]])
def test_minima_do_not_depend_on_the_alphas_before(norm, shares):
    X, y = random_problem(0, n=100, d=30, k=4)
    pool = Columns()
    found = minima(pool, X, y, norm, shares)
    assert worst(pool, X, y, norm, found) <= 1.01e-6
    alone = minima(pool, X, y, norm, shares[-1:])[-1]
    assert found[-1].loss == pytest.approx(alone.loss, abs=1e-4)
    assert set(found[-1].atoms) == set(alone.atoms)


@both_norms
def test_how_many_atoms_are_held_does_not_matter(norm, monkeypatch):
    X, y = random_problem(1, n=80, d=20, k=3)
    whole = minima(Products(), X, y, norm, [0.5, 0.2])
    for name, value in {"HELD_BYTES": 0, "MOST_TO_HOLD": 3, "FEWEST_TO_JOIN": 1}.items():
        with monkeypatch.context() as patch:
            patch.setattr(active_atoms, "FEWEST_TO_JOIN", 3)
            patch.setattr(active_atoms, name, value)
            pool = Products()
            found = minima(pool, X, y, norm, [0.5, 0.2])
        assert worst(pool, X, y, norm, found) <= 1.01e-6
        for one, two in zip(whole, found, strict=True):
            assert one.loss == pytest.approx(two.loss, abs=1e-4)


def test_a_rule_that_leaves_out_too_much_is_found_out(monkeypatch):
    """Only the atom of the largest gradient passes; all others come by the last check."""
    X, y = random_problem(0)
    whole = minima(Columns(), X, y, "linf1", [0.5, 0.2])
    proper = ActiveAtoms.at

    def too_strict(self, alpha, last):
        return proper(self, alpha, last._replace(alpha=2.0 * alpha - last.duals.max()))

    monkeypatch.setattr(ActiveAtoms, "at", too_strict)
    strict = minima(Columns(), X, y, "linf1", [0.5, 0.2])
    for one, two in zip(whole, strict, strict=True):
        assert set(one.atoms) == set(two.atoms)
        assert one.loss == pytest.approx(two.loss, abs=1e-4)


@covering(
    pool={"columns": Columns(), "groups": Groups(np.arange(12)), "union": Union([Columns()])},
    shares={"one": [0.02], "two": [0.5, 0.02], "ten": np.geomspace(0.9, 0.02, 10)},
    norm=sorted(NORMS),
    intercept=[True, False],
)
def test_columns_that_can_tell_nothing_never_have_weights(norm, intercept, shares, pool):
    """Constants beside an intercept, zeros without one."""
    X, y = random_problem(0)
    X[:, 3] = 5.0 * intercept
    X[:, 7] = 1e20 + np.arange(150) % 2 * 16384.0 if intercept else 0.0  # neighbours of float64
    found = minima(pool, X, y, norm, shares, intercept)
    assert not {3, 7} & set(found[-1].atoms)
    assert found[-1].atoms.size > 5
    assert worst(pool, X, y, norm, found, intercept) <= 1.01e-6


@pytest.mark.parametrize(("norm", "offset"), [("linf1", 0.0), ("l21", 30.0), ("linf1", 900.0)])
def test_rounding_of_float32_hides_nothing(norm, offset, monkeypatch):
    """Columns of few factors, so that many gradients nearly reach alpha, far from zero."""
    rng = np.random.default_rng(0)
    F = rng.normal(size=(1500, 5))
    X = F @ rng.normal(size=(5, 300)) + 0.3 * rng.normal(size=(1500, 300))
    X = (X / X.std(axis=0) + offset).astype(np.float32)
    y = (F @ rng.normal(size=(5, 6)) + rng.gumbel(size=(1500, 6))).argmax(axis=1)
    monkeypatch.setattr(active_atoms, "HELD_BYTES", 0)
    pool = Columns()
    found = minima(pool, X, y, norm, [0.6, 0.3])
    assert max(each.violation for each in found) <= 1e-6
    assert worst(pool, X, y, norm, found) <= 1.01e-6


@pytest.mark.parametrize("pool", ["templates", Union([Columns(), Union([Templates()])])])
def test_templates_are_refused_before_any_work(pool, digits):
    with pytest.raises(ValueError, match="pool is not valid for MixedNorm.*Templates sums codes"):
        MixedNormClassifier(pool=pool).fit(*digits)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_gradients_that_are_not_finite_are_an_error():
    X, y = random_problem(0)
    with pytest.raises(FloatingPointError, match="too large"):
        minima(Columns("none"), X * 1e307 * 1.7, y, "linf1", [0.5])
