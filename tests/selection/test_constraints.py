"""What is asked of the choice, and what cannot be meant."""

import datetime

import numpy as np
import pandas as pd
import pytest

from shareboost import ShareBoostClassifier
from shareboost.pools import Columns, Pieces, Products, Stumps
from shareboost.selection.constraints import checked_constraints

GROUPS = np.array(["b", "a", "b", "c", "a", "c", "c", "b", "a", "c", "a", "b"])


def no_work(*arguments, **keywords):
    raise AssertionError("work was done before the arguments were checked")


@pytest.fixture
def idle(monkeypatch):
    """No pool may be fitted on the rows of the problem, and no rows encoded."""
    monkeypatch.setattr("shareboost.dataset.Rows", no_work)
    for pool in (Stumps, Products, Pieces):
        monkeypatch.setattr(pool, "fit", no_work)


def test_series_and_dicts_are_taken_by_name_in_any_order(problem):
    X, y = problem
    frame = pd.DataFrame(X, columns=list("abcdefghijkl"))
    costs = pd.Series(np.random.default_rng(0).uniform(1, 5, size=12), index=frame.columns)
    groups = pd.Series(GROUPS, index=frame.columns)
    truth = ShareBoostClassifier(4, costs=costs.to_numpy()).fit(frame, y)
    whole = ShareBoostClassifier(2, groups=GROUPS).fit(frame, y)
    for turned in (costs[::-1], costs.sort_values(), costs[::-1].to_dict()):
        clf = ShareBoostClassifier(4, costs=turned).fit(frame, y)
        assert np.array_equal(clf.path_.costs, truth.path_.costs)
        assert np.array_equal(clf.selected_, truth.selected_)
    for turned in (groups[::-1], groups[::-1].to_dict()):
        clf = ShareBoostClassifier(2, groups=turned).fit(frame, y)
        assert np.array_equal(clf.weights_, whole.weights_)
    plain = ShareBoostClassifier(4, costs=pd.Series(costs.to_numpy())).fit(X, y)
    assert np.array_equal(plain.path_.costs, truth.path_.costs)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"groups": [0, 1]}, "groups has 2 labels, and X 12 columns"),
        ({"groups": np.zeros((12, 2))}, r"groups has the shape \(12, 2\), and X 12 columns"),
        ({"groups": [np.nan] * 12}, "groups has NaN"),
        ({"groups": GROUPS, "pool": "stumps"}, "chosen whole among columns only, not with Stumps"),
        ({"costs": [1.0, 2.0]}, r"costs has the shape \(2,\): .* each of the 12 columns"),
        ({"costs": [1.0] * 4, "groups": GROUPS}, "12 columns or for each of the 3 groups"),
        ({"costs": [1.0] * 11 + [0.0]}, "costs has 0 among its values: .* above 0"),
        ({"costs": [1.0] * 11 + [-2.0]}, "costs has -2 among its values"),
        ({"costs": [1.0] * 11 + [np.nan]}, "costs has nan among its values"),
        ({"costs": [1.0] * 11 + [np.inf]}, "costs has inf among its values"),
        ({"costs": ["dear"] * 12}, "costs takes numbers: could not"),
        ({"costs": {"x0": 1.0}}, "costs has no entry for 'x1'"),
        ({"costs": {**{f"x{j}": 1.0 for j in range(12)}, "y": 1.0}}, "costs names 'y'"),
        ({"costs": [2.0] * 12, "budget": 1.5}, "budget=1.5 is below the cheapest .* costs 2"),
        ({"budget": 0.5}, "budget=0.5 is below the cheapest feature, which costs 1"),
        ({"budget": 0}, "'budget' parameter"),
        ({"budget": -1.0}, "'budget' parameter"),
        (
            {"costs": [1.0] + [3.0] * 11, "exclude": [0], "budget": 2.0},
            "budget=2 is below the cheapest feature, which costs 3",
        ),
        ({"costs": [1.0], "pool": "products"}, r"costs has the shape \(1,\)"),
        ({"include": ["weight"]}, "include names 'weight', which is unknown: there are x0, x1"),
        ({"include": ["x111"]}, "include names 'x111', .* Did you mean 'x11'?"),
        ({"exclude": np.arange(12)}, "exclude names every feature that varies"),
        ({"groups": {"x0": 1}}, "groups has no entry for 'x1'"),
        ({"exclude": ["weight"]}, "exclude names 'weight', which is unknown"),
        ({"include": [12]}, "include has the index 12, and there are 12 features"),
        ({"include": [-1]}, "include has the index -1"),
        ({"include": [1.5]}, r"include has 1.5: it takes indices and names"),
        ({"include": "x1"}, "include"),
        ({"include": [1, 2], "exclude": ["x2"]}, "include and exclude both name x2"),
        ({"include": [0, 1, 2, 3]}, "include names 4 features, more than n_features=3"),
        ({"groups": GROUPS, "include": ["d"]}, "include names the group 'd', .* groups, a, b, c"),
        ({"n_features": None}, "n_features=None takes a budget"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_any_work(problem, idle, parameters, message):
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(**{"n_features": 3, **parameters}).fit(*problem)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"include": ["x0 · x99"]}, "include names 'x0 · x99', which is unknown: .* Did you mean"),
        ({"include": ["x3"]}, "include names the column 'x3', and the features of Products are"),
        ({"costs": lambda atoms: [1.0]}, r"costs has the shape \(1,\): it takes 66 numbers"),
        ({"costs": lambda atoms: np.zeros(66)}, "costs has 0 among its values"),
        ({"costs": lambda atoms: np.full(66, 2.0), "budget": 1.0}, "budget=1 is below"),
        ({"costs": np.full(12, 2.0), "budget": 3.0}, "budget=3 is below .* costs 4"),
        ({"include": [0, 1, 2, "x0 · x5"]}, "include names 4 features, more than n_features=3"),
        ({"include": [1, 2], "exclude": ["x0 · x3"]}, "include and exclude both name x0 · x3"),
    ],
)
def test_what_only_the_atoms_tell_is_refused_before_any_round(
    problem, monkeypatch, parameters, message
):
    monkeypatch.setattr("shareboost.dataset.Rows", no_work)
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(3, pool="products", **parameters).fit(*problem)


