"""Groups, costs, budgets, features in and features out; and what cannot be meant."""

import datetime

import naive
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import random_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from shareboost import ShareBoostClassifier
from shareboost.choice.terms import FREE, Terms
from shareboost.path import StopReason
from shareboost.pools import Columns, Groups, Pieces, Products, Stumps

# Rows so few that a fit would fail at once if any of it were done.
GROUPS = np.array(["b", "a", "b", "c", "a", "c", "c", "b", "a", "c", "a", "b"])


def no_work(*arguments, **keywords):
    raise AssertionError("work was done before the arguments were checked")


@pytest.fixture
def idle(monkeypatch):
    """No pool may be fitted on the rows of the problem, and no rows encoded."""
    monkeypatch.setattr("shareboost.classifier.Rows", no_work)
    for pool in (Stumps, Products, Pieces):
        monkeypatch.setattr(pool, "fit", no_work)


# --- Groups -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("choice", ["sum", "mean"])
def test_a_group_is_chosen_whole_by_its_columns_norms(problem, make, choice):
    X, y = problem
    clf = ShareBoostClassifier(2, groups=GROUPS, group_choice=choice, alpha=0).fit(make(X), y)
    Z = X / X.std(axis=0)
    W = naive.refit(Z[:, []], y, np.ones(150), 4, 1.0, 0.0, True)
    norms = naive.column_norms(
        Z - Z.mean(axis=0), naive.residual(np.tile(W.T, (150, 1)), y, 1.0), np.ones(150)
    )
    labels = np.unique(GROUPS)
    total = np.array([norms[label == GROUPS].sum() for label in labels])
    truth = total / [(label == GROUPS).sum() for label in labels] if choice == "mean" else total
    assert np.array_equal(clf.groups_, labels)
    assert clf.selected_[0] == truth.argmax()
    assert clf.path_.scores[0] == pytest.approx(total[clf.selected_[0]])
    columns = np.concatenate([np.flatnonzero(labels[g] == GROUPS) for g in clf.selected_])
    assert clf.coef_.shape == (4, columns.size)
    assert np.array_equal(clf.get_feature_names_out(), [f"x{j}" for j in columns])
    transformed = clf.transform(make(X))
    assert np.array_equal(sp.csr_array(transformed).toarray(), X[:, columns])


def test_normalised_groups_do_not_favour_the_large():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=600)
    good = np.eye(3)[y][:, :1] + 0.5 * rng.normal(size=(600, 1))
    weak = np.eye(3)[y][:, 1:2] + 3.0 * rng.normal(size=(600, 12))
    X, groups = np.hstack([weak, good]), [0] * 12 + [1]
    assert ShareBoostClassifier(1, groups=groups).fit(X, y).selected_[0] == 0
    assert ShareBoostClassifier(1, groups=groups, group_choice="mean").fit(X, y).selected_[0] == 1


@pytest.mark.parametrize("rule", ["gradient", "newton", "line_search", "column", "refit"])
def test_groups_of_one_column_are_the_columns(problem, rule):
    X, y = problem
    plain = ShareBoostClassifier(4, rule=rule).fit(X, y)
    grouped = ShareBoostClassifier(4, rule=rule, groups=np.arange(12)).fit(X, y)
    assert np.array_equal(grouped.selected_, plain.selected_)
    assert np.allclose(grouped.coef_, plain.coef_)


def test_a_constant_column_comes_with_its_group(problem):
    X, y = problem
    X = np.hstack([X, np.ones((150, 2))])
    clf = ShareBoostClassifier(5, groups=[*GROUPS, "a", "constant"]).fit(X, y)
    assert clf.path_.stop_reason == StopReason.EXHAUSTED
    assert clf.coef_.shape == (4, 13)
    assert np.isfinite(clf.decision_function(X)).all()


