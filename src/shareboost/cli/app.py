"""The command itself, and the arguments that several commands have; these are in other files."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from .errors import DEBUG, Commands
from .files import FORMATS

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


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def shareboost(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option(DEBUG, help="Anywhere: show the traceback of an error.")
    ] = False,
) -> None:
    """Multiclass classifiers that look at few features, the same few for all classes.

    Begin with `shareboost demo`, or with a table of your own:

    - `shareboost fit train.csv --target species --holdout 0.2 --out model.json`
    - `shareboost explain model.json`
    - `shareboost predict model.json new.csv --out predictions.csv`
    """
