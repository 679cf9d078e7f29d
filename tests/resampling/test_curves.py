import numpy as np

from shareboost.resampling.curves import Curve, chosen, cv_results


def curve(scores, owned=0):
    return Curve(np.array(scores), np.arange(1.0, len(scores) + 1), owned)


def test_a_run_that_ended_early_keeps_its_last_score_and_time():
    results, scores = cv_results([curve([0.5, 0.7]), curve([0.4, 0.6, 0.8, 0.9])])
    assert results["n_features"].tolist() == [1, 2, 3, 4]
    assert scores.tolist() == [[0.5, 0.7, 0.7, 0.7], [0.4, 0.6, 0.8, 0.9]]
    assert np.array_equal(results["split0_test_score"], scores[0])
    assert results["mean_fit_time"].tolist() == [1.0, 2.0, 2.5, 3.0]
    assert np.allclose(results["std_test_score"], [0.05, 0.05, 0.05, 0.1])


def test_the_table_begins_with_the_features_that_are_owned():
    results, scores = cv_results([curve([0.5, 0.6, 0.7], owned=2)])
    assert results["n_features"].tolist() == [2, 3]
    assert scores.tolist() == [[0.6, 0.7]]


def test_best_is_the_fewest_features_of_equals():
    assert chosen(np.array([[0.5, 0.9, 0.8, 0.9], [0.5, 0.7, 0.9, 0.7]]), "best") == 2
    assert chosen(np.array([[0.5, 0.9, 0.7, 0.8], [0.5, 0.7, 0.9, 0.8]]), "best") == 1
    a, b = 0.1 + 0.2, 0.3  # equal but for rounding
    assert a > b
    assert chosen(np.array([[b, a]]), "best") == 0
    assert chosen(np.array([[-b, -a]]), "best") == 0


def test_one_standard_error_in_closed_form():
    best = np.array([0.8, 0.9, 1.0, 0.9])  # mean 0.9, variance 0.02 / 3
    error = np.sqrt(0.02 / 3) / 2
    for shortfall, place in [(0.99 * error, 0), (error, 0), (1.01 * error, 1)]:
        scores = np.column_stack([np.full(4, 0.9 - shortfall), best])
        assert chosen(scores, "one_se") == place
    assert chosen(np.column_stack([best - 0.5, best - 0.01, best]), "one_se") == 1
