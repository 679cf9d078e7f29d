"""``shareboost explain``: what each feature of a model is for, and why rows get their classes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import app
from .errors import CommandError
from .options import Debug, Format, ModelFile, shows_bars
from .outputs import printable, table

if TYPE_CHECKING:
    from ..inspection.explanation import Explanation

FIRST_ROWS = range(1, 6)
MOST_FEATURES = 10


@app.command()
def explain(
    model: ModelFile,
    most: Annotated[
        int, typer.Option(min=1, help="Without --data: most classes to name on either side.")
    ] = 3,
    data: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="A table with rows to explain, as for predict."),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="ROWS", help="Which rows of --data, from 1, such as 1,4,7-9; else the first 5."
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"Most features to name of a row of --data; else {MOST_FEATURES}."
        ),
    ] = None,
    format_: Format = None,
    debug: Debug = False,
) -> None:
    """Show the classes that each feature of a model speaks for and against.

    A large value of a feature raises the scores of the classes that it speaks for, beside the
    mean of all classes, and lowers those that it speaks against. A feature of several columns,
    such as a piece, has no one direction: it speaks for the classes that it matters to.

    With --data, show what each feature adds to the score of the class that is predicted for a
    row: its value times its weight, the largest first. With the intercept they add up to the
    score. Of two classes it is the score of the class less that of the other.

    - `shareboost explain model.json`
    - `shareboost explain model.json --data new.csv --rows 1,4,7-9 --top 5`
    """
    from .models import check_stdin_once, loaded

    if data is None and (rows is not None or top is not None or format_ is not None):
        raise CommandError("--rows, --top and --format are for --data, which names a table.")
    check_stdin_once(MODEL=model, **{"--data": data})
    wanted = None if rows is None else _row_ranges(rows)
    clf = loaded(model)
    if data is None:
        _print_features(clf, most)
    else:
        _print_rows(clf, data, format_, wanted, top or MOST_FEATURES)


def _row_ranges(text: str) -> list[range]:
    """Return the numbers of rows, such as ``1,4,7-9``."""
    parts = [re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part, re.ASCII) for part in text.split(",")]
    found = [range(int(part[1]), int(part[2] or part[1]) + 1) for part in parts if part]
    if len(found) < len(parts) or not all(some and some.start for some in found):
        raise CommandError(
            f"--rows {text} is not valid: it takes numbers from 1 and ranges of them, such as "
            "1,4,7-9."
        )
    return found


def _print_rows(
    clf: Any, data: str, format_: str | None, wanted: Sequence[range] | None, top: int
) -> None:
    """Print what the features of rows of a table add to their scores, in the table's order."""
    from ..inspection.explanation import explanations
    from ..progress import progress_bars
    from .tables.prediction import blocks_for
    from .tables.sources import source_of

    ranges = [FIRST_ROWS] if wanted is None else wanted
    last = max(some.stop for some in ranges) - 1
    source, done = source_of(data, format_), 0
    told: list[tuple[int, Explanation]] = []
    with progress_bars(shows_bars()):
        for X in blocks_for(clf, source):
            numbers = range(done + 1, done + X.shape[0] + 1)
            places = [i for i, n in enumerate(numbers) if any(n in some for some in ranges)]
            if places:
                own = X.iloc[places] if hasattr(X, "iloc") else X[places]
                told += zip((numbers[i] for i in places), explanations(clf, own, top), strict=True)
            done += len(numbers)
            if done >= last:
                break
    if wanted is not None and done < last:
        raise CommandError(f"{source.name} has {done} rows, and --rows asks for row {last}.")
    if not told:
        raise CommandError(f"{source.name} has no rows.")
    print("\n\n".join(_of_row(number, row) for number, row in told))


def _of_row(number: int, told: Explanation) -> str:
    """Return the lines about a row."""
    lines = [
        [name, "" if math.isnan(value) else f"{value:.6g}", f"{size:+.4g}"]
        for name, value, size in zip(told.names, told.values, told.contributions, strict=True)
    ]
    if told.n_others:
        lines.append([f"{told.n_others} more", "", f"{told.others:+.4g}"])
    lines.append(["intercept", "", f"{told.start:+.4g}"])
    head = f"Row {number}: {printable(str(told.label))}, score {told.score:.4g}"
    return f"{head}\n{table(['feature', 'value', 'contribution'], lines)}"


def _print_features(clf: Any, most: int) -> None:
    """Print the classes that each feature speaks for and against."""
    rows = [
        [str(t), name, saved, ", ".join(speaks_for), ", ".join(against)]
        for t, (name, saved, speaks_for, against) in enumerate(_features(clf, most), 1)
    ]
    print(table(["", "feature", "loss saved", "speaks for", "speaks against"], rows))
    print(f"{len(rows)} features, {clf.classes_.size} classes, {clf.columns_.size} columns read.")


def _features(clf: Any, most: int) -> list[tuple[str, str, list[str], list[str]]]:
    """Return name, loss saved, and the classes for and against, of each feature."""
    from ..class_weights import sharing

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
    from ..class_weights import LEAST_SHARE

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
