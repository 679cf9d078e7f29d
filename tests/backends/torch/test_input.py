"""What a fit and a model take of a device, and what they give back."""

import os
import subprocess
import sys
import types

import numpy as np
import pytest
from every_pool import KINDS, classifier, every_kind
from sklearn.base import clone

from shareboost import ShareBoostClassifier
from shareboost.inspection.comparison import error_curve

torch = pytest.importorskip("torch")


# Tensors that are taken


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *(("columns", dtype) for dtype in ("float32", "int8", "int16", "int32")),
        *(("stumps", dtype) for dtype in ("float64", "uint8", "bool")),
        ("products", "int64"),
        ("pieces", "bool"),
        ("templates", "uint8"),
    ],
)
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


def test_the_device_may_be_said_of_a_tensor_or_not(device, tensor, data):
    X, y = data
    truth = ShareBoostClassifier(4).fit(X, y)
    for asked in (None, device, torch.device(device)):
        found = ShareBoostClassifier(4, device=asked).fit(tensor(X), y)
        assert np.array_equal(found.selected_, truth.selected_)


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


@pytest.mark.parametrize("name", ["columns", "stumps", "templates"])
def test_tensors_of_any_layout_are_taken(name, tensor, data):
    X, y = data
    clf = classifier(2, name, refit_tol=1e-3)
    truth = clone(clf).fit(tensor(X), y)
    for rows in (
        tensor(X.T.copy()).T,
        tensor(np.repeat(X, 2, axis=1))[:, ::2],
        tensor(np.vstack([X, X]))[300:],
    ):
        found = clone(clf).fit(rows, y)
        assert np.array_equal(found.selected_, truth.selected_)
        assert torch.allclose(
            found.decision_function(rows), truth.decision_function(tensor(X)), atol=1e-2
        )


@every_kind
def test_rows_are_never_changed_by_a_fit_or_a_prediction(name, device, tensor, data):
    """NumPy's rows and torch's processor share memory."""
    X, y = data
    labels, weight = y.copy(), np.linspace(0.5, 2.0, 300)
    for rows, parameters in (
        (tensor(X), {}),
        (X.copy(), {"rule": "newton", "fit_intercept": False}),
    ):
        clf = classifier(2, name, device=device, **parameters).fit(rows, labels, weight)
        clf.predict(rows)
        clf.transform(rows)
        list(clf.staged_decision_function(rows))
        assert np.array_equal(rows if parameters else rows.cpu().numpy(), X)
    assert np.array_equal(labels, y)
    assert np.array_equal(weight, np.linspace(0.5, 2.0, 300))


@pytest.mark.parametrize(
    ("parameters", "dtype"),
    [
        ({}, "f4"),
        ({"rule": "newton"}, "f8"),
        # Groups of 8 columns each: a loose refit ends a step earlier or later by the last bits.
        ({"groups": np.arange(64) // 8, "n_features": 3, "refit_tol": 1e-6}, "f4"),
        ({"validation_fraction": 0.3, "random_state": 0}, "f8"),
        ({"fit_intercept": False}, "f4"),
    ],
    ids=["plain", "newton", "groups", "held out", "no intercept"],
)
def test_compressed_rows_are_fitted_as_dense_ones(
    parameters, dtype, tensor, data, compressed, torch_has_warned
):
    X, y = data[0].astype(dtype), data[1]
    weight = np.random.default_rng(0).uniform(0.1, 2.0, size=300)
    weight[::7] = 0.0
    settings = {"n_features": 5, "alpha": 1e-3, "refit_tol": 1e-4, **parameters}
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


def test_other_sparse_tensors_become_compressed_rows(tensor, data, compressed, torch_has_warned):
    X, y = data
    truth = ShareBoostClassifier(5).fit(X, y)
    for rows in (tensor(X).to_sparse(), compressed(tensor(X)).to_sparse_csc()):
        found = ShareBoostClassifier(5).fit(rows, y)
        assert np.array_equal(found.selected_, truth.selected_)
        assert np.array_equal(found.predict(rows).cpu().numpy(), found.predict(X))


# What comes back


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, ("f4", "f8")[number % 2]) for number, name in enumerate(KINDS)]
)
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

    (X, y), models = data, []
    for name in ("columns", "stumps", "products", "pieces", "templates", "union"):
        clf = classifier(2, name, device=device).fit(X, y)
        loaded = pickle.loads(pickle.dumps(clf))
        assert np.array_equal(loaded.decision_function(X), clf.decision_function(X))
        clf.set_params(device=None)
        models.append(clf)
    code = (
        "import pickle, sys, numpy as np; models = pickle.load(sys.stdin.buffer);"
        "[clf.predict(np.zeros((2, 64))) for clf in models]; print('torch' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(models), capture_output=True
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
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
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
print(len(known()), any("backends.torch" in name for name in sys.modules))
""")
    assert said == ["0", "0", "False"]


def test_sparse_rows_are_fitted_without_a_warning(device):
    """Torch warns once in a process of sparse tensors that its user makes: here nobody does."""
    said = said_by(f"""
import numpy as np, scipy.sparse as sp
from shareboost import ShareBoostClassifier
from shareboost.pools import Columns, Groups
X = np.random.default_rng(0).normal(size=(60, 4)) * (np.arange(60) % 3 > 0)[:, None]
for pool in (Columns(), Groups([0, 0, 1, 1])):
    clf = ShareBoostClassifier(2, pool=pool, device={device!r}, validation_fraction=0.3)
    print(clf.fit(sp.csr_array(X), X[:, 0] > 0).selected_.size)
""")
    assert said == ["2", "2"]


@pytest.mark.parametrize("dtype", ["uint16", "uint64", "longdouble"])
def test_types_that_torch_hardly_knows_are_read_in_floats(dtype, device, data):
    X, y = data
    truth = ShareBoostClassifier(4).fit(X.astype(dtype), y)
    found = ShareBoostClassifier(4, device=device).fit(X.astype(dtype), y)
    assert np.array_equal(found.selected_, truth.selected_)
    assert np.abs(found.path_.losses - truth.path_.losses).max() < 1e-5
    if dtype != "longdouble":
        rows = torch.tensor(X, device=device).to(getattr(torch, dtype))
        again = ShareBoostClassifier(4).fit(rows, y)
        assert np.array_equal(again.weights_, found.weights_)
        assert np.array_equal(again.predict(rows).cpu().numpy(), truth.predict(X))


def test_error_curves_are_read_of_tensors(tensor, data):
    X, y = data
    clf = ShareBoostClassifier(5).fit(X, y)
    truth = error_curve(clf, X, y)
    found = error_curve(clf, tensor(X), tensor(y), tensor(np.ones(len(y))))
    assert np.allclose(found.errors, truth.errors)


def test_subclasses_of_tensors_are_tensors(tensor, data):
    class Mine(torch.Tensor):
        pass

    X = tensor(data[0]).as_subclass(Mine)
    clf = ShareBoostClassifier(3).fit(X, data[1])
    assert isinstance(clf.predict(X), torch.Tensor)
    assert np.array_equal(clf.selected_, ShareBoostClassifier(3).fit(*data).selected_)
