"""Fig. 3, bottom: what is made of the paths of ShareBoost and JointBoost."""

import numpy as np
from sklearn.datasets import load_digits

from paper import Lab, Verdict, experiment, jointboost
from shareboost.datasets import Dataset

NAMES = ("StatLog", "Pendigits", "Isolet")
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
            "wrong": list(range(round(2000 * float(error)))),
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
            *path_rows(name, jointboost.PUBLISHED, plain, seconds),
            *path_rows(name, jointboost.PLAIN, plain, seconds),
            *path_rows(name, jointboost.PENALISED, penalised, seconds),
            *path_rows(name, jointboost.JOINTBOOST, joint, ratio * seconds),
        )
    ]


def verdicts(rows):
    return [claim.verdict for claim in jointboost.judge(rows)]


def test_all_holds_where_everything_is_as_in_the_paper():
    assert verdicts(three(rising(10), falling(10), falling(30))) == [Verdict.HOLDS] * 5


def test_nothing_holds_where_jointboost_is_faster_and_the_penalty_is_useless():
    rows = three(rising(30), rising(30), falling(10), ratio=0.5)
    *speed, overfit, prevented, time = verdicts(rows)
    assert (*speed, prevented, time) == (Verdict.FAILS,) * 4
    assert overfit is Verdict.HOLDS


def test_one_data_set_of_three_is_a_part():
    rows = three(falling(30), falling(30), falling(10), ratio=0.5, names=NAMES[1:])
    rows += three(rising(10), falling(10), falling(30), names=NAMES[:1])
    *speed, overfit, prevented, time = verdicts(rows)
    assert (*speed, overfit, time) == (Verdict.IN_PART,) * 4
    assert prevented is Verdict.HOLDS


def test_a_little_faster_is_not_much_faster():
    rows = three(rising(10), falling(10), falling(13), ratio=1.3)
    part, whole = Verdict.IN_PART, Verdict.HOLDS
    assert verdicts(rows) == [part, part, whole, whole, part]


def test_times_are_those_of_a_number_of_stumps_that_all_reach():
    rows = three(falling(10), falling(10), falling(30), names="A")
    few = [r for r in rows if r["method"] != jointboost.PLAIN or r["features"] <= 20]
    (own,) = jointboost._models(few).values()
    assert jointboost._shared_number(own) == 20
    assert "0.2 s against 0.6 s for 20 stumps" in jointboost.judge(few)[-1].measured


def test_figures_have_a_panel_a_data_set_and_a_curve_a_method(tmp_path):
    figures = jointboost.draw(Lab("jointboost", tmp_path), three(*[falling(10)] * 3))
    assert list(figures) == ["jointboost", "jointboost-seconds"]
    for name, figure in figures.items():
        assert [ax.get_title() for ax in figure.axes] == list(NAMES)
        for ax in figure.axes:
            all_of = jointboost.STYLES if name == "jointboost" else jointboost.TAKING_TURNS
            assert [line.get_label() for line in ax.lines] == list(all_of)
        figure.savefig(tmp_path / f"{name}.png")
    first = figures["jointboost"].axes[0].lines[0]
    np.testing.assert_allclose(first.get_xdata(), FEATURES)
    np.testing.assert_allclose(first.get_ydata(), 100 * falling(10))


def test_a_run_gives_every_method_s_path():
    X, y = load_digits(return_X_y=True)
    data = Dataset(X[:500], y[:500], X[500:1000], y[500:1000])
    paths = jointboost._run(data, 6, repeat=1)
    assert set(paths) == set(jointboost.TAKING_TURNS)
    for path in paths.values():
        assert max(path["features"]) == 6
        assert len({len(path[key]) for key in path if key != "wrong"}) == 1
        assert len(path["wrong"]["5"]) == round(path["errors"][5] * 500)
        assert (np.diff(path["seconds"]) > 0).all()
        assert path["seconds"][0] >= 0
        assert path["errors"][-1] < 0.7
    # A column's stumps are the same for both methods, so is what a fraction is of.
    shares = {round(max(path["fractions"]), 12) for path in paths.values()}
    assert len(shares) == 1


def test_runs_that_end_at_different_rounds_are_cut_to_the_shortest():
    def path(n, seconds):
        numbers = list(range(1, n + 1))
        return {
            "features": numbers,
            "fractions": [k / 100 for k in numbers],
            "errors": [1 / k for k in numbers],
            "seconds": [seconds * k for k in numbers],
            "wrong": {"3": [7, 8]},
        }

    rows = jointboost._rows_of([path(5, 1), path(4, 2), path(6, 9)], "Isolet", "JointBoost", 70)
    assert [row["features"] for row in rows] == [1, 2, 3, 4]
    assert [row["seconds"] for row in rows] == [2, 4, 6, 8]
    assert (rows[-1]["fastest"], rows[-1]["slowest"]) == (4, 36)
    assert {row["test_rows"] for row in rows} == {70}
    assert [row.get("wrong") for row in rows] == [None, None, None, [7, 8]]


def test_times_are_of_the_cpu_whatever_the_device():
    for method in (jointboost.PLAIN, jointboost.PENALISED):
        assert jointboost._classifier(method, 3).device is None


def test_it_is_found_by_its_name():
    assert experiment("jointboost") is jointboost.EXPERIMENT
