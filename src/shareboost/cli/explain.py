"""``shareboost explain``: what each feature of a model is for, and why rows get their classes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import Format, ModelFile, app
from .errors import CommandError
from .files import loaded, printable, shows_bars, table

if TYPE_CHECKING:
    from ..inspection.explanation import Explanation
    from .tables.sources import Source

FIRST_ROWS = (1, 2, 3, 4, 5)
MOST_FEATURES, MOST_CLASSES = 10, 3


@app.command()
def explain(
    model: ModelFile,
    data: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="A table with rows to explain, as for predict."),
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option(min=1, help="A row of --data, from 1; may be repeated. Else the first 5."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Most classes to name on either side, else {MOST_CLASSES}; with --data most "
            f"features of a row, else {MOST_FEATURES}.",
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
    - `shareboost explain model.json --data new.csv --row 1 --row 4 --top 5`
    """
    if data is None and (row or format_ is not None):
        raise CommandError("--row and --format are for --data, which names a table.")
    clf = loaded(model, {"--data": data})
    if data is None:
        _print_features(clf, top or MOST_CLASSES)
    else:
        from .tables.sources import source_of

        _print_rows(clf, source_of(data, format_), row, top or MOST_FEATURES)


def _print_rows(clf: Any, source: Source, asked: list[int] | None, top: int) -> None:
    """Print what the features of rows of a table add to their scores, in the table's order."""
    from ..inspection.explanation import explanations
    from ..progress import progress_bars
    from .tables.rows import blocks_for

    wanted = set(asked or FIRST_ROWS)
    done = 0
    lines: list[str] = []
    with progress_bars(shows_bars()):
        for X in blocks_for(clf, source):
            rows = [i for i in range(X.shape[0]) if done + i + 1 in wanted]
            if rows:
                told = explanations(clf, X.iloc[rows] if hasattr(X, "iloc") else X[rows], top)
                lines += [_of_row(done + i + 1, row) for i, row in zip(rows, told, strict=True)]
            done += X.shape[0]
            if done >= max(wanted):
                break
    if not lines or (asked and done < max(wanted)):
        raise CommandError(f"{source.name} has {done} rows: there is no row {max(wanted)}.")
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
    from ..inspection.report.data import features_of
    from ..model import LEAST_SHARE, sharing

    path = clf.path_

    def strongest(weights: Any) -> str:
        order = weights.argsort(kind="stable")[::-1][:most]
        least = LEAST_SHARE * abs(weights).max()
        return ", ".join(str(clf.classes_[q]) for q in order if weights[q] >= least > 0) or "-"

    features = features_of(path)
    rows: list[list[str]] = []
    by_feature = sharing(path, path.step(clf.selected_.size))
    for place, weights in zip(path.places(clf.selected_)[0].tolist(), by_feature, strict=True):
        name, saved = features[place]["name"], features[place]["loss_saved"]
        shown = "-" if saved is None else f"{saved:.4f}"
        rows.append([str(len(rows) + 1), name, shown, strongest(weights), strongest(-weights)])
    print(table(["", "feature", "loss saved", "speaks for", "speaks against"], rows))
    print(f"{len(rows)} features, {clf.classes_.size} classes, {clf.columns_.size} columns read.")
