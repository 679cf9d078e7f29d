"""Kinds of X, y and weights that a fit takes."""

import tracemalloc
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from pairs import covering
from sklearn.base import clone
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

from shareboost import ShareBoostClassifier, ShareBoostCV
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier


@pytest.mark.parametrize(
    ("format_", "make"),
    [
        *[(format_, sp.coo_array) for format_ in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")],
        *[(format_, sp.coo_matrix) for format_ in ("csr", "csc")],
    ],
)
@pytest.mark.filterwarnings("ignore:Constructing a DIA")
def test_sparse_input_of_any_format_equals_dense(digits, format_, make):
    X, y = (part[:400] for part in digits)
    S = make(X).asformat(format_)
    dense = ShareBoostClassifier(4).fit(X, y)
    clf = ShareBoostClassifier(4).fit(S, y)
    assert np.array_equal(clf.selected_, dense.selected_)
    assert np.allclose(clf.path_.losses, dense.path_.losses)
    assert np.allclose(clf.decision_function(S), dense.decision_function(X), atol=1e-6)
    assert np.array_equal(np.array(list(clf.staged_predict(S))), list(clf.staged_predict(X)))
    assert sp.issparse(clf.transform(S))


def test_a_long_run_is_the_same_for_dense_and_sparse(digits):
    X, y = digits
    dense = ShareBoostClassifier(40).fit(X, y)
    sparse = ShareBoostClassifier(40).fit(sp.csr_array(X), y)
    assert np.array_equal(sparse.selected_, dense.selected_)
    assert np.allclose(sparse.weights_, dense.weights_)


def test_sparse_input_is_never_densified(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random_array((500, 3000), density=0.01, random_state=rng, format="csr")
    y = rng.integers(3, size=500)

    def guard(original):
        def small_only(self, *args, **kwargs):
            assert np.prod(self.shape) <= 500 * 20, f"densified {self.shape}"
            return original(self, *args, **kwargs)

        return small_only

    for kind in (sp.csr_array, sp.csc_array, sp.coo_array):
        for method in ("toarray", "todense"):
            monkeypatch.setattr(kind, method, guard(getattr(kind, method)))
    clf = ShareBoostClassifier(5).fit(X, y)
    clf.predict(X)
    list(clf.staged_predict(X))


def test_integers_and_short_floats_equal_float64(digits):
    X, y = digits
    plain = ShareBoostClassifier(8, refit_tol=1e-3).fit(X, y)
    for dtype in ("u1", "i1", "i2", "i4", "i8", "f2", "f4"):
        clf = ShareBoostClassifier(8, refit_tol=1e-3).fit(X.astype(dtype), y)
        assert np.array_equal(clf.selected_, plain.selected_)
        assert np.allclose(clf.path_.losses, plain.path_.losses, rtol=1e-4)


def test_booleans_are_features_too():
    rng = np.random.default_rng(0)
    X = rng.random((300, 10)) < 0.5
    y = 2 * X[:, 3] + X[:, 8]
    clf = ShareBoostClassifier(2).fit(X, y)
    assert set(clf.selected_) == {3, 8}
    assert clf.score(X, y) == 1.0


def test_fortran_order_equals_c_order(digits):
    X, y = digits
    a = ShareBoostClassifier(8).fit(X, y)
    b = ShareBoostClassifier(8).fit(np.asfortranarray(X), y)
    assert np.array_equal(a.selected_, b.selected_)
    assert np.allclose(a.path_.losses, b.path_.losses)


@pytest.mark.quiet
def test_results_do_not_depend_on_the_number_of_threads(digits):
    X, y = np.tile(digits[0], (6, 1)), np.tile(digits[1], 6)
    for data in (X, X.astype(np.float32), sp.csr_array(X)):
        found = []
        for threads in (1, 2, 4):
            with threadpool_limits(threads):
                found.append(ShareBoostClassifier(6).fit(data, y))
        for clf in found[1:]:
            assert np.array_equal(clf.selected_, found[0].selected_)
            assert np.array_equal(clf.weights_, found[0].weights_)


def test_pandas_frames_carry_their_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = ShareBoostClassifier(2).fit(X, y)
    assert clf.feature_names_in_.tolist() == X.columns.tolist()
    assert clf.get_feature_names_out().tolist() == X.columns[clf.get_support()].tolist()
    out = clf.set_output(transform="pandas").transform(X)
    assert isinstance(out, pd.DataFrame)
    pd.testing.assert_frame_equal(out, X[clf.get_feature_names_out()])
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(X[X.columns[::-1]])


def test_polars_frames_carry_their_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = pl.DataFrame(X.to_dict("list"))
    clf = ShareBoostClassifier(2).fit(frame, pl.Series(y.tolist()))
    assert clf.get_feature_names_out().tolist() == X.columns[clf.get_support()].tolist()
    out = clf.set_output(transform="polars").transform(frame)
    assert isinstance(out, pl.DataFrame)
    assert out.columns == list(clf.get_feature_names_out())


def test_a_refit_without_names_forgets_the_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = ShareBoostClassifier(2).fit(X, y).fit(X.to_numpy(), y)
    assert not hasattr(clf, "feature_names_in_")
    assert clf.get_feature_names_out().tolist() == [f"x{j}" for j in sorted(clf.selected_)]


def test_text_labels(digits):
    X, y = digits
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "9"])
    clf = ShareBoostClassifier(5).fit(X, names[y])
    assert set(clf.predict(X)) <= set(names)
    base = ShareBoostClassifier(5).fit(X, y)
    assert set(clf.selected_) == set(base.selected_)


