"""What a fit and a model refuse of a device, by name and before any work."""

import numpy as np
import pytest
import scipy.sparse as sp
from every_pool import POOLS_TO_TEST, classifier
from sklearn.base import clone

from shareboost import ShareBoostClassifier
from shareboost.penalties import Frobenius
from shareboost.rivals import (
    JointBoostClassifier,
    MixedNormClassifier,
    OneVsRestGreedyClassifier,
)

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X: X[:, 0], r"X has the shape \(300,\): it takes two dimensions"),
        (lambda X: X.reshape(300, 8, 8), r"X has the shape \(300, 8, 8\)"),
        (lambda X: X[:0], r"X has the shape \(0, 64\): .* at least one of each"),
        (lambda X: X[:, :0], r"X has the shape \(300, 0\)"),
        (lambda X: X.where(X < 16, float("inf")), "X contains infinity"),
        (lambda X: X.where(X < 16, float("-inf")), "X contains infinity"),
        (lambda X: X.where(X < 16, float("nan")), r"X contains NaN, which this pool .* stumps"),
    ],
    ids=["1-d", "3-d", "no rows", "no columns", "inf", "-inf", "nan"],
)
def test_tensors_that_no_fit_can_read_are_refused(make, message, tensor, data):
    X, y = data
    rows = make(tensor(X))
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(3).fit(rows, y)
    clf = ShareBoostClassifier(3).fit(X, y)
    with pytest.raises(ValueError, match=message):
        clf.predict(rows)


def test_numbers_whose_sum_overflows_are_finite(tensor, data):
    X, y = data
    clf = ShareBoostClassifier(3).fit(X, y)
    huge = tensor(np.full((40, 64), 1e307))
    assert clf.predict(huge * 0.0).shape == (40,)
    clf._check_rows(huge)  # no infinity, though the sum of all is


def test_infinity_is_refused_by_stumps_and_nan_is_not(tensor, data):
    X, y = data[0].copy(), data[1]
    X[3, 20] = np.nan
    clf = ShareBoostClassifier(3, pool="stumps").fit(tensor(X), y)
    assert np.array_equal(clf.predict(tensor(X)).cpu().numpy(), clf.predict(X))
    X[4, 20] = np.inf
    with pytest.raises(ValueError, match="X contains infinity"):
        clf.fit(tensor(X), y)


def test_labels_and_weights_must_be_given_and_as_long_as_x(tensor, data):
    X, y = data
    for labels in (tensor(y[:-1]), y[:-1]):
        with pytest.raises(ValueError, match="X and y differ in length: X has 300 rows, y 299"):
            ShareBoostClassifier(3).fit(tensor(X), labels)
    with pytest.raises(ValueError, match="y is None"):
        ShareBoostClassifier(3).fit(tensor(X), None)
    with pytest.raises(ValueError, match="sample_weight"):
        ShareBoostClassifier(3).fit(tensor(X), y, tensor(np.ones(299)))


def test_another_number_of_columns_is_refused(tensor, data):
    X, y = data
    clf = ShareBoostClassifier(3).fit(tensor(X), y)
    with pytest.raises(ValueError, match="X has 63 features, but .* is expecting 64 features"):
        clf.predict(tensor(X[:, 1:]))
    with pytest.raises(ValueError, match="eval_set is not valid: X has 63 features"):
        clf.fit(tensor(X), y, eval_set=(tensor(X[:, 1:]), y))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("nonsense", "device='nonsense' is not valid: it takes None, 'cuda'"),
        (3.5, "device=3.5 is not valid"),
        ("mps", "device='mps' is not supported: .*'cuda' or torch's 'cpu'"),
        ("meta", "device='meta' is not supported"),
        ("cuda:99", "device='cuda:99' is not there: torch .* sees"),
    ],
)
def test_devices_that_cannot_fit_are_refused_by_name(value, message, data, no_work):
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(3, device=value).fit(*data)


def test_a_cuda_device_must_be_there(data, no_work):
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ValueError, match=r"device='cuda' is not there: torch .* sees 0 CUDA"):
        ShareBoostClassifier(3, device="cuda").fit(*data)


