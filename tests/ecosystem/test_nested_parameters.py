"""Parameters of pools: by name as by object, and of the members of a union."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shareboost import ShareBoostClassifier, ShareBoostCV
from shareboost.pools import Columns, Products, Stumps, Union
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier

WITH_POOL = [ShareBoostClassifier, OneVsRestGreedyClassifier, MixedNormClassifier]


@pytest.fixture(scope="module")
def upper_tenth():
    """Labels that a threshold tells, at a quantile of a wild column that two bins do not reach."""
    X = np.random.default_rng(0).standard_cauchy(size=(200, 3)) ** 3
    return X, (X[:, 1] > np.quantile(X[:, 1], 0.9)).astype(int)


def test_pools_are_searched_by_name_as_by_object(upper_tenth):
    X, y = upper_tenth
    grid = {"pool__max_bins": [2, 16]}
    searches = [
        GridSearchCV(ShareBoostClassifier(1, pool=pool), grid, cv=3).fit(X, y)
        for pool in ("stumps", Stumps())
    ]
    by_hand = [
        cross_val_score(ShareBoostClassifier(1, pool=Stumps(bins)), X, y, cv=3).mean()
        for bins in grid["pool__max_bins"]
    ]
    assert by_hand[1] > by_hand[0]
    for search in searches:
        assert np.array_equal(search.cv_results_["mean_test_score"], by_hand)
        assert search.best_params_ == {"pool__max_bins": 16}
        assert search.best_estimator_.pool.max_bins == 16


def test_names_of_pools_and_their_parameters_are_searched_together(upper_tenth):
    grid = [{"pool": ["columns"]}, {"pool": ["stumps"], "pool__max_bins": [2, 16]}]
    search = GridSearchCV(ShareBoostClassifier(1), grid, cv=3).fit(*upper_tenth)
    assert search.best_params_ == {"pool": "stumps", "pool__max_bins": 16}


def test_members_of_a_union_are_searched(upper_tenth):
    pool = Union([("raw", Columns()), ("cut", Stumps())])
    pipe = make_pipeline(StandardScaler(), ShareBoostClassifier(1, pool=pool))
    grid = {"shareboostclassifier__pool__cut__max_bins": [2, 16]}
    search = GridSearchCV(pipe, grid, cv=3).fit(*upper_tenth)
    assert list(search.best_params_.values()) == [16]
    assert search.best_estimator_[-1].get_feature_names_out()[0].startswith("cut: ")
    assert pool.pools[1][1].max_bins == 256


@pytest.mark.parametrize("kind", WITH_POOL)
def test_a_parameter_of_a_named_pool_is_set_on_a_pool_of_that_name(kind):
    clf = kind(pool="stumps")
    assert clf.get_params()["pool__max_bins"] == 256
    assert clf.get_params(deep=False)["pool"] == "stumps"
    assert clone(clf).pool == "stumps"
    assert clf.set_params(pool__max_bins=16) is clf
    assert isinstance(clf.pool, Stumps)
    assert (clf.pool.max_bins, clf.pool.scale) == (16, "root")
    assert clone(clf).get_params()["pool__max_bins"] == 16


def test_cross_validation_has_the_parameters_of_its_estimator():
    search = ShareBoostCV(ShareBoostClassifier(pool="stumps"))
    assert search.get_params()["estimator__pool__max_bins"] == 256
    assert clone(search).estimator.pool == "stumps"
    assert search.set_params(estimator__pool__max_bins=16, estimator__swap=True) is search
    assert isinstance(search.estimator.pool, Stumps)
    assert search.estimator.swap
    assert clone(search).get_params()["estimator__pool__max_bins"] == 16


def test_a_pool_and_its_parameters_are_set_at_once():
    clf = ShareBoostClassifier().set_params(pool__squares=True, pool="products", n_features=3)
    assert isinstance(clf.pool, Products)
    assert clf.pool.squares
    assert clf.n_features == 3


def test_what_a_pool_does_not_have_is_refused_as_scikit_learn_does():
    message = r"Invalid parameter 'bins' for estimator Stumps\(\). Valid parameters are: \['max_b"
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(pool="stumps").set_params(pool__bins=16)
    message = "The 'pool' parameter of ShareBoostClassifier must be a str among .* Got 'stump' inst"
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(pool="stump").set_params(pool__max_bins=16)
    with pytest.raises(ValueError, match="Invalid parameter 'pool' for estimator JointBoost"):
        JointBoostClassifier().set_params(pool__max_bins=16)


def test_members_of_a_union_have_the_names_that_their_features_have():
    cut = Stumps()
    pool = Union([Columns(), ("cut", cut), Columns("maxabs")])
    params = pool.get_params()
    assert params["cut"] is cut
    assert params["columns2__scale"] == "maxabs"
    pool.set_params(cut__max_bins=8, columns1__scale="none")
    assert (cut.max_bins, pool.pools[0].scale, pool.pools[2].scale) == (8, "none", "maxabs")


def test_a_member_of_a_union_is_replaced_by_name():
    pools = [Columns(), ("cut", Stumps())]
    pool = Union(pools).set_params(cut=Products(), costs=[1.0, 2.0])
    assert [(name, type(member)) for name, member in pool.pools] == [
        ("columns", Columns),
        ("cut", Products),
    ]
    assert pool.costs == [1.0, 2.0]
    assert isinstance(pools[1][1], Stumps)
    pool.set_params(columns__scale="none", pools=[Columns()])
    assert [member.scale for member in pool.pools] == ["none"]


def test_clones_of_a_union_have_members_of_their_own():
    pool = Union([("raw", Columns()), Stumps()])
    clone(pool).set_params(raw__scale="none", stumps__max_bins=2)
    assert (pool.pools[0][1].scale, pool.pools[1].max_bins) == ("deviation", 256)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a__b", r"Estimator names must not contain __: got \['a__b'\]"),
        ("costs", r"Estimator names conflict with constructor arguments: \['costs'\]"),
    ],
)
def test_names_that_parameters_cannot_have_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        Union([(name, Columns()), Stumps()]).fit(np.eye(3))
