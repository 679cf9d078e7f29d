import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from shareboost import ShareBoostClassifier
from shareboost.path import StopReason


class Recorder:
    """A callback that keeps what it is told and asks to stop after some rounds."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.events, self.fitted = [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        self.fitted.append(fitted_estimator)
        return context.task_name == "round" and len(self.fitted) == self.stop_after


def test_a_callback_sees_every_round_and_a_usable_classifier(digits):
    X, y = digits
    recorder = Recorder()
    clf = ShareBoostClassifier(3).set_callbacks(recorder).fit(X, y)
    rounds = ["begin round", "end round"] * 3
    assert recorder.events == ["setup", "begin fit", *rounds, "end fit", "teardown"]
    for t, fitted in enumerate(recorder.fitted[:3], start=1):
        assert fitted.selected_.tolist() == clf.selected_[:t].tolist()
        assert len(fitted.path_) == len(list(fitted.staged_predict(X[:3]))) == t
    assert np.array_equal(recorder.fitted[1].predict(X), clf.at(2).predict(X))
    assert np.array_equal(recorder.fitted[3].predict(X), clf.predict(X))


def test_a_callback_can_stop_the_rounds(digits):
    clf = ShareBoostClassifier(10).set_callbacks(Recorder(stop_after=4)).fit(*digits)
    assert len(clf.path_) == 4
    assert clf.path_.stop_reason == StopReason.CALLBACK


def test_callbacks_are_torn_down_when_a_fit_fails(digits):
    recorder = Recorder()
    clf = ShareBoostClassifier(3, warm_start=True).fit(*digits).set_callbacks(recorder)
    with pytest.raises(ValueError, match="other means, scales or losses"):
        clf.fit(digits[0] ** 2, digits[1])
    assert recorder.events[-1] == "teardown"


def test_scikit_learns_progress_bar_works(digits, capsys):
    clf = ShareBoostClassifier(4).set_callbacks(ProgressBar()).fit(*digits)
    assert len(clf.path_) == 4
    assert "ShareBoostClassifier - fit" in capsys.readouterr().out


def test_scikit_learns_progress_bar_reaches_into_a_search(digits, capsys):
    search = GridSearchCV(ShareBoostClassifier(2), {"n_features": [2, 3]}, cv=2)
    search.set_callbacks(ProgressBar(max_propagation_depth=1)).fit(*digits)
    assert "ShareBoostClassifier" in capsys.readouterr().out


def test_scikit_learns_scoring_monitor_works_with_frames():
    X, y = load_iris(return_X_y=True, as_frame=True)
    monitor = ScoringMonitor(scoring="accuracy")
    clf = ShareBoostClassifier(3).set_callbacks(monitor).fit(X, y)
    log = monitor.get_logs()
    assert log
    assert clf.score(X, y) > 0.9