def test_rows_of_another_device_are_not_moved(device, data, no_work):
    X, y = data
    elsewhere = torch.tensor(X).to("meta")
    with pytest.raises(ValueError, match=r"but X is on meta: rows are not moved"):
        ShareBoostClassifier(3, device=device).fit(elsewhere, y)
    if device.startswith("cuda"):
        with pytest.raises(ValueError, match=r"but X is on cpu: rows are not moved"):
            ShareBoostClassifier(3, device=device).fit(torch.tensor(X), y)


def test_rows_on_a_device_that_cannot_fit_are_refused(data):
    with pytest.raises(ValueError, match="device='meta' is not supported"):
        ShareBoostClassifier(3).fit(torch.tensor(data[0]).to("meta"), data[1])


def test_an_evaluation_set_of_another_device_is_refused(device, data):
    X, y = data
    held_out = torch.tensor(X).to("meta"), y
    with pytest.raises(ValueError, match="eval_set"):
        ShareBoostClassifier(3, device=device).fit(X, y, eval_set=held_out)


@pytest.mark.parametrize("name", ["stumps", "products", "pieces", "templates", "union"])
def test_sparse_rows_are_refused_by_the_name_of_the_pool(
    name, device, tensor, data, no_work, compressed, torch_has_warned
):
    X, y = data
    pool = type(POOLS_TO_TEST[name]).__name__
    told = f"Sparse X cannot be computed on {device}.* with {pool}:"
    for rows in (sp.csr_array(X), compressed(tensor(X))):
        with pytest.raises(ValueError, match=told):
            classifier(3, name, device=device).fit(rows, y)
    clf = classifier(2, name).fit(X, y)
    with pytest.raises(ValueError, match="[Ss]parse"):
        clf.predict(compressed(tensor(X)))


class MyFrobenius(Frobenius):
    """A penalty of the user's own."""


def test_a_penalty_of_ones_own_is_refused_by_name(device, data, no_work):
    with pytest.raises(ValueError, match="The penalty MyFrobenius cannot be computed on"):
        ShareBoostClassifier(3, penalty=MyFrobenius(), device=device).fit(*data)


def test_types_of_no_columns_are_refused_by_fit_and_predict(tensor, data):
    X, y = data
    clf = ShareBoostClassifier(2).fit(X, y)
    for name in ("float16", "bfloat16", "float8_e5m2", "complex64"):
        rows = torch.tensor(X).to(getattr(torch, name)).to(tensor(X).device)
        told = f"X has the dtype torch.{name}: it takes float32"
        with pytest.raises(ValueError, match=told):
            ShareBoostClassifier(2).fit(rows, y)
        with pytest.raises(ValueError, match=told):
            clf.predict(rows)


@pytest.mark.parametrize(
    "rival", [OneVsRestGreedyClassifier(2), MixedNormClassifier(path=2), JointBoostClassifier(2)]
)
def test_rivals_refuse_tensors_by_name(rival, tensor, data):
    X, y = data
    match = f"X is a torch array, and {type(rival).__name__} computes in NumPy"
    with pytest.raises(ValueError, match=match):
        clone(rival).fit(tensor(X), y)
    fitted = clone(rival).fit(X[:60], y[:60] % 2)
    for name in ("predict", "predict_proba", "transform"):
        with pytest.raises(ValueError, match=match):
            getattr(fitted, name)(tensor(X))


def test_tensors_without_numbers_are_refused(data):
    X, y = data
    clf = ShareBoostClassifier(2).fit(X, y)
    with pytest.raises(ValueError, match="X is on meta: it takes tensors on cpu or cuda"):
        clf.predict(torch.tensor(X, device="meta"))
    with pytest.raises(NotImplementedError, match="meta tensor; no data"):
        clf.fit(X, torch.tensor(y, device="meta"))


def test_sparse_held_out_rows_are_refused_before_the_work(device, data, no_work):
    X, y = data
    with pytest.raises(ValueError, match="Sparse X cannot be computed on .* with Stumps"):
        ShareBoostClassifier(2, pool="stumps", device=device).fit(
            X, y, eval_set=(sp.csr_array(X), y)
        )
