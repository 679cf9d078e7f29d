"""The verdicts and the figure of the piece-wise linear predictor."""

import numpy as np

from paper import Lab, Verdict
from paper.pieces import draw, judge, svm


def rows_of(last, line, n=230, vectors=10_000, tested=10_000):
    about = {"method": "ShareBoost", "train_error": 0.01, "tested": tested}
    own = [
        about | {"seed": s, "pieces": t, "test_error": e}
        for s, e in enumerate(last)
        for t in (1, n)
    ]
    machine = {"method": "RBF SVM", "pieces": vectors, "test_error": line, "tested": tested}
    return [*own, machine]


def verdicts(*arguments, **named):
    return [claim.verdict for claim in judge(rows_of(*arguments, **named))]


def test_close_is_half_a_point_by_the_interval_of_the_difference():
    assert verdicts([0.013, 0.014], 0.0134) == [Verdict.HOLDS, Verdict.HOLDS]
    assert verdicts([0.016, 0.018], 0.0134)[0] == Verdict.INDISTINGUISHABLE
    assert verdicts([0.016, 0.018], 0.0134, tested=1_000_000)[0] == Verdict.HOLDS
    assert verdicts([0.03], 0.0134) == [Verdict.FAILS, Verdict.IN_PART]


def test_fewer_pieces_than_support_vectors():
    assert verdicts([0.016], 0.0134, vectors=1000)[1] == Verdict.IN_PART
    assert verdicts([0.016], 0.0134, vectors=100)[1] == Verdict.FAILS


def test_the_mean_and_spread_of_seeds_are_told():
    text = judge(rows_of([0.016, 0.018], 0.0134))[0].measured
    expected = (
        "1.70% ± 0.14 over 2 seeds (1.60, 1.80), 0.36 points above the SVM's 1.34%; 95% interval "
        "of the difference 0.02 to 0.70 points, close is at most 0.5"
    )
    assert text == expected


def test_a_seed_that_ended_early_counts():
    rows = rows_of([0.016], 0.0134)
    early = rows[0] | {"seed": 1, "pieces": 229, "test_error": 0.5}
    assert judge([early, *rows])[0].verdict == Verdict.FAILS


def test_the_figure_has_both_curves_and_the_line(tmp_path):
    figure = draw(Lab("pieces", tmp_path), rows_of([0.016, 0.018], 0.0134))["pieces"]
    train, test, papers, line = figure.axes[0].lines
    np.testing.assert_allclose(papers.get_xdata(), [230, 230])
    np.testing.assert_allclose(train.get_ydata(), [1.0, 1.0])
    np.testing.assert_allclose(test.get_ydata(), [1.7, 1.7])
    np.testing.assert_allclose(line.get_ydata(), [1.34, 1.34])
    assert "10,000 support vectors" in line.get_label()


def test_the_test_rows_do_not_choose_the_machine():
    from sklearn.datasets import load_digits

    from shareboost.datasets import Dataset

    X, y = load_digits(return_X_y=True)
    X = X / 16
    found = svm(Dataset(X[:900], y[:900], X[900:], y[900:]))
    other = svm(Dataset(X[:900], y[:900], X[900:], 9 - y[900:]))
    assert (found["C"], found["gamma"]) == (other["C"], other["gamma"])
    assert found["test_error"] < 0.1 < other["test_error"]
    assert 0 < found["pieces"] <= 900
