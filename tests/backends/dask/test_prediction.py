"""Answers to rows of Dask: lazy, and those that the local classifier gives."""

import pickle
import warnings

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask.utils import key_split
from every_pool import classifier, every_pool, some_digits
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from shareboost import ShareBoostClassifier, ShareBoostCV, load_model
from shareboost.predictor import Predictor
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier

METHODS = (
    *("predict", "predict_proba", "predict_log_proba"),
    *("decision_function", "explain", "transform"),
)
every_method = pytest.mark.parametrize("method", METHODS)
CLASSIFIERS = {
    "cv": ShareBoostCV(n_features=4, cv=3),
    "one-vs-rest": OneVsRestGreedyClassifier(6),
    "mixed norm": MixedNormClassifier(path=6),
    "jointboost": JointBoostClassifier(6),
}


@pytest.fixture(scope="module")
def clf(data):
    return ShareBoostClassifier(6).fit(*data)


@pytest.fixture(scope="module")
def frame(data):
    return pd.DataFrame(data[0], columns=[f"pixel {j}" for j in range(64)])


@pytest.fixture
def spread(data):
    return da.from_array(data[0], chunks=(110, -1))


def unknown(X):
    """The same blocks, of lengths that Dask does not know."""
    return da.map_blocks(np.asarray, X, chunks=((np.nan,) * X.numblocks[0], X.chunks[1]))


def refusing(X):
    """An array that cannot be computed."""

    def refuse(block):
        raise AssertionError("a block was computed")

    return X.map_blocks(refuse, meta=X._meta)


def check_answers(clf, X, spread, exact=True):
    """Every answer is a Dask array as it declares itself, of the values of the local one."""
    for method in METHODS:
        # What explains a frame has names, which arrays have not.
        rows = X.to_numpy() if method == "explain" and isinstance(X, pd.DataFrame) else X
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            local = getattr(clf, method)(rows)
        lazy = getattr(clf, method)(spread)
        assert isinstance(lazy, da.Array)
        assert lazy.ndim == local.ndim
        assert lazy.shape[1:] == local.shape[1:]
        assert lazy.dtype == local.dtype
        assert type(lazy._meta) is type(local)
        assert lazy.chunks[1:] == tuple((size,) for size in local.shape[1:])
        assert lazy.name.startswith("shareboost-")
        found = lazy.compute()
        assert type(found) is type(local)
        assert found.dtype == local.dtype
        local, found = (part.toarray() if sp.issparse(part) else part for part in (local, found))
        assert np.array_equal(found, local) if exact else np.allclose(found, local, atol=1e-12)


@every_pool
def test_blocks_of_every_pool_are_answered_as_whole_arrays_are(name):
    X, y, _, _ = some_digits()
    clf = classifier(4, name).fit(X, y)
    check_answers(clf, X, da.from_array(X, chunks=(50, 40)), exact=False)
    rows = sp.csr_array(X)
    check_answers(clf, rows, da.from_array(X, chunks=(50, -1)).map_blocks(sp.csr_array), False)
    for asked in ("staged_predict", "staged_decision_function"):
        lazy = dask.compute(*getattr(clf, asked)(da.from_array(X, chunks=(50, -1))))
        local = list(getattr(clf, asked)(X))
        assert len(lazy) == len(local)
        assert all(np.allclose(*pair, atol=1e-12) for pair in zip(lazy, local, strict=True))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_is_asked_alike(data, spread, name):
    clf = clone(CLASSIFIERS[name]).fit(*data)
    check_answers(clf, data[0], spread, exact=False)
    assert clf.score(spread, data[1]) == clf.score(*data)
    lazy = dask.compute(*clf.staged_decision_function(spread))
    for found, local in zip(lazy, clf.staged_decision_function(data[0]), strict=True):
        assert np.allclose(found, local, atol=1e-12)


def test_a_loaded_model_is_asked_alike(data, spread, clf, tmp_path):
    clf.save(tmp_path / "model.json")
    check_answers(load_model(tmp_path / "model.json"), data[0], spread)


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_any_scheduler_computes_them(data, spread, clf, scheduler):
    found = clf.predict_proba(spread).compute(scheduler=scheduler)
    assert np.array_equal(found, clf.predict_proba(data[0]))


