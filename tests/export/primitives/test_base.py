"""Codes times their scale are the numbers, to half a step."""

import numpy as np
import pytest

from shareboost.export.primitives.base import encode


@pytest.mark.parametrize(("kind", "most"), [("int8", 127), ("int16", 32767)])
def test_codes_use_their_range_and_are_the_nearest(kind, most):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5, 40)) * 10.0 ** np.arange(-20, 30, 10)[:, None]
    found = encode(values, kind)
    assert found.codes.dtype == kind
    assert found.scales.dtype == np.float32
    np.testing.assert_array_equal(np.abs(found.codes.astype(int)).max(axis=1), most)
    steps = np.abs(values).max(axis=1, keepdims=True) / most
    # Scales are rounded to float32, which moves the largest code by 32767 * 2^-24 of a step.
    assert np.all(np.abs(found.values - values) <= (0.5 + 0.01) * steps)


@pytest.mark.parametrize("kind", ["float32", "int16", "int8"])
def test_rows_of_zeros_and_the_ends_of_float32_are_kept(kind):
    ends = np.finfo(np.float32)
    values = np.array([[0.0, 0.0], [ends.tiny, -ends.tiny], [ends.max, -ends.max]], dtype=float)
    if kind != "float32":
        values[1] *= 1e9  # the scale of the least would be no normal number
    np.testing.assert_allclose(encode(values, kind).values, values, rtol=1e-6)
    for beyond in (0.5 * float(ends.tiny), 2.0 * float(ends.max)):
        with pytest.raises(ValueError, match="beyond the range of float32"):
            encode(np.array([[1.0, 2.0], [0.0, beyond]]), kind)
