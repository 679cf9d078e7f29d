"""``shareboost explain``: what each feature of a model is for, and why rows get their classes."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import Format, ModelFile, app
from .errors import CommandError
from .files import loaded, printable, shows_bars, table

if TYPE_CHECKING:
    from ..inspection.explanation import Explanation
    from .tables.sources import Source

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
    if data is None and (rows is not None or top is not None or format_ is not None):
        raise CommandError("--rows, --top and --format are for --data, which names a table.")
    asked = None if rows is None else _row_ranges(rows)
    clf = loaded(model, {"--data": data})
    if data is None:
        _print_features(clf, most)
    else:
        from .tables.sources import source_of

        _print_rows(clf, source_of(data, format_), asked, top or MOST_FEATURES)


def _row_ranges(text: str) -> list[range]:
    """Return the numbers of rows, such as ``1,4,7-9``."""
    parts = [re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part, re.ASCII) for part in text.split(",")]
    ranges = [range(int(part[1]), int(part[2] or part[1]) + 1) for part in parts if part]
    if len(ranges) < len(parts) or not all(numbers and numbers.start for numbers in ranges):
        told = f"--rows {text} is not valid"
        raise CommandError(f"{told}: it takes numbers from 1 and ranges, such as 1,4,7-9.")
    return ranges


def _print_rows(clf: Any, source: Source, asked: list[range] | None, top: int) -> None:
    """Print what the features of rows of a table add to their scores, in the table's order."""
    from ..inspection.explanation import explanations
    from ..progress import progress_bars
    from .tables.rows import blocks_for

    ranges = asked or [FIRST_ROWS]
    last = max(numbers.stop for numbers in ranges) - 1
    done = 0
    lines: list[str] = []
    with progress_bars(shows_bars()):
        for X in blocks_for(clf, source):
            numbers = range(done + 1, done + X.shape[0] + 1)
            rows = [i for i, n in enumerate(numbers) if any(n in some for some in ranges)]
            if rows:
                told = explanations(clf, X.iloc[rows] if hasattr(X, "iloc") else X[rows], top)
                lines += [_of_row(numbers[i], row) for i, row in zip(rows, told, strict=True)]
            done += len(numbers)
            if done >= last:
                break
    if asked is not None and done < last:
        raise CommandError(f"{source.name} has {done} rows, and --rows asks for row {last}.")
    if not lines:
        raise CommandError(f"{source.name} has no rows.")
    print("\n\n".join(lines))


def _of_row(number: int, told: Explanation) -> str:
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
    """Print the classes that each feature speaks for and against, and the loss that it saved."""
    from ..model import LEAST_SHARE, sharing

    path = clf.path_

    def strongest(weights: Any) -> str:
        order = weights.argsort(kind="stable")[::-1][:most]
        least = LEAST_SHARE * abs(weights).max()
        return ", ".join(str(clf.classes_[q]) for q in order if weights[q] >= least > 0) or "-"

    saved: dict[int, str] = {}
    if len(path) >= clf.selected_.size:  # else its rounds are not known
        for (before, after), atoms in zip(
            pairwise([path.start, *path]), path.arrivals(), strict=True
        ):
            saved |= dict.fromkeys(atoms, f"{before.loss - after.loss:.4f}")
    by_feature = sharing(path, path.step(clf.selected_.size))
    chosen = zip(clf.selected_.tolist(), path.names(clf.selected_), by_feature, strict=True)
    rows = [
        [str(t), name, saved.get(atom, "-"), strongest(weights), strongest(-weights)]
        for t, (atom, name, weights) in enumerate(chosen, 1)
    ]
    print(table(["", "feature", "loss saved", "speaks for", "speaks against"], rows))
    print(f"{len(rows)} features, {clf.classes_.size} classes, {clf.columns_.size} columns read.")
