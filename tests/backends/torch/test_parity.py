"""A fit on a device finds what the fit in NumPy finds: the same atoms, losses to 1e-5."""

import numpy as np
import pytest
import scipy.sparse as sp
from every_pool import KINDS, POOLS_TO_TEST, SMALL_POOLS, classifier, every_pool_with, small_images
from pairs import covering
from sklearn.base import clone
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier
from shareboost.penalties import SmoothL1, SmoothLinf1
from shareboost.pools import Columns, Groups, Pieces, Stumps, Union
from shareboost.selection.rules import RULES
from shareboost.solvers import SOLVERS

torch = pytest.importorskip("torch")

# Refits that end early would end elsewhere wherever a sum is rounded otherwise.
TIGHT = 1e-3
# Where many weights are about as good, long refits end apart: these compare their first steps.
LOOSE = 0.05
TYPES = ["f4", "f8"]
types = pytest.mark.parametrize("dtype", TYPES)


def with_types(cases):
    """Cases with float32 and float64 in turn."""
    return [(case, TYPES[number % 2]) for number, case in enumerate(cases)]


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def data(digits):
    return digits[0][:300], digits[1][:300]


@pytest.fixture(scope="module")
def many_rows():
    """More rows than a device adds up at a time in the type of X, and not a multiple of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 20))
    y = (X @ rng.normal(size=(20, 3)) + rng.gumbel(size=(2500, 3))).argmax(axis=1)
    return X, y


def assert_alike(found, truth, X):
    """The fitted models are the same, but for rounding, and of NumPy's arrays."""
    assert np.array_equal(found.selected_, truth.selected_)
    assert found.path_.losses.shape == truth.path_.losses.shape
    assert np.abs(found.path_.losses - truth.path_.losses).max() < 1e-5
    assert found.path_.stop_reason == truth.path_.stop_reason
    for of_model in (found.weights_, found.intercept_, found.selected_, found.path_.losses):
        assert type(of_model) is np.ndarray
    scores, own = truth.decision_function(X), found.decision_function(X)
    apart = 0.02 * np.abs(scores).max()  # refits end when they are close enough
    assert np.abs(own - scores).max() < apart
    ordered = np.sort(scores.reshape(len(X), -1), axis=1)
    decided = (
        np.abs(scores) > apart if scores.ndim == 1 else ordered[:, -1] - ordered[:, -2] > apart
    )
    assert decided.any()
    assert np.array_equal(found.predict(X)[decided], truth.predict(X)[decided])


def assert_parity(device, X, y, fit=None, rows=None, **parameters):
    """Fit with and without the device; return both."""
    fixed = {"n_features": 6, "rule": "gradient", "alpha": 1e-3, "margin": 1.0, "refit_tol": TIGHT}
    settings = fixed | parameters
    truth = ShareBoostClassifier(**settings).fit(X, y, **(fit or {}))
    found = ShareBoostClassifier(**settings, device=device).fit(X, y, **(fit or {}))
    assert_alike(found, truth, X if rows is None else rows)
    return found, truth


@every_pool_with(dtype=["f4", "u1", "f8", "i8"])
def test_every_pool_gives_the_same_model(name, dtype, device, digits):
    X, y = digits[0].astype(dtype), digits[1]
    # What float32 can reach in unscaled columns of whole numbers.
    settings = {"tol": 1e-2} if dtype in ("u1", "i8") else {"refit_tol": TIGHT / 5}
    truth = classifier(5, name, **settings).fit(X[:300], y[:300])
    found = classifier(5, name, device=device, **settings).fit(X[:300], y[:300])
    assert_alike(found, truth, X[300:500])


@covering(
    pool=SMALL_POOLS,
    rule=RULES,
    dtype=["f4", "f8", "u1"],
    solver=list(SOLVERS),
    weighted={"weighted": True, "unweighted": False},
    intercept={"intercept": True, "no intercept": False},
    n_classes={"ten classes": 10, "two classes": 2},
)
def test_every_kind_of_pool_is_fitted_alike_by_every_rule_and_solver(
    pool, rule, dtype, solver, weighted, intercept, n_classes, device
):
    X, y, _ = small_images()
    weight = np.random.default_rng(0).uniform(0.1, 2.0, size=120) * (np.arange(120) % 7 > 0)
    assert_parity(
        device,
        X.astype(dtype),
        y % n_classes,
        {"sample_weight": weight if weighted else None},
        pool=pool,
        rule=rule,
        solver=solver,
        fit_intercept=intercept,
        shortlist=3,
        n_features=3,
        alpha=1e-2,
    )


