"""``shareboost predict``: the classes of new rows."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .app import app
from .errors import INTERRUPTED, say
from .options import Data, Debug, Force, Format, ModelFile, SafeCsv, shows_bars
from .outputs import STDOUT, check_output, csv_lines, output


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
    debug: Debug = False,
) -> None:
    """Predict the class of each row of a table.

    Columns are matched by name, in any order. Those that the model does not read may be missing.

    - `shareboost predict model.json new.csv --out predictions.csv`
    - `shareboost predict model.json new.parquet --proba`
    - `cat new.csv | shareboost predict model.json - | sort | uniq -c`
    """
    from ..progress import progress_bars
    from .models import check_stdin_once, loaded
    from .tables.prediction import blocks_for
    from .tables.sources import source_of

    check_stdin_once(MODEL=model, DATA=data)
    check_output(out, force)
    clf = loaded(model)
    source = source_of(data, format_)
    done = 0
    with output(out, force) as file, progress_bars(shows_bars()):
        heads = ["prediction", *(f"probability_{label}" for label in clf.classes_)]
        lines = [heads if proba else heads[:1]]  # written with the first rows, not before an error
        try:
            for X in blocks_for(clf, source):
                rows = [*lines, *_answers(clf, X, proba)]
                file.write(csv_lines(rows, safe_csv).encode())
                lines = []
                done += X.shape[0]
        except KeyboardInterrupt:
            if out != STDOUT or not done:
                raise
            say(f"Interrupted: {done} predictions were written, and the others not.")
            raise typer.Exit(INTERRUPTED) from None
        file.write(csv_lines(lines, safe_csv).encode())


def _answers(clf: Any, X: Any, proba: bool) -> list[list[Any]]:
    """Return the lines for some rows: the class and, where asked for, the probabilities."""
    labels = [[label] for label in clf.predict(X).tolist()]
    if not proba:
        return labels
    return [
        [*label, *row] for label, row in zip(labels, clf.predict_proba(X).tolist(), strict=True)
    ]
