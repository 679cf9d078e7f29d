"""The pages of docs: what they link to and import is there. ``make docs`` builds them as a site.

``test_package`` runs their code.
"""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
each_page = pytest.mark.parametrize(
    "page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES]
)


def without_code(page):
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)


def anchors(page):
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", without_code(page), flags=re.M)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@each_page
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page)):
        if target.startswith(("http:", "https:")):
            continue
        file, _, anchor = target.partition("#")
        there = page.parent / file if file else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


@each_page
def test_every_name_that_a_page_imports_is_public(page):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)
    for node in (node for block in blocks for node in ast.walk(ast.parse(block))):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "shareboost":
            module = importlib.import_module(node.module)
            for name in (alias.name for alias in node.names):
                assert name in getattr(module, "__all__", dir(module))