def test_the_rounding_of_a_centre_is_no_gain(device, data):
    """Some columns of digits are zero all around a piece: what is left of them is rounding."""
    X, y = data
    pool = POOLS_TO_TEST["pieces"]
    assert_parity(device, X[:150], y[:150], rule="newton", pool=pool, n_features=1)


@covering(
    penalty=["l1", "linf1", SmoothL1(20.0), SmoothLinf1(30.0)], solver=list(SOLVERS), dtype=TYPES
)
def test_every_penalty_ends_alike(penalty, solver, dtype, device, data):
    X, y = data
    # In float32 a refit near the kinks of a norm may end early, wherever rounding has led it.
    few = {"n_features": 2, "alpha": 3e-4} if dtype == "f4" else {"n_features": 4}
    assert_parity(
        device, X.astype(dtype), y, penalty=penalty, solver=solver, refit_tol=LOOSE, **few
    )


@pytest.mark.parametrize(
    ("parameters", "dtype"),
    with_types(
        [
            {"swap": True, "n_features": 8},
            {"swap": True, "rule": "newton", "n_features": 8},
            {"margin": 0.0},
            {"alpha": 0.0, "n_features": 3, "refit_tol": LOOSE},
            {"class_weight": "balanced"},
            {"class_weight": {label: 1.0 + label for label in range(10)}},
            {"groups": [f"row {j // 8}" for j in range(64)], "n_features": 3},
            {"groups": np.arange(64) // 8, "group_choice": "mean", "n_features": 3},
            {"groups": np.arange(64) // 8, "group_choice": "each", "costs": np.arange(1.0, 9.0)},
            {"costs": 1.0 + np.arange(64.0) % 5, "budget": 12.0, "n_features": None},
            {"include": [3, 20], "exclude": [26, 42]},
            {"pool": "stumps", "exclude": ["x26"], "rule": "newton"},
        ]
    ),
    ids=str,
)
def test_whatever_is_asked_of_a_fit_is_done_alike(parameters, dtype, device, data):
    X, y = data
    found, truth = assert_parity(device, X.astype(dtype), y, **parameters)
    assert np.allclose(found.path_.costs, truth.path_.costs)


@pytest.mark.parametrize("name", ["columns", "stumps", "pieces"])
def test_rows_of_weight_zero_count_not_at_all(name, device, data):
    X, y = data
    weight = np.random.default_rng(0).uniform(0.1, 2.0, size=300)
    weight[::7] = 0.0
    counted = weight > 0
    found, without = classifier(4, name, device=device), classifier(4, name, device=device)
    found.fit(X, y, sample_weight=weight)
    without.fit(X[counted], y[counted], sample_weight=weight[counted])
    assert np.array_equal(without.weights_, found.weights_)


@pytest.mark.parametrize("name", ["stumps", "templates"])
def test_rows_held_out_score_alike_and_stop_alike(name, device, digits):
    X, y = digits[0][:500], digits[1][:500]
    stopping = {"validation_fraction": 0.3, "n_iter_no_change": 2, "random_state": 0}
    found, truth = assert_parity(
        device, X, y, pool=POOLS_TO_TEST[name], n_features=8, class_weight="balanced", **stopping
    )
    scores = found.path_.validation_scores
    assert not np.isnan(scores[-1])
    assert np.allclose(scores, truth.path_.validation_scores, atol=1e-9, equal_nan=True)
    assert found.path_.best == truth.path_.best


@pytest.mark.parametrize("kind", ["numpy", "tensor"])
def test_an_evaluation_set_of_any_kind_scores_alike(kind, device, digits):
    X, y = digits
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=200)
    held_out = (X[300:500], y[300:500], weight)
    truth = ShareBoostClassifier(5).fit(X[:300], y[:300], eval_set=held_out)
    if kind == "tensor":
        held_out = tuple(torch.tensor(part, device=device) for part in held_out)
    found = ShareBoostClassifier(5, device=device).fit(X[:300], y[:300], eval_set=held_out)
    assert_alike(found, truth, X)
    assert np.allclose(found.path_.validation_scores, truth.path_.validation_scores, atol=1e-9)


def test_labels_that_are_text_come_back(device, data):
    X, y = data[0], np.array([f"digit {label}" for label in data[1]])
    found, _ = assert_parity(device, X, y, n_features=4)
    assert found.classes_.tolist() == sorted(set(y))
    assert set(found.predict(X)) <= set(y)


def test_large_integers_keep_their_digits(device, data):
    """Numbers that float32 would round to one another."""
    X, y = data[0].astype(np.int64) + 2**40, data[1]
    found, _ = assert_parity(device, X, y, n_features=4)
    plain = ShareBoostClassifier(
        4, rule="gradient", alpha=1e-3, margin=1.0, refit_tol=TIGHT, device=device
    ).fit(data[0], y)
    assert np.array_equal(found.selected_, plain.selected_)


@pytest.mark.parametrize(
    ("pool", "dtype"),
    with_types([Stumps(), Stumps(max_bins=None), Union([Stumps(), Stumps(8)])]),
    ids=["bins", "every threshold", "union"],
)
def test_gaps_are_taken_alike_by_stumps(pool, dtype, device, data):
    X, y = data[0].astype(dtype), data[1]
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.3] = np.nan
    X[:, 5] = np.nan
    assert_parity(device, X, y, pool=pool)


