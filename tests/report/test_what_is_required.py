"""Where a browser is required, a test that lacks one fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def outcome(fixture, tmp_path, **environment):
    """What becomes of a test that needs a fixture, as pytest tells it."""
    (tmp_path / "conftest.py").write_text((FOLDER / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(f"def test_it({fixture}):\n    pass\n")
    kept = {name: value for name, value in os.environ.items() if name != "SHAREBOOST_BROWSER"}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "test_it.py"],
        cwd=tmp_path,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout


@pytest.mark.parametrize(
    ("fixture", "without", "said"),
    [
        ("browser", {"PATH": "/nowhere"}, "none of chromium"),
        ("axe", {"SHAREBOOST_AXE": "/nowhere"}, "axe-core is not there"),
    ],
)
def test_what_is_missing_is_skipped_unless_it_is_required(tmp_path, fixture, without, said):
    code, shown = outcome(fixture, tmp_path, **without)
    assert (code, "1 skipped" in shown, said in shown) == (0, True, True)
    code, shown = outcome(fixture, tmp_path, **without, SHAREBOOST_BROWSER="required")
    assert (code, "1 error" in shown, said in shown) == (1, True, True)
