"""Fig. 2: what is made of the features needed for a target."""

import numpy as np
import pytest

from paper import Lab, Verdict, sharing
from shareboost import ShareBoostClassifier
from shareboost.datasets import Dataset
from shareboost.inspection.comparison import ErrorCurve, error_curve
from shareboost.pools import Templates

CLASSES = (2, 4, 8, 16, 36)


def needed_rows(ours, theirs, classes=CLASSES, orders=3):
    """Return rows of features by the number of classes, the same in every order."""
    return [
        {
            "order": order,
            "classes": k,
            "method": method,
            "alpha": 1e-4,
            "target": target,
            "features": features(k),
            "most": 500,
        }
        for order in range(orders)
        for method, features in (("ShareBoost", ours), ("one-vs-rest", theirs))
        for target in sharing.TARGETS
        for k in classes
    ]


def verdicts(rows):
    return [claim.verdict for claim in sharing.judge(rows)]


def never(k):
    return None


@pytest.mark.parametrize("b", [0.3, 1.0, 1.7])
def test_exponent_is_that_of_a_power_of_the_number_of_classes(b):
    rows = needed_rows(lambda k: 5 * k**b, lambda k: k)
    assert sharing.Needed.of(rows, "ShareBoost", 0.2).exponent == pytest.approx(b)


def test_means_and_spreads_are_over_orders():
    rows = needed_rows(lambda k: k, lambda k: k, orders=2)
    for row in rows:
        row["features"] += 4 * row["order"]
    needed = sharing.Needed.of(rows, "one-vs-rest", 0.08)
    np.testing.assert_array_equal(needed.classes, CLASSES)
    np.testing.assert_allclose(needed.means, np.array(CLASSES) + 2)
    np.testing.assert_allclose(needed.spreads, np.sqrt(8))  # of 0 and 4, as of a sample
    assert needed.growth == pytest.approx(38 / np.mean([4, 6, 10]))


def test_a_target_that_is_not_reached_counts_as_the_most_features():
    needed = sharing.Needed.of(needed_rows(lambda k: k, never), "one-vs-rest", 0.2)
    np.testing.assert_array_equal(needed.means, 500)
    np.testing.assert_array_equal(needed.missed, 3)
    assert needed.at(0).startswith("at least 500.0 ± 0.0 over 3 seeds")


def test_all_holds_where_sharing_is_sublinear_and_the_rival_is_not():
    rows = needed_rows(lambda k: 2 * k**0.5, lambda k: k**1.4)
    assert verdicts(rows) == [Verdict.HOLDS] * 3


def test_nothing_holds_where_the_methods_change_places():
    rows = needed_rows(lambda k: k**1.4, lambda k: 2 * k**0.5)
    assert verdicts(rows) == [Verdict.FAILS] * 3


def test_one_target_of_two_is_a_part():
    rows = needed_rows(lambda k: 2 * k**0.5, lambda k: k**1.4)
    for row in rows:
        if row["target"] == 0.08:
            row["features"] = 3 * row["classes"] ** (1.2 if row["method"] == "ShareBoost" else 0.8)
    assert verdicts(rows) == [Verdict.IN_PART] * 3


def test_a_bound_for_the_rival_still_tells_that_it_grows():
    rows = needed_rows(lambda k: 2 * k**0.5, lambda k: None if k == 36 else k**1.4)
    claims = sharing.judge(rows)
    assert [claim.verdict for claim in claims] == [Verdict.HOLDS] * 3
    assert "at least 500.0" in claims[1].measured
    assert "36: ≥41.7" in claims[2].measured


def test_a_bound_for_few_classes_proves_no_growth_of_the_rival():
    rows = needed_rows(lambda k: k**0.5, lambda k: None if k == 2 else 500 * k**1.4)
    assert verdicts(rows)[1] is Verdict.FAILS


def test_a_target_that_shareboost_misses_never_helps_it():
    rows = needed_rows(lambda k: None if k == 36 else 400, lambda k: 1000 * k**1.4)
    assert sharing.Needed.of(rows, "ShareBoost", 0.2).exponent < 1
    assert verdicts(rows) == [Verdict.FAILS, Verdict.HOLDS, Verdict.FAILS]


def test_two_classes_alike_do_not_count_against_sharing():
    rows = needed_rows(lambda k: k**0.5, lambda k: k**0.5 if k == 2 else k**1.4)
    assert verdicts(rows)[2] is Verdict.HOLDS


