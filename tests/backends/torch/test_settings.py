"""What torch and scikit-learn are set to neither changes a fit nor is changed by it."""

import os
import subprocess
import sys

import numpy as np
import pytest

from shareboost import ShareBoostClassifier

torch = pytest.importorskip("torch")


def test_what_torch_was_set_to_is_left_so(device, data):
    before = torch.backends.cuda.matmul.allow_tf32, torch.is_grad_enabled()
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        ShareBoostClassifier(3, device=device).fit(*data)
        assert torch.backends.cuda.matmul.allow_tf32
        assert torch.is_grad_enabled() == before[1]
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before[0]


def test_autocast_does_not_reach_into_a_fit(tensor, data):
    X, y = tensor(data[0].astype(np.float32)), data[1]
    truth = ShareBoostClassifier(4).fit(X, y)
    with torch.autocast(X.device.type):
        found = ShareBoostClassifier(4).fit(X, y)
    assert np.array_equal(found.weights_, truth.weights_)


def test_predictions_are_as_precise_as_fits(tensor, data):
    X, y = data
    rows = tensor(X.astype(np.float32))
    clf = ShareBoostClassifier(4).fit(rows, y)
    truth = clf.decision_function(rows), list(clf.staged_decision_function(rows))[-1]
    with torch.autocast(rows.device.type):
        found = clf.decision_function(rows), clf.transform(rows)
    assert torch.equal(found[0], truth[0])
    assert found[1].dtype == torch.float32


def test_settings_of_a_whole_process_change_nothing_and_are_left(device):
    """Torch's newer setting of precision, and scikit-learn's dispatch on arrays."""
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
    assert np.array_equal(clf.weights_, truth.weights_)
    assert clf.score(rows, y[:200]) == truth.score(rows, y[:200])
    ShareBoostClassifier(3, validation_fraction=0.2, random_state=0).fit(rows, y[:200])
products = torch.backends.cuda.matmul
if hasattr(products, "fp32_precision"):  # an older torch has the older setting alone
    products.fp32_precision = "tf32"
    ShareBoostClassifier(2).fit(rows, y[:200])
    assert products.fp32_precision == "tf32"
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