def test_integer_weights_equal_repeated_rows(problem):
    X, y = problem
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    clf = ShareBoostClassifier(5, refit_tol=1e-5, tol=1e-7)
    a = clone(clf).fit(X, y, sample_weight=weight)
    b = clone(clf).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert np.array_equal(a.selected_, b.selected_)
    assert np.allclose(a.path_.losses, b.path_.losses, rtol=1e-6)


@pytest.mark.parametrize(
    "estimator",
    [
        ShareBoostClassifier(3, class_weight="balanced"),
        # Not with the automatic weight of the penalty, which counts all classes.
        ShareBoostCV(ShareBoostClassifier(3, alpha=1e-3, class_weight="balanced"), cv=2),
        OneVsRestGreedyClassifier(3, class_weight="balanced"),
        MixedNormClassifier(path=3, class_weight="balanced"),
        JointBoostClassifier(3, class_weight="balanced"),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_classes_are_balanced_without_one_that_weighs_nothing(problem, estimator):
    X, y = problem
    weight = (y != 2).astype(float)
    clf = clone(estimator).fit(X, y, sample_weight=weight)
    kept = clone(clf).fit(X[y != 2], y[y != 2])
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    assert clf.selected_.tolist() == kept.selected_.tolist()


def test_class_weights_multiply_sample_weights(problem):
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    table = {0: 1.0, 1: 3.0, 2: 0.5, 3: 2.0}
    a = ShareBoostClassifier(5, class_weight=table).fit(X, y, sample_weight=weight)
    b = ShareBoostClassifier(5).fit(X, y, sample_weight=weight * np.vectorize(table.get)(y))
    assert np.array_equal(a.selected_, b.selected_)
    assert np.allclose(a.weights_, b.weights_)


def test_balanced_classes_count_weights_not_rows(problem):
    X, y = problem
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    balanced = ShareBoostClassifier(5, class_weight="balanced", refit_tol=1e-5, tol=1e-7)
    a = clone(balanced).fit(X, y, sample_weight=weight)
    b = clone(balanced).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert np.array_equal(a.selected_, b.selected_)
    assert np.allclose(a.path_.losses, b.path_.losses, rtol=1e-6)


def test_balanced_classes_have_equal_say(digits):
    X, y = digits
    rows = np.flatnonzero((y != 3) | (np.arange(len(y)) % 10 == 0))
    X, y = X[rows], y[rows]
    clf = ShareBoostClassifier(3, class_weight="balanced", margin=0.0).fit(X, y)
    counts = np.bincount(y)
    share = (clf.predict_proba(X) / counts[y][:, None]).sum(axis=0)
    assert np.allclose(share, share.mean(), rtol=0.01)


@covering(
    dtype=["f4", "f8", "u1"],
    unit=[1e-300, 1e38, 1e306],
    make={"dense": np.asarray, "sparse": sp.csr_array},
)
def test_only_the_ratios_of_weights_count(digits, dtype, unit, make):
    X, y = make(digits[0].astype(dtype)), digits[1]
    weight = np.random.default_rng(0).uniform(0.5, 1, size=len(y))
    clf = ShareBoostClassifier(4, alpha=1e-3, refit_tol=1e-3, tol=1e-6)
    a = clone(clf).fit(X, y, sample_weight=weight)
    b = clone(clf).fit(X, y, sample_weight=weight * unit)
    assert np.array_equal(a.selected_, b.selected_)
    assert np.allclose(a.weights_, b.weights_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_weights_that_vanish_in_float32_are_zeros(digits, dtype):
    X, y = digits
    weight = np.exp(-(np.linspace(0, 16, len(y)) ** 2))
    clf = ShareBoostClassifier(5, alpha=1e-4).fit(X.astype(dtype), y, sample_weight=weight)
    kept = weight > 1e-36
    base = ShareBoostClassifier(5, alpha=1e-4).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert np.array_equal(clf.selected_, base.selected_)


def test_a_sparse_matrix_with_duplicates_is_read_and_left_as_it_was(digits):
    X, y = digits[0][:300], digits[1][:300]
    half = sp.csc_array(X / 2)
    doubled = sp.csc_array(
        (
            np.repeat(half.data, 2),
            np.repeat(half.indices, 2),
            2 * half.indptr,
        ),
        shape=X.shape,
    )
    entries = doubled.nnz
    for array in (doubled.data, doubled.indices, doubled.indptr):
        array.setflags(write=False)
    clf = ShareBoostClassifier(5).fit(doubled, y)
    assert doubled.nnz == entries
    assert np.array_equal(clf.selected_, ShareBoostClassifier(5).fit(X, y).selected_)
    assert np.array_equal(clf.predict(doubled), clf.predict(X))


@pytest.mark.parametrize(("unit", "dtype"), [(1e-30, "f4"), (1e36, "f4"), (1e-200, "f8")])
def test_units_of_any_size_choose_the_same_features(unit, dtype):
    X, y = load_iris(return_X_y=True)
    plain = ShareBoostClassifier(4).fit(X.astype(dtype), y)
    for make in (np.asarray, sp.csr_array):
        clf = ShareBoostClassifier(4).fit(make((X * unit).astype(dtype)), y)
        assert np.array_equal(clf.selected_, plain.selected_)
        assert clf.score((X * unit).astype(dtype), y) == plain.score(X, y)


@pytest.mark.quiet
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32])
def test_a_fit_never_copies_dense_input_whole(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, size=(20_000, 400)).astype(dtype)
    y = (X[:, 3] > 100).astype(int) + (X[:, 9] > 100)
    ShareBoostClassifier(3).fit(X[:100], y[:100])  # imports and compiles what it needs
    tracemalloc.start()
    ShareBoostClassifier(3).fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.4 * X.size * 4  # bytes; a float32 copy alone would be 2.5 times this


@pytest.mark.parametrize(
    ("pool", "dtype"), [("columns", ">f8"), ("stumps", ">f4"), ("products", ">i2")]
)
def test_numbers_in_the_other_order_of_bytes_are_numbers(digits, pool, dtype):
    X, y = digits
    native = np.dtype(dtype).newbyteorder("=")
    plain = ShareBoostClassifier(4, pool=pool).fit(X.astype(native), y)
    other = ShareBoostClassifier(4, pool=pool).fit(X.astype(dtype), y)
    assert np.array_equal(plain.selected_, other.selected_)
    assert np.array_equal(plain.predict(X), other.predict(X.astype(dtype)))


@pytest.mark.parametrize("pool", ["columns", "stumps"])
def test_a_thousand_classes_are_no_trouble(pool):
    rng = np.random.default_rng(0)
    y = np.arange(2200) % 1100
    X = sp.csr_array(np.floor(rng.random((1100, 6)) * 9)[y])
    clf = ShareBoostClassifier(2, pool=pool, refit_tol=0.5, tol=1e-2).fit(X, y)
    assert clf.weights_.shape == (1100, 2)


def with_index_beyond(X):
    X.indices[5] = X.shape[X.format == "csr"]


def with_index_below_zero(X):
    X.indices[5] = -1


def with_falling_pointers(X):
    X.indptr[3] = X.indptr[2] - 1


def with_pointers_beyond(X):
    X.indptr[-1] = X.indices.size + 1


def with_pointers_below_zero(X):
    X.indptr[0] = -1


@pytest.mark.parametrize("format_", ["csr", "csc"])
@pytest.mark.parametrize(
    "damage",
    [
        with_index_beyond,
        with_index_below_zero,
        with_falling_pointers,
        with_pointers_beyond,
        with_pointers_below_zero,
    ],
)
def test_a_sparse_matrix_with_entries_outside_its_shape_is_refused(problem, format_, damage):
    X, y = problem
    S = sp.csr_array(X).asformat(format_)
    damage(S)
    message = f"X is not a valid {format_.upper()} matrix: .*(ind|point)"
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(2).fit(S, y)
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(2).fit(X, y, eval_set=(S, y))
    with pytest.raises(ValueError, match=message):
        OneVsRestGreedyClassifier(2).fit(S, y)
    clf = ShareBoostClassifier(2).fit(X, y)
    for method in (clf.predict, clf.predict_proba, clf.transform):
        with pytest.raises(ValueError, match=message):
            method(S)


def test_a_sparse_matrix_with_room_for_more_entries_is_taken(problem):
    X, y = problem
    S = sp.csr_array(X)
    S.data, S.indices = np.append(S.data, 0.0), np.append(S.indices, 10**6)  # not in use
    clf = ShareBoostClassifier(2).fit(S, y)
    assert np.array_equal(clf.predict(S), ShareBoostClassifier(2).fit(X, y).predict(X))


NOT_NUMBERS = {
    "pandas, text": (pd, lambda: pd.Series(["u", "v"] * 20)),
    "pandas, text of numbers": (pd, lambda: pd.Series(["1", "2.5"] * 20)),
    "pandas, objects": (pd, lambda: pd.Series(["1", 2.5] * 20, dtype=object)),
    "pandas, text categories": (pd, lambda: pd.Series(["u", "v"] * 20, dtype="category")),
    "pandas, dates": (pd, lambda: pd.Series(pd.date_range("2020-01-01", periods=40))),
    "pandas, zoned": (pd, lambda: pd.Series(pd.date_range("2020", periods=40, tz="UTC"))),
    "pandas, periods": (pd, lambda: pd.Series(pd.period_range("2020", periods=40, freq="D"))),
    "pandas, durations": (pd, lambda: pd.Series(pd.to_timedelta(np.arange(40), unit="D"))),
    "polars, text": (pl, lambda: pl.Series(["u", "v"] * 20)),
    "polars, text of numbers": (pl, lambda: pl.Series(["1", "2.5"] * 20)),
    "polars, categories": (pl, lambda: pl.Series(["u", "v"] * 20).cast(pl.Categorical)),
    "polars, enum": (pl, lambda: pl.Series(["u", "v"] * 20).cast(pl.Enum(["u", "v"]))),
    "polars, dates": (pl, lambda: pl.Series([date(2020, 1, 1)] * 40)),
    "polars, times": (pl, lambda: pl.Series([datetime(2020, 1, 1)] * 40)),
    "polars, durations": (pl, lambda: pl.Series([timedelta(days=1)] * 40)),
    "polars, lists": (pl, lambda: pl.Series([[1, 2]] * 40)),
}


@pytest.mark.parametrize("name", NOT_NUMBERS)
@pytest.mark.parametrize("alone", [False, True])
def test_a_column_that_is_not_numeric_is_refused_by_name(name, alone):
    library, make = NOT_NUMBERS[name]
    numbers = {} if alone else {"a": np.arange(40.0)}
    X, y = library.DataFrame({**numbers, "b": make()}), np.arange(40) % 2
    message = "X has the column 'b' of type .*: it takes numbers and booleans"
    for clf in (
        ShareBoostClassifier(1),
        ShareBoostClassifier(1, pool="stumps"),
        ShareBoostCV(n_features=1),
    ):
        with pytest.raises(ValueError, match=message):
            clf.fit(X, y)
    good = library.DataFrame({**numbers, "b": np.arange(40.0)})
    clf = ShareBoostClassifier(1).fit(good, y)
    with pytest.raises(ValueError, match=message):
        clf.predict(X)
    with pytest.raises(ValueError, match=f"eval_set is not valid: {message}"):
        clf.fit(good, y, eval_set=(X, y))


@pytest.mark.parametrize(
    "make",
    [
        lambda values: pd.DataFrame({"a": [Decimal(value) for value in values]}),
        lambda values: pd.DataFrame({"a": pd.array(values, dtype="Int64")}),
        lambda values: pd.DataFrame({"a": pd.Series(values, dtype="category")}),
        lambda values: pl.DataFrame({"a": [Decimal(value) for value in values]}),
        lambda values: pl.DataFrame({"a": values}),
    ],
)
@pytest.mark.parametrize("pool", ["columns", "stumps"])
def test_decimals_and_other_numbers_in_frames_equal_floats(make, pool):
    values = [int(value) for value in np.random.default_rng(0).integers(9, size=40)]
    y = np.array(values) % 3
    plain = ShareBoostClassifier(1, pool=pool).fit(np.array(values, dtype=float)[:, None], y)
    clf = ShareBoostClassifier(1, pool=pool).fit(make(values), y)
    assert np.array_equal(clf.weights_, plain.weights_)
    assert np.array_equal(clf.predict(make(values)), plain.predict(np.array(values)[:, None]))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_frame_may_have_booleans_and_gaps(make):
    X = make({"a": [True, False] * 20, "b": [1.5, None, None, 2.5] * 10})
    y = np.arange(40) % 2
    assert ShareBoostClassifier(2, pool="stumps").fit(X, y).score(X, y) == 1.0
    with pytest.raises(ValueError, match="Input X contains NaN"):
        ShareBoostClassifier(2).fit(X, y)


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[s]"])
def test_arrays_of_times_are_refused(dtype):
    X = np.arange(40).astype(dtype)[:, None]
    with pytest.raises(ValueError, match="X has the type .*64.*: it takes numbers and booleans"):
        ShareBoostClassifier(1).fit(X, np.arange(40) % 2)


@pytest.mark.parametrize("make", [np.array, list, pd.Series, lambda y: np.array(y, dtype=object)])
def test_complex_labels_are_a_fault_of_y(make):
    X, y = np.arange(6.0)[:, None], make([0j, 1j] * 3)
    message = "Complex data not supported in y: it takes real numbers, text or booleans"
    for clf in (ShareBoostClassifier(1), ShareBoostCV(n_features=1), OneVsRestGreedyClassifier(1)):
        with pytest.raises(ValueError, match=message):
            clf.fit(X, y)
    with pytest.raises(ValueError, match=f"eval_set is not valid: {message}"):
        ShareBoostClassifier(1).fit(X, [0, 1] * 3, eval_set=(X, y))
