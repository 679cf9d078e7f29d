"""One progress bar over rounds, with the loss and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .path import Round


@contextmanager
def progress_bar(n_rounds: int) -> Iterator[Callable[[Round], None]]:
    """Show a bar of ``n_rounds``; yield the function to call after each round."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("ShareBoost"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("rounds", total=n_rounds, loss="-")

        def advance(round_: Round) -> None:
            progress.update(task, advance=1, loss=f"{round_.loss:.4f}")

        yield advance