@pytest.mark.parametrize("swap", [False, True])
def test_groups_swap_and_stage(problem, swap):
    X, y = problem
    groups = np.arange(12) // 2
    clf = ShareBoostClassifier(4, groups=groups, swap=swap, rule="newton").fit(X, y)
    for t, decision in enumerate(clf.staged_decision_function(X), start=1):
        assert np.allclose(clf.at(t).decision_function(X), decision)


# --- Prices -------------------------------------------------------------------------------


def test_an_atom_is_chosen_by_its_gain_per_cost(problem):
    X, y = problem
    plain = ShareBoostClassifier(1, pool=Columns()).fit(X, y)
    scores = [
        ShareBoostClassifier(1, exclude=[i for i in range(12) if i != j]).fit(X, y).path_.scores[0]
        for j in range(12)
    ]
    costs = np.random.default_rng(0).uniform(0.5, 4, size=12)
    clf = ShareBoostClassifier(12, costs=costs).fit(X, y)
    assert plain.selected_[0] == np.argmax(scores)
    assert clf.selected_[0] == np.argmax(scores / costs)
    assert np.allclose(clf.path_.costs, np.cumsum(costs[clf.selected_]))
    assert "cost" in clf.path_.to_frame()


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), budget=st.floats(1.0, 8.0))
def test_a_budget_is_never_exceeded_and_nothing_affordable_is_left(seed, budget):
    X, y = random_problem(seed)
    costs = np.random.default_rng(seed).uniform(0.3, 1.0, size=12)
    clf = ShareBoostClassifier(None, costs=costs, budget=budget).fit(X, y)
    assert clf.path_.costs[-1] <= budget * (1 + 1e-9)
    left = np.setdiff1d(np.arange(12), clf.selected_)
    if clf.path_.stop_reason == StopReason.BUDGET:
        assert costs[left].min() > budget - clf.path_.costs[-1]


def test_a_budget_counts_features_where_nothing_else_is_priced(problem):
    clf = ShareBoostClassifier(None, budget=3).fit(*problem)
    assert clf.selected_.size == 3
    assert clf.path_.stop_reason == StopReason.BUDGET
    both = ShareBoostClassifier(2, budget=3).fit(*problem)
    assert both.selected_.size == 2
    assert both.path_.stop_reason == StopReason.N_FEATURES


def test_a_sensor_is_paid_for_once(problem):
    X, y = problem
    clf = ShareBoostClassifier(
        None, groups=GROUPS, group_choice="each", costs=[5.0, 1.0, 7.0], budget=6.0
    ).fit(X, y)
    sensors = GROUPS[clf.selected_]
    assert "c" not in sensors  # beside any other, it is too dear
    assert clf.selected_.size > 2
    paid = [
        sum({"a": 5.0, "b": 1.0}[s] for s in set(sensors[:t])) for t in range(1, sensors.size + 1)
    ]
    assert np.allclose(clf.path_.costs, paid)


def test_what_is_paid_for_is_preferred_but_not_at_any_price():
    prices = np.array([2.0, 4.0])
    needs = sp.csr_array(np.array([[1, 0], [1, 0], [0, 1], [1, 1]], dtype=float))
    terms = Terms(prices, needs)
    assert terms.costs(()).tolist() == [2, 2, 4, 6]
    assert terms.costs((0,)).tolist() == [0, 0, 4, 4]
    assert terms.spent((0, 1, 3)) == 6
    every = np.ones(4, dtype=bool)
    assert terms.counted((0,), every).tolist() == [FREE * 4, FREE * 4, 4, 4]
    assert terms.counted((), every).tolist() == [2, 2, 4, 6]
    assert terms.counted((0, 2), every).tolist() == [1, 1, 1, 1]  # nothing is left to pay
    owned = Terms(prices, needs, owned=(0,))
    assert owned.costs(()).tolist() == [0, 0, 4, 4]
    assert owned.spent((0, 2)) == 4


