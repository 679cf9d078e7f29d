"""Arguments and options that several commands have."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .errors import DEBUG
from .tables.sources import FORMATS

ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model that `shareboost fit` wrote; `-` is stdin.")
]
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A table: CSV or TSV with a header, Parquet, NPZ or svmlight, compressed or not "
        "(gz, bz2, xz, zst). `-` is stdin.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="|".join(FORMATS),
        help="The format of the data, where its name does not tell; CSV for stdin.",
    ),
]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        help="For spreadsheets: put a single quote before texts that they would take for "
        "formulas, those that begin with =, +, -, @, a tab or a carriage return.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")]
Debug = Annotated[bool, typer.Option(DEBUG, help="Show the traceback of an error.")]


def shows_bars() -> bool:
    """Return whether progress is shown: on a terminal alone."""
    return sys.stderr.isatty()
