"""The verdicts and figures of ShareBoost against mixed norms."""

import numpy as np
import pytest

from shareboost.experiments import Lab, Verdict
from shareboost.experiments.mixed_norm import (
    FROBENIUS,
    NORM,
    NORM_REFIT,
    PLAIN,
    PLANS,
    chosen_alpha,
    draw,
    judge,
    sample,
    within,
)
from shareboost.experiments.mixed_norm import QUICK as PLAN


def rows_of(errors, sizes=(1, 2, 3, 5)):
    """Return rows for all data sets: errors by method, at the sizes in a thousand features."""
    return [
        {
            "data": data,
            "method": method,
            "alpha": 1e-3,
            "features": n,
            "fraction": n / 1000,
            "test_error": error,
        }
        for data in PLANS
        for method, some in errors.items()
        for n, error in zip(sizes, some, strict=True)
    ]


BETTER = {
    PLAIN: [0.5, 0.3, 0.2, 0.24],
    FROBENIUS: [0.5, 0.3, 0.2, 0.2],
    NORM: [0.9, 0.8, 0.5, 0.22],
    NORM_REFIT: [0.6, 0.5, 0.4, 0.21],
}


def verdicts(errors):
    return [claim.verdict for claim in judge(rows_of(errors))]


def test_all_claims_hold_where_the_curves_are_those_of_the_paper():
    assert verdicts(BETTER) == [Verdict.HOLDS] * 6


def test_a_budget_at_which_the_norm_is_better_even_against_the_penalty_counts():
    one_lost = {**BETTER, FROBENIUS: [0.5, 0.81, 0.2, 0.2]}
    assert verdicts(one_lost)[:3] == [Verdict.IN_PART] * 3
    lost = {**BETTER, PLAIN: [0.95] * 4, FROBENIUS: [0.95] * 4}
    assert verdicts(lost)[:3] == [Verdict.FAILS] * 3


def test_no_overfitting_and_nothing_to_mend():
    flat = {**BETTER, PLAIN: [0.5, 0.3, 0.2, 0.2]}
    assert verdicts(flat)[4:] == [Verdict.FAILS, Verdict.HOLDS]
    both = {**BETTER, FROBENIUS: BETTER[PLAIN]}
    assert verdicts(both)[4:] == [Verdict.HOLDS, Verdict.FAILS]


def test_a_budget_has_the_largest_model_within_it():
    rows = rows_of(BETTER, sizes=(2, 4, 9, 7))  # a norm's path need not rise
    found = within(rows, "isolet", NORM, [1, 2, 5, 8, 100])
    np.testing.assert_array_equal(found, [np.nan, 0.9, 0.8, 0.22, 0.5])


def test_the_figure_has_a_panel_a_data_set_and_a_curve_a_method(tmp_path):
    figure = draw(Lab("mixed-norm", tmp_path), rows_of(BETTER))["mixed-norm"]
    assert [ax.get_title() for ax in figure.axes] == [plan.title for plan in PLANS.values()]
    for ax in figure.axes:
        assert [line.get_label() for line in ax.lines] == list(BETTER)
        np.testing.assert_allclose(ax.lines[0].get_ydata(), BETTER[PLAIN])


@pytest.fixture
def noise():
    """Labels that one column tells but for a fifth of the rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 12))
    y = (X[:, 0] * X[:, 1] > 0) ^ (random.random(400) < 0.2)
    return X, y.astype(int)


def test_the_penalty_is_chosen_on_training_rows_alone(noise, tmp_path):
    from shareboost.datasets import Dataset

    X, y = noise
    lab = Lab("mixed-norm", tmp_path)
    found = chosen_alpha(lab, Dataset(X, y, X[:0], y[:0]), PLAN)
    assert found == chosen_alpha(lab, Dataset(X, y, X, 1 - y), PLAN)


def test_a_sample_keeps_rows_with_their_labels():
    from shareboost.datasets import Dataset

    y = np.arange(3000)
    X = np.tile(y[:, None], (1, 50))
    some = sample(Dataset(X, y, X, y))
    assert some.X_train.shape == some.X_test.shape == (600, 40)
    np.testing.assert_array_equal(some.X_train[:, 0], some.y_train)
    np.testing.assert_array_equal(some.X_test[:, 0], some.y_test)
