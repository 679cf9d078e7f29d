"""Groups of columns, chosen whole or for one price."""

import naive
import numpy as np
import pytest
import scipy.sparse as sp

from shareboost import ShareBoostClassifier
from shareboost.path import StopReason
from shareboost.selection.rules import RULES

GROUPS = np.array(["b", "a", "b", "c", "a", "c", "c", "b", "a", "c", "a", "b"])


@pytest.mark.parametrize(
    ("choice", "make"), [("sum", np.asarray), ("mean", sp.csr_array)], ids=["sum", "mean, sparse"]
)
def test_a_group_is_chosen_whole_by_its_columns_norms(problem, make, choice):
    X, y = problem
    clf = ShareBoostClassifier(
        2, groups=GROUPS, group_choice=choice, alpha=0, rule="gradient", margin=1.0
    ).fit(make(X), y)
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
    assert clf.weights_.shape == (4, columns.size)
    columns.sort()
    assert np.array_equal(clf.get_feature_names_out(), [f"x{j}" for j in columns])
    transformed = clf.transform(make(X))
    assert np.array_equal(sp.csr_array(transformed).toarray(), X[:, columns])


def test_normalised_groups_do_not_favour_the_large():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=600)
    good = np.eye(3)[y][:, :1] + 0.5 * rng.normal(size=(600, 1))
    weak = np.eye(3)[y][:, 1:2] + 3.0 * rng.normal(size=(600, 12))
    X, groups = np.hstack([weak, good]), [0] * 12 + [1]
    assert ShareBoostClassifier(1, groups=groups, rule="gradient").fit(X, y).selected_[0] == 0
    assert (
        ShareBoostClassifier(1, groups=groups, group_choice="mean", rule="gradient")
        .fit(X, y)
        .selected_[0]
        == 1
    )


@pytest.mark.parametrize("rule", RULES)
def test_groups_of_one_column_are_the_columns(problem, rule):
    X, y = problem
    plain = ShareBoostClassifier(4, rule=rule).fit(X, y)
    grouped = ShareBoostClassifier(4, rule=rule, groups=np.arange(12)).fit(X, y)
    assert np.array_equal(grouped.selected_, plain.selected_)
    assert np.allclose(grouped.weights_, plain.weights_)


def test_a_constant_column_comes_with_its_group(problem):
    X, y = problem
    X = np.hstack([X, np.ones((150, 2))])
    clf = ShareBoostClassifier(5, groups=[*GROUPS, "a", "constant"]).fit(X, y)
    assert clf.path_.stop_reason == StopReason.EXHAUSTED
    assert clf.weights_.shape == (4, 13)
    assert np.isfinite(clf.decision_function(X)).all()


@pytest.mark.parametrize("swap", [False, True])
def test_groups_swap_and_stage(problem, swap):
    X, y = problem
    groups = np.arange(12) // 2
    clf = ShareBoostClassifier(4, groups=groups, swap=swap, rule="newton").fit(X, y)
    for t, decision in enumerate(clf.staged_decision_function(X), start=1):
        assert np.allclose(clf.at(t).decision_function(X), decision)
