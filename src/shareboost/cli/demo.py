"""``shareboost demo``: what it does, on scikit-learn's digits."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer

from .app import app
from .options import Debug, Force


@app.command()
def demo(
    out: Annotated[str, typer.Option(help="The page to write; `-` is stdout.")] = "report.html",
    features: Annotated[int, typer.Option(min=1, help="How many features at most.")] = 20,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Train on scikit-learn's digits, round by round, and write a page to look at.

    - `shareboost demo`
    - `shareboost demo --features 10 --out digits.html`
    """
    from .. import demo as shown
    from ..inspection.report import write_report
    from .outputs import STDOUT, check_output, tell, written

    check_output(out, force)
    with redirect_stdout(sys.stderr if out == STDOUT else sys.stdout):
        run = shown.main(features)
    with written(out) as path:
        write_report(
            run.clf,
            run.X_test,
            run.y_test,
            path,
            X_train=run.X_train,
            y_train=run.y_train,
            title="Digits",
            overwrite=force,
        )
    if out != STDOUT:
        tell(f"The report is in {out}: open it in a browser.")
