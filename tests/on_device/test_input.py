"""What a fit and a model take of a device, what they give back, and what they refuse."""

import os
import subprocess
import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from every_pool import POOLS_TO_TEST, classifier, every_pool
from sklearn.base import clone
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier
from shareboost.comparison import error_curve
from shareboost.penalties import Frobenius
from shareboost.pools import Columns, Stumps, Union
from shareboost.rivals import (
    JointBoostClassifier,
    MixedNormClassifier,
    OneVsRestGreedyClassifier,
)

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


@pytest.fixture
def tensor(device):
    return lambda array, **how: torch.tensor(array, device=device, **how)


@pytest.fixture
def no_work(monkeypatch):
    """Nothing is brought to a device from here on."""

    def rows(*_):
        raise AssertionError("rows were brought to the device before the refusal")

    monkeypatch.setattr("shareboost.on_device.place.Device.rows", rows)


# Tensors that are taken


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]
)
@pytest.mark.parametrize("name", ["columns", "stumps", "products", "pieces", "templates"])
def test_tensors_of_every_type_are_fitted_as_their_numbers(name, dtype, tensor, data):
    X, y = data
    X = (X > 7) if dtype == "bool" else X.astype(dtype)
    clf = classifier(3, name, tol=1e-2)
    # Where k-means has ties, as of binary images, rounding decides: by NumPy's as by torch's.
    tied = dtype == "bool" and name in ("pieces", "templates")
    truth = clone(clf).fit(tensor(X.astype(np.uint8)) if tied else X, y)
    found = clone(clf).fit(tensor(X), y)
    assert np.array_equal(found.selected_, truth.selected_)
    assert np.abs(found.path_.losses - truth.path_.losses).max() < 1e-5
    assert found.n_features_in_ == 64
    assert np.array_equal(found.predict(tensor(X)).cpu().numpy(), found.predict(X))


@pytest.mark.parametrize("given", [None, str, torch.device], ids=["none", "name", "object"])
def test_the_device_may_be_said_of_a_tensor_or_not(given, device, tensor, data):
    X, y = data
    asked = None if given is None else given(device)
    found = ShareBoostClassifier(4, device=asked).fit(tensor(X), y)
    assert np.array_equal(found.selected_, ShareBoostClassifier(4).fit(X, y).selected_)


def test_labels_and_weights_may_be_tensors(tensor, device, data):
    X, y = data
    weight = np.random.default_rng(0).uniform(0.0, 2.0, size=300)
    truth = ShareBoostClassifier(4).fit(X, y, weight)
    for rows in (X, tensor(X)):
        found = ShareBoostClassifier(4, device=device).fit(rows, tensor(y), tensor(weight))
        assert np.array_equal(found.selected_, truth.selected_)
        assert np.array_equal(found.classes_, truth.classes_)
        assert type(found.classes_) is np.ndarray
        assert found.score(rows, tensor(y), tensor(weight)) == pytest.approx(
            truth.score(X, y, weight), abs=0.01
        )


def test_tensors_of_a_graph_are_taken_without_it(tensor, data):
    X, y = tensor(data[0], requires_grad=True), data[1]
    weight = tensor(np.ones(300), requires_grad=True)
    clf = ShareBoostClassifier(4).fit(X, y, weight)
    scores = clf.decision_function(X)
    assert not scores.requires_grad
    assert X.grad is None
    assert np.array_equal(clf.selected_, ShareBoostClassifier(4).fit(*data).selected_)


@pytest.mark.parametrize("layout", ["transposed", "strided", "sliced"])
def test_tensors_of_any_layout_are_taken(layout, tensor, data):
    X, y = data
    rows = {
        "transposed": lambda: tensor(X.T.copy()).T,
        "strided": lambda: tensor(np.repeat(X, 2, axis=1))[:, ::2],
        "sliced": lambda: tensor(np.vstack([X, X]))[300:],
    }[layout]()
    for name in ("columns", "stumps", "products", "pieces", "templates"):
        found, truth = classifier(3, name).fit(rows, y), classifier(3, name).fit(tensor(X), y)
        assert np.array_equal(found.selected_, truth.selected_)
        assert torch.allclose(
            found.decision_function(rows), truth.decision_function(tensor(X)), atol=1e-2
        )


