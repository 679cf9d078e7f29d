"""``shareboost path``: the table of rounds."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from .app import ModelFile, SafeCsv, app
from .errors import CommandError
from .files import csv_lines, loaded, table


@app.command()
def path(
    model: ModelFile,
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV, for programs.")] = False,
    safe_csv: SafeCsv = False,
) -> None:
    """Show the rounds of a model: the feature that each brought in and what it left.

    Of a model of --swap also the features that each round exchanged, `out -> in`.

    - `shareboost path model.json`
    - `shareboost path model.json --csv > rounds.csv`
    """
    from ..path import PathOfOne

    path = loaded(model).path_
    if isinstance(path, PathOfOne):
        raise CommandError(
            f"{model} holds its model alone, and path takes all rounds: fit it without "
            "--model-only, or in Python save it with whole_path=True."
        )
    heads = ["round", "feature", "loss", "held-out error", "cost", "seconds"]
    rows: list[list[Any]] = []
    for t, (step, atoms) in enumerate(zip(path, path.arrivals(), strict=True), 1):
        error = "" if math.isnan(step.validation) else 1 - step.validation
        rows.append([t, ", ".join(path.names(atoms)), step.loss, error, step.cost, step.seconds])
    # A feature that no model kept has its number alone.
    swaps = [", ".join(" -> ".join(path.names(swap)) for swap in step.swaps) for step in path]
    if any(swaps):  # before the time, which ends the line
        for row, swap in zip([heads, *rows], ["swaps", *swaps], strict=True):
            row.insert(-1, swap)
    if as_csv:
        print(csv_lines([heads, *rows], safe_csv), end="")
        return
    print(table(heads, [_shown(row) for row in rows]))
    print(f"The rounds ended: {path.stop_reason}.")


def _shown(row: list[Any]) -> list[str]:
    t, name, loss, error, cost, *swaps, seconds = row
    held_out = "-" if error == "" else f"{error:.2%}"
    return [str(t), name or "-", f"{loss:.4f}", held_out, f"{cost:g}", *swaps, f"{seconds:.2f}"]
