"""Explanations of tensors: tensors of their device, of the values that it computes."""

import numpy as np
import pytest
from every_pool import classifier, every_kind

from shareboost import ShareBoostClassifier

torch = pytest.importorskip("torch")


@every_kind
def test_tensors_are_explained_where_they_are(name, tensor, device, data):
    X, y = data
    clf = classifier(3, name).fit(X, y)
    found = clf.explain(tensor(X))
    assert isinstance(found, torch.Tensor)
    assert found.device.type == torch.device(device).type
    assert found.dtype == torch.float64
    model, columns = clf._model(), clf._path_columns(tensor(X)).cpu().numpy()
    starts = np.cumsum(model.features.widths) - model.features.widths
    expected = np.add.reduceat(columns[:, None] * model.weights, starts, axis=2)
    np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-12, atol=1e-12)
    sums = found.sum(dim=2) + torch.as_tensor(clf._model().intercept, device=device)
    assert torch.allclose(sums, clf.decision_function(tensor(X)), atol=1e-10)


@pytest.mark.usefixtures("torch_has_warned")
def test_compressed_rows_and_two_classes_are_explained_too(tensor, compressed, data):
    X, y = data[0][data[1] < 2], data[1][data[1] < 2]
    clf = ShareBoostClassifier(3).fit(X, y)
    found = clf.explain(compressed(tensor(X)))
    assert found.shape == (len(X), 3)
    np.testing.assert_allclose(found.cpu().numpy(), clf.explain(X), rtol=1e-12)
