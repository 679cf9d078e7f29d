import math
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from shareboost.bounds import generalization_gap
from shareboost.experiments import Verdict
from shareboost.experiments.guarantee import (
    DENSE,
    MIXED,
    VARIED,
    _errors,
    _run,
    column_norm,
    constant,
    draw,
    gaps,
    judge,
    loss_bound,
    margin_loss,
    rounds_asked,
    slope,
)

START = 3.0


def rows_of(losses=(START, 2.0, 1.5), score=0.5, gap=lambda T, k, m: 0.1, seeds=(0, 1)):
    """Made-up rows of both theorems."""
    about = {"theorem": 2, "data": "pendigits"}
    rows = [
        {**about, "kind": "round", "rounds": t, "loss": loss} | ({"score": score} if t else {})
        for t, loss in enumerate(losses)
    ]
    rows += [
        {**about, "kind": "W*", "source": DENSE, "norm": 3.0, "loss": 0.4},
        {**about, "kind": "W*", "source": MIXED, "norm": 1.0, "loss": 1.0},
    ]
    varied = {"T": [(t, 26, 4000) for t in (2, 8, 32)], "k": [(20, k, 300) for k in (2, 8, 26)]}
    varied["m"] = [(20, 26, m) for m in (250, 1000, 4000)]
    for panel, points in varied.items():
        for T, k, m in points:
            for seed in seeds:
                row = {"theorem": 1, "panel": panel, "data": "isolet", "seed": seed}
                row |= {"rounds": T, "classes": k, "samples": m, "train_error": 0.0}
                row |= {"held_out_error": gap(T, k, m)}
                rows.append(row | {"bound": generalization_gap(T, k, 617, m)})
    return rows


def share_of_bound(share):
    return lambda T, k, m: share * generalization_gap(T, k, 617, m)


def test_all_holds_where_the_gap_is_a_share_of_the_bound():
    rows = rows_of(gap=share_of_bound(0.1))
    assert constant(rows) == pytest.approx(0.1)
    # The steps are 1.0 and 0.5, a quarter of the score squared 0.0625.
    assert [claim.verdict for claim in judge(rows)] == [Verdict.HOLDS] * 6
    assert "8 to 16 times" in judge(rows)[1].measured
    # Half is 1.5; of the W* the one of norm 1 is 0.5 below it.
    assert "after 2 rounds half of the first loss, promised after 8" in judge(rows)[0].measured
    assert "in 1 rounds not half" in judge(rows_of(losses=(START, 2.0)))[0].measured


@pytest.mark.parametrize(
    ("losses", "score", "expected"),
    [
        ((START, 2.7, 1.5), 0.5, (Verdict.HOLDS, Verdict.HOLDS)),
        ((START, 3.1, 1.5), 0.5, (Verdict.IN_PART, Verdict.IN_PART)),  # up, then down
        ((START, 3.1, 3.2), 0.5, (Verdict.FAILS, Verdict.FAILS)),
        ((START, 2.5, 2.45), 1.0, (Verdict.HOLDS, Verdict.IN_PART)),  # 0.5 and 0.05 of 0.25
        ((START, 2.7, 2.4), 2.0, (Verdict.HOLDS, Verdict.FAILS)),
    ],
)
def test_theorem_2_holds_as_far_as_it_does(losses, score, expected):
    claims = judge(rows_of(losses, score, share_of_bound(0.1)))
    assert tuple(claim.verdict for claim in claims[:2]) == expected


def test_a_gap_of_another_shape_holds_in_part_and_one_above_the_bound_does_not():
    steeper = judge(rows_of(gap=lambda T, k, m: 1e-4 * T * k))
    of_T, of_k, of_m = (claim.verdict for claim in steeper[3:])
    assert steeper[2].verdict == Verdict.HOLDS
    assert (of_T, of_k, of_m) == (Verdict.IN_PART,) * 3  # it does not fall with m at all
    flat = judge(rows_of(gap=lambda T, k, m: 10.0 / m))
    assert [claim.verdict for claim in flat[3:]] == [Verdict.HOLDS] * 3
    above = judge(rows_of(gap=lambda T, k, m: 1.5 * T * k))
    assert [claim.verdict for claim in above[2:]] == [Verdict.FAILS] * 4


def test_a_gap_of_nothing_is_judged_without_a_power():
    claims = judge(rows_of(gap=lambda T, k, m: 0.0, seeds=(0,)))
    assert "T^nan" in claims[3].measured
    assert claims[3].verdict == Verdict.IN_PART


