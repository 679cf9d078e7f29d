import numpy as np
import pytest

from shareboost.datasets import load_dataset


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
