import numpy as np
import pytest

from shareboost.select import contending


def test_scores_that_differ_by_rounding_are_tied():
    scores = np.array([0.5, 1.0 - 1e-13, 1.0, 1.0 + 1e-13, 0.9])
    assert contending(scores, 1e-9).tolist() == [1, 2, 3]
    assert contending(np.array([-np.inf, 0.3, 0.3000001]), 1e-5)[0] == 1
    assert contending(np.array([-np.inf, 0.3, 0.3001]), 1e-5)[0] == 2


def test_atoms_that_must_never_be_chosen_do_not_contend():
    assert contending(np.full(3, -np.inf), 1e-9).size == 0


def test_scores_that_are_not_finite_are_refused():
    with pytest.raises(FloatingPointError, match="too large, or not finite"):
        contending(np.array([1.0, np.nan]), 1e-9)
