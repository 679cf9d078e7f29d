"""Progress bars: one for the rounds, with the loss, and one for each long preparation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

    from .model_path import Step

Item = TypeVar("Item")

# The bars of the fit that this thread is in, if it shows any.
_shown: ContextVar[Progress | None] = ContextVar("shown", default=None)


@contextmanager
def progress_bars(show: bool) -> Iterator[None]:
    """Show the bars of everything that ``track`` and ``RoundsBar`` are called for inside.

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


class RoundsBar:
    """The bar of a run's rounds, where bars are shown."""

    def __init__(self, n_rounds: int | None, done: int):
        self._progress = _shown.get()
        self._n_rounds = n_rounds
        if self._progress is not None:
            self._task = self._progress.add_task("rounds", total=n_rounds, completed=done, note="")

    def advance(self, step: Step) -> None:
        """Count a round."""
        if self._progress is not None:
            self._progress.update(self._task, advance=1, note=f"loss {step.loss:.4f}")

    def end(self, n_rounds: int, loss: float, why: str | None) -> None:
        """Fill the bar and say why, where the rounds did not end when they were to."""
        if self._progress is not None and n_rounds != self._n_rounds:
            self._progress.update(self._task, total=n_rounds, note=f"loss {loss:.4f}, {why}")
