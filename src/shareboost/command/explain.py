"""``shareboost explain``: what each feature of a model is for."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any

import typer

from .app import app
from .options import Debug, ModelFile
from .outputs import table


@app.command()
def explain(
    model: ModelFile,
    most: Annotated[int, typer.Option(min=1, help="Most classes to name on either side.")] = 3,
    debug: Debug = False,
) -> None:
    """Show the classes that each feature of a model speaks for and against.

    A large value of a feature raises the scores of the classes that it speaks for, beside the
    mean of all classes, and lowers those that it speaks against. A feature of several columns,
    such as a piece, has no one direction: it speaks for the classes that it matters to.

    - `shareboost explain model.json`
    """
    from .models import loaded

    clf = loaded(model)
    rows = [
        [str(t), name, saved, ", ".join(speaks_for), ", ".join(against)]
        for t, (name, saved, speaks_for, against) in enumerate(_features(clf, most), 1)
    ]
    print(table(["", "feature", "loss saved", "speaks for", "speaks against"], rows))
    print(f"{len(rows)} features, {clf.classes_.size} classes, {clf.columns_.size} columns read.")


def _features(clf: Any, most: int) -> list[tuple[str, str, list[str], list[str]]]:
    """Return name, loss saved, and the classes for and against, of each feature."""
    from ..sharing import sharing

    path = clf.path_
    names = path.names(clf.selected_)
    labels = [str(label) for label in clf.classes_]
    by_feature = sharing(path, path.step(clf.selected_.size))
    return [
        (name, saved, _strongest(weights, labels, most), _strongest(-weights, labels, most))
        for name, saved, weights in zip(names, _saved(clf), by_feature, strict=True)
    ]


def _strongest(weights: Any, labels: list[str], most: int) -> list[str]:
    """Return the classes of the largest weights, those far below the largest left out."""
    from ..sharing import LEAST_SHARE

    order = weights.argsort(kind="stable")[::-1][:most]
    least = LEAST_SHARE * abs(weights).max()
    return [labels[q] for q in order if weights[q] > 0 and weights[q] >= least]


def _saved(clf: Any) -> list[str]:
    """Return what the loss fell by in the round of each feature, as far as the rounds are known."""
    path = clf.path_
    steps = [path.start, *path]
    saved = {
        atom: f"{before.loss - after.loss:.4f}"
        for (before, after), atoms in zip(pairwise(steps), path.arrivals(), strict=True)
        for atom in atoms
    }
    known = len(steps) - 1 >= clf.selected_.size
    return [saved.get(int(atom), "-") if known else "-" for atom in clf.selected_]
