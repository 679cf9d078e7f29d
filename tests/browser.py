"""What the tests of the report's page need of the machine: a browser, and axe-core."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

ARTEFACTS = Path(__file__).resolve().parents[1] / ".artifacts"
NAMES = ("chromium", "chromium-browser", "google-chrome")


def do_without(what) -> NoReturn:
    """Skip the test, or fail it where $SHAREBOOST_BROWSER says that everything is there."""
    if os.environ.get("SHAREBOOST_BROWSER") == "required":
        pytest.fail(f"{what}, and SHAREBOOST_BROWSER=required", pytrace=False)
    pytest.skip(what)


def chromium():
    """Return the path of the system's Chromium."""
    return next(filter(None, map(shutil.which, NAMES)), None) or do_without(
        f"none of {', '.join(NAMES)} is installed"
    )


def axe_source():
    """Return axe-core: that of $SHAREBOOST_AXE, or of a folder among the artefacts."""
    installed = ARTEFACTS / "axe" / "node_modules" / "axe-core" / "axe.min.js"
    path = Path(os.environ.get("SHAREBOOST_AXE", installed))
    if not path.is_file():
        do_without("axe-core is not there: npm install --prefix .artifacts/axe axe-core")
    return path.read_text()