@every_pool
@pytest.mark.parametrize("kind", ["numpy", "tensor"])
def test_rows_are_never_changed_by_a_fit_or_a_prediction(name, kind, device, tensor, data):
    """NumPy's rows and torch's processor share memory."""
    X, y = data
    rows = X.copy() if kind == "numpy" else tensor(X)
    labels, weight = y.copy(), np.linspace(0.5, 2.0, 300)
    for parameters in ({}, {"rule": "newton", "fit_intercept": False}):
        clf = classifier(3, name, device=device, **parameters).fit(rows, labels, weight)
        clf.predict(rows)
        clf.transform(rows)
        list(clf.staged_decision_function(rows))
    assert np.array_equal(rows if kind == "numpy" else rows.cpu().numpy(), X)
    assert np.array_equal(labels, y)
    assert np.array_equal(weight, np.linspace(0.5, 2.0, 300))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"rule": "newton"},
        {"groups": np.arange(64) // 8, "n_features": 3},
        {"validation_fraction": 0.3, "random_state": 0},
        {"fit_intercept": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compressed_rows_are_fitted_as_dense_ones(
    parameters, dtype, tensor, data, compressed, torch_has_warned
):
    X, y = data[0].astype(dtype), data[1]
    weight = np.random.default_rng(0).uniform(0.1, 2.0, size=300)
    weight[::7] = 0.0
    settings = {"n_features": 5, "alpha": 1e-3, **parameters}
    truth = ShareBoostClassifier(**settings).fit(X, y, weight)
    rows = compressed(tensor(X))
    found = ShareBoostClassifier(**settings).fit(rows, y, weight)
    assert np.array_equal(found.selected_, truth.selected_)
    assert np.abs(found.path_.losses - truth.path_.losses).max() < 1e-5
    assert np.allclose(found.path_.validation_scores, truth.path_.validation_scores, equal_nan=True)
    assert np.allclose(
        found.decision_function(rows).cpu().numpy(), found.decision_function(X), atol=1e-3
    )
    assert np.array_equal(found.predict(rows).cpu().numpy(), found.predict(X))


@pytest.mark.parametrize("layout", ["coo", "csc"])
def test_other_sparse_tensors_become_compressed_rows(
    layout, tensor, data, compressed, torch_has_warned
):
    X, y = data
    rows = tensor(X).to_sparse() if layout == "coo" else compressed(tensor(X)).to_sparse_csc()
    found = ShareBoostClassifier(5).fit(rows, y)
    assert np.array_equal(found.selected_, ShareBoostClassifier(5).fit(X, y).selected_)
    assert np.array_equal(found.predict(rows).cpu().numpy(), found.predict(X))


# What comes back


@every_pool
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_of_a_tensor_are_tensors_of_its_device(name, dtype, tensor, data):
    X, y = data[0].astype(dtype), data[1]
    clf = classifier(4, name, tol=1e-2).fit(X, y)
    rows = tensor(X[:80])
    for method in (
        "decision_function", "predict", "predict_proba", "predict_log_proba", "transform",
    ):  # fmt: skip
        found, truth = getattr(clf, method)(rows), getattr(clf, method)(X[:80])
        assert isinstance(found, torch.Tensor), method
        assert found.device == rows.device
        assert found.shape == truth.shape
        assert np.allclose(found.cpu().numpy(), truth, rtol=1e-3, atol=1e-3), method
    assert np.array_equal(clf.predict(rows).cpu().numpy(), clf.predict(X[:80]))
    assert clf.score(rows, y[:80]) == clf.score(X[:80], y[:80])
    assert clf.predict(rows).dtype == torch.int64


def test_staged_predictions_of_a_tensor_are_those_of_numpy(tensor, data):
    X, y = data
    for parameters in ({}, {"swap": True, "n_features": 8}):
        clf = ShareBoostClassifier(**{"n_features": 5, **parameters}).fit(X, y)
        rows = tensor(X)
        for method in ("staged_decision_function", "staged_predict"):
            pairs = list(zip(getattr(clf, method)(rows), getattr(clf, method)(X), strict=True))
            assert len(pairs) == len(clf.path_)
            for found, truth in pairs:
                assert found.device == rows.device
                assert np.allclose(found.cpu().numpy(), truth)


def test_two_classes_have_one_score_a_row(tensor, data):
    X, y = data[0], data[1] > 4
    clf = ShareBoostClassifier(4).fit(tensor(X), tensor(y))
    assert clf.classes_.tolist() == [False, True]
    assert np.allclose(clf.decision_function(tensor(X)).cpu().numpy(), clf.decision_function(X))
    assert clf.predict(tensor(X)).dtype == torch.bool
    assert clf.predict_proba(tensor(X)).shape == (300, 2)


def test_labels_that_are_text_come_back_in_numpy(tensor, data):
    X, y = data[0], np.array([f"digit {label}" for label in data[1]])
    clf = ShareBoostClassifier(4).fit(tensor(X), y)
    found = clf.predict(tensor(X))
    assert type(found) is np.ndarray
    assert np.array_equal(found, clf.predict(X))
    for staged, truth in zip(clf.staged_predict(tensor(X)), clf.staged_predict(X), strict=True):
        assert np.array_equal(staged, truth)
    assert clf.score(tensor(X), y) == clf.score(X, y)


def test_a_model_of_a_device_is_plain_and_predicts_anywhere(device, data):
    """In a process that never imports torch."""
    import pickle

    X, y = data
    for name in ("columns", "stumps", "products", "pieces", "templates", "union"):
        clf = classifier(3, name, device=device).fit(X, y)
        loaded = pickle.loads(pickle.dumps(clf))
        assert np.array_equal(loaded.decision_function(X), clf.decision_function(X))
        clf.set_params(device=None)
        code = (
            "import pickle, sys, numpy as np; clf = pickle.load(sys.stdin.buffer);"
            "clf.predict(np.zeros((2, 64))); print('torch' in sys.modules)"
        )
        if name in ("columns", "pieces"):
            answer = subprocess.run(
                [sys.executable, "-c", code], input=pickle.dumps(clf), capture_output=True
            )
            assert answer.stdout.decode().split() == ["False"], answer.stderr.decode()


# CuPy


class FakeCupyArray:
    """What is read of CuPy's arrays: DLPack, over a tensor."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.shape, self.ndim = tuple(tensor.shape), tensor.ndim

    def __dlpack__(self, **how):
        return self.tensor.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __array__(self, *_, **__):
        raise TypeError("no silent copy to the host")

    def __len__(self):
        return self.shape[0]


@pytest.fixture
def fake_cupy(monkeypatch):
    """A module by CuPy's name whose arrays are tensors that do not say so."""
    kind = type("ndarray", (FakeCupyArray,), {"__module__": "cupy"})
    module = types.ModuleType("cupy")
    module.ndarray = kind
    module.from_dlpack = lambda array: kind(torch.from_dlpack(array))
    monkeypatch.setitem(sys.modules, "cupy", module)
    return kind


def test_cupy_arrays_come_in_and_go_out_through_dlpack(fake_cupy, tensor, data):
    X, y = data
    rows = fake_cupy(tensor(X))
    weight = np.linspace(0.5, 2.0, 300)
    clf = ShareBoostClassifier(4).fit(rows, fake_cupy(tensor(y)), fake_cupy(tensor(weight)))
    truth = ShareBoostClassifier(4).fit(X, y, weight)
    assert np.array_equal(clf.selected_, truth.selected_)
    for method in ("decision_function", "predict", "predict_proba", "transform"):
        found = getattr(clf, method)(rows)
        assert type(found) is fake_cupy, method
        assert np.allclose(found.tensor.cpu().numpy(), getattr(clf, method)(X), atol=1e-6)
    assert clf.score(rows, fake_cupy(tensor(y))) == clf.score(X, y)


def test_rows_of_cupy_arrays_are_held_out(fake_cupy, tensor, data):
    X, y = data
    settings = {"n_features": 4, "validation_fraction": 0.3, "random_state": 0}
    found = ShareBoostClassifier(**settings).fit(fake_cupy(tensor(X)), y)
    truth = ShareBoostClassifier(**settings).fit(X, y)
    assert np.allclose(found.path_.validation_scores, truth.path_.validation_scores)


def test_real_cupy_arrays_are_taken(device, data):
    if not device.startswith("cuda"):
        pytest.skip("CuPy's arrays are on CUDA devices")
    cupy = pytest.importorskip("cupy")
    X, y = data
    rows = cupy.asarray(X)
    clf = ShareBoostClassifier(4).fit(rows, cupy.asarray(y))
    assert np.array_equal(clf.selected_, ShareBoostClassifier(4).fit(X, y).selected_)
    assert isinstance(clf.predict(rows), cupy.ndarray)
    assert np.array_equal(cupy.asnumpy(clf.predict(rows)), clf.predict(X))
    sparse = pytest.importorskip("cupyx.scipy.sparse").csr_matrix(rows)
    assert np.array_equal(ShareBoostClassifier(4).fit(sparse, y).selected_, clf.selected_)


# Without torch


def said_by(code):
    """What a new process prints, in which every warning is an error."""
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.split()


def test_nothing_of_torch_is_imported_unless_asked_for():
    said = said_by("""
import sys, numpy as np
def known():
    return [name for name in sys.modules if name.partition(".")[0] in ("torch", "cupy", "triton")]
import shareboost
print(len(known()))
X = np.random.default_rng(0).normal(size=(60, 70))
for pool in ("columns", "stumps", "products"):
    clf = shareboost.ShareBoostClassifier(3, pool=pool, swap=True).fit(X, X[:, 0] > 0)
    clf.predict(X), clf.predict_proba(X), clf.score(X, X[:, 0] > 0)
print(len(known()), any("on_device" in name for name in sys.modules))
""")
    assert said == ["0", "0", "False"]


@pytest.mark.parametrize("pool", ["Columns()", "Groups([0, 0, 1, 1])"])
def test_sparse_rows_are_fitted_without_a_warning(pool, device):
    """Torch warns once in a process of sparse tensors that its user makes: here nobody does."""
    said = said_by(f"""
import numpy as np, scipy.sparse as sp
from shareboost import ShareBoostClassifier
from shareboost.pools import Columns, Groups
X = np.random.default_rng(0).normal(size=(60, 4)) * (np.arange(60) % 3 > 0)[:, None]
clf = ShareBoostClassifier(2, pool={pool}, device={device!r}, validation_fraction=0.3)
print(clf.fit(sp.csr_array(X), X[:, 0] > 0).selected_.size)
""")
    assert said == ["2"]


# What is refused


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X: X[:, 0], r"X has the shape \(300,\): it takes two dimensions"),
        (lambda X: X.reshape(300, 8, 8), r"X has the shape \(300, 8, 8\)"),
        (lambda X: X[:0], r"X has the shape \(0, 64\): .* at least one of each"),
        (lambda X: X[:, :0], r"X has the shape \(300, 0\)"),
        (lambda X: X.to(torch.complex64), "X has the dtype torch.complex64"),
        (lambda X: X.to(torch.float16), "X has the dtype torch.float16"),
        (lambda X: X.to(torch.bfloat16), "X has the dtype torch.bfloat16"),
        (lambda X: X.where(X < 16, float("inf")), "X contains infinity"),
        (lambda X: X.where(X < 16, float("-inf")), "X contains infinity"),
        (lambda X: X.where(X < 16, float("nan")), r"X contains NaN, which this pool .* stumps"),
    ],
    ids=["1-d", "3-d", "no rows", "no columns", "complex", "half", "bfloat", "inf", "-inf", "nan"],
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


