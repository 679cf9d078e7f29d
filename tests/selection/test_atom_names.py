"""Features in and features out, by index, name or label."""

import numpy as np
import pandas as pd
import pytest

from shareboost import ShareBoostClassifier
from shareboost.path import StopReason
from shareboost.pools import Stumps
from shareboost.selection.constraints import AtomNames

GROUPS = np.array(["b", "a", "b", "c", "a", "c", "c", "b", "a", "c", "a", "b"])


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
    atom, name = int(plain.selected_[2]), plain.path_.names(plain.selected_)[2]
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


def test_a_sensor_may_be_left_out_where_columns_are_chosen_one_by_one(problem):
    X, y = problem
    for pool in ("columns", "stumps"):
        clf = ShareBoostClassifier(
            6, pool=pool, groups=GROUPS, group_choice="each", exclude=["c"]
        ).fit(X, y)
        assert "c" not in GROUPS[clf.columns_]


def test_a_name_of_a_column_and_of_a_group_is_the_columns(problem):
    X, y = problem
    frame = pd.DataFrame(X, columns=list("abcdefghijkl"))
    groups = ["z"] * 6 + ["a"] * 6
    clf = ShareBoostClassifier(12, groups=groups, group_choice="each", exclude=["a"]).fit(frame, y)
    assert clf.columns_.tolist() == list(range(1, 12))


@pytest.mark.parametrize(
    ("n_columns", "told"),
    [
        (4, "a, b, c, d"),
        (5, "a, b, c, d, e"),
        (6, "a, b, c, d, e, ..."),
        (12, "a, b, c, d, e, ..."),
    ],
)
def test_an_unknown_name_is_answered_with_the_first_five(problem, n_columns, told):
    X, y = problem
    frame = pd.DataFrame(X[:, :n_columns], columns=list("abcdefghijkl")[:n_columns])
    for argument in ("include", "exclude"):
        with pytest.raises(ValueError, match=rf"{argument} names 'zz', .* there are {told}\."):
            ShareBoostClassifier(2, **{argument: ["zz"]}).fit(frame, y)
    if n_columns > 3:
        labels = list("abcdefghijkl")[:n_columns]
        with pytest.raises(ValueError, match=rf"takes labels of groups, {told}\."):
            ShareBoostClassifier(2, groups=labels, include=["zz"]).fit(frame, y)


def test_a_pool_is_asked_once_however_many_features_are_named(monkeypatch):
    X = np.random.default_rng(0).normal(size=(30, 12))
    names = [f"c{j}" for j in range(12)]
    pool = Stumps().fit(X)
    stumps = pool.features(range(0, pool.n_atoms_, 7)).names(names)
    asked = []
    reads, features = pool.reads, pool.features
    monkeypatch.setattr(pool, "reads", lambda n: asked.append("reads") or reads(n))
    monkeypatch.setattr(pool, "features", lambda atoms: asked.append("features") or features(atoms))
    lookup = AtomNames(pool, names, {})
    assert lookup.owned(stumps) == list(range(0, pool.n_atoms_, 7))
    excluded = lookup.forbidden(["c3", "c1", "c7", "c1"])
    assert excluded == [29 * j + i for j in (3, 1, 7) for i in range(29)]
    assert sorted(asked) == ["features", "reads"]


def test_a_pool_without_atoms_has_no_name_to_offer():
    pool = Stumps().fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match=r"include names the column 'a'.*gives them\."):
        AtomNames(pool, ["a", "b"], {}).owned(["a"])
