"""Blocks of unlike sizes and types, and what is refused before anything is fitted."""

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cluster_parity import SIZES, assert_alike, spread
from sklearn.exceptions import DataConversionWarning

from shareboost import ShareBoostClassifier
from shareboost.backends.dask.executor import ClusterError

CUTS = np.cumsum(SIZES)[:-1]


@pytest.fixture
def X(data):
    return data[0]


@pytest.fixture
def y(data):
    return data[1] % 3


def new():
    return ShareBoostClassifier(2, alpha=1e-2)


def joined(blocks):
    """Return blocks as one array, declared as float64, whatever they are."""
    parts = [
        da.from_delayed(dask.delayed(block, traverse=False), block.shape, meta=np.empty(()))
        for block in blocks
    ]
    return da.concatenate(parts)


def test_blocks_of_unlike_types_are_read_as_their_common_type(client, X, y):
    first, *others = np.split(X, CUTS)
    alike = np.concatenate([first.astype(np.float32), *others])
    assert_alike(
        new().fit(joined([first.astype(np.float32), *others]), spread(y)), new().fit(alike, y)
    )
    narrow = joined([block.astype(np.float32) for block in (first, *others)])
    clf, local = new().fit(narrow, spread(y)), new().fit(X.astype(np.float32), y)
    assert_alike(clf, local)
    assert np.array_equal(clf.weights_, local.weights_)


@pytest.mark.parametrize("kind", [np.int16, bool, object, np.float16])
def test_numbers_of_any_type_are_fitted_as_locally(client, X, y, kind):
    X = X > 4 if kind is bool else X.astype(kind)
    assert_alike(new().fit(spread(X), spread(y)), new().fit(X, y))


def test_a_class_may_be_missing_from_most_blocks(client, X, data):
    labels = np.sort(data[1])
    assert_alike(new().fit(spread(X), spread(labels)), new().fit(X, labels))


def test_blocks_may_be_of_unknown_sizes(client, X, y):
    kept, mask = X[:, 10] > 2, spread(X)[:, 10] > 2
    local = new().fit(X[kept], y[kept])
    assert_alike(new().fit(spread(X)[mask], spread(y)[mask]), local)
    with pytest.raises(ValueError, match=r"unknown lengths.*X.compute_chunk_sizes\(\).* give y"):
        new().fit(spread(X)[mask], y[kept])
    other = spread(y).rechunk(25)[mask.rechunk(25)]
    with pytest.raises(ValueError, match="X has 4 blocks and y 12, of sizes that are not known"):
        new().fit(spread(X)[mask], other)
    with pytest.raises(ValueError, match="a block of X has .* rows, that of y 120 labels"):
        new().fit(spread(X)[mask], spread(y))


def test_labels_may_lie_in_other_blocks_or_here(client, X, y):
    local = new().fit(X, y)
    series = dd.from_pandas(pd.Series(y), npartitions=3)
    thirds = da.from_array(X, chunks=(100, -1))
    for rows, labels in [
        (spread(X), spread(y).rechunk(33)),
        (spread(X), y),
        (spread(X), y.tolist()),
        (spread(X), pd.Series(y)),
        (spread(X).rechunk((70, 20)), spread(y)),
        (thirds, series),
        (thirds, series.to_frame()),
    ]:
        assert_alike(new().fit(rows, labels), local)


def test_labels_in_a_column_are_taken_with_a_warning(client, X, y):
    for labels in (spread(y)[:, None], y[:, None]):
        with pytest.warns(DataConversionWarning, match="y is a column"):
            clf = new().fit(spread(X), labels)
        assert_alike(clf, new().fit(X, y))


@pytest.mark.parametrize("kind", [str, object, bool, float])
def test_labels_of_any_type_are_those_of_a_local_fit(client, X, y, kind):
    labels = y > 1 if kind is bool else y.astype(float) if kind is float else y.astype("<U1")
    labels = labels.astype(object) if kind is object else labels
    local = new().fit(X, labels)
    assert_alike(new().fit(spread(X), spread(labels)), local)
    if kind is object:
        text = dd.from_pandas(pd.Series(labels), npartitions=3)
        clf = new().fit(da.from_array(X, chunks=(100, -1)), text)
        assert clf.classes_.tolist() == local.classes_.tolist()
        assert np.array_equal(clf.weights_, local.weights_)


def test_many_classes_are_no_matter_of_warning(client, X):
    labels = np.arange(300) % 60
    assert_alike(new().fit(spread(X), spread(labels)), new().fit(X, labels))


def with_value(X, value):
    X = X.copy()
    X[200, 3] = value
    return X


def text(y):
    return np.array([f"class {label}" for label in y])


def mixed(y):
    return np.array([*y[:150], *text(y[150:])], dtype=object)


