"""Fig. 3: models within a budget, features saved, and overfitting beyond chance."""

import numpy as np
import pytest

from paper import Verdict
from paper.model_curves import SPARSE, Models, Race, listed, overfitting

FEATURES = np.arange(1, 201)


def models(errors, features=FEATURES, test_rows=2000):
    return Models(
        [
            {
                "data": "A",
                "method": "M",
                "features": int(n),
                "error": float(error),
                "seconds": float(place),
                "test_rows": test_rows,
                "wrong": list(range(round(float(error) * test_rows))),
            }
            for place, (n, error) in enumerate(zip(features, errors, strict=True))
        ],
        "A",
        "M",
    )


def falling(rate):
    """Return errors that fall to 10% at a rate."""
    return 0.1 + 0.8 * np.exp(-FEATURES / rate)


def rising(rate, by=0.08):
    """Return the same, and after 100 features a rise."""
    return falling(rate) + by * np.maximum(FEATURES - 100, 0) / 100


def test_a_budget_has_the_last_of_the_largest_models_within_it():
    some = models([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], [2, 4, 4, 9, 7, 9])  # a norm's need not rise
    found = [some.at(t) for t in (1, 2, 5, 8, 100)]
    np.testing.assert_array_equal(found, [np.nan, 0.9, 0.7, 0.5, 0.4])
    assert some.at(8, "seconds") == 4
    assert some.most == 9


def test_the_features_needed_are_the_fewest_of_any_model_as_good():
    some = models([0.9, 0.5, 0.4, 0.45], [0, 1, 1, 3])
    assert [some.needed(error) for error in (0.9, 0.5, 0.41, 0.1)] == [0, 1, 1, None]


def test_features_saved_are_those_for_the_same_error():
    race = Race(models(falling(10)), models(falling(30)))
    assert race.factor == pytest.approx(3)
    assert race.lower is race.much is Verdict.HOLDS
    assert "3.00 times as many for the same error" in str(race)
    assert "at least" not in str(race)


def test_a_little_faster_is_not_much_faster():
    race = Race(models(falling(10)), models(falling(13)))
    assert race.lower is Verdict.HOLDS
    assert race.much is Verdict.IN_PART


def test_a_lower_error_within_chance_is_indistinguishable():
    race = Race(models(falling(10)), models(falling(10) + 0.002))
    assert race.lower is race.much is Verdict.INDISTINGUISHABLE
    assert "58.5% against 58.7% with 5 (p = 0.1)" in str(race)


def test_much_faster_at_most_numbers_is_not_enough():
    ours = np.where(FEATURES == 5, 0.95, falling(5))
    race = Race(models(ours), models(falling(30)))
    assert race.factor > 2
    assert race.lower is race.much is Verdict.IN_PART
    worse = Race(models(falling(30)), models(falling(10)))
    assert worse.lower is worse.much is Verdict.FAILS


def test_a_rival_that_is_never_as_good_counts_with_all_its_features():
    race = Race(models(falling(10)), models(falling(10) + 0.5))
    assert race.factor == pytest.approx(200 / np.prod(SPARSE) ** 0.25)
    assert "at least" in str(race)


def test_a_number_for_which_a_rival_has_no_model_is_not_lost():
    late = models(falling(30)[6:], FEATURES[6:])
    race = Race(models(falling(10)), late)
    assert race.lower is Verdict.HOLDS
    assert race.against(5).endswith("against no model with 5")


@pytest.mark.parametrize(("by", "overfits"), [(0.01, False), (0.03, True)])
def test_a_rise_within_chance_is_no_overfitting(by, overfits):
    # 2 standard errors of a difference of two shares near 10% of 2000 rows are 1.9 to 2.0%.
    some = models(rising(10, by))
    assert some.rise == pytest.approx(by, abs=1e-3)
    assert some.overfits is overfits
    assert some.end().endswith("beyond chance" if overfits else "within chance")


def test_the_same_rise_is_beyond_chance_with_more_test_rows():
    assert models(rising(10, 0.01), test_rows=20000).overfits


def judged(plain, penalised):
    """Return verdicts for curves by data set."""
    names = "ABC"[: len(plain)]
    claims = overfitting(
        dict(zip(names, map(models, plain), strict=True)),
        dict(zip(names, map(models, penalised), strict=True)),
    )
    return [claim.verdict for claim in claims]


def test_a_penalty_is_judged_where_there_is_overfitting():
    up, down = rising(10), falling(10)
    assert judged([up, up], [down, down]) == [Verdict.HOLDS, Verdict.HOLDS]
    assert judged([up, down], [down, up]) == [Verdict.IN_PART, Verdict.HOLDS]
    assert judged([up, up], [down, up]) == [Verdict.HOLDS, Verdict.IN_PART]
    assert judged([up, up], [up, up]) == [Verdict.HOLDS, Verdict.FAILS]


def test_where_nothing_overfits_there_is_nothing_to_prevent():
    assert judged([falling(10)] * 2, [rising(10)] * 2) == [Verdict.FAILS]


def test_numbers_are_listed():
    words = [listed(SPARSE[:n]) for n in (1, 2, 4)]
    assert words == ["5", "5 and 10", "5, 10, 20 and 40"]
