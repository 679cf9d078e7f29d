"""Runs exported ONNX models under ONNX Runtime."""

import numpy as np
from exported_pools import assert_near

from shareboost.export import to_onnx


def session(model):
    """Return a session of a model, one thread, on the processor."""
    import onnxruntime  # which not everyone has who runs the tests of other formats

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def assert_onnx_answers(models, X, folder=None, **arguments):
    """Check scores to 1e-5 of a row's largest one, probabilities, and the class of every row."""
    X = np.asarray(X, dtype=np.float32)
    for clf in models:
        model = to_onnx(clf, **arguments)
        assert [opset.domain for opset in model.opset_import] == [""]
        label, probabilities, scores = session(model).run(None, {"X": X})
        truth = clf._scores(X)
        assert scores.dtype == np.float32
        assert scores.shape == truth.shape
        assert_near(scores, truth)
        np.testing.assert_array_equal(label, clf.predict(X))
        np.testing.assert_allclose(probabilities, clf.predict_proba(X), rtol=1e-3, atol=1e-6)
