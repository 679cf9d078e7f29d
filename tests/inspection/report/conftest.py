import pytest
from browser import axe_source, chromium, do_without

OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)
DESKTOP = {"width": 1280, "height": 900}


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium, without a window."""
    path = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        do_without("playwright is not installed")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(OPTIONS))
        yield browser
        browser.close()


class Pages:
    """One page for every kind of screen, which takes longer to make than to load a file into.

    ``complaints`` has whatever the pages complain of, or ask the network for.
    """

    def __init__(self, browser):
        self.browser = browser
        self.complaints = []
        self.known = {}

    def __call__(self, path, viewport=DESKTOP, **options):
        kind = tuple(sorted(options.items()))
        if kind not in self.known:
            self.known[kind] = self.browser.new_context(**options).new_page()
            self.watch(self.known[kind])
        page = self.known[kind]
        page.set_viewport_size(viewport)
        page.emulate_media(media="null", color_scheme=options.get("color_scheme", "light"))
        page.mouse.move(0, 0)
        page.goto(path.as_uri())
        page.wait_for_selector("#tiles div")
        return page

    def watch(self, page):
        def tell(text):
            self.complaints.append(text)

        page.on("console", lambda message: tell(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: tell(str(error)))
        page.on("dialog", lambda dialog: tell(f"dialog: {dialog.message}"))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(("file:", "data:")) else tell(request.url)
            ),
        )


@pytest.fixture(scope="session")
def pages(browser):
    return Pages(browser)


@pytest.fixture
def opened(pages):
    """Open a file in a page; a complaint of it fails the test."""
    yield pages
    complaints = pages.complaints.copy()
    pages.complaints.clear()
    assert complaints == []


@pytest.fixture(scope="session")
def axe():
    return axe_source()