# What a local fit refuses, with the same words.
ALIKE = {
    "NaN": lambda X, y: (with_value(X, np.nan), y),
    "infinite": lambda X, y: (with_value(X, np.inf), y),
    "mixed labels in a block": lambda X, y: (X, mixed(y)),
    "missing labels": lambda X, y: (X, np.array([None, *text(y[1:])], dtype=object)),
    "NaN as label": lambda X, y: (X, np.array([np.nan, *y[1:]])),
    "one class": lambda X, y: (X, 0 * y),
    "fractions": lambda X, y: (X, y + 0.5 * (y % 2)),
    "text": lambda X, y: (X.astype(str), y),
    "weights of zero": lambda X, y: (X, y, 0.0 * y),
    "negative weights": lambda X, y: (X, y, -1.0 * y),
    "weights of text": lambda X, y: (X, y, text(y)),
    "NaN as weight": lambda X, y: (X, y, np.full(300, np.nan)),
    "one weighted class": lambda X, y: (X, y, 1.0 * (y == 1)),
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_a_local_fit_refuses_is_refused_alike(client, X, y, name):
    given = ALIKE[name](X, y)
    local, refused = refusal(given), refusal(map(spread, given))
    # Which labels are shown depends on the block they are in.
    assert refused.startswith(local.partition("'")[0])


def refusal(given):
    with pytest.raises(ValueError, match="X|y|sample_weight") as refused:
        new().fit(*given)
    return str(refused.value)


# What only blocks can be wrong about, or is told in other words.
REFUSED = {
    "dense and sparse": (
        lambda X, y: (joined([*np.split(X, CUTS)[:3], sp.csr_matrix(X[CUTS[-1] :])]), spread(y)),
        "blocks of unlike kinds, dense and sparse",
    ),
    "columns": (
        lambda X, y: (
            da.concatenate(
                [
                    da.from_delayed(dask.delayed(X[:100, :60]), (100, 64), float),
                    da.from_array(X[100:]),
                ]
            ),
            y,
        ),
        r"a block of the shape \(100, 60\) where 64 columns are declared",
    ),
    "labels of unlike types": (
        lambda X, y: (
            da.from_array(X, chunks=(150, -1)),
            joined([y[:150], text(y[150:])]),
        ),
        "y mixes text and numbers",
    ),
    "a list of both": (
        lambda X, y: (spread(X), mixed(y).tolist()),
        "y mixes text and numbers",
    ),
    "few labels": (lambda X, y: (spread(X), y[:-1]), r"X has 300 rows, y the shape \(299,\)"),
    "few lazy labels": (
        lambda X, y: (spread(X), da.from_array(y[:-1])),
        r"X has 300 rows, y the shape \(299,\)",
    ),
    "two labels a row": (
        lambda X, y: (spread(X), da.stack([spread(y)] * 2, axis=1)),
        r"y has the shape \(300, 2\): it takes one value a row",
    ),
    "no labels": (lambda X, y: (spread(X), None), "y is None: it takes a label a row"),
    "few weights": (
        lambda X, y: (spread(X), y, np.ones(5)),
        r"sample_weight the shape \(5,\)",
    ),
    "a negative number for all": (lambda X, y: (spread(X), y, -2.0), "sample_weight has negative"),
    "no rows": (lambda X, y: (spread(X)[:0], spread(y)[:0]), "X has no rows"),
    "no columns": (lambda X, y: (spread(X)[:, :0], y), "X has no columns"),
    "one dimension": (lambda X, y: (spread(X)[:, 0], y), "X is Dask's Array of 1 dimensions"),
    "three dimensions": (lambda X, y: (spread(X)[:, :, None], y), "Array of 3 dimensions"),
    "Delayed": (lambda X, y: (dask.delayed(X), y), "X is Dask's Delayed"),
    "Bag": (lambda X, y: (dask.bag.from_sequence([1, 2]), y), "X is Dask's Bag: it takes its arr"),
    "Delayed labels": (lambda X, y: (spread(X), dask.delayed(y)), "y is Dask's Delayed.*Series"),
    "Bag of labels": (
        lambda X, y: (spread(X), dask.bag.from_sequence(y.tolist())),
        "y is Dask's Bag: it takes its arrays and its Series",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_blocks_that_do_not_make_a_table_are_refused(client, X, y, name):
    given, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        new().fit(*given(X, y))


def test_a_block_that_cannot_be_computed_ends_the_fit(client, X, y, caplog):
    def lost(block):
        raise OSError("the disk is gone")

    with pytest.raises(ClusterError, match="OSError: the disk is gone"):
        new().fit(spread(X).map_blocks(lost, meta=np.empty((0, 0))), y)


def test_without_a_client_the_error_says_how_to_connect_one(X, y):
    with pytest.raises(ValueError, match=r"no client is connected.*dask.distributed.Client\(\)"):
        new().fit(spread(X), y)


def test_a_fit_that_fails_leaves_the_earlier_one(client, X, y):
    clf = new().fit(spread(X), spread(y))
    before = dict(vars(clf))
    with pytest.raises(ValueError, match="contains NaN"):
        clf.fit(spread(with_value(X, np.nan)), spread(y))
    with pytest.raises(ValueError, match="eval_set is not valid: X has 5 features"):
        clf.fit(spread(X), spread(y), eval_set=(spread(X)[:, :5], spread(y)))
    assert vars(clf).keys() == before.keys()
    assert all(vars(clf)[name] is before[name] for name in before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X * 1e-310, "too small"),
        (lambda X: X * 1e306, "too large"),
        pytest.param(
            lambda X: X.astype(np.longdouble) * np.longdouble("1e4000"),
            "too large for float64",
            marks=pytest.mark.skipif(
                np.finfo(np.longdouble).maxexp == 1024, reason="long doubles are float64 here"
            ),
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of scikit-learn's checks
def test_numbers_that_are_out_of_range_are_refused(client, X, y, change, message):
    with pytest.raises(FloatingPointError, match=message):
        new().fit(spread(change(X)), spread(y))


def test_columns_that_are_not_numeric_are_refused_by_name(client, X, y):
    frame = pd.DataFrame({"a": X[:, 20], "when": pd.date_range("2020", periods=len(X))})
    with pytest.raises(ValueError, match="X has the column 'when' of type datetime64"):
        new().fit(dd.from_pandas(frame, npartitions=2), y)


def test_complex_labels_are_a_fault_of_y(client, X, y):
    with pytest.raises(ValueError, match="Complex data not supported in y"):
        new().fit(spread(X), spread(y * 1j))