@pytest.mark.parametrize(
    ("pool", "columns_of"),
    [
        (Columns(), lambda clf: [[j] for j in clf.selected_]),
        (Stumps(), lambda clf: [[j] for j in clf.path_.features.column]),
        (
            Products(),
            lambda clf: list(zip(clf.path_.features.left, clf.path_.features.right, strict=True)),
        ),
    ],
)
def test_columns_are_paid_for_once_whatever_reads_them(problem, pool, columns_of):
    X, y = problem
    costs = np.random.default_rng(1).uniform(1, 3, size=12)
    clf = ShareBoostClassifier(6, pool=pool, costs=costs).fit(X, y)
    read, spent = set(), []
    for columns in columns_of(clf):
        read |= set(columns)
        spent.append(costs[sorted(read)].sum())
    assert np.allclose(clf.path_.costs, spent)


def test_pools_that_read_every_column_pay_for_all_of_them_once(problem):
    X, y = problem
    clf = ShareBoostClassifier(2, pool=Pieces(5, 2), costs=np.full(12, 2.0), alpha=1e-2).fit(X, y)
    assert clf.path_.costs.tolist() == [24.0, 24.0]


def test_a_callable_prices_atoms(problem):
    X, y = problem
    clf = ShareBoostClassifier(4, pool="stumps", costs=lambda atoms: 1.0 + atoms.column).fit(X, y)
    assert np.allclose(clf.path_.costs, np.cumsum(1.0 + clf.path_.features.column))


def test_costs_may_be_a_dict_by_name(problem):
    X, y = problem
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(12)])
    costs = np.arange(1.0, 13.0)
    by_name = ShareBoostClassifier(3, costs=dict(zip(frame.columns, costs, strict=True)))
    by_place = ShareBoostClassifier(3, costs=costs)
    assert np.array_equal(by_name.fit(frame, y).selected_, by_place.fit(X, y).selected_)
    prices = {"a": 1.0, "b": 2.0, "c": 3.0}
    by_label = ShareBoostClassifier(2, groups=GROUPS, costs=prices).fit(X, y)
    in_order = ShareBoostClassifier(2, groups=GROUPS, costs=[1.0, 2.0, 3.0]).fit(X, y)
    assert np.array_equal(by_label.path_.costs, in_order.path_.costs)


# --- In and out ---------------------------------------------------------------------------


def test_included_features_are_in_from_the_start_and_cost_nothing(problem):
    X, y = problem
    frame = pd.DataFrame(X, columns=list("abcdefghijkl"))
    for data, include in ((X, [7, 2]), (frame, ["h", "c"]), (frame, ["h", 2]), (X, ["x7", 2])):
        clf = ShareBoostClassifier(4, include=include, costs=np.full(12, 3.0)).fit(data, y)
        assert clf.selected_[:2].tolist() == [7, 2]
        assert clf.path_.costs.tolist() == [0, 0, 3, 6]
        assert np.isnan(clf.path_.scores[:2]).all()
    best = ShareBoostClassifier(1).fit(X, y).selected_[0]
    assert best not in (7, 2)
    assert best in clf.selected_


def test_excluded_features_are_never_chosen(problem):
    X, y = problem
    plain = ShareBoostClassifier(3).fit(X, y)
    clf = ShareBoostClassifier(12, exclude=plain.selected_).fit(X, y)
    assert not set(plain.selected_) & set(clf.selected_)
    assert clf.selected_.size == 9
    assert clf.path_.stop_reason == StopReason.EXHAUSTED


def test_an_excluded_column_is_read_by_no_atom(problem):
    X, y = problem
    frame = pd.DataFrame(X, columns=list("abcdefghijkl"))
    worst = [frame.columns[j] for j in ShareBoostClassifier(6).fit(X, y).selected_]
    for pool in ("stumps", "products"):
        clf = ShareBoostClassifier(8, pool=pool, exclude=worst).fit(frame, y)
        read = clf.path_.features.reads(12).toarray().any(axis=0)
        assert not set(frame.columns[read]) & set(worst)


