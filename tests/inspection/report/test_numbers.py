"""Numbers are short and those that JSON has."""

import math

import numpy as np

from shareboost.inspection.report.data import finite
from shareboost.inspection.report.packing import rounded


def test_significant_digits_are_kept_at_every_size():
    values = np.array([[0.0, 123456.0], [-0.000123456, 1e-300]])
    found = rounded(values, 3)
    assert found[0] == [0.0, 123000.0]
    assert math.isclose(found[1][0], -0.000123)
    assert found[1][1] < 1e-200


def test_what_json_has_not_is_none():
    assert finite(float("nan")) is None
    assert finite(float("inf")) is None
    assert finite(0.5) == 0.5
