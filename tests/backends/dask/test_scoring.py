"""The accuracy on rows of Dask: that of the local rows."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from shareboost import ShareBoostClassifier


@pytest.fixture(scope="module")
def clf(data):
    return ShareBoostClassifier(4).fit(*data)


@pytest.fixture
def spread(data):
    return da.from_array(data[0], chunks=(110, -1))


@pytest.fixture(scope="module")
def weight(data):
    return np.random.default_rng(0).uniform(0, 2, size=len(data[1]))


def unknown(values):
    """The same blocks, of lengths that Dask does not know."""
    chunks = ((np.nan,) * values.numblocks[0], *values.chunks[1:])
    return da.map_blocks(np.asarray, values, chunks=chunks)


def test_labels_may_lie_anywhere(data, clf, spread):
    X, y = data
    local = clf.score(X, y)
    assert isinstance(clf.score(spread, y), float)
    for labels in (y, y.tolist(), pd.Series(y), da.from_array(y, chunks=110)):
        assert clf.score(spread, labels) == local
    assert clf.score(spread, da.from_array(y, chunks=40)) == local
    assert clf.score(X, da.from_array(y, chunks=40)) == local


def test_weights_count_as_they_do_locally(data, clf, spread, weight):
    X, y = data
    local = clf.score(X, y, weight)
    assert local != clf.score(X, y)
    for weights in (weight, da.from_array(weight, chunks=110), da.from_array(weight, chunks=31)):
        assert clf.score(spread, y, weights) == pytest.approx(local, rel=1e-12)
        labels = da.from_array(y, chunks=70)
        assert clf.score(spread, labels, weights) == pytest.approx(local, rel=1e-12)
    assert clf.score(X, y, da.from_array(weight, chunks=50)) == pytest.approx(local, rel=1e-12)


def test_rows_of_unknown_number_are_scored(data, clf, spread, weight):
    X, y = data
    rows, labels = unknown(spread), unknown(da.from_array(y, chunks=110))
    assert clf.score(rows, labels) == clf.score(rows, y) == clf.score(spread, labels)
    assert clf.score(rows, labels) == clf.score(X, y)
    weights = da.from_array(weight, chunks=110)
    assert clf.score(rows, labels, weights) == pytest.approx(clf.score(X, y, weight), rel=1e-12)
    assert clf.score(rows, y, weight) == pytest.approx(clf.score(X, y, weight), rel=1e-12)


def test_frames_are_scored_by_their_partitions(data, weight):
    X, y = pd.DataFrame(data[0]).rename(columns=str), pd.Series(data[1]).map(str)
    clf = ShareBoostClassifier(4).fit(X, y)
    frame = dd.from_pandas(X.assign(label=y, weight=weight), npartitions=3)
    rows = frame[list(X.columns)]
    assert clf.score(rows, frame["label"]) == clf.score(X, y)
    assert clf.score(rows, y) == clf.score(X, y)
    found = clf.score(rows, frame["label"], frame["weight"])
    assert found == pytest.approx(clf.score(X, y, weight), rel=1e-12)


def test_no_prediction_comes_back_but_sums(clf, spread, data, monkeypatch):
    fetched = []

    def compute(*values):
        found = real(*values)
        fetched.extend(found)
        return found

    from shareboost.backends.dask import input

    real = input.compute
    monkeypatch.setattr(input, "compute", compute)
    clf.score(spread, da.from_array(data[1], chunks=110))
    assert len(fetched) == 3
    assert all(len(sums) == 2 and all(isinstance(one, float) for one in sums) for sums in fetched)


def test_labels_of_other_rows_are_refused(data, clf, spread):
    y = data[1]
    for labels in (y[:-1], da.from_array(y[:-1], chunks=110)):
        with pytest.raises(
            ValueError, match=r"X and y differ in length: X has 300 rows, y the shape \(299,\)"
        ):
            clf.score(spread, labels)
    with pytest.raises(ValueError, match="X and sample_weight differ in length"):
        clf.score(spread, y, np.ones(7))
    with pytest.raises(ValueError, match=r"X has 3 blocks and y 8.*compute_chunk_sizes\(\)"):
        clf.score(spread, unknown(da.from_array(y, chunks=40)))
    with pytest.raises(ValueError, match="X has 3 blocks and y 2"):
        clf.score(spread, dd.from_pandas(pd.Series(y), npartitions=2))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clf.score(spread, unknown(da.from_array(y, chunks=(100, 100, 100))))


def test_labels_of_another_type_have_the_local_words(data, clf, spread):
    text = data[1].astype(str)
    with pytest.raises((TypeError, ValueError)) as local:
        clf.score(data[0], text)
    with pytest.raises(type(local.value)) as found:
        clf.score(spread, da.from_array(text, chunks=110))
    assert str(found.value) == str(local.value)


def test_rows_without_any_weight_are_refused(data, clf, spread):
    with pytest.raises(ValueError, match="at least one row of positive weight"):
        clf.score(spread, data[1], np.zeros(300))


def test_a_block_without_weight_does_not_count(data, clf, spread, weight):
    some = np.where(np.arange(300) < 150, 0.0, weight)
    local = clf.score(*data, some)
    assert clf.score(spread, data[1], some) == pytest.approx(local, rel=1e-12)
