"""The pools that every test of exported forms runs over, and how near their scores must be."""

import numpy as np
import pytest
from every_pool import POOLS_TO_TEST

from shareboost.pools import Columns, Templates, Union

MORE_POOLS = {
    "union, templates": Union(
        [
            Columns(),
            Templates(5, patch_size=3, masks=2, sigma=2.0),
            Templates(4, patch_size=[3, (2, 5)], masks=2, sigma=0.4),
        ]
    )
}
ALL_POOLS = POOLS_TO_TEST | MORE_POOLS
# Pools that differ in training alone are exported alike.
ALIKE = {
    "columns, maxabs",
    "groups, mean",
    "stumps, paper",
    "stumps, exact",
    "products, maxabs",
    "templates, one scale",
}
FORMS = [name for name in ALL_POOLS if name not in ALIKE]

every_form = pytest.mark.parametrize("name", FORMS)


def assert_near(found, expected, rtol=1e-5):
    """Assert that scores are within a share of the largest of their row."""
    largest = np.abs(expected).max(axis=1, keepdims=True)
    assert np.max(np.abs(found - expected) / largest) < rtol