@every_method
def test_nothing_is_computed_before_it_is_asked_for(spread, clf, method):
    lazy = getattr(clf, method)(refusing(spread))
    with pytest.raises(AssertionError, match="a block was computed"):
        lazy.compute()


def test_rounds_are_lazy_and_read_X_once_together(data, clf):
    read = []

    def reading(block):
        read.append(len(block))
        return block

    X = da.from_array(data[0], chunks=(110, -1)).map_blocks(reading, meta=np.empty((0, 0)))
    rounds = list(clf.staged_predict(X))
    assert not read
    found = dask.compute(*rounds)
    assert sorted(read) == [80, 110, 110]
    for lazy, local in zip(found, clf.staged_predict(data[0]), strict=True):
        assert np.array_equal(lazy, local)


def test_chunks_of_rows_stay_and_those_of_columns_are_joined(data, clf):
    X = da.from_array(data[0], chunks=((100, 20, 180), (30, 34)))
    assert clf.predict(X).chunks == ((100, 20, 180),)
    assert clf.predict_proba(X).chunks == ((100, 20, 180), (10,))
    check_answers(clf, data[0], X)


def test_unknown_chunks_stay_unknown(data, spread, clf):
    lazy = clf.predict_proba(unknown(spread))
    assert np.isnan(lazy.chunks[0]).all()
    assert lazy.chunks[1] == (10,)
    check_answers(clf, data[0], unknown(spread))
    check_answers(clf, data[0], unknown(spread.rechunk((110, 32))))
    for found, local in zip(
        dask.compute(*clf.staged_decision_function(unknown(spread))),
        clf.staged_decision_function(data[0]),
        strict=True,
    ):
        assert np.array_equal(found, local)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_array])
def test_sparse_blocks_give_what_sparse_rows_give(data, spread, clf, kind):
    check_answers(clf, kind(data[0]), spread.map_blocks(kind))
    check_answers(clf, kind(data[0]), spread.rechunk((110, 30)).map_blocks(kind))


def test_sparse_blocks_that_are_declared_dense_give_dense_columns(data, spread, clf):
    X = spread.map_blocks(sp.csr_array, meta=np.empty((0, 0)))
    assert np.array_equal(clf.transform(X).compute(), clf.transform(data[0]))


def test_blocks_of_tensors_are_answered_in_numpy(data, spread, clf):
    torch = pytest.importorskip("torch")
    X = spread.map_blocks(torch.as_tensor)
    check_answers(clf, data[0], X, exact=False)
    assert clf.score(X, data[1]) == clf.score(*data)
    with pytest.raises(ValueError, match="2 chunks of columns and blocks of Tensor"):
        clf.predict(spread.rechunk((110, 32)).map_blocks(torch.as_tensor))


def test_frames_are_answered_by_their_columns(data, frame):
    clf = ShareBoostClassifier(6).fit(frame, data[1])
    X = dd.from_pandas(frame, npartitions=3)
    check_answers(clf, frame, X)
    assert np.isnan(clf.predict(X).chunks[0]).all()
    for found, local in zip(
        dask.compute(*clf.staged_predict(X)), clf.staged_predict(frame), strict=True
    ):
        assert np.array_equal(found, local)


def test_columns_of_several_types_are_read_as_pandas_gives_them(data, frame):
    some = frame.astype({f"pixel {j}": np.float32 for j in range(30)})
    some = some.astype({"pixel 40": np.int64, "pixel 41": np.uint8})
    clf = ShareBoostClassifier(6).fit(some, data[1])
    check_answers(clf, some, dd.from_pandas(some, npartitions=3))
    short = frame.astype(np.float32)
    check_answers(clf, short, dd.from_pandas(short, npartitions=2))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_types_of_columns_are_declared_as_they_come(data, spread, clf, dtype):
    check_answers(clf, data[0].astype(dtype), spread.astype(dtype))