def test_constant_columns_are_never_chosen(device, data):
    X, y = data[0].copy(), data[1]
    X[:, 10:60] = 1e9 / 3  # mean and deviation of which are rounded
    found, _ = assert_parity(device, X, y, n_features=64)
    assert not set(found.selected_) & set(range(10, 60))


def test_equal_columns_tie_and_the_first_is_chosen(device, data):
    X, y = np.hstack([data[0], data[0][:, ::-1]]), data[1]
    for pool in (Columns(), Stumps()):
        found, _ = assert_parity(device, X, y, pool=pool)
        assert found.columns_.max() < 64


@pytest.mark.parametrize(
    ("pool", "dtype"),
    with_types([Columns(), Groups(np.arange(20) % 4), Stumps(), Pieces(8, 4), "products"]),
    ids=["columns", "groups", "stumps", "pieces", "products"],
)
def test_many_rows_are_summed_alike(pool, dtype, device, many_rows):
    X, y = many_rows
    assert_parity(device, X.astype(dtype), y, pool=pool, n_features=4)


@pytest.mark.parametrize("name", ["products, squares, linear", "products, maxabs"])
def test_more_products_than_are_scored_at_a_time_are_told_apart(name, device, data, monkeypatch):
    """All at a time while the pool is fitted, and some at a time for ten classes."""
    X, y = data
    monkeypatch.setattr("shareboost.backends.torch.columns.PART_BYTES", 8 * 64 * 70)
    for rule in ("gradient", "newton"):
        assert_parity(device, X, y, pool=POOLS_TO_TEST[name], rule=rule, n_features=4)


@pytest.mark.parametrize(
    ("n_rows", "rule", "dtype"),
    [
        (1023, "newton", "f4"),
        (1024, "gradient", "f8"),
        (1025, "newton", "f8"),
        (2048, "newton", "f4"),
        (2049, "gradient", "f4"),
    ],
)
def test_no_row_is_lost_where_sums_are_cut(n_rows, rule, dtype, device, many_rows):
    X, y = many_rows[0][:n_rows].astype(dtype), many_rows[1][:n_rows]
    assert_parity(device, X, y, rule=rule, solver="newton", n_features=4)


@types
def test_columns_far_from_zero_are_summed_alike(dtype, device, many_rows):
    """Where float32 sums would lose the columns' variation."""
    X, y = (many_rows[0] + 1e4).astype(dtype), many_rows[1]
    for rule in ("gradient", "newton"):
        assert_parity(device, X, y, rule=rule, n_features=4)


def test_rows_of_any_layout_are_taken(device, data):
    X, y = data
    plain = ShareBoostClassifier(5, device=device).fit(X, y)
    read_only = X.copy()
    read_only.flags.writeable = False
    for rows in (
        np.asfortranarray(X),
        X[::-1].copy()[::-1],
        np.repeat(X, 2, axis=1)[:, ::2],
        read_only,
    ):
        found = ShareBoostClassifier(5, device=device).fit(rows, y)
        assert np.array_equal(found.weights_, plain.weights_)


