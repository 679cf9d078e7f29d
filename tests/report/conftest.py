import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = ROOT / ".artifacts"
NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)


def do_without(what):
    """Skip the test, or fail it where $SHAREBOOST_BROWSER says that everything is there."""
    if os.environ.get("SHAREBOOST_BROWSER") == "required":
        pytest.fail(f"{what}, and SHAREBOOST_BROWSER=required", pytrace=False)
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium, without a window."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        do_without(f"none of {', '.join(NAMES)} is installed")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        do_without("playwright is not installed")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=list(OPTIONS))
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open a page; whatever it complains of, or asks the network for, fails the test."""
    contexts, complaints = [], []

    def open_(path, **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(("file:", "data:"))
                else complaints.append(request.url)
            ),
        )
        page.goto(path.as_uri())
        page.wait_for_selector("#tiles div")
        return page

    open_.complaints = complaints
    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def kept():
    """Keep a screenshot of a page."""
    folder = ARTEFACTS / "report"
    folder.mkdir(parents=True, exist_ok=True)

    def keep(page, name):
        page.screenshot(path=folder / f"{name}.png", full_page=True)

    return keep


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core: that of $SHAREBOOST_AXE, or of a folder among the artefacts."""
    installed = ARTEFACTS / "axe" / "node_modules" / "axe-core" / "axe.min.js"
    path = Path(os.environ.get("SHAREBOOST_AXE", installed))
    if not path.is_file():
        do_without("axe-core is not there: npm install --prefix .artifacts/axe axe-core")
    return path.read_text()
