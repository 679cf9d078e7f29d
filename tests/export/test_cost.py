"""Costs are those of the compiled header, for every pool and size."""

import copy

import numpy as np
import pytest
from compiled_c import compiled, flash_of, needs_gcc, stack_of
from every_pool import NotExported
from exported_pools import FORMS, every_form
from pairs import covering
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from shareboost import ShareBoostClassifier, load_model
from shareboost.export import cost_report, to_c
from shareboost.export.cost import running_costs
from shareboost.rivals import OneVsRestGreedyClassifier


def assert_near_size(reported, measured):
    assert abs(reported - measured) <= max(0.1 * measured, 64)


@needs_gcc
@every_form
def test_flash_and_ram_are_those_of_the_object(name, fitted_model, tmp_path):
    clf = fitted_model(name)
    for weights, places in (("float32", (1, -1)), ("int8", (4, -1))):
        report = cost_report(clf, weights=weights)
        for place in places:
            header = to_c(clf.at(int(report.n_features[place])), weights=weights)
            assert_near_size(report.flash[place], flash_of(header, tmp_path))
        assert_near_size(report.ram[place], stack_of(header, tmp_path))


@needs_gcc
@covering(pool=["columns", "stumps", "products"], k=[2, 3], weights=["float32", "int16", "int8"])
def test_flash_is_that_of_the_object_for_few_classes(k, pool, weights, digits, tmp_path):
    X, y = digits
    clf = ShareBoostClassifier(15, pool=pool, alpha=1e-3).fit(X[y < k], y[y < k])
    report = cost_report(clf, weights=weights)
    for place in np.unique([0, 1, 3, report.n_features.size - 1]):
        header = to_c(clf.at(int(report.n_features[place])), weights=weights)
        assert_near_size(report.flash[place], flash_of(header, tmp_path))


@needs_gcc
@pytest.mark.parametrize("name", [n for n in FORMS if "pieces" not in n and n != "union"])
def test_multiply_adds_are_those_that_are_counted(name, fitted_model, digits, tmp_path):
    clf = fitted_model(name)
    # No blank pixel, and below every threshold.
    row = np.full(64, 1e-3, dtype=np.float32) if "stumps" in name else digits[0][0] + 1.0
    one, all_features = compiled(tmp_path, (clf.at(1), {}), (clf, {}))
    report = cost_report(clf)
    assert one.count(row) == pytest.approx(report.multiply_adds[1], rel=0.1)
    assert all_features.count(row) == pytest.approx(report.multiply_adds[-1], rel=0.1)


@needs_gcc
@pytest.mark.parametrize("name", ["pieces", "pieces, paper"])
def test_pieces_cost_what_is_reported_inside_all_balls(name, fitted_model, digits, tmp_path):
    clf = copy.deepcopy(fitted_model(name))
    clf.path_.features.squared_radii[:] *= np.float32(1e6)
    (header,) = compiled(tmp_path, (clf, {}))
    counted = header.count(digits[0][0])
    assert counted == pytest.approx(cost_report(clf).multiply_adds[-1], rel=0.1)


def test_more_features_cost_more(fitted_model):
    report = cost_report(fitted_model("templates"))
    assert np.all(np.diff(report.multiply_adds) > 0)
    assert np.all(np.diff(report.flash) > 0)
    assert report.multiply_adds[0] == 0


def test_a_model_without_its_path_has_its_own_costs_alone(fitted_model, tmp_path):
    clf = fitted_model("columns")
    clf.save(tmp_path / "model.json", whole_path=False)
    report = cost_report(load_model(tmp_path / "model.json"))
    whole = cost_report(clf)
    assert report.n_features.tolist() == [whole.n_features[-1]]
    assert report.multiply_adds.tolist() == [whole.multiply_adds[-1]]
    assert report.flash.tolist() == [whole.flash[-1]]


def test_a_report_is_a_frame_and_a_table(fitted_model):
    pytest.importorskip("pandas")
    report = cost_report(fitted_model("columns"))
    frame = report.to_frame()
    assert frame.index.tolist() == list(range(13))
    np.testing.assert_array_equal(frame["flash"], report.flash)
    assert str(report).count("\n") == 12


def test_templates_that_share_a_convolution_are_counted_once(digits):
    """By hand: one template of nine taps at 36 places, under four masks."""
    from shareboost.pools import Templates

    X, y = digits[0][:300], digits[1][:300]
    template = np.array([[1.0, 1, 1], [0, 0, 0], [-1, -1, -1]])
    pool = Templates(templates=template[None], masks=2, sigma=2.0)
    clf = ShareBoostClassifier(4, pool=pool, alpha=1e-3).fit(X, y)
    responses, across, down, weights = 36 * 9, 36 * 2, 6 * 4, 4 * 10
    assert cost_report(clf).multiply_adds[-1] == responses + across + down + weights


@pytest.mark.parametrize("name", ["columns", "stumps", "products", "pieces", "pieces, paper"])
def test_multiply_adds_are_those_of_the_formulas(name, fitted_model):
    """A weight a class for each value; before them products, or coordinates, distances, depths."""
    report = cost_report(fitted_model(name))
    n, k, p = report.n_features, 10, 64
    own = {
        "products": n,
        "pieces": (n > 0) * p + 2 * n * p,
        "pieces, paper": (n > 0) * p + 2 * n * p,
    }
    columns = n * (p + 1) if "pieces" in name else n
    np.testing.assert_array_equal(report.n_columns, columns)
    np.testing.assert_array_equal(report.multiply_adds, own.get(name, 0) + columns * k)


@pytest.mark.parametrize("name", ["columns", "stumps", "products"])
def test_features_without_arrays_take_no_more_stack(name, fitted_model):
    ram = cost_report(fitted_model(name)).ram
    np.testing.assert_array_equal(ram, ram[0])


def test_a_template_under_more_masks_takes_a_float_for_each_value_and_track(digits):
    """Its four values are of two masks across: a track for each, and the first was there."""
    from shareboost.pools import Templates

    pool = Templates(templates=np.eye(3)[None], masks=2, sigma=2.0)
    clf = ShareBoostClassifier(4, pool=pool, alpha=1e-3).fit(digits[0][:300], digits[1][:300])
    ram = cost_report(clf).ram
    assert ram[4] - ram[1] == 4 * (3 + 1)


def test_a_20_column_model_of_digits_takes_less_than_4_kilobytes(digits):
    assert cost_report(ShareBoostClassifier(20).fit(*digits)).flash[-1] < 4096


def test_what_cannot_be_exported_has_no_cost():
    with pytest.raises(NotFittedError):
        cost_report(ShareBoostClassifier())


def test_every_model_has_the_costs_of_its_number_of_features():
    X, y = load_iris(return_X_y=True)
    for clf in (ShareBoostClassifier(3).fit(X, y), OneVsRestGreedyClassifier(3).fit(X, y)):
        costs = running_costs(clf)
        for i, n in enumerate(clf.path_.n_features):
            alone = cost_report(clf.at(int(n)))
            assert costs["multiply_adds"][i] == alone.multiply_adds[-1]
            assert costs["flash"][i] == alone.flash[-1]
            assert costs["ram"][i] == alone.ram[-1]


def test_features_without_an_exported_form_have_no_known_costs():
    X, y = load_iris(return_X_y=True)
    clf = ShareBoostClassifier(2).fit(X, y)
    clf.path_.features = NotExported(clf.selected_)
    assert running_costs(clf) is None