def test_a_second_fit_ends_alike_to_the_last_bit(device, data):
    X, y = data
    for name in KINDS:
        first, second = (classifier(3, name, device=device).fit(X, y) for _ in range(2))
        assert np.array_equal(first.weights_, second.weights_), name


@pytest.mark.parametrize("name", ["columns", "stumps", "pieces", "templates"])
def test_a_warm_start_goes_on_with_the_same_atoms(name, device, data):
    X, y = data
    whole = classifier(6, name, device=device).fit(X, y)
    clf = classifier(3, name, device=device, warm_start=True).fit(X, y)
    clf.set_params(n_features=6).fit(X, y)
    assert np.array_equal(clf.selected_, whole.selected_)
    assert np.allclose(clf.weights_, whole.weights_)


def test_a_fit_on_a_device_goes_on_from_one_in_numpy(device, data):
    X, y = data
    whole = ShareBoostClassifier(6).fit(X, y)
    clf = ShareBoostClassifier(3, warm_start=True).fit(X, y)
    clf.set_params(n_features=6, device=device).fit(X, y)
    assert np.array_equal(clf.selected_, whole.selected_)
    assert np.abs(clf.path_.losses - whole.path_.losses).max() < 1e-5


def test_models_of_every_number_of_features_are_alike(device, data):
    X, y = data
    found, truth = assert_parity(device, X, y)
    for t in range(1, 7):
        assert np.allclose(
            found.at(t).decision_function(X), truth.at(t).decision_function(X), atol=1e-3
        )


def test_more_features_than_can_help_stop_alike(device):
    X = np.random.default_rng(0).normal(size=(80, 6))
    found, _ = assert_parity(device, X, np.arange(80) % 2, n_features=50)
    assert found.selected_.size == 6


@pytest.mark.parametrize(
    ("parameters", "dtype"),
    with_types(
        [
            {},
            {"rule": "newton"},
            {"fit_intercept": False, "rule": "newton"},
            {"pool": Columns("maxabs"), "swap": True},
            {"groups": np.arange(64) // 8, "n_features": 3},
            {"validation_fraction": 0.3, "random_state": 0},
        ]
    ),
    ids=str,
)
def test_sparse_rows_give_what_dense_rows_give(parameters, dtype, device, data, torch_has_warned):
    X, y = data[0].astype(dtype), data[1]
    weight = np.random.default_rng(0).uniform(0.1, 2.0, size=300)
    weight[::7] = 0.0
    settings = {"n_features": 5, "alpha": 1e-3, **parameters}
    truth = ShareBoostClassifier(**settings).fit(X, y, weight)
    make = sp.csr_array if dtype == "f4" else sp.coo_array
    found = ShareBoostClassifier(**settings, device=device).fit(make(X), y, weight)
    assert_alike(found, truth, X)
    assert np.allclose(found.path_.validation_scores, truth.path_.validation_scores, equal_nan=True)


def test_a_sparse_matrix_with_entries_given_in_parts_is_summed(device, data, torch_has_warned):
    X, y = data
    row, column = np.nonzero(X)
    half = X[row, column] / 2
    twice = np.r_[half, half], (np.r_[row, row], np.r_[column, column])
    found = ShareBoostClassifier(5, device=device).fit(sp.coo_array(twice, shape=X.shape), y)
    assert_alike(found, ShareBoostClassifier(5).fit(X, y), X)


@pytest.mark.parametrize("name", KINDS)
def test_the_form_of_the_paper_is_that_of_numpy(tensor, data, name):
    X, y = data[0] / 16, data[1] % 3
    clf = ShareBoostClassifier.as_published(2, pool=POOLS_TO_TEST[name])
    truth = clone(clf).fit(X, y)
    found = clf.fit(tensor(X), y)
    assert np.array_equal(found.selected_, truth.selected_)
    # The responses of templates are float32, and rounded otherwise on a device.
    apart = 1e-6 if name == "templates" else 1e-8
    assert np.allclose(found.path_.losses, truth.path_.losses, rtol=0, atol=apart)


@pytest.mark.parametrize("name", ["columns", "groups", "products", "pieces"])
def test_the_form_of_the_paper_refuses_columns_that_are_not_bounded(tensor, data, name):
    with pytest.raises(ValueError, match="the paper.s form, takes columns in"):
        ShareBoostClassifier.as_published(2, pool=POOLS_TO_TEST[name]).fit(tensor(data[0]), data[1])
