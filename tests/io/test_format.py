"""The format as it is documented: another reader gets the same scores from it."""

import zlib

import naive_model_file
import numpy as np
import pytest
from every_pool import POOLS_TO_TEST, classifier, some_digits

from shareboost.io.model_file import content_of

X, Y, _, _ = some_digits()


@pytest.mark.parametrize("name", POOLS_TO_TEST)
def test_a_reader_in_plain_python_gets_the_same_scores(name, fitted_model):
    clf, rows = fitted_model(name), X[:5]
    models = ((clf, False), (clf.at(2), True), (clf.at(0), True))
    for model, whole_path in models:
        found = naive_model_file.scores(content_of(model, whole_path), rows.tolist())
        np.testing.assert_allclose(found, model.decision_function(rows), rtol=1e-4, atol=1e-5)


def test_the_model_of_a_whole_path_may_use_some_of_its_features_alone():
    clf = classifier(8, "columns", swap=True, n_iter_no_change=2, random_state=0).fit(X, Y)
    assert clf.selected_.size < clf.path_.features.ids.size
    found = naive_model_file.scores(content_of(clf, True), X[:5].tolist())
    np.testing.assert_allclose(found, clf.decision_function(X[:5]), rtol=1e-6)


def test_the_checksum_is_that_of_all_bytes_after_the_first_line(fitted_model):
    head, rest = content_of(fitted_model("columns"), False).split(b"\n", 1)
    assert b'"crc32":"%08x"' % zlib.crc32(rest) in head