def test_the_bound_is_the_least_over_all_weights_between():
    stars = [{"norm": 3.0, "loss": 0.4}, {"norm": 1.0, "loss": 1.0}]
    for T in (1, 7, 100, 10_000):
        shares = np.linspace(0, 1, 20_001)
        naive = min(
            (s * star["loss"] + (1 - s) * START + 4 * (s * star["norm"]) ** 2 / T).min()
            for star in stars
            for s in [shares]
        )
        assert loss_bound(stars, START, T) == pytest.approx(naive, abs=1e-6)
    assert loss_bound([], START, 5) == START
    assert loss_bound([{"norm": 1.0, "loss": 4.0}], START, 5) == START  # worse than nothing


def test_rounds_asked_are_those_of_the_best_weights():
    stars = [{"norm": 3.0, "loss": 0.4}, {"norm": 1.0, "loss": 1.0}]
    assert rounds_asked(stars, 1.1) == 40  # 4 / 0.1, against 36 / 0.7
    assert rounds_asked(stars, 1.01) == math.ceil(36 / 0.61)
    assert rounds_asked(stars, 0.4) is None


def test_the_theorem_s_loss_and_norm_by_their_definitions():
    X, y = load_iris(return_X_y=True)
    clf = LogisticRegression(max_iter=1000).fit(X, y)
    scores = clf.decision_function(X)
    naive = [
        math.log(sum(math.exp((q != label) - row[label] + row[q]) for q in range(3)))
        for row, label in zip(scores, y, strict=True)
    ]
    assert margin_loss(clf, X, y) == pytest.approx(np.mean(naive))
    assert column_norm(np.array([[1.0, -2.0], [-3.0, 0.5]])) == 5.0


def test_a_run_keeps_to_theorem_2():
    X, y = load_iris(return_X_y=True)
    found = _run(X / X.max(axis=0), y, 2, None)
    assert found[0]["loss"] == pytest.approx(math.log(1 + 2 * math.e))
    for before, after in pairwise(found):
        assert before["loss"] - after["loss"] >= after["score"] ** 2 / 4


def test_slopes_are_powers_of_the_positive_values():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    assert slope(x, 3 * x**-0.5) == pytest.approx(-0.5)
    assert slope([1.0, 2.0, 4.0], [0.0, 4.0, 16.0]) == pytest.approx(2.0)
    assert math.isnan(slope([1.0, 2.0], [0.0, 1.0]))


def test_errors_are_of_the_rows_fitted_and_of_all_others_of_the_classes():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(150, 5))])
    found = _errors(X, y, 0, 3, 90, [1, 2, 50], None)
    assert [row["rounds"] for row in found] == [1, 2, 50]
    assert found == _errors(X, y, 0, 3, 90, [1, 2, 50], None)
    for row in found:
        assert row["train_error"] * 90 == pytest.approx(round(row["train_error"] * 90))
        assert row["held_out_error"] * 60 == pytest.approx(round(row["held_out_error"] * 60))
    assert found[0]["train_error"] >= found[2]["train_error"]
    (of_two,) = _errors(X, y, 1, 2, 70, [2], None)
    assert of_two["held_out_error"] * 30 == pytest.approx(round(of_two["held_out_error"] * 30))


def test_gaps_are_gathered_by_what_varies():
    found = gaps(rows_of(gap=lambda T, k, m: 1 / m), "m")
    assert found == {m: [1 / m, 1 / m] for m in (250, 1000, 4000)}


def test_the_figures_have_a_panel_for_each_data_set_and_each_number():
    figures = draw(None, rows_of(gap=share_of_bound(0.1)))
    assert list(figures) == ["guarantee-sparsity", "guarantee-generalization"]
    (ax,) = figures["guarantee-sparsity"].axes
    measured, dense, mixed = (np.asarray(line.get_ydata()) for line in ax.lines)
    assert measured.tolist() == [2.0, 1.5]
    assert dense[-1] == pytest.approx(0.4, abs=1e-3)
    assert mixed[-1] == pytest.approx(1.0, abs=1e-3)
    axes = figures["guarantee-generalization"].axes
    assert [ax.get_xlabel() for ax in axes] == list(VARIED)
    for ax in axes:  # the bound, times the constant, passes through gaps of its shape
        drawn = {str(line.get_label()): line.get_ydata() for line in ax.lines}
        means = np.asarray(ax.containers[0].lines[0].get_ydata(), dtype=float)
        np.testing.assert_allclose(drawn["0.1 of the bound"], means)