def test_a_column_that_every_atom_reads_cannot_be_left_out(problem):
    with pytest.raises(ValueError, match="exclude names 'x1', and every feature of Pieces reads"):
        ShareBoostClassifier(2, pool=Pieces(5, 2), exclude=["x1"]).fit(*problem)


@pytest.mark.parametrize("pool", [Stumps(), Products(), Pieces(5, 2)], ids=str)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"include": [0, 1, 2, 3]}, "include names 4 features, more than n_features=3"),
        ({"include": [1, 2], "exclude": [2]}, "include and exclude both name 2"),
        ({"costs": [2.0] * 12, "budget": 1.5}, "budget=1.5 is below"),
    ],
)
def test_what_needs_no_atoms_is_refused_before_a_pool_is_fitted(
    problem, idle, pool, parameters, message
):
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(3, pool=pool, **parameters).fit(*problem)


def test_groups_of_text_and_numbers_are_refused(problem):
    with pytest.raises(ValueError, match="groups mixes text and other labels"):
        ShareBoostClassifier(2, groups=["a"] * 11 + [1]).fit(*problem)


def test_labels_may_be_anything_that_sorts(problem):
    X, y = problem
    days = [datetime.date(2020, 1, 1 + j // 4) for j in range(12)]
    clf = ShareBoostClassifier(2, groups=days).fit(X, y)
    assert clf.groups_.tolist() == sorted(set(days))
    with pytest.raises(ValueError, match="groups has NaN or None"):
        ShareBoostClassifier(2, groups=[None, *range(11)]).fit(X, y)


class Name(str):
    """A name that counts how often it is hashed or compared."""

    __slots__ = ()
    looks = 0

    def __hash__(self):
        Name.looks += 1
        return super().__hash__()

    def __eq__(self, other):
        Name.looks += 1
        return super().__eq__(other)


N_NAMED = 400


@pytest.mark.parametrize(
    "asked",
    [
        {"groups": {f"c{j}": j // 2 for j in range(N_NAMED)}},
        {"costs": {f"c{j}": 1.0 for j in range(N_NAMED)}},
        {"include": [f"c{j}" for j in range(N_NAMED // 2)]},
        {"exclude": [f"c{j}" for j in range(N_NAMED // 2)]},
        {
            "groups": [f"g{j // 2}" for j in range(N_NAMED)],
            "group_choice": "each",
            "exclude": [f"g{j}" for j in range(N_NAMED // 4)],
        },
    ],
    ids=["groups", "costs", "include", "exclude", "groups left out"],
)
def test_the_work_for_names_grows_with_their_number_not_with_its_square(asked):
    names = [Name(f"c{j}") for j in range(N_NAMED)]
    Name.looks = 0
    clf = ShareBoostClassifier(N_NAMED, **asked)
    constraints, pool = checked_constraints(clf, names, Columns())
    constraints.pricing(pool.fit(np.tile([[0.0], [1.0]], N_NAMED)))
    assert 0 < Name.looks < 20 * N_NAMED


def test_the_columns_of_every_group_are_known():
    labels = np.random.default_rng(0).integers(0, 30, size=200)
    clf = ShareBoostClassifier(groups=labels, group_choice="each")
    constraints, _ = checked_constraints(clf, [f"x{j}" for j in range(200)], Columns())
    members = constraints._members()
    assert list(members) == np.unique(labels).tolist()
    for label, columns in members.items():
        assert columns.tolist() == np.flatnonzero(labels == label).tolist()


@pytest.mark.parametrize("pool", ["columns", "stumps"])
@pytest.mark.parametrize("argument", ["include", "exclude"])
def test_items_that_are_lists_are_refused(problem, pool, argument):
    with pytest.raises(ValueError, match=f"{argument} takes a list of indices or names"):
        ShareBoostClassifier(2, pool=pool, **{argument: [[1, 2], [3]]}).fit(*problem)
