import math

import numpy as np
import pytest
from made_up_rows import share_of_bound, theorem_1
from sklearn.datasets import load_iris

from shareboost.experiments import Verdict
from shareboost.experiments.generalization_gap import (
    VARIED,
    Fit,
    _errors,
    _plan,
    constant,
    draw,
    gaps,
    judge,
    positive,
    power,
)


def verdicts(rows):
    return [claim.verdict for claim in judge(rows)]


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        (share_of_bound(0.1), (Verdict.HOLDS,) * 3),
        (share_of_bound(7.0), (Verdict.HOLDS,) * 3),  # the constant is not stated
        (lambda T, k, m, seed: 10.0 / m, (Verdict.HOLDS,) * 3),
        (lambda T, k, m, seed: 1e-4 * T, (Verdict.FAILS, Verdict.HOLDS, Verdict.FAILS)),
        (lambda T, k, m, seed: 1e-4 * k, (Verdict.HOLDS, Verdict.FAILS, Verdict.FAILS)),
        (lambda T, k, m, seed: 1e-6 * T * k, (Verdict.FAILS,) * 3),  # far below the bound
    ],
)
def test_the_gap_keeps_to_the_powers_of_the_bound_or_does_not(gap, expected):
    assert tuple(verdicts(theorem_1(gap))) == expected


def test_a_power_above_that_of_the_bound_by_no_more_than_the_spread_holds():
    """The bound grows about as T^0.6 here; single seeds by 0.4 and 1.0, and by 0.9 and 1.0."""
    wide = judge(theorem_1(lambda T, k, m, seed: 1e-3 * T ** (0.4 + 0.6 * seed)))[0]
    assert wide.verdict == Verdict.HOLDS
    assert "the power seed by seed: 0.70 ± 0.42 over 2 seeds (0.40, 1.00)" in wide.measured
    assert "above the bound's power by no more than that spread" in wide.measured
    narrow = judge(theorem_1(lambda T, k, m, seed: 1e-3 * T ** (0.9 + 0.1 * seed)))[0]
    assert narrow.verdict == Verdict.FAILS
    assert "spread" not in narrow.measured


def test_a_claim_that_fails_tells_the_constant_that_covers_all():
    rows = theorem_1(lambda T, k, m, seed: 1e-4 * T * k)
    told = judge(rows)[0].measured
    assert f"a range does not refute an O(): {constant(rows):.2g} times the bound" in told
    assert "refute" not in judge(theorem_1())[0].measured
    assert constant(theorem_1(share_of_bound(0.1))) == pytest.approx(0.1)


def test_gaps_without_a_logarithm_are_counted():
    rows = theorem_1(lambda T, k, m, seed: -0.01 if T == 2 or (T == 8 and seed == 0) else 0.05)
    of_T, of_k, _ = judge(rows)
    assert "left out of the powers: 1 of 3 mean gaps, 3 of 6 gaps of single seeds" in of_T.measured
    # Over T = 8 and 32 alone, of means 0.02 and 0.05; the power of one seed, which has two gaps.
    assert f"T^{math.log(2.5) / math.log(4):.2f} by the mean gaps" in of_T.measured
    assert "0.00, one seed" in of_T.measured
    assert "left out" not in of_k.measured


def test_a_gap_of_nothing_is_judged_without_a_power():
    for claim in judge(theorem_1(lambda T, k, m, seed: 0.0, seeds=(0,))):
        assert "no power: fewer than two mean gaps are above 0" in claim.measured
        assert "3 of 3 mean gaps, 3 of 3 gaps of single seeds" in claim.measured
        assert claim.verdict == Verdict.IN_PART


def test_powers_are_those_of_the_positive_values():
    x = (1, 2, 4, 8)
    assert power({a: 3 * a**-0.5 for a in x}) == pytest.approx(-0.5)
    assert positive({1: 0.0, 2: 4.0, 4: -1.0}) == {2: 4.0}
    assert math.isnan(power({2: 4.0}))


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
