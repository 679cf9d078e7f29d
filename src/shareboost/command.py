"""The command ``shareboost``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from . import __version__

app = typer.Typer(
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
    """Multiclass classifiers that look at few features, the same few for all classes."""


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="An experiment of those above, or `all`.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the data sets; else $SHAREBOOST_DATA, else OpenML."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Where ShareBoost and networks run, for instance `cuda`.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="On samples, each within two minutes.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for figures, points and texts.")] = Path(
        "reproduced"
    ),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure again what was measured before.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Run a figure or table of the paper again and compare.

    Writes figures (PNG), their points (CSV) and a text that compares with the paper. What was
    measured is kept: an interrupted run goes on where it ended.

    - `examples`: section 6, features used as classes and blocks grow
    - `guarantee`: theorems 1 and 2 on real data
    - `sharing`: figure 2, features for 2 to 36 letters
    - `mixed-norm`: figure 3, top
    - `jointboost`: figure 3, bottom
    - `mnist`: table 1, figures 4 to 6
    - `pieces`: figure 7

    For instance `shareboost reproduce examples --quick`.
    """
    from .experiments import NAMES
    from .experiments import reproduce as run

    if name not in (*NAMES, "all"):
        _fail(f"There is no experiment {name!r}: it takes one of {', '.join(NAMES)} or all.")
    console = Console(stderr=True)
    folder = out / "quick" if quick else out
    failed = False
    for each in NAMES if name == "all" else [name]:

        def say(line: str, each: str = each) -> None:
            console.print(f"{each}: {line}", style="dim", markup=False, highlight=False)

        try:
            written = run(each, folder, quick=quick, device=device, data=data, fresh=fresh, say=say)
        except KeyboardInterrupt:
            print(f"Interrupted: the parts that were finished are in {folder}.", file=sys.stderr)
            raise typer.Exit(130) from None
        except Exception as error:  # the others of "all" are run nevertheless
            if debug:
                raise
            _say_error(f"{each}: {error}")
            failed = True
            continue
        print(written.text.read_text())
        print(f"Written to {folder}: {written}", file=sys.stderr)
    if failed:
        raise typer.Exit(2)


def _fail(line: str) -> NoReturn:
    """End with one line on stderr."""
    _say_error(line)
    raise typer.Exit(2)


def _say_error(line: str) -> None:
    print(" ".join(line.split()), file=sys.stderr)
