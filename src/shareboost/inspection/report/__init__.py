"""A report of a fitted classifier: one page of HTML that needs no network, from a plain dict."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ...export.javascript import to_js
from ...io.files import check_target, write_whole
from ...progress import progress_bars
from .data import report_data
from .packing import packed

if TYPE_CHECKING:
    from ...predictor import Predictor

__all__ = ["report_data", "write_report"]

# In the order in which they need each other.
SCRIPTS = (
    *("elements", "report", "curve", "confusion", "drawing", "features", "sharing", "gallery"),
    *("strokes", "fired", "pad", "main"),
)
# What the page takes from the exported model.
HANDED_OVER = "globalThis.exportedModel = { scores, contributions };"


def write_report(
    clf: Predictor,
    X: Any,
    y: ArrayLike,
    path: str | os.PathLike[str],
    *,
    X_train: Any = None,
    y_train: ArrayLike | None = None,
    title: str | None = None,
    json_path: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    verbose: int = 0,
) -> None:
    """Write a report of a fitted classifier, to be looked at in a browser.

    The page is one file and loads nothing else. docs/report.md tells how to read it.

    Parameters
    ----------
    clf : ShareBoostClassifier, ShareBoostCV or a rival
        Fitted.
    X, y : array-like
        Held-out rows and their labels.
    path : str or path-like
        The file of HTML; its folder must exist.
    X_train, y_train, title : optional
        As ``report_data`` takes them.
    json_path : str or path-like, optional
        Where to write the data as JSON.
    overwrite : bool, default=False
        Whether files that are there already may be replaced; else they are refused first.
    verbose : int, default=0
        1 shows progress bars on the standard error stream.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from shareboost import ShareBoostClassifier
    >>> from shareboost.inspection.report import write_report
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> clf = ShareBoostClassifier(n_features=5).fit(X[::2], y[::2])
    >>> write_report(clf, X[1::2], y[1::2], "report.html", title="Wines")  # doctest: +SKIP
    """
    for target in [path] if json_path is None else [path, json_path]:
        check_target(target, overwrite)
    if json_path is not None and os.path.realpath(path) == os.path.realpath(json_path):
        raise ValueError(f"json_path={os.fspath(json_path)!r} is the file of path too.")
    with progress_bars(bool(verbose)):
        data = report_data(clf, X, y, X_train=X_train, y_train=y_train, title=title)
    page = page_of(data, clf).encode()
    if json_path is not None:
        plain = json.dumps(data, ensure_ascii=False, allow_nan=False)
        write_whole(json_path, plain.encode(), overwrite)
    write_whole(path, page, overwrite)


def page_of(data: dict[str, Any], clf: Predictor) -> str:
    """Return the page that shows the data of a report.

    Its content-security policy allows its own scripts and style, by their hashes, and nothing else.
    All names come as text: escaped in the HTML, and in the data such that no ``<`` is left.
    """
    style, scripts = asset("style.css"), [_script()]
    if data["images"] is not None and data["images"]["strokes"] is not None:
        scripts.insert(0, f"{to_js(clf)}\n{HANDED_OVER}\n")
    model = data["models"][data["chosen"]]
    shown = json.dumps(packed(data), separators=(",", ":"), allow_nan=False)
    summary = (
        f"With {model['n_features']} features, {model['wrong']} of {data['n_rows']} held-out rows "
        "are misclassified."
    )
    return Template(asset("page.html")).substitute(
        policy=_policy(scripts, style),
        title=html.escape(data["title"]),
        style=style,
        summary=html.escape(summary),
        data=shown.replace("<", "\\u003c"),
        scripts="\n".join(f'<script type="module">{script}</script>' for script in scripts),
    )


def asset(name: str) -> str:
    """Return a file of the page."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _script() -> str:
    """Return the modules of the page as one: their imports and exports are names in it."""
    modules = (asset(f"{name}.js") for name in SCRIPTS)
    return "\n".join(re.sub(r"^(import [^;]*;\n|export )", "", m, flags=re.M) for m in modules)


def _policy(scripts: list[str], style: str) -> str:
    digests = [hashlib.sha256(text.encode()).digest() for text in (style, *scripts)]
    of_style, *allowed = [f"'sha256-{base64.b64encode(one).decode()}'" for one in digests]
    return (
        f"default-src 'none'; script-src {' '.join(allowed)}; style-src {of_style}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