@pytest.mark.parametrize("as_tensor", [True, False])
def test_labels_of_another_length_are_refused(as_tensor, tensor, data):
    X, y = data
    labels = tensor(y[:-1]) if as_tensor else y[:-1]
    with pytest.raises(ValueError, match="X and y differ in length: X has 300 rows, y 299"):
        ShareBoostClassifier(3).fit(tensor(X), labels)


def test_labels_must_be_given(tensor, data):
    with pytest.raises(ValueError, match="y is None"):
        ShareBoostClassifier(3).fit(tensor(data[0]), None)


def test_weights_of_another_length_are_refused(tensor, data):
    X, y = data
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
@pytest.mark.parametrize("kind", ["scipy", "tensor"])
def test_sparse_rows_are_refused_by_the_name_of_the_pool(
    name, kind, device, tensor, data, no_work, compressed, torch_has_warned
):
    X, y = data
    rows = sp.csr_array(X) if kind == "scipy" else compressed(tensor(X))
    pool = type(POOLS_TO_TEST[name]).__name__
    with pytest.raises(ValueError, match=f"Sparse X cannot be computed on {device}.* with {pool}:"):
        classifier(3, name, device=device).fit(rows, y)


@pytest.mark.parametrize("name", ["stumps", "products", "pieces", "templates", "union"])
def test_sparse_tensors_are_refused_by_models_of_those_pools(
    name, tensor, data, compressed, torch_has_warned
):
    X, y = data
    clf = classifier(3, name).fit(X, y)
    with pytest.raises(ValueError, match="[Ss]parse"):
        clf.predict(compressed(tensor(X)))


