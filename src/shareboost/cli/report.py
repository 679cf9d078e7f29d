"""``shareboost report``: a page about a model to look at in a browser."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Annotated

import typer

from .app import Force, Format, ModelFile, app
from .errors import CommandError
from .files import STDOUT, loaded, shows_bars, written


@app.command()
def report(
    model: ModelFile,
    data: Annotated[
        str, typer.Option(metavar="DATA", help="Rows with their classes to measure it on.")
    ],
    target: Annotated[
        str | None,
        typer.Option(help="The column with the classes; as for `shareboost fit`."),
    ] = None,
    out: Annotated[str, typer.Option(help="The page to write; `-` is stdout.")] = "report.html",
    json: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also write its numbers as JSON; `-` is stdout."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None,
    format_: Format = None,
    force: Force = False,
) -> None:
    """Write a page about a model: one HTML file to look at in a browser, without network.

    - `shareboost report model.json --data test.csv --target species --out report.html`
    """
    from ..inspection.report import write_report
    from ..progress import progress_bars
    from .tables.encoding import Inputs
    from .tables.rows import named, read_labelled
    from .tables.sources import source_of

    if out == json == STDOUT:
        raise CommandError("--out and --json are both -: stdout takes one of them.")
    clf = loaded(model, {"--data": data}, [out, json], force)
    inputs = Inputs.of_model(clf)
    with progress_bars(shows_bars()):
        X, y = read_labelled(source_of(data, format_), target, inputs, clf.classes_)
    X = named(X, inputs)
    with written(out) as page, nullcontext() if json is None else written(json) as numbers:
        write_report(
            clf,
            X,
            y,
            page,
            title=title,
            json_path=numbers,
            overwrite=force,
            verbose=int(shows_bars()),
        )
    if out != STDOUT:
        print(f"The report is in {out}.", file=sys.stderr if json == STDOUT else sys.stdout)
