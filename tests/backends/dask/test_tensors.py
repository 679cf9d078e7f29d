"""Blocks of tensors: workers compute on their device, and the sums are those of NumPy."""

import numpy as np
import pytest
from cluster_parity import assert_alike, spread

from shareboost import ShareBoostClassifier
from shareboost.pools import Pieces, Products

torch = pytest.importorskip("torch")


def in_tensors(X):
    return spread(X).map_blocks(torch.as_tensor, meta=torch.empty((0, 0), dtype=torch.float64))


@pytest.fixture(scope="module")
def three(data):
    X, y = data
    return X, y % 3


def new(**parameters):
    return ShareBoostClassifier(2, alpha=1e-2, **parameters)


@pytest.mark.parametrize("pool", ["columns", "stumps", Products(), Pieces(6, 3)], ids=str)
def test_tensors_are_fitted_as_on_their_device(client, three, pool):
    X, y = three
    local = new(pool=pool, device="cpu").fit(torch.as_tensor(X), y)
    assert_alike(new(pool=pool).fit(in_tensors(X), spread(y)), local, 1e-5)


@pytest.mark.parametrize("mode", ["gathered", "summed"])
def test_a_device_may_be_asked_for(client, three, refitting, mode):
    X, y = three
    local = new(device="cpu").fit(X, y)
    with refitting(mode):
        assert_alike(new(device="cpu").fit(spread(X), spread(y)), local, 2e-5)
        clf = new(rule="newton", device="cpu").fit(in_tensors(X), torch.as_tensor(y))
    assert_alike(clf, new(rule="newton", device="cpu").fit(X, y), 2e-5)


def test_tensors_and_arrays_do_not_mix(client, three):
    X, y = three
    rows = spread(X).map_blocks(
        lambda block: torch.as_tensor(block) if len(block) == 150 else block, meta=np.empty((0, 0))
    )
    with pytest.raises(ValueError, match="blocks of unlike kinds, dense and tensors"):
        new().fit(rows, y)


def test_gaps_in_tensors_are_refused(client, three):
    X, y = three
    with pytest.raises(ValueError, match="NaN"):
        new().fit(in_tensors(np.where(X == 5, np.nan, X)), y)
