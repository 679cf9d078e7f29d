"""Progress bars: one for the rounds, with the loss, and one for each long preparation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

    from .path import Round

Item = TypeVar("Item")

# The bars of the fit that this thread is in, if it shows any.
_shown: ContextVar[Progress | None] = ContextVar("shown", default=None)


@contextmanager
def progress_bars(show: bool) -> Iterator[None]:
    """Show the bars of everything that ``track`` and ``rounds_bar`` are called for inside.

    Without ``show`` there are none inside, not even where a fit around it shows its own.
    """
    with _new_bars() if show else nullcontext() as progress:
        token = _shown.set(progress)
        try:
            yield
        finally:
            _shown.reset(token)


def _new_bars() -> Progress:
    """Return bars on the standard error stream."""
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
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True))


def track(items: Iterable[Item], what: str, total: int) -> Iterator[Item]:
    """Yield the items; a bar, where bars are shown, counts them up to ``total``."""
    progress = _shown.get()
    if progress is None:
        yield from items
        return
    task = progress.add_task(what, total=total, note="")
    for item in items:
        yield item
        progress.update(task, advance=1)


def rounds_bar(n_rounds: int) -> Callable[[Round], None]:
    """Return the function to call after each round."""
    progress = _shown.get()
    if progress is None:
        return lambda round_: None
    task = progress.add_task("rounds", total=n_rounds, note="")

    def advance(round_: Round) -> None:
        progress.update(task, advance=1, note=f"loss {round_.loss:.4f}")

    return advance
