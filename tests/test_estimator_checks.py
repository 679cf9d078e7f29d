"""All of scikit-learn's estimator checks, for every estimator of the package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import check_estimator

from shareboost import ShareBoostClassifier, ShareBoostCV
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier, OneVsRestGreedyClassifier

ESTIMATORS = [
    ShareBoostClassifier(),
    ShareBoostCV(n_features=2, cv=2),
    OneVsRestGreedyClassifier(3),
    MixedNormClassifier(path=3),
    JointBoostClassifier(5, max_bins=8, max_iter=20),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_every_check_passes(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    others = [result for result in results if result["status"] != "passed"]
    # This one is skipped unless SciPy found a variable when it was imported; see below.
    assert {result["check_name"] for result in others} <= {"check_array_api_input"}, others
    assert {result["status"] for result in others} <= {"skipped"}


def test_the_array_api_check_passes_too():
    code = """
from sklearn.utils.estimator_checks import estimator_checks_generator
from test_estimator_checks import ESTIMATORS
for estimator in ESTIMATORS:
    for own, check in estimator_checks_generator(estimator):
        if check.func.__name__ == "check_array_api_input":
            check(own)
            print(type(own).__name__)
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == [type(estimator).__name__ for estimator in ESTIMATORS]
