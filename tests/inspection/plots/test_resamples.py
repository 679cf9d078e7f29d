"""The bars are the frequencies."""

import numpy as np
import pytest

from shareboost.inspection.plots import plot_stability
from shareboost.inspection.stability import Stability

SELECTIONS = np.array([[1, 0, 0, 1], [1, 0, 0, 0], [1, 0, 1, 1], [0, 0, 0, 1]], dtype=bool)


def test_the_most_frequent_columns_are_drawn_and_no_others():
    stability = Stability(SELECTIONS, np.array(["a", "b", "c", "d"], dtype=object))
    ax = plot_stability(stability)
    assert [bar.get_width() for bar in ax.patches] == [0.75, 0.75, 0.25]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "d", "c"]
    assert f"{stability.index:.2f}" in ax.get_title()
    assert len(plot_stability(stability, n_columns=1).patches) == 1


def test_another_object_is_refused():
    with pytest.raises(TypeError, match="stability is a ndarray"):
        plot_stability(SELECTIONS)
