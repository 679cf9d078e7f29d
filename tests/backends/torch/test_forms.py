"""Pools with fast statistics in NumPy alone: on a device their columns are written out."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.externals.array_api_compat import array_namespace
from sklearn.externals.array_api_compat import device as device_of

from shareboost import ShareBoostClassifier
from shareboost.pools import Columns, Features, Pool, Union

torch = pytest.importorskip("torch")


@dataclass(frozen=True)
class BendFeatures(Features):
    ids: np.ndarray
    middles: np.ndarray

    def columns(self, X):
        """Beside each column less its middle what of it lies above: two columns an atom."""
        xp = array_namespace(X)
        middles = xp.asarray(self.middles, dtype=X.dtype, device=device_of(X))
        off = xp.take(X, xp.asarray(self.ids, device=device_of(X)), axis=1) - middles
        return xp.reshape(xp.stack([off, xp.clip(off, min=0)], axis=2), (X.shape[0], -1))

    @property
    def widths(self):
        return np.full(self.ids.size, 2)

    def names(self, input_names):
        return [f"{name} of {input_names[j]}" for j in self.ids for name in ("all", "upper")]

    def take(self, places):
        return BendFeatures(self.ids[places], self.middles[places])


class Bends(Pool):
    """A pool whose block, rows and statistics only NumPy and the pool itself can read."""

    def learn(self, table, centred):
        X, _ = table.gathered()
        assert type(X) is np.ndarray
        self.n_atoms_ = X.shape[1]
        self.middles_ = np.median(X, axis=0)
        self.dtype_ = self.sums_dtype_ = np.dtype(np.float32)
        self.edges_ = 2 * np.arange(self.n_atoms_ + 1)
        self.unit_ = 1.0 + X.std(axis=0)

    def parts(self, n_classes):
        return [slice(0, self.n_atoms_)]

    def encode(self, X, rows):
        return {"columns": self.features(range(self.n_atoms_)).columns(X[rows])}

    def prepare(self, rows):
        return [rows.T.astype(np.float64)]

    def stats(self, data, rows, part, out=None, squares=False):
        found = rows[0].T @ data["columns"] ** (2 if squares else 1)
        both = np.stack([rows[0].T @ data["columns"], found])
        if out is None:
            return both
        out += both
        return out

    def correlations(self, stats, part):
        return stats[0] / np.repeat(self.unit_, 2)

    def moments(self, stats, part):
        unit = np.repeat(self.unit_, 2)
        return stats[0] / unit, stats[1] / unit**2

    def columns(self, data, atom):
        return data["columns"][:, 2 * atom : 2 * atom + 2].T

    def scales(self, atom):
        return np.full(2, self.unit_[atom])

    def features(self, atoms):
        ids = np.asarray(atoms, dtype=np.intp)
        return BendFeatures(ids, self.middles_[ids])


class HostFeatures(BendFeatures):
    def columns(self, X):
        return super().columns(np.asarray(X, dtype=np.float64, order="C"))


class HostBends(Bends):
    def features(self, atoms):
        found = super().features(atoms)
        return HostFeatures(found.ids, found.middles)


class MyColumns(Columns):
    """A pool of the package's, changed by a user."""


@pytest.mark.parametrize("rule", ["gradient", "newton", "orthogonal"])
@pytest.mark.parametrize("pool", [Bends(), Union([MyColumns(), Bends()]), MyColumns()], ids=str)
def test_a_pool_with_its_own_statistics_chooses_as_in_numpy(pool, rule, device, data, tensor):
    X, y = data
    settings = {"pool": pool, "rule": rule, "alpha": 1e-3, "refit_tol": 1e-3}
    truth = ShareBoostClassifier(4, **settings).fit(X, y)
    found = ShareBoostClassifier(4, **settings).fit(tensor(X), y)
    assert found.selected_.tolist() == truth.selected_.tolist()
    assert np.allclose(found.path_.losses, truth.path_.losses, rtol=1e-4)
    scores = found.decision_function(tensor(X)).cpu().numpy()
    assert np.allclose(scores, found.decision_function(X), atol=1e-4)


def test_features_that_take_no_tensors_are_refused_by_the_name_of_the_pool(device, data, tensor):
    X, y = data
    with pytest.raises(ValueError, match="The pool HostBends cannot be computed on .* no tensors"):
        ShareBoostClassifier(2, pool=HostBends()).fit(tensor(X), y)
