"""The page of a report: one file of HTML that needs no network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from importlib.resources import files
from string import Template
from typing import Any

from numpy.typing import ArrayLike

from ...io.files import check_target, write_whole
from ...predictor import Predictor
from ...progress import progress_bars
from .data import report_data
from .packing import packed

# In the order in which they need each other.
SCRIPTS = (
    "elements",
    "report",
    "curve",
    "confusion",
    "drawing",
    "features",
    "sharing",
    "gallery",
    "strokes",
    "fired",
    "pad",
    "main",
)
# What the page takes from the exported model.
FROM_MODEL = ("scores", "contributions")


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
        Fitted. Every model of its path is told of.
    X, y : array-like
        Held-out rows and their labels.
    path : str or path-like
        The file of HTML; its folder must exist.
    X_train, y_train : array-like, optional
        Rows that it was trained on, for its error there, and for what images look like.
    title : str, optional
        Of the page.
    json_path : str or path-like, optional
        Where to write ``report_data`` of the same, as JSON.
    overwrite : bool, default=False
        Whether files that are there already may be replaced.
    verbose : int, default=0
        1 shows progress bars on the standard error stream.

    Raises
    ------
    ValueError
        Where both files are the same; before any work is done.
    FileExistsError
        Where there is a file and it may not be replaced; before any work is done.
    OSError
        Where a file cannot be written. What was there stays.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_wine
    >>> from shareboost import ShareBoostClassifier
    >>> from shareboost.inspection.report import write_report
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> clf = ShareBoostClassifier(n_features=5).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = Path(folder) / "report.html"
    ...     write_report(clf, X[1::2], y[1::2], report, title="Wines")
    ...     "<title>Wines</title>" in report.read_text()
    True
    """
    for target in [path] if json_path is None else [path, json_path]:
        check_target(target, overwrite)
    if json_path is not None and os.path.realpath(path) == os.path.realpath(json_path):
        raise ValueError(
            f"json_path={os.fspath(json_path)!r} is the file of path: write_report takes another."
        )
    with progress_bars(bool(verbose)):
        data = report_data(clf, X, y, X_train=X_train, y_train=y_train, title=title)
    page = page_of(data, clf)
    if json_path is not None:
        plain = json.dumps(data, ensure_ascii=False, allow_nan=False)
        write_whole(json_path, plain.encode(), overwrite)
    write_whole(path, page.encode(), overwrite)


def page_of(data: dict[str, Any], clf: Predictor) -> str:
    """Return the page that shows the data of a report.

    Its content-security policy allows the scripts and the style of the page, by their hashes,
    and nothing else. All names come as text: escaped in the HTML, and in the data such that no
    ``<`` is left.
    """
    style = asset("style.css")
    scripts = [_script()]
    if data["images"] is not None and data["images"]["strokes"] is not None:
        scripts.insert(0, _model(clf))
    model = data["models"][data["chosen"]]
    return Template(asset("page.html")).substitute(
        policy=_policy(scripts, style),
        title=html.escape(data["title"]),
        style=style,
        summary=html.escape(
            f"With {model['n_features']} features, {model['wrong']} of {data['n_rows']} held-out "
            f"rows are misclassified."
        ),
        data=json.dumps(packed(data), separators=(",", ":"), allow_nan=False).replace(
            "<", "\\u003c"
        ),
        scripts="\n".join(f'<script type="module">{script}</script>' for script in scripts),
    )


def asset(name: str) -> str:
    """Return a file of the page."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _script() -> str:
    """Return the modules of the page as one: their imports and exports are names in it."""
    modules = [asset(f"{name}.js") for name in SCRIPTS]
    plain = [re.sub(r"^import [^;]*;\n", "", module, flags=re.M) for module in modules]
    return "\n".join(re.sub(r"^export ", "", module, flags=re.M) for module in plain)


def _model(clf: Predictor) -> str:
    """Return the exported model as a script that hands over what the page takes of it."""
    from ...export import to_js

    return f"{to_js(clf)}\nglobalThis.exportedModel = {{ {', '.join(FROM_MODEL)} }};\n"


def _policy(scripts: list[str], style: str) -> str:
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
