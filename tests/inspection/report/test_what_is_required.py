"""Where a browser is required, a test that lacks one fails."""

import pytest
from browser import axe_source, chromium


@pytest.mark.parametrize(
    ("find", "variable", "message"),
    [
        (chromium, "PATH", "none of chromium"),
        (axe_source, "SHAREBOOST_AXE", "axe-core is not there"),
    ],
    ids=["browser", "axe"],
)
def test_what_is_missing_is_skipped_unless_it_is_required(find, variable, message, monkeypatch):
    monkeypatch.setenv(variable, "/nowhere")
    monkeypatch.delenv("SHAREBOOST_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match=message):
        find()
    monkeypatch.setenv("SHAREBOOST_BROWSER", "required")
    with pytest.raises(pytest.fail.Exception, match=message):
        find()
