import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from shareboost import ShareBoostClassifier
from shareboost.backends.input import INPUT
from shareboost.dataset import GivenSample


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, sp.csr_array])
@pytest.mark.parametrize("rows", [[4, 0, 0], [True, False, False, True, True]])
def test_rows_labels_and_weights_are_taken_together(make, rows):
    X, y, weight = np.arange(10.0).reshape(5, 2), np.array(list("abcde")), np.arange(5.0)
    taken = GivenSample(make(X), y, weight).take(np.array(rows))
    as_array = taken.X.toarray() if sp.issparse(taken.X) else np.asarray(taken.X)
    assert type(taken.X) is type(make(X))
    assert np.array_equal(as_array, X[rows])
    assert np.array_equal(taken.y, y[rows])
    assert np.array_equal(taken.weight, weight[rows])


def test_rows_without_weights_all_count_and_stay_without():
    sample = GivenSample(np.ones((3, 1)), np.arange(3), None)
    assert sample.counted.tolist() == [True, True, True]
    assert sample.take(np.array([1])).weight is None
    assert sample._replace(weight=np.array([0.0, 0.5, 1.0])).counted.tolist() == [False, True, True]


def test_rows_stay_as_given_where_some_can_be_taken():
    checked = ShareBoostClassifier()
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    assert INPUT.given_sample(checked, frame, ["x", "y"], None).X is frame
    assert checked.feature_names_in_.tolist() == ["a", "b"]
    assert isinstance(
        INPUT.given_sample(checked, sp.coo_array(frame), [0, 1], None).X, sp.csr_array
    )
    sample = INPUT.given_sample(checked, frame.to_numpy().tolist(), pd.Series([0, 1]), [1, 4])
    assert np.array_equal(sample.X, frame)
    assert sample.y.tolist() == [0, 1]
    assert sample.weight.tolist() == [1.0, 4.0]


def test_rows_labels_and_weights_are_checked():
    X = np.ones((2, 2))
    for arguments, message in [
        ((X * np.nan, [0, 1], None), "NaN, which this pool does not take"),
        ((X, [0, "a"], None), "y mixes text and numbers"),
        ((X, [0], None), "X and y differ in length"),
        ((X, [0, 1], [-1, 1]), "sample_weight has negative"),
    ]:
        with pytest.raises(ValueError, match=message):
            INPUT.given_sample(ShareBoostClassifier(), *arguments)
    INPUT.given_sample(ShareBoostClassifier(pool="stumps"), X * np.nan, [0, 1], None)