def test_atoms_of_other_pools_go_in_by_number_or_name(problem):
    X, y = problem
    plain = ShareBoostClassifier(3, pool="products").fit(X, y)
    atom, name = int(plain.selected_[2]), plain.get_feature_names_out()[2]
    for include in ([atom], [name]):
        clf = ShareBoostClassifier(2, pool="products", include=include).fit(X, y)
        assert clf.selected_[0] == atom
        out = ShareBoostClassifier(4, pool="products", exclude=include).fit(X, y)
        assert atom not in out.selected_


def test_groups_go_in_and_out_by_label(problem):
    X, y = problem
    clf = ShareBoostClassifier(3, groups=GROUPS, include=["c"], exclude=["a"]).fit(X, y)
    assert clf.groups_[clf.selected_].tolist() == ["c", "b"]
    numbered = ShareBoostClassifier(1, groups=[10, 20] * 6, include=[20]).fit(X, y)
    assert numbered.groups_[numbered.selected_].tolist() == [20]


def test_as_many_included_as_features_leaves_nothing_to_choose(problem):
    clf = ShareBoostClassifier(2, include=[4, 1]).fit(*problem)
    assert clf.selected_.tolist() == [4, 1]


# --- What cannot be meant -----------------------------------------------------------------


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
        ({"costs": ["dear"] * 12}, "costs takes a number for each column"),
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
        ({"costs": [2.0] * 12, "budget": 1.5, "pool": "stumps"}, "budget=1.5 is below"),
        ({"costs": [1.0], "pool": "products"}, r"costs has the shape \(1,\)"),
        ({"include": ["weight"]}, "include names 'weight', which is unknown: there are x0, x1"),
        ({"include": ["x111"]}, "include names 'x111', .* Did you mean 'x11'?"),
        ({"exclude": np.arange(12)}, "exclude names every feature that varies"),
        ({"groups": {"x0": 1}}, "groups has no label for 'x1'"),
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
    ],
)
def test_what_only_the_atoms_tell_is_refused_before_any_round(
    problem, monkeypatch, parameters, message
):
    monkeypatch.setattr("shareboost.classifier.Rows", no_work)
    with pytest.raises(ValueError, match=message):
        ShareBoostClassifier(3, pool="products", **parameters).fit(*problem)


def test_a_column_that_every_atom_reads_cannot_be_left_out(problem):
    with pytest.raises(ValueError, match="exclude names 'x1', and every feature of Pieces reads"):
        ShareBoostClassifier(2, pool=Pieces(5, 2), exclude=["x1"]).fit(*problem)


# --- By name ------------------------------------------------------------------------------


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
        assert np.array_equal(clf.coef_, whole.coef_)
    plain = ShareBoostClassifier(4, costs=pd.Series(costs.to_numpy())).fit(X, y)
    assert np.array_equal(plain.path_.costs, truth.path_.costs)


def test_a_sensor_may_be_left_out_where_columns_are_chosen_one_by_one(problem):
    X, y = problem
    for pool in ("columns", "stumps"):
        clf = ShareBoostClassifier(
            6, pool=pool, groups=GROUPS, group_choice="each", exclude=["c"]
        ).fit(X, y)
        assert "c" not in GROUPS[clf.columns_]


def test_a_pool_of_groups_has_prices_by_label(problem):
    X, y = problem
    prices = {"a": 1.0, "b": 2.0, "c": 3.0}
    clf = ShareBoostClassifier(2, pool=Groups(GROUPS), costs=prices).fit(X, y)
    same = ShareBoostClassifier(2, groups=GROUPS, costs=prices).fit(X, y)
    assert np.array_equal(clf.path_.costs, same.path_.costs)
    assert clf.cost_ == same.path_.costs[-1]


