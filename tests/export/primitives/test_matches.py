"""Matches by size are the same matches."""

import naive_plan
import numpy as np
from every_pool import classifier, some_digits

from shareboost.export.plan import plan_of
from shareboost.export.primitives.matches import by_size


def test_every_value_is_in_the_matches_of_one_size():
    X, y, _, _ = some_digits()
    (part,) = plan_of(classifier(12, "templates, sizes").fit(X, y)).parts
    assert len({template.shape for template in part.templates}) == 2
    found = np.full(12, np.nan)
    for same in by_size(part):
        assert (np.diff(same.template) >= 0).all()
        assert np.array_equal(np.unique(same.template), np.arange(len(same.templates)))
        assert np.isnan(found[same.places]).all()
        found[same.places] = naive_plan.values(same, X[0])
    truth = np.empty(12)
    truth[part.places] = naive_plan.values(part, X[0])
    np.testing.assert_array_equal(found, truth)
