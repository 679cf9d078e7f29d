import math
from itertools import pairwise

import numpy as np
import pytest
from made_up_rows import START, theorem_2
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from paper import Verdict
from paper.sparsity_guarantee import (
    _run,
    column_norm,
    draw,
    judge,
    loss_bound,
    margin_loss,
    rounds_asked,
)


def test_the_claims_tell_rounds_and_steps():
    bound, steps = judge(theorem_2())
    # Half is 1.5; of the W* the one of norm 1 is 0.5 below it.
    assert "after 2 rounds half of the first loss, promised after 8" in bound.measured
    # The steps are 1.0 and 0.5, a quarter of the score squared 0.0625.
    assert "8 to 16 times" in steps.measured
    assert "in 1 rounds not half" in judge(theorem_2(losses=(START, 2.0)))[0].measured


@pytest.mark.parametrize(
    ("losses", "score", "expected"),
    [
        ((START, 2.0, 1.5), 0.5, (Verdict.HOLDS, Verdict.HOLDS)),
        ((START, 2.7, 1.5), 0.5, (Verdict.HOLDS, Verdict.HOLDS)),
        ((START, 3.1, 1.5), 0.5, (Verdict.IN_PART, Verdict.IN_PART)),  # up, then down
        ((START, 3.1, 3.2), 0.5, (Verdict.FAILS, Verdict.FAILS)),
        ((START, 2.5, 2.45), 1.0, (Verdict.HOLDS, Verdict.IN_PART)),  # 0.5 and 0.05 of 0.25
        ((START, 2.7, 2.4), 2.0, (Verdict.HOLDS, Verdict.FAILS)),
    ],
)
def test_theorem_2_holds_as_far_as_it_does(losses, score, expected):
    assert tuple(claim.verdict for claim in judge(theorem_2(losses, score))) == expected


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


def test_the_figure_has_the_loss_and_the_bounds_and_a_legend_that_covers_nothing():
    figure = draw(theorem_2())
    (ax,) = figure.axes
    measured, dense, mixed = (np.asarray(line.get_ydata()) for line in ax.lines)
    assert measured.tolist() == [2.0, 1.5]
    assert dense[-1] == pytest.approx(0.4, abs=1e-3)
    assert mixed[-1] == pytest.approx(1.0, abs=1e-3)
    figure.draw_without_rendering()
    covered = ax.get_legend().get_window_extent()
    for line in ax.lines:
        points = ax.transData.transform(line.get_xydata())
        assert not any(covered.contains(*point) for point in points)