class MyColumns(Columns):
    """A pool of the user's own."""


class MyFrobenius(Frobenius):
    """A penalty of the user's own."""


@pytest.mark.parametrize("pool", [MyColumns(), Union([Stumps(), MyColumns()])], ids=str)
def test_a_pool_of_ones_own_is_refused_by_name(pool, device, data, no_work):
    with pytest.raises(ValueError, match="The pool MyColumns cannot be computed on"):
        ShareBoostClassifier(3, pool=pool, device=device).fit(*data)


def test_a_penalty_of_ones_own_is_refused_by_name(device, data, no_work):
    with pytest.raises(ValueError, match="The penalty MyFrobenius cannot be computed on"):
        ShareBoostClassifier(3, penalty=MyFrobenius(), device=device).fit(*data)


def test_what_torch_was_set_to_is_left_so(device, data):
    before = torch.backends.cuda.matmul.allow_tf32, torch.is_grad_enabled()
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        ShareBoostClassifier(3, device=device).fit(*data)
        assert torch.backends.cuda.matmul.allow_tf32
        assert torch.is_grad_enabled() == before[1]
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before[0]


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64", "longdouble"])
def test_types_that_torch_hardly_knows_are_read_in_floats(dtype, device, data):
    X, y = data
    truth = ShareBoostClassifier(4).fit(X.astype(dtype), y)
    found = ShareBoostClassifier(4, device=device).fit(X.astype(dtype), y)
    assert np.array_equal(found.selected_, truth.selected_)
    assert np.abs(found.path_.losses - truth.path_.losses).max() < 1e-5
    if dtype != "longdouble":
        rows = torch.tensor(X, device=device).to(getattr(torch, dtype))
        again = ShareBoostClassifier(4).fit(rows, y)
        assert np.array_equal(again.coef_, found.coef_)
        assert np.array_equal(again.predict(rows).cpu().numpy(), truth.predict(X))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e5m2", "complex64"])
