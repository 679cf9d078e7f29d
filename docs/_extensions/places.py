"""Places in the code that a page names lead to the source, which becomes pages of the site.

In a paragraph that begins with "In the code:", every name in backticks is one below ``shareboost``.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx
from sphinx.util import logging

BEGINNING = "In the code:"
PACKAGE = "shareboost"
PAGES = "_modules/places"  # beside those of sphinx.ext.viewcode

logger = logging.getLogger(__name__)


def object_at(place: str) -> Any:
    """Return what a dotted name below the package stands for."""
    module, found = PACKAGE, importlib.import_module(PACKAGE)
    for name in place.split("."):
        module = f"{module}.{name}"
        found = getattr(found, name) if hasattr(found, name) else importlib.import_module(module)
    return found


def source_of(found: Any) -> tuple[Path, int]:
    """Return the file of a module, class or function, and the line where it begins."""
    if isinstance(found, cached_property):
        found = found.func
    elif isinstance(found, property):
        found = found.fget
    found = inspect.unwrap(getattr(found, "py_func", found))  # of one that Numba compiles
    file = Path(inspect.getsourcefile(found) or "")
    return file, 1 if inspect.ismodule(found) else inspect.getsourcelines(found)[1]


def page_of(file: Path) -> str:
    """Return the name of the page of a source file."""
    root = Path(importlib.import_module(PACKAGE).__file__ or "").parent
    return f"{PAGES}/{file.relative_to(root).with_suffix('').as_posix()}"


def places_in(document: nodes.document) -> Iterator[nodes.literal]:
    """Yield the names of places in a page."""
    for paragraph in document.findall(nodes.paragraph):
        if paragraph.astext().startswith(BEGINNING):
            yield from list(paragraph.findall(nodes.literal))


def _link(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Let the places of a page lead to their source; one that is not there is a warning."""
    for literal in places_in(document):
        try:
            file, line = source_of(object_at(literal.astext()))
        except (ImportError, AttributeError) as error:
            logger.warning("place %r: %s", literal.astext(), error, location=literal)
            continue
        target = app.builder.get_relative_uri(docname, page_of(file))
        link = nodes.reference("", "", refuri=f"{target}#line-{line}", internal=True)
        literal.replace_self(link)
        link += literal


def _pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for every source file that is named."""
    names = {
        literal.astext()
        for docname in app.env.found_docs
        for literal in places_in(app.env.get_doctree(docname))
    }
    form = HtmlFormatter(lineanchors="line")
    for file in sorted({source_of(object_at(name))[0] for name in names}):
        code = highlight(file.read_text(encoding="utf-8"), PythonLexer(), form)
        title = page_of(file).replace(PAGES, PACKAGE) + ".py"
        yield page_of(file), {"title": title, "body": f"<h1>{title}</h1>{code}"}, "page.html"


def setup(app: Sphinx) -> dict[str, Any]:
    """Link when a page is written; the pages of source come last."""
    app.connect("doctree-resolved", _link)
    app.connect("html-collect-pages", _pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