def test_blocks_of_two_precisions_come_in_the_declared_one(data, clf):
    parts = [data[0][:100].astype(np.float32), data[0][100:]]
    X = da.concatenate([da.from_array(part, chunks=-1) for part in parts])
    mixed = da.map_blocks(
        lambda block, block_id: block.astype(np.float32 if block_id[0] else np.float64),
        X,
        block_id=None,
        meta=np.empty((0, 0)),
    )
    for rows in (X, mixed):
        found = clf.transform(rows)
        assert found.dtype == found.compute().dtype == np.float64
        assert np.array_equal(found.compute(), clf.transform(data[0]))
        assert np.array_equal(clf.predict(rows).compute(), clf.predict(data[0]))


def test_a_model_without_any_feature_answers_too(data, spread):
    clf = MixedNormClassifier(path=6).fit(*data).at(0)
    assert clf.transform(spread).shape == (300, 0)
    check_answers(clf, data[0], spread)


def test_the_dashboard_tells_what_was_asked_for(spread, clf):
    shown = [key_split(getattr(clf, method)(spread).name) for method in METHODS]
    shown += [key_split(next(clf.staged_predict(spread)).name)]
    shown += [key_split(next(clf.staged_decision_function(spread)).name)]
    assert shown == [
        "shareboost-predict",
        "shareboost-proba",
        "shareboost-log-proba",
        "shareboost-decisions",
        "shareboost-explain",
        "shareboost-transform",
        "shareboost-staged-predict",
        "shareboost-staged-decisions",
    ]


def test_two_classes_have_one_column_of_scores(data):
    X, y = data[0][data[1] < 2], data[1][data[1] < 2]
    clf = ShareBoostClassifier(2).fit(X, y)
    spread = da.from_array(X, chunks=(30, -1))  # a block of one row would be rounded otherwise
    check_answers(clf, X[:60], spread[:60])
    assert clf.decision_function(spread).ndim == 1
    for found in clf.staged_decision_function(spread):
        assert found.chunks == clf.decision_function(spread).chunks


@pytest.mark.parametrize("dtype", [str, object])
def test_labels_of_text_come_back(data, spread, dtype):
    y = np.array(["zero", "one", "several"])[np.minimum(data[1], 2)].astype(dtype)
    clf = ShareBoostClassifier(3).fit(data[0], y)
    check_answers(clf, data[0], spread)
    assert clf.score(spread, da.from_array(y, chunks=70)) == clf.score(data[0], y)
    *_, last = clf.staged_predict(spread)
    assert last.dtype == clf.classes_.dtype
    assert np.array_equal(last.compute(), clf.predict(data[0]))


def test_blocks_without_rows_have_answers_without_rows(data, frame, clf):
    X = da.from_array(data[0], chunks=((100, 0, 200, 0), -1))
    check_answers(clf, data[0], X)
    check_answers(clf, sp.csr_array(data[0]), X.map_blocks(sp.csr_array))
    assert clf.score(X, data[1]) == clf.score(*data)
    named = ShareBoostClassifier(3).fit(frame, data[1])
    in_order = frame.sort_values("pixel 20", ignore_index=True)
    some = dd.from_pandas(in_order, npartitions=4)
    kept = some[some["pixel 20"] > in_order["pixel 20"][100]]  # no row of the first partition
    local = in_order[in_order["pixel 20"] > in_order["pixel 20"][100]]
    check_answers(named, local, kept, exact=False)
    for found in clf.staged_predict(X[:0]):
        assert found.compute().shape == (0,)


def test_blocks_are_checked_with_the_words_for_arrays(data, clf):
    X = data[0].copy()
    X[150, 3] = np.nan
    with pytest.raises(ValueError, match="NaN") as local:
        clf.predict(X)
    lazy = clf.predict(da.from_array(X, chunks=(100, -1)))
    with pytest.raises(ValueError, match="NaN") as found:
        lazy.compute()
    assert str(found.value) == str(local.value)


def test_stumps_take_gaps_in_blocks_too(data):
    X = data[0].copy()
    X[::7, 20] = np.nan
    clf = ShareBoostClassifier(4, pool="stumps").fit(X, data[1])
    check_answers(clf, X, da.from_array(X, chunks=(100, -1)))