def test_types_of_no_columns_are_refused_by_fit_and_predict(name, tensor, data):
    X, y = data
    rows = torch.tensor(X).to(getattr(torch, name)).to(tensor(X).device)
    clf = ShareBoostClassifier(2).fit(X, y)
    for call in (lambda: ShareBoostClassifier(2).fit(rows, y), lambda: clf.predict(rows)):
        with pytest.raises(ValueError, match=f"X has the dtype torch.{name}: it takes float32"):
            call()


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


def test_error_curves_are_read_of_tensors(tensor, data):
    X, y = data
    clf = ShareBoostClassifier(5).fit(X, y)
    truth = error_curve(clf, X, y)
    found = error_curve(clf, tensor(X), tensor(y), tensor(np.ones(len(y))))
    assert np.allclose(found.errors, truth.errors)


def test_autocast_does_not_reach_into_a_fit(tensor, data):
    X, y = tensor(data[0].astype(np.float32)), data[1]
    truth = ShareBoostClassifier(4).fit(X, y)
    with torch.autocast(X.device.type):
        found = ShareBoostClassifier(4).fit(X, y)
    assert np.array_equal(found.coef_, truth.coef_)


def test_subclasses_of_tensors_are_tensors(tensor, data):
    class Mine(torch.Tensor):
        pass

    X = tensor(data[0]).as_subclass(Mine)
    clf = ShareBoostClassifier(3).fit(X, data[1])
    assert isinstance(clf.predict(X), torch.Tensor)
    assert np.array_equal(clf.selected_, ShareBoostClassifier(3).fit(*data).selected_)


