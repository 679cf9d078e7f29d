import numpy as np

from shareboost.cv_folds import Curve, chosen, cv_results


def chosen_of_one(scores, choice):
    """The choice among 1, 2, ... features with one weight of the penalty."""
    return chosen(scores, np.arange(1, scores.shape[1] + 1), choice)


def curve(scores, owned=0):
    return Curve(np.array(scores), np.arange(1.0, len(scores) + 1), owned)


def test_a_run_that_ended_early_keeps_its_last_score_and_time():
    results, scores = cv_results([curve([0.5, 0.7]), curve([0.4, 0.6, 0.8, 0.9])], "auto")
    assert results["n_features"].tolist() == [1, 2, 3, 4]
    assert scores.tolist() == [[0.5, 0.7, 0.7, 0.7], [0.4, 0.6, 0.8, 0.9]]
    assert np.array_equal(results["split0_test_score"], scores[0])
    assert results["mean_fit_time"].tolist() == [1.0, 2.0, 2.5, 3.0]
    assert np.allclose(results["std_test_score"], [0.05, 0.05, 0.05, 0.1])


def test_the_table_begins_with_the_features_that_are_owned():
    results, scores = cv_results([curve([0.5, 0.6, 0.7], owned=2)], "auto")
    assert results["n_features"].tolist() == [2, 3]
    assert scores.tolist() == [[0.6, 0.7]]


def test_best_is_the_fewest_features_of_equals():
    assert chosen_of_one(np.array([[0.5, 0.9, 0.8, 0.9], [0.5, 0.7, 0.9, 0.7]]), "best") == 2
    assert chosen_of_one(np.array([[0.5, 0.9, 0.7, 0.8], [0.5, 0.7, 0.9, 0.8]]), "best") == 1
    a, b = 0.1 + 0.2, 0.3  # equal but for rounding
    assert a > b
    assert chosen_of_one(np.array([[b, a]]), "best") == 0
    assert chosen_of_one(np.array([[-b, -a]]), "best") == 0


def test_one_standard_error_in_closed_form():
    best = np.array([0.8, 0.9, 1.0, 0.9])  # mean 0.9, variance 0.02 / 3
    error = np.sqrt(0.02 / 3) / 2
    for shortfall, place in [(0.99 * error, 0), (error, 0), (1.01 * error, 1)]:
        scores = np.column_stack([np.full(4, 0.9 - shortfall), best])
        assert chosen_of_one(scores, "one_se") == place
    assert chosen_of_one(np.column_stack([best - 0.5, best - 0.01, best]), "one_se") == 1


def test_the_best_of_several_weights_is_chosen_with_the_number_of_features():
    # Two weights of three numbers each.
    scores = np.array([[0.1, 0.6, 0.7, 0.2, 0.65, 0.7], [0.3, 0.6, 0.9, 0.2, 0.65, 0.9]])
    n_features = np.array([1, 2, 3, 1, 2, 3])
    assert chosen(scores, n_features, "best") == 2  # the first of equals
    # 0.8 less an error of 0.1 is above 0.65: three features it is.
    assert chosen(scores, n_features, "one_se") == 2
    scores[:, [1, 4]] = [[0.72, 0.75], [0.72, 0.75]]
    assert chosen(scores, n_features, "one_se") == 4  # the better of both with two features


def test_results_tell_the_weight_of_the_penalty_in_every_row():
    for alpha in ("auto", 0.1):
        table, _ = cv_results([curve([0.5, 0.7])], alpha)
        assert table["alpha"].tolist() == [alpha, alpha]
        assert table["n_features"].tolist() == [1, 2]
        assert table["mean_test_score"].tolist() == [0.5, 0.7]
