"""The command itself; its commands are in the other files."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .. import __version__
from .errors import OneLineErrors


class Commands(OneLineErrors):
    """The commands, in the order in which people meet them."""

    ORDER = ("demo", "fit", "predict", "path", "explain", "report", "export", "info")

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands as --help lists them."""
        return sorted(super().list_commands(ctx), key=self.ORDER.index)


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
) -> None:
    """Multiclass classifiers that look at few features, the same few for all classes.

    Begin with `shareboost demo`, or with a table of your own:

    - `shareboost fit train.csv --target species --holdout 0.2 --out model.json`
    - `shareboost explain model.json`
    - `shareboost predict model.json new.csv --out predictions.csv`
    """