def test_the_columns_that_are_read_and_their_cost_are_told(problem):
    X, y = problem
    costs = np.arange(1.0, 13.0)
    for pool in ("columns", "stumps", "products"):
        clf = ShareBoostClassifier(5, pool=pool, costs=costs, include=[3]).fit(X, y)
        read = np.flatnonzero(clf.path_.features.reads(12).toarray().any(axis=0))
        assert np.array_equal(clf.columns_, read)
        owned = clf.at(1).columns_
        assert clf.cost_ == pytest.approx(costs[read].sum() - costs[owned].sum())
    assert np.array_equal(
        ShareBoostClassifier(1, pool=Pieces(5, 2), alpha=1e-2).fit(X, y).columns_, np.arange(12)
    )


# --- Money --------------------------------------------------------------------------------


def test_a_budget_is_spent_to_the_last_penny(problem):
    X, y = problem
    sensors = ShareBoostClassifier(
        12, groups=np.arange(12) % 3, group_choice="each", costs=[0.1] * 3, budget=0.3, tol=1e-9
    ).fit(X, y)
    assert sensors.selected_.size == 12  # the sum of three tenths is above 0.3
    columns = ShareBoostClassifier(3, costs=[0.1] * 12, budget=0.3, warm_start=True).fit(X, y)
    assert columns.selected_.size == 3
    assert columns.set_params(n_features=4).fit(X, y).selected_.size == 3
    costs = [4096.1, 0.1, *[1e7] * 10]
    exact = ShareBoostClassifier(None, costs=costs, budget=4096.2).fit(X, y)
    assert sorted(exact.selected_) == [0, 1]


def test_a_price_that_nobody_can_pay_changes_nothing(problem):
    X, y = problem
    wider = np.hstack([X, X[:, :1]])
    groups, costs = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]), [1.0, 2.0, 3.0, 4.0]
    plain = ShareBoostClassifier(8, groups=groups, group_choice="each", costs=costs).fit(X, y)
    more = ShareBoostClassifier(
        8, groups=[*groups, 4], group_choice="each", costs=[*costs, 1e-4], exclude=[12]
    ).fit(wider, y)
    assert np.array_equal(more.selected_, plain.selected_)


def test_a_callable_is_asked_once(problem):
    asked = []

    def costs(atoms):
        asked.append(len(atoms.ids))
        return np.ones(len(atoms.ids))

    ShareBoostClassifier(2, costs=costs).fit(*problem)
    assert asked == [12]


@pytest.mark.parametrize("pool", [Stumps(), Products(), Pieces(5, 2)], ids=str)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"include": [0, 1, 2, 3]}, "include names 4 features, more than n_features=3"),
        ({"include": [1, 2], "exclude": [2]}, "include and exclude both name 2"),
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


def test_a_label_that_is_another_column_is_ambiguous(problem):
    X, y = problem
    frame = pd.DataFrame(X, columns=list("abcdefghijkl"))
    groups = ["z"] * 6 + ["a"] * 6
    with pytest.raises(ValueError, match="exclude names 'a', which is both a column and a group"):
        ShareBoostClassifier(2, groups=groups, group_choice="each", exclude=["a"]).fit(frame, y)


def test_what_is_owned_needs_no_money(problem):
    X, y = problem
    owned = ShareBoostClassifier(1, costs=[5.0] * 12, budget=1.0, include=[3]).fit(X, y)
    assert owned.selected_.tolist() == [3]
    sensor = ShareBoostClassifier(3, pool="stumps", costs=[5.0] * 12, budget=1.0, include=[0]).fit(
        X, y
    )
    assert sensor.columns_.tolist() == [0]
    assert sensor.cost_ == 0.0


def test_a_series_without_names_is_taken_by_place(problem):
    X, y = problem
    costs, groups = np.arange(1.0, 13.0), np.arange(12) // 4
    clf = ShareBoostClassifier(2, groups=groups, costs=pd.Series(costs)).fit(X, y)
    same = ShareBoostClassifier(2, groups=groups, costs=costs).fit(X, y)
    assert np.array_equal(clf.path_.costs, same.path_.costs)
