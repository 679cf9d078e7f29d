import numpy as np
import pytest
from made_up_rows import share_of_bound, theorem_1
from sklearn.datasets import load_iris

from paper.generalization_gap import (
    VARIED,
    Fit,
    _errors,
    _plan,
    constant,
    draw,
    gaps,
    told,
)


@pytest.mark.parametrize("share", [0.1, 1.5])
def test_gaps_are_compared_with_bounds_that_say_anything(share):
    rows = theorem_1(share_of_bound(share))
    telling = {(row["panel"], row["bound"]) for row in rows if row["bound"] < 1}
    assert 0 < len(telling) < 9
    words = told(rows)
    assert f"{constant(rows):.2g} times the bound covers all 9." in words
    below = len(telling) if share < 1 else 0
    assert f"says nothing, at {9 - len(telling)} of them" in words
    assert f"at the other {len(telling)} it is above the gap {below} times" in words


def test_errors_are_of_the_rows_fitted_and_of_all_others_of_the_classes():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(150, 5))])
    fit = Fit(draw=0, k=3, m=90, T=(1, 2, 50))
    found = _errors(X, y, fit, None)
    assert [row["rounds"] for row in found] == [1, 2, 50]
    assert found == _errors(X, y, fit, None)
    for row in found:
        assert row["train_error"] * 90 == pytest.approx(round(row["train_error"] * 90))
        assert row["held_out_error"] * 60 == pytest.approx(round(row["held_out_error"] * 60))
    assert found[0]["train_error"] >= found[2]["train_error"]
    (of_two,) = _errors(X, y, Fit(draw=1, k=2, m=70, T=(2,)), None)
    assert of_two["held_out_error"] * 30 == pytest.approx(round(of_two["held_out_error"] * 30))


def test_one_number_varies_at_a_time():
    plan = _plan(1, 26, 6238, quick=False)
    assert {fit.k for panel, fit in plan if panel != "k"} == {26}
    assert {fit.m for panel, fit in plan if panel == "k"} == {300}
    assert {fit.T for panel, fit in plan if panel != "T"} == {(20,)}
    assert len(set(plan)) == len(plan) == 1 + 5 + 6 * 5
    others = {fit.draw for panel, fit in _plan(0, 26, 6238, quick=False) if panel == "k"}
    assert others.isdisjoint(fit.draw for panel, fit in plan if panel == "k")


def test_gaps_are_gathered_by_what_varies():
    found = gaps(theorem_1(lambda T, k, m, seed: 1 / m), "m")
    assert found == {m: [1 / m, 1 / m] for m in (250, 1000, 4000)}


def test_the_figure_has_a_panel_for_each_number():
    axes = draw(theorem_1()).axes
    assert [ax.get_xlabel() for ax in axes] == list(VARIED)
    for ax in axes:  # the bound, times the constant, passes through gaps of its shape
        drawn = {str(line.get_label()): line.get_ydata() for line in ax.lines}
        means = np.asarray(ax.containers[0].lines[0].get_ydata(), dtype=float)
        np.testing.assert_allclose(drawn["0.1 of the bound"], means)
