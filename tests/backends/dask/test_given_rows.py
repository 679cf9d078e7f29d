"""Some rows of Dask's arrays and frames, and all of them in NumPy's."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import get_scorer

from shareboost import ShareBoostClassifier
from shareboost.cv_folds import FoldClassifier
from shareboost.dataset import GivenSample
from shareboost.inputs import on_host, rows_of


@pytest.fixture
def spread(data):
    return da.from_array(data[0], chunks=(110, 40))


def refusing(X):
    def refuse(block):
        raise AssertionError("a block was computed")

    return X.map_blocks(refuse, meta=X._meta)


INDEX = np.array([0, 3, 3, 109, 110, 218, 299])
ROWS = {
    "some of each block": INDEX,
    "none of the second": np.array([5, 7, 220, 221]),
    "all": np.arange(300),
    "none": np.empty(0, dtype=np.intp),
    "mask": np.arange(300) % 7 == 0,
}
every_choice = pytest.mark.parametrize("name", ROWS)


@every_choice
def test_rows_of_arrays_stay_lazy_and_in_their_blocks(data, spread, name):
    X, rows = data[0], ROWS[name]
    assert rows_of(refusing(spread), rows).shape == X[rows].shape
    found = rows_of(spread, rows)
    assert np.array_equal(found.compute(), X[rows])
    places = np.flatnonzero(rows) if rows.dtype == bool else rows
    counts = np.bincount(places // 110, minlength=3)
    assert found.chunks[0] == (tuple(counts[counts > 0]) or (0,))
    labels = rows_of(da.from_array(data[1], chunks=110), rows)
    assert np.array_equal(labels.compute(), data[1][rows])
    compressed = rows_of(spread.map_blocks(sp.csr_array), rows)
    assert isinstance(compressed._meta, sp.csr_array)
    assert np.array_equal(compressed.compute().toarray(), X[rows])


@every_choice
def test_rows_of_frames_stay_lazy_and_in_their_partitions(data, name):
    frame, rows = pd.DataFrame(data[0]).rename(columns=str), ROWS[name]
    found = rows_of(dd.from_pandas(frame, npartitions=4), rows)
    assert isinstance(found, dd.DataFrame)
    pd.testing.assert_frame_equal(
        found.compute(), frame[rows] if name == "mask" else frame.iloc[rows]
    )
    column = rows_of(dd.from_pandas(frame["3"], npartitions=4), rows)
    assert np.array_equal(column.compute(), frame["3"].to_numpy()[rows])


def test_rows_of_tensors_are_taken_in_their_blocks(data, spread):
    torch = pytest.importorskip("torch")
    X = spread.rechunk((110, -1)).map_blocks(torch.as_tensor)
    assert np.array_equal(on_host(rows_of(X, INDEX)), data[0][INDEX])


def test_rows_of_unknown_lengths_are_refused(spread):
    unknown = spread[spread[:, 20] > 0]
    with pytest.raises(ValueError, match=r"unknown lengths.*X.compute_chunk_sizes\(\)"):
        rows_of(unknown, INDEX)


def test_a_sample_keeps_labels_beside_rows_of_any_order(data, spread):
    X, y = data
    shuffled = np.random.default_rng(0).permutation(300)[:90]
    found = GivenSample(spread, y, y.astype(float)).take(shuffled)
    assert np.array_equal(found.X.compute(), X[np.sort(shuffled)])
    assert np.array_equal(found.y, y[np.sort(shuffled)])
    assert np.array_equal(found.weight, found.y)


def test_values_of_dask_are_computed_for_the_host(data, spread):
    X, y = data
    assert isinstance(on_host(spread), np.ndarray)
    assert np.array_equal(on_host(spread), X)
    series = on_host(dd.from_pandas(pd.Series(y), npartitions=2))
    assert np.array_equal(series, y)


def test_labels_and_weights_of_dask_train_on_local_rows(data):
    X, y = data
    weight = 1.0 + y % 2
    local = ShareBoostClassifier(3).fit(X, y, weight)
    labels = dd.from_pandas(pd.Series(y), npartitions=2)
    for given in (da.from_array(y, chunks=70), labels):
        clf = ShareBoostClassifier(3).fit(X, given, da.from_array(weight, chunks=70))
        assert np.array_equal(clf.weights_, local.weights_)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc_ovr", "f1_macro"])
def test_scorers_of_a_fold_read_numpys_arrays(data, spread, scoring):
    X, y = data
    clf = FoldClassifier(3).fit(X, y)
    scorer = get_scorer(scoring)
    local = [scorer(round_, X, y) for round_ in clf.rounds(X)]
    assert np.allclose([scorer(round_, spread, y) for round_ in clf.rounds(spread)], local)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert isinstance(getattr(clf, method)(spread), np.ndarray)


def test_a_fold_reads_its_rows_once(data):
    X, y = data
    read = []

    def reading(block):
        read.append(len(block))
        return block

    spread = da.from_array(X, chunks=(110, -1)).map_blocks(reading, meta=np.empty((0, 0)))
    scorer = get_scorer("accuracy")
    scores = [scorer(round_, spread, y) for round_ in FoldClassifier(4).fit(X, y).rounds(spread)]
    assert len(scores) == 4
    assert sorted(read) == [80, 110, 110]
