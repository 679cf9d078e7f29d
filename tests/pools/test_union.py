import numpy as np
import pytest
import scipy.sparse as sp

from shareboost import ShareBoostClassifier
from shareboost.pools import Columns, Groups, Pieces, Products, Stumps, Union


def test_one_run_chooses_among_all_pools():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8))
    X[:, 0] = rng.standard_cauchy(size=600)  # whose outliers hide it from a linear column
    scores = np.stack([3 * (X[:, 0] > 0.5), 2 * X[:, 1] * X[:, 2], 2 * X[:, 3]], axis=1)
    y = (scores + 0.1 * rng.gumbel(size=(600, 3))).argmax(axis=1)
    pool = Union([Columns(), Stumps(), Products()])
    clf = ShareBoostClassifier(3, pool=pool, margin=1.0).fit(X, y)
    kinds = {name.split(":")[0] for name in clf.get_feature_names_out()}
    assert kinds == {"columns", "stumps", "products"}
    assert "products: x1 · x2" in clf.get_feature_names_out()


def test_a_union_of_one_is_that_pool(digits):
    alone = ShareBoostClassifier(5, pool=Stumps()).fit(*digits)
    joined = ShareBoostClassifier(5, pool=Union([Stumps()])).fit(*digits)
    assert np.array_equal(alone.selected_, joined.selected_)
    assert np.array_equal(alone.weights_, joined.weights_)


def test_ties_go_to_the_earlier_pool(digits):
    pool = Union([Columns(), Columns()])
    clf = ShareBoostClassifier(6, pool=pool).fit(*digits)
    assert (clf.selected_ < 64).all()


def test_costs_keep_dear_atoms_out(digits):
    X, y = digits[0][:300], digits[1][:300]
    free = ShareBoostClassifier(4, pool=Union([Columns(), Pieces(10, 4)])).fit(X, y)
    assert any(name.startswith("pieces") for name in free.get_feature_names_out())
    pool = Union([Columns(), Pieces(10, 4)], costs=[1, 1e6])
    dear = ShareBoostClassifier(4, pool=pool).fit(X, y)
    assert all(name.startswith("columns") for name in dear.get_feature_names_out())


def test_an_atom_costs_one_unless_told(digits):
    pools = [Columns(), Groups(np.arange(64) // 2, score="mean")]
    free, dear = Union(pools).fit(digits[0][:50]), Union(pools, [2.0, 3.0]).fit(digits[0][:50])
    assert free.divisors_.tolist() == [1.0] * 64 + [2.0] * 32
    assert dear.divisors_.tolist() == [2.0] * 64 + [6.0] * 32


def test_names_stay_apart():
    X = np.random.default_rng(0).normal(size=(30, 2))
    pool = Union([Columns(), ("raw", Columns("none")), Columns("maxabs")]).fit(X)
    names = pool.features(range(6)).names(["a", "b"])
    assert names == [
        "columns1: a",
        "columns1: b",
        "raw: a",
        "raw: b",
        "columns2: a",
        "columns2: b",
    ]


def test_columns_stand_in_the_order_chosen():
    X = np.random.default_rng(0).normal(size=(40, 3))
    pool = Union([Columns(), Pieces(4, 2), Products()]).fit(X)
    sizes = [own.n_atoms_ for own in pool.pools_]
    atoms = [sum(sizes[:2]) + 1, 3, 0, 5, 2]
    features = pool.features(atoms)
    assert features.widths.tolist() == [1, 4, 1, 4, 1]
    own = [pool.features([atom]).columns(X) for atom in atoms]
    assert np.array_equal(features.columns(X), np.hstack(own))
    assert np.array_equal(features.take(np.arange(3)).columns(X), np.hstack(own[:3]))
    assert np.allclose(features.columns(sp.csr_array(X)), np.hstack(own))
    assert len(features.names("abc")) == 11


def test_nan_is_taken_where_every_pool_takes_it(problem):
    X, y = problem
    X[0, 0] = np.nan
    clf = ShareBoostClassifier(3, pool=Union([Stumps(), Stumps(max_bins=8)])).fit(X, y)
    assert clf.score(X, y) > 0.3
    with pytest.raises(ValueError, match="NaN"):
        ShareBoostClassifier(3, pool=Union([Stumps(), Columns()])).fit(X, y)


def test_given_names_are_kept_and_others_keep_clear_of_them():
    X = np.eye(3)
    pool = Union([("columns1", Columns()), Columns(), Columns(), ("stumps", Stumps()), Stumps()])
    assert pool.fit(X).names_ == ["columns1", "columns2", "columns3", "stumps", "stumps1"]


@pytest.mark.parametrize(
    "pools",
    [
        [],
        [("a", 3)],
        ["columns"],
        [Columns],
        [("a", Columns(), 1)],
        [("a", Columns()), ("a", Stumps())],
        Columns(),
        None,
    ],
)
def test_what_is_no_pool_is_refused(pools):
    with pytest.raises(ValueError, match=r"pools=.* is not valid for Union: it takes a list"):
        Union(pools).fit(np.eye(3))


def test_costs_that_cannot_be_are_refused():
    for costs in ([1.0], [1.0, -1.0], [1.0, 0.0], [1.0, np.nan], 3, "ab"):
        with pytest.raises(ValueError, match="costs=.* is not valid for Union"):
            Union([Columns(), Stumps()], costs=costs).fit(np.eye(3))


def test_atoms_of_many_pools_stay_in_the_order_chosen():
    X = np.random.default_rng(0).normal(size=(20, 4))
    kinds = [Columns, lambda: Groups([0, 0, 1, 1]), lambda: Stumps(max_bins=2)]
    pool = Union([kinds[i % 3]() for i in range(60)]).fit(X)
    atoms = np.random.default_rng(1).permutation(pool.n_atoms_)[:90]
    features = pool.features(atoms)
    alone = [pool.features([atom]) for atom in atoms]
    assert features.ids.tolist() == atoms.tolist()
    assert features.widths.tolist() == [one.n_columns for one in alone]
    assert np.array_equal(features.columns(X), np.hstack([one.columns(X) for one in alone]))
    places = np.array([5, 80, 3, 41])
    some = features.take(places)
    assert some.ids.tolist() == atoms[places].tolist()
    assert np.array_equal(some.columns(X), np.hstack([alone[i].columns(X) for i in places]))
    assert some.names("abcd") == [name for i in places for name in alone[i].names("abcd")]


def test_names_of_pools_keep_clear_of_given_ones():
    pools = [Columns() for _ in range(50)]
    names = [name for name, _ in Union([("columns3", Stumps()), *pools])._named()]
    assert names[:4] == ["columns3", "columns1", "columns2", "columns4"]
