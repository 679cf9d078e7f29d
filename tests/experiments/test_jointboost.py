"""Figure 3, below: what is made of the paths of ShareBoost and JointBoost."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from shareboost.datasets import Dataset
from shareboost.experiments import Lab, Verdict, experiment, jointboost

NAMES = ("Statlog", "Pendigits", "Isolet")
FEATURES = np.arange(1, 201)


def path_rows(name, method, errors, seconds, features=FEATURES):
    return [
        {
            "data": name,
            "method": method,
            "features": int(n),
            "fraction": n / 1000,
            "error": float(error),
            "seconds": float(time),
            "fastest": float(time),
            "slowest": float(time),
            "test_rows": 2000,
        }
        for n, error, time in zip(features, errors, seconds, strict=True)
    ]


def falling(rate):
    """Return errors that fall to 10% at a rate."""
    return 0.1 + 0.8 * np.exp(-FEATURES / rate)


def rising(rate, by=0.08):
    """Return the same, and after 100 features a rise."""
    return falling(rate) + by * np.maximum(FEATURES - 100, 0) / 100


def three(plain, penalised, joint, ratio=3.0, names=NAMES):
    """Return rows alike on all data sets."""
    seconds = FEATURES / 100
    return [
        row
        for name in names
        for row in (
            *path_rows(name, jointboost.PLAIN, plain, seconds),
            *path_rows(name, jointboost.PENALISED, penalised, seconds),
            *path_rows(name, jointboost.JOINTBOOST, joint, ratio * seconds),
        )
    ]


def verdicts(rows):
    return [claim.verdict for claim in jointboost.judge(rows)]


def test_all_holds_where_everything_is_as_in_the_paper():
    assert verdicts(three(rising(10), falling(10), falling(30))) == [Verdict.HOLDS] * 4


def test_nothing_holds_where_jointboost_is_faster_and_the_penalty_is_useless():
    rows = three(falling(30), rising(30), falling(10), ratio=0.5)
    speed, overfit, prevented, time = verdicts(rows)
    assert (speed, overfit, time) == (Verdict.FAILS,) * 3
    assert prevented is Verdict.IN_PART  # nothing was there to prevent
    assert verdicts(three(rising(30), rising(30), falling(10)))[2] is Verdict.FAILS


def test_one_data_set_of_three_is_a_part():
    rows = three(falling(30), falling(30), falling(10), ratio=0.5, names=NAMES[1:])
    rows += three(rising(10), falling(10), falling(30), names=NAMES[:1])
    speed, overfit, prevented, time = verdicts(rows)
    assert (speed, overfit, time) == (Verdict.IN_PART,) * 3
    assert prevented is Verdict.HOLDS


def test_a_little_faster_is_not_much_faster():
    rows = three(rising(10), falling(10), falling(13), ratio=1.3)
    assert verdicts(rows) == [Verdict.IN_PART, Verdict.HOLDS, Verdict.HOLDS, Verdict.IN_PART]


def test_stumps_saved_are_those_for_the_same_error():
    (own,) = jointboost._models(three(falling(10), falling(10), falling(30), names="A")).values()
    assert jointboost._saved(own) == pytest.approx(3)


def test_jointboost_counts_with_all_stumps_where_it_is_never_as_good():
    rows = three(falling(10), falling(10), falling(10) + 0.5, names="A")
    (own,) = jointboost._models(rows).values()
    assert jointboost._saved(own) == pytest.approx(200 / np.prod(jointboost.SPARSE) ** 0.25)


@pytest.mark.parametrize(("by", "overfits"), [(0.01, False), (0.03, True)])
def test_a_rise_within_chance_is_no_overfitting(by, overfits):
    # 2 standard errors of a difference of two shares near 10% of 2000 rows are 1.9 to 2.0%.
    rows = path_rows("A", "ShareBoost", rising(10, by), FEATURES)
    models = jointboost.Models(rows, "A", "ShareBoost")
    assert models.rise == pytest.approx(by, abs=1e-3)
    assert models.overfits is overfits


def test_models_are_the_last_of_at_most_so_many_features():
    rows = path_rows("A", "JointBoost", [0.9, 0.5, 0.4, 0.45], [0, 1, 2, 3], [0, 1, 1, 3])
    models = jointboost.Models(rows, "A", "JointBoost")
    assert [models.error(t) for t in (0, 1, 2, 3, 9)] == [0.9, 0.4, 0.4, 0.45, 0.45]
    assert [models.time(t) for t in (0, 1, 2, 3)] == [0, 2, 2, 3]
    assert models.needed(0.5) == 1
    assert models.needed(0.1) is None


def test_times_are_those_of_a_number_of_stumps_that_all_reach():
    rows = three(falling(10), falling(10), falling(30), names="A")
    few = [r for r in rows if r["method"] != jointboost.PLAIN or r["features"] <= 20]
    (own,) = jointboost._models(few).values()
    assert jointboost._shared_number(own) == 20
    assert "0.2 s against 0.6 s for 20 stumps" in jointboost.judge(few)[3].measured


def test_figures_have_a_panel_a_data_set_and_a_curve_a_method(tmp_path):
    figures = jointboost.draw(Lab("jointboost", tmp_path), three(*[falling(10)] * 3))
    assert list(figures) == ["jointboost", "jointboost-seconds"]
    for name, figure in figures.items():
        assert [ax.get_title() for ax in figure.axes] == list(NAMES)
        for ax in figure.axes:
            assert [line.get_label() for line in ax.lines] == list(jointboost.METHODS)
        figure.savefig(tmp_path / f"{name}.png")
    first = figures["jointboost"].axes[0].lines[0]
    np.testing.assert_allclose(first.get_xdata(), FEATURES / 1000)  # the paper's axis
    np.testing.assert_allclose(first.get_ydata(), falling(10))


def test_a_run_gives_every_method_s_path(tmp_path):
    X, y = load_digits(return_X_y=True)
    data = Dataset(X[:500], y[:500], X[500:1000], y[500:1000])
    paths = jointboost._run(Lab("jointboost", tmp_path), data, 6, repeat=1)
    assert set(paths) == set(jointboost.METHODS)
    for path in paths.values():
        assert max(path["features"]) == 6
        assert len({len(column) for column in path.values()}) == 1
        assert (np.diff(path["seconds"]) > 0).all()
        assert path["seconds"][0] >= 0
        assert path["errors"][-1] < 0.7
    # A column's stumps are the same for both methods, so is what a fraction is of.
    shares = {round(max(path["fractions"]), 12) for path in paths.values()}
    assert len(shares) == 1


def test_a_sample_has_all_classes():
    X, y = load_digits(return_X_y=True)
    data = jointboost._sample(Dataset(X, y, X, y), 100)
    assert len(data.y_train) == len(data.y_test) == 100
    assert set(data.y_train) == set(range(10))
    full = Dataset(X, y, X, y)
    assert jointboost._sample(full, None) is full


def test_it_is_found_by_its_name():
    assert experiment("jointboost") is jointboost.EXPERIMENT
