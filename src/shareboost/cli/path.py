"""``shareboost path``: the table of rounds."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from .app import app
from .options import Debug, ModelFile, SafeCsv
from .outputs import csv_lines, table

HEADS = ["round", "feature", "loss", "held-out error", "cost", "seconds"]


@app.command()
def path(
    model: ModelFile,
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV, for programs.")] = False,
    safe_csv: SafeCsv = False,
    debug: Debug = False,
) -> None:
    """Show the rounds of a model: the feature that each brought in and what it left.

    Of a model of --swap also the features that each round exchanged, `out -> in`.

    - `shareboost path model.json`
    - `shareboost path model.json --csv > rounds.csv`
    """
    from .models import with_path

    clf = with_path(model, "path")
    rows = _rows(clf.path_)
    swaps = [_swaps(clf.path_, step) for step in clf.path_]
    heads = HEADS
    if any(swaps):  # before the time, which ends the line
        heads = [*HEADS[:-1], "swaps", HEADS[-1]]
        rows = [[*row[:-1], swap, row[-1]] for row, swap in zip(rows, swaps, strict=True)]
    if as_csv:
        print(csv_lines([heads, *rows], safe_csv), end="")
        return
    print(table(heads, [_shown(row) for row in rows]))
    print(f"The rounds ended: {clf.path_.stop_reason}.")


def _rows(path: Any) -> list[list[Any]]:
    """Return the cells of each round: its number, the feature that it brought in, its figures."""
    rows = []
    for t, (step, atoms) in enumerate(zip(path, path.arrivals(), strict=True), 1):
        error = "" if math.isnan(step.validation) else 1 - step.validation
        rows.append([t, ", ".join(path.names(atoms)), step.loss, error, step.cost, step.seconds])
    return rows


def _swaps(path: Any, step: Any) -> str:
    """Return the swaps of a round; a feature that no model kept has its number alone."""
    return ", ".join(" -> ".join(path.names(swap)) for swap in step.swaps)


def _shown(row: list[Any]) -> list[str]:
    t, name, loss, error, cost, *swaps, seconds = row
    held_out = "-" if error == "" else f"{error:.2%}"
    return [str(t), name or "-", f"{loss:.4f}", held_out, f"{cost:g}", *swaps, f"{seconds:.2f}"]