@every_method
def test_other_columns_are_refused_before_anything_is_computed(data, spread, frame, clf, method):
    named = ShareBoostClassifier(3).fit(frame, data[1])
    renamed = frame.rename(columns={frame.columns[named.columns_[0]]: "no pixel"})
    for model, local, lazy in (
        (clf, data[0][:, :9], refusing(spread[:, :9])),
        (named, renamed, dd.from_pandas(renamed, npartitions=2)),
        (named, frame.iloc[:, :9], dd.from_pandas(frame.iloc[:, :9], npartitions=2)),
    ):
        with pytest.raises(ValueError, match="feature") as expected:
            getattr(model, method)(local)
        with pytest.raises(ValueError, match="feature") as found:
            getattr(model, method)(lazy)
        assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("pool", ["columns", "stumps"])
def test_frames_with_the_columns_that_are_read_are_enough(data, frame, pool):
    named = ShareBoostClassifier(3, pool=pool).fit(frame, data[1])
    few = frame.iloc[:, named.columns_[::-1]].assign(label="text")
    lazy = dd.from_pandas(few, npartitions=2)
    for method in ("predict", "predict_proba", "decision_function", "transform", "explain"):
        found = getattr(named, method)(lazy).compute()
        assert np.array_equal(found, np.asarray(getattr(named, method)(frame)).reshape(found.shape))
    staged = zip(named.staged_predict(lazy), named.staged_predict(frame), strict=True)
    assert all(np.array_equal(one.compute(), two) for one, two in staged)
    assert named.score(lazy, data[1]) == named.score(frame, data[1])


def test_a_warning_about_names_is_given_once_and_not_by_blocks(data, spread, frame, clf):
    named = ShareBoostClassifier(3).fit(frame, data[1])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        of_array = named.predict(spread)
    with pytest.warns(UserWarning, match="X has feature names"):
        of_frame = clf.predict(dd.from_pandas(frame, npartitions=2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(of_array.compute(), named.predict(frame))
        assert np.array_equal(of_frame.compute(), clf.predict(data[0]))


def test_what_is_no_table_is_refused(spread, frame, clf):
    for X, words in (
        (spread[:, 0], "Array of 1 dimensions"),
        (dd.from_pandas(frame, npartitions=2)["pixel 3"], "Series"),
        (dask.delayed(frame), "Delayed"),
    ):
        with pytest.raises(ValueError, match=f"X is Dask's {words}.*it takes its arrays"):
            clf.predict(X)
    with pytest.raises(ValueError, match="unknown number of columns.*compute_chunk_sizes()"):
        clf.predict(spread[:, spread.sum(axis=0) > 0])
    with pytest.raises(NotFittedError):
        ShareBoostClassifier(3).predict(spread)


def test_lazy_columns_are_not_put_into_a_frame(spread, clf):
    framing = pickle.loads(pickle.dumps(clf)).set_output(transform="pandas")
    with pytest.raises(ValueError, match="'pandas' of set_output.*would compute"):
        framing.transform(spread)


@every_method
def test_the_model_is_sent_once_and_without_its_training(data, spread, clf, method):
    clf = pickle.loads(pickle.dumps(clf)).set_params(costs=np.ones(50_000), checkpoint=None)
    (lazy,) = dask.optimize(getattr(clf, method)(spread.rechunk((10, -1))))
    sizes = {
        str(key): len(cloudpickle.dumps(task))
        for key, task in dict(lazy.__dask_graph__()).items()
        if "shareboost" in str(key)
    }
    models = [key for key in sizes if "shareboost-model" in key]
    assert len(models) == 1
    assert sizes.pop(models[0]) < 10_000
    # Rows of Dask's that lie in this process are fused with the tasks that read them.
    assert max(sizes.values()) < 10_000 + 10 * data[0].itemsize * 64


def test_a_later_fit_leaves_lazy_answers_as_they_are(data, spread):
    clf = ShareBoostClassifier(3).fit(*data)
    before, lazy = clf.predict(data[0]), clf.predict(spread)
    assert clf.predict(spread).name == lazy.name
    clf.fit(data[0], 9 - data[1])
    assert clf.predict(spread).name != lazy.name
    assert np.array_equal(lazy.compute(), before)


def test_methods_that_are_overridden_are_applied_once(data, spread):
    class Shifted(ShareBoostClassifier):
        def predict(self, X):
            return super().predict(X) + 1

    clf = Shifted(3).fit(*data)
    assert np.array_equal(clf.predict(spread).compute(), Predictor.predict(clf, data[0]) + 1)
