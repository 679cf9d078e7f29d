"""``shareboost path``: the table of rounds."""

from __future__ import annotations

import csv
import math
import sys
from typing import Annotated, Any

import typer

from .app import app
from .options import Debug, ModelFile
from .outputs import table

HEADS = ["round", "feature", "loss", "held-out error", "cost", "seconds"]


@app.command()
def path(
    model: ModelFile,
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV, for programs.")] = False,
    debug: Debug = False,
) -> None:
    """Show the rounds of a model: the feature that each brought in and what it left.

    - `shareboost path model.json`
    - `shareboost path model.json --csv > rounds.csv`
    """
    from .models import with_path

    clf = with_path(model, "path")
    rows = [_row(t, name, step) for t, (name, step) in enumerate(_rounds(clf), 1)]
    if as_csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows([HEADS, *rows])
        return
    print(table(HEADS, [_shown(row) for row in rows]))
    print(f"The rounds ended: {clf.path_.stop_reason}.")


def _rounds(clf: Any) -> Any:
    steps = list(clf.path_)
    return zip(clf.path_.names([step.atom for step in steps]), steps, strict=True)


def _row(t: int, name: str, step: Any) -> list[Any]:
    error = "" if math.isnan(step.validation) else 1 - step.validation
    return [t, name, step.loss, error, step.cost, step.seconds]


def _shown(row: list[Any]) -> list[str]:
    t, name, loss, error, cost, seconds = row
    held_out = "-" if error == "" else f"{error:.2%}"
    return [str(t), name, f"{loss:.4f}", held_out, f"{cost:g}", f"{seconds:.2f}"]