def test_tensors_without_numbers_are_refused(data):
    X, y = data
    clf = ShareBoostClassifier(2).fit(X, y)
    with pytest.raises(ValueError, match="X is on meta: it takes tensors on cpu or cuda"):
        clf.predict(torch.tensor(X, device="meta"))
    with pytest.raises(ValueError, match="holds no numbers"):
        clf.fit(X, torch.tensor(y, device="meta"))


def test_predictions_are_as_precise_as_fits(tensor, data):
    X, y = data
    rows = tensor(X.astype(np.float32))
    clf = ShareBoostClassifier(4).fit(rows, y)
    truth = clf.decision_function(rows), list(clf.staged_decision_function(rows))[-1]
    with torch.autocast(rows.device.type):
        found = clf.decision_function(rows), clf.transform(rows)
    assert torch.equal(found[0], truth[0])
    assert found[1].dtype == torch.float32


def test_a_fit_under_the_newer_setting_of_precision_leaves_it(tensor, data):
    products = torch.backends.cuda.matmul
    if not hasattr(products, "fp32_precision"):
        pytest.skip("this torch has the older setting alone")
    code = """
import torch
from sklearn.datasets import load_digits
from shareboost import ShareBoostClassifier
torch.backends.cuda.matmul.fp32_precision = "tf32"
X, y = load_digits(return_X_y=True)
ShareBoostClassifier(2).fit(torch.tensor(X[:100]), y[:100])
print(torch.backends.cuda.matmul.fp32_precision)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "tf32"


def test_scikit_learns_own_dispatch_changes_nothing(device):
    code = f"""
import numpy as np, sklearn, torch
from sklearn.datasets import load_digits
from shareboost import ShareBoostClassifier
X, y = load_digits(return_X_y=True)
rows = torch.tensor(X[:200], device={device!r})
own = torch.ones(200, device={device!r})
truth = ShareBoostClassifier(3).fit(rows, y[:200])
with sklearn.config_context(array_api_dispatch=True):
    clf = ShareBoostClassifier(3).fit(rows, y[:200], own)
    assert np.array_equal(clf.coef_, truth.coef_)
    assert clf.score(rows, y[:200]) == truth.score(rows, y[:200])
    ShareBoostClassifier(3, validation_fraction=0.2, random_state=0).fit(rows, y[:200])
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_sparse_held_out_rows_are_refused_before_the_work(device, data, no_work):
    X, y = data
    with pytest.raises(ValueError, match="Sparse X cannot be computed on .* with Stumps"):
        ShareBoostClassifier(2, pool="stumps", device=device).fit(
            X, y, eval_set=(sp.csr_array(X), y)
        )
