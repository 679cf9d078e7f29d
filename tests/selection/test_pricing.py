"""Prices, budgets, and what is paid for once."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import random_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from shareboost import ShareBoostClassifier
from shareboost.path import StopReason
from shareboost.pools import Columns, Groups, Pieces, Products, Stumps
from shareboost.selection.pricing import FREE, Pricing

GROUPS = np.array(["b", "a", "b", "c", "a", "c", "c", "b", "a", "c", "a", "b"])


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
    terms = Pricing(prices, needs)
    assert terms.forbidden.size == 0
    assert terms.costs(()).tolist() == [2, 2, 4, 6]
    assert terms.costs((0,)).tolist() == [0, 0, 4, 4]
    assert terms.spent((0, 1, 3)) == 6
    every = np.ones(4, dtype=bool)
    assert terms.counted((0,), every).tolist() == [FREE * 4, FREE * 4, 4, 4]
    assert terms.counted((), every).tolist() == [2, 2, 4, 6]
    assert terms.counted((0, 2), every).tolist() == [1, 1, 1, 1]  # nothing is left to pay
    for chosen in ((0,), (0, 1), (0, 2, 3), (2,), (2, 3)):
        rest = [chosen[:i] + chosen[i + 1 :] for i in range(len(chosen))]
        alone = [terms.costs(r)[atom] for r, atom in zip(rest, chosen, strict=True)]
        assert terms.freed(chosen).tolist() == alone
    owned = Pricing(prices, needs, owned=(0,))
    assert owned.freed((0, 2, 3)).tolist() == [0, 0, 0]
    assert owned.freed((0, 1, 2)).tolist() == [0, 0, 4]
    assert owned.costs(()).tolist() == [0, 0, 4, 4]
    assert owned.spent((0, 2)) == 4


@pytest.mark.parametrize("unit", [1e-3, 0.1, 1e4])
def test_the_unit_of_prices_does_not_matter(unit):
    prices = np.array([2.0, 4.0, 7.0])
    needs = sp.csr_array(np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]], float))
    allowed = np.array([True, True, False, True, True])
    for items in (needs, None):
        plain, priced = (
            Pricing(
                u * np.resize(prices, 5 if items is None else 3), items, owned=(1,), budget=9 * u
            )
            for u in (1.0, unit)
        )
        for chosen in ((), (0,), (2,), (0, 2), (0, 2, 4)):
            one, two = (terms.counted(chosen, allowed) for terms in (plain, priced))
            assert np.allclose(one / one.max(), two / two.max())
            assert np.allclose(priced.freed(chosen) / unit, plain.freed(chosen))
            assert np.array_equal(priced.affordable(chosen), plain.affordable(chosen))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), shared=st.booleans())
def test_terms_equal_what_sets_of_items_say(seed, shared):
    """Every sum from the definition: the items of a set of atoms, each paid for once."""
    rng = np.random.default_rng(seed)
    needs = rng.integers(2, size=(6, 4)) if shared else np.eye(6, dtype=int)
    prices = rng.integers(1, 5, size=needs.shape[1]) / 4
    owned = tuple(rng.choice(6, rng.integers(3), replace=False).tolist())
    budget = rng.integers(1, 12) / 4
    terms = Pricing(
        prices, sp.csr_array(needs.astype(float)) if shared else None, (), owned, budget
    )

    def cost(atoms):
        return prices[needs[[*owned, *atoms]].any(axis=0) & ~needs[list(owned)].any(axis=0)].sum()

    chosen = tuple(rng.choice(6, rng.integers(1, 5), replace=False).tolist())
    spent = cost(chosen)
    more = np.array([cost((*chosen, atom)) - spent for atom in range(6)])
    assert terms.spent(chosen) == pytest.approx(spent)
    assert np.allclose(terms.costs(chosen), more)
    assert np.array_equal(terms.affordable(chosen), (more == 0) | (spent + more <= budget))
    rest = [chosen[:i] + chosen[i + 1 :] for i in range(len(chosen))]
    assert np.allclose(terms.freed(chosen), [spent - cost(atoms) for atoms in rest])
    for new in set(range(6)) - set(chosen) - set(owned):
        assert np.allclose(terms.spent_after(chosen, new), [cost((*atoms, new)) for atoms in rest])


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
