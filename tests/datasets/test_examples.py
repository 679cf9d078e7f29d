import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from shareboost import ShareBoostClassifier
from shareboost.bounds import corollary
from shareboost.datasets import load_dataset, make_redundant_blocks, make_shared_bits
from shareboost.losses import LogisticLoss
from shareboost.pools import Columns


def test_shared_bits_are_those_of_the_paper():
    X, y = make_shared_bits(4)
    assert X[[1, 2, 3, 0], :2].tolist() == [[-1, 1], [1, -1], [1, 1], [-1, -1]]
    assert np.array_equal(X[:4, 2:], 4 * np.eye(4))
    assert y.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert np.array_equal(X[:4], X[4:])


@pytest.mark.parametrize(
    ("k", "scale"), [(4, "deviation"), (8, "maxabs"), (64, "maxabs"), (1024, "deviation")]
)
def test_shareboost_needs_log2_k_features_on_shared_bits(k, scale):
    X, y = make_shared_bits(k)
    bits = int(math.log2(k))
    clf = ShareBoostClassifier(bits, pool=Columns(scale)).fit(X, y)
    assert sorted(clf.selected_) == list(range(bits))
    assert clf.score(X, y) == 1.0


def n_used(coef):
    """Columns whose largest weight is at least a tenth of the largest of all."""
    weights = np.abs(coef).max(axis=0)
    return int((weights > 0.1 * weights.max()).sum())


@pytest.mark.parametrize("k", [4, 32, 256])
def test_l2_regression_needs_about_k_features_on_shared_bits(k):
    X, y = make_shared_bits(k)
    peer = LogisticRegression(C=1.0, fit_intercept=False, max_iter=1000).fit(X, y)
    assert k <= n_used(peer.coef_) <= X.shape[1]


@pytest.mark.parametrize("k", [4, 16])
def test_l1_regression_needs_k_features_on_shared_bits(k):
    X, y = make_shared_bits(k)
    peer = LogisticRegression(l1_ratio=1.0, C=k, solver="saga", max_iter=5000, fit_intercept=False)
    assert k <= n_used(peer.fit(X, y).coef_) <= X.shape[1]


@pytest.mark.parametrize(("k", "c"), [(4, 3.0), (4, 0.1), (64, 1.0), (1024, 0.1), (1024, 3.0)])
def test_the_l1_minimum_on_shared_bits_is_the_k_indicators(k, c):
    """c W^(f) meets the l1 problem's optimality conditions, each c for its own lambda."""
    X, y = make_shared_bits(k, n_repeats=1)
    bits = X.shape[1] - k
    W = np.hstack([np.zeros((k, bits)), c * np.eye(k)])
    R = (X @ W.T).T
    LogisticLoss().value_and_residual(R, y, np.ones(k))
    gradient = R @ X / k
    penalty = -np.diag(gradient[:, bits:])
    assert np.allclose(penalty, penalty[0])
    assert penalty[0] > 0
    others = np.abs(gradient)
    others[:, bits:][np.eye(k, dtype=bool)] = 0.0
    assert others.max() < penalty[0]


@pytest.mark.parametrize(("k", "c"), [(8, 0.5), (8, 3.0), (64, 1.0)])
def test_the_corollary_holds_on_shared_bits(k, c):
    """With L(c W^(s)) = epsilon, at most 4 r^2 c^2 / epsilon features give a loss of 2 epsilon."""
    X, y = make_shared_bits(k)
    bits = int(math.log2(k))
    scores = c * X[:k, :bits] @ X[:, :bits].T
    epsilon = LogisticLoss().value_and_residual(scores, y, np.ones(2 * k)) / (2 * k)
    n_features = min(corollary(bits, c, epsilon), 3 * bits)  # fewer than allowed, to be strict
    clf = ShareBoostClassifier(n_features, pool=Columns("maxabs"), alpha=0.0).fit(X, y)
    assert clf.path_.losses[-1] <= 2 * epsilon


def test_any_number_of_classes_has_bits():
    X, y = make_shared_bits(5, n_repeats=1)
    assert X.shape == (5, 3 + 5)
    assert len(np.unique(X[:, :3], axis=0)) == 5
    assert make_shared_bits(2)[0].shape == (4, 1 + 2)
    assert y.max() == 4


