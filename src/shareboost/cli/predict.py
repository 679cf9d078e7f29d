"""``shareboost predict``: the classes of new rows."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .app import Data, Force, Format, ModelFile, SafeCsv, app
from .files import STDOUT, csv_lines, loaded, output, shows_bars


@app.command()
def predict(
    model: ModelFile,
    data: Data,
    out: Annotated[str, typer.Option(help="The CSV file to write; `-` is stdout.")] = STDOUT,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also a column of probabilities for each class.")
    ] = False,
    safe_csv: SafeCsv = False,
    format_: Format = None,
    force: Force = False,
) -> None:
    """Predict the class of each row of a table.

    Columns are matched by name, in any order. Those that the model does not read may be missing.

    - `shareboost predict model.json new.csv --out predictions.csv`
    - `shareboost predict model.json new.parquet --proba`
    - `cat new.csv | shareboost predict model.json - | sort | uniq -c`
    """
    from ..progress import progress_bars
    from .tables.rows import blocks_for
    from .tables.sources import source_of

    clf = loaded(model, {"DATA": data}, [out], force)
    source = source_of(data, format_)
    heads = ["prediction", *(f"probability_{label}" for label in clf.classes_ if proba)]
    lines: list[list[Any]] = [heads]  # written with the first rows, not before an error
    with output(out, force) as file, progress_bars(shows_bars()):
        for X in blocks_for(clf, source):
            labels = clf.predict(X).tolist()
            scores = clf.predict_proba(X).tolist() if proba else [[]] * len(labels)
            lines += ([label, *row] for label, row in zip(labels, scores, strict=True))
            file.write(csv_lines(lines, safe_csv).encode())
            lines = []
        file.write(csv_lines(lines, safe_csv).encode())