def test_figure_has_the_paper_s_lines(tmp_path):
    rows = needed_rows(lambda k: 2 * k**0.5, lambda k: k**1.4, classes=(2, 4, 8))
    (figure,) = sharing.draw(Lab("sharing", tmp_path, quick=True), rows).values()
    paper, logarithmic = figure.axes
    assert [line.get_linestyle() for line in paper.lines] == ["-", "-", "--", "--"]
    ours, theirs = paper.lines[0].get_color(), paper.lines[1].get_color()
    assert ours != theirs
    assert [line.get_color() for line in paper.lines] == [ours, theirs] * 2
    np.testing.assert_allclose(paper.lines[3].get_xdata(), [2, 4, 8])
    np.testing.assert_allclose(paper.lines[3].get_ydata(), np.array([2, 4, 8]) ** 1.4)
    assert (logarithmic.get_xscale(), logarithmic.get_yscale()) == ("log", "log")
    figure.savefig(tmp_path / "sharing.png")


def test_bounds_are_drawn_as_triangles(tmp_path):
    rows = needed_rows(lambda k: k, lambda k: None if k > 8 else k)
    figure = sharing.draw(Lab("sharing", tmp_path), rows)["sharing"]
    triangles = [line for line in figure.axes[0].lines if line.get_marker() == "^"]
    drawn = [line.get_xdata().tolist() for line in triangles if len(line.get_xdata())]
    assert drawn == [[16, 36], [16, 36]]  # one for each target
    texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert texts[-1] == "a lower bound: not always reached"


def test_orders_are_nested_and_differ():
    first = sharing._first_classes(0, 36)
    np.testing.assert_array_equal(sharing._first_classes(0, 8), first[:8])
    assert sorted(first) == list(range(36))
    assert (sharing._first_classes(1, 36) != first).any()


def letters(n_rows):
    """Return made-up images of 4 classes, each a bright bar at a place of its own."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), n_rows)
    X = rng.integers(0, 60, (y.size, 12, 12))
    for q in range(4):
        X[y == q, 2 * q + 1 : 2 * q + 4, 2:10] += 150
    return X.reshape(y.size, -1).astype(np.uint8), y


def test_some_classes_are_taken_with_the_first_of_their_rows():
    X, y = letters(5)
    data = sharing._of_classes(Dataset(X, y, X, y), np.array([3, 1]), 2)
    np.testing.assert_array_equal(data.y_train, [1, 1, 3, 3])
    np.testing.assert_array_equal(data.X_train, X[[5, 6, 15, 16]])
    assert len(sharing._of_classes(Dataset(X, y, X, y), np.array([3, 1]), None).y_test) == 10


def test_measured_features_are_those_of_the_error_curve(tmp_path):
    X, y = letters(30)
    data = Dataset(X[::2], y[::2], X[1::2], y[1::2])
    size = sharing._Size((4,), 4, 1, 6, None, 5, 1)
    found = sharing._needed(Lab("sharing", tmp_path), size, data, "ShareBoost", 1e-4, 3)
    pool = Templates(6, n_patches=2400, random_state=3)
    clf = ShareBoostClassifier(5, pool=pool, rule="gradient", alpha=1e-4)
    clf.fit(data.X_train, data.y_train)
    errors = error_curve(clf, data.X_test, data.y_test)
    assert found["features"] == [errors.features_needed(0.2), errors.features_needed(0.08)]
    assert found["most"] == errors.n_features.max()
    assert found["features"][0] is not None
    rival = sharing._needed(Lab("sharing", tmp_path), size, data, "one-vs-rest", 1e-4, 3)
    assert rival["most"] <= 5


def test_alpha_is_the_one_of_the_least_held_out_error_over_the_path(tmp_path, monkeypatch):
    errors = {alpha: [0.6, 0.1] for alpha in sharing.ALPHAS}
    errors |= {1e-6: [0.1, 0.5], 1e-5: [0.2, 0.2]}

    def path_errors(lab, size, data, method, alpha, seed):
        assert (len(data.y_train), len(data.y_test)) == (28, 12)  # of 40, of 4 classes
        nothing = np.zeros(2)
        return ErrorCurve(nothing, nothing, nothing, np.array(errors[alpha]))

    monkeypatch.setattr(sharing, "_path_errors", path_errors)
    lab = Lab("sharing", tmp_path)
    y = np.repeat(np.arange(36), 10)
    X = np.zeros((y.size, 4), dtype=np.uint8)
    assert sharing._alpha(lab, sharing.QUICK, Dataset(X, y, X, y), "ShareBoost") == 1e-5
    assert list(lab.records) == [
        f"held-out error, ShareBoost, alpha {alpha}" for alpha in sharing.ALPHAS
    ]


def test_what_models_depend_on_is_told_apart():
    size = sharing.FULL
    assert size.of_models("ShareBoost", 2) == size.of_models("ShareBoost", 36)
    assert size.of_models("one-vs-rest", 2) != size.of_models("one-vs-rest", 36)
    assert size.of_models("ShareBoost", 2) != sharing.QUICK.of_models("ShareBoost", 2)
