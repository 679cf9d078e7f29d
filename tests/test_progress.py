import numpy as np

from shareboost import ShareBoostClassifier


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
    assert np.array_equal(ShareBoostClassifier(5, verbose=1).fit(*digits).coef_, quiet.coef_)
