"""The pages of docs: what they link to and name is there. ``make docs`` builds them as a site."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# The parts that docs/paper/README.md is made of are no pages of their own.
PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if page.parent.name != "paper" or page.name == "README.md"
]
SOURCES = [ROOT / "README.md", *PAGES]
# The modules whose public names the reference has, all of them by its template.
REFERENCE = (DOCS / "reference" / "index.md").read_text().split()
each_page = pytest.mark.parametrize(
    "page", SOURCES, ids=[str(page.relative_to(ROOT)) for page in SOURCES]
)


def prose(page):
    """Return the text of a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)


def anchors(page):
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), flags=re.M)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


def object_at(place):
    """Return what a dotted name below ``shareboost`` stands for; raise where there is nothing."""
    found = importlib.import_module("shareboost")
    module = "shareboost"
    for name in place.split("."):
        module = f"{module}.{name}"
        found = getattr(found, name) if hasattr(found, name) else importlib.import_module(module)
    return found


def entries():
    """Return the documents that the trees of contents name, as (page, document)."""
    trees = [
        (page, block)
        for page in PAGES
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), flags=re.S | re.M)
    ]
    return [
        (page, (page.parent / line).resolve())
        for page, block in trees
        for line in block.split("\n")
        if line and not line.startswith(":")
    ]


@each_page
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith(("http:", "https:")):
            continue
        file, _, anchor = target.partition("#")
        there = page.parent / file if file else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_the_tree_of_contents_has_every_page():
    documents = {document for _, document in entries()}
    assert documents | {DOCS / "index"} == {page.with_suffix("") for page in PAGES}


@each_page
def test_every_name_of_the_package_is_there_and_in_the_reference(page):
    for place in re.findall(r"`shareboost\.([A-Za-z_][\w.]*\w)", prose(page)):
        object_at(place)
        assert f"shareboost.{place.split('.')[0]}" in REFERENCE


@each_page
def test_what_a_page_imports_is_public_and_in_the_reference(page):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)
    for node in (node for block in blocks for node in ast.walk(ast.parse(block))):
        if not isinstance(node, ast.ImportFrom) or node.module.split(".")[0] != "shareboost":
            continue
        assert node.module in REFERENCE
        module = importlib.import_module(node.module)
        for name in (alias.name for alias in node.names):
            assert hasattr(module, name)
            assert name in getattr(module, "__all__", [name])


def test_every_formula_has_a_place_in_the_code_that_is_there():
    paragraphs = prose(DOCS / "mathematics.md").split("\n\n")
    formulas = [i for i, paragraph in enumerate(paragraphs) if paragraph.startswith("$$")]
    assert len(formulas) > 20
    for i in formulas:
        place = next(p for p in paragraphs[i + 1 :] if p.startswith(("In the code: ", "$$", "#")))
        assert place.startswith("In the code: "), paragraphs[i]
        names = re.findall(r"`([^`]+)`", place)
        assert names
        for name in names:
            assert object_at(name) is not None


def test_every_place_in_how_it_works_is_there():
    rows = re.findall(r"^\| .* \| (.*) \|$", prose(DOCS / "algorithm.md"), flags=re.M)
    places = [name for row in rows[1:] for name in re.findall(r"`([a-z_]+\.[\w.]+)`", row)]
    assert len(places) > 10
    for place in places:
        object_at(place)
