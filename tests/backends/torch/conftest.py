"""Where the tests of this folder compute.

``SHAREBOOST_TEST_DEVICE=cuda python -m pytest tests/backends/torch`` runs them on a GPU.
"""

import os
import warnings

import pytest
from sklearn.datasets import load_digits

torch = pytest.importorskip("torch")
# For small tensors further threads do nothing but wait, long on a machine with other work.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def device():
    """The device under test, as a user names it: torch's processor unless asked otherwise."""
    return os.environ.get("SHAREBOOST_TEST_DEVICE", "cpu")


@pytest.fixture(scope="session")
def compressed():
    """A function that makes compressed rows of a dense tensor.

    What torch says once of them, as a user sees it who makes them, is said here.
    """

    def make(X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return X.to_sparse_csr()

    return make


@pytest.fixture(scope="session")
def torch_has_warned(compressed, device):
    """After torch's warnings of sparse tensors, which come once: see ``test_input`` for these."""
    rows = compressed(torch.eye(3, device=device))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows.to_sparse_csc()
        torch.sparse_csr_tensor(rows.crow_indices(), rows.col_indices(), rows.values(), rows.shape)


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

    monkeypatch.setattr("shareboost.backends.torch.backend.TorchBackend.rows", rows)
