"""Fits on a cluster, against local fits on the same rows: pools, rules, solvers, penalties."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from cluster_parity import as_local, assert_alike, spread
from every_pool import POOLS_TO_TEST

from shareboost import ShareBoostClassifier
from shareboost.pools import Columns, Pieces, Stumps
from shareboost.solvers import SOLVERS

# The pools whose gradients are summed on the cluster here; of the others columns are gathered.
SUMMED = ("columns", "groups", "stumps", "pieces", "templates, sizes", "union")
both_refits = pytest.mark.parametrize("mode", ["gathered", "summed"])


def settled(n_features, **parameters):
    """With a penalty that settles refits soon, of more columns than rows too."""
    return ShareBoostClassifier(n_features, **{"alpha": 1e-2, **parameters})


@pytest.fixture(scope="module")
def three(data):
    """Rows of three classes, whose refits take few passes."""
    X, y = data
    return X, y % 3


@pytest.mark.parametrize("name", [name for name in POOLS_TO_TEST if name not in SUMMED])
def test_pools_are_fitted_as_locally(client, data, name):
    as_local(settled(3, pool=POOLS_TO_TEST[name]), *data)


@pytest.mark.parametrize("name", SUMMED)
def test_pools_whose_gradients_are_summed_are_fitted_as_locally(client, three, refitting, name):
    with refitting("summed"):
        as_local(settled(2, pool=POOLS_TO_TEST[name]), *three, mode="summed")


@pytest.mark.parametrize(
    ("name", "mode"), [("columns", "gathered, made anew"), ("pieces", "summed, made anew")]
)
def test_rows_may_be_encoded_anew_in_every_pass(client, three, refitting, name, mode):
    with refitting(mode):
        as_local(settled(1, pool=POOLS_TO_TEST[name]), *three, mode=mode)


@pytest.mark.parametrize(("kind", "mode"), [(sp.csr_matrix, "gathered"), (sp.csc_array, "summed")])
def test_sparse_blocks_are_fitted_as_locally(client, three, refitting, mode, kind):
    X, y = three
    with refitting(mode):
        as_local(settled(2), kind(X), y, mode=mode)


@pytest.mark.parametrize("pool", [Columns("maxabs"), Stumps(), "products", Pieces(6, 3)], ids=str)
def test_other_pools_take_sparse_blocks(client, data, pool):
    X, y = data
    as_local(settled(2, pool=pool, fit_intercept=False), sp.csr_array(X), y)


@pytest.mark.parametrize(("bins", "mode"), [(16, "summed"), (None, "gathered")])
def test_stumps_take_gaps_and_many_values(client, three, refitting, mode, bins):
    X, y = three
    rng = np.random.default_rng(0)
    X = X + rng.normal(scale=0.01, size=X.shape)
    X[rng.random(X.shape) < 0.1] = np.nan
    with refitting(mode):
        as_local(settled(2, pool=Stumps(max_bins=bins)), X, y, mode=mode)


@pytest.mark.parametrize("rule", ["orthogonal", "newton", "line_search", "column", "refit"])
@both_refits
def test_every_rule_chooses_as_locally(client, three, refitting, rule, mode):
    with refitting(mode):
        as_local(settled(2, rule=rule, shortlist=2), *three, mode=mode)


@pytest.mark.parametrize("pool", ["stumps", Pieces(5, 4)], ids=str)
def test_the_newton_rule_reads_the_moments_of_other_pools(client, data, pool):
    as_local(settled(2, pool=pool, rule="newton"), *data)


@both_refits
def test_features_are_exchanged_as_locally(client, refitting, mode):
    rng = np.random.default_rng(0)
    A, B, C, noise = rng.normal(size=(4, 300))
    X = np.c_[A + B + 0.3 * noise, A, B, C]  # the sum comes first, and goes for its parts
    with refitting(mode):
        _, fitted = as_local(settled(3, swap=True), X, (A + B > 0).astype(int), mode=mode)
    assert any(round_.swaps for round_ in fitted.path_)


# Where columns are gathered, refits are those of a local fit.
@pytest.mark.parametrize(
    "parameters",
    [
        *({"solver": solver} for solver in SOLVERS),
        {"penalty": "l1"},
        {"penalty": "linf1"},
        {"fit_intercept": False},
        {"margin": 0.0},
    ],
    ids=str,
)
def test_refits_of_summed_gradients_end_as_locally(client, three, refitting, parameters):
    with refitting("summed"):
        as_local(settled(2, **parameters), *three, mode="summed")


@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": "newton", "penalty": "l1"},
        {"solver": "nesterov", "penalty": "linf1", "margin": 0.0},
        {"fit_intercept": False},
    ],
    ids=str,
)
def test_refits_of_gathered_columns_end_as_locally(client, three, parameters):
    as_local(settled(2, **parameters), *three)


def test_one_block_of_few_rows_is_a_fit_too(client, data):
    X, y = data
    one = da.from_array(X, chunks=-1), da.from_array(y, chunks=-1)
    assert_alike(settled(3).fit(*one), settled(3).fit(X, y))
    by_one = settled(2).fit(da.from_array(X[:20], chunks=(1, -1)), y[:20])
    assert_alike(by_one, settled(2).fit(X[:20], y[:20]))


def test_gathered_columns_give_the_same_classifier_to_the_last_bit(client, data):
    X, y = data
    weight = np.random.default_rng(1).uniform(0.1, 3.0, size=y.size)
    weighted = {"class_weight": {0: 2.0, 1: 0.3}}
    clf = ShareBoostClassifier(5, **weighted)
    local, fitted = as_local(clf, X, y, sample_weight=weight)
    assert np.array_equal(fitted.weights_, local.weights_)
    assert np.array_equal(fitted.path_.losses, local.path_.losses)


@pytest.mark.quiet
@both_refits
def test_workers_of_other_processes_fit_alike(processes, data, refitting, mode):
    X, y = data
    names = np.array([f"digit {label}" for label in y])
    with refitting(mode):
        as_local(settled(2, pool="stumps"), X, names, mode=mode)
        as_local(settled(2), sp.csr_matrix(X), y, given=spread(sp.csr_matrix(X)), mode=mode)


@pytest.mark.parametrize(
    ("mode", "pools"), [("gathered", ["stumps", "products"]), ("summed", ["columns"])]
)
def test_every_task_has_a_name_on_the_dashboard(client, cluster, data, refitting, mode, pools):
    X, y = data
    for pool in pools:
        with refitting(mode):
            settled(2, pool=pool, validation_fraction=0.2).fit(spread(X), spread(y))
    prefixes = {name for name in cluster.scheduler.task_prefixes if name.startswith("shareboost")}
    assert "shareboost" not in prefixes  # Dask cuts words such as "evaluate" off, as if random
    assert {"shareboost-check", "shareboost-statistics", "shareboost-sum"} <= prefixes
