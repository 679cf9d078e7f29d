"""``shareboost reproduce``: the paper's figures and tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .app import app
from .errors import FAILED, INTERRUPTED, CommandError, say
from .options import Debug


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
    debug: Debug = False,
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
    from ..experiments import NAMES
    from ..experiments import reproduce as run

    if name not in (*NAMES, "all"):
        raise CommandError(
            f"There is no experiment {name!r}: it takes one of {', '.join(NAMES)} or all."
        )
    console = Console(stderr=True)
    folder = out / "quick" if quick else out
    failed = False
    for each in NAMES if name == "all" else [name]:

        def tell(line: str, each: str = each) -> None:
            console.print(f"{each}: {line}", style="dim", markup=False, highlight=False)

        try:
            written = run(
                each, folder, quick=quick, device=device, data=data, fresh=fresh, say=tell
            )
        except KeyboardInterrupt:
            print(f"Interrupted: the parts that were finished are in {folder}.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:  # the others of "all" are run nevertheless
            if debug:
                raise
            say(f"{each}: {error}")
            failed = True
            continue
        print(written.text.read_text())
        print(f"Written to {folder}: {written}", file=sys.stderr)
    if failed:
        raise typer.Exit(FAILED)
