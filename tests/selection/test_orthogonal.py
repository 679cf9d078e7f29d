"""The orthogonal rule against the quadratic model that it is derived from."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_problem
from every_pool import classifier, every_pool
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier
from shareboost.losses import LogisticLoss
from shareboost.path import StopReason
from shareboost.penalties import Frobenius
from shareboost.pools import Columns, Groups
from shareboost.rows import Rows
from shareboost.selection.pricing import Pricing
from shareboost.selection.rules import MOST_COLUMNS, Selector
from shareboost.selection.second_order import SecondOrder, by_class
from shareboost.solvers import Refit

ALPHA = 0.01


def fitted_rows(X, pool, atoms, k, y, weight):
    """Return the rows with some atoms chosen, a refit, and weights near its minimum."""
    pool.fit(X, weight)
    rows = Rows(X, y, weight, pool, k, True)
    return rows, Refit(LogisticLoss(), Frobenius(), ALPHA, "lbfgs", 1000), atoms


def naive_score(rows, W, new):
    """Return the sum over classes of the root of twice what the quadratic model gains.

    The model of a class's weights has the slope of the objective, and the curvature of the loss
    in the scores of that class. What it gains is the difference of two minima, each found by
    least squares over all columns: with the new ones and without.
    """
    (block,) = rows.shard.blocks
    y, weight, m = block.y, block.weight, rows.total_weight
    old = block.columns[: rows.n_columns].astype(float)
    residual = block.residual.astype(float)
    rho = residual / weight
    rho[y, np.arange(len(y))] += 1
    columns = np.vstack([old, new])
    ridge = np.r_[0.0, np.full(len(columns) - 1, 2 * ALPHA)]
    slope = residual @ columns.T / m
    slope[:, : len(old)] += ridge[: len(old)] * W
    total = 0.0
    for q in range(len(rho)):
        curvature = (columns * (weight * rho[q] * (1 - rho[q]) / m)) @ columns.T + np.diag(ridge)
        lowest = []
        for n in (len(old), len(columns)):
            step = np.linalg.lstsq(curvature[:n, :n], -slope[q, :n], rcond=None)[0]
            lowest.append(slope[q, :n] @ step + 0.5 * step @ curvature[:n, :n] @ step)
        total += np.sqrt(2 * (lowest[0] - lowest[1]))
    return total


@pytest.mark.parametrize("pool", [Columns(), Groups([0, 0, 0, 1, 2, 2, 3, 4, 5, 5, 5, 5])])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("tolerance", [1e-7, 0.1], ids=["exact refit", "loose refit"])
def test_scores_are_those_of_the_quadratic_model(pool, make, tolerance):
    X, y = random_problem(3, n=120, d=12, k=3)
    X = X * np.linspace(0.1, 30, 12) + np.linspace(-40, 5, 12)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=120)
    rows, refit, _ = fitted_rows(make(X), pool, (), 3, y, weight)
    with rows:
        rows.append(1)
        rows.append(4)
        W, _ = refit(rows, np.zeros((3, rows.n_columns)), tolerance)
        rows.evaluate(W, refit.loss)
        atoms = [atom for atom in range(pool.n_atoms_) if atom not in (1, 4)]
        found = by_class(rows, refit, W, atoms, {}).scores()
        truth = []
        for atom in atoms:
            rows.append(atom)
            new = (
                rows.shard.blocks[0]
                .columns[rows.layout.starts[-2] : rows.layout.starts[-1]]
                .astype(float)
            )
            rows.remove(2)
            truth.append(naive_score(rows, W, new))
    assert found == pytest.approx(truth, rel=1e-5)


@pytest.mark.parametrize("rule", ["gradient", "newton", "orthogonal"])
def test_exchanges_are_judged_by_a_matrix_for_each_class(rule, monkeypatch):
    X, y = random_problem(3, n=120, d=12, k=3)
    rows, refit, _ = fitted_rows(X, Columns(), (), 3, y, np.ones(120))
    with rows:
        rows.append(1)
        rows.append(4)
        W, _ = refit(rows, np.zeros((3, 3)), 1e-3)
        selector = Selector(rows, Pricing(np.ones(12)), rule, "auto")
        new = [choice.atom for choice in selector.ranked(refit, W, 4, np.ones(12, dtype=bool))]
        truth = by_class(rows, refit, W, new, {}).scores()
        ((model, known),) = selector.second_order(refit, W, new)
        assert known == new
        assert [model.scores()[model.atoms.index(a)] for a in new] == pytest.approx(truth)
        # Without room for that there is one matrix for all classes.
        monkeypatch.setattr("shareboost.selection.rules.MOST_COLUMNS", 6)
        selector = Selector(rows, selector.pricing, "gradient", "auto")
        models = list(selector.second_order(refit, W, new))
        assert all(len(model.chosen) == 1 for model, _ in models)
        assert [known for _, known in models] == [[atom] for atom in new]


def test_atoms_that_the_chosen_ones_span_score_nothing():
    X, y = random_problem(5, n=120, d=6, k=3)
    X = np.column_stack([X, X[:, 0] + 2 * X[:, 1], 3 * X[:, 0] + 7])
    rows, refit, _ = fitted_rows(X, Columns(), (), 3, y, np.ones(120))
    with rows:
        rows.append(0)
        rows.append(1)
        W, _ = refit(rows, np.zeros((3, 3)), 1e-3)
        rows.evaluate(W, refit.loss)
        *others, mixed, copied = by_class(rows, refit, W, [2, 3, 4, 5, 6, 7], {}).scores()
    assert mixed == copied == 0.0
    assert min(others) > 0.0


@pytest.mark.parametrize(
    ("dtype", "copies", "make", "swap"),
    [
        (np.float32, 60, np.asarray, False),
        (np.float64, 60, np.asarray, True),
        (np.float32, 400, sp.csr_array, True),
        (np.float64, 400, np.asarray, False),
    ],
)
def test_copies_of_chosen_columns_are_never_chosen(dtype, copies, make, swap):
    X, y = random_problem(6, n=150, d=4, k=3)
    units, means = np.linspace(0.5, 2, 4 * copies), np.linspace(-3, 3, 4 * copies)
    many = np.repeat(X, copies, axis=1) * units + means
    clf = ShareBoostClassifier(20, refit_tol=0.9, swap=swap).fit(make(many.astype(dtype)), y)
    assert sorted(clf.selected_ // copies) == [0, 1, 2, 3]
    assert clf.path_.stop_reason == StopReason.NO_GAIN


@pytest.mark.parametrize(
    ("scale", "dtype"),
    [("deviation", np.float32), ("deviation", np.float64), ("none", np.float64)],
)
def test_no_more_columns_are_chosen_than_are_independent(dtype, scale):
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 0][:, :30]
    rng = np.random.default_rng(0)
    for many, rank in (
        (np.hstack([X, 2 * X + 1]), 30),
        (X[:, :10] @ rng.normal(size=(10, 40)), 10),
    ):
        clf = ShareBoostClassifier(60, pool=Columns(scale)).fit(many.astype(dtype), y)
        assert clf.selected_.size == rank


def test_columns_with_large_means_are_judged_by_what_varies():
    X, y = random_problem(7, n=150, d=6, k=3)
    plain = ShareBoostClassifier(4).fit(X, y)
    moved = ShareBoostClassifier(4).fit(X + 1e6, y)
    assert np.array_equal(moved.selected_, plain.selected_)


def test_the_shortlist_may_be_longer_than_the_pool():
    X, y = random_problem(8)
    one, two = (ShareBoostClassifier(5, shortlist=n).fit(X, y) for n in (10_000, None))
    assert np.array_equal(one.selected_, two.selected_)


def test_a_shortlist_of_one_is_the_gradient_rule():
    X, y = random_problem(9)
    one = ShareBoostClassifier(5, shortlist=1).fit(X, y)
    two = ShareBoostClassifier(5, rule="gradient").fit(X, y)
    assert np.array_equal(one.selected_, two.selected_)
    assert np.allclose(one.path_.scores, two.path_.scores)


def test_scores_of_the_path_are_norms_of_the_gradient():
    X, y = random_problem(9)
    first, second = (ShareBoostClassifier(1, rule=r).fit(X, y) for r in ("gradient", "orthogonal"))
    if first.selected_[0] == second.selected_[0]:
        assert first.path_.scores[0] == second.path_.scores[0]
    assert second.path_.scores[0] <= first.path_.scores[0]


def test_atoms_of_more_columns_than_can_be_compared_are_chosen_by_their_gradient():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2 * MOST_COLUMNS)), np.arange(60) % 3
    groups = np.arange(X.shape[1]) % 3
    X[:, groups == 1] += 0.2 * y[:, None]
    clf = ShareBoostClassifier(1, groups=groups).fit(X, y)
    assert clf.selected_.tolist() == [1]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_copies_are_never_chosen_where_the_gradient_decides(make, monkeypatch):
    monkeypatch.setattr("shareboost.selection.rules.MOST_COLUMNS", 8)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    y = (X @ rng.normal(size=(20, 3)) + 3 * rng.gumbel(size=(200, 3))).argmax(axis=1)
    clf = ShareBoostClassifier(40, tol=1e-8).fit(make(np.hstack([X, X])), y)
    assert sorted(clf.selected_ % 20) == list(range(20))
    assert clf.path_.stop_reason == StopReason.NO_GAIN


@every_pool
def test_every_pool_chooses_by_it(name):
    X, y = load_digits(return_X_y=True)
    clf = classifier(4, name).fit(X[:80], y[:80])
    assert clf.selected_.size == len(set(clf.selected_)) == 4
    assert (np.diff(clf.path_.losses) < 0).all()


@pytest.mark.parametrize(("make", "swap"), [(np.asarray, True), (sp.csr_array, False)])
def test_classes_of_one_row_and_separable_rows_without_a_penalty_are_taken(make, swap):
    X = make([[0.0, 1.0, 3.0], [1.0, 0.0, 3.5], [2.0, 2.0, 1.0], [2.5, 2.0, 0.0]])
    clf = ShareBoostClassifier(3, alpha=0.0, swap=swap).fit(X, ["a", "b", "c", "c"])
    assert clf.score(X, ["a", "b", "c", "c"]) == 1.0
    assert np.isfinite(clf.weights_).all()


def test_columns_that_are_collinear_but_for_rounding_span_no_other():
    chosen = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]])
    across = np.array([[1e-7, 2e-7]])  # of an independent column: rounding
    model = SecondOrder(
        W=np.zeros((2, 2)),
        unit=np.ones((2, 1)),
        slope=np.zeros((2, 2)),
        chosen=chosen[None],
        ridge=np.zeros(2),
        atoms=(5,),
        widths=np.array([1]),
        across=across[None],
        squares=np.ones((1, 1, 1)),
        own_ridge=0.0,
        slopes=np.ones((2, 1)),
        rounding=float(np.finfo(np.float32).eps),
    )
    assert not model.spans(5)


@pytest.mark.parametrize(("swap", "n"), [(False, 100), (True, 50)])
def test_as_many_columns_are_compared_by_default_as_the_documentation_says(swap, n):
    X, y = random_problem(10, n=150, d=300, k=3)
    one, two = (ShareBoostClassifier(3, swap=swap, shortlist=s).fit(X, y) for s in ("auto", n))
    assert np.array_equal(one.selected_, two.selected_)
    compared = []

    def watched(rows, refit, W, atoms, centers):
        compared.append(len(atoms))
        return by_class(rows, refit, W, atoms, centers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shareboost.selection.rules.by_class", watched)
        ShareBoostClassifier(1, swap=swap).fit(X, y)
    assert compared[0] == n
