"""The columns of chosen features are those of NumPy on any device, for X of any type."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from every_pool import KINDS, POOLS_TO_TEST
from numpy.typing import NDArray
from sklearn.base import clone

from shareboost import ShareBoostClassifier
from shareboost.arrays import beside, standard_namespace
from shareboost.inputs import backend_of
from shareboost.pools import Columns, Features, Products, Stumps, Union
from shareboost.pools.features import INPUTS, Ids, Reals

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", [*KINDS, "pieces, paper", "templates, colour"])
def test_columns_are_those_of_numpy_for_every_type(name, device, tensor, data):
    X, _ = data
    pool = clone(POOLS_TO_TEST[name]).fit(X)
    atoms = np.random.default_rng(0).choice(pool.n_atoms_, 5, replace=False)
    features = pool.features(atoms)
    for dtype in ("f4", "f8", "u1", "i8", "?"):
        truth = features.columns(X.astype(dtype))
        found = features.columns(tensor(X.astype(dtype)))
        assert found.device.type == torch.device(device).type
        assert str(found.dtype) == f"torch.{truth.dtype}"
        np.testing.assert_allclose(found.cpu().numpy(), truth, rtol=2e-5, atol=2e-5)


def test_a_model_of_a_union_takes_integers_on_a_device(device, tensor, data):
    X, y = data
    pool = Union([Columns(), Stumps(), Products()])
    clf = ShareBoostClassifier(6, pool=pool).fit(X, y)
    found = clf.decision_function(tensor(X.astype(np.uint8)))
    np.testing.assert_allclose(found.cpu().numpy(), clf.decision_function(X), rtol=1e-5, atol=1e-6)


@dataclass(frozen=True)
class Waves(Features):
    """Sines of directions of X."""

    ids: Ids
    directions: Annotated[NDArray[np.float64], Reals(shape=("atoms", INPUTS))]

    def columns(self, X: Any) -> Any:
        return standard_namespace(X).sin(X @ beside(X, self.directions).T)

    def names(self, input_names: Sequence[str]) -> list[str]:
        return [f"wave {number}" for number in self.ids]


def test_features_of_ones_own_are_computed_on_a_device_and_taken_apart(tensor, data):
    directions = np.random.default_rng(0).normal(size=(9, 64))
    features = Waves(np.arange(9), directions).take(np.array([7, 2]))
    assert features.names([]) == ["wave 7", "wave 2"]
    rows = tensor(data[0])
    found = backend_of(rows).columns(features, rows).cpu().numpy()
    np.testing.assert_allclose(found, np.sin(data[0] @ directions[[7, 2]].T), atol=1e-9)
