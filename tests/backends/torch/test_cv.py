"""Cross-validation of fits on a device."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier, ShareBoostCV

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


def make(scoring=None, device=None):
    return ShareBoostCV(ShareBoostClassifier(4, device=device), cv=3, scoring=scoring)


@pytest.mark.parametrize(
    ("scoring", "as_tensor"), [(None, False), (None, True), ("neg_log_loss", True)]
)
def test_folds_choose_what_they_choose_in_numpy(scoring, as_tensor, device, data):
    X, y = data
    truth = make(scoring=scoring).fit(X, y)
    if as_tensor:
        rows = torch.tensor(X, device=device)
        found = make(scoring=scoring).fit(rows, torch.tensor(y, device=device))
        assert found.predict(rows).device == rows.device
    else:
        found = make(scoring=scoring, device=device).fit(X, y)
    assert found.best_n_features_ == truth.best_n_features_
    scores = found.cv_results_["mean_test_score"], truth.cv_results_["mean_test_score"]
    assert np.allclose(*scores, atol=1e-5)
    assert np.array_equal(found.selected_, truth.selected_)
    assert np.array_equal(found.predict(X), truth.predict(X))


def test_weights_may_be_tensors(device, data):
    X, y = data
    weight = np.random.default_rng(0).uniform(0.1, 2.0, size=300)
    rows, own = torch.tensor(X, device=device), torch.tensor(weight, device=device)
    found, truth = make().fit(rows, y, own), make().fit(X, y, weight)
    assert np.allclose(found.best_score_, truth.best_score_, atol=1e-5)
