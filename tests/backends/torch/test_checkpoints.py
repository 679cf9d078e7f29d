"""Runs on a device that are cut and started again: the same path, bit for bit."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier
from shareboost.io.checkpoint import Checkpoint
from shareboost.pools import Pieces, Stumps, Templates

torch = pytest.importorskip("torch")

SETTINGS = {
    "columns": {"rule": "newton", "swap": True, "n_features": 10},
    "groups": {"groups": np.arange(64) // 8, "n_features": 6},
    "stumps": {"pool": Stumps(), "validation_fraction": 0.2, "random_state": 0},
    "pieces": {"pool": Pieces(12, 4), "alpha": 1e-3, "n_features": 4},
    "templates": {"pool": Templates(5, patch_size=3, masks=2, sigma=2.0)},
    "newton": {"solver": "newton", "class_weight": "balanced"},
}


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


class CutError(Exception):
    """Ends a run in the middle."""


@pytest.fixture
def cut_after(monkeypatch):
    """A function that fits until so many rounds are on disk."""

    def cut(n_rounds, clf, X, y):
        save = Checkpoint.save

        def save_and_cut(self, path):
            save(self, path)
            if len(path) == n_rounds:
                raise CutError

        with monkeypatch.context() as patch:
            patch.setattr(Checkpoint, "save", save_and_cut)
            with pytest.raises(CutError):
                clf.fit(X, y)

    return cut


def classifier(name, **parameters):
    return ShareBoostClassifier(**{"n_features": 8, **SETTINGS[name]}, **parameters)


def bits(clf):
    """All of a fit but its times."""
    rounds = [
        (r.atom, r.score, r.atoms, r.swaps, r.cost, r.validation, r.status, r.W.tobytes())
        for r in [clf.path_.start, *clf.path_]
    ]
    return repr(rounds), clf.path_.stop_reason, clf.weights_.tobytes(), clf._intercepts_.tobytes()


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, ("numpy", "tensor")[number % 2]) for number, name in enumerate(SETTINGS)],
)
def test_a_run_that_was_cut_goes_on_and_ends_alike(name, kind, device, data, path, cut_after):
    X, y = data
    if kind == "tensor":
        X = torch.tensor(X, device=device)
    cut_after(3, classifier(name, device=device, checkpoint=path), X, y)
    resumed = classifier(name, device=device, checkpoint=path).fit(X, y)
    assert bits(resumed) == bits(classifier(name, device=device).fit(X, y))


def test_an_interrupted_fit_leaves_its_rounds(device, data, path, monkeypatch):
    X, y = data
    save = Checkpoint.save

    def interrupt(self, path):
        save(self, path)
        if len(path) == 3:
            raise KeyboardInterrupt

    clf = classifier("stumps", device=device, checkpoint=path)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", interrupt)
        with pytest.raises(KeyboardInterrupt):
            clf.fit(X, y)
    assert clf.selected_.size == 3
    assert clf.predict(X).shape == (300,)
    whole = classifier("stumps", device=device).fit(X, y)
    assert bits(clf.fit(X, y)) == bits(whole)


def test_a_run_of_numpy_and_one_of_a_device_are_not_the_same(device, data, path, cut_after):
    """A tensor is computed where it is, whatever ``device`` says: not bit for bit as in NumPy."""
    X, y = data
    for began, goes_on in ((device, None), (None, device)):
        path.unlink(missing_ok=True)
        cut_after(3, classifier("columns", device=began, checkpoint=path), X, y)
        before = path.read_bytes()
        with pytest.raises(ValueError, match="a run with other device"):
            classifier("columns", device=goes_on, checkpoint=path).fit(X, y)
        assert path.read_bytes() == before
    with pytest.raises(ValueError, match="a run with other"):
        classifier("columns", checkpoint=path).fit(torch.tensor(X, device=device), y)


def test_other_rows_on_the_device_are_refused(device, data, path, cut_after):
    X, y = torch.tensor(data[0], device=device), data[1]
    cut_after(3, classifier("columns", checkpoint=path), X, y)
    other = X.clone()
    other[7, 20] += 1.0
    with pytest.raises(ValueError, match="a run with other X"):
        classifier("columns", checkpoint=path).fit(other, y)


def test_a_device_may_be_given_as_an_object(device, data, path, cut_after):
    named, given = (
        classifier("columns", device=value, checkpoint=path)
        for value in (device, torch.device(device))
    )
    cut_after(3, named, *data)
    assert bits(given.fit(*data)) == bits(classifier("columns", device=device).fit(*data))


@pytest.mark.parametrize(
    ("dtype", "n_features", "parameters"),
    [("f4", 40, {}), ("f8", 20, {"rule": "column", "shortlist": 2})],
    ids=["float32", "float64, column"],
)
def test_a_long_run_in_two_parts_is_one_run_to_the_last_bit(dtype, n_features, parameters, device):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400].astype(dtype), y[:400]
    clf = ShareBoostClassifier(n_features, device=device, **parameters)
    whole = clf.fit(X, y).path_
    clf = ShareBoostClassifier(5, device=device, warm_start=True, **parameters).fit(X, y)
    parts = clf.set_params(n_features=n_features).fit(X, y).path_
    for one, other in zip(whole.rounds, parts.rounds, strict=True):
        assert one.atom == other.atom
        assert one.score == other.score
        assert np.array_equal(one.W, other.W)
