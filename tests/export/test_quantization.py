"""The loss of quantised weights is measured and stated."""

import numpy as np
import pytest
import scipy.sparse as sp
from exported_pools import every_form

from shareboost import ShareBoostClassifier
from shareboost.export import quantization_loss, to_c


@every_form
def test_quantised_weights_keep_the_accuracy_of_every_pool(name, fitted_model, digits):
    X, y = digits[0][500:], digits[1][500:]
    clf = fitted_model(name)
    exact = quantization_loss(clf, X, y, weights="float32")
    assert (exact.changed, exact.loss) == (0, 0.0)
    assert exact.accuracy == pytest.approx(clf.score(X, y))
    assert quantization_loss(clf, X[:500], y[:500], weights="int16").changed <= 2
    coarse = quantization_loss(clf, X, y, weights="int8")
    assert coarse.changed < 0.03 * coarse.n_samples
    assert coarse.loss < 0.01


def test_frames_and_sparse_rows_are_measured_too(digits):
    pandas = pytest.importorskip("pandas")
    X, y = digits[0][:600], digits[1][:600]
    frame = pandas.DataFrame(X, columns=[f"pixel {i}" for i in range(64)])
    clf = ShareBoostClassifier(5).fit(frame, y)
    found = quantization_loss(clf, frame, pandas.Series(y))
    clf = ShareBoostClassifier(5).fit(X, y)
    assert quantization_loss(clf, sp.csr_array(X), y) == quantization_loss(clf, X, y) == found


def test_labels_of_another_shape_are_refused(fitted_model, digits):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        quantization_loss(fitted_model("columns"), digits[0], digits[1][:5])
    with pytest.raises(ValueError, match="weights='int4'"):
        quantization_loss(fitted_model("columns"), digits[0], digits[1], weights="int4")


def test_small_weights_take_less(fitted_model):
    sizes = [len(to_c(fitted_model("pieces"), weights=w)) for w in ("float32", "int16", "int8")]
    assert np.all(np.diff(sizes) < 0)
