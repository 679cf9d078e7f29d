"""The pages of docs: what they link to and import is there. ``make docs`` builds them as a site.

``test_package`` runs their code.
"""

import ast
import importlib
import importlib.util
import re
from pathlib import Path

import pytest

import shareboost

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


def names_of_places(text):
    """Return the names in backticks that stand for places in the code.

    These are all dotted names, and all in a paragraph that begins with "In the code:".
    """
    names = set(re.findall(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)`", text))
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith("In the code:"):
            names.update(re.findall(r"`([\w.]+)`", paragraph))
    return names


def resolve(place):
    """Return what a dotted name stands for, below the package or else anywhere."""
    place = re.sub(r"^path_\b", "path.Path", place)  # of a fitted classifier
    first = place.split(".")[0]
    below = hasattr(shareboost, first) or importlib.util.find_spec(f"shareboost.{first}")
    module, *names = ["shareboost"] * bool(below) + place.split(".")
    found = importlib.import_module(module)
    for name in names:
        module = f"{module}.{name}"
        found = getattr(found, name) if hasattr(found, name) else importlib.import_module(module)
    return found


@pytest.mark.parametrize("name", ["mathematics", "algorithm"])
def test_every_place_in_the_code_that_a_page_names_is_there(name):
    names = names_of_places(without_code(ROOT / "docs" / f"{name}.md"))
    assert len(names) > 10
    for place in sorted(names):
        resolve(place)  # raises ImportError otherwise
