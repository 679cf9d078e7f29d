import re

import numpy as np
import pytest

from shareboost import ShareBoostClassifier
from shareboost.progress import BytesBar, RoundsBar, progress_bars, track
from shareboost.rivals import JointBoostClassifier, MixedNormClassifier


def test_verbose_shows_the_rounds_with_the_loss(digits, capsys):
    clf = ShareBoostClassifier(5, verbose=1).fit(*digits)
    shown = capsys.readouterr().err
    assert "encoding rows" in shown
    assert "rounds" in shown
    assert "5/5" in shown
    assert "left 0:00:00" in shown
    assert f"loss {clf.path_.rounds[-1].loss:.4f}" in shown


def test_silence_is_the_default_and_changes_nothing(digits, capsys):
    quiet = ShareBoostClassifier(5).fit(*digits)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    assert np.array_equal(ShareBoostClassifier(5, verbose=1).fit(*digits).weights_, quiet.weights_)


def test_a_silent_part_shows_none_of_its_bars_and_ends_none_around_it(capsys):
    with progress_bars(True):
        for _ in track(range(2), "outer", 2):
            with progress_bars(False):
                assert list(track("abc", "inner", 3)) == ["a", "b", "c"]
        assert list(track([5], "later", 1)) == [5]
    shown = capsys.readouterr().err
    assert "inner" not in shown
    assert "outer" in shown
    assert "2/2" in shown
    assert "later" in shown


def test_a_silent_fit_shows_none_of_its_bars_inside_others(problem, capsys):
    with progress_bars(True):
        for _ in track(range(2), "fits", 2):
            ShareBoostClassifier(2).fit(*problem)
    shown = capsys.readouterr().err
    assert "fits" in shown
    assert "encoding rows" not in shown
    assert "rounds" not in shown


def test_a_part_that_fails_leaves_the_bars_around_it(capsys):
    with progress_bars(True):
        with pytest.raises(KeyboardInterrupt), progress_bars(False):
            raise KeyboardInterrupt
        list(track([5], "later", 1))
    assert "later" in capsys.readouterr().err


def test_a_bar_without_a_known_end_is_filled_where_the_rounds_end(problem, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    clf = JointBoostClassifier(3, verbose=1).fit(*problem)
    shown = capsys.readouterr().err
    n = len(clf.path_)
    assert f"{n}/{n}" in shown
    assert "reached n_features" in shown


def test_a_bar_is_as_long_as_a_run_that_goes_beyond(problem, capsys):
    clf = MixedNormClassifier(path=2, n_features=5, verbose=1).fit(*problem)
    assert f"{len(clf.path_)}/{len(clf.path_)}" in capsys.readouterr().err


def test_lines_of_80_columns_hold_the_times_and_all_words(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with progress_bars(True):
        list(track([5], "encoding rows", 1))
        bar = RoundsBar(None, 1000)
        bar.end(1000, 0.12345, "held-out error 12.34%")
    shown = capsys.readouterr().err
    lines = [line for line in shown.splitlines() if re.search(r"1/1|1000", line)]
    for line in lines:
        assert re.search(r"\d:\d\d:\d\d left [\d-]:[\d-]{2}:[\d-]{2}", line), line
    assert len(lines) == 2
    assert max(map(len, shown.splitlines())) <= 80
    for word in ("loss 0.1235,", "held-out", "error", "12.34%"):
        assert word in shown


def test_held_out_rows_show_their_error(digits, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    X, y = digits
    clf = ShareBoostClassifier(5, verbose=1).fit(X[:1000], y[:1000], eval_set=(X[1000:], y[1000:]))
    error = 1 - clf.path_.rounds[-1].validation
    assert f"held-out error {error:.2%}" in capsys.readouterr().err


@pytest.mark.parametrize("size", [7_500_000, None])
def test_a_file_that_was_read_fills_its_bar(size, capsys):
    with progress_bars(True):
        bar = BytesBar("reading", size)
        bar.at(3_000_000)
        bar.end(7_500_000)
    assert "8/8 MB" in capsys.readouterr().err