def test_redundant_blocks_are_copies_with_one_block_zeroed():
    X, y = make_redundant_blocks(5, 8, n_samples=400, zeroed=0.25, random_state=0)
    blocks = X.reshape(400, 5, 3)
    zeroed = (blocks == 0).all(axis=2)
    assert zeroed.sum(axis=1).max() == 1
    assert zeroed.any(axis=1).sum() == 100
    bits = make_shared_bits(8)[0][:, :3]
    assert np.array_equal(blocks[~zeroed], np.repeat(bits[y][:, None], 5, axis=1)[~zeroed])
    again, _ = make_redundant_blocks(5, 8, n_samples=400, zeroed=0.25, random_state=0)
    assert np.array_equal(X, again)


@pytest.mark.parametrize(("n_blocks", "k"), [(2, 64), (5, 16), (20, 4)])
def test_shareboost_needs_one_blocks_worth_on_redundant_blocks(n_blocks, k):
    X, y = make_redundant_blocks(n_blocks, k, n_samples=2000, zeroed=0.1, random_state=1)
    bits = int(math.log2(k))
    clf = ShareBoostClassifier(bits).fit(X, y)
    assert sorted(clf.selected_ % bits) == list(range(bits)), "every bit once"
    wrong = clf.predict(X) != y
    lost = (X[:, clf.selected_] == 0).any(axis=1)
    assert not (wrong & ~lost).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_shared_bits(1), "n_classes=1 .* at least 2"),
        (lambda: make_shared_bits(4.0), "n_classes=4.0 .* integer"),
        (lambda: make_shared_bits(4, 0), "n_repeats=0 .* at least 1"),
        (lambda: make_redundant_blocks(0, 4), "n_blocks=0"),
        (lambda: make_redundant_blocks(2, 1), "n_classes=1"),
        (lambda: make_redundant_blocks(2, 4, 0), "n_samples=0"),
        (lambda: make_redundant_blocks(2, 4, zeroed=1.5), "zeroed=1.5 .* from 0 to 1"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="name='cifar' .*'mnist'"):
        load_dataset("cifar")


def test_load_dataset_reads_the_folder_of_the_environment(tmp_path, monkeypatch):
    arrays = {"X_train": np.eye(2), "y_train": np.arange(2), "X_test": np.ones((1, 2))}
    np.savez(tmp_path / "chars.npz", **arrays, y_test=np.array([1]))
    monkeypatch.setenv("SHAREBOOST_DATA", str(tmp_path))
    data = load_dataset("chars")
    assert np.array_equal(data.X_train, np.eye(2))
    assert data.y_test.tolist() == [1]
    with pytest.raises(FileNotFoundError, match="chars_img.npz is not in \\$SHAREBOOST_DATA"):
        load_dataset("chars_img")


def test_load_dataset_falls_back_to_openml(monkeypatch):
    monkeypatch.delenv("SHAREBOOST_DATA", raising=False)
    asked = {}

    def fetch(**arguments):
        asked.update(arguments)
        labels = np.array([f"{q % 10}" for q in range(10_992)])
        return np.arange(10_992 * 16, dtype=float).reshape(-1, 16) % 100, labels

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    data = load_dataset("pendigits")
    assert asked["data_id"] == 32
    assert data.X_train.shape == (7494, 16)
    assert data.X_test.shape == (3498, 16)
    assert data.y_train.dtype == data.X_train.dtype == np.uint8


def test_the_data_sets_have_the_published_shapes(data_set):
    isolet = data_set("isolet")
    assert isolet.X_train.shape == (6238, 617)
    assert isolet.X_test.shape == (1559, 617)
    assert len(np.unique(isolet.y_train)) == 26


def test_a_folder_comes_before_the_environment(tmp_path, monkeypatch):
    rows = np.arange(6).reshape(3, 2)
    np.savez(tmp_path / "mnist.npz", X_train=rows, y_train=rows[:, 0], X_test=rows, y_test=rows[0])
    monkeypatch.setenv("SHAREBOOST_DATA", str(tmp_path / "elsewhere"))
    np.testing.assert_array_equal(load_dataset("mnist", tmp_path).X_train, rows)
