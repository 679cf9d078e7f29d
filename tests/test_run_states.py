"""Fits, interrupts, resumes, saves and loads in any order give what one straight fit gives."""

import pickle
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest
from attacks.cases import check_cases
from conftest import random_problem
from hypothesis import seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from model_files import assert_same_bits

from shareboost import ShareBoostClassifier, load_model

X, Y = random_problem(3, n=60, d=8, k=3)
MOST = 6  # rounds of any run
KINDS = {
    "columns": {},
    "columns, swaps": {"swap": True, "rule": "newton"},
    "stumps": {"pool": "stumps"},
}
ROUNDS = st.integers(1, MOST)


class AfterRounds:
    """A callback that ends a fit after some rounds: it stops it, or interrupts it."""

    def __init__(self, n_rounds, interrupts):
        self.n_rounds, self.interrupts = n_rounds, interrupts

    def setup(self, estimator, context): ...
    def teardown(self, estimator, context): ...
    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.n_rounds -= context.task_name == "round"
        if self.n_rounds == 0 and self.interrupts:
            raise KeyboardInterrupt
        return self.n_rounds == 0


def new(kind, n, **parameters):
    return ShareBoostClassifier(n, alpha=1e-3, **KINDS[kind], **parameters)


def fitted(clf, n_more=None, interrupts=False):
    """Fit a classifier, or end its fit after so many more rounds."""
    if n_more is None:
        return clf.fit(X, Y)
    clf.set_callbacks(AfterRounds(n_more, interrupts))
    if interrupts:
        with pytest.raises(KeyboardInterrupt):
            clf.fit(X, Y)
    else:
        clf.fit(X, Y)
    return clf.set_callbacks()


@cache
def straight(kind, n, interrupted, t=None):
    """The classifier of one fit of n rounds, to its end or interrupted then; or that at(t)."""
    if t is not None:
        return straight(kind, n, interrupted).at(t)
    clf = fitted(new(kind, MOST), n, True) if interrupted else new(kind, n).fit(X, Y)
    assert len(clf.path_) == n
    return clf


def assert_same(one, two):
    for name in ("weights_", "intercept_", "selected_", "columns_", "classes_"):
        assert_same_bits(getattr(one, name), getattr(two, name))
    for method in ("predict", "decision_function", "transform"):
        assert_same_bits(getattr(one, method)(X), getattr(two, method)(X))
    for name in ("losses", "scores", "costs", "selected"):
        assert_same_bits(getattr(one.path_, name), getattr(two.path_, name))
    for stage, other in zip(one.staged_predict(X), two.staged_predict(X), strict=True):
        assert_same_bits(stage, other)


class Runs(RuleBasedStateMachine):
    """One classifier, one checkpoint, and what both must be.

    ``expected`` holds the arguments of ``straight``; None where nothing is fitted yet.
    """

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clf, self.expected, self.n_saved = None, None, 0

    def teardown(self):
        shutil.rmtree(self.folder)

    @initialize(kind=st.sampled_from(list(KINDS)))
    def begin(self, kind):
        self.kind = kind

    @property
    def n_rounds(self):
        return len(self.clf.path_)

    @invariant()
    def is_as_straight(self):
        if self.expected is not None:
            assert_same(self.clf, straight(self.kind, *self.expected))

    @rule(n=ROUNDS)
    def fit(self, n):
        self.clf, self.expected = new(self.kind, n).fit(X, Y), (n, False)

    @rule(t=ROUNDS)
    def fit_and_stop(self, t):
        self.clf, self.expected = fitted(new(self.kind, MOST), t), (t, False)

    @rule(t=ROUNDS)
    def fit_and_interrupt(self, t):
        self.clf, self.expected = fitted(new(self.kind, MOST), t, True), (t, True)

    @precondition(lambda self: self.expected is not None)
    @rule(n=ROUNDS)
    def warm_start(self, n):
        n = max(n, self.n_rounds)
        self.clf.set_params(warm_start=True, n_features=n).fit(X, Y)
        self.expected = (n, False)

    @precondition(lambda self: self.expected is not None and self.n_rounds < MOST)
    @rule(data=st.data(), interrupts=st.booleans())
    def warm_start_and_end(self, data, interrupts):
        n_more = data.draw(st.integers(1, MOST - self.n_rounds))
        n = self.n_rounds + n_more
        fitted(self.clf.set_params(warm_start=True, n_features=MOST), n_more, interrupts)
        self.expected = (n, interrupts)

    @rule()
    def resume_by_checkpoint(self):
        self.clf = self.checkpointed()
        self.n_saved, self.expected = MOST, (MOST, False)

    @precondition(lambda self: self.n_saved < MOST)
    @rule(data=st.data(), interrupts=st.booleans())
    def resume_by_checkpoint_and_end(self, data, interrupts):
        n_more = data.draw(st.integers(1, MOST - self.n_saved))
        self.n_saved += n_more
        self.clf = self.checkpointed(n_more, interrupts)
        self.expected = (self.n_saved, interrupts)

    def checkpointed(self, *end):
        """The classifier of a run with the checkpoint, from which further fits go on without it."""
        clf = fitted(new(self.kind, MOST, checkpoint=self.folder / "run"), *end)
        return clf.set_params(checkpoint=None)

    @precondition(lambda self: self.n_saved)
    @rule()
    def remove_checkpoint(self):
        (self.folder / "run").unlink()
        self.n_saved = 0

    @precondition(lambda self: self.expected is not None)
    @rule()
    def save_and_load(self):
        self.clf.save(self.folder / "model.json", whole_path=True, overwrite=True)
        self.clf = load_model(self.folder / "model.json")

    @precondition(lambda self: self.expected is not None)
    @rule()
    def save_and_load_the_model_alone(self):
        self.clf.save(self.folder / "model.json", overwrite=True)
        alone = load_model(self.folder / "model.json")
        for name in ("weights_", "intercept_", "selected_"):
            assert_same_bits(getattr(alone, name), getattr(self.clf, name))
        assert_same_bits(alone.decision_function(X), self.clf.decision_function(X))

    @precondition(lambda self: self.expected is not None)
    @rule()
    def pickle(self):
        self.clf = pickle.loads(pickle.dumps(self.clf))

    @precondition(lambda self: self.expected is not None and len(self.expected) == 2)
    @rule(data=st.data())
    def at(self, data):
        t = data.draw(st.integers(1, self.n_rounds))
        self.clf, self.expected = self.clf.at(t), (*self.expected, t)


@pytest.mark.fuzz
def test_steps_in_any_order_give_what_one_straight_fit_gives():
    """Each case draws 20 runs."""
    steps = settings(max_examples=20, stateful_step_count=12)

    def check(rng):
        run_state_machine_as_test(seed(int(rng.integers(2**32)))(Runs), settings=steps)

    check_cases("run states", 1, check)
